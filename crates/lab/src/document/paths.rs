//! Dotted paths into a document: lookup and assignment.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Entry, Node, Place, Value};
use crate::input::{Found, InputError, did_you_mean};

/// Sets the value at the dotted `path`; creates missing tables. `*` in the path means every item of a list.
/// Errors show `key` as the key.
pub(crate) fn assign(root: &mut Node, path: &str, value: &Node, place: &Place, key: &str) -> Result<(), InputError> {
    let (segment, rest) = path.split_once('.').map_or((path, None), |(segment, rest)| (segment, Some(rest)));
    let put = |node: &mut Node| match rest {
        Some(rest) => assign(node, rest, value, place, key),
        None => {
            *node = value.clone();
            Ok(())
        }
    };
    match &mut root.value {
        Value::List(items) if segment.trim() == EVERY && !items.is_empty() => items.iter_mut().try_for_each(put),
        _ => put(step(root, segment.trim(), place, key)?),
    }
}

/// Path segment for all items of a list.
const EVERY: &str = "*";

/// Whether `path` is equal to `deeper` or a prefix of it; both are results of [`steps`]. `*` matches every segment.
pub(crate) fn covers(path: &[String], deeper: &[String]) -> bool {
    let meet = |(a, b): (&String, &String)| a == b || a == EVERY || b == EVERY;
    path.len() <= deeper.len() && path.iter().zip(deeper).all(meet)
}

fn step<'a>(node: &'a mut Node, segment: &str, place: &Place, key: &str) -> Result<&'a mut Node, InputError> {
    if segment.is_empty() {
        let error = place.error(key, Found::text(key), "a dotted path without empty parts");
        return Err(error.hint("such as topology.bottleneck.rate".to_string()));
    }
    let found = node.found();
    match &mut node.value {
        Value::Table(entries) => {
            let at = entries.iter().position(|e| e.key == segment).unwrap_or_else(|| {
                let node = Node { value: Value::Table(Vec::new()), place: place.clone() };
                entries.push(Entry { key: segment.to_string(), place: place.clone(), node });
                entries.len() - 1
            });
            Ok(&mut entries[at].node)
        }
        Value::List(items) => match index(items, segment) {
            Some(index) => Ok(&mut items[index]),
            None => Err(no_item(&names(items), segment, place, key)),
        },
        _ => Err(place.error(
            key,
            Found::text(segment),
            format!("a path that ends before '{segment}', which follows {found}"),
        )),
    }
}

/// Index of the list item that has the name `segment`, or else the number `segment`; `None` if there is none.
fn index(items: &[Node], segment: &str) -> Option<usize> {
    let named = names(items).iter().position(|name| name.as_deref() == Some(segment));
    named.or_else(|| segment.parse().ok().filter(|&i| i < items.len()))
}

/// The segments of `path`, with the index of each list item in place of its name: equal for all spellings of a path.
pub(crate) fn steps(root: &Node, path: &str) -> Vec<String> {
    let mut at = Some(root);
    let mut step = |segment: &str| {
        let index = match at.map(|node| &node.value) {
            Some(Value::List(items)) => index(items, segment).map(|i| (i, &items[i])),
            _ => None,
        };
        at = index.map_or_else(|| at?.get(segment), |(_, item)| Some(item));
        index.map_or_else(|| segment.to_string(), |(i, _)| i.to_string())
    };
    path.split('.').map(|segment| step(segment.trim())).collect()
}

fn no_item(names: &[Option<String>], segment: &str, place: &Place, key: &str) -> InputError {
    let named: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
    let index = match names.len() {
        0 => "a list with items; this one is empty".to_string(),
        1 => "the index 0".to_string(),
        n => format!("an index from 0 to {}, or {EVERY} for all of them", n - 1),
    };
    let accepts = if named.is_empty() { index } else { format!("one of {}, or {index}", named.join(", ")) };
    place.error(key, Found::text(segment), accepts).hint(did_you_mean(segment, named))
}

/// Name of each table of a list: its `name`, or else its `kind`. Repeated kinds get a number: `ftp`, `ftp-2`, `ftp-3`.
pub(crate) fn names(items: &[Node]) -> Vec<Option<String>> {
    let given = |node: &Node| node.get("name").and_then(Node::text).map(str::to_string);
    let taken: BTreeSet<String> = items.iter().filter_map(given).collect();
    let mut last: BTreeMap<String, u32> = BTreeMap::new();
    let mut name = |node: &Node| {
        given(node).or_else(|| {
            let kind = node.get("kind")?.text()?;
            let last = last.entry(kind.to_string()).or_default();
            let numbered = (*last + 1..).map(|i| (i, if i == 1 { kind.to_string() } else { format!("{kind}-{i}") }));
            let (number, free) = numbered.into_iter().find(|(_, name)| !taken.contains(name))?;
            *last = number;
            Some(free)
        })
    };
    items.iter().map(&mut name).collect()
}
