//! SACK: Reno's window, recovery with selective acknowledgements (RFC 2018, RFC 6675).

use super::super::congestion::{CongestionControl, Design, Profile, Start};

/// Stateless: the window follows the default hooks of `CongestionControl`, which are Reno's.
#[derive(Clone, Debug)]
pub(in super::super) struct Sack;

impl CongestionControl for Sack {}

impl Design for Sack {
    const PROFILE: Profile = Profile {
        word: "sack",
        summary: "reno's window, recovery with selective acknowledgements (RFC 6675)",
        tracks_packets: false,
        is_aimd: true,
        follows_ns2: true,
        kernel: Some("reno"),
        ..Profile::TCP
    };

    fn new(_start: Start) -> Self {
        Self
    }
}
