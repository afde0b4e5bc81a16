//! Video over RTP. Frames are cut into packets, and the receiver sends reports. With receiver reports it reports the
//! fraction of packets that were lost or CE-marked, and the sender scales its frames accordingly. With NADA the sender
//! sets the rate of an encoder. There are no retransmissions.

use std::collections::VecDeque;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::arrived::Arrived;
use super::encoder::Encoder;
use super::frames::Show;
pub use super::frames::{Frames, Synthetic};
pub use super::nada::Nada;
use super::nada::{self, Feedback, Packet};
use crate::engine::due::Due;

/// A video stream over RTP, whose sender adapts its rate to reports of the receiver.
#[derive(Clone, PartialEq, Debug)]
pub struct Rtp {
    /// How the sender adapts its rate.
    pub control: Control,
    /// Time between reports.
    pub report: Span,
    /// Length of a report on the wire in bytes.
    pub report_size: u16,
}

/// How the sender adapts its rate, and the frames that it sends.
#[derive(Clone, PartialEq, Debug)]
pub enum Control {
    /// The sender scales frames by receiver reports.
    ReceiverReports {
        /// Source of the frames.
        frames: Frames,
        /// Lower limit of the sender's rate as a fraction of its full rate. 1: the rate is constant.
        floor: f64,
    },
    /// NADA sets the rate of an encoder.
    Nada(Nada),
}

/// Headers of IP, UDP and RTP, in bytes.
pub(crate) const HEADERS: u16 = 40;

/// A receiver report is one number. From its highest bit on: the number of the report, this flag, and 8 bits with the
/// fraction of packets lost or marked, in 1/256, at most 255. The flag is set if packets have arrived since the last
/// report.
const HAS_DATA: u32 = 1 << 8;
const NUMBER_SHIFT: u32 = 9;
/// Fraction of packets lost or marked above which the sender reduces its rate to 4/5. Otherwise it adds 1/20 of its
/// full rate. Marks count as losses (RFC 6679).
const TOLERATED: f64 = 0.02;
const DOWN: f64 = 0.8;
const UP: f64 = 0.05;

/// State of a stream, both ends.
pub(crate) struct Stream {
    ends: Ends,
    rng: Rng,
    /// Time between reports.
    every: Span,
    /// When the next report is due.
    next: Due,
    /// Packets sent.
    sent: u32,
    /// Packets received.
    received: u32,
    /// Packets received after the warm-up.
    arrived: Arrived,
}

/// The two ends, by the control.
#[expect(clippy::large_enum_variant, reason = "a stream is boxed, and most are of one kind")]
enum Ends {
    Scaled(Scaled),
    Nada(Adaptive),
}

/// The ends of a stream with receiver reports.
struct Scaled {
    show: Show,
    /// Maximum frame bytes per packet.
    payload: u32,
    floor: f64,
    /// Current fraction of the full rate.
    share: f64,
    /// Bytes of the current frame not sent yet; 0 before its first packet.
    rest: u32,
    receiver: Receiver,
}

/// The receiving end (RFC 3550, appendix A.3).
#[derive(Default)]
struct Receiver {
    reports: u32,
    received: u32,
    /// Numbers of the first and the highest packet received.
    first: u32,
    highest: u32,
    /// Values at the last report: packets expected up to then, and packets received up to then.
    expected_before: u32,
    received_before: u32,
    /// Packets received with CE since the last report.
    marked: u32,
}

impl Receiver {
    fn receive(&mut self, seq: u32, marked: bool) {
        if self.received == 0 {
            self.first = seq;
        }
        self.received += 1;
        self.marked += u32::from(marked);
        self.highest = self.highest.max(seq);
    }

