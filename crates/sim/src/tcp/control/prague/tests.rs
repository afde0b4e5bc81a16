//! The rules of Prague, worked by hand.

use super::super::super::{Stack, TcpOptions};
use super::*;
use forebay_aqm::base::rng::Rng;

/// A Prague flow with a window, and the packet number that its next acknowledgement reaches.
struct Flow {
    prague: Prague,
    window: Window,
    now: Instant,
    una: u32,
    srtt: Span,
    is_limited: bool,
}

impl Flow {
    fn new(cwnd: u32, srtt: Span) -> Self {
        let options = TcpOptions { initial_window: cwnd, stack: Some(Stack::Rfc), ..TcpOptions::default() };
        let start = Start::new(&options, Rng::stream(1, "test"));
        let window = Window::new(f64::from(cwnd), f64::INFINITY);
        Self { prague: Prague::new(start), window, now: Instant::ZERO, una: 0, srtt, is_limited: true }
    }

    /// In congestion avoidance, past the rounds that depend on the round trip.
    fn settled(cwnd: u32, srtt: Span) -> Self {
        let mut flow = Self::new(cwnd, srtt);
        flow.window.restore_threshold(f64::from(cwnd));
        flow.prague.in_slow_start = false;
        flow.prague.rounds = DEPENDENT_ROUNDS;
        flow.prague.seen_mark = true;
        flow
    }

    /// One acknowledgement of `delivered` packets; the first mark of a round enters the state CWR before.
    fn ack(&mut self, delivered: u32, marked: u32, enters: bool) {
        self.una += delivered;
        self.prague.on_delivered(self.now, self.una);
        if enters {
            self.prague.on_mark(&mut self.window);
        }
        let high = self.una + self.window.cwnd() as u32;
        self.prague.after_ack(
            &mut self.window,
            Progress {
                now: self.now,
                in_flight: (high - self.una + delivered, high - self.una),
                lost: 0,
                delivered,
                marked,
                is_done: false,
                una: self.una,
                high,
                srtt: self.srtt,
                is_limited: self.is_limited,
                pause: Span::ZERO,
            },
        );
    }
}

/// Marks of every packet reduce the target far below two packets. 4 unmarked packets then add 4/2 to it.
#[test]
fn small_target_grows_by_half_a_packet() {
    let mut flow = Flow::settled(4, Span::from_millis(50));
    flow.prague.alpha = 1.0;
    for _ in 0..20 {
        flow.now += Span::from_millis(50);
        flow.ack(1, 1, true);
    }
    assert!(flow.prague.target < 0.001);
    flow.ack(4, 0, false);
    assert!((flow.prague.target - 2.0).abs() < 0.001, "{}", flow.prague.target);
}

/// Fractions of marked packets per round, from alpha 0, and alpha after each round.
#[test]
fn alpha_averages_the_marked_fraction_per_round() {
    for (shares, wanted) in [
        ([10, 10, 10], [0.0625, 0.121_093_75, 0.176_025_390_625]),
        ([1, 1, 1], [0.006_25, 0.012_109_375, 0.017_602_539_062_5]),
    ] {
        let mut flow = Flow::settled(100, Span::from_millis(50));
        flow.prague.round_end = 10;
        for (marked, alpha) in shares.into_iter().zip(wanted) {
            flow.now += Span::from_millis(50);
            flow.ack(10, marked, false);
            assert_eq!(flow.prague.marked_share(), Some(alpha));
            flow.prague.round_end = flow.una + 10;
        }
    }
}

#[test]
fn growth_below_the_target_rtt_is_squared() {
    // (10 ms / 25 ms)^2 = 0.16 packets per window.
    let mut flow = Flow::settled(20, Span::from_millis(10));
    (0..20).for_each(|_| flow.ack(1, 0, false));
    assert!((flow.prague.target - 20.16).abs() < 1e-3, "{}", flow.prague.target);
    let mut flow = Flow::settled(20, Span::from_millis(25));
    flow.ack(20, 0, false);
    assert_eq!(flow.prague.target, 21.0);
}

