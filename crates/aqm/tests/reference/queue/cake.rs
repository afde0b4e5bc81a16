//! CAKE: Linux 6.12's `sch_cake.c` (cake_hash, cake_ack_filter, cake_calc_overhead, cake_advance_shaper, cake_drop,
//! cake_enqueue, cake_dequeue, cake_set_rate, cake_config_*, cake_reconfigure). COBALT is that of `cobalt.rs`.
//!
//! Added to the listing: a buffer in addition to the memory limit; the truesize of a packet by its length (local UDP).

mod heap;
mod settings;

use std::collections::VecDeque;

use forebay_aqm::base::packet::Hosts;

use crate::reference::aqm::cobalt::{Params, Vars};
use crate::reference::harness::*;
use settings::{Config, case};

const CAKE_QUEUES: usize = 1024;
const CAKE_SET_WAYS: usize = 8;
const CAKE_MAX_TINS: usize = 8;
const NSEC_PER_SEC: u64 = 1_000_000_000;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Set {
    None,
    Sparse,
    SparseWait,
    Bulk,
    Decaying,
}

#[derive(Clone)]
struct Flow {
    q: VecDeque<Pkt>,
    deficit: i64,
    cvars: Vars,
    srchost: usize,
    dsthost: usize,
    set: Set,
}

impl Flow {
    fn backlog(&self) -> u64 {
        self.q.iter().map(|pkt| u64::from(pkt.size)).sum()
    }
}

#[derive(Clone, Copy, Default)]
struct Host {
    tag: u32,
    bulk_flow_count: u64,
}

struct Tin {
    flows: Vec<Flow>,
    tags: Vec<u32>,
    srchosts: Vec<Host>,
    dsthosts: Vec<Host>,
    flow_quantum: u64,
    cparams: Params,
    mtu_time: i64,
    bulk: u64,
    sparse: u64,
    decaying: u64,
    new_flows: VecDeque<usize>,
    old_flows: VecDeque<usize>,
    decaying_flows: VecDeque<usize>,
    time_next: i64,
    rate_ns: u64,
    rate_shft: u32,
    tin_quantum: i64,
    tin_deficit: i64,
}

impl Tin {
    fn backlog(&self) -> u64 {
        self.new_flows.iter().chain(&self.old_flows).map(|idx| self.flows[*idx].backlog()).sum()
    }
}

pub(crate) struct Cake {
    net: Net,
    set: Config,
    tins: Vec<Tin>,
    time_next: i64,
    failsafe_next: i64,
    rate_ns: u64,
    rate_shft: u32,
    buffer_used: u64,
    buffer_limit: u64,
    overflow_heap: Vec<(usize, usize)>,
    overflow_timeout: u16,
    cur_tin: usize,
    perturbation: Option<u32>,
    last_packet_time: u64,
    avg_window_begin: u64,
    avg_packet_interval: u64,
    avg_window_bytes: u64,
    avg_peak_bandwidth: u64,
    watchdog: Option<u64>,
    ways: [u64; 3],
    ack_drops: u64,
    seen: Seen,
    dropped: Vec<u32>,
}

fn cake_ewma(avg: u64, sample: u64, shift: u32) -> u64 {
    avg - (avg >> shift) + (sample >> shift)
}

/// The time per byte as a fixed-point number, and its shift.
fn rate_of(rate: u64) -> (u64, u32) {
    if rate == 0 {
        return (0, 0);
    }
    let (mut rate_ns, mut shft) = ((NSEC_PER_SEC << 34) / rate.max(64), 34);
    while rate_ns >> 34 != 0 {
        rate_ns >>= 1;
        shft -= 1;
    }
    (rate_ns, shft)
}

/// SplitMix64's output function.
fn mixed(word: u64) -> u32 {
    let mut z = word;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 32) as u32
}

/// The tin of a codepoint, from the tables of the kernel.
fn tin_index(mode: &str, dscp: u8) -> usize {
    const DIFFSERV8: &[u8; 64] = b"2012422212121212524242423232323262323232622262627222222272222222";
    const DIFFSERV4: &[u8; 64] = b"0100200010000000202020202020202030202020300030303000000030000000";
    const DIFFSERV3: &[u8; 64] = b"0100200010000000000000000000000000000000000020202000000020000000";
    let table = match mode {
        "besteffort" => return 0,
        "precedence" => return usize::from(dscp) / 8,
        "diffserv8" => DIFFSERV8,
        "diffserv4" => DIFFSERV4,
        _ => DIFFSERV3,
    };
    usize::from(table[usize::from(dscp)] - b'0')
}

