//! Reno: fast recovery ends with the first new acknowledgement (RFC 5681), and occurs once per window of data as in
//! ns-2.

use super::super::congestion::{CongestionControl, Design, Profile, Recovery, Start};

/// Stateless: the window follows the default hooks of `CongestionControl`, which are Reno's.
#[derive(Clone, Debug)]
pub(in super::super) struct Reno;

impl CongestionControl for Reno {}

impl Design for Reno {
    const PROFILE: Profile = Profile {
        word: "reno",
        summary: "slow start, congestion avoidance, fast retransmit and recovery of RFC 5681",
        recovery: Recovery::FirstHole,
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
