//! A connection after its handshake. Scripts count bytes; the sender and the receiver of the simulator count packets.

use std::collections::VecDeque;

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::tcp::TcpOptions;
use forebay_sim::tcp::accecn::Echoes;
use forebay_sim::tcp::receiver::{Ack, Data, Receiver};
use forebay_sim::tcp::reports::Block;
use forebay_sim::tcp::rtt::{Rtt, RttOptions};
use forebay_sim::tcp::sender::{Handshake, Sender};
use forebay_sim::tcp::state::State;

use crate::script::{Codepoint, Options, Packet};
use crate::sent::Sent;
use crate::stream::Stream;

/// Smallest segment size, that of Linux (`TCP_MIN_SND_MSS`).
const LEAST_MSS: u32 = 48;
/// Most data that a script may hand over, in bytes.
const MOST_DATA: u32 = 1 << 26;
/// Shortest time before the first window probe, which waits for one retransmission timeout (`TCP_RTO_MIN`).
const LEAST_PROBE: Span = Span::from_millis(200);
/// Longest time between window probes (`TCP_RTO_MAX` of Linux).
const LONGEST_TIMEOUT: Span = Span::from_millis(120_000);
/// The reason given if duplicate acknowledgements have no SACK blocks and the sender needs them.
pub(crate) const NEEDS_SACK: &str = "duplicate acknowledgements without SACK on a sender that needs SACK";
/// `TCP_INFINITE_SSTHRESH` of Linux.
pub(crate) const INFINITE_SSTHRESH: f64 = 0x7fff_ffff as f64;

/// What the handshake has negotiated.
#[derive(Clone, Debug)]
pub(crate) struct Negotiated {
    /// Payload of a full segment in bytes.
    pub(crate) mss: u32,
    /// Do both ends use selective acknowledgements?
    pub(crate) sack: bool,
    /// Do both ends use ECN? If not, marks are ignored.
    pub(crate) ecn: bool,
    /// Scale of the peer's window.
    pub(crate) scale: u32,
    /// The peer's window in bytes.
    pub(crate) window: u64,
    /// Largest segment that this end has announced, in bytes.
    pub(crate) announced: u32,
    /// When this end sent its SYN.
    pub(crate) opened: Instant,
    /// Bounds of the segments that the script injects, sorted; the first is 1.
    pub(crate) edges: Vec<u32>,
}

/// The connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    negotiated: Negotiated,
    codepoint: Ecn,
    pub(crate) stream: Stream,
    /// Packets that the sender may send, as far as the application is concerned.
    offered: u32,
    /// When the closed window of the peer is probed, and the number of times that it was.
    probe: Option<Instant>,
    probes: u32,
    /// Highest byte that is acknowledged; it can be within a packet.
    acknowledged: u32,
    /// The queue of the device refuses packets: nothing can be sent.
    pub(crate) is_blocked: bool,
    /// The FIN of the peer has arrived: its sequence number.
    fin: Option<u32>,
    /// When data of the peer arrived last.
    arrived: Instant,
    /// Stamp of the packet sent last.
    stamp: u8,
    /// Packets sent and not yet compared.
    pub(crate) out: VecDeque<Sent>,
}

impl Connection {
    /// A connection whose handshake ends at `now`. `options`: those of the sender; `initial_rto` must be set.
    pub(crate) fn new(now: Instant, options: TcpOptions, negotiated: Negotiated) -> Result<Self, String> {
        if negotiated.mss < LEAST_MSS {
            return Err(format!("segments of less than {LEAST_MSS} bytes"));
        }
        let mut sender = Sender::new(options, Span::ZERO, Rng::stream(1, "packetdrill"));
        let mut rtt = Rtt::new(RttOptions {
            initial: options.initial_rto.unwrap_or(options.variant.profile().initial_rto),
            min_rto: options.min_rto,
            max_rto: options.max_rto,
            tick: options.tick,
            phase: Span::ZERO,
        });
        rtt.measure(negotiated.opened, now);
        sender.opened(now, Handshake::at_once(rtt));
        sender.offer(now, 0);
        Ok(Self {
            now,
            sender,
            receiver: Receiver::new(&options),
            stream: Stream::new(negotiated.mss),
            negotiated,
            codepoint: options.codepoint(),
            offered: 0,
            probe: None,
            probes: 0,
            acknowledged: 1,
            is_blocked: false,
            fin: None,
            arrived: now,
            stamp: 0,
            out: VecDeque::new(),
        })
    }

