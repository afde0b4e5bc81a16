//! Tahoe: slow start from one packet after every loss (Jacobson 1988).

use super::super::congestion::{CongestionControl, Design, Profile, Recovery, Start};
use super::super::window::Window;

/// A control without state of its own.
#[derive(Clone, Debug)]
pub(in super::super) struct Tahoe;

impl CongestionControl for Tahoe {
    #[inline]
    fn on_loss(&mut self, window: &mut Window) {
        window.collapse_for_loss();
    }
}

impl Design for Tahoe {
    const PROFILE: Profile = Profile {
        word: "tahoe",
        summary: "slow start from one packet after every loss",
        recovery: Recovery::GoBackN,
        tracks_packets: false,
        is_aimd: true,
        follows_ns2: true,
        ..Profile::TCP
    };

    fn new(_start: Start) -> Self {
        Self
    }
}
