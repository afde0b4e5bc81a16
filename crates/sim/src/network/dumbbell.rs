//! The dumbbell: hosts, access links, one bottleneck each way, egress links. What is more general than these figures
//! is a [`ParkingLot`] of one bottleneck.
//!
//! ```text
//! client h --access h--> R1 ==bottleneck==> R2 --egress h--> server h
//! client h <--access h-- R1 <===reverse==== R2 <--egress h-- server h
//! ```

use forebay_aqm::Spec;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Limit, Rate};

use crate::network::parking_lot::{Bottleneck, Crossing, ParkingLot};
use crate::network::{Attachment, Lane, Network};

pub use crate::network::parking_lot::Direction;

/// Shape and figures of a dumbbell.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// Bottleneck rate, both ways.
    pub rate: Rate,
    /// Bottleneck delay, each way.
    pub delay: Span,
    /// Bottleneck buffer.
    pub limit: Limit,
    /// The discipline under study.
    pub discipline: Spec,
    /// Buffer of the reverse bottleneck.
    pub reverse_limit: Limit,
    /// Discipline of the reverse bottleneck.
    pub reverse_discipline: Spec,
    /// Hosts on each side.
    pub hosts: usize,
    /// Rate of the client links.
    pub access_rate: Rate,
    /// Delay of client link h: `access_delays[h mod n]`.
    pub access_delays: Vec<Span>,
    /// Buffer of the client and server links.
    pub access_limit: Limit,
    /// Largest processing time of a host.
    pub jitter: Span,
    /// Rate of the server links.
    pub egress_rate: Rate,
    /// Delay of the server links.
    pub egress_delay: Span,
    /// Typical packet.
    pub packet: u16,
}

impl Dumbbell {
    /// The network, without flows.
    pub fn network(&self, duration: Span, warmup: Span, sample: Span) -> Network {
        self.lot().network(duration, warmup, sample)
    }

    /// Where flow number `i` goes: host pair `i mod hosts`.
    pub fn attach(&self, i: usize, direction: Direction) -> Attachment {
        self.lot().attach(0, i, direction)
    }

    /// The same as a parking lot of one bottleneck.
    pub fn lot(&self) -> ParkingLot {
        let lane = |limit, discipline: &Spec, study| Lane {
            discipline: discipline.clone(),
            study,
            ..Lane::plain(self.rate, self.delay, limit)
        };
        let bottleneck = Bottleneck {
            name: "bottleneck".to_string(),
            reverse_name: "reverse".to_string(),
            forward: lane(self.limit, &self.discipline, true),
            reverse: lane(self.reverse_limit, &self.reverse_discipline, false),
        };
        let crossing = Crossing {
            name: String::new(),
            enter: 0,
            leave: 0,
            hosts: self.hosts,
            built: self.hosts,
            jitter: self.jitter,
            delays: self.access_delays.clone(),
            access: Lane::plain(self.access_rate, Span::ZERO, self.access_limit),
            egress: Lane::plain(self.egress_rate, self.egress_delay, self.access_limit),
        };
        ParkingLot { bottlenecks: vec![bottleneck], crossings: vec![crossing], packet: self.packet }
    }
}
