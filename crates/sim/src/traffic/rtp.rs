//! Video over RTP. Frames are cut into packets. The receiver reports the fraction of packets that were lost or
//! CE-marked, and the sender scales its frames accordingly. There are no retransmissions.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::arrived::Arrived;
use super::draw::Draw;
use super::source::recording::{Player, Replay};
use crate::engine::due::Due;

/// A video stream over RTP, whose sender adapts its rate to receiver reports.
#[derive(Clone, PartialEq, Debug)]
pub struct Rtp {
    /// Source of the frames.
    pub frames: Frames,
    /// Time between receiver reports.
    pub report: Span,
    /// Length of a report on the wire in bytes.
    pub report_size: u16,
    /// Lower limit of the sender's rate as a fraction of its full rate. 1: the rate is constant.
    pub floor: f64,
}

/// Source of frames.
#[derive(Clone, PartialEq, Debug)]
pub enum Frames {
    /// Frames of a recording, with their times and lengths.
    Recorded(Replay),
    /// Frames of a random model.
    Synthetic(Synthetic),
}

/// Random frames: groups of pictures I B B P B B P ..., with independent lognormal lengths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Synthetic {
    /// Time between frames.
    pub every: Span,
    /// Frames per group, from one I frame to the next.
    pub gop: u32,
    /// Mean length of all frames, in bytes.
    pub mean: f64,
    /// Standard deviation of the logarithm of the length, among frames of one type.
    pub sigma: f64,
}

/// Mean length of a P frame and of an I frame, in mean lengths of a B frame. Not from a publication.
const P_TO_B: f64 = 2.0;
const I_TO_B: f64 = 5.0;
/// Every third frame of a group is an I or P frame.
const SPACING: u32 = 3;
/// Maximum frame length in bytes.
const MAX_FRAME: f64 = (1 << 24) as f64;

/// Headers of IP, UDP and RTP, in bytes.
pub(crate) const HEADERS: u16 = 40;

/// A report is one number. From its highest bit on: the number of the report, this flag, and 8 bits with the fraction
/// of packets lost or marked, in 1/256, at most 255. The flag is set if packets have arrived since the last report.
const HAS_DATA: u32 = 1 << 8;
const NUMBER_SHIFT: u32 = 9;
/// Fraction of packets lost or marked above which the sender reduces its rate to 4/5. Otherwise it adds 1/20 of its
/// full rate. Marks count as losses (RFC 6679).
const TOLERATED: f64 = 0.02;
const DOWN: f64 = 0.8;
const UP: f64 = 0.05;

impl Synthetic {
    /// Mean length in bytes of the frame at this place in the group.
    fn mean_at(&self, place: u32) -> f64 {
        let weight = |place: u32| match place {
            0 => I_TO_B,
            p if p.is_multiple_of(SPACING) => P_TO_B,
            _ => 1.0,
        };
        let references = f64::from((self.gop - 1) / SPACING);
        let all = I_TO_B + P_TO_B * references + (f64::from(self.gop - 1) - references);
        self.mean * weight(place) * f64::from(self.gop) / all
    }

    fn size(&self, place: u32, rng: &mut Rng) -> u32 {
        let median = self.mean_at(place) * libm::exp(-0.5 * self.sigma * self.sigma);
        Draw::Lognormal { median, sigma: self.sigma, most: MAX_FRAME }.next(rng) as u32
    }
}

/// State of a source of frames.
enum Show {
    Recorded(Player),
    Synthetic(Synthetic, Option<(Instant, u32)>, u32),
}

impl Show {
    fn new(frames: &Frames) -> Self {
        match frames {
            Frames::Recorded(replay) => Self::Recorded(Player::new(replay.clone())),
            Frames::Synthetic(synthetic) => Self::Synthetic(*synthetic, None, 0),
        }
    }

    /// Starts. A random model starts at a random place of a group. Its first frame comes at a random time within the
    /// interval between frames.
    fn start(&mut self, now: Instant, rng: &mut Rng) {
        match self {
            Self::Recorded(player) => player.start(now),
            Self::Synthetic(synthetic, next, place) => {
                *place = rng.below(u64::from(synthetic.gop)) as u32;
                let at = now + Span::from_secs(synthetic.every.secs() * rng.uniform());
                *next = Some((at, synthetic.size(*place, rng)));
            }
        }
        self.skip_empty();
    }

