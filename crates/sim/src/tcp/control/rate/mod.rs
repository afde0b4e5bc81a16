//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation-00; draft-ietf-ccwg-bbr section 4.1 for the
//! counts of losses), and BBR's max filter over the rates.

pub(super) mod extra_acked;
mod windowed_max;

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::Sent;
use windowed_max::WindowedMax;

/// Length of the max filter in rounds (draft of BBR version 1, section 4.1.1.3, BtlBwFilterLen).
const ROUNDS: usize = 10;

/// State recorded when a packet is sent (section 3.1.2).
#[derive(Clone, Copy, Debug, Default)]
struct Departure {
    /// True until the packet is acknowledged, cumulatively or selectively.
    pending: bool,
    again: bool,
    app_limited: bool,
    /// Packets in flight with this one.
    in_flight: u32,
    /// Packets lost so far.
    lost: u32,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    sent_at: Instant,
}

/// A packet that is considered lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    /// Packets in flight when it was sent, with itself.
    pub(super) in_flight: u32,
    /// Packets lost since it was sent, with itself.
    pub(super) lost: u32,
    pub(super) app_limited: bool,
}

/// Rate sample of one acknowledgement (section 3.1.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// `prior_delivered` of the most recently sent packet among those delivered; `None`: none was delivered.
    pub(super) prior_delivered: Option<u64>,
    /// Delivery rate in packets per second; `None` if the time over which it is measured is shorter than the minimum
    /// round trip.
    pub(super) rate: Option<f64>,
    pub(super) app_limited: bool,
    /// Smallest round trip of the delivered packets that were sent only once.
    pub(super) rtt: Option<Span>,
    /// Packets that this acknowledgement newly reports as delivered.
    pub(super) delivered: u32,
    /// Of the most recently sent packet among those delivered: packets in flight when it was sent, with itself, and
    /// packets lost since.
    pub(super) in_flight: u32,
    pub(super) lost: u32,
    lost_before: u32,
    prior_at: Instant,
    send_elapsed: Span,
    /// Packets delivered since the most recently sent of them was sent (`RS.delivered`).
    since_sent: u64,
}

impl Sample {
    /// Packets delivered while the most recently sent of those delivered was in flight.
    pub(super) const fn acked_while_in_flight(&self) -> f64 {
        self.since_sent as f64
    }
}

/// State of the estimator (`C` of the draft).
#[derive(Clone, Debug, Default)]
pub(super) struct Sampler {
    /// Indexed by packet number modulo the length, a power of two that is at least the packets outstanding.
    departures: Vec<Departure>,
    pub(super) delivered: u64,
    /// Packets lost so far, modulo 2^32.
    lost: u32,
    pub(super) delivered_at: Instant,
    first_sent_at: Instant,
    /// Samples are application-limited until this many packets are delivered; 0: they are not.
    app_limited: u64,
    sample: Sample,
    /// State of Linux's rules; `None`: the estimator follows the draft.
    linux: Option<Linux>,
}

/// State of Linux's rules (`tcp_rate.c`). They differ from the draft:
/// - the sample is that of the packet that was sent last; in the draft, of the packet with the largest `delivered`;
/// - a connection is idle if nothing is outstanding; in the draft, if nothing is in flight;
/// - the minimum round trip is that of the connection; in the draft, that of the control.
#[derive(Clone, Copy, Debug, Default)]
struct Linux {
    /// When the packet of the sample was sent, and its number.
    newest: (Instant, u32),
    min_rtt: Option<Span>,
}

impl Sampler {
    /// An estimator that follows Linux.
    pub(super) fn of_linux() -> Self {
        Self { linux: Some(Linux::default()), ..Self::default() }
    }

    /// The handshake has measured this round trip.
    pub(super) fn measured(&mut self, rtt: Span) {
        if let Some(linux) = &mut self.linux {
            linux.min_rtt = linux.min_rtt.into_iter().chain([rtt]).min();
        }
    }

