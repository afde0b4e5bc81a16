//! The equations with numbers worked out by hand.

use super::*;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

/// A packet of 1000 bytes that arrives at `ms` after `delay` ms.
fn packet(seq: u32, ms: u64, delay: u64) -> Packet {
    Packet { sent: at(ms - delay), at: at(ms), seq, len: 1000, marked: false }
}

/// A receiver of `count` packets, one every 10 ms from 100 ms on, with these delays in ms.
fn receiver(delays: impl IntoIterator<Item = u64>) -> Receiver {
    let mut receiver = Receiver::new();
    for (n, delay) in (0..).zip(delays) {
        receiver.receive(packet(n, 100 + 10 * u64::from(n), delay));
    }
    receiver
}

/// A sender at 1 Mbit/s with the defaults of the RFC.
fn sender() -> Sender {
    Sender { r_ref: 1e6, ..Sender::new(Nada::default(), Span::from_millis(100)) }
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{value} instead of {expected}");
}

/// 0.05 exp(-0.5 (0.15 - 0.05) / 0.05) = 0.05 exp(-1) = 0.05 * 0.36787944117 = 0.0183939720586.
#[test]
fn delay_is_warped_above_fifty_ms() {
    [0.0, 0.04, 0.05].into_iter().for_each(|delay| close(d_tilde(delay), delay));
    close(d_tilde(0.15), 0.018_393_972_058_6);
}

/// 0.02 + 0.002 (0.03/0.01)^2 + 0.01 (0.02/0.01)^2 = 0.02 + 0.018 + 0.04 = 0.078.
#[test]
fn signal_adds_delay_marks_and_losses() {
    close(x_curr(0.02, 0.03, 0.02), 0.078);
    close(x_curr(0.02, 0.0, 0.0), 0.02);
}

/// 0.05 / (0.1 + 0.1 + 0.12) = 0.15625. As DFILT is 0.12, it never exceeds 0.05 / 0.12 = 0.417 < GAMMA_MAX.
#[test]
fn ramp_up_slows_with_round_trip() {
    close(gamma(0.1, 0.1), 0.156_25);
    assert!(gamma(0.0, 0.0) < GAMMA_MAX);
}

/// 0.1 * 0.5 = 0.05, then 0.1 * 0.5 + 0.9 * 0.05 = 0.095.
#[test]
fn ratios_are_smoothed_by_a_tenth() {
    close(smooth(0.0, 0.5), 0.05);
    close(smooth(0.05, 0.5), 0.095);
}

/// A loss after 100 packets gives loss_int = 100, so it expires when 700 packets have followed. The second loss event
/// begins after 50 packets, the lost one included: (50 + 100) / 2 = 75.
#[test]
fn loss_expires_after_seven_mean_intervals() {
    let mut losses = LossIntervals::default();
    (0..100).for_each(|_| losses.receive(0));
    assert!(losses.loss_int().is_none() && !losses.is_recent());
    losses.receive(1);
    assert_eq!((losses.loss_int(), losses.since), (Some(100.0), 2));
    (2..700).for_each(|_| losses.receive(0));
    assert!(losses.since == 700 && losses.is_recent());
    losses.receive(0);
    assert!(!losses.is_recent());

    let mut losses = LossIntervals { since: 50, complete: VecDeque::from([100]) };
    losses.receive(2);
    assert_eq!((losses.loss_int(), losses.since), (Some(75.0), 3));
}

/// Eight intervals, newest first 10, 10, 10, 10, 20, 20, 20, 20, and an older one without weight:
/// (4 * 10 + 20 (0.8 + 0.6 + 0.4 + 0.2)) / 6 = 80 / 6.
#[test]
fn older_loss_intervals_weigh_less() {
    let mut losses = LossIntervals { since: 10, complete: VecDeque::from([10, 10, 10, 20, 20, 20, 20, 1000]) };
    losses.receive(1);
    assert_eq!(losses.complete.len(), 8);
    close(losses.loss_int().unwrap(), 80.0 / 6.0);
}

/// The base delay is 50 ms. As long as one of the last 15 packets had it, the queuing delay is 0; then it is 30 ms.
#[test]
fn queuing_delay_is_minimum_of_fifteen() {
    let delays = |count| [50].into_iter().chain([80; 15]).take(count);
    assert_eq!(receiver(delays(15)).report(at(240)).unwrap().x_curr, 0);
    assert_eq!(receiver(delays(16)).report(at(250)).unwrap().x_curr, 300);
}

/// 50 packets of 1000 bytes in 0.5 s: 800 kbit/s. In a report 200 ms later 30 are left: 480 kbit/s.
#[test]
fn receiving_rate_is_that_of_the_window() {
    let mut receiver = receiver([20; 100]);
    assert_eq!(receiver.report(at(1090)).unwrap().r_recv, 800_000);
    assert_eq!(receiver.report(at(1290)).unwrap().r_recv, 480_000);
    assert_eq!(receiver.report(at(5000)).unwrap().r_recv, 0);
}