impl Cake {
    fn new(net: Net, set: Config, perturbation: Option<u32>) -> Self {
        let count = match set.tins {
            "besteffort" => 1,
            "diffserv3" => 3,
            "diffserv4" => 4,
            _ => 8,
        };
        let cparams = Params::of(0, 0, 0);
        let cvars = Vars::new(&cparams);
        let flow = Flow { q: VecDeque::new(), deficit: 0, cvars, srchost: 0, dsthost: 0, set: Set::None };
        let tin = |_| Tin {
            flows: vec![flow.clone(); CAKE_QUEUES],
            tags: vec![0; CAKE_QUEUES],
            srchosts: vec![Host::default(); CAKE_QUEUES],
            dsthosts: vec![Host::default(); CAKE_QUEUES],
            flow_quantum: 0,
            cparams,
            mtu_time: 0,
            bulk: 0,
            sparse: 0,
            decaying: 0,
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            decaying_flows: VecDeque::new(),
            time_next: 0,
            rate_ns: 0,
            rate_shft: 0,
            tin_quantum: 0,
            tin_deficit: 0,
        };
        let peak = set.rate_bps;
        let mut cake = Self {
            net,
            set,
            tins: (0..count).map(tin).collect(),
            time_next: 0,
            failsafe_next: 0,
            rate_ns: 0,
            rate_shft: 0,
            buffer_used: 0,
            buffer_limit: 0,
            overflow_heap: (0..CAKE_QUEUES).flat_map(|j| (0..CAKE_MAX_TINS).map(move |i| (i, j))).collect(),
            overflow_timeout: 0,
            cur_tin: 0,
            perturbation,
            last_packet_time: 0,
            avg_window_begin: 0,
            avg_packet_interval: 0,
            avg_window_bytes: 0,
            avg_peak_bandwidth: peak,
            watchdog: None,
            ways: [0; 3],
            ack_drops: 0,
            seen: Seen::default(),
            dropped: vec![],
        };
        cake.reconfigure(cake.set.rate_bps);
        cake
    }

    fn reconfigure(&mut self, rate_bps: u64) {
        let (mut rate, mut quantum) = (rate_bps, 256);
        for i in 0..self.tins.len() {
            let (tin_rate, tin_quantum) = match (self.set.tins, i) {
                ("besteffort", _) => (rate_bps, 65_535),
                ("diffserv3" | "diffserv4", 0) => (rate_bps, 1024),
                ("diffserv3" | "diffserv4", 1) => (rate_bps >> 4, 1024 >> 4),
                ("diffserv3", _) | ("diffserv4", 3) => (rate_bps >> 2, 1024 >> 2),
                ("diffserv4", _) => (rate_bps >> 1, 1024 >> 1),
                _ => (rate, quantum.max(1)),
            };
            self.set_rate(i, tin_rate);
            self.tins[i].tin_quantum = tin_quantum;
            rate = (rate * 7) >> 3;
            quantum = (quantum * 7) >> 3;
        }
        (self.rate_ns, self.rate_shft) = (self.tins[0].rate_ns, self.tins[0].rate_shft);
        let most = 10_240 * self.set.mtu;
        self.buffer_limit = if self.set.memlimit > 0 {
            self.set.memlimit.min(most.max(self.set.memlimit))
        } else if rate_bps > 0 {
            (rate_bps * self.set.interval_us / 250_000).max(4 << 20).min(most)
        } else {
            most
        };
    }

    fn set_rate(&mut self, i: usize, rate: u64) {
        let b = &mut self.tins[i];
        b.flow_quantum = if rate > 0 { (rate >> 12).min(1514).max(300) } else { 1514 };
        (b.rate_ns, b.rate_shft) = rate_of(rate);
        let byte_target_ns = ((self.set.mtu * b.rate_ns) >> b.rate_shft) as i64;
        let target_ns = (self.set.interval_us / 20).max(1) as i64 * 1000;
        let rtt_est_ns = self.set.interval_us as i64 * 1000;
        let target = (byte_target_ns * 3 / 2).max(target_ns);
        let interval = (rtt_est_ns + target - target_ns).max(target * 2);
        b.cparams = Params::of(target, interval, byte_target_ns);
        b.mtu_time = byte_target_ns;
    }

