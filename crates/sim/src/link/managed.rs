//! A link's queue with a discipline. The discipline gets a descriptor of each packet; the waiting packets themselves
//! ([`Segment`]) are in a table.

use forebay_aqm::AnyDiscipline;
use forebay_aqm::base::discipline::Discipline;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ack, Hosts, Packet, Proto};
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::verdict::Reason;

use super::segment::Segment;
use crate::engine::slab::Slab;
use crate::measure::bundles::Bundles;
use crate::measure::meter::{Loss, Meter};

/// Properties of a packet that disciplines use, in addition to those of its [`Segment`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Tag {
    /// Id of the source-destination pair.
    pub pair: u32,
    /// The hosts that it comes from and goes to.
    pub hosts: Hosts,
    /// The acknowledgement that it has, if it is TCP.
    pub ack: Ack,
    /// Transport protocol.
    pub proto: Proto,
    /// Differentiated services codepoint.
    pub dscp: u8,
}

/// A queue with a discipline, and the table of its waiting packets.
pub(super) struct Managed {
    /// The discipline, and the object (port) that stores the packets' descriptors for it and counts them.
    pub(super) queue: Queue<AnyDiscipline>,
    segments: Slab<Segment>,
    /// True while the transmitter is busy, or waits because the rate schedule or the discipline does not allow
    /// transmission yet.
    pub(super) sending: bool,
    bundles: Bundles,
}

impl Managed {
    pub(super) const fn new(queue: Queue<AnyDiscipline>, bundles: Bundles) -> Self {
        Self { queue, segments: Slab::new(), sending: false, bundles }
    }

    /// Are packets served in order of arrival? True if the discipline has a single list of packets.
    pub(super) fn is_fifo(&self) -> bool {
        self.queue.discipline().lists() == 1
    }

    /// Number of waiting packets.
    pub(super) fn held(&self) -> usize {
        let held = self.segments.len();
        debug_assert_eq!(held, self.queue.port.pkts() as usize, "a segment for each packet of the discipline");
        held
    }

    /// Stores a packet in the table and returns its descriptor for the discipline.
    #[inline(always)]
    pub(super) fn describe(&mut self, segment: Segment, tag: Tag) -> Packet {
        Packet {
            slot: self.segments.insert(segment),
            len: u32::from(segment.len),
            flow: segment.flow,
            pair: tag.pair,
            hosts: tag.hosts,
            ack: tag.ack,
            dscp: tag.dscp,
            ecn: segment.mark.ecn(),
            class: self.bundles.class(segment.bundle),
            colour: segment.mark.colour(),
            proto: tag.proto,
            ..Packet::default()
        }
    }

    /// Removes from the table the packet whose descriptor the discipline has returned.
    #[inline(always)]
    pub(super) fn release(&mut self, packet: &Packet) -> &Segment {
        self.segments.remove(packet.slot)
    }

    /// Removes dropped packets from the table and reports them to the link's meter. Returns their number.
    #[inline]
    pub(super) fn release_dropped(
        &mut self,
        now: Instant,
        mut meter: Option<&mut Meter>,
        on_drop: &mut impl FnMut(&Segment),
    ) -> u64 {
        let discarded = self.queue.port.discarded();
        let count = discarded.len() as u64;
        for (packet, reason) in discarded.drain(..) {
            let segment = self.segments.remove(packet.slot);
            on_drop(segment);
            if let Some(meter) = &mut meter {
                let loss = match reason {
                    Reason::Early | Reason::Marker => Loss::Early,
                    Reason::Overflow => Loss::Overflow,
                };
                meter.lose(now, (segment.bundle, packet.colour), loss);
            }
        }
        count
    }
}
