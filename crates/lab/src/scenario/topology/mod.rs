//! `[topology]`: the network. Each kind of network is a table in one file.

mod access_networks;
mod dumbbell;
mod graph;
mod link;
mod net;
mod parking_lot;
mod sides;
mod wire;

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::declare::{self, Form, Keys, Table, names, schema};
use crate::document::{Node, Text};
use crate::input::{Found, InputError};

pub use dumbbell::Dumbbell;
pub use graph::{Edge, Graph, Vertex};
pub use link::TwoWay;
pub use net::{Ends, NamedLink, Topology};
pub use parking_lot::{Bottleneck, ParkingLot};
pub use sides::{Access, Egress, Hosts};

/// Largest number of nodes of a graph, of links of a graph, and of groups of hosts.
const MAX_NODES: usize = 10_000;

/// A kind of network.
struct Kind {
    word: &'static str,
    doc: &'static str,
    keys: fn() -> Vec<declare::Key>,
    read: fn(&Table<'_>) -> Result<Topology, InputError>,
}

static KINDS: [Kind; 3] = [
    Kind {
        word: "dumbbell",
        doc: Dumbbell::DOC,
        keys: Dumbbell::keys,
        read: |table| Ok(Topology::Dumbbell(Box::new(Dumbbell::read(table)?))),
    },
    Kind {
        word: "parking-lot",
        doc: ParkingLot::DOC,
        keys: ParkingLot::keys,
        read: |table| ParkingLot::read(table).map(Topology::ParkingLot),
    },
    Kind { word: "graph", doc: Graph::DOC, keys: Graph::keys, read: |table| Graph::read(table).map(Topology::Graph) },
];

/// All kinds of network.
pub(crate) fn topology_kinds() -> Vec<declare::Kind> {
    KINDS.iter().map(|kind| declare::Kind { word: kind.word, doc: kind.doc, keys: (kind.keys)() }).collect()
}

/// The table `[topology]`.
pub(super) struct TopologyTable;

impl Form for TopologyTable {
    type Value = Topology;
    fn schema(&self) -> Json {
        schema::one_of(topology_kinds().iter().map(declare::Kind::schema).collect())
    }
    fn read(&self, table: &Table<'_>, node: &Node, path: &str) -> Result<Topology, InputError> {
        let table = Table::bare(node, path, table.setting)?;
        let kind = table.word("kind", None, &KINDS.each_ref().map(|kind| (kind.word, kind)))?;
        table.expect(&[vec!["kind"], names(&(kind.keys)())].concat(), &[])?;
        let topology = (kind.read)(&table)?;
        names_are_unique(node, &topology)?;
        if topology.links().iter().any(|l| l.link.study) {
            return Ok(topology);
        }
        Err(node.place.error(path, Found::thing("no link under study"), "a link with study = true"))
    }
    fn show(&self, _: &Topology) -> String {
        String::new()
    }
    fn write(&self, out: &mut Text, key: &str, topology: &Topology) {
        out.table(key, |out| match topology {
            Topology::Dumbbell(bell) => write(out, &KINDS[0], bell.as_ref()),
            Topology::ParkingLot(lot) => write(out, &KINDS[1], lot),
            Topology::Graph(graph) => write(out, &KINDS[2], graph),
        });
    }
    fn accepts(&self, _: &Table<'_>, _: &str) -> String {
        "a [topology] table".to_string()
    }
}

fn write<T: Keys>(out: &mut Text, kind: &Kind, network: &T) {
    out.text("kind", kind.word);
    network.write(out);
}

/// Refuses two links with one name: results and random streams identify links by name.
fn names_are_unique(node: &Node, topology: &Topology) -> Result<(), InputError> {
    let links = topology.links();
    let mut seen = BTreeSet::new();
    let Some(twice) = links.iter().find(|l| !seen.insert(l.name.as_str())) else { return Ok(()) };
    // If the name of a reverse direction is taken, the fault is in the table of its link, which has the key
    // `name`.
    let path = if twice.is_forward { twice.path.as_slice() } else { &twice.path[..twice.path.len() - 1] };
    let table = path.iter().try_fold(node, |at, key| at.step(key)).unwrap_or(node);
    let key = ["topology".to_string()].iter().chain(path).map(String::as_str).collect::<Vec<_>>().join(".");
    let (place, key) = match table.get("name") {
        Some(name) => (&name.place, format!("{key}.name")),
        None => (&table.place, key),
    };
    let error = place.error(key, Found::text(&twice.name), "a name unique among links");
    Err(error.hint("the reverse direction of a link is called NAME-reverse".to_string()))
}
