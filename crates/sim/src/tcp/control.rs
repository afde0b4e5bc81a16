//! Congestion control: how the window grows and shrinks, for senders with selective acknowledgements.
//!
//! One `match` over a closed list. What each does is in its own file; Reno's rules are those of the window.

mod bbr;
mod cubic;
mod dctcp;
mod sctp;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::window::Window;
use super::{TcpOptions, Variant};
pub(super) use bbr::{Bbr, Departing, Progress};
use cubic::Cubic;
use dctcp::Dctcp;
use sctp::Sctp;

/// An acknowledgement of new data outside of recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub(super) now: Instant,
    /// How many packets it reports, one way or the other, for the first time.
    pub(super) packets: u32,
    /// Smoothed round-trip time.
    pub(super) srtt: Span,
}

/// The controls.
#[derive(Clone, Debug)]
pub(super) enum Control {
    Reno,
    Cubic(Cubic),
    Dctcp(Dctcp),
    Bbr(Box<Bbr>),
    Sctp(Sctp),
}

impl Control {
    /// `rng` is for what is decided by lot.
    pub(super) fn new(options: &TcpOptions, rng: Rng) -> Self {
        match options.variant {
            Variant::Cubic => Self::Cubic(Cubic::default()),
            Variant::Dctcp => Self::Dctcp(Dctcp::default()),
            Variant::Sctp => Self::Sctp(Sctp::default()),
            Variant::Bbr => Self::Bbr(Box::new(Bbr::new(options.initial_window, rng))),
            Variant::Tahoe | Variant::Reno | Variant::NewReno | Variant::Sack => Self::Reno,
        }
    }

    /// Sees every acknowledgement, before anything is made of it.
    pub(super) fn observe(&mut self, delivered: u32, ece: bool, una: u32, high: u32) {
        if let Self::Dctcp(dctcp) = self {
            dctcp.observe(delivered, ece, una, high);
        }
    }

    /// A packet leaves.
    pub(super) fn on_sent(&mut self, departing: Departing) {
        if let Self::Bbr(bbr) = self {
            bbr.on_sent(departing);
        }
    }

    /// Packet `seq` is reported, one way or the other, for the first time.
    pub(super) fn arrived(&mut self, now: Instant, seq: u32) {
        if let Self::Bbr(bbr) = self {
            bbr.arrived(now, seq);
        }
    }

    /// The acknowledgement has been dealt with, recovery included.
    pub(super) fn after_ack(&mut self, window: &mut Window, progress: Progress) {
        match self {
            Self::Bbr(bbr) => bbr.on_ack(window, progress),
            Self::Sctp(sctp) => sctp.on_ack(window, progress),
            Self::Reno | Self::Cubic(_) | Self::Dctcp(_) => {}
        }
    }

    /// There is room in the window and nothing to send.
    pub(super) fn application_limits(&mut self, in_flight: u32) {
        if let Self::Bbr(bbr) = self {
            bbr.application_limits(in_flight);
        }
    }

    /// An acknowledgement of new data outside of recovery.
    pub(super) fn grow(&mut self, window: &mut Window, acked: Acked) {
        match self {
            Self::Reno | Self::Dctcp(_) => window.grow(),
            Self::Cubic(cubic) => cubic.grow(window, acked),
            Self::Bbr(_) | Self::Sctp(_) => {}
        }
    }

    /// Fast recovery begins.
    pub(super) fn on_loss(&mut self, window: &mut Window) {
        match self {
            // RFC 8257 section 3.5: as any other TCP.
            Self::Reno | Self::Dctcp(_) => window.halve(),
            Self::Cubic(cubic) => cubic.on_loss(window),
            Self::Bbr(bbr) => bbr.on_loss(window),
            Self::Sctp(sctp) => sctp.on_loss(window),
        }
    }

    /// Does a mark reduce the window as much as a loss? DCTCP's need not, so that a loss after it counts in full
    /// (RFC 8257 section 3.5).
    pub(super) const fn answers_mark_as_loss(&self) -> bool {
        !matches!(self, Self::Dctcp(_))
    }

    /// The first ECN-Echo in a window of data.
    pub(super) fn on_mark(&mut self, window: &mut Window) {
        match self {
            Self::Reno => window.halve_for_mark(),
            Self::Cubic(cubic) => cubic.on_mark(window),
            Self::Dctcp(dctcp) => dctcp.on_mark(window),
            Self::Bbr(_) | Self::Sctp(_) => {}
        }
    }

    /// `reduced`: the threshold stays, this congestion has been answered.
    pub(super) fn on_timeout(&mut self, window: &mut Window, reduced: bool) {
        match self {
            Self::Reno | Self::Dctcp(_) => window.collapse(),
            Self::Cubic(cubic) => cubic.on_timeout(window, reduced),
            Self::Bbr(bbr) => bbr.on_timeout(window),
            Self::Sctp(sctp) => sctp.on_timeout(window),
        }
    }

    /// Recovery from loss or timeout is over.
    pub(super) fn on_recovered(&mut self, window: &mut Window) {
        match self {
            Self::Bbr(bbr) => bbr.on_recovered(window),
            Self::Sctp(sctp) => sctp.on_recovered(),
            Self::Reno | Self::Cubic(_) | Self::Dctcp(_) => {}
        }
    }

    /// The application, and not the window, was the limit until now.
    pub(super) fn rest(&mut self, now: Instant) {
        if let Self::Cubic(cubic) = self {
            cubic.rest(now);
        }
    }

    /// The window was made smaller after silence.
    pub(super) const fn restart(&mut self) {
        if let Self::Cubic(cubic) = self {
            cubic.restart();
        }
    }
}
