//! The disciplines that a Linux box has, with sensible parameters for a line.

use forebay_aqm::base::text::show_span;
use forebay_aqm::base::time::Span;

use super::line::Line;

/// The interval of CoDel and CAKE's default round trip.
const USUAL: Span = Span::from_millis(100);
/// Ratio of the rates from which acknowledgements of downloads can fill the uplink (spec of tc-cake: ack-filter).
const ASYMMETRIC: u64 = 15;

/// CAKE shapes each direction at the rate of that direction. Its target and quantum depend on this rate.
pub(super) const SHAPED: &str = "bandwidth=link";

/// A discipline with its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    /// As in `--aqm`.
    pub(super) spec: String,
    /// Why it is a candidate.
    pub(super) why: &'static str,
}

/// The candidates for a line, the kernel's FIFO first. CoDel's interval should be about the largest usual round trip (RFC
/// 8290 section 4.1), its target a twentieth of it, but not below the time of one packet and a half.
pub(super) fn candidates(line: &Line, l4s: bool) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut add = |spec: String, why| all.push(Candidate { spec, why });
    add("droptail hard_limit=1000p".to_string(), "the kernel's FIFO of 1000 packets");
    add("fq_codel preset=linux".to_string(), "default of most distributions");
    add(format!("cake preset=linux {SHAPED}"), "default of CAKE");
    add("codel preset=linux".to_string(), "a single queue");
    add("pie preset=linux".to_string(), "a single queue");
    add("fq_pie preset=linux".to_string(), "flow queueing with PIE");
    let rtt = rounded(line.rtt.1);
    let target = target(line, rtt);
    // A longer target needs a longer interval, as in CAKE.
    let interval = rtt + (target - Span::from_nanos(rtt.nanos() / 20));
    let [rtt_word, interval_word, target_word] = [rtt, interval, target].map(show_span);
    if differs(rtt, USUAL) {
        add(format!("cake preset=linux {SHAPED} rtt={rtt_word}"), "the line's round trip");
    }
    if differs(rtt, USUAL) || differs(target, Span::from_millis(5)) {
        let spec = format!("fq_codel preset=linux interval={interval_word} target={target_word}");
        add(spec, "the line's round trip");
        add(format!("codel preset=linux interval={interval_word} target={target_word}"), "the line's round trip");
    }
    add("pie preset=linux target=5ms".to_string(), "a shorter target");
    if line.down.0 >= ASYMMETRIC * line.up.0 {
        let spec = format!("cake preset=linux {SHAPED} ack_filter=on");
        add(spec, "few bits up for the acknowledgements of downloads");
    }
    if l4s {
        add("dualpi2 preset=linux".to_string(), "L4S senders in one queue for all");
        add("fq_codel preset=linux ce_threshold=1ms".to_string(), "L4S senders");
    }
    all
}

/// Rounded up to 5 ms, from 10 ms to 1 s.
fn rounded(rtt: Span) -> Span {
    let step = Span::from_millis(5);
    let steps = rtt.nanos().div_ceil(step.nanos());
    (step * steps).max(Span::from_millis(10)).min(Span::from_millis(1000))
}

/// A twentieth of the interval, at least one packet and a half at the slower of the two rates.
fn target(line: &Line, interval: Span) -> Span {
    let slower = line.ip_rates().0.min(line.ip_rates().1);
    let packets = Span::from_secs(1.5 * 1500.0 * 8.0 / slower);
    let least = Span::from_micros(packets.nanos().div_ceil(1000));
    Span::from_nanos(interval.nanos() / 20).max(least)
}

/// Do two times differ by more than a fifth?
fn differs(one: Span, other: Span) -> bool {
    one.abs_diff(other) > Span::from_nanos(other.nanos() / 5)
}

#[cfg(test)]
mod tests {
    use super::super::line::{Asked, Profile};
    use super::*;
    use forebay_aqm::Spec;

    fn specs(rate: &str, up: &str, rtts: &str, l4s: bool) -> Vec<String> {
        let asked = Asked { rate, up: Some(up), rtts, overhead: None, flows: None, l4s, profile: Profile::Household };
        candidates(&Line::read(&asked).unwrap(), l4s).into_iter().map(|candidate| candidate.spec).collect()
    }

    #[test]
    fn every_candidate_is_a_discipline_of_linux() {
        for spec in specs("100mbit", "5mbit", "10ms..40ms", true) {
            assert!(Spec::parse(&spec).is_ok(), "{spec}");
            assert!(super::super::super::tc_line::line(&spec).is_ok(), "{spec}");
        }
    }

    #[test]
    fn parameters_follow_round_trip_and_rate() {
        let near = specs("100mbit", "50mbit", "10ms..30ms", false);
        assert!(near.contains(&"fq_codel preset=linux interval=30ms target=1.5ms".to_string()), "{near:?}");
        assert!(near.contains(&"cake preset=linux bandwidth=link rtt=30ms".to_string()));
        // 1.5 packets of 1500 bytes at 1 Mbit/s take 18 ms.
        let slow = specs("10mbit", "1mbit", "100ms", false);
        assert!(slow.contains(&"fq_codel preset=linux interval=113ms target=18ms".to_string()), "{slow:?}");
        let usual = specs("100mbit", "50mbit", "60ms..110ms", false);
        assert!(!usual.iter().any(|spec| spec.contains("interval=") || spec.contains("ack_filter")), "{usual:?}");
        assert!(
            specs("300mbit", "10mbit", "20ms", false)
                .contains(&"cake preset=linux bandwidth=link ack_filter=on".to_string())
        );
        assert!(specs("100mbit", "50mbit", "20ms", true).contains(&"dualpi2 preset=linux".to_string()));
    }
}
