//! Congestion control: how the window grows and shrinks, for senders with selective acknowledgements.
//!
//! One `match` over a closed list. What each does is in its own file; Reno's rules are those of the window.

mod cubic;
mod dctcp;

use forebay_aqm::base::time::{Instant, Span};

use super::Variant;
use super::window::Window;
use cubic::Cubic;
use dctcp::Dctcp;

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
}

impl Control {
    pub(super) fn new(variant: Variant) -> Self {
        match variant {
            Variant::Cubic => Self::Cubic(Cubic::default()),
            Variant::Dctcp => Self::Dctcp(Dctcp::default()),
            _ => Self::Reno,
        }
    }

    /// Sees every acknowledgement, before anything is made of it.
    pub(super) fn observe(&mut self, delivered: u32, ece: bool, una: u32, high: u32) {
        if let Self::Dctcp(dctcp) = self {
            dctcp.observe(delivered, ece, una, high);
        }
    }

    pub(super) fn grow(&mut self, window: &mut Window, acked: Acked) {
        match self {
            Self::Reno | Self::Dctcp(_) => window.grow(),
            Self::Cubic(cubic) => cubic.grow(window, acked),
        }
    }

    /// Fast recovery begins.
    pub(super) fn on_loss(&mut self, window: &mut Window) {
        match self {
            // RFC 8257 section 3.5: as any other TCP.
            Self::Reno | Self::Dctcp(_) => window.halve(),
            Self::Cubic(cubic) => cubic.on_loss(window),
        }
    }

    /// The first ECN-Echo in a window of data.
    pub(super) fn on_mark(&mut self, window: &mut Window) {
        match self {
            Self::Reno => window.halve(),
            Self::Cubic(cubic) => cubic.on_mark(window),
            Self::Dctcp(dctcp) => dctcp.on_mark(window),
        }
    }

    pub(super) fn on_timeout(&mut self, window: &mut Window) {
        match self {
            Self::Reno | Self::Dctcp(_) => window.collapse(),
            Self::Cubic(cubic) => cubic.on_timeout(window),
        }
    }

    /// The application had nothing to send for so long.
    pub(super) fn idle(&mut self, silent: Span) {
        if let Self::Cubic(cubic) = self {
            cubic.idle(silent);
        }
    }
}