    const fn stop(&mut self) {
        match self {
            Self::Recorded(player) => player.stop(),
            Self::Synthetic(_, next, _) => *next = None,
        }
    }

    fn next(&self) -> Option<(Instant, u32)> {
        match self {
            Self::Recorded(player) => player.next(),
            Self::Synthetic(_, next, _) => *next,
        }
    }

    fn skip(&mut self, rng: &mut Rng) {
        match self {
            Self::Recorded(player) => player.skip(),
            Self::Synthetic(synthetic, next, place) => {
                *place = (*place + 1) % synthetic.gop;
                *next = next.map(|(at, _)| (at + synthetic.every, synthetic.size(*place, rng)));
            }
        }
        self.skip_empty();
    }

    /// Skips frames of length 0.
    fn skip_empty(&mut self) {
        if let Self::Recorded(player) = self {
            player.skip_empty();
        }
    }
}

/// State of a stream, both ends.
pub(crate) struct Stream {
    show: Show,
    rng: Rng,
    /// Maximum frame bytes per packet.
    payload: u32,
    floor: f64,
    /// Current fraction of the full rate.
    share: f64,
    /// Bytes of the current frame not sent yet; 0 before its first packet.
    rest: u32,
    /// Packets sent.
    sent: u32,
    receiver: Receiver,
}

/// The receiving end (RFC 3550, appendix A.3).
struct Receiver {
    every: Span,
    next: Due,
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
    /// Packets received after the warm-up.
    arrived: Arrived,
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

impl Stream {
    /// A stream before its start; `packet`: maximum length on the wire in bytes.
    pub(crate) fn new(rtp: &Rtp, packet: u16, rng: Rng) -> Self {
        Self {
            show: Show::new(&rtp.frames),
            rng,
            payload: u32::from(packet.saturating_sub(HEADERS).max(1)),
            floor: rtp.floor,
            share: 1.0,
            rest: 0,
            sent: 0,
            receiver: Receiver {
                every: rtp.report,
                next: Due::NEVER,
                reports: 0,
                received: 0,
                first: 0,
                highest: 0,
                expected_before: 0,
                received_before: 0,
                marked: 0,
                arrived: Arrived::default(),
            },
        }
    }

    /// Starts. The first report comes at a random time within its interval, so that streams do not report in step.
    pub(crate) fn start(&mut self, now: Instant) {
        self.show.start(now, &mut self.rng);
        let wait = Span::from_secs(self.receiver.every.secs() * self.rng.uniform());
        self.receiver.next = Due::at(now + wait);
    }

    /// Stops both ends.
    pub(crate) const fn stop(&mut self) {
        self.show.stop();
        self.receiver.next = Due::NEVER;
    }

    /// When the next packet is due.
    pub(crate) fn next_packet(&self) -> Option<Instant> {
        self.show.next().map(|(at, _)| at)
    }

    /// When the next report is due.
    pub(crate) const fn next_report(&self) -> Due {
        self.receiver.next
    }

    /// Sends the packet that is due. Returns its length on the wire and its number.
    pub(crate) fn send(&mut self) -> (u16, u32) {
        if self.rest == 0 {
            let full = self.show.next().map_or(1, |(_, size)| size);
            self.rest = (libm::round(f64::from(full) * self.share) as u32).max(1);
        }
        let part = self.rest.min(self.payload);
        self.rest -= part;
        if self.rest == 0 {
            self.show.skip(&mut self.rng);
        }
        self.sent += 1;
        (part as u16 + HEADERS, self.sent)
    }

    /// A packet has arrived; `marked`: with CE; `within`: in the measurement window.
    pub(crate) fn receive(&mut self, seq: u32, len: u16, marked: bool, within: bool) {
        self.receiver.receive(seq, marked);
        if within {
            self.receiver.arrived.add(len);
        }
    }

    /// The due report as a number, as [`on_report`](Self::on_report) takes it; `None` before the first packet.
    pub(crate) fn report(&mut self) -> Option<u32> {
        let next = self.receiver.next.get().map(|at| at + self.receiver.every);
        self.receiver.next = Due::from(next);
        self.receiver.report()
    }

    /// A report has reached the sender: adapts the rate.
    pub(crate) fn on_report(&mut self, report: u32) {
        if report & HAS_DATA == 0 {
            return;
        }
        let lost = f64::from(report & (HAS_DATA - 1)) / 256.0;
        self.share = if lost > TOLERATED { (self.share * DOWN).max(self.floor) } else { (self.share + UP).min(1.0) };
    }

