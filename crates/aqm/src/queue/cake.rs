//! CAKE: a shaper, priority tins, flow queueing with fairness among hosts, and COBALT in one queue (sch_cake).
//!
//! The shaper is a virtual clock. A tin is a priority class with a threshold of the rate. Each tin has 1024 flow queues,
//! served by DRR++. COBALT works on each of them. All tins and queues share one memory limit.
//!
//! The parts are in the folder `cake`, each next to the functions of the kernel that it follows: `overhead` (length on
//! the wire), `shaper` (clocks), `diffserv` and `tin` (classes), `hosts` (hash and host fairness), `flows` (DRR++),
//! `acks` (ACK filter), `memory` and `heap` (memory limit), `autorate`, `tc` (grammar).

use alloc::vec::Vec;

use crate::aqm::backlog::droptail::DropTail;
use crate::base::cx::Cx;
use crate::base::design::{About, Cost, Design, Order, Preset, Probes};
use crate::base::discipline::Discipline;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::{ListId, Port};
use crate::base::tc::Tc;
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Link, Rate};
use crate::base::verdict::{Fate, Reason, Verdict};
use crate::{params, probes};

mod acks;
mod autorate;
mod diffserv;
mod flows;
mod heap;
mod hosts;
mod memory;
mod overhead;
mod shaper;
mod tc;
#[cfg(test)]
mod tests;
mod tin;

pub use acks::AckFilter;
pub use diffserv::Tins;
pub use hosts::{Hash, Isolation};
pub use memory::Charge;
pub use overhead::{Overhead, stab, wire_length};
pub use tc::Bandwidth;

use autorate::Estimate;
use diffserv::{Index, MAX_TINS};
use flows::{Set, index};
use heap::Heap;
use hosts::{Hasher, QUEUES};
use overhead::Wire;
use shaper::{Pace, Shaper};
use tin::{Scale, Tin};

params! {
    /// Parameters of CAKE.
    pub struct Params {
        /// Rate of the shaper; link: that of the link.
        bandwidth: Bandwidth = Bandwidth::Unlimited, in 8.0 ..= 1e13, "bandwidth", "tc-cake(8)";
        /// Whether the rate follows the rate of arrivals, for a queue behind the bottleneck.
        autorate: bool = false, in 0.0 ..= 1.0, "autorate-ingress", "tc-cake(8)";
        /// Expected round trip. It is COBALT's interval; target is a twentieth of it, in whole microseconds.
        rtt: Span = Span::from_millis(100), in 1e-6 ..= 4294.0, "rtt", "tc-cake(8): 100 ms";
        /// Priority classes, and the class of each DSCP.
        tins: Tins = Tins::Diffserv3, in 0.0 ..= 1.0, "diffserv3", "tc-cake(8)";
        /// What has a queue of its own, and which hosts share the link equally.
        flows: Isolation = Isolation::TripleIsolate, in 0.0 ..= 1.0, "triple-isolate", "tc-cake(8)";
        /// Whether the DSCP is cleared after it has selected the tin.
        wash: bool = false, in 0.0 ..= 1.0, "wash", "tc-cake(8)";
        /// Which acknowledgements are dropped because a later one replaces them.
        ack_filter: AckFilter = AckFilter::Off, in 0.0 ..= 1.0, "ack-filter", "tc-cake(8)";
        /// Limit of the memory of all packets; auto: max(4 rate rtt, 4 MiB), at most 10240 packets of the MTU.
        memlimit: Auto<Bytes> = Auto::Auto, in 1.0 ..= 4294967295.0, "memlimit", "tc-cake(8); Linux cake_reconfigure";
        /// Bytes that the link below adds to a packet.
        overhead: Overhead = Overhead::default(), in 0.0 ..= 1.0, "overhead", "tc-cake(8): raw";
        /// Least length of a packet on the link below; auto: that of the overhead keyword, else 0.
        mpu: Auto<Bytes> = Auto::Auto, in 0.0 ..= 256.0, "mpu", "tc-cake(8)";
        /// Whether dropped packets are charged too: then arrivals, not departures, are held to the rate.
        ingress: bool = false, in 0.0 ..= 1.0, "ingress", "tc-cake(8)";
        /// Largest packet with its link-layer header.
        mtu: Bytes = Bytes(1514), in 64.0 ..= 65550.0, "mtu", "Linux: psched_mtu on Ethernet";
        /// Bytes of the link-layer header in packet lengths. An overhead other than raw replaces them. 14 for frames of
        /// Ethernet, as in forebay link; 0 for the simulator, whose lengths are those of IP packets.
        header: Bytes = Bytes(0), in 0.0 ..= 64.0, "", "ours";
        /// What the memory limit counts.
        memory: Charge = Charge::Skb, in 0.0 ..= 1.0, "truesize", "Linux; ours";
        /// How a packet's queue and hosts are selected.
        hash: Hash = Hash::Salted, in 0.0 ..= 1.0, "", "Linux cake_hash; ours";
        /// Salt of the hash; auto: drawn at the first packet.
        salt: Auto<u32> = Auto::Auto, in 0.0 ..= 4294967295.0, "", "Linux cake_hash";
    }
}

