//! The description of a network with two hosts, a link in each direction, and one flow.

use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::network::{FlowSpec, HostSpec, LinkSpec, Network, Traffic};

/// Two hosts, a link in each direction (`links`), and a flow from time 0; `times`: warm-up and duration.
pub(crate) fn pair(links: Vec<LinkSpec>, traffic: Traffic, packet: u16, [warmup, duration]: [Span; 2]) -> Network {
    let host = |name: &str| HostSpec { name: name.to_string(), jitter: Span::ZERO };
    let flow = FlowSpec {
        group: 0,
        name: "flow".to_string(),
        from: 0,
        to: 1,
        forward: 0,
        back: 1,
        start: Instant::ZERO,
        stop: None,
        ecn: traffic.codepoint(),
        traffic,
        packet,
        class: 0,
        dscp: 0,
        bundle: 0,
        pair: 0,
        marker: None,
    };
    Network {
        duration,
        warmup,
        sample: duration,
        classes: Vec::new(),
        tracks: Vec::new(),
        links,
        hosts: vec![host("a"), host("b")],
        routes: vec![vec![0], vec![1]],
        markers: vec![],
        flows: vec![flow],
    }
}
