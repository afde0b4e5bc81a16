//! Time series of chosen flows: the state of their senders, once per row.

use forebay_aqm::base::time::Instant;

use super::flow::{Body, Flow};
use crate::measure::tracks::Tracks;
use crate::network::Network;

/// Records the time series of chosen flows. A track is a set of flows that have one time series together.
pub(super) struct Tracking {
    pub(super) tracks: Tracks,
    /// The flows of each track.
    flows: Vec<Vec<usize>>,
}

impl Tracking {
    /// The tracks (sets of flows) of `net`, without rows.
    pub(super) fn new(net: &Network) -> Self {
        let tracks = Tracks::new(&net.tracks, net.flows.len(), (net.sample, None));
        Self { tracks, flows: net.tracks.clone() }
    }

    /// Adds a row at `now` with the state of the senders of the chosen flows.
    pub(super) fn look(&mut self, now: Instant, flows: &[Flow]) {
        for (track, of_track) in self.flows.iter().enumerate() {
            let row = self.tracks.at(track, now);
            (row.senders, row.cwnd_pkts, row.inflight_pkts) = (0, 0.0, 0);
            for flow in of_track.iter().map(|&flow| &flows[flow]).filter(|flow| flow.started && !flow.stopped) {
                if let Body::Tcp { sender, .. } = &flow.body {
                    row.senders += 1;
                    row.cwnd_pkts += sender.cwnd();
                    row.inflight_pkts += u64::from(sender.in_flight());
                }
            }
        }
    }
}
