//! Adaptive video over HTTP (DASH): a client fetches a video in segments over one connection, and plays it.
//!
//! The client requests one segment after the other. It waits while its buffer has no room for one more segment. Playback
//! starts when `startup` of video is in the buffer. It stalls when the buffer is empty, until `resume` is in the buffer.
//! When the client requests a segment, it chooses the segment's bitrate ([`Adapt`]). The first segment has the lowest one.
//!
//! Sources:
//! - the buffer: Yin et al., "A Control-Theoretic Approach for Dynamic Adaptive Video Streaming over HTTP", SIGCOMM 2015,
//!   equations 1 to 4. There a segment may exceed the buffer, and the client waits afterwards.
//! - [`Adapt::Rate`]: the rule RB of the same paper;
//! - [`Adapt::Buffer`]: BBA-0 of Huang et al., "A Buffer-Based Approach to Rate Adaptation: Evidence from a Large Video
//!   Streaming Service", SIGCOMM 2014, algorithm 1.

use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;

use super::draw::Draw;
use super::session::{Files, Opening};
use crate::measure::video::VideoOutcome;

/// How a client chooses the bitrate of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adapt {
    /// The highest bitrate that is at most the harmonic mean of the throughputs of the last five segments. A throughput is
    /// the length of the segment without headers / the time from the request to its last packet. If there is a handshake,
    /// the time of the first segment begins with the SYN.
    Rate,
    /// By the amount of video in the buffer. Up to `reservoir` the bitrate is the lowest, from `reservoir + cushion` on the
    /// highest. Between them a rate grows linearly from the lowest to the highest bitrate. The client changes its bitrate
    /// when this rate reaches the next higher or the next lower bitrate.
    Buffer {
        /// Video in the buffer up to which the bitrate is the lowest: r.
        reservoir: Span,
        /// More video in the buffer with which the bitrate is the highest: cu.
        cushion: Span,
    },
}

/// A video and the client that plays it.
#[derive(Clone, PartialEq, Debug)]
pub struct Video {
    /// Bitrates of the video without packet headers, in ascending order.
    pub bitrates: Vec<Rate>,
    /// Playing time of a segment.
    pub segment: Span,
    /// Most video in the buffer.
    pub buffer: Span,
    /// Video in the buffer with which playback starts.
    pub startup: Span,
    /// Video in the buffer with which a stall ends.
    pub resume: Span,
    /// How the client chooses bitrates.
    pub adapt: Adapt,
    /// Length of a request on the wire in bytes.
    pub request: u16,
    /// Does the connection begin with a handshake?
    pub handshake: bool,
}

impl Video {
    /// The most video that whole segments put into the buffer.
    pub fn fullest(&self) -> Span {
        Span::from_nanos(self.buffer.nanos() - self.buffer.nanos() % self.segment.nanos().max(1))
    }

    /// Can it be played: are the bitrates above 0 and ascending, and can the buffer have what start-up and resumption need?
    pub fn is_sound(&self) -> bool {
        let ascends = self.bitrates.iter().zip(self.bitrates.iter().skip(1)).all(|(one, next)| one < next);
        let starts = self.bitrates.first().is_some_and(|lowest| lowest.0 > 0) && self.segment > Span::ZERO;
        ascends && starts && self.segment <= self.buffer && self.startup.max(self.resume) <= self.fullest()
    }

    /// The files of the connection's session, which waits for the client.
    pub(super) fn session(&self) -> Files {
        let opening = if self.handshake { Opening::Handshake } else { Opening::Established };
        let none = Draw::Constant(0.0);
        Files { size: none, think: none, count: Some(0), fresh: false, request: Some(self.request), opening }
    }

    /// Length of a segment of this bitrate in bytes, without packet headers.
    fn bytes(&self, bitrate: Rate) -> u64 {
        let bits = u128::from(bitrate.0) * u128::from(self.segment.nanos());
        u64::try_from(bits.div_ceil(8_000_000_000)).unwrap_or(u64::MAX)
    }
}

/// A segment that the client requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fetch {
    /// When it is requested.
    pub(crate) at: Instant,
    /// Its length in bytes, without packet headers.
    pub(crate) bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Playback {
    /// Waiting for `startup`.
    Starting,
    Playing,
    /// Waiting for `resume` since this time.
    Stalled(Instant),
}

/// Segments in the harmonic mean.
const RECENT: usize = 5;

