//! `--vary PATH=VALUES`: an axis (a key that varies between runs) and its values in one argument. The values are a list
//! (`5,50,150`), a range (`10mbit..50mbit/5`) or both.

use forebay_aqm::base::text;

use super::tree::{Node, Place, Source, Value};
use super::vary::{Axis, MAX_CASES, too_many};
use super::{paths, set};
use crate::input::{Found, InputError};

/// Changes to a scenario file from the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `PATH=VALUE` each. `vary.AXIS=[...]` adds or replaces an axis.
    pub sets: Vec<String>,
    /// `PATH=VALUES` each, such as `q=20,30,40` or `q=20..40/3`. Adds or replaces an axis.
    pub vary: Vec<String>,
    /// Disciplines that replace `compare.aqm` and its labels; `compare.links` stays.
    pub aqm: Vec<String>,
    /// Whether the compared disciplines also run on the opposite direction of each compared link.
    pub both_directions: bool,
}

const OPTION: &str = "--vary";
const VALUES: &str = "one or more values, such as 20,30,40 or 20..40/5";
const RANGE: &str = "LO..HI/N, N equally spaced values from LO to HI, both included";

/// Adds the axes of `--vary`. An axis that the file already has gets the new values and keeps its position. New axes
/// follow those of the file. The last axis varies fastest.
pub(crate) fn vary(root: &Node, axes: &mut Vec<Axis>, overrides: &Overrides) -> Result<(), InputError> {
    for (i, argument) in overrides.vary.iter().enumerate() {
        let place = place(argument);
        let Some((path, values)) = parts(argument) else {
            let error = place.error("", Found::text(argument), "PATH=VALUES");
            return Err(error.hint("such as flows.ftp.count=5,50,150".to_string()));
        };
        let refuse = |accepts: &str| Err(place.error(path, Found::text(path), accepts));
        if path == "vary" || path.starts_with("vary.") {
            return refuse("the path that varies, without 'vary.'");
        }
        if overrides.vary[..i].iter().any(|other| parts(other).is_some_and(|(other, _)| other == path)) {
            return refuse("each path once, all its values in one --vary");
        }
        let steps = paths::steps(root, path);
        let is_held = |set: &String| {
            let Some((set, _)) = parts(set) else { return false };
            let axis = set.strip_prefix("vary.");
            // `--set` of a table that contains the axis is allowed: the axis then replaces only its own value.
            axis.map_or_else(
                || paths::covers(&steps, &paths::steps(root, set)),
                |axis| paths::steps(root, axis) == steps,
            )
        };
        if overrides.sets.iter().any(is_held) {
            return refuse("a path that --set does not set");
        }
        let mut all = Vec::new();
        for item in list(values) {
            all.extend(points(path, item)?);
            if all.len() > MAX_CASES {
                return Err(too_many(&place, &format!("{} or more", all.len())));
            }
        }
        let values = all;
        let node = Node { value: Value::List(values), place: place.clone() };
        let axis = Axis::read(path, place, &node)?;
        match axes.iter_mut().find(|old| old.name == axis.name) {
            Some(old) => *old = axis,
            None => axes.push(axis),
        }
    }
    Ok(())
}

/// The keys of `[compare]` that `--aqm` replaces.
pub(crate) const REPLACED: [&str; 2] = ["aqm", "labels"];

/// Refuses `--set` and `--vary` of a key that `--aqm` replaces. Removes the file's axes of such a key.
pub(crate) fn leave_aqm_alone(axes: &mut Vec<Axis>, overrides: &Overrides) -> Result<(), InputError> {
    let is_replaced = |path: &str| {
        let mut steps = path.split('.').map(str::trim);
        steps.next() == Some("compare") && steps.next().is_some_and(|key| REPLACED.contains(&key))
    };
    let sets = overrides.sets.iter().map(|set| ("--set", set.strip_prefix("vary.").unwrap_or(set)));
    let varies = overrides.vary.iter().map(|vary| (OPTION, vary.as_str()));
    for (option, argument) in sets.chain(varies) {
        if let Some((path, _)) = parts(argument).filter(|(path, _)| is_replaced(path)) {
            let place = Place::whole(&Source::argument(option, argument));
            return Err(place.error(path, Found::text(path), "a path that --aqm does not replace"));
        }
    }
    axes.retain(|axis| !is_replaced(&axis.name));
    Ok(())
}

/// The text before and after the first `=`.
fn parts(argument: &str) -> Option<(&str, &str)> {
    argument.split_once('=').map(|(path, value)| (path.trim(), value.trim()))
}

fn place(words: &str) -> Place {
    Place::whole(&Source::argument(OPTION, words))
}

