//! What an AQM says about a packet, and what then happens to it.

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The discipline chose to.
    Early,
    /// The threshold marker in front of it chose to: the buffer's doing, as an overflow is.
    Threshold,
    /// The buffer was full.
    Overflow,
}

/// An AQM's opinion on one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Let it pass.
    Accept,
    /// Signal congestion: mark if the packet is ECT and ECN is on, else drop.
    Signal,
    /// Drop it, ECN-capable or not.
    Drop,
}

/// What really happened to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Stored on arrival; with `marked`, CE was set first.
    Queued {
        /// CE was set.
        marked: bool,
    },
    /// Handed to the link; with `marked`, CE was set at that moment.
    Delivered {
        /// CE was set.
        marked: bool,
    },
    /// Discarded, on arrival or later.
    Dropped(Reason),
}

impl Fate {
    /// Dropped by the buffer, not by the rule: full, or guarded by a threshold.
    #[inline]
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::Dropped(Reason::Overflow | Reason::Threshold))
    }
}