    fn calc_overhead(&self, pkt: &Pkt) -> u64 {
        // The header that packet lengths contain is 14 bytes.
        let len = i64::from(pkt.size) - if self.set.raw { 0 } else { 14 };
        let len = (len.max(0) + self.set.overhead).max(self.set.mpu) as u64;
        match self.set.atm {
            "atm" => len.div_ceil(48) * 53,
            "ptm" => len + len.div_ceil(64),
            _ => len,
        }
    }

    fn truesize(&self, len: u32) -> u64 {
        match len {
            _ if !self.set.truesize => u64::from(len),
            0..=303 => 896,
            304..=687 => 1280,
            _ => 2304,
        }
    }

    fn advance_shaper(&mut self, i: usize, pkt: &Pkt, now: i64, drop: bool) -> i64 {
        let len = self.calc_overhead(pkt);
        if self.rate_ns > 0 {
            let b = &mut self.tins[i];
            let tin_dur = ((len * b.rate_ns) >> b.rate_shft) as i64;
            let global_dur = ((len * self.rate_ns) >> self.rate_shft) as i64;
            let failsafe_dur = global_dur + (global_dur >> 1);
            if b.time_next < now {
                b.time_next += tin_dur;
            } else if b.time_next < now + tin_dur {
                b.time_next = now + tin_dur;
            } else {
                self.seen.note("a tin is a packet ahead", true);
            }
            self.time_next += global_dur;
            if !drop {
                self.failsafe_next += failsafe_dur;
            }
        }
        len as i64
    }

    fn count_hosts(&mut self, i: usize, idx: usize, by: i64) {
        let (dsrc, ddst) = (self.set.dsrc(), self.set.ddst());
        let b = &mut self.tins[i];
        let change = |host: &mut Host| {
            host.bulk_flow_count = host.bulk_flow_count.saturating_add_signed(by).min(CAKE_QUEUES as u64);
        };
        if dsrc {
            change(&mut b.srchosts[b.flows[idx].srchost]);
        }
        if ddst {
            change(&mut b.dsthosts[b.flows[idx].dsthost]);
        }
    }

    fn flow_quantum(&mut self, i: usize, idx: usize, uniform: &mut dyn FnMut() -> f64) -> i64 {
        let b = &self.tins[i];
        let mut host_load = 1;
        if self.set.dsrc() {
            host_load = b.srchosts[b.flows[idx].srchost].bulk_flow_count.max(host_load);
        }
        if self.set.ddst() {
            host_load = b.dsthosts[b.flows[idx].dsthost].bulk_flow_count.max(host_load);
        }
        self.seen.note("hosts with several bulk flows", host_load > 1);
        let random_u16 = (uniform() * 65_536.0) as u64;
        ((b.flow_quantum * (65_535 / host_load) + random_u16) >> 16) as i64
    }

    /// The tags of the flow, of its source and of its destination.
    fn tags(&mut self, pkt: &Pkt, uniform: &mut dyn FnMut() -> f64) -> [u32; 3] {
        let Hosts { source, destination } = pkt.hosts;
        let salt = match self.set.exact {
            true => 0,
            false => *self.perturbation.get_or_insert_with(|| (uniform() * 4_294_967_296.0) as u32),
        };
        let host = |id: u16, role: u64| match self.set.exact {
            true => u32::from(id),
            false => mixed((u64::from(salt) << 16) ^ role ^ u64::from(id)),
        };
        let (src, dst) = (host(source, 0x5351_0000_0000), host(destination, 0x4451_0000_0000));
        let flow = match (self.set.flow_mode, self.set.exact) {
            ("srchost", _) => src,
            ("dsthost", _) => dst,
            ("hosts", true) => src ^ dst.rotate_left(5),
            ("hosts", false) => src ^ dst,
            (_, true) => pkt.flow,
            (_, false) => mixed((u64::from(salt) << 32) | u64::from(pkt.flow)),
        };
        [flow, src, dst]
    }

