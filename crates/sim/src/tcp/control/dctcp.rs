//! Data Center TCP (RFC 8257): a mark reduces the window by half of the fraction of marked packets. On the Linux stack the
//! fraction is a whole number of 1/1024 (`dctcp_update_alpha` of Linux 6.12).

use super::super::Stack;
use super::super::congestion::{CongestionControl, Design, Echo, EcnUse, Feedback, Profile, Start};
use super::super::window::Window;

/// Section 3.3: weight of the newest window of data in the estimate.
const GAIN: f64 = 1.0 / 16.0;
/// The Linux stack: the fraction 1 (`DCTCP_MAX_ALPHA`), and the weight of the newest window as a shift.
const WHOLE: u32 = 1024;
const SHIFT: u32 = 4;
/// A mark does not reduce the window from at least this many packets to fewer, as in Linux.
const MIN_CWND: f64 = 2.0;

/// State of the estimate of the fraction of marked packets.
#[derive(Clone, Debug)]
pub(in super::super) struct Dctcp {
    /// Estimated fraction of marked packets, 0 to 1.
    alpha: f64,
    /// Packets acknowledged in this window of data, and how many of them are reported as marked.
    acked: u32,
    marked: u32,
    /// Packet number at which this window of data ends.
    window_end: u32,
    stack: Stack,
}

impl Dctcp {
    /// Section 3.3, steps 6 to 8: the estimate after a window of data.
    fn renewed(&self) -> f64 {
        let marked = self.marked.min(self.acked);
        if self.stack == Stack::Rfc {
            return (1.0 - GAIN) * self.alpha + GAIN * f64::from(marked) / f64::from(self.acked);
        }
        let alpha = (self.alpha * f64::from(WHOLE)) as u32;
        let decay = alpha >> SHIFT;
        let kept = alpha - if decay == 0 { alpha } else { decay };
        f64::from((kept + marked * (WHOLE >> SHIFT) / self.acked).min(WHOLE)) / f64::from(WHOLE)
    }
}

/// A loss halves the window, as in other TCPs (section 3.5).
impl CongestionControl for Dctcp {
    /// Section 3.3, steps 1 to 8. Selectively acknowledged packets count too, as in Linux.
    fn on_feedback(&mut self, feedback: Feedback) {
        let Feedback { delivered, marked, una, high } = feedback;
        self.acked += delivered;
        self.marked += marked;
        let is_over = una > self.window_end || una == self.window_end && self.stack == Stack::Linux;
        if is_over && self.acked > 0 {
            self.alpha = self.renewed();
            (self.acked, self.marked, self.window_end) = (0, 0, high);
        }
    }

    /// Section 3.3, step 9: reduces the window by half of alpha. A mark at a window of one packet closes the window:
    /// nothing is sent until the timer expires (RFC 3168 section 6.1.2).
    fn on_mark(&mut self, window: &mut Window) {
        match window.cwnd() {
            cwnd if cwnd <= 1.0 => window.halve_for_mark(),
            cwnd => window.cut(1.0 - self.alpha / 2.0, if cwnd >= MIN_CWND { MIN_CWND } else { 1.0 }),
        }
    }

    fn marked_share(&self) -> Option<f64> {
        Some(self.alpha)
    }
}

impl Design for Dctcp {
    const PROFILE: Profile = Profile {
        word: "dctcp",
        summary: "reduction by the fraction of marked packets (RFC 8257), recovery as in sack; sets ecn",
        ecn: EcnUse::Always,
        echo: Echo::EachPacket,
        mark_is_loss: false,
        is_scalable: true,
        kernel: Some("dctcp"),
        ..Profile::TCP
    };

    /// Section 4.2: alpha starts at 1, so that the first mark halves the window.
    fn new(start: Start) -> Self {
        Self { alpha: 1.0, acked: 0, marked: 0, window_end: 0, stack: start.stack }
    }
}

#[cfg(test)]
mod tests {
    use forebay_aqm::base::rng::Rng;

    use super::super::super::TcpOptions;
    use super::*;

    fn dctcp(stack: Stack) -> Dctcp {
        let options = TcpOptions { initial_window: 10, stack: Some(stack), ..TcpOptions::default() };
        Dctcp::new(Start::new(&options, Rng::from_state([1; 4])))
    }

    /// One mark in 100 packets: 1 x 64 / 100 is 0. In 64 packets it is 1.
    #[test]
    fn linux_estimate_is_a_whole_number_of_1024ths() {
        let mut linux = dctcp(Stack::Linux);
        let mut window = |delivered, una| {
            linux.on_feedback(Feedback { delivered, marked: 1, una, high: una + delivered });
            linux.alpha * 1024.0
        };
        assert_eq!(window(100, 100), 960.0, "1024 - 64 + 0");
        assert_eq!(window(64, 200), 901.0, "960 - 60 + 1");
        let mut rfc = dctcp(Stack::Rfc);
        rfc.on_feedback(Feedback { delivered: 100, marked: 1, una: 100, high: 200 });
        assert!((rfc.alpha - (15.0 / 16.0 + 0.01 / 16.0)).abs() < 1e-12);
    }

    #[test]
    fn linux_estimate_below_a_sixteenth_of_1024_falls_to_zero() {
        let mut linux = Dctcp { alpha: 15.0 / 1024.0, ..dctcp(Stack::Linux) };
        linux.on_feedback(Feedback { delivered: 10, marked: 0, una: 10, high: 20 });
        assert_eq!(linux.alpha, 0.0, "15 >> 4 is 0: all 15 are subtracted");
    }
}
