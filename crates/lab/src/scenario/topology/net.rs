//! The network of a scenario as typed values: links, hosts, and their names in results. An access group is a group of
//! host pairs (sender and receiver) whose links are declared together. The receivers' links are the egress.

use forebay_aqm::base::time::Span;
use forebay_sim::network::Lane;

use super::{Dumbbell, Graph, Hosts, ParkingLot, TwoWay};

/// The network of a scenario, by its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// One bottleneck with hosts on either side.
    Dumbbell(Box<Dumbbell>),
    /// Bottlenecks in a row, with hosts at their routers.
    ParkingLot(ParkingLot),
    /// Nodes and links with shortest-path routes.
    Graph(Graph),
}

/// A link that has a discipline, with its name in results.
#[derive(Clone, Debug)]
pub struct NamedLink<'a> {
    /// Name in results.
    pub name: String,
    /// One direction of the link: rate, delay, buffer and discipline.
    pub link: &'a Lane,
    /// Whether this is the forward direction of a link.
    pub is_forward: bool,
    /// Keys and item numbers that lead to the link in the scenario file, below `topology`.
    pub(crate) path: Vec<String>,
}

/// Hosts that flows connect, as numbers in the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Host pairs of an access group (dumbbell, parking lot): flow i has pair i modulo the number of pairs.
    Pairs {
        /// Number of the access group.
        access: usize,
        /// First bottleneck on the forward path.
        enter: usize,
        /// Last bottleneck on the forward path, not before `enter`.
        leave: usize,
    },
    /// Two nodes of a graph.
    Nodes {
        /// Number of the sending node.
        from: usize,
        /// Number of the receiving node.
        to: usize,
    },
}

/// Name of the reverse direction of link `name`.
fn reverse_name(name: &str) -> String {
    format!("{name}-reverse")
}

impl Topology {
    /// All links that have a discipline, in the order of results.
    pub fn links(&self) -> Vec<NamedLink<'_>> {
        let mut out = Vec::new();
        let mut add = |name: &str, reverse: &str, path: &[&str], there, back: Option<_>| {
            let path = |more: &[&str]| path.iter().chain(more).map(|s| s.to_string()).collect();
            out.push(NamedLink { name: name.to_string(), link: there, is_forward: true, path: path(&[]) });
            if let Some(link) = back {
                let path = path(&["reverse"]);
                out.push(NamedLink { name: reverse.to_string(), link, is_forward: false, path });
            }
        };
        match self {
            Self::Dumbbell(bell) => {
                add("bottleneck", "reverse", &["bottleneck"], &bell.bottleneck.forward, Some(&bell.bottleneck.reverse));
            }
            Self::ParkingLot(lot) => {
                for (i, b) in lot.bottlenecks.iter().enumerate() {
                    let path = ["bottlenecks", &i.to_string()];
                    add(&b.name, &reverse_name(&b.name), &path, &b.link.forward, Some(&b.link.reverse));
                }
            }
            Self::Graph(graph) => {
                for (i, edge) in graph.links.iter().enumerate() {
                    let path = ["links", &i.to_string()];
                    add(&edge.name, &reverse_name(&edge.name), &path, &edge.link.forward, edge.link.reverse.as_ref());
                }
            }
        }
        out
    }

    /// The links of [`Self::links`] in the same order, mutable.
    pub(crate) fn links_mut(&mut self) -> Vec<&mut Lane> {
        match self {
            Self::Dumbbell(bell) => vec![&mut bell.bottleneck.forward, &mut bell.bottleneck.reverse],
            Self::ParkingLot(lot) => {
                lot.bottlenecks.iter_mut().flat_map(|b| [&mut b.link.forward, &mut b.link.reverse]).collect()
            }
            Self::Graph(graph) => {
                let ways =
                    graph.links.iter_mut().flat_map(|edge| [Some(&mut edge.link.forward), edge.link.reverse.as_mut()]);
                ways.flatten().collect()
            }
        }
    }

    /// The access groups; empty for a graph.
    pub fn hosts(&self) -> &[Hosts] {
        match self {
            Self::Dumbbell(bell) => &bell.hosts,
            Self::ParkingLot(lot) => &lot.hosts,
            Self::Graph(_) => &[],
        }
    }

    /// Two-way delay of the links that all flows between these ends share: the bottlenecks and the egress. `None` for a
    /// graph.
    pub(crate) fn shared_delay(&self, ends: Ends) -> Option<Span> {
        let Ends::Pairs { access, enter, leave } = ends else { return None };
        let both = |link: &TwoWay| link.forward.delay + link.reverse.delay;
        let links = match self {
            Self::Dumbbell(bell) => both(&bell.bottleneck),
            Self::ParkingLot(lot) => {
                let crossed = lot.bottlenecks[enter..=leave].iter();
                crossed.fold(Span::ZERO, |sum, b| sum + both(&b.link))
            }
            Self::Graph(_) => return None,
        };
        Some(links + self.hosts().get(access)?.egress.delay * 2)
    }

    /// Longest processing time of a packet at any host.
    pub fn jitter(&self) -> Span {
        match self {
            Self::Graph(graph) => graph.jitter,
            _ => self.hosts().iter().map(|hosts| hosts.access.jitter).max().unwrap_or(Span::ZERO),
        }
    }

    /// The links that `[compare]` applies to by default: every bottleneck, or every link under study of a graph.
    pub(crate) fn to_compare(&self) -> Vec<String> {
        let links = self.links();
        let is_default = |l: &&NamedLink<'_>| match self {
            Self::Graph(_) => l.link.study,
            _ => l.is_forward,
        };
        links.iter().filter(is_default).map(|l| l.name.clone()).collect()
    }
}