    /// Content of the report due now; `None` before the first packet.
    fn report(&mut self) -> Option<u32> {
        if self.received == 0 {
            return None;
        }
        let expected = self.highest.saturating_sub(self.first) + 1;
        let due = expected.saturating_sub(self.expected_before);
        let come = self.received - self.received_before;
        let unmarked = come - core::mem::take(&mut self.marked);
        (self.expected_before, self.received_before) = (expected, self.received);
        self.reports += 1;
        let said = if come == 0 {
            0
        } else {
            let share = u64::from(due.saturating_sub(unmarked)) * 256 / u64::from(due.max(1));
            HAS_DATA | share.min(u64::from(HAS_DATA - 1)) as u32
        };
        Some(self.reports << NUMBER_SHIFT | said)
    }
}

impl Scaled {
    fn new(frames: &Frames, floor: f64, packet: u16) -> Self {
        let payload = u32::from(packet.saturating_sub(HEADERS).max(1));
        Self { show: Show::new(frames), payload, floor, share: 1.0, rest: 0, receiver: Receiver::default() }
    }

    /// Sends the packet that is due. Returns its length on the wire.
    fn send(&mut self, rng: &mut Rng) -> u16 {
        if self.rest == 0 {
            let full = self.show.next().map_or(1, |(_, size)| size);
            self.rest = (libm::round(f64::from(full) * self.share) as u32).max(1);
        }
        let part = self.rest.min(self.payload);
        self.rest -= part;
        if self.rest == 0 {
            self.show.skip(rng);
        }
        part as u16 + HEADERS
    }

    /// A report has reached the sender: adapts the rate.
    fn on_report(&mut self, report: u32) {
        if report & HAS_DATA == 0 {
            return;
        }
        let lost = f64::from(report & (HAS_DATA - 1)) / 256.0;
        self.share = if lost > TOLERATED { (self.share * DOWN).max(self.floor) } else { (self.share + UP).min(1.0) };
    }
}

/// Most reports in transit: a minute of reports at the shortest interval of 1 ms. An older one is lost.
const MOST_REPORTS: usize = 60_000;

/// The ends of a stream with NADA.
struct Adaptive {
    encoder: Encoder,
    sender: nada::Sender,
    receiver: nada::Receiver,
    /// Number of the last report.
    number: u32,
    /// Numbers and contents of the reports in transit. A report as a packet is its number, as its content is longer.
    reports: VecDeque<(u32, Feedback)>,
}

impl Adaptive {
    fn new(nada: Nada, packet: u16, delta: Span) -> Self {
        Self {
            encoder: Encoder::new(nada.fps, packet),
            sender: nada::Sender::new(nada, delta),
            receiver: nada::Receiver::new(),
            number: 0,
            reports: VecDeque::new(),
        }
    }

    fn report(&mut self, now: Instant) -> Option<u32> {
        let feedback = self.receiver.report(now)?;
        self.number = self.number.wrapping_add(1);
        if self.reports.len() == MOST_REPORTS {
            self.reports.pop_front();
        }
        self.reports.push_back((self.number, feedback));
        Some(self.number)
    }

    /// A report has reached the sender. Earlier ones are lost, or ignored if they come later.
    fn on_report(&mut self, now: Instant, number: u32, rng: &mut Rng) {
        let Some(place) = self.reports.iter().position(|(other, _)| *other == number) else { return };
        if let Some((_, feedback)) = self.reports.drain(..=place).next_back() {
            self.encoder.encode(now, &self.sender, rng);
            self.sender.on_report(now, feedback);
        }
    }
}

impl Stream {
    /// A stream before its start; `packet`: maximum length on the wire in bytes.
    pub(crate) fn new(rtp: &Rtp, packet: u16, rng: Rng) -> Self {
        let ends = match &rtp.control {
            Control::ReceiverReports { frames, floor } => Ends::Scaled(Scaled::new(frames, *floor, packet)),
            Control::Nada(nada) => Ends::Nada(Adaptive::new(*nada, packet, rtp.report)),
        };
        Self { ends, rng, every: rtp.report, next: Due::NEVER, sent: 0, received: 0, arrived: Arrived::default() }
    }

