//! The network of a scenario, typed: links, hosts, and the names that results call them by.

use forebay_aqm::base::time::Span;
use forebay_sim::network::Lane;

use super::sides::{Access, Egress};

/// The network.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// Hosts on either side of one bottleneck.
    Dumbbell(Box<Dumbbell>),
    /// Bottlenecks in a row, and hosts at the routers between them.
    ParkingLot(ParkingLot),
    /// Nodes and links with shortest-path routes.
    Graph(Graph),
}

/// Access links, one bottleneck, egress links.
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// Towards the receivers.
    pub bottleneck: Lane,
    /// The other direction (`bottleneck.reverse` in the file).
    pub reverse: Lane,
    /// The senders' side, by groups of hosts; at least one.
    pub access: Vec<Access>,
    /// The receivers' side, by access group: one link per host.
    pub egress: Vec<Egress>,
}

/// Access links, bottlenecks in a row, egress links.
#[derive(Clone, Debug, PartialEq)]
pub struct ParkingLot {
    /// The bottlenecks in their order; at least one.
    pub bottlenecks: Vec<Bottleneck>,
    /// The senders' side, by groups of hosts; at least one. Each span of bottlenecks that flows of a group cross has
    /// hosts of its own.
    pub access: Vec<Access>,
    /// The receivers' side, by access group: one link per host.
    pub egress: Vec<Egress>,
}

/// One of several bottlenecks.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// Unique.
    pub name: String,
    /// Towards the receivers.
    pub forward: Lane,
    /// The other direction.
    pub reverse: Lane,
}

/// Nodes and links. Every node is a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Their names; at least two.
    pub nodes: Vec<String>,
    /// The links, in the order that decides between equal routes; at least one.
    pub links: Vec<Edge>,
    /// Each packet sent takes a random processing time from 0 to this.
    pub jitter: Span,
}

/// A link of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Unique.
    pub name: String,
    /// The node where it begins.
    pub from: usize,
    /// The node where it ends.
    pub to: usize,
    /// What it costs a route, either way.
    pub weight: u32,
    /// From the one to the other.
    pub link: Lane,
    /// The other direction; `None` if it is one-way.
    pub reverse: Option<Lane>,
}

/// A link that has a discipline, by the name that results give it.
#[derive(Clone, Debug)]
pub struct NamedLink<'a> {
    /// Its name.
    pub name: String,
    /// What it is.
    pub link: &'a Lane,
    /// Is it the way there, rather than the reverse of another?
    pub is_forward: bool,
    /// Where it stands in the file, below `topology`, by keys and numbers of items.
    pub(crate) path: Vec<String>,
}

/// Between whom flows go, by numbers of the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The pairs of hosts of an access group (dumbbell, parking lot): flow i has pair i mod hosts.
    Pairs {
        /// The group.
        access: usize,
        /// The first bottleneck on the way there.
        enter: usize,
        /// The last bottleneck on the way there, not before the first.
        leave: usize,
    },
    /// Two nodes of a graph.
    Nodes {
        /// One.
        from: usize,
        /// The other.
        to: usize,
    },
}

/// What the reverse of the link `name` is called.
fn reverse_name(name: &str) -> String {
    format!("{name}-reverse")
}

impl Topology {
    /// Every link that has a discipline, in the order of results.
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
                add("bottleneck", "reverse", &["bottleneck"], &bell.bottleneck, Some(&bell.reverse));
            }
            Self::ParkingLot(lot) => {
                for (i, b) in lot.bottlenecks.iter().enumerate() {
                    let path = ["bottlenecks", &i.to_string()];
                    add(&b.name, &reverse_name(&b.name), &path, &b.forward, Some(&b.reverse));
                }
            }
            Self::Graph(graph) => {
                for (i, edge) in graph.links.iter().enumerate() {
                    let path = ["links", &i.to_string()];
                    add(&edge.name, &reverse_name(&edge.name), &path, &edge.link, edge.reverse.as_ref());
                }
            }
        }
        out
    }

    /// The links of [`Self::links`] in the same order, to be changed.
    pub(crate) fn links_mut(&mut self) -> Vec<&mut Lane> {
        match self {
            Self::Dumbbell(bell) => vec![&mut bell.bottleneck, &mut bell.reverse],
            Self::ParkingLot(lot) => {
                lot.bottlenecks.iter_mut().flat_map(|b| [&mut b.forward, &mut b.reverse]).collect()
            }
            Self::Graph(graph) => {
                let ways = graph.links.iter_mut().flat_map(|edge| [Some(&mut edge.link), edge.reverse.as_mut()]);
                ways.flatten().collect()
            }
        }
    }

    /// The groups of hosts; a graph has none.
    pub fn access(&self) -> &[Access] {
        match self {
            Self::Dumbbell(bell) => &bell.access,
            Self::ParkingLot(lot) => &lot.access,
            Self::Graph(_) => &[],
        }
    }

    /// What the links that all flows between these ends share take, there and back: bottlenecks and egress. A graph has
    /// no such links.
    pub(crate) fn shared_delay(&self, ends: Ends) -> Option<Span> {
        let Ends::Pairs { access, enter, leave } = ends else { return None };
        let both = |there: &Lane, back: &Lane| there.delay + back.delay;
        let links = match self {
            Self::Dumbbell(bell) => both(&bell.bottleneck, &bell.reverse),
            Self::ParkingLot(lot) => {
                let crossed = lot.bottlenecks[enter..=leave].iter();
                crossed.fold(Span::ZERO, |sum, b| sum + both(&b.forward, &b.reverse))
            }
            Self::Graph(_) => return None,
        };
        Some(links + self.egress().get(access)?.delay * 2)
    }

    /// The receivers' links, by groups of hosts; a graph has none.
    pub fn egress(&self) -> &[Egress] {
        match self {
            Self::Dumbbell(bell) => &bell.egress,
            Self::ParkingLot(lot) => &lot.egress,
            Self::Graph(_) => &[],
        }
    }

    /// The longest processing time of any host.
    pub fn jitter(&self) -> Span {
        match self {
            Self::Graph(graph) => graph.jitter,
            _ => self.access().iter().map(|access| access.jitter).max().unwrap_or(Span::ZERO),
        }
    }

    /// The links that `compare` is about unless it says otherwise: every bottleneck, or the links of a graph that are
    /// under study.
    pub(crate) fn to_compare(&self) -> Vec<String> {
        let links = self.links();
        let is_default = |l: &&NamedLink<'_>| match self {
            Self::Graph(_) => l.link.study,
            _ => l.is_forward,
        };
        links.iter().filter(is_default).map(|l| l.name.clone()).collect()
    }
}
