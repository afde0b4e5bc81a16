//! Captures the packets at the first link under study, with the headers that Linux wrote.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use forebay_aqm::base::time::Instant;
use forebay_live::fabric::{Passed, Tap};
use forebay_sim::lone::Gone;
use forebay_sim::network::{FlowSpec, LinkId, Network};
use forebay_sim::world::{IpPacket, SNAP, Seen};

use crate::records::{Event, FORWARD, Kind, Record};

/// Length of an Ethernet header.
const ETHERNET: usize = 14;

/// A capture in progress.
pub struct Capture {
    link: LinkId,
    most: usize,
    end: Instant,
    /// For each flow the direction whose packets cross the link; `None`: neither does.
    forward: Vec<Option<bool>>,
    /// Length and first bytes of each packet in the queue, by its number.
    waiting: BTreeMap<u32, (u32, Vec<u8>)>,
    /// Whether the kernel has recorded every packet that left the queue.
    is_recorded: bool,
    packets: Vec<IpPacket>,
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
            end: Instant::ZERO + net.duration,
            forward: net.flows.iter().map(of_flow).collect(),
            waiting: BTreeMap::new(),
            is_recorded: true,
            packets: Vec::new(),
            is_complete: true,
        })
    }

    /// The captured link.
    pub fn link(&self) -> LinkId {
        self.link
    }

    /// Processes a record of a guest whose kernel has the links.
    pub(crate) fn take(&mut self, record: &Record) {
        match record {
            Record::Headers { event, bytes } if event.link == 0 => {
                self.waiting.insert(event.id, (u32::from(event.len), bytes.clone()));
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
            let at = Instant::from_nanos(event.at);
            self.add(IpPacket { at, length: u32::from(event.len), kept: bytes.to_vec(), what: Seen::Back });
        }
    }

    fn event(&mut self, event: &Event) {
        match event.kind {
            Kind::Departed => self.gone(event.id, event.at, Seen::Sent, Some(event.ecn)),
            Kind::Early | Kind::Overflow | Kind::Freed => self.gone(event.id, event.at, Seen::Dropped, None),
            Kind::Lost | Kind::Arrived | Kind::Entered | Kind::Left => {}
        }
    }

    /// A packet leaves the queue. `ecn`: its ECN codepoint; `None`: that of its arrival.
    fn gone(&mut self, id: u32, at: u64, what: Seen, ecn: Option<u8>) {
        let Some((length, mut kept)) = self.waiting.remove(&id) else {
            self.is_recorded = false;
            return;
        };
        if let Some(ecn) = ecn {
            set_ecn(&mut kept, ecn);
        }
        self.add(IpPacket { at: Instant::from_nanos(at), length, kept, what });
    }

    fn add(&mut self, packet: IpPacket) {
        if packet.at > self.end {
            return;
        }
        if self.packets.len() < self.most {
            self.packets.push(packet);
        } else {
            self.is_complete = false;
        }
    }

    /// The captured packets in the order of time, and whether the capture has all packets of the run.
    ///
    /// # Errors
    /// The kernel has not recorded every packet.
    pub fn finish(self) -> Result<(Vec<IpPacket>, bool), String> {
        let missing = || "the kernel has not recorded every packet".to_string();
        self.is_recorded.then_some((self.packets, self.is_complete)).ok_or_else(missing)
    }
}

/// A function for [`Fabric::with_tap`](forebay_live::fabric::Fabric::with_tap). It adds frames to `capture`: those that
/// leave the queue of the captured link or are dropped there, and those that leave the queue of the opposite link.
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
        let kept = packet[..packet.len().min(SNAP)].to_vec();
        capture.add(IpPacket { at, length: packet.len() as u32, kept, what });
    })
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
            end: Instant::from_nanos(100),
            forward: vec![Some(true), None],
            waiting: BTreeMap::new(),
            is_recorded: true,
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

    fn arrive(capture: &mut Capture, id: u32, at: u64) {
        let bytes = vec![0x45, 2, id as u8];
        capture.take(&Record::Headers { event: event(Kind::Arrived, id, 0, at), bytes });
    }

    #[test]
    fn packets_of_a_queue_are_sent_or_dropped() {
        let mut capture = capture();
        (0..4).for_each(|id| arrive(&mut capture, id, u64::from(id)));
        // At 10 the qdisc drops two packets and sends the packet 3, at 20 it drops one at its arrival.
        [0, 2].iter().for_each(|id| capture.take(&Record::Event(event(Kind::Freed, *id, u16::MAX, 10))));
        capture.take(&Record::Event(Event { id: 2, ..event(Kind::Lost, 0, u16::MAX, 10) }));
        capture.take(&Record::Event(event(Kind::Departed, 3, 0, 10)));
        arrive(&mut capture, 4, 20);
        capture.take(&Record::Event(event(Kind::Overflow, 4, u16::MAX, 20)));
        // After the end of the run.
        capture.take(&Record::Event(event(Kind::Departed, 1, 1, 101)));
        let (packets, is_complete) = capture.finish().unwrap();
        let seen: Vec<_> = packets.iter().map(|packet| (packet.at.nanos(), packet.kept[2], packet.what)).collect();
        let (dropped, sent) = (Seen::Dropped, Seen::Sent);
        assert_eq!(seen, [(10, 0, dropped), (10, 2, dropped), (10, 3, sent), (20, 4, dropped)]);
        assert!(is_complete);
    }

    #[test]
    fn packets_without_headers_are_an_error() {
        let mut silent = capture();
        silent.take(&Record::Event(event(Kind::Departed, 0, 0, 10)));
        assert!(silent.finish().is_err());
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
        let (packets, _) = capture.finish().unwrap();
        assert_eq!(packets.len(), 1);
        assert_eq!(packets[0].what, Seen::Back);
    }
}
