//! The interface of a congestion control: its profile, the events that it receives, and its decisions.
//!
//! Every hook has a default. Together the defaults are Reno (RFC 5681): slow start, one more packet per round trip,
//! half of the window at a loss or mark. A control implements [`Design`] and overrides the hooks in which it differs.

pub mod controller;
mod profile;

use core::fmt::Debug;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::window::Window;
use super::{Stack, TcpOptions};
pub use profile::{Echo, EcnUse, Profile, Recovery, Transport};

/// What the congestion control of a new connection receives.
#[derive(Clone, Debug)]
pub struct Start {
    /// Initial congestion window in packets.
    pub initial_window: u32,
    /// Does the connection ask for pacing?
    pub pacing: bool,
    /// Prague: round trip that a flow with a shorter one behaves as if it had.
    pub virtual_rtt: Span,
    /// Prague: use the mode for low rates.
    pub low_rate: bool,
    /// LEDBAT: the queueing delay to cause.
    pub target: Span,
    /// LEDBAT: packets per round trip by which the window grows while there is no queueing delay.
    pub gain: f64,
    /// The stack that the control runs on.
    pub stack: Stack,
    /// The connection's random stream.
    pub rng: Rng,
}

impl Start {
    /// What a connection with these options passes to its control.
    pub fn new(options: &TcpOptions, rng: Rng) -> Self {
        let TcpOptions { initial_window, pacing, virtual_rtt, low_rate, target, gain, .. } = *options;
        Self { initial_window, pacing, virtual_rtt, low_rate, target, gain, stack: options.stack(), rng }
    }
}

/// The argument of [`CongestionControl::on_sent`]: a packet is sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Time of sending.
    pub now: Instant,
    /// Number of this packet.
    pub seq: u32,
    /// Number of the lowest packet that is sent and not acknowledged.
    pub una: u32,
    /// Packets in flight, without this one.
    pub in_flight: u32,
    /// Is it a retransmission?
    pub again: bool,
}

/// An arriving acknowledgement. The control receives it before loss recovery does.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// Number of packets that this acknowledgement is the first to acknowledge, cumulatively or selectively.
    pub delivered: u32,
    /// Number of packets that this acknowledgement is the first to report as marked. With the echo of RFC 3168: all
    /// delivered ones if it has ECN-Echo.
    pub marked: u32,
    /// Lowest unacknowledged packet number after this acknowledgement.
    pub una: u32,
    /// One above the highest packet sent.
    pub high: u32,
}

/// An acknowledgement of new data outside of recovery, without ECN-Echo.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When the acknowledgement arrived.
    pub now: Instant,
    /// Number of packets that this acknowledgement is the first to acknowledge, cumulatively or selectively.
    pub packets: u32,
    /// Smoothed round-trip time.
    pub srtt: Span,
}

/// A processed acknowledgement, with the packets in flight before and after it.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// When the acknowledgement arrived.
    pub now: Instant,
    /// Packets in flight before the acknowledgement, and after it.
    pub in_flight: (u32, u32),
    /// Number of packets that the sender considers lost because of this acknowledgement.
    pub lost: u32,
    /// Number of packets that this acknowledgement is the first to acknowledge, cumulatively or selectively.
    pub delivered: u32,
    /// Number of packets that this acknowledgement is the first to report as marked.
    pub marked: u32,
    /// Are all sent packets acknowledged?
    pub is_done: bool,
    /// Lowest unacknowledged packet number after this acknowledgement.
    pub una: u32,
    /// One above the highest packet sent.
    pub high: u32,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Span,
    /// Did the window, not the application, limit sending?
    pub is_limited: bool,
    /// Time until the pacer lets the next packet leave. Only in the Linux stack, else 0.
    pub pause: Span,
}

/// A round trip that an acknowledgement measures.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    /// When the acknowledgement arrived.
    pub now: Instant,
    /// Time since the newest packet that it reports was sent, of those sent once.
    pub rtt: Span,
    /// Smoothed round-trip time.
    pub srtt: Span,
    /// Lowest unacknowledged packet number after this acknowledgement.
    pub una: u32,
    /// One above the highest packet sent.
    pub high: u32,
    /// Are packets paced?
    pub is_paced: bool,
}