    fn hash(&mut self, i: usize, pkt: &Pkt, uniform: &mut dyn FnMut() -> f64) -> usize {
        if self.set.flow_mode == "flowblind" {
            return 0;
        }
        let [flow_hash, srchost_hash, dsthost_hash] = self.tags(pkt, uniform);
        let (dsrc, ddst) = (self.set.dsrc(), self.set.ddst());
        let reduced_hash = flow_hash as usize % CAKE_QUEUES;
        let b = &self.tins[i];
        if b.tags[reduced_hash] == flow_hash && b.flows[reduced_hash].set != Set::None {
            return reduced_hash;
        }
        let inner_hash = reduced_hash % CAKE_SET_WAYS;
        let outer_hash = reduced_hash - inner_hash;
        let way = |n: usize| outer_hash + (inner_hash + n) % CAKE_SET_WAYS;
        let mut allocate = false;
        let mut found = None;
        for n in 0..CAKE_SET_WAYS {
            if b.tags[way(n)] == flow_hash {
                self.ways[0] += u64::from(n > 0);
                allocate = b.flows[way(n)].set == Set::None;
                found = Some(way(n));
                break;
            }
        }
        if found.is_none() {
            for n in 0..CAKE_SET_WAYS {
                if b.flows[way(n)].set == Set::None {
                    self.ways[1] += 1;
                    allocate = true;
                    found = Some(way(n));
                    break;
                }
            }
        }
        let idx = found.unwrap_or(way(0));
        if found.is_none() {
            self.ways[2] += 1;
            allocate = true;
            if self.tins[i].flows[idx].set == Set::Bulk {
                self.count_hosts(i, idx, -1);
            }
        }
        let b = &mut self.tins[i];
        b.tags[idx] = flow_hash;
        if allocate {
            let place = |hosts: &mut [Host], tag: u32| {
                let first = tag as usize % CAKE_QUEUES;
                let (inner, outer) = (first % CAKE_SET_WAYS, first - first % CAKE_SET_WAYS);
                let way = |n: usize| outer + (inner + n) % CAKE_SET_WAYS;
                let own = (0..CAKE_SET_WAYS).map(way).find(|at| hosts[*at].tag == tag);
                let free = || (0..CAKE_SET_WAYS).map(way).find(|at| hosts[*at].bulk_flow_count == 0);
                let at = own.or_else(free).unwrap_or(first);
                hosts[at].tag = tag;
                at
            };
            if dsrc {
                b.flows[idx].srchost = place(&mut b.srchosts, srchost_hash);
            }
            if ddst {
                b.flows[idx].dsthost = place(&mut b.dsthosts, dsthost_hash);
            }
            if b.flows[idx].set == Set::Bulk {
                self.count_hosts(i, idx, 1);
            }
        }
        idx
    }

    /// The acknowledgement in the queue that its last packet replaces.
    fn ack_filter(&mut self, i: usize, idx: usize) -> Option<Pkt> {
        let flow = &mut self.tins[i].flows[idx];
        let tail = flow.q.len() - 1;
        let skb = flow.q[tail];
        if skb.udp || !skb.ack.is_pure() {
            return None;
        }
        let (mut elig_ack, mut num_found, mut done) = (None, 0, false);
        for at in 0..tail {
            let check = flow.q[at];
            if check.udp || (check.flow, check.hosts) != (skb.flow, skb.hosts) {
                continue;
            }
            if elig_ack.is_some_and(|first: usize| !flow.q[first].ack.has_flags_of(check.ack)) {
                elig_ack = None;
                num_found -= 1;
            }
            if !check.ack.is_pure() || check.ack.is_after(skb.ack) || check.ack.has_blocks() {
                continue;
            }
            if check.ack.equals(skb.ack) && !skb.ack.has_blocks() {
                continue;
            }
            elig_ack = elig_ack.or(Some(at));
            num_found += 1;
            if num_found > 1 {
                done = true;
                break;
            }
        }
        let first = elig_ack?;
        let adjacent = first + 1 == tail && flow.q[first].ack.has_flags_of(skb.ack);
        if !(done || self.set.ack_filter == "aggressive" && adjacent) {
            return None;
        }
        flow.q.remove(first)
    }