    /// Starts. The first report comes at a random time within its interval, so that streams do not report in step.
    pub(crate) fn start(&mut self, now: Instant) {
        match &mut self.ends {
            Ends::Scaled(scaled) => scaled.show.start(now, &mut self.rng),
            Ends::Nada(nada) => {
                nada.encoder.start(now, &mut self.rng);
                nada.sender.start(now);
            }
        }
        let wait = Span::from_secs(self.every.secs() * self.rng.uniform());
        self.next = Due::at(now + wait);
    }

    /// Stops both ends.
    pub(crate) fn stop(&mut self) {
        match &mut self.ends {
            Ends::Scaled(scaled) => scaled.show.stop(),
            Ends::Nada(nada) => nada.encoder.stop(),
        }
        self.next = Due::NEVER;
    }

    /// When the next packet is due.
    pub(crate) fn next_packet(&self) -> Option<Instant> {
        match &self.ends {
            Ends::Scaled(scaled) => scaled.show.next().map(|(at, _)| at),
            Ends::Nada(nada) => nada.encoder.next(),
        }
    }

    /// When the next report is due.
    pub(crate) const fn next_report(&self) -> Due {
        self.next
    }

    /// Sends the packet that is due. Returns its length on the wire and its number.
    pub(crate) fn send(&mut self, now: Instant) -> (u16, u32) {
        let len = match &mut self.ends {
            Ends::Scaled(scaled) => scaled.send(&mut self.rng),
            Ends::Nada(nada) => {
                nada.encoder.encode(now, &nada.sender, &mut self.rng);
                nada.encoder.send(now, &nada.sender)
            }
        };
        self.sent += 1;
        (len, self.sent)
    }

    /// A packet has arrived; `within`: in the measurement window.
    pub(crate) fn receive(&mut self, packet: Packet, within: bool) {
        self.received += 1;
        match &mut self.ends {
            Ends::Scaled(scaled) => scaled.receiver.receive(packet.seq, packet.marked),
            Ends::Nada(nada) => nada.receiver.receive(packet),
        }
        if within {
            self.arrived.add(packet.len);
        }
    }

    /// The due report as a number, as [`on_report`](Self::on_report) takes it; `None` before the first packet.
    pub(crate) fn report(&mut self, now: Instant) -> Option<u32> {
        self.next = Due::from(self.next.get().map(|at| at + self.every));
        match &mut self.ends {
            Ends::Scaled(scaled) => scaled.receiver.report(),
            Ends::Nada(nada) => nada.report(now),
        }
    }

    /// A report has reached the sender: adapts the rate.
    pub(crate) fn on_report(&mut self, now: Instant, report: u32) {
        match &mut self.ends {
            Ends::Scaled(scaled) => scaled.on_report(report),
            Ends::Nada(nada) => nada.on_report(now, report, &mut self.rng),
        }
    }

    /// Packets sent.
    pub(crate) const fn sent(&self) -> u32 {
        self.sent
    }

    /// Packets received.
    pub(crate) const fn received(&self) -> u32 {
        self.received
    }

