//! A connection after its handshake: a sender and a receiver, whose packets are whole segments, behind an interface of
//! bytes.

use std::collections::VecDeque;

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::tcp::TcpOptions;
use forebay_sim::tcp::receiver::{Ack, Data, Receiver};
use forebay_sim::tcp::reports::Block;
use forebay_sim::tcp::rtt::{Rtt, RttOptions};
use forebay_sim::tcp::sender::{Handshake, Sender};
use forebay_sim::tcp::state::State;

use crate::script::{Codepoint, Options, Packet};
use crate::sent::Sent;

/// Smallest segment size, that of Linux (`TCP_MIN_SND_MSS`).
const LEAST_MSS: u32 = 48;
/// Most data that a script may hand over, in bytes.
const MOST_DATA: u64 = 1 << 26;
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
    /// Bytes handed over by the application, and the packets of them.
    written: u64,
    offered: u32,
    /// One above the highest packet sent.
    high: u32,
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
        sender.opened(Handshake::at_once(rtt));
        sender.offer(now, 0);
        sender.announce((negotiated.window / u64::from(negotiated.mss)) as u32);
        Ok(Self {
            now,
            sender,
            receiver: Receiver::new(&options),
            negotiated,
            codepoint: options.codepoint(),
            written: 0,
            offered: 0,
            high: 0,
            stamp: 0,
            out: VecDeque::new(),
        })
    }

    pub(crate) const fn mss(&self) -> u32 {
        self.negotiated.mss
    }

    /// The first byte that was not sent yet.
    pub(crate) const fn next_byte(&self) -> u32 {
        self.high * self.mss() + 1
    }

    /// The first byte that is not acknowledged.
    pub(crate) fn first_byte(&self) -> u32 {
        self.sender.acknowledged() * self.mss() + 1
    }

    /// Is everything acknowledged that the application has handed over, and has nothing arrived early?
    pub(crate) fn is_idle(&self) -> bool {
        let is_complete = self.receiver.received() == self.receiver.in_order();
        u64::from(self.sender.acknowledged()) * u64::from(self.mss()) >= self.written && is_complete
    }

    /// The next time at which a timer or the pacer expires.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        [self.sender.deadline(), self.receiver.deadline()].into_iter().flatten().min()
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
        self.send(ack)
    }

    /// Advances the clock to `to`.
    pub(crate) fn advance(&mut self, to: Instant) -> Result<(), String> {
        while self.deadline().is_some_and(|deadline| deadline <= to) {
            self.expire()?;
        }
        self.now = self.now.max(to);
        Ok(())
    }

    /// The application hands over data.
    pub(crate) fn write(&mut self, bytes: u64) -> Result<(), String> {
        self.written += bytes;
        if self.written > MOST_DATA {
            return Err("more than 64 MiB of data".to_string());
        }
        let packets = self.written.div_ceil(u64::from(self.mss())) as u32;
        if packets > self.offered {
            self.sender.offer(self.now, packets - self.offered);
            self.offered = packets;
        }
        self.check_window()?;
        self.send(None)
    }

    /// The zero window probes of Linux, and its segments that fill a small window, are not expressed.
    fn check_window(&self) -> Result<(), String> {
        let is_closed = self.negotiated.window < u64::from(self.mss());
        if is_closed && self.offered > self.high {
            Err("a window of less than one segment".to_string())
        } else {
            Ok(())
        }
    }

    /// A packet of the peer arrives. Returns the next byte to send if it acknowledges more than was sent; it is then
    /// ignored.
    pub(crate) fn receive(&mut self, packet: &Packet) -> Result<Option<u32>, String> {
        if let Some(ack) = packet.ack.filter(|_| packet.flags.ack)
            && let Some(next) = self.acknowledge(packet, ack)?
        {
            return Ok(Some(next));
        }
        let ack = if packet.len > 0 { self.take_data(packet)? } else { None };
        self.check_window()?;
        self.send(ack)?;
        Ok(None)
    }

    /// The number of the packet that begins at byte `byte`.
    fn packet_at(&self, byte: u32, what: &str) -> Result<u32, String> {
        let bytes = byte.saturating_sub(1);
        let is_whole = byte > 0 && bytes.is_multiple_of(self.mss());
        if is_whole { Ok(bytes / self.mss()) } else { Err(format!("{what} within a segment of {} bytes", self.mss())) }
    }

    /// Gives the acknowledgement to the sender. Returns the next byte to send if it acknowledges more than was sent.
    fn acknowledge(&mut self, packet: &Packet, ack: u32) -> Result<Option<u32>, String> {
        let next = self.packet_at(ack, "an acknowledgement")?;
        if next > self.offered {
            return Err("an acknowledgement of data that was never handed over".to_string());
        }
        if next > self.high {
            // The sender has sent less than the one of the script. RFC 9293 section 3.10.7.4: it ignores the packet.
            return Ok(Some(self.next_byte()));
        }
        let una = self.sender.acknowledged();
        let before = self.negotiated.window;
        if next >= una {
            // Without `win` packetdrill injects the window 0, which such scripts do not mean.
            self.negotiated.window = packet.win.map_or(before, |win| u64::from(win) << self.negotiated.scale.min(14));
            self.sender.announce((self.negotiated.window / u64::from(self.mss())) as u32);
        }
        let none = Options::default();
        let reported = &packet.options.as_ref().unwrap_or(&none).sack;
        let mut blocks = Vec::new();
        for &(left, right) in reported {
            let start = self.packet_at(left, "a selective block")?;
            let end = self.packet_at(right, "a selective block")?;
            if start < end {
                blocks.push(Block { start, end });
            }
        }
        let is_duplicate = next == una && una < self.high && packet.len == 0 && self.negotiated.window == before;
        if is_duplicate && !self.negotiated.sack && self.sender.is_selective() {
            return Err("duplicate acknowledgements without SACK on a sender that needs SACK".to_string());
        }
        // RFC 5681 section 2: data and changes of the window are not duplicate acknowledgements.
        if self.sender.is_selective() || next != una || is_duplicate {
            // The stamp of the latest transmission: without timestamps a sender cannot tell an earlier one.
            let (ece, is_selective) = (packet.flags.ece, !blocks.is_empty());
            let ack = Ack { next, ece, accurate: None, stamp: self.stamp, is_selective };
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
        let ecn = match packet.ecn {
            Some(Codepoint::One(ecn)) if self.negotiated.ecn => ecn,
            _ => Ecn::NotEct,
        };
        let mut answer = None;
        for seq in from..to {
            if let Some(ack) = self.receiver.before_data(ecn) {
                self.push_ack(ack);
            }
            let ack =
                self.receiver.on_data(self.now, Data { seq, ecn, cwr: packet.flags.cwr && seq == from, stamp: 0 });
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
        let mut carried: Option<Ack> = None;
        while let Some(send) = self.sender.poll(self.now) {
            let mss = u64::from(self.mss());
            let first = u64::from(send.seq) * mss;
            let len = self.written.saturating_sub(first).min(mss);
            if len < mss {
                return Err(format!("a segment of {len} bytes, less than the {mss} of a full one"));
            }
            self.high = self.high.max(send.seq + 1);
            self.stamp = send.stamp;
            let carries = *carried.get_or_insert_with(|| ack.unwrap_or_else(|| self.receiver.ack()));
            let (ack, ece, sack) = self.header(carries);
            let ecn = if send.ect { self.codepoint } else { Ecn::NotEct };
            let (seq, len) = (first as u32 + 1, len as u32);
            self.out.push_back(Sent { at: self.now, seq, len, ack, ece, cwr: send.cwr, ecn, sack });
        }
        if let (Some(ack), None) = (ack, carried) {
            self.push_ack(ack);
        }
        Ok(())
    }

    fn push_ack(&mut self, ack: Ack) {
        let (ack, ece, sack) = self.header(ack);
        let seq = self.next_byte();
        self.out.push_back(Sent { at: self.now, seq, len: 0, ack, ece, cwr: false, ecn: Ecn::NotEct, sack });
    }

    /// Acknowledged byte, ECN-Echo and selective blocks of an acknowledgement.
    fn header(&self, ack: Ack) -> (u32, bool, Vec<(u32, u32)>) {
        let edge = |packet: u32| self.negotiated.edges.get(packet as usize).copied().unwrap_or(1);
        let blocks = self.receiver.blocks(ack);
        let sack = if self.negotiated.sack { &*blocks } else { &[] };
        (edge(ack.next), ack.ece, sack.iter().map(|block| (edge(block.start), edge(block.end))).collect())
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
            "tcpi_reordering" => Some(f64::from(self.sender.reordering())),
            // Linux counts the SYN.
            "tcpi_delivered" => Some(f64::from(1 + self.sender.acknowledged() + outstanding.reported)),
            "tcpi_data_segs_out" => Some(self.sender.counts().sent as f64),
            "tcpi_notsent_bytes" => Some(self.written.saturating_sub(u64::from(self.high * self.mss())) as f64),
            "tcpi_snd_mss" => Some(f64::from(self.mss())),
            _ => None,
        }
    }
}