#[test]
fn first_mark_halves_the_window_and_walks_there() {
    let mut flow = Flow::new(40, Span::from_millis(50));
    flow.prague.round_end = 40;
    flow.ack(1, 1, true);
    assert_eq!((flow.prague.target, flow.window.cwnd(), flow.window.ssthresh()), (20.0, 39.0, 39.0));
    (0..10).for_each(|_| flow.ack(1, 1, false));
    assert_eq!((flow.prague.target, flow.window.cwnd(), flow.window.ssthresh()), (20.0, 29.0, 29.0));
    assert_eq!(flow.prague.marked_share(), Some(0.0), "until the round ends");
    // Also if the acknowledgement covers an unmarked packet.
    let mut flow = Flow::new(40, Span::from_millis(50));
    flow.ack(2, 1, true);
    assert_eq!((flow.prague.target, flow.window.cwnd()), (20.5, 40.0));
}

#[test]
fn mark_reduces_by_half_alpha_once_per_virtual_rtt() {
    let mut flow = Flow::settled(40, Span::from_millis(50));
    (flow.prague.alpha, flow.prague.round_end) = (0.5, 1000);
    flow.ack(1, 1, true);
    assert_eq!(flow.prague.target, 30.0);
    flow.now += Span::from_millis(20);
    flow.ack(1, 1, true);
    assert_eq!(flow.prague.target, 30.0, "20 ms later");
    flow.now += Span::from_millis(5);
    flow.ack(1, 1, true);
    assert_eq!(flow.prague.target, 22.5);
}

#[test]
fn loss_halves_whatever_alpha_is() {
    let mut flow = Flow::settled(30, Span::from_millis(50));
    flow.prague.on_loss(&mut flow.window);
    flow.ack(1, 0, false);
    assert_eq!((flow.prague.target, flow.window.cwnd()), (15.0, 29.0), "no growth in recovery");
}

#[test]
fn undo_restores_the_window_before_the_loss() {
    let mut flow = Flow::settled(30, Span::from_millis(50));
    flow.prague.on_loss(&mut flow.window);
    (0..5).for_each(|_| flow.ack(1, 0, false));
    flow.prague.on_undo(&mut flow.window, 30.0);
    flow.prague.on_recovered(&mut flow.window);
    assert_eq!((flow.prague.target, flow.window.cwnd()), (30.0, 30.0));
    flow.prague.on_probe_repair(&mut flow.window);
    flow.ack(15, 0, false);
    assert_eq!(flow.prague.target, 16.0, "it grows after a repair by a probe");
}

#[test]
fn window_never_falls_below_two_packets() {
    let mut flow = Flow::settled(3, Span::from_millis(50));
    (flow.prague.alpha, flow.prague.target, flow.prague.round_end) = (1.0, 2.4, 1000);
    (0..5).for_each(|_| {
        flow.now += Span::from_millis(50);
        flow.ack(1, 1, true);
    });
    assert_eq!(flow.window.cwnd(), 2.0);
}

/// At 10 ms, 2 packets are 200 packets/s, 5 per virtual round trip: an unmarked one adds a fifth of 40/s. A mark with alpha 1
/// halves the rate, then the window is 1.04 packets; the sender's stays at 2.
#[test]
fn low_rate_falls_below_two_packets_per_round_trip() {
    let mut flow = Flow::settled(2, Span::from_millis(10));
    flow.prague.low_rate = Some(Box::default());
    (flow.prague.alpha, flow.prague.round_end) = (1.0, 1000);
    flow.ack(1, 0, false);
    let grown = flow.prague.target;
    // Pacing limits sending, not the window.
    flow.is_limited = false;
    flow.ack(1, 0, false);
    assert!((flow.prague.target - grown - 0.01 * 40.0 / 6.0).abs() < 1e-9, "{}: 208 are 5.2 per 25 ms", grown);
    let before = flow.prague.target;
    flow.now += Span::from_millis(100);
    flow.ack(1, 1, true);
    assert!((flow.prague.target - before / 2.0).abs() < 1e-9);
    assert_eq!(flow.window.cwnd(), 2.0);
    let interval = flow.prague.pacing_interval().unwrap();
    assert!(interval > Span::from_millis(9), "{interval:?}");
    flow.prague.on_loss(&mut flow.window);
    assert!((flow.prague.target - before / 4.0).abs() < 1e-9);
}
