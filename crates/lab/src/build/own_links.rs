//! Flows with an `rtt` (two-way propagation delay): each has separate links on the senders' side, whose delay is `rtt`
//! less the delay of the links that it shares with other flows.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Span;
use forebay_sim::network::{Attachment, Network};

use crate::build::layout::Layout;
use crate::scenario::{FlowGroup, Rtt, Topology};

/// Separate links of each flow of a group with an `rtt`. They are built once, even if a flow starts several times.
pub(crate) struct OwnLinks<'a> {
    group: &'a FlowGroup,
    rtt: &'a Rtt,
    shared: Span,
    /// Hosts and routes of the flows so far, by the number of the flow in its group.
    laid: Vec<Attachment>,
    rng: Rng,
}

impl<'a> OwnLinks<'a> {
    /// Starts without links. `None` if the flows use the links of their hosts: the group has no `rtt`, or the network
    /// is a graph.
    pub(crate) fn new(group: &'a FlowGroup, net: &Topology, seed: u64) -> Option<Self> {
        let rng = Rng::stream(seed, &format!("group/{}/rtt", group.name));
        let shared = net.shared_delay(group.ends)?;
        Some(Self { group, rtt: group.rtt.as_ref()?, shared, laid: Vec::new(), rng })
    }

    /// Hosts and routes of flow number `i`: those of `at`, but with the flow's separate links. A flow that starts again
    /// reuses its links.
    pub(crate) fn attach(&mut self, net: &mut Network, layout: &Layout, i: usize, at: Attachment) -> Attachment {
        // Flows of a group come in ascending order.
        while self.laid.len() <= i {
            let rest = self.rtt.draw(&mut self.rng) - self.shared;
            let there = Span::from_nanos(rest.nanos() / 2);
            let name = format!("{}/{}", self.group.name, self.laid.len());
            self.laid.push(layout.apart(net, at, self.group.direction, &name, (there, rest - there)));
        }
        self.laid[i]
    }
}
