//! Tahoe: slow start from one packet after every loss (Jacobson 1988). Its recovery calls no hooks.

use super::super::congestion::{CongestionControl, Design, Profile, Recovery, Start};

/// Stateless: the window follows the default hooks.
#[derive(Clone, Debug)]
pub(in super::super) struct Tahoe;

impl CongestionControl for Tahoe {}

impl Design for Tahoe {
    const PROFILE: Profile = Profile {
        word: "tahoe",
        summary: "slow start from one packet after every loss",
        recovery: Recovery::Tahoe,
        is_reno: true,
        follows_ns2: true,
        ..Profile::TCP
    };

    fn new(_start: Start) -> Self {
        Self
    }
}
