//! Nodes and links.

use std::sync::Arc;
use std::time::Duration;

use forebay_aqm::Spec;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Limit, Rate};
use forebay_sim::delay::DelayTrace;
use forebay_sim::graph::{Edge, Graph};
use forebay_sim::loss::LossModel;
use forebay_sim::network::Lane;
use forebay_sim::schedule::{Schedule, Trace};

/// Why a network cannot be built, or a packet cannot be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetError(pub(crate) String);

impl std::fmt::Display for NetError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NetError {}

/// Converts a time of the caller.
pub(crate) fn span(time: Duration) -> Span {
    Span::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// A one-way link: a queue, a transmitter and a wire.
#[derive(Clone, Debug)]
pub struct Link {
    pub(crate) lane: Lane,
    pub(crate) disorder: Disorder,
    pub(crate) weight: u32,
}

/// What a wire does to packets besides delaying and losing them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Disorder {
    /// Probability that a packet is delayed by `by`.
    pub(crate) reordered: f64,
    pub(crate) by: Span,
    /// Probability that a packet arrives twice.
    pub(crate) duplicated: f64,
}

/// Checks that `share` is a probability.
fn probability(share: f64) -> Result<f64, NetError> {
    let refused = || NetError(format!("{share}: probabilities are from 0 to 1"));
    (0.0..=1.0).contains(&share).then_some(share).ok_or_else(refused)
}

impl Link {
    /// A link of this rate and propagation delay, with drop-tail and a buffer of 100 packets, without losses.
    pub fn new(rate: Rate, delay: Duration) -> Self {
        Self { lane: Lane::plain(rate, span(delay), Limit::Packets(100)), disorder: Disorder::default(), weight: 1 }
    }

    /// Sets the weight of the link in the choice of paths. Default: 1.
    ///
    /// # Errors
    /// The weight is 0.
    pub fn weight(mut self, weight: u32) -> Result<Self, NetError> {
        if weight == 0 {
            return Err(NetError("weight 0: weights are at least 1".to_string()));
        }
        self.weight = weight;
        Ok(self)
    }

    /// Sets the queue discipline: `NAME [preset=...] [key=value ...]`, or the arguments of tc(8), such as
    /// `fq_codel target 5ms`. ECN is on unless the text turns it off.
    ///
    /// # Errors
    /// An unknown name, key or value. The error says what is accepted.
    pub fn discipline(mut self, text: &str) -> Result<Self, NetError> {
        self.lane.discipline = Spec::parse(text).map_err(|error| NetError(format!("discipline '{text}': {error}")))?;
        Ok(self)
    }

    /// Sets the buffer, without the packet in transmission.
    #[must_use]
    pub const fn buffer(mut self, limit: Limit) -> Self {
        self.lane.limit = limit;
        self
    }

    /// Sets the random losses on the wire.
    ///
    /// # Errors
    /// A probability is not from 0 to 1.
    pub fn loss(mut self, model: LossModel) -> Result<Self, NetError> {
        if !model.is_sound() {
            return Err(NetError(format!("{model:?}: probabilities are from 0 to 1")));
        }
        self.lane.conditions.loss = Some(model);
        Ok(self)
    }

    /// Delays each packet with probability `share` by `by` in addition, so that later packets overtake it.
    ///
    /// # Errors
    /// The probability is not from 0 to 1.
    pub fn reorder(mut self, share: f64, by: Duration) -> Result<Self, NetError> {
        (self.disorder.reordered, self.disorder.by) = (probability(share)?, span(by));
        Ok(self)
    }

    /// Delivers each packet with probability `share` twice. The copies arrive at the same time.
    ///
    /// # Errors
    /// The probability is not from 0 to 1.
    pub fn duplicate(mut self, share: f64) -> Result<Self, NetError> {
        self.disorder.duplicated = probability(share)?;
        Ok(self)
    }

    /// Adds a random delay to each packet, uniform from 0 to `most`. Packets keep their order.
    #[must_use]
    pub fn jitter(mut self, most: Duration) -> Self {
        self.lane.conditions.delay.jitter = span(most);
        self
    }

    /// Changes the propagation delay at these times since the start. The times increase. Packets keep their order.
    ///
    /// # Errors
    /// There are no times, or they do not increase.
    pub fn delays(mut self, steps: &[(Duration, Duration)]) -> Result<Self, NetError> {
        let steps = steps.iter().map(|(at, delay)| (Instant::ZERO + span(*at), span(*delay))).collect();
        let wrong = |step: usize| NetError(format!("step {} of the delays: the times must increase", step + 1));
        self.lane.conditions.delay.trace = Some(Arc::new(DelayTrace::new(steps).map_err(wrong)?));
        Ok(self)
    }

