//! The ACK filter: drops an older acknowledgement that a newer one replaces.
//!
//! Linux: `cake_ack_filter`.

use crate::base::packet::{Packet, Proto};
use crate::base::port::Level;
use crate::choice;

choice! {
    /// Which acknowledgements the filter drops.
    pub enum AckFilter {
        /// None.
        Off = "off",
        /// The oldest of three: two remain.
        On = "on",
        /// Also the older of two if nothing is between them and their ECN flags are equal.
        Aggressive = "aggressive",
    }
}

/// The place, from the head, of the packet in `level` that `arrival` replaces. `None`: there is none.
pub(super) fn replaced(level: &Level, arrival: &Packet, filter: AckFilter) -> Option<u32> {
    // A segment with data acknowledges too, but the descriptor has no number of it: ours.
    if filter == AckFilter::Off || arrival.proto != Proto::Tcp || !arrival.ack.is_pure() {
        return None;
    }
    let mut eligible: Option<(u32, &Packet)> = None;
    // As in the kernel, a change of the ECN flags takes one from this number; it may be negative.
    let mut found = 0;
    let mut place = 0;
    for packet in level.packets() {
        let at = place;
        place += 1;
        if (packet.flow, packet.proto, packet.hosts) != (arrival.flow, Proto::Tcp, arrival.hosts) {
            continue;
        }
        if eligible.is_some_and(|(_, first)| !first.ack.has_flags_of(packet.ack)) {
            eligible = None;
            found -= 1;
        }
        let is_older = packet.ack.is_pure() && !packet.ack.is_after(arrival.ack);
        // The blocks themselves are unknown: one with blocks stays. Ours.
        let says_nothing_new = packet.ack.has_blocks() || (packet.ack.equals(arrival.ack) && !arrival.ack.has_blocks());
        if !is_older || says_nothing_new {
            continue;
        }
        let (first, _) = *eligible.get_or_insert((at, packet));
        found += 1;
        if found > 1 {
            return Some(first);
        }
    }
    let (at, packet) = eligible?;
    let is_adjacent = at + 1 == place && packet.ack.has_flags_of(arrival.ack);
    (filter == AckFilter::Aggressive && is_adjacent).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::backlog::droptail::DropTail;
    use crate::base::cx::Cx;
    use crate::base::packet::Ack;
    use crate::base::port::{MAIN, Port};
    use crate::base::rng::Rng;
    use crate::base::time::Instant;
    use crate::base::units::{Bytes, Limit, Link, Rate};
    use crate::base::verdict::Verdict;

    fn ack(number: u32) -> Packet {
        Packet { len: 40, ack: Ack::pure(number), ..Packet::default() }
    }

    /// The places that an arrival replaces in a queue of `waiting`, with both filters.
    fn of(waiting: &[Packet], arrival: Packet) -> [Option<u32>; 2] {
        let link = Link { rate: Rate(1_000_000), limit: Limit::Packets(100), mean_packet: Bytes(40) };
        let (mut port, mut rng) = (Port::new(link, 1, true), Rng::stream(1, "acks"));
        for packet in waiting {
            port.admit(MAIN, *packet, Verdict::Accept, &mut DropTail, &mut Cx::new(Instant::ZERO, &mut rng));
        }
        [AckFilter::On, AckFilter::Aggressive].map(|filter| replaced(&port.level(MAIN), &arrival, filter))
    }

    fn marked(number: u32) -> Packet {
        Packet { ack: Ack::pure(number).with_flags(true, false), ..ack(number) }
    }

    #[test]
    fn oldest_of_three_acknowledgements_is_replaced() {
        assert_eq!(of(&[ack(1), ack(2)], ack(3)), [Some(0); 2]);
        assert_eq!(of(&[ack(1)], ack(2)), [None, Some(0)]);
        assert_eq!(of(&[], ack(2)), [None; 2]);
        let data = Packet { len: 1500, ..Packet::default() };
        assert_eq!(of(&[data, ack(1), ack(2)], ack(3)), [Some(1); 2]);
        assert_eq!(of(&[ack(1), data], ack(3)), [None; 2], "not adjacent");
    }

    #[test]
    fn duplicates_and_newer_acknowledgements_stay() {
        assert_eq!(of(&[ack(3), ack(3)], ack(3)), [None; 2]);
        assert_eq!(of(&[ack(4), ack(5)], ack(3)), [None; 2]);
        assert_eq!(of(&[ack(2), ack(3)], ack(3)), [None; 2]);
    }

    #[test]
    fn acknowledgements_with_blocks_stay() {
        let blocks = |number| Packet { ack: Ack::pure(number).with_blocks(true), ..ack(number) };
        assert_eq!(of(&[blocks(1), blocks(1)], blocks(2)), [None; 2]);
        assert_eq!(of(&[ack(1), ack(1)], blocks(1)), [Some(0); 2], "blocks are news");
    }

    #[test]
    fn changes_of_ecn_flags_are_kept() {
        assert_eq!(of(&[ack(1), marked(2)], marked(3)), [None, Some(1)]);
        assert_eq!(of(&[ack(1)], marked(2)), [None; 2]);
        assert_eq!(of(&[ack(1), marked(2), marked(3), marked(4)], marked(5)), [Some(1); 2]);
    }

    #[test]
    fn only_acknowledgements_of_the_same_connection_count() {
        let other = Packet { flow: 7, ..ack(1) };
        let udp = Packet { proto: Proto::Udp, ..ack(1) };
        assert_eq!(of(&[other, other, udp], ack(3)), [None; 2]);
        assert_eq!(of(&[ack(1), other, ack(2)], ack(3)), [Some(0); 2]);
        assert_eq!(of(&[ack(1), ack(2)], Packet { ack: Ack::default(), ..ack(3) }), [None; 2]);
    }
}
