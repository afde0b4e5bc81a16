//! Scenario files: one experiment in TOML, typed, and written back in canonical form. The module `load` reads them.

pub(crate) mod cases;
mod flows;
pub(crate) mod read;
mod topology;

pub use crate::declare::Uniform;
pub use crate::document::Overrides;
pub(crate) use crate::document::{Node, Value};
pub use crate::input::{Fault, Found, InputError};
pub use crate::traces::{Item, Recorded};
pub use flows::*;
pub use forebay_sim::network::Lane;
pub use forebay_sim::tcp::{TcpOptions, Variant as TcpVariant};
pub use read::{Contender, Overlay, Report, Scenario, schema};
pub(crate) use topology::topology_kinds;
pub use topology::{Access, Bottleneck, Dumbbell, Edge, Egress, Ends, Graph, NamedLink, ParkingLot, Topology};

/// One point of the product of the axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Each axis and its value here, in file order; empty without `[vary]`.
    pub axes: Vec<(String, String)>,
    /// The experiment.
    pub scenario: Scenario,
}