impl Params {
    /// The rate in whole bytes per second; 0: unlimited.
    const fn rate(&self, link: &Link) -> u64 {
        match self.bandwidth {
            Bandwidth::Unlimited => 0,
            Bandwidth::Link => link.rate.0 / 8,
            Bandwidth::At(Rate(bits)) => bits / 8,
        }
    }

    fn scale(&self) -> Scale {
        Scale { rtt: self.rtt, mtu: self.mtu.0 as u32 }
    }

    fn memory_limit(&self, rate: u64) -> u64 {
        let given = if let Auto::Given(limit) = self.memlimit { Some(limit.0) } else { None };
        memory::limit(given, rate, self.rtt, self.mtu.0 as u32)
    }
}

/// What all tins share.
struct Shared {
    shaper: Shaper,
    wire: Wire,
    /// The queues of all tins by their length.
    heap: Heap,
    /// Memory of all packets, its maximum so far, and its limit, in bytes.
    memory: [u64; 3],
    /// What the memory limit counts.
    charge: Charge,
    /// Whether dropped packets are charged to the clocks.
    ingress: bool,
}

impl Shared {
    /// Charges a packet of `len` bytes of `tin`, which is sent or dropped, to the clocks. Returns its adjusted length.
    #[inline]
    fn charge(&mut self, tin: &mut Tin, len: u32, now: Instant, sent: bool) -> u32 {
        let adjusted = self.wire.adjusted(len);
        if !self.shaper.is_unlimited() {
            tin.clock.charge(adjusted, now);
            self.shaper.charge(adjusted, sent);
        }
        adjusted
    }

    /// A packet of `len` bytes has left the queues of `tin`.
    #[inline]
    fn left(&mut self, tin: &mut Tin, len: u32) {
        tin.waiting -= 1;
        tin.seen.backlog -= u64::from(len);
        self.memory[0] -= self.charge.of(len);
    }

    /// A packet has left `list`; it was sent or dropped. Updates the heap.
    #[cold]
    #[inline(never)]
    fn shrunk(&mut self, list: ListId, sent: bool, port: &Port) {
        self.heap.shrunk(list.0, |queue| bytes(port, queue));
        if sent {
            self.heap.departed();
        }
    }