    const fn mss(&self) -> u32 {
        self.negotiated.mss
    }

    /// The first byte that is not acknowledged.
    pub(crate) const fn first_byte(&self) -> u32 {
        self.acknowledged
    }

    /// Is the peer's window closed while data waits to be sent? The connection then sends window probes.
    pub(crate) const fn is_probing(&self) -> bool {
        self.probe.is_some() || self.probes > 0
    }

    /// The acknowledgement of the peer's FIN, if that has arrived.
    pub(crate) fn end_of_peer(&self) -> Option<u32> {
        self.fin.map(|fin| fin + 1)
    }

    /// The next time at which a timer or the pacer expires.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        // A packet that the queue refuses is not due again.
        let sender = self.sender.deadline().filter(|&at| !self.is_blocked || at > self.now);
        [sender, self.receiver.deadline(), self.probe].into_iter().flatten().min()
    }

    /// Lets the next timer expire.
    pub(crate) fn expire(&mut self) -> Result<(), String> {
        let Some(deadline) = self.deadline() else { return Ok(()) };
        self.now = self.now.max(deadline);
        if self.sender.deadline().is_some_and(|at| at <= self.now) {
            self.sender.on_deadline(self.now);
        }
        let is_due = self.receiver.deadline().is_some_and(|at| at <= self.now);
        let ack = is_due.then(|| self.receiver.ack());
        if self.probe.is_some_and(|at| at <= self.now) {
            self.probe_window()?;
        }
        self.send(ack)
    }

    /// Linux's timer of probes has expired (`tcp_write_wakeup`): data that the window allows is sent, else a packet below it
    /// without data (RFC 9293 section 3.8.6.1). Probes back off.
    fn probe_window(&mut self) -> Result<(), String> {
        self.probe = None;
        match self.negotiated.window {
            0 => {
                self.probes += 1;
                let ack = self.receiver.ack();
                self.push_ack(ack, self.first_byte() - 1);
                Ok(())
            }
            window if window < u64::from(self.stream.waiting().min(self.mss())) => {
                Err("a window of less than one segment".to_string())
            }
            _ => {
                self.stream.pushed = true;
                Ok(())
            }
        }
    }

    /// Runs the timer of probes while data waits and nothing is outstanding.
    fn set_probe(&mut self) {
        let is_stuck = self.stream.waiting() > 0 && self.sender.outstanding().sent == 0;
        if !is_stuck || self.sender.deadline().is_some() {
            (self.probe, self.probes) = (None, 0);
        } else if self.probe.is_none() {
            let timeout = self.sender.rtt().timeout().max(LEAST_PROBE);
            let backed_off = timeout.nanos().saturating_mul(1 << self.probes.min(30));
            self.probe = Some(self.now + Span::from_nanos(backed_off).min(LONGEST_TIMEOUT));
        }
    }

    /// Advances the clock to `to`.
    pub(crate) fn advance(&mut self, to: Instant) -> Result<(), String> {
        while self.deadline().is_some_and(|deadline| deadline <= to) {
            self.expire()?;
        }
        self.now = self.now.max(to);
        Ok(())
    }

    /// The application hands over data. `ends_record`: with `MSG_EOR`; `more`: with `MSG_MORE`.
    pub(crate) fn write(&mut self, bytes: u64, ends_record: bool, more: bool) -> Result<(), String> {
        let bytes = u32::try_from(bytes).ok().filter(|bytes| *bytes <= MOST_DATA.saturating_sub(self.stream.last()));
        let bytes = bytes.ok_or_else(|| "more than 64 MiB of data".to_string())?;
        self.stream.write(bytes, ends_record);
        self.stream.more = more;
        self.send(None)
    }

    /// Sends what may be sent after a change of the stream.
    pub(crate) fn push(&mut self) -> Result<(), String> {
        self.send(None)
    }

    /// The application closes its end of the connection: a FIN follows the data.
    pub(crate) fn close(&mut self) -> Result<(), String> {
        self.stream.close();
        self.send(None)
    }

    /// A packet of the peer arrives. Returns the next byte to send if it acknowledges more than was sent; it is then
    /// ignored.
    pub(crate) fn receive(&mut self, packet: &Packet) -> Result<Option<u32>, String> {
        if let Some(ack) = packet.ack.filter(|_| packet.flags.ack)
            && let Some(next) = self.acknowledge(packet, ack)?
        {
            return Ok(Some(next));
        }
        // `MSG_MORE` holds for one call: after any packet of the peer Linux sends what waits.
        self.stream.more = false;
        let ack = if packet.len > 0 { self.take_data(packet)? } else { None };
        if packet.flags.fin {
            let fin = packet.seq + packet.len;
            if self.next_of_peer() != fin {
                return Err("a FIN out of order".to_string());
            }
            self.fin = Some(fin);
        }
        self.send(ack)?;
        Ok(None)
    }

    /// The next byte that the peer must send.
    fn next_of_peer(&self) -> u32 {
        self.edge(self.receiver.in_order())
    }

    fn edge(&self, packet: u32) -> u32 {
        self.negotiated.edges.get(packet as usize).copied().unwrap_or(1)
    }

    /// Gives the acknowledgement to the sender. Returns the next byte to send if it acknowledges more than was sent.
    fn acknowledge(&mut self, packet: &Packet, ack: u32) -> Result<Option<u32>, String> {
        if ack > self.stream.last() {
            return Err("an acknowledgement of data that was never handed over".to_string());
        }
        if ack > self.stream.next() {
            // The sender has sent less than the one of the script. RFC 9293 section 3.10.7.4: it ignores the packet.
            return Ok(Some(self.stream.next()));
        }
        // A packet is acknowledged with its last byte.
        let next = self.stream.within(1, ack).1;
        if self.stream.start(next) != ack && !self.sender.is_selective() {
            return Err("an acknowledgement within a segment on a sender without SACK".to_string());
        }
        self.acknowledged = self.acknowledged.max(ack);
        let una = self.sender.acknowledged();
        let before = self.negotiated.window;
        if next >= una {
            // Without `win` packetdrill injects the window 0, which such scripts do not mean.
            self.negotiated.window = packet.win.map_or(before, |win| u64::from(win) << self.negotiated.scale.min(14));
        }
        let none = Options::default();
        let reported = &packet.options.as_ref().unwrap_or(&none).sack;
        let mut blocks = Vec::new();
        for &(left, right) in reported {
            let (start, end) = self.stream.within(left, right);
            if start < end && right <= self.stream.next() {
                blocks.push(Block { start, end });
            }
        }
        let is_duplicate =
            next == una && una < self.stream.sent() && packet.len == 0 && self.negotiated.window == before;
        if is_duplicate && !self.negotiated.sack && self.sender.is_selective() {
            return Err(NEEDS_SACK.to_string());
        }
        // RFC 5681 section 2: data and changes of the window are not duplicate acknowledgements.
        if self.sender.is_selective() || next != una || is_duplicate {
            // The stamp of the latest transmission: without timestamps a sender cannot tell an earlier one.
            let (ece, is_selective) = (packet.flags.ece, !blocks.is_empty());
            let ack = Ack { next, ece, echoes: Echoes::new(None, self.stamp), is_selective };
            self.sender.on_ack(self.now, ack, &blocks);
        }
        Ok(None)
    }

    /// Gives the segments of the packet to the receiver. Returns the acknowledgement to send at once, if any.
    fn take_data(&mut self, packet: &Packet) -> Result<Option<Ack>, String> {
        let index = |byte: u32| self.negotiated.edges.binary_search(&byte).map(|index| index as u32);
        let (Ok(from), Ok(to)) = (index(packet.seq), index(packet.seq + packet.len)) else {
            return Err("data before the first byte of the connection".to_string());
        };
        if self.fin.is_some_and(|fin| packet.seq >= fin) {
            return Err("data after FIN".to_string());
        }
        self.arrived = self.now;
        let ecn = match packet.ecn {
            Some(Codepoint::One(ecn)) if self.negotiated.ecn => ecn,
            _ => Ecn::NotEct,
        };
        let mut answer = None;
        for seq in from..to {
            if let Some(ack) = self.receiver.before_data(ecn) {
                self.push_ack(ack, self.stream.next());
            }
            let ack = self.receiver.on_data(
                self.now,
                Data { seq, ecn, cwr: packet.flags.cwr && seq == from, stamp: 0, push: false, delay: Span::ZERO },
            );
            // One acknowledgement for the packet, of all its segments.
            answer = match (ack, answer) {
                (None, Some(_)) => Some(self.receiver.ack()),
                (ack, _) => ack,
            };
        }
        Ok(answer)
    }

    /// Sends what the sender may send. `ack`: an acknowledgement that is due; it goes with the data if there is some.
    fn send(&mut self, ack: Option<Ack>) -> Result<(), String> {
        let una = self.sender.acknowledged();
        self.sender.announce(self.stream.fitting(una, self.negotiated.window));
        let ready = self.stream.sent() + self.stream.ready(una);
        if ready > self.offered {
            self.sender.offer(self.now, ready - self.offered);
            self.offered = ready;
        }
        let mut carried: Option<Ack> = None;
        while let Some(send) = (!self.is_blocked).then(|| self.sender.poll(self.now)).flatten() {
            let is_new = send.seq == self.stream.sent();
            let piece = if is_new { self.stream.send() } else { self.stream.piece(send.seq) };
            let known = self.acknowledged.saturating_sub(piece.seq).min(piece.len);
            self.stamp = send.stamp;
            let carries = *carried.get_or_insert_with(|| ack.unwrap_or_else(|| self.receiver.ack()));
            let (ack, ece, sack) = self.header(carries);
            let ecn = if send.ect && piece.len > 0 { self.codepoint } else { Ecn::NotEct };
            let (seq, len, fin) = (piece.seq + known, piece.len - known, piece.fin);
            self.out.push_back(Sent { at: self.now, seq, len, fin, ack, ece, cwr: send.cwr, ecn, sack });
        }
        if let (Some(ack), None) = (ack, carried) {
            self.push_ack(ack, self.stream.next());
        }
        self.set_probe();
        Ok(())
    }

    /// Sends an acknowledgement alone. That of the peer's FIN is not compared.
    fn push_ack(&mut self, ack: Ack, seq: u32) {
        let (ack, ece, sack) = self.header(ack);
        if self.end_of_peer() != Some(ack) {
            self.out.push_back(Sent {
                at: self.now,
                seq,
                len: 0,
                fin: false,
                ack,
                ece,
                cwr: false,
                ecn: Ecn::NotEct,
                sack,
            });
        }
    }

    /// Acknowledged byte, ECN-Echo and selective blocks of an acknowledgement.
    fn header(&self, ack: Ack) -> (u32, bool, Vec<(u32, u32)>) {
        let blocks = self.receiver.blocks(ack);
        let sack = if self.negotiated.sack { &*blocks } else { &[] };
        let sack = sack.iter().map(|block| (self.edge(block.start), self.edge(block.end))).collect();
        let next = self.edge(ack.next);
        (if self.fin == Some(next) { next + 1 } else { next }, ack.ece, sack)
    }

    /// A field of `struct tcp_info`; `None`: unknown here.
    pub(crate) fn info(&self, name: &str) -> Option<f64> {
        let outstanding = self.sender.outstanding();
        let selective = |number: u32| self.sender.is_selective().then_some(f64::from(number));
        let micros = |span: Span| (span.nanos() / 1000) as f64;
        match name {
            "tcpi_snd_cwnd" => Some(self.sender.cwnd().floor()),
            "tcpi_snd_ssthresh" => Some(self.sender.ssthresh().floor().min(INFINITE_SSTHRESH)),
            "tcpi_ca_state" => Some(match self.sender.state() {
                State::Open => 0.0,
                State::Disorder => 1.0,
                State::Reduced => 2.0,
                State::Recovery => 3.0,
                State::Loss => 4.0,
            }),
            "tcpi_unacked" => Some(f64::from(outstanding.sent)),
            "tcpi_sacked" => selective(outstanding.reported),
            "tcpi_lost" => selective(outstanding.lost),
            "tcpi_retrans" => selective(outstanding.repeated),
            "tcpi_total_retrans" => Some(self.sender.counts().retransmitted as f64),
            "tcpi_rto" => Some(micros(self.sender.rtt().timeout())),
            "tcpi_rtt" => Some(micros(self.sender.rtt().precise())),
            "tcpi_reord_seen" => self.sender.reordered().map(f64::from),
            "tcpi_reordering" => Some(f64::from(self.sender.reordering())),
            // Linux counts the SYN.
            "tcpi_delivered" => Some(f64::from(1 + self.sender.acknowledged() + outstanding.reported)),
            "tcpi_data_segs_out" => Some(self.sender.counts().sent as f64),
            "tcpi_notsent_bytes" => Some(f64::from(self.stream.waiting())),
            "tcpi_snd_mss" => Some(f64::from(self.mss())),
            "tcpi_advmss" => Some(f64::from(self.negotiated.announced)),
            "tcpi_last_data_recv" => Some((micros(self.now.since(self.arrived)) / 1000.0).floor()),
            _ => None,
        }
    }
}
