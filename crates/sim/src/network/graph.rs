//! A general graph: nodes, one-way links between them, and static shortest-path routes.
//!
//! Routes are those of static routing in ns-2 (`$ns rtproto Static`) and of global routing in ns-3: they have the
//! smallest sum of weights. The default weight is 1, so that routes have the fewest links. Delays and rates have no
//! effect. Each node has one next hop per destination, which does not depend on the sender. If several paths have the
//! smallest sum, the node uses the link declared first, so that routes depend on the description only.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_aqm::base::time::Span;

use crate::network::{Attachment, HostSpec, Lane, LinkId, Network, RouteId};

/// Index into [`Graph::nodes`].
pub type NodeId = usize;

/// Nodes and links. Every node has one host.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Names of the nodes; a [`NodeId`] is an index into them.
    pub nodes: Vec<String>,
    /// Links; their order decides between equal paths.
    pub edges: Vec<Edge>,
    /// Maximum processing time of a host.
    pub jitter: Span,
    /// Typical packet length in bytes.
    pub packet: u16,
}

/// A one-way link between two nodes.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Unique name of the link.
    pub name: String,
    /// Node at which packets enter the link.
    pub from: NodeId,
    /// Node at which packets leave the link.
    pub to: NodeId,
    /// Routing weight; at least 1, so that routes have no loops.
    pub weight: u32,
    /// Rate, delay, buffer and discipline.
    pub lane: Lane,
}

impl Graph {
    /// The network, without routes and flows.
    pub fn network(&self, duration: Span, warmup: Span, sample: Span) -> Network {
        Network {
            duration,
            warmup,
            sample,
            classes: Vec::new(),
            tracks: Vec::new(),
            links: self.edges.iter().map(|edge| edge.lane.link(&edge.name, self.packet)).collect(),
            hosts: self.nodes.iter().map(|n| HostSpec { name: format!("node/{n}"), jitter: self.jitter }).collect(),
            routes: Vec::new(),
            markers: Vec::new(),
            flows: Vec::new(),
        }
    }

    /// Hosts and routes of a flow from one node to another. Adds the routes to `net` if they are missing. `None`:
    /// there is no path in one of the directions.
    pub fn attach(&self, net: &mut Network, from: NodeId, to: NodeId) -> Option<Attachment> {
        let (there, back) = (self.route(from, to)?, self.route(to, from)?);
        Some(Attachment { from, to, forward: route_id(net, there), back: route_id(net, back) })
    }

    /// The links of the shortest path; `None` if there is none or if `from` is `to`.
    pub fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        let distances = self.distances(to);
        if from == to || distances[from].is_none() {
            return None;
        }
        let (mut at, mut route) = (from, Vec::new());
        while at != to {
            let next = self.edges.iter().position(|edge| {
                let through = distances[edge.to].map(|beyond| beyond + u64::from(edge.weight));
                edge.from == at && through.is_some() && through == distances[at]
            })?;
            route.push(next);
            at = self.edges[next].to;
        }
        Some(route)
    }

    /// Distance from each node to `to`, by Dijkstra's algorithm against the links' direction; `None`: unreachable.
    fn distances(&self, to: NodeId) -> Vec<Option<u64>> {
        let mut into = vec![Vec::new(); self.nodes.len()];
        self.edges.iter().for_each(|edge| into[edge.to].push(edge));
        let mut distances = vec![None; self.nodes.len()];
        distances[to] = Some(0);
        let mut queue = BinaryHeap::from([Reverse((0, to))]);
        while let Some(Reverse((distance, node))) = queue.pop() {
            if distances[node].is_some_and(|known| distance > known) {
                continue;
            }
            for edge in &into[node] {
                let longer = distance + u64::from(edge.weight);
                if distances[edge.from].is_none_or(|known| longer < known) {
                    distances[edge.from] = Some(longer);
                    queue.push(Reverse((longer, edge.from)));
                }
            }
        }
        distances
    }
}