/// The items of `a,b,c`, or of `[a, b, c]` as in a scenario file.
fn list(text: &str) -> Vec<&str> {
    let items = split(text);
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.filter(|_| items.len() == 1).map_or(items, split)
}

/// Splits at commas outside quotes and brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut is_escaped) = (0usize, None, false);
    let ends = |c: char| {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (Some('"'), '\\') => is_escaped = true,
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, _) => return c == ',' && depth == 0,
        }
        false
    };
    text.split(ends).map(str::trim).collect()
}

/// The values of one item of `--vary`: a single value, or those of a range.
fn points(path: &str, item: &str) -> Result<Vec<Node>, InputError> {
    let place = place(item);
    if item.is_empty() {
        return Err(place.error(path, Found::thing("an empty value"), VALUES));
    }
    match range(item) {
        None => Ok(vec![set::value(&place, item)]),
        Some(Ok(values)) => Ok(values.into_iter().map(|value| Node { value, place: place.clone() }).collect()),
        Some(Err(hint)) => Err(place.error(path, Found::text(item), RANGE).hint(hint)),
    }
}

/// The values of `LO..HI/N`, or an error text; `None` if it is not a range.
fn range(item: &str) -> Option<Result<Vec<Value>, String>> {
    let (lo, rest) = item.split_once("..").filter(|_| !item.starts_with(['"', '\'', '[', '{']))?;
    let numeric = |text: &str| text.trim_start_matches(['-', '+', '.', ' ']).starts_with(|c: char| c.is_ascii_digit());
    (numeric(lo) || numeric(rest)).then(|| spaced(lo, rest))
}

fn spaced(lo: &str, rest: &str) -> Result<Vec<Value>, String> {
    // Split at the last slash: a rate such as 10/s contains one.
    let Some((hi, count)) = rest.rsplit_once('/') else {
        return Err(format!("for 5 values write {lo}..{rest}/5"));
    };
    let count = count.trim().parse().ok().filter(|n| (2..=MAX_CASES).contains(n));
    let count = count.ok_or_else(|| format!("N is a whole number from 2 to {MAX_CASES}"))?;
    let ((lo, lo_unit), (hi, unit)) = (end(lo)?, end(hi)?);
    if !lo_unit.is_empty() && lo_unit != unit {
        return Err("both ends need the same unit".to_string());
    }
    if lo == hi {
        return Err("the ends must differ".to_string());
    }
    Ok((0..count).map(|i| value(between(lo, hi, i as f64 / (count - 1) as f64), unit)).collect())
}

/// Reads an end of a range: a number, possibly negative, and its unit.
fn end(text: &str) -> Result<(f64, &str), String> {
    let end = match text.trim().strip_prefix('-') {
        Some(size) => text::split(size).map(|(size, unit)| (-size, unit)),
        None => text::split(text),
    };
    end.ok_or_else(|| format!("'{text}' is not a number with an optional unit"))
}

/// The value at the fraction `share` between `lo` and `hi`, rounded to 14 digits (`0.3`, not
/// `0.30000000000000004`). Both ends are exact.
fn between(lo: f64, hi: f64, share: f64) -> f64 {
    if share == 0.0 || share == 1.0 {
        return if share == 0.0 { lo } else { hi };
    }
    let exact = lo * (1.0 - share) + hi * share;
    let noise = exact.abs() < 1e-14 * lo.abs().max(hi.abs());
    let rounded = format!("{exact:.13e}").parse().unwrap_or(exact);
    if noise { 0.0 } else { rounded }
}

