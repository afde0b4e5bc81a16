//! The dumbbell: hosts, access links, one bottleneck in each direction, egress links. It is a [`ParkingLot`] with one
//! bottleneck.
//!
//! ```text
//! client h --access h--> R1 ==bottleneck==> R2 --egress h--> server h
//! client h <--access h-- R1 <===reverse==== R2 <--egress h-- server h
//! ```

use forebay_aqm::Spec;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Limit, Rate};

use forebay_sim::network::{Attachment, Lane, Network};
use forebay_sim::parking_lot::{Bottleneck, Crossing, Direction, ParkingLot};

/// Parameters of a dumbbell.
#[derive(Clone, Debug)]
pub(crate) struct Dumbbell {
    /// Bottleneck rate in both directions.
    pub(crate) rate: Rate,
    /// Propagation delay of the bottleneck, per direction.
    pub(crate) delay: Span,
    /// Bottleneck buffer.
    pub(crate) limit: Limit,
    /// The discipline under study, at the bottleneck.
    pub(crate) discipline: Spec,
    /// Buffer of the reverse bottleneck.
    pub(crate) reverse_limit: Limit,
    /// Discipline of the reverse bottleneck.
    pub(crate) reverse_discipline: Spec,
    /// Number of hosts on each side.
    pub(crate) hosts: usize,
    /// Rate of the client links.
    pub(crate) access_rate: Rate,
    /// Delay of client link h: `access_delays[h mod n]`.
    pub(crate) access_delays: Vec<Span>,
    /// Buffer of the client and server links.
    pub(crate) access_limit: Limit,
    /// Maximum processing time of a host.
    pub(crate) jitter: Span,
    /// Rate of the server links.
    pub(crate) egress_rate: Rate,
    /// Delay of the server links.
    pub(crate) egress_delay: Span,
    /// Typical packet length in bytes.
    pub(crate) packet: u16,
}

impl Dumbbell {
    /// The network, without flows.
    pub(crate) fn network(&self, duration: Span, warmup: Span, sample: Span) -> Network {
        self.lot().network(duration, warmup, sample)
    }

    /// Hosts and routes of flow number `i`: host pair `i mod hosts`.
    pub(crate) fn attach(&self, i: usize, direction: Direction) -> Attachment {
        self.lot().attach(0, i, direction)
    }

    /// The dumbbell as a parking lot with one bottleneck.
    pub(crate) fn lot(&self) -> ParkingLot {
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
