//! Scenario files. A scenario is one experiment in TOML. This module defines its typed values and writes its canonical
//! text. The module `load` reads the files.

pub(crate) mod cases;
mod flows;
pub(crate) mod own_figures;
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
pub use topology::{
    Access, Bottleneck, Dumbbell, Edge, Egress, Ends, Graph, Hosts, NamedLink, ParkingLot, Topology, TwoWay, Vertex,
};

/// One combination of the values of the axes, the keys that `[vary]` of a scenario file varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name and value of each axis, in file order; empty without `[vary]`.
    pub axes: Vec<(String, String)>,
    /// The experiment with these values.
    pub scenario: Scenario,
}
