//! NewReno: fast recovery ends when all data outstanding at its start is acknowledged (RFC 6582).

use super::super::congestion::{CongestionControl, Design, Profile, Recovery, Start};

/// Stateless: the window follows the default hooks of `CongestionControl`, which are Reno's.
#[derive(Clone, Debug)]
pub(in super::super) struct NewReno;

impl CongestionControl for NewReno {}

impl Design for NewReno {
    const PROFILE: Profile = Profile {
        word: "newreno",
        summary: "reno with partial acknowledgements in fast recovery (RFC 6582); the default",
        recovery: Recovery::PartialAcks,
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
