//! `kind = "parking-lot"`: a network with bottlenecks in a row.

use super::link::TwoWay;
use super::sides::{EGRESS, HOSTS, Hosts};
use crate::declare::{NAME, Sections, sections, table};

table! {
    /// Bottlenecks in a row, with hosts at their routers; flows choose where they enter and leave.
    pub struct ParkingLot {
        /// The bottlenecks, in the order in which forward packets cross them.
        bottlenecks: Vec<Bottleneck> = BOTTLENECKS;
        /// The senders' links, or a list of groups, each with a name.
        hosts as "access": Vec<Hosts> = HOSTS;
        + EGRESS;
    }
}

table! {
    /// A bottleneck of a parking lot.
    pub struct Bottleneck {
        /// Name; default b1, b2, ...
        name: String = NAME, or_else |table| Ok(format!("b{}", table.setting.index + 1));
        /// The keys of the link.
        ..link: TwoWay;
    }
}

/// Largest number of bottlenecks. A route through all of them and two host links has 255 links, the most that the
/// simulator supports.
const MAX_BOTTLENECKS: usize = 253;

const BOTTLENECKS: Sections<Bottleneck> = sections(MAX_BOTTLENECKS, "A bottleneck.");
