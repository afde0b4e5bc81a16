//! A small interface for congestion controls. A controller receives a report of each acknowledgement, and the events loss,
//! mark and timeout. It decides on a window and a pacing rate. The transport measures delivery rates and round trips, and
//! repairs losses.

use core::fmt::Debug;

use forebay_aqm::base::time::{Instant, Span};

/// What a [`Controller`] learns when an acknowledgement has been processed.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// When the acknowledgement arrived.
    pub now: Instant,
    /// Smallest round trip of the packets that this acknowledgement is the first to report, of those sent once.
    pub rtt: Option<Span>,
    /// Smallest round trip of the connection.
    pub min_rtt: Option<Span>,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Span,
    /// Number of packets that this acknowledgement is the first to report as delivered.
    pub delivered: u32,
    /// Number of packets that this acknowledgement is the first to report as marked. With the ECN-Echo of RFC 3168: all
    /// delivered ones if it has ECN-Echo.
    pub marked: u32,
    /// Number of packets considered lost because of this acknowledgement.
    pub lost: u32,
    /// Packets in flight.
    pub in_flight: u32,
    /// Delivery rate in packets per second (draft-cheng-iccrg-delivery-rate-estimation); `None`: no sample.
    pub rate: Option<f64>,
    /// Does the application, not the window, limit sending?
    pub is_application_limited: bool,
    /// Is the sender repairing losses?
    pub in_recovery: bool,
}

/// What a [`Controller`] asks for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Decision {
    /// Congestion window in packets, at least 1. A smaller value, or NaN, counts as 1.
    pub cwnd: f64,
    /// Pacing rate in packets per second. `None`: packets are not paced, unless the connection asks for pacing; then the
    /// rate follows from window and round trip.
    pub pacing_rate: Option<f64>,
}

impl Decision {
    /// Is the window a number of at least 1, and the pacing rate a number above 0?
    pub fn is_sound(&self) -> bool {
        self.cwnd >= 1.0 && self.pacing_rate.is_none_or(|rate| rate > 0.0)
    }
}

/// A congestion control that decides on window and pacing rate only. After a timeout the window is one packet until an
/// acknowledgement arrives.
pub trait Controller: Debug + Send + Sync {
    /// An acknowledgement has been processed, in recovery or not. Called after the other events that it causes.
    fn on_ack(&mut self, report: &Report);

    /// Recovery from a loss begins at `now`: once for the losses of a window of data.
    fn on_loss(&mut self, now: Instant);

    /// The first mark in a window of data is reported at `now`.
    fn on_mark(&mut self, now: Instant);

    /// The retransmission timer expires at `now`.
    fn on_timeout(&mut self, now: Instant);

    /// The current decision. Read at the start of the connection and after each event.
    fn decision(&self) -> Decision;

    /// A copy with the same state.
    fn copy(&self) -> Box<dyn Controller>;
}

impl Clone for Box<dyn Controller> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}
