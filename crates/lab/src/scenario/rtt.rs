//! `rtt` of `[[flows]]`: propagation delays of their own.

use forebay_aqm::base::text::{BadValue, show_span};

use super::error::InputError;
use super::net::{Ends, Topology};
use super::shape::{Key, Kind, may};
use super::table::Table;
use super::values::{Uniform, uniform};

pub(crate) const RTT: Key = may(
    "rtt",
    Kind::Uniform,
    "Two-way propagation delay of each flow, all links included: each then has a link of its own to its first router. \
     Default that of its hosts.",
);

/// Reads it: no shorter than what flows between `ends` share.
pub(crate) fn rtt(table: &Table<'_>, net: &Topology, ends: Ends) -> Result<Option<Uniform>, InputError> {
    let Some(node) = table.get("rtt") else { return Ok(None) };
    let Some(shared) = net.shared_delay(ends) else {
        let accepts = "no rtt: it belongs to topologies of kind dumbbell and parking-lot";
        return Err(table.bad("rtt", BadValue::new(accepts)));
    };
    let path = table.path_of("rtt");
    let range = uniform(node, &path)?;
    if range.lo >= shared {
        return Ok(Some(range));
    }
    let accepts = format!("at least {}, which bottleneck and egress links take both ways", show_span(shared));
    Err(node.error(path, accepts))
}