/// A control's model of its path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathModel {
    /// Current phase of the control; for BBR `startup`, `drain`, `probe_bw` or `probe_rtt`.
    pub phase: &'static str,
    /// Bottleneck bandwidth in packets per second.
    pub bandwidth: f64,
    /// Round-trip propagation time.
    pub min_rtt: Option<Span>,
    /// Current pacing rate divided by the bandwidth.
    pub pacing_gain: f64,
}

/// The hooks of a control, in the order in which they are called for an acknowledgement.
pub trait CongestionControl: Debug + Send + Sync {
    /// A connection is created, with the initial window of its options.
    fn on_start(&mut self, _window: &mut Window) {}

    /// An acknowledgement arrives or a timer expires. Called before the other hooks for this event.
    #[inline]
    fn on_event(&mut self, _now: Instant) {}

    /// A handshake that measured this round trip has ended. Only in the Linux stack.
    #[inline]
    fn on_open(&mut self, _now: Instant, _rtt: Span) {}

    /// A packet is sent.
    #[inline]
    fn on_sent(&mut self, _sent: Sent) {}

    /// Packet `seq` is acknowledged, cumulatively or selectively, for the first time.
    #[inline]
    fn on_delivered(&mut self, _now: Instant, _seq: u32) {}

    /// Packet `seq` is considered lost. Only in the Linux stack.
    #[inline]
    fn on_lost(&mut self, _now: Instant, _seq: u32) {}

    /// An acknowledgement arrives, in recovery or not.
    #[inline]
    fn on_feedback(&mut self, _feedback: Feedback) {}

    /// An acknowledgement reports the one-way delay of the latest data packet that arrived. Only if the profile has
    /// `reports_delay`.
    #[inline]
    fn on_delay(&mut self, _now: Instant, _delay: Span) {}

    /// An acknowledgement measures a round trip. Only in the Linux stack.
    #[inline]
    fn on_round_trip(&mut self, _window: &mut Window, _sample: RoundTrip) {}

    /// The first ECN-Echo in a window of data.
    #[inline]
    fn on_mark(&mut self, window: &mut Window) {
        window.halve_for_mark();
    }

    /// Recovery from a loss or timeout has ended.
    #[inline]
    fn on_recovered(&mut self, _window: &mut Window) {}

    /// Fast recovery begins.
    #[inline]
    fn on_loss(&mut self, window: &mut Window) {
        window.halve();
    }

    /// A tail loss probe has repaired a loss (RFC 8985 section 7.4.2), so that there is no recovery. By default as a
    /// loss. Only in the Linux stack.
    #[inline]
    fn on_probe_repair(&mut self, window: &mut Window) {
        self.on_loss(window);
    }

    /// The latest reduction was for packets that were not lost; `before`: the window before it, in packets. The threshold
    /// is restored by the caller. Only in the Linux stack.
    #[inline]
    fn on_undo(&mut self, window: &mut Window, before: f64) {
        window.set(window.cwnd().max(before));
    }