fn route_id(net: &mut Network, route: Vec<LinkId>) -> RouteId {
    net.routes.iter().position(|known| *known == route).unwrap_or_else(|| {
        net.routes.push(route);
        net.routes.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_aqm::base::rng::Rng;
    use forebay_aqm::base::units::{Limit, Rate};

    fn graph(nodes: usize, edges: &[(NodeId, NodeId, u32)]) -> Graph {
        let lane = Lane::plain(Rate(1_000_000), Span::ZERO, Limit::Packets(10));
        let edge = |(i, &(from, to, weight))| Edge { name: format!("e{i}"), from, to, weight, lane: lane.clone() };
        Graph {
            nodes: (0..nodes).map(|n| n.to_string()).collect(),
            edges: edges.iter().enumerate().map(edge).collect(),
            jitter: Span::ZERO,
            packet: 500,
        }
    }

    /// Distance to an unreachable node. It exceeds every real distance in the tests.
    const NOWHERE: u64 = 1 << 32;

    /// Distances by Floyd-Warshall, an independent reference.
    fn all_distances(graph: &Graph) -> Vec<Vec<u64>> {
        let n = graph.nodes.len();
        let mut d = vec![vec![NOWHERE; n]; n];
        (0..n).for_each(|i| d[i][i] = 0);
        for edge in &graph.edges {
            let direct = &mut d[edge.from][edge.to];
            *direct = (*direct).min(u64::from(edge.weight));
        }
        for via in 0..n {
            for from in 0..n {
                for to in 0..n {
                    d[from][to] = d[from][to].min(d[from][via] + d[via][to]);
                }
            }
        }
        d
    }

    #[test]
    fn routes_are_shortest_and_consistent_hop_by_hop() {
        for seed in 0..300 {
            let mut rng = Rng::stream(seed, "graph");
            let n = 2 + rng.below(9);
            let edges: Vec<_> = (0..rng.below(3 * n))
                .map(|_| (rng.below(n) as usize, rng.below(n) as usize, 1 + rng.below(4) as u32))
                .filter(|(from, to, _)| from != to)
                .collect();
            let graph = graph(n as usize, &edges);
            let distances = all_distances(&graph);
            for (from, to) in (0..n * n).map(|i| ((i / n) as usize, (i % n) as usize)).filter(|(from, to)| from != to) {
                let Some(route) = graph.route(from, to) else {
                    assert!(distances[from][to] >= NOWHERE, "seed {seed}: {from} to {to}");
                    continue;
                };
                let length: u64 = route.iter().map(|&link| u64::from(edges[link].2)).sum();
                assert_eq!(length, distances[from][to], "seed {seed}: {from} to {to}");
                assert_eq!((edges[route[0]].0, edges[*route.last().unwrap()].1), (from, to));
                assert!(route.windows(2).all(|pair| edges[pair[0]].1 == edges[pair[1]].0), "seed {seed}");
                for (i, &link) in route.iter().enumerate().skip(1) {
                    assert_eq!(graph.route(edges[link].0, to).unwrap(), route[i..], "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn shortest_path_uses_weights_and_first_declared_link() {
        let square = graph(4, &[(0, 2, 1), (0, 1, 1), (1, 3, 1), (2, 3, 1), (0, 3, 2), (0, 3, 2)]);
        assert_eq!(square.route(0, 3), Some(vec![0, 3]), "through node 2, whose link is declared first");
        let heavy = graph(3, &[(0, 2, 3), (0, 1, 1), (1, 2, 1)]);
        assert_eq!(heavy.route(0, 2), Some(vec![1, 2]));
        assert_eq!((heavy.route(2, 0), heavy.route(1, 1)), (None, None));
    }

    #[test]
    fn attaching_flows_reuses_routes_and_needs_both_directions() {
        let line = graph(3, &[(0, 1, 1), (1, 2, 1), (2, 1, 1), (1, 0, 1), (0, 2, 5)]);
        let mut net = line.network(Span::from_millis(2), Span::ZERO, Span::from_millis(1));
        let there = line.attach(&mut net, 0, 2).unwrap();
        assert_eq!(net.routes, [vec![0, 1], vec![2, 3]]);
        let back = line.attach(&mut net, 2, 0).unwrap();
        assert_eq!((back.forward, back.back), (there.back, there.forward));
        assert_eq!(net.routes.len(), 2);
        let one_way = graph(2, &[(0, 1, 1)]);
        assert_eq!(one_way.attach(&mut net, 0, 1), None);
    }
}
