//! Records of the outstanding packets: when each was sent last, how often, and what is known of its fate.
//!
//! Records are in a ring, indexed by packet number. They are linked in the order of their last transmission, in which
//! RACK (RFC 8985) looks for lost packets.

use forebay_aqm::base::time::Instant;

use super::super::bits::BitRing;
use super::super::reports::Block;

/// End of the list.
const NONE: u32 = u32::MAX;
/// Records of a ring at first; a power of two.
const FIRST: usize = 64;

/// Record of an outstanding packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    /// Time of the last transmission.
    pub(super) sent: Instant,
    /// Packets delivered before the last transmission, modulo 2^32.
    pub(super) delivered: u32,
    /// The packets sent before and after it, of those on the list.
    earlier: u32,
    later: u32,
    is_listed: bool,
    /// Selectively acknowledged.
    pub(super) is_reported: bool,
    pub(super) is_lost: bool,
    /// Its retransmission is in flight.
    pub(super) is_repeated: bool,
    /// It was sent more than once.
    pub(super) was_repeated: bool,
    /// Stamps of its last transmission but one, and of its last.
    pub(super) stamps: [u8; 2],
}

/// Records of the packets between `una` and `high`, which the caller passes, and their counts.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    ring: Box<[Packet]>,
    /// Selectively acknowledged packets.
    reported: BitRing,
    oldest: u32,
    newest: u32,
    /// One above the highest packet that was selectively acknowledged.
    top: u32,
    /// No lost packet below this number waits for its retransmission.
    hint: u32,
    lost: u32,
    repeated: u32,
}

/// What a transmission of a packet leaves in its record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) now: Instant,
    pub(super) delivered: u32,
    pub(super) stamp: u8,
}

impl Default for Packets {
    fn default() -> Self {
        Self {
            ring: Box::default(),
            reported: BitRing::default(),
            oldest: NONE,
            newest: NONE,
            top: 0,
            hint: 0,
            lost: 0,
            repeated: 0,
        }
    }
}

impl Packets {
    const fn place(&self, seq: u32) -> usize {
        seq as usize & (self.ring.len() - 1)
    }

    /// The record of an outstanding packet.
    #[inline]
    pub(super) const fn get(&self, seq: u32) -> &Packet {
        &self.ring[self.place(seq)]
    }

    #[inline]
    const fn at(&mut self, seq: u32) -> &mut Packet {
        let place = self.place(seq);
        &mut self.ring[place]
    }

    /// Number of selectively acknowledged packets.
    pub(super) const fn reported(&self) -> u32 {
        self.reported.len()
    }

    /// Number of packets considered lost, their retransmissions included.
    pub(super) const fn lost(&self) -> u32 {
        self.lost
    }

    /// Number of retransmissions in flight.
    pub(super) const fn repeated(&self) -> u32 {
        self.repeated
    }

    /// Number of packets in flight of `outstanding` ones.
    #[inline]
    pub(super) const fn in_flight(&self, outstanding: u32) -> u32 {
        outstanding + self.repeated - self.reported.len() - self.lost
    }

    /// One above the highest packet that is selectively acknowledged; `una` if none is.
    pub(super) fn top(&self, una: u32) -> u32 {
        if self.reported.is_empty() { una } else { self.top.max(una) }
    }

    /// New packet `seq` is sent.
    pub(super) fn send(&mut self, una: u32, seq: u32, departure: Departure) {
        if (seq - una) as usize >= self.ring.len() {
            self.grow(una);
        }
        let Departure { now, delivered, stamp } = departure;
        *self.at(seq) = Packet { sent: now, delivered, stamps: [stamp; 2], ..Packet::default() };
        self.append(seq);
    }

    #[cold]
    fn grow(&mut self, una: u32) {
        let old = core::mem::take(&mut self.ring);
        self.ring = vec![Packet::default(); (old.len() * 2).max(FIRST)].into_boxed_slice();
        for seq in (una..).take(old.len()) {
            *self.at(seq) = old[seq as usize & (old.len() - 1)];
        }
    }

    /// Outstanding packet `seq` is sent again. `repairs`: it counts as a retransmission in flight; a tail loss probe does
    /// not.
    pub(super) fn resend(&mut self, seq: u32, departure: Departure, repairs: bool) {
        self.unlink(seq);
        let packet = self.at(seq);
        (packet.sent, packet.delivered, packet.was_repeated) = (departure.now, departure.delivered, true);
        packet.stamps = [packet.stamps[1], departure.stamp];
        if repairs {
            packet.is_repeated = true;
            self.repeated += 1;
        }
        self.append(seq);
    }