    /// Packets sent.
    pub(crate) const fn sent(&self) -> u32 {
        self.sent
    }

    /// Packets received.
    pub(crate) const fn received(&self) -> u32 {
        self.receiver.received
    }

    /// Packets received after the warm-up.
    pub(crate) const fn arrived(&self) -> Arrived {
        self.receiver.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::recording::Recording;
    use super::*;
    use std::sync::Arc;

    /// Frames of these sizes, 40 ms apart, repeated without end.
    fn stream(sizes: &[u32], floor: f64) -> Stream {
        let items = sizes.iter().enumerate().map(|(i, size)| (Span::from_millis(40 * i as u64), *size)).collect();
        let recording = Arc::new(Recording::new(items).unwrap());
        let frames = Frames::Recorded(Replay { recording, from: Span::ZERO, repeat: true });
        let rtp = Rtp { frames, report: Span::from_millis(900), report_size: 80, floor };
        let mut stream = Stream::new(&rtp, 1040, Rng::stream(1, "rtp"));
        stream.start(Instant::ZERO);
        stream
    }

    /// Times in ms, lengths and numbers of the next packets.
    fn packets(stream: &mut Stream, n: usize) -> Vec<(u64, u16, u32)> {
        let mut next = || {
            let at = stream.next_packet().unwrap();
            let (len, seq) = stream.send();
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
        let mut receiver = stream(&[1000], 1.0).receiver;
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
        let mut receiver = stream(&[1000], 1.0).receiver;
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
            stream.on_report(HAS_DATA | lost);
            stream.share
        };
        assert_eq!(share(&mut stream, 0), 1.0, "never above the full rate");
        assert_eq!(share(&mut stream, 5), 1.0, "5/256 is below 2 %");
        assert_eq!(share(&mut stream, 6), 0.8);
        assert_eq!(packets(&mut stream, 1), [(0, 840, 1)]);
        assert_eq!(share(&mut stream, 255), 0.8 * 0.8);
        assert_eq!(share(&mut stream, 255), 0.8 * 0.8 * 0.8);
        assert_eq!(share(&mut stream, 255), 0.5, "the minimum");
        assert_eq!(share(&mut stream, 0), 0.55);
        stream.on_report(9 << NUMBER_SHIFT | 77);
        assert_eq!(stream.share, 0.55, "a report without arrivals changes nothing");
    }

    /// Checks the mean length of all frames, and the ratio 5 : 2 : 1 of the mean lengths of I, P and B frames. Lengths
    /// of one type have a coefficient of variation of sqrt(exp(0.3^2) - 1) = 0.31. Over 10,000 groups the mean of the I
    /// frames thus has a standard deviation (sd) of 0.31 %, and the mean of all frames less. Tolerance: 4 sd.
    #[test]
    fn synthetic_frames_have_mean_and_group_pattern() {
        let every = Span::from_millis(40);
        let synthetic = Synthetic { every, gop: 12, mean: 2500.0, sigma: 0.3 };
        let mut rng = Rng::stream(4, "frames");
        let mut show = Show::new(&Frames::Synthetic(synthetic));
        show.start(Instant::ZERO, &mut rng);
        let (groups, mut sums) = (10_000u32, [0.0; 12]);
        let mut last = None;
        for _ in 0..12 * groups {
            let (at, size) = show.next().unwrap();
            assert!(last.is_none_or(|last| at == last + every) && at < Instant::ZERO + every * 200_000);
            last = Some(at);
            let Show::Synthetic(_, _, place) = show else { panic!() };
            sums[place as usize] += f64::from(size);
            show.skip(&mut rng);
        }
        let means = sums.map(|sum| sum / f64::from(groups));
        assert!((means.iter().sum::<f64>() / 12.0 / 2500.0 - 1.0).abs() < 0.0124, "{means:?}");
        let unit = 12.0 * 2500.0 / 19.0;
        for (place, mean) in means.into_iter().enumerate() {
            let weight = [5.0, 1.0, 1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0][place];
            assert!((mean / unit / weight - 1.0).abs() < 0.0124, "{place}: {mean}");
        }
        assert_eq!(Synthetic { gop: 1, ..synthetic }.mean_at(0), 2500.0);
    }
}
