//! SCTP's congestion control (RFC 9260 section 7.2), counted in packets. Each packet carries one full-size DATA
//! chunk, so that the RFC's byte counts are multiples of it.

use forebay_aqm::base::time::Span;

use super::super::congestion::{
    Acked, CongestionControl, Design, EcnUse, Profile, Progress, Recovery, Start, Transport,
};
use super::super::window::Window;

/// Section 7.2.3: smallest slow-start threshold after a loss, in packets.
const MIN_SSTHRESH: f64 = 4.0;
/// Section 16, `Max.Burst`: largest number of packets that one acknowledgement releases.
const MAX_BURST: u32 = 4;

/// State of SCTP's congestion control.
#[derive(Clone, Debug)]
pub(in super::super) struct Sctp {
    /// `partial_bytes_acked`, in packets.
    partial: f64,
    /// True in fast recovery.
    recovers: bool,
    /// Limit on packets in flight until the next acknowledgement.
    burst: u32,
}

impl Default for Sctp {
    fn default() -> Self {
        Self { partial: 0.0, recovers: false, burst: MAX_BURST }
    }
}

impl Sctp {
    /// Section 7.2.2: one more packet for each fully used and acknowledged window.
    fn avoid(&mut self, window: &mut Window, delivered: u32, is_used: bool) {
        let cwnd = window.cwnd();
        self.partial += f64::from(delivered);
        if !is_used {
            self.partial = self.partial.min(cwnd);
        } else if self.partial >= cwnd {
            self.partial -= cwnd;
            window.set(cwnd + 1.0);
        }
    }

    fn halve(&mut self, window: &mut Window) -> f64 {
        let half = (window.cwnd() / 2.0).max(MIN_SSTHRESH);
        window.restore_threshold(half);
        self.partial = 0.0;
        half
    }
}

impl CongestionControl for Sctp {
    fn after_ack(&mut self, window: &mut Window, progress: Progress) {
        let (before, after) = progress.in_flight;
        let cwnd = window.cwnd();
        let is_used = f64::from(before) >= cwnd;
        if cwnd <= window.ssthresh() {
            // Section 7.2.1: grow by the amount acknowledged, at most a packet, if the window was fully used and fast
            // recovery is over.
            if is_used && !self.recovers && progress.delivered > 0 {
                window.set(cwnd + 1.0);
            }
        } else {
            self.avoid(window, progress.delivered, is_used);
        }
        if progress.is_done {
            self.partial = 0.0;
        }
        self.burst = after + MAX_BURST;
    }

    /// Does nothing, because [`after_ack`](Self::after_ack) sets the window.
    fn on_ack(&mut self, _window: &mut Window, _acked: Acked) {}

    /// Never called: SCTP is never ECN-capable here.
    fn on_mark(&mut self, _window: &mut Window) {}

    /// Sections 7.2.3 and 7.2.4: sets slow-start threshold and window to half of the window, but to at least four
    /// packets. A smaller window therefore grows.
    fn on_loss(&mut self, window: &mut Window) {
        let half = self.halve(window);
        window.set(half);
        self.recovers = true;
    }

    /// Section 7.2.3: sets the slow-start threshold as for a loss, and the window to one packet. The timeout ends fast
    /// recovery.
    fn on_timeout(&mut self, window: &mut Window, _is_reduced: bool) {
        self.halve(window);
        window.set(1.0);
        self.recovers = false;
        self.burst = MAX_BURST;
    }

    fn on_recovered(&mut self, _window: &mut Window) {
        self.recovers = false;
    }

    /// Section 6.1, rule D: at most `Max.Burst` packets per acknowledgement.
    fn burst_limit(&self) -> Option<u32> {
        Some(self.burst)
    }
}

/// RFC 9260 does not specify ECN. Section 16: `RTO.Initial` 1 s, `SACK.Delay` 200 ms.
impl Design for Sctp {
    const PROFILE: Profile = Profile {
        word: "sctp",
        summary: "growth by partial_bytes_acked, recovery by missing reports (RFC 9260); written kind = sctp",
        transport: Transport::Sctp,
        recovery: Recovery::MissReports,
        ecn: EcnUse::Never,
        initial_rto: Span::from_millis(1000),
        ack_delay: Span::from_millis(200),
        // IP header 20, SCTP common header 12, DATA chunk header 16.
        headers: 48,
        ..Profile::TCP
    };

    fn new(_start: Start) -> Self {
        Self::default()
    }
}