    /// The next packet of `tin`, whose number is `number`. `None`: the queue whose turn it was is empty, so that the tin
    /// must be chosen again. `first`: this is the first look of a dequeue.
    #[inline]
    fn serve(
        &mut self,
        (number, tin): (usize, &mut Tin),
        mut first: bool,
        port: &mut Port,
        cx: &mut Cx,
    ) -> Option<Packet> {
        let now = cx.now;
        if first && let Some(at) = tin.flows.decaying() {
            // The most common case of a first look, in short.
            let rests = tin.empty(at, now);
            tin.flows.decayed(rests);
            first = false;
        }
        'turn: loop {
            let has_packets = |at| !port.is_empty(list(number, at));
            let at = tin.flows.turn(core::mem::take(&mut first), tin.quantum, has_packets, cx.rng)?;
            let lateness =
                if self.ingress { tin.rule.mtu_time() * (2 * u64::from(tin.flows.bulk)) } else { Span::ZERO };
            loop {
                // A decaying queue has no packets.
                let decays = tin.flows.flows[index(at)].set == Set::Decaying;
                let taken = if decays { None } else { port.take(list(number, at)) };
                let Some(taken) = taken else {
                    let rests = tin.empty(at, now);
                    tin.flows.emptied(at, rests);
                    // The clocks and the other tins have not changed, so the same tin would be chosen again.
                    if tin.flows.is_active() && port.pkts() > 0 && !self.ingress {
                        continue 'turn;
                    }
                    return None;
                };
                let state = &mut tin.flows.cobalt[index(at)];
                let packet = port.taken(&taken);
                let (len, sojourn) = (packet.len, now.since(packet.arrived));
                let level = port.level(list(number, at));
                let verdict = tin.rule.judge_above(lateness, state, packet, &level, cx);
                let is_marked = verdict == Verdict::Signal && level.marks(packet);
                if verdict == Verdict::Drop {
                    tin.seen.drops += 1;
                    port.drop_taken(taken, Reason::Early, &mut DropTail, cx);
                    self.left(tin, len);
                    if self.heap.is_kept() {
                        self.shrunk(list(number, at), false, port);
                    }
                    if self.ingress {
                        let charged = self.charge(tin, len, now, false);
                        tin.pay(at, charged);
                        continue 'turn;
                    }
                    continue;
                }
                tin.seen.marks += u64::from(is_marked);
                tin.seen.sent(sojourn);
                let packet = port.send_taken(taken, is_marked, &mut DropTail, cx);
                self.left(tin, len);
                if self.heap.is_kept() {
                    self.shrunk(list(number, at), true, port);
                }
                let charged = self.charge(tin, len, now, true);
                tin.pay(at, charged);
                return Some(packet);
            }
        }
    }
}

/// State of CAKE.
pub struct Cake {
    params: Params,
    shared: Shared,
    tins: Vec<Tin>,
    index: &'static Index,
    hasher: Hasher,
    estimate: Estimate,
    /// The tin whose turn it is, if the queue is not shaped.
    turn: usize,
    /// Until when the last dequeue found the shaper blocked.
    held: Option<Instant>,
    /// Number of dequeues that found the shaper blocked.
    overlimits: u64,
}

/// The list of the port with the packets of queue `at` of tin number `tin`.
#[inline]
const fn list(tin: usize, at: u16) -> ListId {
    ListId((tin * QUEUES) as u16 + at)
}

/// Length of a queue in bytes.
#[inline]
fn bytes(port: &Port, queue: u16) -> u64 {
    port.level(ListId(queue)).bytes()
}

/// Length of `queue` in bytes; that of queue `own` includes the arriving `packet`.
#[inline]
fn bytes_with(port: &Port, queue: u16, packet: &Packet, own: ListId) -> u64 {
    bytes(port, queue) + if queue == own.0 { u64::from(packet.len) } else { 0 }
}

impl Cake {
    /// The rate in bytes per second; 0: unlimited.
    fn rate(&self) -> u64 {
        self.tins[0].rate
    }

    /// Sets the rate of the shaper and of all tins: `cake_reconfigure`.
    fn set_rate(&mut self, rate: u64) {
        let scale = self.params.scale();
        for (tin, share) in self.tins.iter_mut().zip(self.params.tins.shares(rate)) {
            tin.set_rate(share, scale);
        }
        self.shared.shaper.set_pace(Pace::new(rate));
        self.shared.memory[2] = self.params.memory_limit(rate);
    }

