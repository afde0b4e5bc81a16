//! `[vary]`: the axes of an experiment, which are the keys or names whose values vary, and its cases, which are the
//! combinations of these values.

use std::collections::BTreeSet;

use super::lines::NO_CONTROL;
use super::lines::join;
use super::paths::{self, assign};
use super::tree::{Entry, Node, Place, Value};
use crate::input::{Found, InputError, did_you_mean};

/// Largest number of cases. A larger number is probably a mistake.
pub(crate) const MAX_CASES: usize = 10_000;

/// Top-level keys that an axis may set. An axis with another name without a dot replaces `{name}` in texts.
const PLAIN_PATHS: [&str; 4] = ["title", "duration", "warmup", "packet"];

/// An axis and its values.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// The path of a key, or a name whose values replace `{name}` in texts.
    pub(crate) name: String,
    /// Its values, in order.
    pub(crate) values: Vec<Node>,
    pub(crate) place: Place,
}

impl Axis {
    /// An axis with the values of a list, or a single value.
    pub(crate) fn read(name: &str, place: Place, node: &Node) -> Result<Self, InputError> {
        let accepts = "a list of one or more values, such as [20, 30, 40]";
        let key = format!("vary.{name}");
        let axis = |values| Self { name: name.to_string(), values, place: place.clone() };
        let axis = match &node.value {
            Value::List(items) if items.len() > MAX_CASES => return Err(too_many(&place, &items.len().to_string())),
            Value::List(items) if !items.is_empty() => axis(items.clone()),
            Value::List(_) | Value::Table(_) => return Err(node.error(key, accepts)),
            _ => axis(vec![node.clone()]),
        };
        let slip = axis.values.iter().find(|v| !axis.is_path() && v.scalar().is_none());
        if let Some(value) = slip {
            return Err(value.error(key, "a value that can be part of a text"));
        }
        if !axis.is_path() && !is_name(name) {
            return Err(place.error(key, Found::text(name), "a name of letters, digits, - and _, or a dotted path"));
        }
        let mut known = BTreeSet::new();
        for value in &axis.values {
            let words = value.shown();
            if words.contains(char::is_control) {
                return Err(value.error(key, NO_CONTROL));
            }
            if known.contains(&words) {
                return Err(value.place.error(key, Found::thing(format!("'{words}' twice")), "each value once"));
            }
            known.insert(words);
        }
        Ok(axis)
    }

    /// Whether the axis is the path of a key, rather than a name for `{name}`.
    pub(crate) fn is_path(&self) -> bool {
        self.name.contains('.') || PLAIN_PATHS.contains(&self.name.as_str())
    }

    /// The name of the axis in errors, such as `vary.q`.
    pub(crate) fn key(&self) -> String {
        format!("vary.{}", self.name)
    }
}

/// The error for more cases than [`MAX_CASES`]: `count` of them, as text.
pub(crate) fn too_many(place: &Place, count: &str) -> InputError {
    place.error("vary", Found::thing(format!("{count} cases")), format!("at most {MAX_CASES} cases"))
}

/// The name of each axis, and its value in one case as text.
pub(crate) type Choices = Vec<(String, String)>;

/// Removes `[vary]` from the document and reads the axes in it.
pub(crate) fn take(root: &mut Node) -> Result<Vec<Axis>, InputError> {
    let Value::Table(entries) = &mut root.value else { return Ok(Vec::new()) };
    let Some(index) = entries.iter().position(|e| e.key == "vary") else { return Ok(Vec::new()) };
    let vary = entries.remove(index);
    let Value::Table(axes) = &vary.node.value else {
        return Err(vary.node.error("vary", "a table of axes, such as q = [20, 30, 40]"));
    };
    let mut out = Vec::new();
    flatten("", axes, &mut out)?;
    // Nested tables group keys that are apart in the file. The axis written first varies slowest.
    out.sort_by_key(|axis| axis.place.start());
    if let Some(twice) = out.iter().enumerate().find(|(i, a)| out[..*i].iter().any(|b| b.name == a.name)) {
        return Err(twice.1.place.error(twice.1.key(), Found::text(&twice.1.name), "each axis once"));
    }
    Ok(out)
}

/// Reads axes and joins the keys of nested tables: in TOML, `flows.ftp.count = [...]` without quotes is nested tables.
fn flatten(path: &str, entries: &[Entry], out: &mut Vec<Axis>) -> Result<(), InputError> {
    for entry in entries {
        let name = join(path, &entry.key);
        match &entry.node.value {
            Value::Table(inner) if !inner.is_empty() => flatten(&name, inner, out)?,
            _ => out.push(Axis::read(&name, entry.place.clone(), &entry.node)?),
        }
    }
    Ok(())
}