    /// `cake_drop`, again if the heap was wrong.
    fn drop_longest(&mut self, own: (usize, usize), now: i64) -> u32 {
        loop {
            if self.overflow_timeout == 0 {
                for i in (0..CAKE_MAX_TINS * CAKE_QUEUES / 2).rev() {
                    self.heapify(i);
                }
            }
            self.overflow_timeout = 65_535;
            let longest = self.overflow_heap[0];
            let most = self.tins.iter().flat_map(|b| &b.flows).map(Flow::backlog).max();
            self.seen.note("another queue pays", longest != own);
            let b = &mut self.tins[longest.0];
            let flow = &mut b.flows[longest.1];
            self.seen.note("the heap is wrong", Some(flow.backlog()) < most);
            let Some(pkt) = flow.q.pop_front() else {
                self.seen.note("the first queue of the heap is empty", true);
                self.overflow_timeout = 0;
                continue;
            };
            flow.cvars.queue_full(&b.cparams, now, &mut Seen::default());
            self.buffer_used -= self.truesize(pkt.size);
            if self.set.ingress {
                self.advance_shaper(longest.0, &pkt, now, true);
            }
            self.heapify(0);
            return pkt.id;
        }
    }

    fn autorate(&mut self, len: u64, now: u64) {
        self.avg_window_bytes += len;
        let packet_interval = (now - self.last_packet_time).min(NSEC_PER_SEC);
        let shift = if packet_interval > self.avg_packet_interval { 2 } else { 8 };
        self.avg_packet_interval = cake_ewma(self.avg_packet_interval, packet_interval, shift);
        self.last_packet_time = now;
        if packet_interval > self.avg_packet_interval {
            let window_interval = now - self.avg_window_begin;
            let b = (u128::from(self.avg_window_bytes) * u128::from(NSEC_PER_SEC) / u128::from(window_interval)) as u64;
            let shift = if b > self.avg_peak_bandwidth { 2 } else { 8 };
            self.avg_peak_bandwidth = cake_ewma(self.avg_peak_bandwidth, b, shift);
            self.avg_window_bytes = 0;
            self.avg_window_begin = now;
            if now > 250_000_000 {
                self.seen.note("autorate sets the rate", true);
                self.reconfigure((self.avg_peak_bandwidth * 15) >> 4);
            }
        }
    }

    fn choose_tin(&mut self, now: i64) -> Option<usize> {
        if self.rate_ns == 0 {
            if self.tins.iter().all(|b| b.sparse + b.bulk == 0) {
                return None;
            }
            loop {
                let b = &mut self.tins[self.cur_tin];
                if b.tin_deficit >= 0 && b.sparse + b.bulk > 0 {
                    return Some(self.cur_tin);
                }
                if b.tin_deficit <= 0 {
                    b.tin_deficit += b.tin_quantum;
                }
                self.cur_tin += 1;
                if self.cur_tin >= self.tins.len() {
                    self.cur_tin = 0;
                }
            }
        }
        let (mut best_time, mut best_tin) = (i64::MAX, None);
        for (i, b) in self.tins.iter().enumerate() {
            if b.sparse + b.bulk > 0 {
                let time_to_pkt = b.time_next - now;
                if time_to_pkt <= 0 || time_to_pkt <= best_time {
                    best_time = time_to_pkt;
                    best_tin = Some(i);
                }
            }
        }
        self.seen.note("a tin before its time", best_time > 0);
        best_tin
    }

    /// The head of the decaying, new or old flows, with the number of its list.
    fn head(&self, i: usize, first_flow: bool) -> Option<(usize, usize)> {
        let b = &self.tins[i];
        let lists = [&b.decaying_flows, &b.new_flows, &b.old_flows, &b.decaying_flows];
        let from = usize::from(!first_flow);
        (from..4).find_map(|n| Some((n % 3, *lists[n].front()?)))
    }

    fn unlink(&mut self, i: usize, list: usize) {
        let b = &mut self.tins[i];
        [&mut b.decaying_flows, &mut b.new_flows, &mut b.old_flows][list].pop_front();
    }

    /// A queue that was actually empty: it decays or leaves.
    fn empty(&mut self, i: usize, idx: usize, list: usize, now: i64) {
        self.unlink(i, list);
        let b = &mut self.tins[i];
        let flow = &mut b.flows[idx];
        flow.cvars.queue_empty(&b.cparams, now, &mut Seen::default());
        let rests = flow.cvars.rests(now);
        let set = flow.set;
        match set {
            Set::Sparse | Set::SparseWait => b.sparse -= 1,
            Set::Bulk => b.bulk -= 1,
            Set::Decaying | Set::None => b.decaying -= 1,
        }
        flow.set = if rests { Set::None } else { Set::Decaying };
        if !rests {
            b.decaying_flows.push_back(idx);
            b.decaying += 1;
        }
        if set == Set::Bulk {
            self.count_hosts(i, idx, -1);
        }
        self.seen.note("a queue begins to decay", !rests && set != Set::Decaying);
        self.seen.note("a queue has decayed", rests && set == Set::Decaying);
    }

