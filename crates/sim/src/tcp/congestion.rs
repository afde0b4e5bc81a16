//! The interface of a congestion control: facts about it, the events that it sees, and what it may decide.
//!
//! Every hook has a default. The defaults together are Reno (RFC 5681): slow start, one packet per round trip, half of the
//! window at a loss or mark. A control implements [`Design`] and the hooks in which it differs.

use core::fmt::Debug;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::window::Window;

/// When a sender sends what again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// Back to the first hole on the third duplicate acknowledgement.
    Tahoe,
    /// The first hole only; fast recovery ends with the first new acknowledgement.
    Reno,
    /// A hole for each partial acknowledgement (RFC 6582).
    NewReno,
    /// Holes as the receiver reports them (RFC 6675).
    Sack,
    /// Holes that are reported missing three times, before new data (RFC 9260 sections 6.1 and 7.2.4).
    Sctp,
}

impl Recovery {
    /// Does it use selective acknowledgements? Only then the hooks of a control are called.
    pub const fn is_selective(self) -> bool {
        matches!(self, Self::Sack | Self::Sctp)
    }
}

/// What a control does with ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnUse {
    /// ECN-capable where it is asked for; answers ECN-Echo (RFC 3168).
    OnRequest,
    /// Always ECN-capable; answers ECN-Echo.
    Always,
    /// ECN-capable where it is asked for; ignores ECN-Echo.
    Unanswered,
    /// Never ECN-capable.
    Never,
}

/// What the receiver's ECN-Echo means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Echo {
    /// A packet was marked since the last CWR (RFC 3168 section 6.1.3).
    UntilCwr,
    /// The packets that this acknowledges were marked (RFC 8257 section 3.2).
    EachPacket,
}

/// Facts about a control.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Profile {
    /// Its word in scenario files.
    pub word: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Its loss recovery.
    pub recovery: Recovery,
    /// What it does with ECN.
    pub ecn: EcnUse,
    /// What it needs ECN-Echo to mean.
    pub echo: Echo,
    /// Does a mark reduce the window as much as a loss? Then a loss after it in the same window of data does not reduce it
    /// again.
    pub mark_is_loss: bool,
    /// Is its answer to marks scalable, so that its data may be ECT(1) (RFC 9331)?
    pub is_scalable: bool,
    /// Are its packets always paced?
    pub paces: bool,
    /// Is its window that of the models of theory: one packet more per round trip, half at a loss?
    pub is_reno: bool,
    /// Does it follow ns-2 where the RFCs leave it free? `tcp/sender/ns2.rs` has the list.
    pub follows_ns2: bool,
    /// Linux's name for it; none if Linux does not have it.
    pub kernel: Option<&'static str>,
    /// Retransmission timeout before the first measurement.
    pub initial_rto: Span,
    /// A held acknowledgement leaves after this at the latest.
    pub ack_delay: Span,
    /// Bytes of a data packet that are headers.
    pub headers: u16,
}

impl Profile {
    /// A TCP with selective acknowledgements. Timeout before the first measurement: RFC 6298 says 1 s, ns-2 and RFC 2988 3 s.
    /// Delay of acknowledgements: ns-2's delayed-ACK sink; RFC 1122 allows 500 ms.
    pub const TCP: Self = Self {
        word: "",
        summary: "",
        recovery: Recovery::Sack,
        ecn: EcnUse::OnRequest,
        echo: Echo::UntilCwr,
        mark_is_loss: true,
        is_scalable: false,
        paces: false,
        is_reno: false,
        follows_ns2: false,
        kernel: None,
        initial_rto: Span::from_millis(3000),
        ack_delay: Span::from_millis(100),
        headers: 40,
    };
}

/// What a connection begins with.
#[derive(Clone, Debug)]
pub struct Start {
    /// First window in packets.
    pub initial_window: u32,
    /// The connection's own random stream.
    pub rng: Rng,
}

/// A packet leaves.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When.
    pub now: Instant,
    /// Its number.
    pub seq: u32,
    /// Lowest packet outstanding.
    pub una: u32,
    /// Other packets in the network.
    pub in_flight: u32,
    /// Is it a retransmission?
    pub again: bool,
}

/// An acknowledgement arrives, before recovery sees it.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// Packets acknowledged, cumulatively or selectively, for the first time.
    pub delivered: u32,
    /// ECN-Echo.
    pub ece: bool,
    /// Lowest packet outstanding, this acknowledgement included.
    pub una: u32,
    /// One beyond the highest packet sent.
    pub high: u32,
}

/// An acknowledgement of new data outside of recovery, without ECN-Echo.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When.
    pub now: Instant,
    /// Packets acknowledged, cumulatively or selectively, for the first time.
    pub packets: u32,
    /// Smoothed round-trip time.
    pub srtt: Span,
}

/// An acknowledgement, with the network before and after it.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// When.
    pub now: Instant,
    /// Packets in flight before the acknowledgement, and after it.
    pub in_flight: (u32, u32),
    /// Packets found lost.
    pub lost: u32,
    /// Packets acknowledged, cumulatively or selectively, for the first time.
    pub delivered: u32,
    /// Is everything acknowledged?
    pub is_done: bool,
}

/// A control's model of its path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathModel {
    /// What it does now; of BBR `startup`, `drain`, `probe_bw` or `probe_rtt`.
    pub phase: &'static str,
    /// Bottleneck bandwidth in packets per second.
    pub bandwidth: f64,
    /// Round-trip propagation time.
    pub min_rtt: Option<Span>,
    /// Present pacing rate over the bandwidth.
    pub pacing_gain: f64,
}