/// The document of every case; the last axis varies fastest.
pub(crate) fn expand(root: &Node, axes: &[Axis]) -> Result<Vec<(Choices, Node)>, InputError> {
    let total = axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len()).filter(|&n| n <= MAX_CASES));
    let Some(total) = total else {
        let lengths: Vec<String> = axes.iter().map(|a| a.values.len().to_string()).collect();
        return Err(too_many(axes.first().map_or(&root.place, |a| &a.place), &lengths.join(" x ")));
    };
    apart(root, axes)?;
    let mut used = BTreeSet::new();
    let cases = (0..total).map(|index| case(root, axes, index, &mut used)).collect::<Result<_, _>>()?;
    match axes.iter().find(|a| !a.is_path() && !used.contains(&a.name)) {
        Some(idle) => {
            let accepts = format!("{{{}}} in some text, or the path of the key to vary", idle.name);
            Err(idle
                .place
                .error(idle.key(), Found::text(&idle.name), accepts)
                .hint(did_you_mean(&idle.name, PLAIN_PATHS).or(Some("the axis changes nothing".to_string()))))
        }
        None => Ok(cases),
    }
}

/// Refuses an axis that another one overwrites: its cases would be identical runs under different names.
fn apart(root: &Node, axes: &[Axis]) -> Result<(), InputError> {
    let paths: Vec<(&Axis, Vec<String>)> =
        axes.iter().filter(|axis| axis.is_path()).map(|axis| (axis, paths::steps(root, &axis.name))).collect();
    for (i, (later, path)) in paths.iter().enumerate() {
        if let Some((earlier, _)) = paths[..i].iter().find(|(_, steps)| paths::covers(path, steps)) {
            let accepts = format!("a path that does not overlap {}, which also varies", earlier.name);
            return Err(later.place.error(later.key(), Found::text(&later.name), accepts));
        }
    }
    Ok(())
}

fn case(root: &Node, axes: &[Axis], index: usize, used: &mut BTreeSet<String>) -> Result<(Choices, Node), InputError> {
    let (mut rest, mut picks) = (index, Vec::with_capacity(axes.len()));
    for axis in axes.iter().rev() {
        picks.push((axis, &axis.values[rest % axis.values.len()]));
        rest /= axis.values.len();
    }
    picks.reverse();
    let mut node = root.clone();
    for (axis, value) in picks.iter().filter(|(axis, _)| axis.is_path()) {
        assign(&mut node, &axis.name, value, &axis.place, &axis.key())?;
    }
    let choices: Choices = picks.iter().map(|(axis, value)| (axis.name.clone(), value.shown())).collect();
    let names: Choices =
        picks.iter().zip(&choices).filter(|((axis, _), _)| !axis.is_path()).map(|(_, c)| c.clone()).collect();
    fill(&mut node, "", &names, used)?;
    Ok((choices, node))
}

/// Replaces every `{name}` in every text by the value of the axis `name`.
fn fill(node: &mut Node, path: &str, names: &Choices, used: &mut BTreeSet<String>) -> Result<(), InputError> {
    match &mut node.value {
        Value::Table(entries) => {
            entries.iter_mut().try_for_each(|e| fill(&mut e.node, &join(path, &e.key), names, used))
        }
        Value::List(items) => {
            let called = paths::names(path.rsplit('.').next().unwrap_or_default(), items);
            items.iter_mut().zip(called).enumerate().try_for_each(|(i, (n, called))| match called {
                Some(called) => fill(n, &join(path, &called), names, used),
                None => fill(n, &format!("{path}[{i}]"), names, used),
            })
        }
        Value::Text(text) => {
            let filled = filled(text, names, used);
            // Remaining braces name unknown axes. The value of an axis may not contain `{name}` either.
            if let Some((_, name, _)) = placeholder(&filled) {
                return Err(unknown(&node.place, path, name, names));
            }
            *text = filled;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn filled(text: &str, names: &Choices, used: &mut BTreeSet<String>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, name, after)) = placeholder(rest) {
        out.push_str(before);
        match names.iter().find(|(axis, _)| axis == name) {
            Some((axis, value)) => {
                used.insert(axis.clone());
                out.push_str(value);
            }
            None => out.push_str(&rest[before.len()..rest.len() - after.len()]),
        }
        rest = after;
    }
    out + rest
}

fn unknown(place: &Place, path: &str, name: &str, names: &Choices) -> InputError {
    let known: Vec<&str> = names.iter().map(|(axis, _)| axis.as_str()).collect();
    let accepts = match known.as_slice() {
        [] => "an axis of [vary], which has no named axes".to_string(),
        _ => format!("an axis of [vary]: {}", known.join(", ")),
    };
    place.error(path, Found::text(&format!("{{{name}}}")), accepts).hint(did_you_mean(name, known))
}

/// The first `{name}` of a text: text before it, name, text after it.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices('{').find_map(|(open, _)| {
        let inside = &text[open + 1..];
        let close = inside.find('}')?;
        let name = &inside[..close];
        is_name(name).then(|| (&text[..open], name, &inside[close + 1..]))
    })
}

/// Letters, digits, `-` and `_`.
fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}