    /// Drops the acknowledgement that `arrival` replaces, if there is one. Returns its length, or 0.
    #[inline(never)]
    fn filter(&mut self, arrival: &Packet, (number, at): (usize, u16), port: &mut Port, cx: &mut Cx) -> u32 {
        let list = list(number, at);
        let Some(place) = acks::replaced(&port.level(list), arrival, self.params.ack_filter) else { return 0 };
        let dropped = port.drop_at(list, place, Reason::Early, &mut DropTail, cx);
        let len = dropped.map_or(0, |packet| packet.len);
        let tin = &mut self.tins[number];
        self.shared.left(tin, len);
        tin.seen.acks += 1;
        if self.shared.ingress {
            self.shared.charge(tin, len, cx.now, false);
        }
        len
    }

    /// Drops the head of the longest queue of all tins: `cake_drop`. The length of queue `own` includes the arriving
    /// `packet`. Returns false if `packet` itself is to be dropped.
    #[inline(never)]
    fn relieve(&mut self, packet: &Packet, own: ListId, port: &mut Port, cx: &mut Cx) -> bool {
        let is_empty = |queue| queue != own.0 && port.is_empty(ListId(queue));
        let queue = self.shared.heap.longest(|queue| bytes_with(port, queue, packet, own), is_empty);
        let (number, at) = (usize::from(queue) / QUEUES, queue % QUEUES as u16);
        let tin = &mut self.tins[number];
        let state = &mut tin.flows.cobalt[index(at)];
        let was_blue = state.is_blue();
        tin.rule.overflowed(state, cx.now);
        tin.seen.unresponsive += u32::from(state.is_blue() && !was_blue);
        tin.seen.drops += 1;
        // If only the memory limit is exceeded, the buffer has room: the drop counts as early.
        let reason = if port.fits(packet.len) { Reason::Early } else { Reason::Overflow };
        let Some(dropped) = port.drop_head(ListId(queue), reason, &mut DropTail, cx) else {
            if self.shared.ingress {
                self.shared.charge(tin, packet.len, cx.now, false);
            }
            return false;
        };
        self.shared.left(tin, dropped.len);
        self.shared.heap.shrunk(queue, |queue| bytes_with(port, queue, packet, own));
        if self.shared.ingress {
            self.shared.charge(tin, dropped.len, cx.now, false);
        }
        true
    }

    /// Whether the packet does not fit into the memory or the buffer. It is charged `charged` bytes.
    #[inline]
    fn is_full(&self, charged: u64, packet: &Packet, port: &Port) -> bool {
        self.shared.memory[0] + charged > self.shared.memory[2] || !port.fits(packet.len)
    }

    /// Drops packets until the arriving one fits. Returns false if it is to be dropped itself.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, charged: u64, packet: &Packet, own: ListId, port: &mut Port, cx: &mut Cx) -> bool {
        while self.is_full(charged, packet, port) {
            if !self.relieve(packet, own, port, cx) {
                return false;
            }
        }
        true
    }

    /// The tin to serve, with a shaper: the last one whose clock is due, else the one that is due first.
    #[inline]
    fn due(&self, now: Instant) -> Option<usize> {
        let mut best = None;
        let mut first = i64::MAX;
        for (number, tin) in self.tins.iter().enumerate() {
            if tin.flows.is_active() {
                let wait = tin.clock.next().nanos().wrapping_sub(now.nanos()) as i64;
                if wait <= 0 || wait <= first {
                    (best, first) = (Some(number), wait);
                }
            }
        }
        best
    }

    /// The tin to serve, without a shaper: round robin in bytes.
    #[inline]
    fn next_turn(&mut self) -> Option<usize> {
        let mut idle = 0;
        while idle <= self.tins.len() {
            let tin = &mut self.tins[self.turn];
            let is_active = tin.flows.is_active();
            if tin.deficit >= 0 && is_active {
                return Some(self.turn);
            }
            if tin.deficit <= 0 {
                tin.deficit += i64::from(tin.share);
            }
            idle = if is_active { 0 } else { idle + 1 };
            self.turn = if self.turn + 1 < self.tins.len() { self.turn + 1 } else { 0 };
        }
        None
    }

    /// The sum of a statistic over all tins.
    fn sum(&self, of: impl Fn(&Tin) -> u64) -> f64 {
        self.tins.iter().map(of).sum::<u64>() as f64
    }
}