/// The hooks of a control, in the order in which an acknowledgement calls them.
pub trait CongestionControl: Debug + Send + Sync {
    /// A packet leaves.
    #[inline]
    fn on_sent(&mut self, _sent: Sent) {}

    /// Packet `seq` is acknowledged, cumulatively or selectively, for the first time.
    #[inline]
    fn on_delivered(&mut self, _now: Instant, _seq: u32) {}

    /// An acknowledgement arrives, in recovery or not.
    #[inline]
    fn on_feedback(&mut self, _feedback: Feedback) {}

    /// The first ECN-Echo in a window of data.
    #[inline]
    fn on_mark(&mut self, window: &mut Window) {
        window.halve_for_mark();
    }

    /// Recovery from loss or timeout is over.
    #[inline]
    fn on_recovered(&mut self, _window: &mut Window) {}

    /// Fast recovery begins.
    #[inline]
    fn on_loss(&mut self, window: &mut Window) {
        window.halve();
    }

    /// An acknowledgement of new data outside of recovery, while the window is the limit.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, _acked: Acked) {
        window.grow();
    }

    /// The same while the application is the limit; and before data after a pause.
    #[inline]
    fn on_application_limited(&mut self, _now: Instant) {}

    /// The acknowledgement has been dealt with, recovery included.
    #[inline]
    fn after_ack(&mut self, _window: &mut Window, _progress: Progress) {}

    /// There is room in the window and nothing to send.
    #[inline]
    fn on_out_of_data(&mut self, _in_flight: u32) {}

    /// The retransmission timer expires. `is_reduced`: this congestion was answered already, and the threshold is kept.
    #[inline]
    fn on_timeout(&mut self, window: &mut Window, _is_reduced: bool) {
        window.collapse();
    }

    /// After silence the window was set to the restart window (RFC 5681 section 4.1).
    #[inline]
    fn on_restart(&mut self) {}

    /// Time to the next packet. Default: from window and round trip, as Linux paces.
    #[inline]
    fn pacing_interval(&self) -> Option<Span> {
        None
    }

    /// The most packets that may be in flight, besides the window. Default: no limit. Only
    /// [`Recovery::Sctp`] asks.
    #[inline]
    fn burst_limit(&self) -> Option<u32> {
        None
    }

    /// The estimated share of marked packets, 0 to 1, if it estimates it.
    fn marked_share(&self) -> Option<f64> {
        None
    }

    /// Its model of the path, if it has one.
    fn path_model(&self) -> Option<PathModel> {
        None
    }
}

/// A congestion control as the registry takes it.
pub trait Design: CongestionControl + Clone + 'static {
    /// Facts about it.
    const PROFILE: Profile;

    /// The control of a new connection.
    fn new(start: Start) -> Self;
}

/// A hook of what is in a box.
macro_rules! boxed {
    ($self:ident, $hook:ident($($argument:ident),*)) => {
        (**$self).$hook($($argument),*)
    };
}

/// Every hook, handed on by the macro `$each`.
macro_rules! hand_on {
    ($each:ident) => {
        #[inline]
        fn on_sent(&mut self, sent: Sent) {
            $each!(self, on_sent(sent));
        }

        #[inline]
        fn on_delivered(&mut self, now: Instant, seq: u32) {
            $each!(self, on_delivered(now, seq));
        }

        #[inline]
        fn on_feedback(&mut self, feedback: Feedback) {
            $each!(self, on_feedback(feedback));
        }

        #[inline]
        fn on_mark(&mut self, window: &mut Window) {
            $each!(self, on_mark(window));
        }

        #[inline]
        fn on_recovered(&mut self, window: &mut Window) {
            $each!(self, on_recovered(window));
        }

        #[inline]
        fn on_loss(&mut self, window: &mut Window) {
            $each!(self, on_loss(window));
        }

        #[inline]
        fn on_ack(&mut self, window: &mut Window, acked: Acked) {
            $each!(self, on_ack(window, acked));
        }

        #[inline]
        fn on_application_limited(&mut self, now: Instant) {
            $each!(self, on_application_limited(now));
        }

        #[inline]
        fn after_ack(&mut self, window: &mut Window, progress: Progress) {
            $each!(self, after_ack(window, progress));
        }

        #[inline]
        fn on_out_of_data(&mut self, in_flight: u32) {
            $each!(self, on_out_of_data(in_flight));
        }

        #[inline]
        fn on_timeout(&mut self, window: &mut Window, is_reduced: bool) {
            $each!(self, on_timeout(window, is_reduced));
        }

        #[inline]
        fn on_restart(&mut self) {
            $each!(self, on_restart());
        }

        #[inline]
        fn pacing_interval(&self) -> Option<Span> {
            $each!(self, pacing_interval())
        }

        #[inline]
        fn burst_limit(&self) -> Option<u32> {
            $each!(self, burst_limit())
        }

        #[inline]
        fn marked_share(&self) -> Option<f64> {
            $each!(self, marked_share())
        }

        #[inline]
        fn path_model(&self) -> Option<PathModel> {
            $each!(self, path_model())
        }
    };
}
pub(super) use hand_on;

impl<C: CongestionControl + ?Sized> CongestionControl for Box<C> {
    hand_on!(boxed);
}

impl<D: Design> Design for Box<D> {
    const PROFILE: Profile = D::PROFILE;

    fn new(start: Start) -> Self {
        Self::new(D::new(start))
    }
}
