//! The network of a run: the simulator's links, which carry the frames of the guest, and what is measured at its edge.

use forebay_aqm::base::packet::Colour;
use forebay_aqm::base::time::{Instant, Span};
use forebay_live::fabric::{Fabric, NEAR, Tap, Way};
use forebay_live::frame::{self, About};
use forebay_sim::lone::Rows;
use forebay_sim::network::Network;
use forebay_sim::outcome::Outcome;

use crate::measure::Measure;
use crate::network::ZERO;
use crate::records::{Event, FORWARD, Kind, PAYLOAD, Record, SYN, TCP};
use crate::traffic::PORTS;

/// The links, and the measurements of a run. Times are those of the guest, ns since its start.
pub(super) struct Wire<'a> {
    net: &'a Network,
    fabric: Fabric,
    measure: Measure<'a>,
}

/// A time of the guest as one of the run.
fn in_run(time: u64) -> Instant {
    Instant::from_nanos(time.saturating_sub(ZERO))
}

/// Index of the flow of a frame.
fn flow(frame: &[u8], flows: usize) -> Option<usize> {
    let [from, to] = frame::ports(frame)?;
    // Other ports than those of the flows are at least 32768: there are at most 5000 flows.
    let index = |port: u16| port.checked_sub(PORTS).map(usize::from).filter(|index| *index < flows);
    index(to).or_else(|| index(from))
}

/// What happened to a frame at the edge of the network, as a guest with links would have recorded it.
fn event(kind: Kind, frame: &[u8], flow: Option<usize>, forward: bool, at: Instant) -> Event {
    let about = frame::about(frame);
    let mut flags = if forward { FORWARD } else { 0 };
    let mut value = 0;
    match frame::tcp(frame) {
        Some(tcp) => {
            flags |= TCP | if tcp.is_syn { SYN } else { 0 } | if tcp.payload > 0 { PAYLOAD } else { 0 };
            let end = tcp.sequence.wrapping_add(tcp.payload);
            value = if tcp.payload > 0 { end } else { tcp.acknowledged.unwrap_or(0) };
        }
        None => flags |= PAYLOAD,
    }
    Event {
        kind,
        link: 254,
        ecn: about.ecn.bits(),
        flags,
        len: frame.len().min(usize::from(u16::MAX)) as u16,
        flow: flow.map_or(u16::MAX, |flow| flow as u16),
        id: 0,
        value,
        at: at.nanos(),
    }
}

impl<'a> Wire<'a> {
    /// `tap`: sees every frame that leaves the queue of a link.
    pub(super) fn new(net: &'a Network, seed: u64, tap: Option<Tap>) -> Self {
        let fabric = Fabric::new(net, seed, &net.bundles(), (Rows::all(net.sample), net.duration), false).with_tap(tap);
        Self { net, fabric, measure: Measure::new(net) }
    }

    /// Takes a record of the guest.
    pub(super) fn take(&mut self, record: &Record) {
        self.measure.take(record);
    }

    /// Is this time after the end of the run, when nothing is carried any more?
    pub(super) fn is_after_end(&self, time: u64) -> bool {
        in_run(time) > Instant::ZERO + self.net.duration
    }

    /// A frame enters the network at the end `from`.
    pub(super) fn enter(&mut self, frame: &[u8], from: usize, time: u64) {
        if self.is_after_end(time) {
            return;
        }
        let at = in_run(time);
        let flow = flow(frame, self.net.flows.len());
        let way = flow.map(|number| {
            let flow = &self.net.flows[number];
            let seen = frame::about(frame);
            let about = About { flow: number as u32, pair: flow.pair, class: flow.class, colour: Colour::In, ..seen };
            let route = if from == NEAR { flow.forward } else { flow.back };
            // The edge of the network is measured here, not by the fabric.
            Way { route, flow: None, bundle: flow.bundle, about }
        });
        self.measure.at_the_edge(&event(Kind::Entered, frame, flow, from == NEAR, at), at);
        self.fabric.arrive(frame, way, 1 - from, at);
    }

    /// When something happens next if no frame enters; `None`: nothing happens until the end of the run.
    pub(super) fn next(&self) -> Option<u64> {
        let next = self.fabric.next().filter(|next| *next <= Instant::ZERO + self.net.duration);
        next.map(|next| next.nanos() + ZERO)
    }

    /// Processes everything up to this time.
    pub(super) fn advance(&mut self, time: u64) {
        self.fabric.advance(in_run(time));
    }

    /// The first frame that leaves the network at an end.
    pub(super) fn first(&self, end: usize) -> Option<&[u8]> {
        self.fabric.first_ready(end).map(|(frame, _)| frame)
    }

    /// Records that the first frame at an end has left.
    pub(super) fn left(&mut self, end: usize, time: u64) {
        if let Some((frame, [came, at])) = self.fabric.first_ready(end) {
            let flow = flow(frame, self.net.flows.len());
            self.measure.at_the_edge(&event(Kind::Left, frame, flow, end != NEAR, at), came);
        }
        self.fabric.sent(end, 1, in_run(time));
    }

    /// What the ends of flows could not do.
    pub(super) fn faults(&self) -> Vec<String> {
        self.measure.faults().to_vec()
    }

    /// The results.
    pub(super) fn finish(self) -> Outcome {
        let report = self.fabric.finish(Instant::ZERO + self.net.duration);
        self.measure.finish_with(report.links)
    }
}

/// The longest time after the end of the run at which the guest must have ended, ns.
pub(super) const GRACE: Span = Span::from_millis(60_000);

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP segment between these ports with sequence number 1000, acknowledgement 2000, and some payload.
    fn segment(ports: [u16; 2], ecn: u8, flags: u8, payload: usize) -> Vec<u8> {
        let len = (40 + payload) as u16;
        let mut frame = vec![0; 14 + usize::from(len)];
        frame[12..16].copy_from_slice(&[8, 0, 0x45, ecn]);
        frame[16..18].copy_from_slice(&len.to_be_bytes());
        frame[23] = 6;
        frame[34..36].copy_from_slice(&ports[0].to_be_bytes());
        frame[36..38].copy_from_slice(&ports[1].to_be_bytes());
        frame[38..42].copy_from_slice(&1000u32.to_be_bytes());
        frame[42..46].copy_from_slice(&2000u32.to_be_bytes());
        frame[46..48].copy_from_slice(&[0x50, flags]);
        frame
    }

    #[test]
    fn port_of_either_end_tells_the_flow() {
        let of = |ports| flow(&segment(ports, 0, 0x10, 0), 3);
        assert_eq!([of([40_000, PORTS + 2]), of([PORTS, 40_000])], [Some(2), Some(0)]);
        assert_eq!([of([40_000, PORTS + 3]), of([PORTS - 1, 9]), flow(&[0; 60], 3)], [None; 3]);
    }

    #[test]
    fn events_have_what_a_guest_would_record() {
        let at = Instant::from_nanos(7);
        let data = event(Kind::Entered, &segment([40_000, PORTS], 2, 0x10, 100), Some(0), true, at);
        assert_eq!((data.flags, data.value, data.ecn, data.len), (FORWARD | TCP | PAYLOAD, 1100, 2, 154));
        let ack = event(Kind::Left, &segment([PORTS, 40_000], 0, 0x10, 0), Some(0), false, at);
        assert_eq!((ack.flags, ack.value, ack.at), (TCP, 2000, 7));
        let syn = event(Kind::Entered, &segment([40_000, PORTS], 0, 0x02, 0), None, true, at);
        assert_eq!((syn.flags, syn.value, syn.flow), (FORWARD | TCP | SYN, 0, u16::MAX));
    }
}
