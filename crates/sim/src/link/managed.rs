//! A queue under a discipline, with the segments whose descriptors it holds.

use forebay_aqm::AnyDiscipline;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::ladder::Discipline;
use forebay_aqm::base::packet::{Packet, Proto};
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::verdict::Reason;

use super::segment::Segment;
use crate::engine::slab::Slab;
use crate::measure::meter::{Loss, Meter};

/// What a flow's packets look like to a discipline.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tag {
    /// Source-destination pair.
    pub pair: u32,
    /// Transport.
    pub proto: Proto,
}

/// The queue and what stands in it.
pub(super) struct Managed {
    /// The discipline and its memory.
    pub(super) queue: Queue<AnyDiscipline>,
    segments: Slab<Segment>,
    /// Does the transmitter send, or wait until it may?
    pub(super) sending: bool,
}

impl Managed {
    pub(super) const fn new(queue: Queue<AnyDiscipline>) -> Self {
        Self { queue, segments: Slab::new(), sending: false }
    }

    /// A single list is served from its head.
    pub(super) fn is_fifo(&self) -> bool {
        self.queue.discipline().lists() == 1
    }

    /// How many segments it holds; as many as the discipline has packets.
    pub(super) fn held(&self) -> usize {
        let held = self.segments.len();
        debug_assert_eq!(held, self.queue.port.pkts() as usize, "a segment for each packet of the discipline");
        held
    }

    /// The descriptor of a segment that arrives.
    #[inline(always)]
    pub(super) fn describe(&mut self, segment: Segment, tag: Tag) -> Packet {
        Packet {
            slot: self.segments.insert(segment),
            len: u32::from(segment.len),
            flow: segment.flow,
            pair: tag.pair,
            ecn: segment.mark.ecn(),
            class: segment.class,
            colour: segment.mark.colour(),
            proto: tag.proto,
            ..Packet::default()
        }
    }

    /// The segment of a packet that the discipline gives back.
    #[inline(always)]
    pub(super) fn release(&mut self, packet: &Packet) -> &Segment {
        self.segments.remove(packet.slot)
    }

    /// Releases the segments of dropped packets and tells the meter; how many there were.
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
            on_drop(self.segments.remove(packet.slot));
            if let Some(meter) = &mut meter {
                let loss = match reason {
                    Reason::Early | Reason::Marker => Loss::Early,
                    Reason::Overflow => Loss::Overflow,
                };
                meter.lose(now, packet.class, packet.colour, loss);
            }
        }
        count
    }
}