    fn becomes_bulk(&mut self, i: usize, idx: usize) {
        self.tins[i].flows[idx].set = Set::Bulk;
        self.tins[i].sparse -= 1;
        self.tins[i].bulk += 1;
        self.count_hosts(i, idx, 1);
    }

    /// Serves a tin. `None`: begin again.
    fn serve(
        &mut self,
        i: usize,
        first_flow: &mut bool,
        now: i64,
        uniform: &mut dyn FnMut() -> f64,
        dropped: &mut Vec<u32>,
    ) -> Option<(u32, bool)> {
        'retry: loop {
            let (list, idx) = self.head(i, *first_flow)?;
            *first_flow = false;
            if self.tins[i].flows[idx].deficit <= 0 {
                self.unlink(i, list);
                if self.tins[i].flows[idx].set == Set::Sparse {
                    if self.tins[i].flows[idx].q.is_empty() {
                        self.seen.note("an empty sparse queue waits", true);
                        self.tins[i].flows[idx].set = Set::SparseWait;
                    } else {
                        self.becomes_bulk(i, idx);
                    }
                }
                let quantum = self.flow_quantum(i, idx, uniform);
                self.tins[i].flows[idx].deficit += quantum;
                self.tins[i].old_flows.push_back(idx);
                continue;
            }
            loop {
                let Some(pkt) = self.tins[i].flows[idx].q.pop_front() else {
                    self.empty(i, idx, list, now);
                    return None;
                };
                self.buffer_used -= self.truesize(pkt.size);
                if self.overflow_timeout > 0 {
                    self.heapify(self.overflow_idx(i, idx));
                }
                let b = &mut self.tins[i];
                let bulk_flows = if self.set.ingress { b.bulk as i64 } else { 0 };
                let least = b.mtu_time * bulk_flows * 2;
                let flow = &mut b.flows[idx];
                let sojourn = now - pkt.tstamp as i64;
                let may_mark = self.net.setbit && pkt.ect;
                let (drop, marked) = flow.cvars.should_drop_above(
                    least,
                    &b.cparams,
                    now,
                    sojourn,
                    may_mark,
                    (&mut *uniform, &mut Seen::default()),
                );
                self.seen.note("the last packet is spared", drop && flow.q.is_empty());
                if !drop || flow.q.is_empty() {
                    let len = self.advance_shaper(i, &pkt, now, false);
                    self.tins[i].flows[idx].deficit -= len;
                    self.tins[i].tin_deficit -= len;
                    self.overflow_timeout = self.overflow_timeout.saturating_sub(1);
                    return Some((pkt.id, marked));
                }
                dropped.push(pkt.id);
                if self.set.ingress {
                    let len = self.advance_shaper(i, &pkt, now, true);
                    self.tins[i].flows[idx].deficit -= len;
                    self.tins[i].tin_deficit -= len;
                    continue 'retry;
                }
            }
        }
    }

    fn packets(&self) -> u64 {
        self.backlog().0
    }
}

