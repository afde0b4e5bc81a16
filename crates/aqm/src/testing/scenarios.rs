//! The links and random loads under which the conformance suite runs every discipline.

use crate::base::packet::{Ack, Colour, Ecn, Hosts, Packet, Proto};
use crate::base::rng::Rng;
use crate::base::time::{Instant, Span};
use crate::base::units::{Limit, Rate};

/// A link and its load.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) rate: Rate,
    pub(super) limit: Limit,
    /// Lengths on the wire, equally likely.
    pub(super) lengths: &'static [u32],
    /// Probability that an event is an arrival.
    pub(super) load: f64,
    /// Mean time between events.
    pub(super) gap: Span,
    /// Number of events after which there are ten seconds without events.
    pub(super) silence: usize,
}

const USUAL: Scenario = Scenario {
    name: "usual",
    rate: Rate(10_000_000),
    limit: Limit::Packets(30),
    lengths: &[40, 500, 1500],
    load: 0.6,
    gap: Span::from_micros(300),
    silence: usize::MAX,
};

pub(super) const SCENARIOS: &[Scenario] = &[
    USUAL,
    Scenario { name: "light load", load: 0.4, ..USUAL },
    Scenario { name: "overload", load: 0.9, limit: Limit::Packets(10), ..USUAL },
    Scenario { name: "buffer in bytes", limit: Limit::Bytes(20_000), ..USUAL },
    Scenario { name: "buffer of nothing", limit: Limit::Packets(0), ..USUAL },
    Scenario { name: "buffer of one packet", limit: Limit::Packets(1), ..USUAL },
    Scenario { name: "only arrivals", load: 1.0, ..USUAL },
    Scenario { name: "frozen clock", gap: Span::ZERO, ..USUAL },
    Scenario { name: "silences", silence: 25, ..USUAL },
    Scenario { name: "slow link", rate: Rate(9_600), gap: Span::from_millis(400), ..USUAL },
    Scenario { name: "extreme lengths", limit: Limit::Bytes(1_000_000), lengths: &[1, 65_535], ..USUAL },
];

/// Number of flows.
pub(super) const FLOWS: u32 = 16;

/// A random packet.
pub(super) fn random_packet(rng: &mut Rng, lengths: &[u32], slot: u32) -> Packet {
    // Half of the packets belong to one flow, so that rules about long flows apply.
    let flow = (rng.below(2 * u64::from(FLOWS)) as u32).min(FLOWS - 1);
    Packet {
        arrived: Instant::ZERO,
        slot,
        len: lengths[rng.below(lengths.len() as u64) as usize],
        flow,
        pair: flow / 4,
        ecn: [Ecn::NotEct, Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][rng.below(5) as usize],
        class: if flow == 0 { 255 } else { flow as u8 },
        colour: if flow.is_multiple_of(2) { Colour::In } else { Colour::Out },
        proto: if flow.is_multiple_of(8) { Proto::Udp } else { Proto::Tcp },
        // From the numbers of packet and flow, without random numbers.
        hosts: Hosts { source: (flow % 3) as u16, destination: (flow % 5) as u16 },
        ack: if flow % 8 == 1 { Ack::pure(slot / 2).with_flags(slot & 8 != 0, false) } else { Ack::default() },
        dscp: [0, 8, 46, 34][slot as usize % 4],
    }
}
