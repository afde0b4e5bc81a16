//! Data Center TCP (RFC 8257): a mark reduces the window by half of the fraction of marked packets.

use super::super::congestion::{CongestionControl, Design, Echo, EcnUse, Feedback, Profile, Start};
use super::super::window::Window;

/// Section 3.3: weight of the newest window of data in the estimate.
const GAIN: f64 = 1.0 / 16.0;
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
}

impl Default for Dctcp {
    /// Section 4.2: alpha starts at 1, so that the first mark halves the window.
    fn default() -> Self {
        Self { alpha: 1.0, acked: 0, marked: 0, window_end: 0 }
    }
}

/// A loss halves the window, as in other TCPs (section 3.5).
impl CongestionControl for Dctcp {
    /// Section 3.3, steps 1 to 8. Selectively acknowledged packets count too, as in Linux.
    fn on_feedback(&mut self, feedback: Feedback) {
        let Feedback { delivered, marked, una, high } = feedback;
        self.acked += delivered;
        self.marked += marked;
        if una > self.window_end && self.acked > 0 {
            let share = f64::from(self.marked.min(self.acked)) / f64::from(self.acked);
            self.alpha = (1.0 - GAIN) * self.alpha + GAIN * share;
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

    fn new(_start: Start) -> Self {
        Self::default()
    }
}
