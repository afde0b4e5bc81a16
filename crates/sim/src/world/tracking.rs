//! Series of chosen flows: congestion window, packets in flight, round-trip times, and what reached the receivers.

use forebay_aqm::base::time::{Instant, Span};

use super::flow::{Body, Flow};
use crate::measure::outcome::TrackRow;
use crate::measure::over_time::row;
use crate::network::Network;

/// The tracks of a network: each is a set of flows with a series.
pub(super) struct Tracking {
    sample: Span,
    tracks: Vec<Track>,
    /// The tracks of each flow; empty without tracks.
    of: Vec<Vec<usize>>,
}

struct Track {
    flows: Vec<usize>,
    rows: Vec<TrackRow>,
}

impl Track {
    /// The row of time `at`.
    fn at(&mut self, at: Instant, sample: Span) -> &mut TrackRow {
        let row = row(at, sample);
        if row >= self.rows.len() {
            self.rows.resize(row + 1, TrackRow::default());
        }
        &mut self.rows[row]
    }
}

impl Tracking {
    /// The tracks of `net`, without rows.
    pub(super) fn new(net: &Network) -> Self {
        let mut of = if net.tracks.is_empty() { Vec::new() } else { vec![Vec::new(); net.flows.len()] };
        for (track, flows) in net.tracks.iter().enumerate() {
            flows.iter().for_each(|&flow| of[flow].push(track));
        }
        let tracks = net.tracks.iter().map(|flows| Track { flows: flows.clone(), rows: Vec::new() }).collect();
        Self { sample: net.sample.max(Span::from_nanos(1)), tracks, of }
    }

    /// Has the flow a track?
    pub(super) fn has(&self, flow: usize) -> bool {
        self.of.get(flow).is_some_and(|tracks| !tracks.is_empty())
    }

    fn note(&mut self, flow: usize, at: Instant, event: impl Fn(&mut TrackRow)) {
        for &track in self.of.get(flow).into_iter().flatten() {
            event(self.tracks[track].at(at, self.sample));
        }
    }

    /// The flow's sender has measured this round-trip time.
    pub(super) fn round_trip(&mut self, flow: usize, at: Instant, rtt: Span) {
        self.note(flow, at, |row| {
            row.rtts += 1;
            row.rtt = row.rtt + rtt;
        });
    }

    /// A data packet of the flow has reached its receiver at `at`, perhaps ahead of the simulation.
    #[cold]
    #[inline(never)]
    pub(super) fn arrived(&mut self, flow: usize, at: Instant, len: u16, delay: Span) {
        self.note(flow, at, |row| {
            row.pkts += 1;
            row.bytes += u64::from(len);
            row.delay = row.delay + delay;
        });
    }

    /// A row is due: adds the state of the senders.
    pub(super) fn look(&mut self, now: Instant, flows: &[Flow]) {
        for track in &mut self.tracks {
            let mut sum = TrackRow::default();
            for flow in track.flows.iter().map(|&flow| &flows[flow]).filter(|flow| flow.started && !flow.stopped) {
                if let Body::Tcp { sender, .. } = &flow.body {
                    sum.senders += 1;
                    sum.cwnd_pkts += sender.cwnd();
                    sum.inflight_pkts += u64::from(sender.in_flight());
                }
            }
            let row = track.at(now, self.sample);
            (row.senders, row.cwnd_pkts, row.inflight_pkts) = (sum.senders, sum.cwnd_pkts, sum.inflight_pkts);
        }
    }

    /// The first `rows` rows of each track.
    pub(super) fn finish(self, rows: usize) -> Vec<Vec<TrackRow>> {
        let complete = |mut track: Track| {
            track.rows.resize(rows, TrackRow::default());
            track.rows
        };
        self.tracks.into_iter().map(complete).collect()
    }
}
