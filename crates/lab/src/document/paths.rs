//! Finds and sets values of a TOML document by dotted paths, such as `flows.ftp.count`.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Entry, Node, Place, Value};
use crate::input::{Found, InputError, did_you_mean};

/// Largest number of parts of a path. Values are set part by part, and each part takes stack.
const MAX_PARTS: usize = 64;

/// Sets the value at the dotted `path`; creates missing tables and lists, and the next item of a list. `*` in the path
/// means every item of a list. Errors show `key` as the key.
pub(crate) fn assign(root: &mut Node, path: &str, value: &Node, place: &Place, key: &str) -> Result<(), InputError> {
    if path.split('.').count() > MAX_PARTS {
        let found = Found::thing(format!("{} parts", path.split('.').count()));
        return Err(place.error("", found, format!("a path of at most {MAX_PARTS} parts")));
    }
    below(root, "", path, value, (place, key))
}

/// As [`assign`], in the value `node` of the key `of`.
fn below(node: &mut Node, of: &str, path: &str, value: &Node, at: (&Place, &str)) -> Result<(), InputError> {
    let (segment, rest) = path.split_once('.').map_or((path, None), |(segment, rest)| (segment.trim(), Some(rest)));
    let segment = segment.trim();
    let put = |node: &mut Node| match rest {
        Some(rest) => below(node, segment, rest, value, at),
        None => {
            *node = value.clone();
            Ok(())
        }
    };
    match &mut node.value {
        Value::List(items) if segment == EVERY && !items.is_empty() => items.iter_mut().try_for_each(put),
        _ => put(step(node, of, segment, rest, at)?),
    }
}

/// Path segment for all items of a list.
const EVERY: &str = "*";

/// Whether `path` is equal to `deeper` or a prefix of it; both are results of [`steps`]. `*` matches every segment.
pub(crate) fn covers(path: &[String], deeper: &[String]) -> bool {
    let meet = |(a, b): (&String, &String)| a == b || a == EVERY || b == EVERY;
    path.len() <= deeper.len() && path.iter().zip(deeper).all(meet)
}

/// The value at `segment` of `node`, which is the value of the key `of`. Creates it if it is missing; `rest` is the
/// path below it.
fn step<'a>(
    node: &'a mut Node,
    of: &str,
    segment: &str,
    rest: Option<&str>,
    (place, key): (&Place, &str),
) -> Result<&'a mut Node, InputError> {
    if segment.is_empty() {
        let error = place.error(key, Found::text(key), "a dotted path without empty parts");
        return Err(error.hint("such as topology.bottleneck.rate".to_string()));
    }
    let found = node.found();
    let is_plain = !matches!(node.value, Value::Table(_) | Value::List(_));
    if is_plain && VALUE_OR_TABLE.contains(&of) {
        node.value = Value::Table(Vec::new());
    }
    let new = || Node { value: empty(rest), place: place.clone() };
    match &mut node.value {
        Value::Table(entries) => {
            let at = entries.iter().position(|e| e.key == segment).unwrap_or_else(|| {
                entries.push(Entry { key: segment.to_string(), place: place.clone(), node: new() });
                entries.len() - 1
            });
            Ok(&mut entries[at].node)
        }
        Value::List(items) => match index(of, items, segment) {
            Some(index) => Ok(&mut items[index]),
            None if segment.parse() == Ok(items.len()) => {
                items.push(new());
                Ok(items.last_mut().unwrap_or_else(|| unreachable!("an item was added")))
            }
            None => Err(no_item(&names(of, items), segment, place, key)),
        },
        _ => Err(place.error(
            key,
            Found::text(segment),
            format!("a path that ends before '{segment}', which follows {found}"),
        )),
    }
}

/// Keys whose value is a text or a number, or a table.
const VALUE_OR_TABLE: [&str; 6] = ["lifetime", "loss", "rtt", "size", "start", "think"];

/// The empty list or table that is created so that the path `rest` can be set in it: a list if the path begins with the
/// number of a first item.
fn empty(rest: Option<&str>) -> Value {
    let first = rest.and_then(|rest| rest.split('.').next());
    if first.is_some_and(|first| first.trim() == "0") { Value::List(Vec::new()) } else { Value::Table(Vec::new()) }
}

/// Index of the item that has the name `segment`, or else the number `segment`, in the list of the key `of`; `None` if
/// there is none.
fn index(of: &str, items: &[Node], segment: &str) -> Option<usize> {
    let named = names(of, items).iter().position(|name| name.as_deref() == Some(segment));
    named.or_else(|| segment.parse().ok().filter(|&i| i < items.len()))
}

/// The segments of `path`, with the index of each list item in place of its name: equal for all spellings of a path.
pub(crate) fn steps(root: &Node, path: &str) -> Vec<String> {
    let (mut at, mut of) = (Some(root), "");
    let mut out = Vec::new();
    for segment in path.split('.').map(str::trim) {
        let index = match at.map(|node| &node.value) {
            Some(Value::List(items)) => index(of, items, segment).map(|i| (i, &items[i])),
            _ => None,
        };
        at = index.map_or_else(|| at?.get(segment), |(_, item)| Some(item));
        of = segment;
        out.push(index.map_or_else(|| segment.to_string(), |(i, _)| i.to_string()));
    }
    out
}

fn no_item(names: &[Option<String>], segment: &str, place: &Place, key: &str) -> InputError {
    let named: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
    let index = match names.len() {
        0 => "the index 0 for a new item; this list is empty".to_string(),
        1 => "the index 0, or 1 for a new item".to_string(),
        n => format!("an index from 0 to {}, {EVERY} for all of them, or {n} for a new one", n - 1),
    };
    let accepts = if named.is_empty() { index } else { format!("one of {}, or {index}", named.join(", ")) };
    place.error(key, Found::text(segment), accepts).hint(did_you_mean(segment, named))
}

/// Name of each table in the list of the key `of`: its `name`, or else the default. The default is `b1`, `b2` ... for
/// bottlenecks, `FROM-TO` for the links of a graph, and else the value of its key `kind`. Repeated kinds get a number:
/// `ftp`, `ftp-2`, `ftp-3`.
pub(crate) fn names(of: &str, items: &[Node]) -> Vec<Option<String>> {
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).map(str::to_string);
    let given = |node: &Node| text(node, "name");
    let taken: BTreeSet<String> = items.iter().filter_map(given).collect();
    let mut last: BTreeMap<String, u32> = BTreeMap::new();
    let mut of_kind = |node: &Node| {
        let kind = text(node, "kind")?;
        let last = last.entry(kind.clone()).or_default();
        let numbered = (*last + 1..).map(|i| (i, if i == 1 { kind.clone() } else { format!("{kind}-{i}") }));
        let (number, free) = numbered.into_iter().find(|(_, name)| !taken.contains(name))?;
        *last = number;
        Some(free)
    };
    let name = |(i, node): (usize, &Node)| {
        given(node).or_else(|| match (of, &node.value) {
            ("bottlenecks", Value::Table(_)) => Some(format!("b{}", i + 1)),
            ("links", _) => Some(format!("{}-{}", text(node, "from")?, text(node, "to")?)),
            _ => of_kind(node),
        })
    };
    items.iter().enumerate().map(name).collect()
}