    /// Records, with the packet that is sent, what has been delivered so far.
    pub(super) fn sent(&mut self, sent: Sent) {
        let Sent { now, seq, una, in_flight, again } = sent;
        let is_idle = if self.linux.is_some() { seq == una && !again } else { in_flight == 0 };
        if is_idle {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let span = (seq - una) as usize + 1;
        if span > self.departures.len() {
            self.grow(una, span);
        }
        let mask = self.departures.len() - 1;
        let entry = &mut self.departures[seq as usize & mask];
        *entry = Departure {
            // A timeout may retransmit a packet already reported: do not count its delivery twice.
            pending: !again || entry.pending,
            again,
            app_limited: self.app_limited != 0,
            in_flight: in_flight + 1,
            lost: self.lost,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            sent_at: now,
        };
    }

    #[cold]
    fn grow(&mut self, una: u32, span: usize) {
        let old = core::mem::take(&mut self.departures);
        let size = span.next_power_of_two().max(64);
        self.departures = vec![Departure::default(); size];
        for seq in (una as usize..).take(old.len()) {
            self.departures[seq & (size - 1)] = old[seq & (old.len() - 1)];
        }
    }

    /// Packet `seq` is acknowledged, selectively or cumulatively (`UpdateRateSample`).
    pub(super) fn arrived(&mut self, now: Instant, seq: u32) {
        let mask = self.departures.len() - 1;
        let packet = &mut self.departures[seq as usize & mask];
        if !core::mem::take(&mut packet.pending) {
            return;
        }
        self.delivered += 1;
        self.delivered_at = now;
        let sample = &mut self.sample;
        sample.delivered += 1;
        if !packet.again {
            let rtt = now.since(packet.sent_at);
            sample.rtt = Some(sample.rtt.map_or(rtt, |other| other.min(rtt)));
        }
        let is_newer = |prior| match &self.linux {
            Some(linux) => (packet.sent_at, seq) > linux.newest,
            None => packet.delivered > prior,
        };
        if sample.prior_delivered.is_none_or(is_newer) {
            if let Some(linux) = &mut self.linux {
                linux.newest = (packet.sent_at, seq);
            }
            sample.prior_delivered = Some(packet.delivered);
            sample.prior_at = packet.delivered_at;
            sample.app_limited = packet.app_limited;
            (sample.in_flight, sample.lost_before) = (packet.in_flight, packet.lost);
            sample.send_elapsed = packet.sent_at.since(packet.first_sent_at);
            self.first_sent_at = packet.sent_at;
        }
    }

    /// Packet `seq` is considered lost.
    pub(super) fn lost(&mut self, seq: u32) -> Lost {
        self.lost = self.lost.wrapping_add(1);
        let mask = self.departures.len().wrapping_sub(1);
        let packet = self.departures.get(seq as usize & mask).copied().unwrap_or_default();
        let lost = self.lost.wrapping_sub(packet.lost);
        Lost { in_flight: packet.in_flight, lost, app_limited: packet.app_limited }
    }

    /// Returns the rate sample of the acknowledgement just processed (`GenerateRateSample`). If the time over which the
    /// rate is measured is shorter than `min_rtt`, in Linux than the minimum of the connection, the sample has no rate.
    pub(super) fn take(&mut self, min_rtt: Option<Span>) -> Sample {
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let mut sample = core::mem::take(&mut self.sample);
        if let Some(prior) = sample.prior_delivered {
            let interval = sample.send_elapsed.max(self.delivered_at.since(sample.prior_at));
            let min_rtt = match &mut self.linux {
                Some(linux) => {
                    linux.min_rtt = linux.min_rtt.into_iter().chain(sample.rtt).min();
                    linux.min_rtt
                }
                None => min_rtt,
            };
            let least = min_rtt.unwrap_or(Span::ZERO).max(Span::from_nanos(1));
            sample.lost = self.lost.wrapping_sub(sample.lost_before);
            sample.since_sent = self.delivered - prior;
            sample.rate = (interval >= least).then(|| (self.delivered - prior) as f64 / interval.secs());
        }
        sample
    }

    /// The application has no more data to send (section 3.4).
    pub(super) fn limit(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + u64::from(in_flight)).max(1);
    }

    pub(super) const fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }
}

/// Largest rate of the last rounds.
///
/// Old rates expire only when a new rate arrives (draft section 4.1.1.3). Rounds without a new rate do not change the
/// estimate, for example rounds in ProbeRTT or with too little data from the application.
#[derive(Clone, Debug)]
pub(super) enum MaxRate {
    /// The largest of the last [`ROUNDS`] rounds.
    Draft {
        by_round: [f64; ROUNDS],
        round: usize,
        /// Rounds begun since the latest rate sample.
        silent: usize,
    },
    /// Linux's filter.
    Linux { max: WindowedMax, round: u32 },
}

impl MaxRate {
    /// A filter without rates; `is_linux`: that of Linux.
    pub(super) fn new(is_linux: bool) -> Self {
        if is_linux {
            Self::Linux { max: WindowedMax::default(), round: 0 }
        } else {
            Self::Draft { by_round: [0.0; ROUNDS], round: 0, silent: 0 }
        }
    }

    pub(super) const fn next_round(&mut self) {
        match self {
            Self::Draft { silent, .. } => *silent += 1,
            Self::Linux { round, .. } => *round += 1,
        }
    }

    pub(super) fn update(&mut self, rate: f64) {
        match self {
            Self::Draft { by_round, round, silent } => {
                for _ in 0..core::mem::take(silent).min(ROUNDS) {
                    *round = (*round + 1) % ROUNDS;
                    by_round[*round] = 0.0;
                }
                let slot = &mut by_round[*round];
                *slot = slot.max(rate);
            }
            Self::Linux { max, round } => max.update(ROUNDS as u32, *round, rate),
        }
    }

