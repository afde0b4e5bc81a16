//! A capture of the packets at the first link under study, with the headers that Linux gave them.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use forebay_live::fabric::{Passed, Tap};
use forebay_sim::lone::Gone;
use forebay_sim::network::{FlowSpec, LinkId, Network};
use forebay_sim::world::Seen;

use crate::records::{Event, FORWARD, Kind, Record};

/// Bytes of a packet that are kept, from the IP header on: all headers.
pub const SNAP: u32 = 96;
/// Length of an Ethernet header.
const ETHERNET: usize = 14;

/// A packet at the link, or one in the opposite direction when it left the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// Time since the start of the run, ns.
    pub at: u64,
    /// Length of the IP packet, bytes.
    pub length: u32,
    /// Its first bytes, from the IP header on.
    pub kept: Vec<u8>,
    /// What happened.
    pub what: Seen,
}

/// A packet that waits in the queue of the link.
struct Waiting {
    arrived: u64,
    length: u32,
    kept: Vec<u8>,
    stream: Stream,
}

/// Flow and direction: every qdisc keeps the order of these packets.
type Stream = (u16, bool);

/// A capture in progress.
pub struct Capture {
    link: LinkId,
    most: usize,
    end: u64,
    /// For each flow the direction whose packets cross the link; `None`: neither does.
    forward: Vec<Option<bool>>,
    waiting: BTreeMap<u32, Waiting>,
    streams: BTreeMap<Stream, VecDeque<u32>>,
    /// Times at which a qdisc of Linux dropped packets of its queue, and how many of them are not known yet.
    unknown: VecDeque<(u64, u32)>,
    packets: Vec<Captured>,
    is_complete: bool,
}

impl Capture {
    /// A capture of at most `most` packets of `net`; `None` if no link is under study.
    pub fn new(net: &Network, most: usize) -> Option<Self> {
        let link = net.links.iter().position(|link| link.lane.study)?;
        let crosses = |route: usize| net.routes[route].contains(&link);
        let of_flow = |flow: &FlowSpec| {
            if crosses(flow.forward) { Some(true) } else { crosses(flow.back).then_some(false) }
        };
        Some(Self {
            link,
            most,
            end: net.duration.nanos(),
            forward: net.flows.iter().map(of_flow).collect(),
            waiting: BTreeMap::new(),
            streams: BTreeMap::new(),
            unknown: VecDeque::new(),
            packets: Vec::new(),
            is_complete: true,
        })
    }

    /// The link.
    pub fn link(&self) -> LinkId {
        self.link
    }

    /// Takes a record of a guest that has the links.
    pub(crate) fn take(&mut self, record: &Record) {
        match record {
            Record::Headers { event, bytes } if event.link == 0 => {
                let stream = stream(event);
                let waiting = Waiting { arrived: event.at, length: u32::from(event.len), kept: bytes.clone(), stream };
                self.waiting.insert(event.id, waiting);
                self.streams.entry(stream).or_default().push_back(event.id);
            }
            Record::Headers { event, bytes } => self.back(event, bytes),
            Record::Event(event) if event.link == 0 => self.event(event),
            _ => {}
        }
    }

    /// A packet has left the network.
    fn back(&mut self, event: &Event, bytes: &[u8]) {
        let crossing = self.forward.get(usize::from(event.flow)).copied().flatten();
        if crossing == Some(event.flags & FORWARD == 0) {
            self.add(Captured { at: event.at, length: u32::from(event.len), kept: bytes.to_vec(), what: Seen::Back });
        }
    }

    fn event(&mut self, event: &Event) {
        match event.kind {
            Kind::Lost => self.unknown.push_back((event.at, event.id)),
            Kind::Departed => {
                self.pass_over(event);
                self.gone(event.id, event.at, Seen::Sent, event.ecn);
            }
            // The ECN codepoint of a dropped packet is that of its arrival.
            Kind::Early | Kind::Overflow => self.gone(event.id, event.at, Seen::Dropped, 0),
            Kind::Arrived | Kind::Entered | Kind::Left => {}
        }
    }

    /// Packets of the same stream that arrived before this one and have not left: the qdisc has dropped them.
    fn pass_over(&mut self, event: &Event) {
        let stream = stream(event);
        while let Some(first) = self.streams.get(&stream).and_then(VecDeque::front).copied().filter(|id| *id < event.id)
        {
            let arrived = self.waiting.get(&first).map_or(0, |waiting| waiting.arrived);
            // At the first drop since its arrival that has no packet yet.
            let drop = self.unknown.iter_mut().find(|(at, left)| *at >= arrived && *left > 0);
            let at = drop.map_or(event.at, |(at, left)| {
                *left -= 1;
                *at
            });
            while self.unknown.front().is_some_and(|(_, left)| *left == 0) {
                self.unknown.pop_front();
            }
            self.gone(first, at, Seen::Dropped, 0);
        }
    }

    /// A packet leaves the queue. `ecn`: its ECN codepoint if it is sent.
    fn gone(&mut self, id: u32, at: u64, what: Seen, ecn: u8) {
        let Some(Waiting { length, mut kept, stream, .. }) = self.waiting.remove(&id) else { return };
        if let Some(ids) = self.streams.get_mut(&stream) {
            // It is the first one, except that an AQM has dropped it at its arrival.
            if let Some(at) = ids.iter().position(|other| *other == id) {
                ids.remove(at);
            }
        }
        if what == Seen::Sent {
            set_ecn(&mut kept, ecn);
        }
        self.add(Captured { at, length, kept, what });
    }