/// State of a client.
pub(crate) struct Client {
    video: Video,
    playback: Playback,
    /// Video in the buffer at the time `seen`.
    level: Span,
    seen: Instant,
    /// Index of the bitrate of the segment requested last, and the segment's length in bytes.
    bitrate: usize,
    bytes: u64,
    /// Seconds that a byte of each of the last segments took; segment n is at place n modulo [`RECENT`].
    pace: [f64; RECENT],
    /// When the client started and stopped, and when the playback started.
    began: Option<Instant>,
    stopped: bool,
    played: Option<Instant>,
    /// The time of arrival and the bitrate of each segment.
    fetched: Vec<(Instant, Rate)>,
    /// Begin and end of each stall that has ended.
    stalls: Vec<(Instant, Instant)>,
}

impl Client {
    /// A client before its start.
    pub(crate) fn new(video: &Video) -> Self {
        Self {
            video: video.clone(),
            playback: Playback::Starting,
            level: Span::ZERO,
            seen: Instant::ZERO,
            bitrate: 0,
            bytes: 0,
            pace: [0.0; RECENT],
            began: None,
            stopped: false,
            played: None,
            fetched: Vec::new(),
            stalls: Vec::new(),
        }
    }

    /// Requests the first segment.
    pub(crate) fn start(&mut self, now: Instant) -> Fetch {
        (self.began, self.seen) = (Some(now), now);
        self.request(now)
    }

    /// Stops: nothing more is requested.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// The requested segment has arrived, `took` after its request. Returns the next request; `None` after the stop.
    pub(crate) fn arrived(&mut self, now: Instant, took: Span) -> Option<Fetch> {
        if self.stopped {
            return None;
        }
        self.play(now);
        self.level = self.level + self.video.segment;
        self.pace[self.fetched.len() % RECENT] = took.secs() / self.bytes as f64;
        self.fetched.push((now, self.video.bitrates[self.bitrate]));
        match self.playback {
            Playback::Starting if self.level >= self.video.startup => {
                (self.playback, self.played) = (Playback::Playing, Some(now));
            }
            Playback::Stalled(since) if self.level >= self.video.resume => {
                self.playback = Playback::Playing;
                self.stalls.push((since, now));
            }
            _ => (),
        }
        Some(self.request(now))
    }

    /// Plays until `now`.
    fn play(&mut self, now: Instant) {
        let time = now.since(self.seen);
        if self.playback == Playback::Playing {
            if time > self.level {
                self.playback = Playback::Stalled(self.seen + self.level);
            }
            self.level = self.level - time;
        }
        self.seen = now;
    }

    /// Requests the next segment at `now`, or as soon as it fits into the buffer. Before the playback, and during a stall,
    /// it always fits: see [`Video::is_sound`].
    fn request(&mut self, now: Instant) -> Fetch {
        let wait = self.level + self.video.segment - self.video.buffer;
        self.bitrate = match self.video.adapt {
            Adapt::Rate => self.by_rate(),
            Adapt::Buffer { reservoir, cushion } => self.by_buffer(self.level - wait, reservoir, cushion),
        };
        self.bytes = self.video.bytes(self.video.bitrates[self.bitrate]);
        Fetch { at: now + wait, bytes: self.bytes }
    }

    /// [`Adapt::Rate`].
    fn by_rate(&self) -> usize {
        let known = self.fetched.len().min(RECENT);
        let seconds: f64 = self.pace[..known].iter().sum();
        let throughput = 8.0 * known as f64 / seconds;
        self.video.bitrates.iter().rposition(|rate| rate.0 as f64 <= throughput).unwrap_or(0)
    }

    /// [`Adapt::Buffer`] with `level` in the buffer: algorithm 1 of Huang et al.
    fn by_buffer(&self, level: Span, reservoir: Span, cushion: Span) -> usize {
        let rates = &self.video.bitrates;
        let rate = |index: usize| rates[index].0 as f64;
        let highest = rates.len() - 1;
        if level <= reservoir {
            return 0;
        }
        if level >= reservoir + cushion {
            return highest;
        }
        let line = rate(0) + (rate(highest) - rate(0)) * ((level - reservoir).secs() / cushion.secs());
        let (above, below) = ((self.bitrate + 1).min(highest), self.bitrate.saturating_sub(1));
        if line >= rate(above) {
            rates.iter().rposition(|rate| (rate.0 as f64) < line).unwrap_or(0)
        } else if line <= rate(below) {
            rates.iter().position(|rate| rate.0 as f64 > line).unwrap_or(highest)
        } else {
            self.bitrate
        }
    }

