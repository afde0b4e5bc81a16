//! The network of the examples.

use std::time::Duration;

use forebay_net::{Endpoint, Link, Net, Rate, Topology};

/// 10 Mbit/s and 20 ms each way between the nodes `a` and `b`, with CoDel in both directions; a connection
/// between them.
pub(crate) fn path() -> (Net, Endpoint, Endpoint) {
    let link = || Link::new(Rate(10_000_000), Duration::from_millis(20)).discipline("codel").unwrap();
    let mut net = Net::new(&Topology::path(link(), link()).unwrap(), 1);
    let (a, b) = net.connect("a", "b").unwrap();
    (net, a, b)
}

/// At most `left` bytes to send.
#[allow(dead_code, reason = "WebRTC sends frames")]
pub(crate) fn data(left: usize) -> &'static [u8] {
    &[7; 16_384][..left.min(16_384)]
}