    fn add(&mut self, packet: Captured) {
        if packet.at > self.end {
            return;
        }
        if self.packets.len() < self.most {
            self.packets.push(packet);
        } else {
            self.is_complete = false;
        }
    }

    /// The packets in the order of time; and whether they are all.
    pub fn finish(mut self) -> (Vec<Captured>, bool) {
        self.packets.sort_by_key(|packet| packet.at);
        (self.packets, self.is_complete)
    }
}

/// A function that adds the frames it gets to `capture`: those at the link, and those that leave the queue of the link in
/// the opposite direction.
pub(crate) fn tap(capture: Rc<RefCell<Capture>>, net: &Network) -> Tap {
    let back = net.opposite(capture.borrow().link);
    Box::new(move |Passed { link, at, frame, gone }: Passed<'_>| {
        let mut capture = capture.borrow_mut();
        let what = match gone {
            Gone::Sent if Some(link) == back => Seen::Back,
            _ if link != capture.link => return,
            Gone::Sent => Seen::Sent,
            Gone::Dropped => Seen::Dropped,
            Gone::Lost => Seen::Lost,
        };
        let packet = frame.get(ETHERNET..).unwrap_or_default();
        let kept = packet[..packet.len().min(SNAP as usize)].to_vec();
        capture.add(Captured { at: at.nanos(), length: packet.len() as u32, kept, what });
    })
}

fn stream(event: &Event) -> Stream {
    (event.flow, event.flags & FORWARD != 0)
}

/// Sets the ECN codepoint of an IPv4 packet, and corrects the checksum (RFC 1624).
fn set_ecn(packet: &mut [u8], ecn: u8) {
    if packet.len() < 20 || packet[1] & 3 == ecn {
        return;
    }
    let word = |packet: &[u8], at: usize| u32::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    let old = word(packet, 0);
    packet[1] = packet[1] & !3 | ecn;
    let sum = (!word(packet, 10) & 0xffff) + (!old & 0xffff) + word(packet, 0);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[10..12].copy_from_slice(&(!folded as u16).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happened to packet `id` of this flow, at `at`.
    fn event(kind: Kind, id: u32, flow: u16, at: u64) -> Event {
        Event { kind, link: 0, ecn: 3, flags: FORWARD, len: 40, flow, id, value: 0, at }
    }

    fn capture() -> Capture {
        Capture {
            link: 0,
            most: 10,
            end: 100,
            forward: vec![Some(true), None],
            waiting: BTreeMap::new(),
            streams: BTreeMap::new(),
            unknown: VecDeque::new(),
            packets: Vec::new(),
            is_complete: true,
        }
    }

    #[test]
    fn mark_corrects_the_checksum() {
        // 10.0.0.1 to 10.0.0.2, ECT(0), then CE.
        let mut packet = vec![0x45, 2, 0, 40, 0, 0, 0x40, 0, 64, 6, 0x26, 0xcc, 10, 0, 0, 1, 10, 0, 0, 2];
        let sum = |packet: &[u8]| -> u32 {
            let sum: u32 = packet.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
            (sum & 0xffff) + (sum >> 16)
        };
        assert_eq!(sum(&packet), 0xffff);
        set_ecn(&mut packet, 3);
        assert_eq!((packet[1], packet[10], packet[11], sum(&packet)), (3, 0x26, 0xcb, 0xffff));
    }

    #[test]
    fn drops_of_a_queue_are_those_passed_over() {
        let mut capture = capture();
        let arrive = |capture: &mut Capture, id, flow, at| {
            let bytes = vec![0x45, 2, id as u8];
            capture.take(&Record::Headers { event: event(Kind::Arrived, id, flow, at), bytes });
        };
        for (id, flow) in [(0, 0), (1, 1), (2, 0), (3, 0)] {
            arrive(&mut capture, id, flow, u64::from(id));
        }
        // At 10 the qdisc drops two packets and sends the packet 3, at 20 it drops one at its arrival.
        capture.take(&Record::Event(Event { id: 2, ..event(Kind::Lost, 0, u16::MAX, 10) }));
        capture.take(&Record::Event(event(Kind::Departed, 3, 0, 10)));
        arrive(&mut capture, 4, 0, 20);
        capture.take(&Record::Event(event(Kind::Overflow, 4, u16::MAX, 20)));
        // After the end of the run.
        capture.take(&Record::Event(event(Kind::Departed, 1, 1, 101)));
        let (packets, is_complete) = capture.finish();
        let seen: Vec<_> = packets.iter().map(|packet| (packet.at, packet.kept[2], packet.what)).collect();
        let (dropped, sent) = (Seen::Dropped, Seen::Sent);
        assert_eq!(seen, [(10, 0, dropped), (10, 2, dropped), (10, 3, sent), (20, 4, dropped)]);
        assert!(is_complete);
    }

    #[test]
    fn only_the_flows_of_the_link_come_back() {
        let mut capture = capture();
        let leave = |capture: &mut Capture, flow, flags| {
            let event = Event { link: 254, flags, ..event(Kind::Left, 1, flow, 5) };
            capture.take(&Record::Headers { event, bytes: vec![0x45] });
        };
        leave(&mut capture, 0, 0);
        leave(&mut capture, 0, FORWARD);
        leave(&mut capture, 1, 0);
        leave(&mut capture, 9, 0);
        let (packets, _) = capture.finish();
        assert_eq!(packets.len(), 1);
        assert_eq!(packets[0].what, Seen::Back);
    }
}
