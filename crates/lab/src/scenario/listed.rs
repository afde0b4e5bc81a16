//! The tables of a list in `[topology]`, and their names.

use forebay_aqm::base::text::BadValue;

use super::doc::Node;
use super::error::InputError;
use super::table::{Table, is_plain};

/// The most nodes and the most links of a graph, and the most groups of hosts.
pub(crate) const MOST_NODES: usize = 10_000;

/// The tables of a list, at least one, with paths that name them where they have a name.
pub(crate) fn tables<'a>(
    table: &Table<'a>,
    key: &'static str,
    most: usize,
) -> Result<Vec<(&'a Node, String)>, InputError> {
    let accepts = format!("one or more [[topology.{key}]] tables, at most {most}");
    let items = table.list(key, &accepts)?;
    if items.is_empty() || items.len() > most {
        return Err(table.bad(key, BadValue::new(accepts)));
    }
    let path = table.path_of(key);
    let named = |(i, (item, _)): (usize, (&'a Node, String))| {
        let name = item.get("name").and_then(Node::text).map_or_else(|| i.to_string(), str::to_string);
        (item, format!("{path}.{name}"))
    };
    Ok(items.into_iter().enumerate().map(named).collect())
}

/// The name of a table of a list. Names are parts of paths, where digits alone are an index.
pub(crate) fn name(table: &Table<'_>) -> Result<Option<String>, InputError> {
    let Some(name) = table.text("name")? else { return Ok(None) };
    if is_plain(name) && !name.chars().all(|c| c.is_ascii_digit()) {
        return Ok(Some(name.to_string()));
    }
    Err(table.bad("name", BadValue::new("a name of letters, digits, - and _, not digits alone")))
}