    /// Changes the rate at these times since the start. The first is 0 s, and they increase. At a rate of 0 the link is
    /// down: packets wait. Disciplines that know the rate of their link see that of [`Link::new`].
    ///
    /// # Errors
    /// The first time is not 0, or the times do not increase.
    pub fn rates(mut self, steps: &[(Duration, Rate)]) -> Result<Self, NetError> {
        let steps = steps.iter().map(|(at, rate)| (Instant::ZERO + span(*at), *rate)).collect();
        let steps = Schedule::steps(steps).map_err(|bad| {
            NetError(format!("step {} of the rates: found {}, accepted is {}", bad.line, bad.found, bad.accepts))
        })?;
        self.lane.conditions.schedule = Some(Arc::new(steps));
        Ok(self)
    }

    /// Sends packets at the times of a delivery trace of mahimahi's mm-link(1), given as the content of its file.
    ///
    /// # Errors
    /// A line of the trace is invalid.
    pub fn trace(mut self, text: &str) -> Result<Self, NetError> {
        let trace = Trace::parse(text).map_err(|bad| {
            NetError(format!("line {} of the trace: found {}, accepted is {}", bad.line, bad.found, bad.accepts))
        })?;
        self.lane.conditions.schedule = Some(Arc::new(Schedule::Trace(trace)));
        Ok(self)
    }
}

/// Nodes and the links between them. Packets take the path with the smallest sum of weights; of several, the one whose
/// first link was declared first.
#[derive(Clone, Debug)]
pub struct Topology {
    pub(crate) graph: Graph,
    /// For each edge of the graph.
    pub(crate) disorder: Vec<Disorder>,
    pub(crate) overhead: u32,
}

impl Default for Topology {
    fn default() -> Self {
        Self::new()
    }
}

impl Topology {
    /// Without nodes.
    pub const fn new() -> Self {
        let graph = Graph { nodes: Vec::new(), edges: Vec::new(), jitter: Span::ZERO, packet: 1500 };
        Self { graph, disorder: Vec::new(), overhead: 28 }
    }

    /// Two nodes, `a` and `b`, with a link from `a` to `b` and one back.
    ///
    /// # Errors
    /// A link has a rate of 0.
    pub fn path(there: Link, back: Link) -> Result<Self, NetError> {
        let mut topology = Self::new();
        topology.link("a", "b", there)?;
        topology.link("b", "a", back)?;
        Ok(topology)
    }

    /// Adds a link between two nodes in one direction, and the nodes if they are new. Its name is `FROM-TO`.
    ///
    /// # Errors
    /// The nodes are the same, there is such a link already, or its rate is 0.
    pub fn link(&mut self, from: &str, to: &str, link: Link) -> Result<(), NetError> {
        if from == to {
            return Err(NetError(format!("a link from '{from}' to itself")));
        }
        if self.graph.edges.iter().any(|edge| edge.name == name(from, to)) {
            return Err(NetError(format!("there are two links from '{from}' to '{to}'")));
        }
        if link.lane.rate.0 == 0 {
            return Err(NetError(format!("the link from '{from}' to '{to}' has a rate of 0; Link::rates can stop it")));
        }
        let [a, b] = [from, to].map(|node| self.node_or_new(node));
        self.graph.edges.push(Edge { name: name(from, to), from: a, to: b, weight: link.weight, lane: link.lane });
        self.disorder.push(link.disorder);
        Ok(())
    }

    /// Sets the bytes that the network adds to each payload: by default 28, the headers of IPv4 and UDP. 0 if payloads are
    /// IP packets.
    #[must_use]
    pub const fn overhead(mut self, bytes: u32) -> Self {
        self.overhead = bytes;
        self
    }

    fn node_or_new(&mut self, name: &str) -> usize {
        self.node(name).unwrap_or_else(|| {
            self.graph.nodes.push(name.to_string());
            self.graph.nodes.len() - 1
        })
    }

    pub(crate) fn node(&self, name: &str) -> Option<usize> {
        self.graph.nodes.iter().position(|node| node == name)
    }
}

fn name(from: &str, to: &str) -> String {
    format!("{from}-{to}")
}
