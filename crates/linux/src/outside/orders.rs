//! The orders of a guest that has only the ends of the network: two devices, one in each namespace, and one for the
//! datagrams of the clients, which leave at given times.

use forebay_agent::Orders;
use forebay_agent::orders::{CLIENTS, SERVERS, SERVERS_DESCRIPTOR};
use forebay_sim::network::{Network, Traffic};

use crate::netlink::{self, Device};
use crate::network::{self, Addressed};
use crate::qdiscs;
use crate::traffic;

/// The index of the guest's first device: it comes after `lo` and `dummy0`.
const FIRST: u32 = 3;

/// A device of the guest, by its number. Its name is that of the kernel.
fn device(number: u32, namespace: u64) -> Device {
    Device { namespace, index: FIRST + number, name: format!("eth{number}") }
}

/// Does the guest need a device for datagrams?
pub(super) fn has_datagrams(net: &Network) -> bool {
    net.flows.iter().any(|flow| matches!(flow.traffic, Traffic::Datagrams(_)))
}

/// Why the guest cannot have the flows of this network, or Forebay its links; `None` if they can.
pub fn obstacle(net: &Network) -> Option<String> {
    let linux = net.links.iter().find_map(|link| Some((&link.name, network::linux_qdisc(link)?)));
    let refused =
        |(name, words)| format!("{name}: linux:{words} is not a discipline of Forebay: run it with --link inside");
    traffic::obstacle(net).or_else(|| linux.map(refused))
}

/// The orders of a run of `net` whose links are outside of the guest.
///
/// # Errors
/// The guest cannot have this network: the text says why.
pub fn orders(net: &Network, seed: u64) -> Result<Orders, String> {
    if let Some(obstacle) = obstacle(net) {
        return Err(obstacle);
    }
    let (client, server) = (device(0, CLIENTS), device(1, CLIENTS));
    let mut messages = netlink::switch_on(&client, None).to_vec();
    messages.extend(netlink::switch_on(&server, Some(SERVERS_DESCRIPTOR)));
    let server = Device { namespace: SERVERS, ..server };
    let datagrams = has_datagrams(net).then(|| device(2, CLIENTS));
    if let Some(device) = &datagrams {
        messages.extend(netlink::switch_on(device, None));
        messages.push(qdiscs::release_at_times(device));
    }
    let addressed = Addressed::new(net);
    messages.extend(addressed.messages((&client, &server, datagrams.as_ref())));
    let plain = [Some(&client), Some(&server), datagrams.as_ref()].into_iter().flatten();
    let plain = plain.map(|device| (device.namespace, device.name.clone())).collect();
    let name = datagrams.as_ref().map_or("", |device| &device.name);
    Ok(network::common_orders(net, seed, (&addressed, name), messages, plain))
}
