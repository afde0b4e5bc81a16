//! Alternative Backoff with ECN (RFC 8511): a mark reduces the window by less than a loss.
//!
//! Section 4.2: a loss in the same window of data does not reduce the window again. The sender's rule for marks and losses
//! has this effect.

use super::super::super::window::{MIN_SSTHRESH, Window};

/// Replaces the reduction that the control made for a mark, from `before` packets. Section 3: the threshold is `beta` times
/// the window, at least 2 packets, and the window is at most the threshold.
///
/// A window of one packet is left to the control, which closes it (RFC 3168 section 6.1.2).
pub(super) fn reduce(window: &mut Window, before: f64, beta: f64) {
    if before > 1.0 {
        window.set(before);
        window.cut(beta, MIN_SSTHRESH);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::congestion::CongestionControl;
    use super::super::super::super::{TcpOptions, Variant};
    use super::super::super::Control;
    use super::*;
    use forebay_aqm::base::rng::Rng;

    fn control(variant: Variant, ecn_beta: f64) -> Control {
        Control::new(&TcpOptions { variant, ecn_beta: Some(ecn_beta), ..TcpOptions::default() }, Rng::stream(1, "abe"))
    }

    /// Window and threshold in packets of a flow with a window of 40 packets.
    fn after(variant: Variant, beta: f64, event: impl Fn(&mut Control, &mut Window)) -> (f64, f64) {
        let (mut control, mut window) = (control(variant, beta), Window::new(40.0, f64::INFINITY));
        event(&mut control, &mut window);
        (window.cwnd(), window.ssthresh())
    }

    #[test]
    fn mark_leaves_beta_and_a_loss_what_the_control_leaves() {
        for (variant, beta, mark, loss) in [
            (Variant::RENO, 0.8, 32.0, 20.0),
            (Variant::SACK, 0.7, 28.0, 20.0),
            (Variant::CUBIC, 0.85, 34.0, 28.0),
            (Variant::LINUX, 0.85, 34.0, 28.0),
        ] {
            assert_eq!(after(variant, beta, |control, window| control.on_mark(window)), (mark, mark), "{variant:?}");
            assert_eq!(after(variant, beta, |control, window| control.on_loss(window)), (loss, loss), "{variant:?}");
        }
    }

    /// Section 3: 2 packets are the lower bound. 2.4 * 0.8 = 1.92.
    #[test]
    fn threshold_is_at_least_two_packets() {
        for (cwnd, wanted) in [(2.4, (2.0, 2.0)), (2.0, (2.0, 2.0)), (1.5, (1.5, 2.0)), (1.0, (0.5, 2.0))] {
            let (mut control, mut window) = (control(Variant::RENO, 0.8), Window::new(cwnd, f64::INFINITY));
            control.on_mark(&mut window);
            assert_eq!((window.cwnd(), window.ssthresh()), wanted, "{cwnd}");
        }
    }

    #[test]
    fn without_the_rule_a_mark_halves() {
        let options = TcpOptions { variant: Variant::RENO, ..TcpOptions::default() };
        let mut control = Control::new(&options, Rng::stream(1, "abe"));
        assert!(matches!(control, Control::RENO(_)));
        let mut window = Window::new(40.0, f64::INFINITY);
        control.on_mark(&mut window);
        assert_eq!(window.cwnd(), 20.0);
    }
}