    /// Packets received after the warm-up.
    pub(crate) const fn arrived(&self) -> Arrived {
        self.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::recording::{Recording, Replay};
    use super::*;
    use std::sync::Arc;

    /// Frames of these sizes, 40 ms apart, repeated without end.
    fn stream(sizes: &[u32], floor: f64) -> Stream {
        let items = sizes.iter().enumerate().map(|(i, size)| (Span::from_millis(40 * i as u64), *size)).collect();
        let recording = Arc::new(Recording::new(items).unwrap());
        let frames = Frames::Recorded(Replay { recording, from: Span::ZERO, repeat: true });
        let control = Control::ReceiverReports { frames, floor };
        let rtp = Rtp { control, report: Span::from_millis(900), report_size: 80 };
        let mut stream = Stream::new(&rtp, 1040, Rng::stream(1, "rtp"));
        stream.start(Instant::ZERO);
        stream
    }

    fn share_of(stream: &Stream) -> f64 {
        let Ends::Scaled(scaled) = &stream.ends else { panic!("receiver reports") };
        scaled.share
    }

    /// Times in ms, lengths and numbers of the next packets.
    fn packets(stream: &mut Stream, n: usize) -> Vec<(u64, u16, u32)> {
        let mut next = || {
            let at = stream.next_packet().unwrap();
            let (len, seq) = stream.send(at);
            (at.nanos() / 1_000_000, len, seq)
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn frame_is_cut_into_packets_at_its_time() {
        let mut stream = stream(&[2500, 0, 1000, 1], 0.5);
        let first = [(0, 1040, 1), (0, 1040, 2), (0, 540, 3), (80, 1040, 4), (120, 41, 5), (160, 1040, 6)];
        assert_eq!(packets(&mut stream, 6), first);
    }

    #[test]
    fn receiver_reports_fraction_lost_since_its_last_report() {
        let mut receiver = Receiver::default();
        assert_eq!(receiver.report(), None, "nothing has arrived yet");
        // 3 to 10 without 5 and 6: 2 of 8 are lost. Losses before the first arrival are unknown.
        [3, 4, 7, 8, 9, 10].into_iter().for_each(|seq| receiver.receive(seq, false));
        assert_eq!(receiver.report(), Some(1 << NUMBER_SHIFT | HAS_DATA | 64));
        assert_eq!(receiver.report(), Some(2 << NUMBER_SHIFT), "nothing has arrived since");
        [12, 5].into_iter().for_each(|seq| receiver.receive(seq, false));
        assert_eq!(receiver.report(), Some(3 << NUMBER_SHIFT | HAS_DATA), "11 is missing, but 5 came late");
    }

    #[test]
    fn receiver_report_counts_marks_as_losses() {
        let mut receiver = Receiver::default();
        // 1 to 8 without 4, and 2 and 3 with a mark: 3 of 8.
        [1, 2, 3, 5, 6, 7, 8].into_iter().for_each(|seq| receiver.receive(seq, seq == 2 || seq == 3));
        assert_eq!(receiver.report(), Some(1 << NUMBER_SHIFT | HAS_DATA | 96));
        (9..=12).for_each(|seq| receiver.receive(seq, true));
        assert_eq!(receiver.report(), Some(2 << NUMBER_SHIFT | HAS_DATA | 255), "all of them: 256 exceeds 8 bits");
        (13..=16).for_each(|seq| receiver.receive(seq, false));
        assert_eq!(receiver.report(), Some(3 << NUMBER_SHIFT | HAS_DATA), "a mark is reported once");
    }

    #[test]
    fn sender_decreases_by_factor_and_increases_by_steps() {
        let mut stream = stream(&[1000], 0.5);
        let share = |stream: &mut Stream, lost: u32| {
            stream.on_report(Instant::ZERO, HAS_DATA | lost);
            share_of(stream)
        };
        assert_eq!(share(&mut stream, 0), 1.0, "never above the full rate");
        assert_eq!(share(&mut stream, 5), 1.0, "5/256 is below 2 %");
        assert_eq!(share(&mut stream, 6), 0.8);
        assert_eq!(packets(&mut stream, 1), [(0, 840, 1)]);
        assert_eq!(share(&mut stream, 255), 0.8 * 0.8);
        assert_eq!(share(&mut stream, 255), 0.8 * 0.8 * 0.8);
        assert_eq!(share(&mut stream, 255), 0.5, "the minimum");
        assert_eq!(share(&mut stream, 0), 0.55);
        stream.on_report(Instant::ZERO, 9 << NUMBER_SHIFT | 77);
        assert_eq!(share_of(&stream), 0.55, "a report without arrivals changes nothing");
    }
}