    fn append(&mut self, seq: u32) {
        let newest = self.newest;
        let packet = self.at(seq);
        (packet.earlier, packet.later, packet.is_listed) = (newest, NONE, true);
        match newest {
            NONE => self.oldest = seq,
            newest => self.at(newest).later = seq,
        }
        self.newest = seq;
    }

    /// Takes packet `seq` off the list of transmissions, so that RACK does not examine it until it is sent again.
    pub(super) const fn unlink(&mut self, seq: u32) {
        let packet = self.at(seq);
        if !packet.is_listed {
            return;
        }
        packet.is_listed = false;
        let (earlier, later) = (packet.earlier, packet.later);
        match earlier {
            NONE => self.oldest = later,
            earlier => self.at(earlier).later = later,
        }
        match later {
            NONE => self.newest = earlier,
            later => self.at(later).earlier = earlier,
        }
    }

    /// The packet whose last transmission is the oldest, of those on the list.
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The packet sent after packet `seq`, which is on the list.
    pub(super) fn later(&self, seq: u32) -> Option<u32> {
        let later = self.get(seq).later;
        (later != NONE).then_some(later)
    }

    /// Everything up to packet `seq`, the lowest outstanding one, is acknowledged. Returns its record.
    #[inline]
    pub(super) fn acknowledge(&mut self, seq: u32) -> Packet {
        self.unlink(seq);
        let packet = *self.get(seq);
        if packet.is_reported {
            self.reported.remove(seq);
        }
        self.lost -= u32::from(packet.is_lost);
        self.repeated -= u32::from(packet.is_repeated);
        packet
    }

    /// The receiver reports the packets of `block`, which are at or above `una`. Calls `fresh` with the number, the record
    /// as it was before, and the highest report before, for each that was not reported before.
    pub(super) fn report(&mut self, una: u32, block: Block, mut fresh: impl FnMut(u32, Packet, u32)) {
        // The set calls back with itself borrowed.
        let mut reported = core::mem::take(&mut self.reported);
        let mut top = if reported.is_empty() { una } else { self.top.max(una) };
        reported.insert_run(una, block.start, block.end, |seq| {
            let before = *self.get(seq);
            self.unlink(seq);
            let packet = self.at(seq);
            packet.is_reported = true;
            if before.is_lost {
                packet.is_lost = false;
                self.lost -= 1;
                // A retransmission of a packet that is not lost is believed to be still in flight.
                if before.is_repeated {
                    self.at(seq).is_repeated = false;
                    self.repeated -= 1;
                }
            }
            fresh(seq, before, top);
            top = top.max(seq + 1);
        });
        (self.reported, self.top) = (reported, top);
    }

    /// Packet `seq` arrived twice: its retransmission has left the network.
    pub(super) const fn duplicated(&mut self, seq: u32) {
        let packet = self.at(seq);
        if packet.is_repeated {
            packet.is_repeated = false;
            self.repeated -= 1;
        }
    }

    /// Considers packet `seq` lost, or its retransmission if that is in flight. Returns whether this is new.
    pub(super) fn lose(&mut self, seq: u32) -> bool {
        let packet = self.at(seq);
        if packet.is_reported || (packet.is_lost && !packet.is_repeated) {
            return false;
        }
        if packet.is_lost {
            packet.is_repeated = false;
            self.repeated -= 1;
        } else {
            packet.is_lost = true;
            self.lost += 1;
        }
        self.hint = self.hint.min(seq);
        true
    }

    /// No packet is considered lost any more.
    pub(super) fn unlose(&mut self, una: u32, high: u32) {
        (una..high).for_each(|seq| self.at(seq).is_lost = false);
        self.lost = 0;
    }

    /// The lowest lost packet that was not retransmitted.
    pub(super) fn next_lost(&mut self, una: u32, high: u32) -> Option<u32> {
        if self.repeated >= self.lost {
            return None;
        }
        let waits = |packet: &Packet| packet.is_lost && !packet.is_repeated;
        let found = (self.hint.max(una)..high).find(|&seq| waits(self.get(seq)));
        self.hint = found.unwrap_or(high);
        found
    }

    /// Checks the counts; of at most [`FIRST`] packets against the records.
    pub(super) fn check(&self, una: u32, high: u32) -> Result<(), &'static str> {
        if self.reported() + self.lost > high - una {
            return Err("reported and lost packets are outstanding");
        }
        if (high - una) as usize > FIRST {
            return Ok(());
        }
        let count = |is: fn(&Packet) -> bool| (una..high).filter(|&seq| is(self.get(seq))).count() as u32;
        let counts = [count(|packet| packet.is_reported), count(|packet| packet.is_lost)];
        if counts == [self.reported(), self.lost] && count(|packet| packet.is_repeated) == self.repeated {
            Ok(())
        } else {
            Err("packets reported, lost and repeated are counted")
        }
    }
}
