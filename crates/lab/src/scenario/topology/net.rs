//! The network of a scenario as typed values: links, hosts, and their names in results.

use forebay_aqm::base::time::Span;
use forebay_sim::network::Lane;

use super::sides::{Access, Egress};

/// The network.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// One bottleneck with hosts on either side.
    Dumbbell(Box<Dumbbell>),
    /// Bottlenecks in a row, with hosts at their routers.
    ParkingLot(ParkingLot),
    /// Nodes and links with shortest-path routes.
    Graph(Graph),
}

/// Access links, one bottleneck, egress links.
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// From senders to receivers.
    pub bottleneck: Lane,
    /// The reverse direction (`bottleneck.reverse` in the file).
    pub reverse: Lane,
    /// Groups of senders; at least one.
    pub access: Vec<Access>,
    /// Receivers' links by access group; one link per host.
    pub egress: Vec<Egress>,
}

/// Access links, bottlenecks in a row, egress links.
#[derive(Clone, Debug, PartialEq)]
pub struct ParkingLot {
    /// The bottlenecks in order; at least one.
    pub bottlenecks: Vec<Bottleneck>,
    /// Groups of senders; at least one. Each span of bottlenecks that flows of a group cross has its own
    /// hosts.
    pub access: Vec<Access>,
    /// Receivers' links by access group; one link per host.
    pub egress: Vec<Egress>,
}

/// A bottleneck of a parking lot.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// Unique name.
    pub name: String,
    /// From senders to receivers.
    pub forward: Lane,
    /// The reverse direction.
    pub reverse: Lane,
}

/// Nodes and links. Every node is a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Names of the nodes; at least two.
    pub nodes: Vec<String>,
    /// The links; at least one. Between routes of equal cost, the link that comes first decides.
    pub links: Vec<Edge>,
    /// Longest processing time of a sent packet; uniform from 0 to this.
    pub jitter: Span,
}

/// A link of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Unique name.
    pub name: String,
    /// Number of the node where it begins.
    pub from: usize,
    /// Number of the node where it ends.
    pub to: usize,
    /// Routing cost in either direction.
    pub weight: u32,
    /// The direction from `from` to `to`.
    pub link: Lane,
    /// The reverse direction; `None` if the link is one-way.
    pub reverse: Option<Lane>,
}

/// A link that has a discipline, with its name in results.
#[derive(Clone, Debug)]
pub struct NamedLink<'a> {
    /// Name in results.
    pub name: String,
    /// The link.
    pub link: &'a Lane,
    /// Whether this is the forward direction of a link.
    pub is_forward: bool,
    /// Keys and item numbers that lead to it in the file, below `topology`.
    pub(crate) path: Vec<String>,
}

/// Hosts that flows connect, as numbers in the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Host pairs of an access group (dumbbell, parking lot): flow i has pair i mod hosts.
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

    /// The links of [`Self::links`] in the same order, mutable.
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

    /// The groups of senders; empty for a graph.
    pub fn access(&self) -> &[Access] {
        match self {
            Self::Dumbbell(bell) => &bell.access,
            Self::ParkingLot(lot) => &lot.access,
            Self::Graph(_) => &[],
        }
    }

    /// Two-way delay of the links that all flows between these ends share: bottlenecks and egress. `None` for
    /// a graph.
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

    /// The receivers' links by access group; empty for a graph.
    pub fn egress(&self) -> &[Egress] {
        match self {
            Self::Dumbbell(bell) => &bell.egress,
            Self::ParkingLot(lot) => &lot.egress,
            Self::Graph(_) => &[],
        }
    }

    /// Longest processing time of a packet at any host.
    pub fn jitter(&self) -> Span {
        match self {
            Self::Graph(graph) => graph.jitter,
            _ => self.access().iter().map(|access| access.jitter).max().unwrap_or(Span::ZERO),
        }
    }

    /// The links that `compare` applies to by default: every bottleneck, or every link under study of a graph.
    pub(crate) fn to_compare(&self) -> Vec<String> {
        let links = self.links();
        let is_default = |l: &&NamedLink<'_>| match self {
            Self::Graph(_) => l.link.study,
            _ => l.is_forward,
        };
        links.iter().filter(is_default).map(|l| l.name.clone()).collect()
    }
}
