//! `kind = "graph"`: a network of nodes and links with shortest-path routes.

use forebay_aqm::base::text::BadValue;
use forebay_aqm::base::time::Span;
use forebay_sim::network::Lane;
use serde_json::Value as Json;

use super::MAX_NODES;
use super::link::TwoWay;
use super::sides::JITTER;
use crate::declare::{
    Custom, Form, NAME, Sections, Setting, TIME, Table, is_plain, one_of, schema, sections, table, text, whole_number,
};
use crate::document::{Node, Text, Value, list, quote};
use crate::input::{InputError, no_such_word};

table! {
    /// Nodes, each a host, and links. Routes minimise the sum of weights; the link declared first decides ties.
    pub struct Graph {
        /// Names of the nodes.
        nodes: Vec<String> = NODES;
        /// The links; bidirectional unless one_way is true.
        links: Vec<Edge> = Links;
        /// Processing time of a packet at its sending host, uniform from 0 to this; default 10us.
        jitter: Span = TIME, or JITTER;
    }
}

table! {
    /// A link between two nodes.
    pub struct Edge {
        /// Name; default from-to.
        name: String = NAME, or_else |table| Ok(format!("{}-{}", table.needed("from", &NODE)?.name, table.needed("to", &NODE)?.name));
        /// Node where the link begins.
        from: Vertex = NODE;
        /// Node where the link ends.
        to: Vertex = NODE;
        /// Routing cost in either direction; default 1.
        weight: u32 = whole_number::<u32>(1, HEAVIEST), or 1;
        /// The link; without a reverse direction if it is one-way.
        ..link: TwoWay<Option<Lane>>;
    }
    finish |edge: Edge, table: &Table<'_>| match edge.from == edge.to {
        true => Err(table.bad("to", BadValue::new("a node other than from"))),
        false => Ok(edge),
    };
}

/// Largest weight of a link.
const HEAVIEST: u32 = 1_000_000;

/// A node of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// Index of the node in [`Graph::nodes`].
    pub number: usize,
    /// Name of the node.
    pub name: String,
}

const NODES: Custom<Vec<String>> = Custom {
    schema: || schema::any_of(schema::text()),
    read: |_, node, path| nodes(node, path),
    show: |nodes| list(nodes.iter().map(|node| quote(node))),
    accepts: TWO_OR_MORE,
};
const TWO_OR_MORE: &str = "a list of two or more names, such as [\"a\", \"b\"]";

fn nodes(node: &Node, path: &str) -> Result<Vec<String>, InputError> {
    let Value::List(items) = &node.value else { return Err(node.error(path, TWO_OR_MORE)) };
    let mut nodes: Vec<String> = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let path = format!("{path}[{i}]");
        let name = text(item, &path)?;
        if !is_plain(name) {
            return Err(item.error(path, "a name of letters, digits, - and _"));
        }
        if nodes.iter().any(|other| other == name) {
            return Err(item.error(path, "a name unique among nodes"));
        }
        nodes.push(name.to_string());
    }
    match nodes.len() {
        0 | 1 => Err(node.error(path, TWO_OR_MORE)),
        n if n > MAX_NODES => Err(node.error(path, format!("at most {MAX_NODES} nodes"))),
        _ => Ok(nodes),
    }
}

/// The links, between nodes of the same graph.
struct Links;

const LINKS: Sections<Edge> = sections(MAX_NODES, "A link between two nodes.");

impl Form for Links {
    type Value = Vec<Edge>;
    fn schema(&self) -> Json {
        LINKS.schema()
    }
    fn read(&self, table: &Table<'_>, node: &Node, path: &str) -> Result<Vec<Edge>, InputError> {
        let nodes = table.needed("nodes", &NODES)?;
        LINKS.read(&table.within(Setting { nodes: &nodes, ..table.setting }), node, path)
    }
    fn show(&self, links: &Vec<Edge>) -> String {
        LINKS.show(links)
    }
    fn write(&self, out: &mut Text, key: &str, links: &Vec<Edge>) {
        LINKS.write(out, key, links);
    }
    fn accepts(&self, table: &Table<'_>, path: &str) -> String {
        LINKS.accepts(table, path)
    }
}

/// The name of a node.
struct NodeName;
const NODE: NodeName = NodeName;

impl Form for NodeName {
    type Value = Vertex;
    fn schema(&self) -> Json {
        schema::text()
    }
    fn read(&self, table: &Table<'_>, node: &Node, path: &str) -> Result<Vertex, InputError> {
        let nodes = table.setting.nodes;
        let choices: Vec<(&str, usize)> = nodes.iter().enumerate().map(|(i, node)| (node.as_str(), i)).collect();
        let number = one_of(node, path, &choices)?;
        Ok(Vertex { number, name: nodes[number].clone() })
    }
    fn show(&self, node: &Vertex) -> String {
        quote(&node.name)
    }
    fn accepts(&self, table: &Table<'_>, _: &str) -> String {
        let nodes: Vec<&str> = table.setting.nodes.iter().map(String::as_str).collect();
        no_such_word("", &nodes).accepts.into_owned()
    }
}
