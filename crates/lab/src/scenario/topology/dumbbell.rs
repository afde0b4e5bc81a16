//! `kind = "dumbbell"`: a network with one bottleneck between senders and receivers.

use super::link::TwoWay;
use super::sides::{EGRESS, HOSTS, Hosts};
use crate::declare::{Section, section, table};

table! {
    /// One bottleneck with hosts on either side.
    pub struct Dumbbell {
        /// The bottleneck; its results are recorded.
        bottleneck: TwoWay = BOTTLENECK;
        /// The senders' links, or a list of groups, each with a name.
        hosts as "access": Vec<Hosts> = HOSTS;
        + EGRESS;
    }
}

const BOTTLENECK: Section<TwoWay> = section("a table with rate, delay and queue");