impl Design for Cake {
    type Params = Params;
    const ABOUT: About = About {
        summary: "shaper, priority tins, flow queueing fair among hosts, COBALT: the queue of home routers",
        source: "Hoeiland-Joergensen, Taht, Morton: Piece of CAKE (LANMAN 2018); Linux 6.12 net/sched/sch_cake.c; \
                 tc-cake(8)",
        rule: "length:     without header unless raw; max(length + overhead, mpu); atm: 53 per 48; ptm: 65 per 64\n\
               shaper:     blocked while next > now and failsafe > now\n\
               \u{20}           sent:  next += length/rate; failsafe += 1.5 length/rate\n\
               \u{20}           dropped, with ingress:  next += length/rate\n\
               tin:        by DSCP; each has a clock at its threshold, at most one packet ahead\n\
               \u{20}           serve the highest tin whose clock is due, else the tin that is due first\n\
               \u{20}           unlimited:  round robin in bytes\n\
               arrival:    queue = hash of eight ways; idle or decaying: to the new queues, sparse, deficit = share\n\
               \u{20}           share = quantum / max(1, bulk flows of the source, of the destination)\n\
               \u{20}           ACK filter:  drop the oldest acknowledgement that later ones replace\n\
               \u{20}           memory above memlimit:  drop the head of the first queue in the heap, BLUE up\n\
               \u{20}           heap: the longest queue is first; one that shrinks moves down one level only\n\
               departure:  decaying (once), new, old, decaying queues; deficit <= 0:  deficit += share; to the old\n\
               \u{20}           COBALT (see cobalt) drops, marks or sends; never drops the last packet of a queue\n\
               \u{20}           queue empty:  decaying until COBALT is at rest, then idle",
        deviations: &[
            "memory=skb charges the buffers of local UDP on Ethernet: 896 bytes for a frame of up to 303 bytes, 1280 up \
             to 687, 2304 up to 1711; TCP, drivers and other configurations of the kernel have other sizes",
            "an overflow drops before the arrival is queued, not after: the same packets",
            "the buffer of the link is a limit too: it drops as the memory limit does; preset=linux lifts it",
            "the ACK filter differs from Linux: an acknowledgement with SACK blocks stays, because the blocks are not \
             known; timestamps and other options are not compared",
            "the hash differs from Linux: a SplitMix64 finaliser, not SipHash; flows that collide are others",
            "BLUE's probability differs from Linux: a number from 0 to 1, not a fraction of 2^32",
            "nat, fwmark, filters, super-packets (GSO) and 6in4 are left out: the simulator has none of them",
            "wash clears the DSCP of the packet in this queue; the simulator's later links see the flow's DSCP again",
            "the id of a host has 16 bits; a number of bytes on the wire is at least 0, with a negative overhead too",
        ],
    };
    const PRESETS: &'static [Preset] = tc::PRESETS;
    const TC: Option<Tc> = Some(tc::TC);
    const ORDER: Order = Order::Free;
    const COST: Cost = Cost::Heavy;