/// Packets 1, 2, 4: 1 of 4 is missing, 0.1 * 0.25 = 0.025. With 5 it is 1 of 5: 0.02 + 0.9 * 0.025 = 0.0425. Of these
/// packets 4 has a mark: 0.1 * 0.25 = 0.025, then 0.02 + 0.0225 = 0.0425 too.
#[test]
fn losses_and_marks_are_fractions_of_the_window() {
    let mut receiver = Receiver::new();
    let marked = |seq, ms| Packet { marked: seq == 4, ..packet(seq, ms, 20) };
    [(1, 100), (2, 110), (4, 120)].into_iter().for_each(|(seq, ms)| receiver.receive(marked(seq, ms)));
    close(receiver.p_loss, 0.025);
    receiver.receive(marked(5, 130));
    close(receiver.p_loss, 0.0425);
    close(receiver.p_mark, 0.0425);
    // Late: discarded.
    receiver.receive(marked(3, 140));
    close(receiver.p_loss, 0.0425);
    assert_eq!(receiver.log.len(), 4);
}

/// x = 0 + 0.002 (0.0425/0.01)^2 + 0.01 (0.0425/0.01)^2 = 0.012 * 18.0625 = 0.21675, in units of 100 us 2167.5. The
/// division by 0.0001 decides how that is rounded. At most 15 bits: 32767.
#[test]
fn report_has_the_units_of_the_format() {
    assert_eq!(Receiver::new().report(at(100)), None);
    let mut receiver = receiver([20; 10]);
    (receiver.p_loss, receiver.p_mark) = (0.0425, 0.0425);
    let report = receiver.report(at(200)).unwrap();
    assert!((2167..=2168).contains(&report.x_curr), "{report:?}");
    assert_eq!((report.last_sent, report.since_last), (at(170), Span::from_millis(10)));
    receiver.p_loss = 1.0;
    assert_eq!(receiver.report(at(200)).unwrap().x_curr, 32_767);
}

/// The packet with 10 ms of queuing delay arrives at 300 ms, and leaves the window at 800 ms.
#[test]
fn queue_or_loss_in_window_ends_ramp_up() {
    let delays = |queue: u64| (0..60).map(move |n| if n == 20 { 50 + queue } else { 50 });
    assert_eq!(receiver(delays(9)).report(at(690)).unwrap().rmode, Mode::RampUp);
    let mut queued = receiver(delays(10));
    assert_eq!(queued.report(at(799)).unwrap().rmode, Mode::Gradual);
    assert_eq!(queued.report(at(800)).unwrap().rmode, Mode::RampUp);
    let mut lossy = receiver([50; 60]);
    lossy.receive(packet(61, 700, 50));
    assert_eq!(lossy.report(at(710)).unwrap().rmode, Mode::Gradual);
    assert_eq!(lossy.report(at(1200)).unwrap().rmode, Mode::RampUp);
}

/// x_offset = 0.025 - 1 * 0.01 * 1.5 / 1 = 0.01, x_diff = 0.025 - 0.02 = 0.005. The rate changes by
/// -0.5 (0.1/0.5) (0.01/0.5) = -0.002 and -0.5 * 2 * 0.005 / 0.5 = -0.01: 988 kbit/s. At x_curr = 0.015 without a change
/// it stays.
#[test]
fn gradual_update_follows_offset_and_difference() {
    close(Sender { x_prev: 0.02, ..sender() }.gradual(0.025, 0.1), 988_000.0);
    close(Sender { x_prev: 0.015, ..sender() }.gradual(0.015, 0.1), 1e6);
    let mut twice = sender();
    twice.nada.prio = 2.0;
    close(Sender { x_prev: 0.03, ..twice }.gradual(0.03, 0.1), 1e6);
}

/// The round trip is 1120 - 1000 - 20 = 100 ms, so the rate is 1.15625 * 1 Mbit/s; 1.15625 * 0.8 is below r_ref. Then
/// x_diff = 1 s: the rate changes by -0.5 * 2 * 1 / 0.5 = -2 and is clipped. The last step begins at RMIN: x_offset =
/// 0 - 0.1, -0.5 * 0.2 * -0.2 = 0.02, and x_diff = -1: +2. 150 kbit/s * 3.02 = 453 kbit/s.
#[test]
fn reports_set_the_rate_between_its_limits() {
    let mut sender = Sender { t_last: at(1020), ..sender() };
    let report = |rmode, x_curr, r_recv| Feedback {
        rmode,
        x_curr,
        r_recv,
        last_sent: at(1000),
        since_last: Span::from_millis(20),
    };
    sender.on_report(at(1120), report(Mode::RampUp, 0, 800_000));
    close(sender.r_ref, 1e6);
    sender.on_report(at(1120), report(Mode::RampUp, 0, 1_000_000));
    close(sender.r_ref, 1_156_250.0);
    sender.on_report(at(1120), report(Mode::RampUp, 0, 1_400_000));
    close(sender.r_ref, 1_500_000.0);
    sender.on_report(at(1220), report(Mode::Gradual, 10_000, 0));
    close(sender.r_ref, 150_000.0);
    sender.on_report(at(1320), report(Mode::Gradual, 0, 0));
    close(sender.r_ref, 453_000.0);
}

/// 8 * 1000 * 30 = 240 kbit/s would drain the buffer in a frame interval; a tenth of it is added or subtracted.
#[test]
fn buffer_lowers_encoder_and_raises_sending_rate() {
    close(sender().r_vin(1000), 976_000.0);
    close(sender().r_send(1000), 1_024_000.0);
    close(sender().r_vin(100_000), 150_000.0);
    close(sender().r_send(100_000), 1_500_000.0);
}