    /// The client's results; those within a window are from `from` to `to`, and nothing after `to` counts. `None` if the client
    /// is not active in this window.
    pub(crate) fn outcome(&self, from: Instant, to: Instant) -> Option<VideoOutcome> {
        let began = self.began.filter(|began| from.max(*began) < to)?;
        let startup = self.played.map_or(to, |played| played.min(to)).since(began);
        let mut found =
            VideoOutcome { clients: 1, active: to.since(began.max(from)), startup, ..VideoOutcome::default() };
        let current = match self.playback {
            Playback::Playing => Some((self.seen + self.level, to)),
            Playback::Stalled(since) => Some((since, to)),
            Playback::Starting => None,
        };
        for (since, until) in self.stalls.iter().copied().chain(current) {
            let (since, until) = (since.max(from), until.min(to));
            if since < until {
                found.stall = found.stall + until.since(since);
                found.stalls += 1;
            }
        }
        let mut before = None;
        for &(at, rate) in self.fetched.iter().take_while(|(at, _)| *at <= to) {
            if at >= from {
                found.segments += 1;
                found.bitrates += rate.0;
                let change = before.map_or(0, |before: Rate| before.0.abs_diff(rate.0));
                found.changes += change;
                found.switches += u32::from(change > 0);
            }
            before = Some(rate);
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: u64 = 1_000_000;

    /// Segments of 4 s: 500,000, 1,000,000 and 2,000,000 bytes.
    fn video(adapt: Adapt) -> Video {
        let (segment, buffer) = (secs(4.0), secs(12.0));
        let bitrates = [1, 2, 4].map(|rate| Rate(rate * MBIT)).to_vec();
        Video { bitrates, segment, buffer, startup: segment, resume: segment, adapt, request: 400, handshake: false }
    }

    fn secs(secs: f64) -> Span {
        Span::from_secs(secs)
    }

    fn at(time: f64) -> Instant {
        Instant::ZERO + secs(time)
    }

    /// Segments arrive at these times, one second after their requests. Returns the times of the next requests.
    fn play(client: &mut Client, arrivals: &[f64]) -> Vec<f64> {
        arrivals.iter().map(|now| client.arrived(at(*now), secs(1.0)).unwrap().at.secs()).collect()
    }

    #[test]
    fn playback_starts_with_enough_video() {
        // Two segments of 4 s are at least 7 s; the client starts at 1 s.
        let mut client = Client::new(&Video { startup: secs(7.0), ..video(Adapt::Rate) });
        assert!(client.outcome(at(0.0), at(9.0)).is_none());
        assert_eq!(client.start(at(1.0)), Fetch { at: at(1.0), bytes: 500_000 });
        assert_eq!(play(&mut client, &[2.0, 2.5]), [2.0, 2.5]);
        let found = |to: f64| client.outcome(at(0.0), at(to)).unwrap();
        assert_eq!((found(9.0).startup, found(9.0).active), (secs(1.5), secs(8.0)));
        assert_eq!(found(2.25).startup, secs(1.25), "not yet");
    }

    /// Buffer after each arrival: 4, 4 - 1 + 4 = 7, 7 - 1 + 4 = 10. With 8 s one more segment fits into 12 s: after 2 s, at
    /// 5 s. At 5.5 s the buffer has 7.5 + 4 = 11.5 s, and at 9 s again 8 s.
    #[test]
    fn client_waits_until_a_segment_fits() {
        let mut client = Client::new(&video(Adapt::Rate));
        client.start(at(0.0));
        assert_eq!(play(&mut client, &[1.0, 2.0, 3.0, 5.5]), [1.0, 2.0, 5.0, 9.0]);
        assert_eq!(client.outcome(at(0.0), at(9.0)).unwrap().stall, Span::ZERO);
        client.stop();
        assert_eq!(client.arrived(at(9.5), secs(0.5)), None, "after the stop");
    }

    /// Playback starts at 1 s; at 5 s the buffer is empty when the next 4 s arrive; at 9 s it is empty until 11.5 s; with 8 s,
    /// at 12 s, playback resumes. The buffer is empty again at 20 s.
    #[test]
    fn stall_lasts_from_empty_buffer_to_resumption() {
        let mut client = Client::new(&Video { resume: secs(8.0), ..video(Adapt::Rate) });
        client.start(at(0.0));
        play(&mut client, &[1.0, 5.0, 11.5]);
        let stalls = |client: &Client, from: f64, to: f64| {
            let found = client.outcome(at(from), at(to)).unwrap();
            (found.stall.secs(), found.stalls, found.segments)
        };
        assert_eq!(stalls(&client, 0.0, 9.0), (0.0, 0, 2));
        assert_eq!(stalls(&client, 0.0, 11.75), (2.75, 1, 3), "it goes on");
        play(&mut client, &[12.0]);
        assert_eq!(stalls(&client, 0.0, 20.0), (3.0, 1, 4));
        assert_eq!(stalls(&client, 10.0, 11.0), (1.0, 1, 0), "the part in the window");
        assert_eq!(stalls(&client, 12.0, 23.0), (3.0, 1, 1));
        assert!(client.outcome(at(9.0), at(9.0)).is_none() && client.outcome(at(9.0), at(8.0)).is_none());
    }

    /// Inverse throughputs in s/Mbit: 0.225, 0.25, 1, 1. Their harmonic means are 1/0.225 = 4.44, 2/0.475 = 4.21, 3/1.475 =
    /// 2.03 and 4/2.475 = 1.62 Mbit/s; the arithmetic mean of the four is 2.61.
    #[test]
    fn rate_rule_uses_the_harmonic_mean() {
        let mut client = Client::new(&video(Adapt::Rate));
        assert_eq!(client.start(at(0.0)).bytes, 500_000, "the lowest");
        let took = [0.9, 4.0, 16.0, 8.0];
        let next = took.map(|took| client.arrived(client.seen + secs(took), secs(took)).unwrap().bytes);
        assert_eq!(next, [2_000_000, 2_000_000, 1_000_000, 500_000]);
        // 1 + 4 + 4 + 2 Mbit/s have arrived, with changes of 3 and 2.
        let found = client.outcome(at(0.0), at(100.0)).unwrap();
        assert_eq!((found.bitrates, found.changes, found.switches), (11 * MBIT, 5 * MBIT, 2));
    }

    /// After one segment at 0.1 Mbit/s, five at 5 Mbit/s: 5/(10 + 4 x 0.2) = 0.46 with the slow one, then 5 Mbit/s.
    #[test]
    fn rate_rule_forgets_the_sixth_last_segment() {
        let mut client = Client::new(&video(Adapt::Rate));
        client.start(at(0.0));
        let took = [40.0, 0.8, 0.8, 0.8, 0.8, 0.8];
        let next = took.map(|took| client.arrived(client.seen + secs(took), secs(took)).unwrap().bytes);
        assert_eq!(next, [500_000, 500_000, 500_000, 500_000, 500_000, 2_000_000]);
    }

    /// The line is 1 + 3 (B - 4)/6 Mbit/s with B s in the buffer: 1.5 at 5 s, 2.5 at 7 s, 3.5 at 9 s.
    #[test]
    fn buffer_rule_is_algorithm_1() {
        let mut client = Client::new(&video(Adapt::Rate));
        let mut chosen = |before: usize, level: f64| {
            client.bitrate = before;
            client.by_buffer(secs(level), secs(4.0), secs(6.0))
        };
        for before in 0..3 {
            assert_eq!((chosen(before, 4.0), chosen(before, 10.0)), (0, 2), "outside of the cushion");
        }
        assert_eq!([5.0, 7.0, 9.0].map(|level| chosen(0, level)), [0, 1, 1], "up when the line reaches the next");
        assert_eq!([5.0, 7.0, 9.0].map(|level| chosen(1, level)), [1, 1, 1], "unchanged between the neighbours");
        assert_eq!([5.0, 7.0, 9.0].map(|level| chosen(2, level)), [1, 2, 2], "down when it reaches the one below");
    }

    /// The level that counts is that of the request. At 3 s the buffer has 10 s; the request at 5 s finds 8 s: 3 Mbit/s.
    #[test]
    fn buffer_rule_sees_the_level_at_the_request() {
        let adapt = Adapt::Buffer { reservoir: secs(4.0), cushion: secs(6.0) };
        let mut client = Client::new(&video(adapt));
        client.start(at(0.0));
        let next = [1.0, 2.0, 3.0].map(|now| client.arrived(at(now), secs(1.0)).unwrap().bytes);
        // 4 s: the reservoir; 7 s: 2.5 Mbit/s.
        assert_eq!(next, [500_000, 1_000_000, 1_000_000]);
    }

    #[test]
    fn buffer_must_hold_what_playback_needs() {
        let sound = |buffer: f64, startup: f64, resume: f64| {
            let (buffer, startup, resume) = (secs(buffer), secs(startup), secs(resume));
            Video { buffer, startup, resume, ..video(Adapt::Rate) }.is_sound()
        };
        assert!(sound(10.0, 8.0, 8.0) && sound(4.0, 4.0, 1.0));
        assert!(!sound(10.0, 9.0, 4.0) && !sound(10.0, 4.0, 9.0) && !sound(3.0, 1.0, 1.0));
        let with = |bitrates: &[u64]| {
            let bitrates = bitrates.iter().map(|rate| Rate(*rate)).collect();
            Video { bitrates, ..video(Adapt::Rate) }.is_sound()
        };
        assert!(with(&[1]) && !with(&[]) && !with(&[0, 1]) && !with(&[2, 2]) && !with(&[2, 1]));
    }
}