impl Listing for Cake {
    usual!(seen, victims = dropped);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        self.dropped.clear();
        let i = tin_index(self.set.tins, pkt.dscp);
        let idx = self.hash(i, &pkt, uniform);
        let time = now as i64;
        if self.tins[i].backlog() == 0 {
            self.tins[i].time_next = self.tins[i].time_next.max(time);
            if self.packets() == 0 && self.time_next < time {
                self.failsafe_next = time;
                self.time_next = time;
            }
        }
        self.tins[i].flows[idx].q.push_back(Pkt { tstamp: now, ..pkt });
        let mut len = u64::from(pkt.size);
        if self.set.ack_filter != "off"
            && let Some(ack) = self.ack_filter(i, idx)
        {
            self.ack_drops += 1;
            self.seen.note("an acknowledgement replaced", true);
            len = len.saturating_sub(u64::from(ack.size));
            self.buffer_used -= self.truesize(ack.size);
            self.dropped.push(ack.id);
            if self.set.ingress {
                self.advance_shaper(i, &ack, time, true);
            }
        }
        self.buffer_used += self.truesize(pkt.size);
        if self.overflow_timeout > 0 {
            self.heapify_up(self.overflow_idx(i, idx));
        }
        if self.set.autorate {
            self.autorate(len, now);
        }
        match self.tins[i].flows[idx].set {
            set @ (Set::None | Set::Decaying) => {
                self.seen.note("an arrival at a decaying queue", set == Set::Decaying);
                let b = &mut self.tins[i];
                if set == Set::Decaying {
                    b.decaying -= 1;
                    b.decaying_flows.retain(|other| *other != idx);
                }
                b.new_flows.push_back(idx);
                b.flows[idx].set = Set::Sparse;
                b.sparse += 1;
                self.tins[i].flows[idx].deficit = self.flow_quantum(i, idx, uniform);
            }
            Set::SparseWait => {
                self.seen.note("a waiting queue becomes bulk", true);
                self.becomes_bulk(i, idx);
            }
            Set::Sparse | Set::Bulk => {}
        }
        let mut outcome = Outcome::Queued;
        loop {
            let (pkts, bytes) = self.backlog();
            let full = if self.net.limit_in == Unit::Pkts { pkts > self.net.limit } else { bytes > self.net.limit };
            if outcome != Outcome::Queued || !(full || self.buffer_used > self.buffer_limit) {
                break;
            }
            self.seen.note("memory alone", !full);
            let id = self.drop_longest((i, idx), time);
            if id == pkt.id {
                outcome = if full { Outcome::Overflow } else { Outcome::Early };
            } else {
                self.dropped.push(id);
            }
        }
        self.seen.note("the arrival itself dropped", outcome != Outcome::Queued);
        outcome
    }

    fn deque(&mut self, now: u64, uniform: &mut dyn FnMut() -> f64) -> Departure {
        let mut dropped = vec![];
        let mut first_flow = true;
        let time = now as i64;
        self.watchdog = None;
        loop {
            if self.packets() == 0 {
                return Departure { dropped, sent: None };
            }
            if self.time_next > time && self.failsafe_next > time {
                self.watchdog = Some(self.time_next.min(self.failsafe_next) as u64);
                self.seen.note("the failsafe is first", self.failsafe_next < self.time_next);
                return Departure { dropped, sent: None };
            }
            let Some(i) = self.choose_tin(time) else { return Departure { dropped, sent: None } };
            let sent = self.serve(i, &mut first_flow, time, uniform, &mut dropped);
            if sent.is_some() {
                return Departure { dropped, sent };
            }
        }
    }

    fn held(&self) -> Option<u64> {
        self.watchdog
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let sum = |of: fn(&Tin) -> u64| self.tins.iter().map(of).sum::<u64>() as f64;
        vec![
            ("memory", self.buffer_used as f64, 0.0),
            ("way_inds", self.ways[0] as f64, 0.0),
            ("way_miss", self.ways[1] as f64, 0.0),
            ("way_cols", self.ways[2] as f64, 0.0),
            ("ack_drops", self.ack_drops as f64, 0.0),
            ("sp_flows", sum(|b| b.sparse + b.decaying), 0.0),
            ("bk_flows", sum(|b| b.bulk), 0.0),
        ]
    }

    fn backlog(&self) -> (u64, u64) {
        let active = self.tins.iter().flat_map(|b| b.new_flows.iter().chain(&b.old_flows).map(|idx| &b.flows[*idx]));
        active.fold((0, 0), |(pkts, bytes), flow| (pkts + flow.q.len() as u64, bytes + flow.backlog()))
    }
}

#[test]
fn cake_handles_packets_as_linux() {
    differ(
        "cake",
        case,
        &[
            "a tin is a packet ahead",
            "hosts with several bulk flows",
            "an acknowledgement replaced",
            "another queue pays",
            "the heap is wrong",
            "the first queue of the heap is empty",
            "autorate sets the rate",
            "a tin before its time",
            "a queue begins to decay",
            "a queue has decayed",
            "an empty sparse queue waits",
            "the last packet is spared",
            "an arrival at a decaying queue",
            "a waiting queue becomes bulk",
            "memory alone",
            "the arrival itself dropped",
            "the failsafe is first",
        ],
    );
}