    fn build(params: &Params, link: &Link) -> Self {
        let (rate, scale) = (params.rate(link), params.scale());
        let shares = params.tins.shares(rate);
        let mpu = params.mpu.or(Bytes(u64::from(params.overhead.mpu()))).0 as u32;
        Self {
            shared: Shared {
                shaper: Shaper::new(Pace::new(rate)),
                heap: Heap::new(params.tins.count()),
                wire: params.overhead.wire(params.header.0 as u32, mpu),
                memory: [0, 0, params.memory_limit(rate)],
                charge: params.memory,
                ingress: params.ingress,
            },
            tins: shares[..params.tins.count()].iter().map(|share| Tin::new(*share, scale, params.flows)).collect(),
            index: params.tins.index(),
            hasher: Hasher::new(params.flows, params.hash, params.salt),
            estimate: Estimate::new(rate),
            turn: 0,
            held: None,
            overlimits: 0,
            params: params.clone(),
        }
    }

    fn probes(params: &Params) -> usize {
        WITHOUT_TINS + params.tins.count() * Tin::PROBES.len()
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let hasher = fresh.hasher.after(&self.hasher)?;
        // Packets cannot change their tin or what they are charged.
        if (params.tins, params.memory) != (self.params.tins, self.params.memory) {
            return None;
        }
        let rate =
            if params.autorate && self.params.bandwidth == params.bandwidth { self.rate() } else { params.rate(link) };
        let Self { turn, held, overlimits, estimate, .. } = *self;
        let Shared { shaper, memory, ref heap, .. } = self.shared;
        let shared = Shared { shaper, memory, heap: heap.clone(), ..fresh.shared };
        let mut cake = Self { hasher, shared, tins: self.tins.clone(), turn, held, overlimits, estimate, ..fresh };
        cake.set_rate(rate);
        Some(cake)
    }
}

impl Discipline for Cake {
    fn lists(&self) -> usize {
        self.tins.len() * QUEUES
    }

    #[inline]
    fn enqueue(&mut self, mut packet: Packet, port: &mut Port, cx: &mut Cx) {
        let now = cx.now;
        let number = usize::from(self.index[usize::from(packet.dscp & 63)]);
        let Some(tin) = self.tins.get_mut(number) else { return };
        let at = self.hasher.queue(&packet, &mut tin.flows, &mut tin.seen.ways, cx.rng);
        if tin.waiting == 0 {
            tin.clock.wake(now);
            if port.pkts() == 0 {
                self.shared.shaper.wake(now);
            }
        }
        if self.params.wash {
            packet.dscp = 0;
        }
        tin.seen.packets += 1;
        tin.seen.bytes += u64::from(packet.len);
        tin.seen.longest = tin.seen.longest.max(packet.len);
        let mut grown = u64::from(packet.len);
        if self.params.ack_filter != AckFilter::Off {
            grown = grown.saturating_sub(u64::from(self.filter(&packet, (number, at), port, cx)));
        }
        if self.params.autorate
            && let Some(rate) = self.estimate.arrived(grown, now)
        {
            self.set_rate(rate);
        }
        let own = list(number, at);
        if self.shared.heap.is_kept() {
            self.shared.heap.grown(own.0, |queue| bytes_with(port, queue, &packet, own));
        }
        let tin = &mut self.tins[number];
        tin.flows.arrived(at, tin.quantum, cx.rng);
        let charged = self.shared.charge.of(packet.len);
        if self.is_full(charged, &packet, port) && !self.make_room(charged, &packet, own, port, cx) {
            // Drop or, if the buffer is full, overflow.
            port.admit(own, packet, Verdict::Drop, &mut DropTail, cx);
            self.shared.shrunk(own, false, port);
            return;
        }
        let len = packet.len;
        match port.admit(own, packet, Verdict::Accept, &mut DropTail, cx) {
            Fate::Queued { .. } => {
                let tin = &mut self.tins[number];
                tin.waiting += 1;
                tin.seen.backlog += u64::from(len);
                let [memory, most, _] = &mut self.shared.memory;
                *memory += charged;
                *most = (*most).max(*memory);
            }
            // By a threshold marker in front.
            Fate::Delivered { .. } | Fate::Dropped(_) => {
                self.tins[number].seen.drops += 1;
                if self.shared.heap.is_kept() {
                    self.shared.shrunk(own, false, port);
                }
            }
        }
    }

