//! Checks that every packet that was offered to a queue has exactly one fate.

use forebay_aqm::base::packet::{Ecn, Packet};
use forebay_aqm::base::port::Tally;

/// The packets offered to a queue, counted from 0; the number of a packet is its field `slot`. `None` in `open`: the
/// packet has departed or was dropped.
#[derive(Default)]
pub(crate) struct Account {
    open: Vec<Option<Packet>>,
    departed: u64,
    dropped: u64,
}

impl Account {
    /// The number that the next packet offered will have in its field `slot`.
    pub(crate) const fn slot(&self) -> u32 {
        self.open.len() as u32
    }

    pub(crate) fn offered(&mut self, packet: Packet) {
        self.open.push(Some(packet));
    }

    pub(crate) fn departed(&mut self, packet: &Packet) -> Result<(), String> {
        self.departed += 1;
        self.settle(packet)
    }

    pub(crate) fn dropped(&mut self, packet: &Packet) -> Result<(), String> {
        self.dropped += 1;
        self.settle(packet)
    }

    fn settle(&mut self, told: &Packet) -> Result<(), String> {
        let slot = told.slot;
        let open = self.open.get_mut(slot as usize).ok_or_else(|| format!("packet {slot} was never offered"))?;
        let offered = open.take().ok_or_else(|| format!("packet {slot} has two fates"))?;
        let may_be_marked = told.ecn == Ecn::Ce && offered.ecn.is_capable();
        let ecn = if may_be_marked { Ecn::Ce } else { offered.ecn };
        // A discipline may clear the DSCP, as CAKE with `wash`.
        let dscp = if told.dscp == 0 { 0 } else { offered.dscp };
        if (Packet { ecn, dscp, ..offered }) != *told {
            return Err(format!("packet {slot} was modified"));
        }
        Ok(())
    }

    /// Checks the account of an empty queue: every packet has departed or was dropped, and the queue's packet store
    /// (port) counted the same.
    pub(crate) fn close(&self, tally: &Tally) -> Result<(), String> {
        if let Some(lost) = self.open.iter().flatten().next() {
            return Err(format!("packet {} has no fate", lost.slot));
        }
        let dropped = tally.dropped_early.pkts + tally.dropped_overflow.pkts;
        let counted = [tally.offered.pkts, tally.departed.pkts, dropped];
        let seen = [self.open.len() as u64, self.departed, self.dropped];
        if counted != seen {
            return Err(format!("the port counted {counted:?}; offered, departed and dropped were {seen:?}"));
        }
        Ok(())
    }
}