    /// An acknowledgement of new data outside of recovery, while the window limits sending. In the Linux stack also after
    /// a timeout.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: Acked) {
        window.grow_for(acked.packets);
    }

    /// An acknowledgement of new data outside of recovery while the application limits sending. Also called before the
    /// first data after a pause.
    #[inline]
    fn on_application_limited(&mut self, _now: Instant) {}

    /// An acknowledgement has been processed, recovery included.
    #[inline]
    fn after_ack(&mut self, _window: &mut Window, _progress: Progress) {}

    /// The window has room, but there is nothing to send.
    #[inline]
    fn on_out_of_data(&mut self, _in_flight: u32) {}

    /// The retransmission timer expires. `is_reduced`: the slow-start threshold was already reduced for this
    /// congestion. The caller then restores the threshold after the call.
    #[inline]
    fn on_timeout(&mut self, window: &mut Window, _is_reduced: bool) {
        window.collapse();
    }

    /// The window was set to the restart window after an idle time (RFC 5681 section 4.1).
    #[inline]
    fn on_restart(&mut self) {}

    /// The application hands over data when nothing is outstanding.
    #[inline]
    fn on_resume(&mut self, _window: &mut Window, _now: Instant) {}

    /// May the window grow although the application limits sending, because it was used recently (RFC 7661)? Default: no.
    #[inline]
    fn is_validated(&self, _window: &Window) -> bool {
        false
    }

    /// Packets that leave at once when pacing allows one. Only in the Linux stack.
    #[inline]
    fn burst(&self) -> u32 {
        1
    }

    /// Time to the next packet. `None`, the default: computed from window and round trip, as in Linux.
    #[inline]
    fn pacing_interval(&self) -> Option<Span> {
        None
    }

    /// Limit on the packets in flight, in addition to the window. `None`, the default: no limit.
    #[inline]
    fn burst_limit(&self) -> Option<u32> {
        None
    }

    /// The estimated fraction of marked packets, 0 to 1. `None`: not estimated.
    fn marked_share(&self) -> Option<f64> {
        None
    }

    /// The control's model of the path. `None`: it has no model.
    fn path_model(&self) -> Option<PathModel> {
        None
    }
}

/// A congestion control that can be registered.
pub trait Design: CongestionControl + Clone + 'static {
    /// The properties of the control.
    const PROFILE: Profile;

    /// The control's state for a new connection.
    fn new(start: Start) -> Self;
}

/// Forwards a hook to the content of a box.
macro_rules! boxed {
    ($self:ident, $hook:ident($($argument:ident),*)) => {
        (**$self).$hook($($argument),*)
    };
}

/// Implements every hook as a call of the macro `$each`, which forwards it. An `impl` that uses this macro denies the
/// lint `missing_trait_methods`, because a hook that is not forwarded would keep its default.
macro_rules! hand_on {
    ($each:ident) => {
        fn on_start(&mut self, window: &mut Window) {
            $each!(self, on_start(window));
        }

        #[inline]
        fn on_event(&mut self, now: Instant) {
            $each!(self, on_event(now));
        }

        #[inline]
        fn on_sent(&mut self, sent: Sent) {
            $each!(self, on_sent(sent));
        }

        #[inline]
        fn on_delivered(&mut self, now: Instant, seq: u32) {
            $each!(self, on_delivered(now, seq));
        }

        #[inline]
        fn on_lost(&mut self, now: Instant, seq: u32) {
            $each!(self, on_lost(now, seq));
        }

        #[inline]
        fn on_feedback(&mut self, feedback: Feedback) {
            $each!(self, on_feedback(feedback));
        }

        #[inline]
        fn on_delay(&mut self, now: Instant, delay: Span) {
            $each!(self, on_delay(now, delay));
        }

        #[inline]
        fn on_mark(&mut self, window: &mut Window) {
            $each!(self, on_mark(window));
        }

        #[inline]
        fn on_round_trip(&mut self, window: &mut Window, sample: RoundTrip) {
            $each!(self, on_round_trip(window, sample));
        }

        #[inline]
        fn on_probe_repair(&mut self, window: &mut Window) {
            $each!(self, on_probe_repair(window));
        }

        #[inline]
        fn on_undo(&mut self, window: &mut Window, before: f64) {
            $each!(self, on_undo(window, before));
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
        fn on_open(&mut self, now: Instant, rtt: Span) {
            $each!(self, on_open(now, rtt));
        }

        #[inline]
        fn on_resume(&mut self, window: &mut Window, now: Instant) {
            $each!(self, on_resume(window, now));
        }

        #[inline]
        fn is_validated(&self, window: &Window) -> bool {
            $each!(self, is_validated(window))
        }

        #[inline]
        fn burst(&self) -> u32 {
            $each!(self, burst())
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

#[deny(clippy::missing_trait_methods)]
impl<C: CongestionControl + ?Sized> CongestionControl for Box<C> {
    hand_on!(boxed);
}

impl<D: Design> Design for Box<D> {
    const PROFILE: Profile = D::PROFILE;

    fn new(start: Start) -> Self {
        Self::new(D::new(start))
    }
}
