//! `--set PATH=VALUE`: replaces or adds one value of the document, by its dotted path.

use super::paths::{assign, covers, steps};
use super::tree::{self, Entry, Node, Place, Source, Value};
use super::vary::Axis;
use crate::input::{Found, InputError};

/// Applies one `PATH=VALUE`. A path that `[vary]` varies is fixed at VALUE.
pub(crate) fn set(root: &mut Node, axes: &mut Vec<Axis>, argument: &str) -> Result<(), InputError> {
    let place = Place::whole(&Source::argument("--set", argument));
    let Some((path, text)) = argument.split_once('=') else {
        let error = place.error("", Found::text(argument), "PATH=VALUE");
        return Err(error.hint("such as topology.bottleneck.rate=15mbit".to_string()));
    };
    let (path, value) = (path.trim(), value(&place, text.trim()));
    if let Some(name) = path.strip_prefix("vary.") {
        let axis = Axis::read(name, place, &value)?;
        match axes.iter_mut().find(|a| a.name == axis.name) {
            Some(old) => *old = axis,
            None => axes.push(axis),
        }
        return Ok(());
    }
    if path == "vary" {
        return Err(place.error(path, Found::text(path), "vary.AXIS=[values]"));
    }
    let here = steps(root, path);
    for axis in axes.iter_mut() {
        let varies = steps(root, &axis.name);
        if here == varies {
            let values = Node { value: Value::List(vec![value]), place: place.clone() };
            *axis = Axis::read(&axis.name, place, &values)?;
            return Ok(());
        }
        if covers(&varies, &here) {
            let accepts = format!("a path that does not overlap {}, which varies", axis.name);
            return Err(place.error(path, Found::text(path), accepts));
        }
    }
    assign(root, path, &value, &place, path)
}

/// The text as a TOML value, or as a string if it is not TOML: `40`, `20ms`, `["1ms", "2ms"]`.
pub(crate) fn value(place: &Place, text: &str) -> Node {
    let parsed = tree::parse(&Source::argument("--set", &format!("v = {text}"))).ok();
    let value = parsed.and_then(|root| match root.value {
        Value::Table(mut entries) if entries.len() == 1 && entries[0].key == "v" => entries.pop().map(|e| e.node),
        _ => None,
    });
    match value {
        Some(node) => moved(node, place),
        None => Node { value: Value::Text(text.to_string()), place: place.clone() },
    }
}

/// The node with `place` as the place of it and of all values in it.
fn moved(node: Node, place: &Place) -> Node {
    let value = match node.value {
        Value::Table(entries) => Value::Table(
            entries.into_iter().map(|e| Entry { place: place.clone(), node: moved(e.node, place), ..e }).collect(),
        ),
        Value::List(items) => Value::List(items.into_iter().map(|n| moved(n, place)).collect()),
        scalar => scalar,
    };
    Node { value, place: place.clone() }
}
