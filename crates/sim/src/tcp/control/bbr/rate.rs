//! Delivery rate (draft-cheng-iccrg-delivery-rate-estimation-00) and the filter over it.

use forebay_aqm::base::time::{Instant, Span};

use super::super::super::congestion::Sent;

/// Rounds over which BBR takes the largest rate (BBR draft section 4.1.1.3, BtlBwFilterLen).
const ROUNDS: usize = 10;

/// What was true when a packet left (section 3.1.2).
#[derive(Clone, Copy, Debug, Default)]
struct Departure {
    /// Not yet acknowledged in any way.
    pending: bool,
    again: bool,
    app_limited: bool,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    sent_at: Instant,
}

/// The rate that one acknowledgement shows (section 3.1.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// `prior_delivered` of the latest packet sent among those delivered; none if none was delivered.
    pub(super) prior_delivered: Option<u64>,
    /// Packets per second; none where the interval is shorter than any round trip.
    pub(super) rate: Option<f64>,
    pub(super) app_limited: bool,
    /// The shortest round trip of a packet that was sent once.
    pub(super) rtt: Option<Span>,
    /// Packets delivered.
    pub(super) delivered: u32,
    prior_at: Instant,
    send_elapsed: Span,
}

/// State of the estimator (`C` of the draft).
#[derive(Clone, Debug, Default)]
pub(super) struct Sampler {
    /// By packet number, modulo its length: a power of two above the packets outstanding.
    departures: Vec<Departure>,
    pub(super) delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// The application is the limit until so many are delivered; 0: it is not.
    app_limited: u64,
    sample: Sample,
}

impl Sampler {
    /// A packet leaves.
    pub(super) fn sent(&mut self, sent: Sent) {
        let Sent { now, seq, una, in_flight, again } = sent;
        if in_flight == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let span = (seq - una) as usize + 1;
        if span > self.departures.len() {
            self.grow(una, span);
        }
        let mask = self.departures.len() - 1;
        let entry = &mut self.departures[seq as usize & mask];
        *entry = Departure {
            // A timeout may send what was reported long ago: that is not delivered twice.
            pending: !again || entry.pending,
            again,
            app_limited: self.app_limited != 0,
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

    /// Packet `seq` is acknowledged, selectively or not (`UpdateRateSample`).
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
        if sample.prior_delivered.is_none_or(|prior| packet.delivered > prior) {
            sample.prior_delivered = Some(packet.delivered);
            sample.prior_at = packet.delivered_at;
            sample.app_limited = packet.app_limited;
            sample.send_elapsed = packet.sent_at.since(packet.first_sent_at);
            self.first_sent_at = packet.sent_at;
        }
    }

    /// The acknowledgement is done with (`GenerateRateSample`); no interval is shorter than `min_rtt`.
    pub(super) fn take(&mut self, min_rtt: Option<Span>) -> Sample {
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let mut sample = core::mem::take(&mut self.sample);
        if let Some(prior) = sample.prior_delivered {
            let interval = sample.send_elapsed.max(self.delivered_at.since(sample.prior_at));
            let least = min_rtt.unwrap_or(Span::ZERO).max(Span::from_nanos(1));
            sample.rate = (interval >= least).then(|| (self.delivered - prior) as f64 / interval.secs());
        }
        sample
    }

    /// The application has nothing more to send (section 3.4).
    pub(super) fn limit(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + u64::from(in_flight)).max(1);
    }

    pub(super) const fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }
}

/// The largest rate of the latest rounds.
///
/// Only a new rate makes the filter forget (draft section 4.1.1.3): rounds in which the application was the limit, or
/// ProbeRTT, show no rate of the path, and leave the estimate as it was.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxRate {
    by_round: [f64; ROUNDS],
    round: usize,
    /// Rounds begun since the latest rate.
    silent: usize,
}

impl MaxRate {
    pub(super) const fn next_round(&mut self) {
        self.silent += 1;
    }

    pub(super) fn update(&mut self, rate: f64) {
        for _ in 0..core::mem::take(&mut self.silent).min(ROUNDS) {
            self.round = (self.round + 1) % ROUNDS;
            self.by_round[self.round] = 0.0;
        }
        let slot = &mut self.by_round[self.round];
        *slot = slot.max(rate);
    }

    pub(super) fn get(&self) -> f64 {
        self.by_round.iter().copied().fold(0.0, f64::max)
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
    fn a_burst_counts_at_the_rate_of_its_acknowledgements() {
        // Ten packets at once, acknowledged 2 ms apart from 100 ms on: the last shows 10 in 118 ms.
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
    fn acknowledgements_that_come_at_once_do_not_exceed_the_rate_of_sending() {
        // 0 is acknowledged after 100 ms, when 5 leaves. Then 1 to 5 come back at once, 50 ms later; but it took
        // 100 ms to send them.
        let mut sampler = Sampler::default();
        (0..5).for_each(|seq| send(&mut sampler, 10 * u64::from(seq), seq, seq, false));
        sampler.arrived(at(100), 0);
        sampler.take(None);
        send(&mut sampler, 100, 5, 4, false);
        (1..6).for_each(|seq| sampler.arrived(at(150), seq));
        assert_eq!(sampler.take(None).rate, Some(5.0 / 0.1));
    }

    #[test]
    fn a_packet_counts_once_and_tells_no_round_trip_if_sent_again() {
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
    fn an_application_limits_until_what_was_in_flight_is_delivered() {
        let mut sampler = Sampler::default();
        send(&mut sampler, 0, 0, 0, false);
        sampler.limit(1);
        send(&mut sampler, 10, 1, 1, false);
        (0..2).for_each(|seq| sampler.arrived(at(100), seq));
        sampler.take(None);
        assert!(!sampler.is_app_limited());
    }

    #[test]
    fn rounds_without_a_rate_forget_nothing() {
        let mut filter = MaxRate::default();
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
    fn the_largest_rate_is_forgotten_after_ten_rounds() {
        let mut filter = MaxRate::default();
        filter.update(100.0);
        for round in 1..=10 {
            assert_eq!(filter.get(), 100.0, "round {round}");
            filter.next_round();
            filter.update(50.0);
        }
        assert_eq!(filter.get(), 50.0);
    }
}
