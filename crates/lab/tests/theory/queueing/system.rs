//! The queueing systems (M/M/1/K, M/D/1, M/D/1/K, D/D/1): formulas and simulation of each.

use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Limit, Rate};
use forebay_sim::network::{Lane, LinkSpec, Network, Traffic};
use forebay_sim::outcome::Outcome;
use forebay_sim::source::{Pattern, Sizes};
use forebay_sim::world::World;
use forebay_theory::queues::{Steady, dd1, md1, mm1};
use rayon::prelude::*;

use crate::theory::pair::pair;

/// Mean packet. Exponential lengths in whole bytes have a squared coefficient of variation of 1 - 1/4000, which
/// shortens a queue by 0.0125 %; less than one in a million exceeds 65,535 bytes.
const PACKET: u16 = 4000;
/// 4000 bytes take one millisecond, and a byte a whole number of nanoseconds.
const RATE: Rate = Rate(32_000_000);
const SERVICE: Span = Span::from_millis(1);
/// Buffer of a system without losses: more packets than ever wait.
const PLENTY: usize = 1_000_000;
/// States rarer than this, and those above, count as one: a t interval needs more visits.
const RARE: f64 = 1e-3;

/// Arrivals and service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Poisson arrivals, exponential lengths.
    Mm,
    /// Poisson arrivals, constant lengths.
    Md,
    /// Even arrivals, constant lengths.
    Dd,
}

/// A system at one load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct System {
    pub(crate) kind: Kind,
    pub(crate) rho: f64,
    /// K: largest number of packets in the system, the one in transmission included; `None`: unlimited.
    pub(crate) room: Option<usize>,
    /// Length of a run in service times; the first tenth is discarded.
    pub(crate) services: u64,
}

/// The compared quantities, by theory or of one run. Times in service times; queues without the packet in
/// transmission.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) queue: f64,
    pub(crate) wait: f64,
    pub(crate) busy: f64,
    pub(crate) loss: f64,
    /// Share of the time at each queue length.
    pub(crate) shares: Vec<f64>,
}

impl System {
    /// `M/D/1/8`.
    pub(crate) fn name(&self) -> String {
        let letters = match self.kind {
            Kind::Mm => "M/M/1",
            Kind::Md => "M/D/1",
            Kind::Dd => "D/D/1",
        };
        self.room.map_or(letters.to_string(), |room| format!("{letters}/{room}"))
    }

    /// The quantities by theory; D/D/1 has no distribution.
    pub(crate) fn exact(&self) -> Figures {
        let rho = self.rho;
        match (self.kind, self.room) {
            (Kind::Mm, room) => of_steady(&mm1::finite(rho, room.unwrap_or(PLENTY))),
            (Kind::Md, Some(room)) => of_steady(&md1::finite(rho, room)),
            (Kind::Md, None) => {
                let in_system = md1::unlimited(rho, 400);
                let mut shares = vec![in_system[0] + in_system[1]];
                shares.extend_from_slice(&in_system[2..]);
                let queue = md1::mean_waiting(rho);
                Figures { queue, wait: queue / rho, busy: rho, loss: 0.0, shares }
            }
            (Kind::Dd, room) => {
                let room = room.unwrap_or(PLENTY);
                let (queue, loss) = (dd1::mean_waiting(rho, room), dd1::loss(rho, room));
                let carried = rho * (1.0 - loss);
                Figures { queue, wait: queue / carried, busy: carried, loss, shares: Vec::new() }
            }
        }
    }

    /// The queue lengths at which the distribution function is compared: all but the last and rare ones.
    pub(crate) fn states(exact: &Figures) -> usize {
        let mut beyond = 1.0;
        let common = exact.shares.iter().take_while(|share| {
            beyond -= **share;
            beyond > RARE
        });
        common.count()
    }

    /// One link between two hosts, with drop-tail computed directly or as a discipline.
    pub(crate) fn network(&self, managed: bool) -> Network {
        let every = Span::from_secs(SERVICE.secs() / self.rho);
        let pattern = match self.kind {
            Kind::Mm => Pattern::Poisson { every, sizes: Sizes::Exponential },
            Kind::Md => Pattern::Poisson { every, sizes: Sizes::Constant },
            Kind::Dd => Pattern::Constant { every },
        };
        let duration = SERVICE * self.services;
        let limit = Limit::Packets(self.room.unwrap_or(PLENTY) as u32 - 1);
        let link = |name: &str, study| {
            let lane = Lane { study, ..Lane::plain(RATE, Span::from_millis(1), limit) };
            LinkSpec { fast_path: !managed, ..lane.link(name, PACKET) }
        };
        let links = vec![link("there", true), link("back", false)];
        pair(links, Traffic::Datagrams(pattern), PACKET, [SERVICE * (self.services / 10), duration])
    }

    /// The quantities for the seeds 1 to `seeds`.
    pub(crate) fn measured(&self, seeds: u64) -> Vec<Figures> {
        let net = self.network(false);
        (1..=seeds).into_par_iter().map(|seed| of_run(&run(&net, seed))).collect()
    }
}

pub(crate) fn run(net: &Network, seed: u64) -> Outcome {
    World::new(net, seed).unwrap().run(&mut ()).unwrap()
}

fn of_steady(steady: &Steady) -> Figures {
    Figures {
        queue: steady.mean_waiting(),
        wait: steady.mean_wait(),
        busy: steady.busy(),
        loss: steady.loss(),
        shares: steady.waiting_shares(),
    }
}

fn of_run(outcome: &Outcome) -> Figures {
    let link = &outcome.links[0];
    Figures {
        queue: link.queue_pkts.mean,
        wait: link.sojourn_s.map_or(0.0, |s| s.mean) / SERVICE.secs(),
        busy: link.utilisation,
        loss: link.dropped_overflow as f64 / link.offered_pkts as f64,
        shares: link.queue_shares.clone(),
    }
}
