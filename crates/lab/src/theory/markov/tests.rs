//! Tests of the Markov chain of queue lengths with TCP flows (`forebay theory markov`, RED+Tail paper, section VI). The
//! chain has random deviations of the flows' rates. Without them the queue has an equilibrium, which is stable or not.

use super::*;
use crate::theory::testing::setting_of;

/// The scenario of the RED+Tail paper's Figs. 17 to 21: 6 Mbit/s, 1000-byte packets, and a round-trip time of 64 ms
/// without queueing, of which 1.403307 ms are transmission times.
const EXAMPLE: &str = include_str!("../../../tests/data/tail.toml");

fn example(sets: &[&str], aqm: &str) -> (Spec, Setting) {
    setting_of(EXAMPLE, sets, aqm)
}

fn ask(p: f64, step: f64) -> Ask {
    Ask { p: Some(p), step: Step::RoundTrips(step), ..Ask::default() }
}

fn near(found: f64, want: f64, within: f64) {
    assert!((found - want).abs() <= within, "{found} for {want}");
}

#[test]
fn quantities_of_markov_chain_match_hand_calculation() {
    let (spec, setting) = example(&[], "droptail");
    let found = of(&spec, &setting, &ask(0.014, 1.0)).unwrap();
    near(found.window_pkts, 10.351, 5e-4);
    near(found.q_rest_pkts, 159.02, 5e-3);
    near(found.rtt_ms, 276.0, 0.05);
    near(found.sigma_bits_per_s, 77021.0, 1e-6);
    near(found.contraction_bound_ms, 29.7, 0.05);
    near(found.edge_ms, 552.0, 0.5);
    near(found.mixed_bound_ms, found.rtt_ms, 1e-6);
    near(found.slope, 0.0, 1e-9);
    near(found.linear_std_pkts.unwrap(), 11.88, 5e-3);
    let shares = found.distribution.unwrap();
    assert_eq!((shares.q_pkts.len(), shares.q_pkts[0]), (500, 0.5));
    near(shares.share.iter().sum(), 1.0, 1e-9);
    assert!(found.q_p50_pkts.unwrap() < found.q_p99_pkts.unwrap() && found.overflow.unwrap() < 1e-9);
}

/// The standard deviation of the queue by linear approximation exists only for a stable equilibrium; the queue
/// distribution exists for both.
#[test]
fn unstable_equilibrium_has_no_linear_standard_deviation() {
    let (spec, setting) = example(&[], "droptail");
    let calm = of(&spec, &setting, &ask(0.014, 1.99)).unwrap();
    let wild = of(&spec, &setting, &ask(0.014, 2.01)).unwrap();
    assert!(calm.stable && calm.linear_std_pkts.is_some());
    assert!(!wild.stable && wild.linear_std_pkts.is_none() && wild.q_std_pkts.unwrap() > 40.0);
    assert!(wild.idle.unwrap() > 0.0);
}

#[test]
fn default_signal_probability_is_that_at_equilibrium() {
    let (spec, setting) = example(&[], "pi preset=ns2 q_ref=100");
    let found = of(&spec, &setting, &Ask::default()).unwrap();
    near(found.q_rest_pkts, 100.0, 0.5);
    // 20 W = 100 + 0.064 C.
    near(found.window_pkts, 7.4, 0.03);
    near(found.p, 1.5 / (7.4 * 7.4), 2e-4);
    let (spec, setting) = example(&[], "droptail");
    assert_eq!(of(&spec, &setting, &Ask::default()), Err(NoAnswer::NoModel));
    let (spec, setting) = example(&["flows.ftp.count=5000"], "pi preset=ns2 q_ref=100");
    assert_eq!(of(&spec, &setting, &Ask::default()), Err(NoAnswer::NoRest));
}

/// If the scenario has a range of round-trip times, the number of flows with each of them is a fraction.
#[test]
fn rounding_flows_per_round_trip_keeps_their_sum() {
    let (spec, setting) = example(&["flows.ftp.count=7", "flows.ftp.rtt={uniform=[\"40ms\",\"140ms\"]}"], "droptail");
    assert_eq!(delays_s(&setting).len(), 7);
    let found = of(&spec, &setting, &ask(0.003, 1.0)).unwrap();
    assert!(found.mixed_bound_ms < found.rtt_ms && found.contraction_bound_ms < found.edge_ms, "{found:?}");
    let at = |ms: f64| {
        let step = Step::Time(1e-3 * ms);
        of(&spec, &setting, &Ask { p: Some(0.003), step, ..Ask::default() }).unwrap().slope
    };
    assert!(at(found.mixed_bound_ms) >= 0.0);
    near(at(found.edge_ms), -1.0, 1e-9);
}

#[test]
fn error_names_signal_probabilities_that_have_equilibrium() {
    let (spec, setting) = example(&[], "droptail");
    for p in [0.5, 1e-4] {
        let Err(NoAnswer::Outside { from, to, .. }) = of(&spec, &setting, &ask(p, 1.0)) else {
            panic!("{p} has no rest")
        };
        assert!(from < to && !(from..to).contains(&p), "{from} {p} {to}");
        for (inside, q) in [(from * 1.0001, 500.0), (to * 0.9999, 0.0)] {
            near(of(&spec, &setting, &ask(inside, 1.0)).unwrap().q_rest_pkts, q, 0.1);
        }
    }
}

#[test]
fn small_rate_deviations_give_no_queue_distribution() {
    let (spec, setting) = example(&[], "droptail");
    for sigma in [0.0, 1.0] {
        let found = of(&spec, &setting, &Ask { sigma: Sigma::Rate(sigma), ..ask(0.014, 0.5) }).unwrap();
        assert_eq!((found.q_mean_pkts, found.distribution), (None, None));
        near(found.linear_std_pkts.unwrap(), 8.9e-5 * sigma, 1e-6);
    }
    // Narrower than a packet: smaller cells.
    let found = of(&spec, &setting, &Ask { sigma: Sigma::Part(0.03), ..ask(0.014, 0.5) }).unwrap();
    assert!(found.distribution.unwrap().q_pkts.len() > 500);
    near(found.q_std_pkts.unwrap() / found.linear_std_pkts.unwrap(), 1.0, 0.03);
}

#[test]
fn arguments_sigma_step_and_p_are_parsed() {
    assert_eq!(Sigma::parse("77kbit"), Ok(Sigma::Rate(77e3)));
    assert_eq!(Sigma::parse("25%"), Ok(Sigma::Part(0.25)));
    assert_eq!([Sigma::parse("0"), Sigma::parse("77021bit")], [Ok(Sigma::Rate(0.0)), Ok(Sigma::Rate(77021.0))]);
    assert_eq!([Step::parse("0.5rtt"), Step::parse("50ms")], [Ok(Step::RoundTrips(0.5)), Ok(Step::Time(0.05))]);
    assert_eq!([probability("0.014"), probability("1")], [Ok(0.014), Ok(1.0)]);
    for bad in ["", "-1", "5", "-77kbit", "77kbps", "nan", "inf%", "x%"] {
        assert!(Sigma::parse(bad).is_err(), "{bad}");
    }
    for bad in ["", "0", "0rtt", "0ms", "-1rtt", "1", "5rt", "nanrtt", "1e9rtt"] {
        assert!(Step::parse(bad).is_err(), "{bad}");
    }
    assert_eq!(Step::parse("5rt").unwrap_err().hint.as_deref(), Some("did you mean 5rtt?"));
    for bad in ["", "0", "-0.1", "1.01", "1e-400", "nan", "1%"] {
        assert!(probability(bad).is_err(), "{bad}");
    }
}