    #[inline]
    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        let mut first = true;
        self.held = None;
        loop {
            if port.pkts() == 0 {
                return None;
            }
            self.held = self.shared.shaper.blocked(cx.now);
            if self.held.is_some() {
                self.overlimits += 1;
                return None;
            }
            let number = if self.shared.shaper.is_unlimited() { self.next_turn()? } else { self.due(cx.now)? };
            let tin = &mut self.tins[number];
            if let Some(packet) = self.shared.serve((number, tin), core::mem::take(&mut first), port, cx) {
                return Some(packet);
            }
        }
    }

    fn held_until(&self) -> Option<Instant> {
        self.held
    }
}

probes! { Cake {
    /// Memory of all packets.
    memory ["bytes"] = |s| s.shared.memory[0] as f64;
    /// Queues of flows that send less than their share, with decaying ones.
    sp_flows ["1"] = |s| s.sum(|tin| u64::from(tin.flows.sparse + tin.flows.decay));
    /// Queues of flows with a backlog.
    bk_flows ["1"] = |s| s.sum(|tin| u64::from(tin.flows.bulk));
    /// Rate of the shaper; 0: unlimited.
    rate ["bit/s"] = |s| 8.0 * s.rate() as f64;
    /// Estimate of the rate in front of the queue, with autorate.
    capacity ["bit/s"] = |s| 8.0 * s.estimate.peak() as f64;
    /// Largest memory of all packets so far.
    memory_max ["bytes"] = |s| s.shared.memory[1] as f64;
    /// Number of times that the shaper held packets back.
    overlimits ["1"] = |s| s.overlimits as f64;
    /// Packets dropped, without those of the ACK filter.
    drops ["packets"] = |s| s.sum(|tin| tin.seen.drops);
    /// Packets marked.
    marks ["packets"] = |s| s.sum(|tin| tin.seen.marks);
    /// Acknowledgements that the ACK filter dropped.
    ack_drops ["packets"] = |s| s.sum(|tin| tin.seen.acks);
    /// Packets whose flow was in another way of its set of the hash table.
    way_inds ["packets"] = |s| s.sum(|tin| u64::from(tin.seen.ways.hits));
    /// Packets of new flows that found a free queue.
    way_miss ["packets"] = |s| s.sum(|tin| u64::from(tin.seen.ways.misses));
    /// Packets of new flows that had to share a queue.
    way_cols ["packets"] = |s| s.sum(|tin| u64::from(tin.seen.ways.collisions));
    /// Queues from which BLUE drops.
    un_flows ["1"] = |s| s.sum(|tin| u64::from(tin.seen.unresponsive));
    /// Longest packet so far.
    max_len ["bytes"] = |s| s.tins.iter().map(|tin| f64::from(tin.seen.longest)).fold(0.0, f64::max);
    /// Peak delay of all tins.
    pk_delay ["s"] = |s| s.tins.iter().map(|tin| tin.seen.delays[0]).max().unwrap_or(0) as f64 * 1e-9;
    /// Base delay of the tin with the largest one.
    sp_delay ["s"] = |s| s.tins.iter().map(|tin| tin.seen.delays[2]).max().unwrap_or(0) as f64 * 1e-9;
} each 8 Tin = |s, at| s.tins.get(at); }

/// Number of probes before those of the tins.
const WITHOUT_TINS: usize = Cake::PROBES.len() - MAX_TINS * Tin::PROBES.len();

/// At most this number of tins, as the lists of a port have 16-bit numbers.
const _: () = assert!(MAX_TINS * QUEUES <= 65_536);