/// The value as in a scenario file: whole numbers without a point, quantities as text.
fn value(number: f64, unit: &str) -> Value {
    const EXACT: f64 = 9e15;
    match unit {
        "" if number.fract() == 0.0 && number.abs() <= EXACT => Value::Integer(number as i64),
        "" => Value::Float(number),
        _ => Value::Text(format!("{number}{unit}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    fn axis(argument: &str) -> Result<Vec<String>, InputError> {
        let mut axes = Vec::new();
        let root = tree::parse(&Source::file("", ""))?;
        vary(&root, &mut axes, &Overrides { vary: vec![argument.to_string()], ..Overrides::default() })?;
        Ok(axes[0].values.iter().map(Node::shown).collect())
    }

    #[test]
    fn vary_values_are_comma_lists_or_toml_lists() {
        for (argument, want) in [
            ("q=20,30,40", &["20", "30", "40"][..]),
            ("q = [20, 30, 40]", &["20", "30", "40"]),
            ("q=5ms, 20ms", &["5ms", "20ms"]),
            ("a.b=raqm q0=50,pi", &["raqm q0=50", "pi"]),
            (r#"a.b=["1ms", "2ms"],["3ms"]"#, &[r#"["1ms", "2ms"]"#, r#"["3ms"]"#]),
            (r#"a.b=[["1ms", "2ms"], ["3ms"]]"#, &[r#"["1ms", "2ms"]"#, r#"["3ms"]"#]),
            ("a.b={ uniform = ['0s', '1s'] },1s", &[r#"{ uniform = ["0s", "1s"] }"#, "1s"]),
            (r#"title="one, two",three"#, &["one, two", "three"]),
            (r#"title="a \", b",c"#, &["a \", b", "c"]),
            ("a.b=../x.csv,y.csv", &["../x.csv", "y.csv"]),
        ] {
            assert_eq!(axis(argument).unwrap(), want, "{argument}");
        }
    }

    /// Quadratic work took 9 s for the first argument; the paths overflowed the stack.
    #[test]
    fn long_lists_and_paths_are_refused_at_once() {
        let ranges: Vec<String> = (1..17).map(|i| format!("{i}..{i}.9/10000")).collect();
        let list: Vec<String> = (0..20_000).map(|i| i.to_string()).collect();
        for values in [ranges.join(","), list.join(","), format!("[{}]", list.join(","))] {
            let error = axis(&format!("flows.ftp.count={values}")).unwrap_err().to_string();
            assert!(error.contains("at most 10000 cases"), "{error}");
        }
        let path = vec!["a"; 100_000].join(".");
        let text = include_str!("../../tests/data/ftp.toml");
        let (quoted, dotted) = (format!("[vary]\n\"{path}\" = [1]\n"), format!("[vary]\n{path} = [1]\n"));
        let arguments = |sets: &[&str], vary: &[&str]| {
            let [sets, vary] = [sets, vary].map(|all| all.iter().map(|head| format!("{head}{path}=1")).collect());
            Overrides { sets, vary, ..Overrides::default() }
        };
        for (text, overrides) in [
            (text.to_string(), arguments(&[""], &[])),
            (text.to_string(), arguments(&[], &[""])),
            (text.to_string(), arguments(&["vary."], &[])),
            (format!("{text}{quoted}"), Overrides::default()),
            (format!("{text}{dotted}"), Overrides::default()),
        ] {
            assert!(crate::load::parse("long.toml", &text, &overrides).is_err());
        }
    }

    #[test]
    fn vary_ranges_include_both_ends_without_rounding_errors() {
        for (argument, want) in [
            ("q=20..40/3", &["20", "30", "40"][..]),
            ("q=0.1..0.5/5", &["0.1", "0.2", "0.3", "0.4", "0.5"]),
            ("q=-0.3..0.3/3", &["-0.3", "0", "0.3"]),
            ("q=1..2/3", &["1", "1.5", "2"]),
            ("q=40..20/3", &["40", "30", "20"]),
            ("q=10mbit..1gbit/2", &[]),
            ("q=10mbit .. 40mbit / 4", &["10mbit", "20mbit", "30mbit", "40mbit"]),
            ("q=0..30ms/4", &["0ms", "10ms", "20ms", "30ms"]),
            ("q=5/s..10/s/2", &["5/s", "10/s"]),
            ("q=5,10..30/3,100", &["5", "10", "20", "30", "100"]),
        ] {
            match axis(argument) {
                Ok(values) => assert_eq!(values, want, "{argument}"),
                Err(error) => assert!(want.is_empty(), "{argument}: {error}"),
            }
        }
    }

    #[test]
    fn vary_errors_say_how_to_correct_the_values() {
        for (argument, words) in [
            ("q", "found 'q', expected PATH=VALUES"),
            ("q=", "found an empty value, expected one or more values"),
            ("q=[]", "found an empty value"),
            ("q=20,,30", "found an empty value"),
            ("q=20..40", "for 5 values write 20..40/5"),
            ("q=20..40/0", "N is a whole number from 2 to 10000"),
            ("q=20..40/1", "N is a whole number from 2"),
            ("q=20..40/2.5", "N is a whole number from 2"),
            ("q=20..40/20000", "to 10000"),
            ("q=20..many/3", "'many' is not a number"),
            ("q=..40/3", "'' is not a number"),
            ("q=1e999..40/3", "'1e999' is not a number"),
            ("q=10mbit..1gbit/3", "both ends need the same unit"),
            ("q=20..20/3", "the ends must differ"),
            ("vary.q=20,30", "without 'vary.'"),
            ("=20,30", "a name of letters"),
        ] {
            let message = axis(argument).unwrap_err().to_string();
            assert!(message.starts_with("--vary: ") && message.contains(words), "{argument}: {message}");
        }
    }
}