    pub(super) fn get(&self) -> f64 {
        match self {
            Self::Draft { by_round, .. } => by_round.iter().copied().fold(0.0, f64::max),
            Self::Linux { max, .. } => max.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn send(sampler: &mut Sampler, ms: u64, seq: u32, in_flight: u32, again: bool) {
        sampler.sent(Sent { now: at(ms), seq, una: 0, in_flight, again });
    }

    #[test]
    fn rate_sample_of_burst_is_limited_by_acknowledgements() {
        // Ten packets sent at once, acknowledged 2 ms apart from 100 ms on: the last sample is 10 packets in 118 ms.
        let mut sampler = Sampler::default();
        (0..10).for_each(|seq| send(&mut sampler, 0, seq, seq, false));
        let samples: Vec<Sample> = (0..10u32)
            .map(|seq| {
                sampler.arrived(at(100 + 2 * u64::from(seq)), seq);
                sampler.take(None)
            })
            .collect();
        assert_eq!(samples[9].rate, Some(10.0 / 0.118));
        assert_eq!(samples[9].rtt, Some(Span::from_millis(118)));
    }

    #[test]
    fn compressed_acks_do_not_exceed_the_send_rate() {
        // Packet 0 is acknowledged at 100 ms, when packet 5 is sent. Packets 1 to 5 are acknowledged together 50 ms
        // later, but sending them took 100 ms.
        let mut sampler = Sampler::default();
        (0..5).for_each(|seq| send(&mut sampler, 10 * u64::from(seq), seq, seq, false));
        sampler.arrived(at(100), 0);
        sampler.take(None);
        send(&mut sampler, 100, 5, 4, false);
        (1..6).for_each(|seq| sampler.arrived(at(150), seq));
        assert_eq!(sampler.take(None).rate, Some(5.0 / 0.1));
    }

    #[test]
    fn retransmitted_packet_counts_once_and_gives_no_rtt() {
        let mut sampler = Sampler::default();
        send(&mut sampler, 0, 0, 0, false);
        send(&mut sampler, 50, 0, 0, true);
        sampler.arrived(at(60), 0);
        send(&mut sampler, 70, 0, 0, true);
        sampler.arrived(at(80), 0);
        let sample = sampler.take(None);
        assert_eq!((sample.delivered, sample.rtt), (1, None));
    }

    #[test]
    fn app_limit_ends_with_delivery_of_flight() {
        let mut sampler = Sampler::default();
        send(&mut sampler, 0, 0, 0, false);
        sampler.limit(1);
        send(&mut sampler, 10, 1, 1, false);
        (0..2).for_each(|seq| sampler.arrived(at(100), seq));
        sampler.take(None);
        assert!(!sampler.is_app_limited());
    }

    /// Two packets that left with the same number of deliveries, 1 and 3 ms after the start of the window.
    #[test]
    fn sample_of_linux_is_of_the_packet_sent_last() {
        for (mut sampler, elapsed) in [(Sampler::default(), 1), (Sampler::of_linux(), 3)] {
            send(&mut sampler, 0, 0, 0, false);
            send(&mut sampler, 1, 1, 1, false);
            send(&mut sampler, 3, 2, 2, false);
            (1..3).for_each(|seq| sampler.arrived(at(50), seq));
            assert_eq!(sampler.take(None).send_elapsed, Span::from_millis(elapsed));
        }
    }

    #[test]
    fn sample_of_linux_needs_the_round_trip_of_the_connection() {
        for (again, is_measured) in [(false, true), (true, false)] {
            let mut sampler = Sampler::of_linux();
            sampler.measured(Span::from_millis(60));
            send(&mut sampler, 0, 0, 0, false);
            if again {
                send(&mut sampler, 20, 0, 0, true);
            }
            // 50 ms is a new minimum, unless the packet was sent twice.
            sampler.arrived(at(50), 0);
            assert_eq!(sampler.take(Some(Span::from_millis(10))).rate.is_some(), is_measured);
        }
    }

    #[test]
    fn rounds_without_samples_keep_the_rate_estimate() {
        let mut filter = MaxRate::new(false);
        filter.update(100.0);
        (0..25).for_each(|_| filter.next_round());
        assert_eq!(filter.get(), 100.0);
        filter.update(50.0);
        assert_eq!(filter.get(), 50.0, "the old rate is 25 rounds old");
        (0..9).for_each(|_| filter.next_round());
        filter.update(40.0);
        assert_eq!(filter.get(), 50.0);
        filter.next_round();
        filter.update(40.0);
        assert_eq!(filter.get(), 40.0);
    }

    #[test]
    fn max_filter_forgets_rates_after_ten_rounds() {
        let mut filter = MaxRate::new(false);
        filter.update(100.0);
        for round in 1..=10 {
            assert_eq!(filter.get(), 100.0, "round {round}");
            filter.next_round();
            filter.update(50.0);
        }
        assert_eq!(filter.get(), 50.0);
    }
}
