//! `--set` and `--vary` reach every key of a scenario.

use forebay_lab::load;
use forebay_lab::scenario::{InputError, Overrides, Scenario};
use toml::{Table, Value};

const EVERYTHING: &str = include_str!("../data/everything.toml");
const LOT: &str = include_str!("../data/everything-lot.toml");
const GRAPH: &str = include_str!("../data/everything-graph.toml");
const ALL: [&str; 3] = [EVERYTHING, LOT, GRAPH];

/// The only case of `text` with these settings.
fn read(text: &str, sets: Vec<String>) -> Result<Scenario, InputError> {
    let cases = load::parse("s.toml", text, &Overrides { sets, ..Overrides::default() })?;
    Ok(cases.into_iter().next().unwrap().scenario)
}

/// How a path names the items of a list of tables.
#[derive(Clone, Copy, PartialEq)]
enum Items {
    /// By their names, also the default ones.
    Named,
    /// By their numbers.
    Numbered,
}

/// Names of the items of the list `key`, written out as docs/scenario.md defines them.
fn names(key: &str, items: &[Value]) -> Vec<String> {
    let word = |item: &Value, key: &str| item.get(key).and_then(Value::as_str).map(str::to_string);
    let kinds: Vec<Option<String>> = items.iter().map(|item| word(item, "kind")).collect();
    let is_free = |name: &String| !items.iter().any(|item| word(item, "name").as_ref() == Some(name));
    let numbered = |i: usize, kind: &String| {
        let earlier = (0..i).filter(|&j| word(&items[j], "name").is_none() && kinds[j].as_ref() == Some(kind)).count();
        let all = (1..).map(|n| if n == 1 { kind.clone() } else { format!("{kind}-{n}") });
        all.filter(is_free).nth(earlier).unwrap()
    };
    let name = |(i, item): (usize, &Value)| {
        let default = match (key, &kinds[i]) {
            ("bottlenecks", _) => format!("b{}", i + 1),
            ("links", _) => format!("{}-{}", word(item, "from").unwrap(), word(item, "to").unwrap()),
            (_, Some(kind)) => numbered(i, kind),
            _ => i.to_string(),
        };
        word(item, "name").unwrap_or(default)
    };
    items.iter().enumerate().map(name).collect()
}

/// The path and the value of every key and every list item.
fn walk(key: &str, path: &str, value: &Value, items: Items, out: &mut Vec<(String, Value)>) {
    let below = |segment: &str| if path.is_empty() { segment.to_string() } else { format!("{path}.{segment}") };
    let mut visit = |key: &str, segment: &str, value: &Value| {
        out.push((below(segment), value.clone()));
        walk(key, &below(segment), value, items, out);
    };
    match value {
        Value::Table(table) => table.iter().for_each(|(key, value)| visit(key, key, value)),
        Value::Array(list) => {
            let named = items == Items::Named && list.iter().all(Value::is_table);
            let names = if named { names(key, list) } else { (0..list.len()).map(|i| i.to_string()).collect() };
            list.iter().zip(names).for_each(|(item, name)| visit("", &name, item));
        }
        _ => {}
    }
}

fn paths(text: &str, items: Items) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    walk("", "", &Value::Table(text.parse::<Table>().unwrap()), items, &mut out);
    out
}

/// The document without the key at `path`; `None` if `path` is an item of a list.
fn without(text: &str, path: &str) -> Option<String> {
    let mut root = Value::Table(text.parse::<Table>().unwrap());
    let (above, key) = path.rsplit_once('.').map_or((None, path), |(above, key)| (Some(above), key));
    let mut at = &mut root;
    for segment in above.iter().flat_map(|above| above.split('.')) {
        at = match at {
            Value::Array(items) => &mut items[segment.parse::<usize>().unwrap()],
            table => table.get_mut(segment).unwrap(),
        };
    }
    at.as_table_mut()?.remove(key).unwrap();
    Some(toml::to_string(&root).unwrap())
}

#[test]
fn paths_with_list_item_names_reach_every_key() {
    for text in ALL {
        let want = read(text, vec![]).unwrap();
        for (path, value) in paths(text, Items::Named) {
            let set = format!("{path}={value}");
            assert!(read(text, vec![set.clone()]).unwrap_or_else(|e| panic!("{set}: {e}")) == want, "{set}");
        }
    }
}

#[test]
fn set_adds_every_key_that_is_missing() {
    for text in ALL {
        let want = read(text, vec![]).unwrap();
        for (path, value) in paths(text, Items::Numbered) {
            let Some(rest) = without(text, &path) else { continue };
            let set = format!("{path}={value}");
            assert!(read(&rest, vec![set.clone()]).unwrap_or_else(|e| panic!("{set}: {e}")) == want, "{set}");
        }
    }
}

/// --set has only the values that are not tables or lists: the tables and lists around them are created.
#[test]
fn set_arguments_turn_empty_file_into_any_scenario() {
    for text in ALL {
        let leaf = |value: &Value| match value {
            Value::Table(table) => table.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => true,
        };
        let leaves = paths(text, Items::Numbered).into_iter().filter(|(_, value)| leaf(value));
        let sets = leaves.map(|(path, value)| format!("{path}={value}")).collect();
        let mut built = read("", sets).unwrap_or_else(|e| panic!("{e}"));
        let want = read(text, vec![]).unwrap();
        built.title.clone_from(&want.title);
        assert!(built == want, "{text}");
    }
}

/// `--vary` accepts the path of every key but `version`, the tables `topology`, `flows`, `compare` and `report`, and
/// the disciplines that `[compare]` replaces.
#[test]
fn every_key_can_be_varied() {
    for text in ALL {
        let want = read(text, vec![]).unwrap();
        for (path, value) in paths(text, Items::Named) {
            let is_path = path.contains('.') || ["title", "duration", "warmup", "packet"].contains(&path.as_str());
            if !is_path {
                continue;
            }
            let vary = format!("{path}=[{value}]");
            let overrides = Overrides { vary: vec![vary.clone()], ..Overrides::default() };
            match load::parse("s.toml", text, &overrides) {
                Ok(cases) => assert!(cases.len() == 1 && cases[0].scenario == want, "{vary}"),
                Err(error) => {
                    let replaced = path.ends_with(".aqm") && error.accepts.contains("compare.aqm or --aqm");
                    assert!(replaced, "{vary}: {error}");
                }
            }
        }
    }
}

/// A key that takes a value or a table becomes a table when one of its keys is set.
#[test]
fn keys_below_a_plain_value_are_set() {
    let equal = |text: &str, path: &str, keys: &[(&str, &str)]| {
        let table: Vec<String> = keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let whole = read(text, vec![format!("{path}={{ {} }}", table.join(", "))]).unwrap_or_else(|e| panic!("{e}"));
        let each = keys.iter().map(|(key, value)| format!("{path}.{key}={value}")).collect();
        assert!(read(text, each).unwrap_or_else(|e| panic!("{e}")) == whole, "{path}");
    };
    equal(LOT, "flows.ftp.rtt", &[("uniform", "[\"70ms\", \"90ms\"]")]);
    equal(LOT, "flows.short-tcp.lifetime", &[("uniform", "[\"1s\", \"2s\"]")]);
    equal(EVERYTHING, "flows.bulk.start", &[("uniform", "[\"1s\", \"2s\"]")]);
    equal(LOT, "flows.file.size", &[("pareto", "\"10kb\""), ("shape", "1.2")]);
    equal(LOT, "flows.web.think", &[("exponential", "\"2s\"")]);
    equal(LOT, "topology.bottlenecks.first.loss", &[("p", "0.01"), ("1-h", "0.5")]);
    equal(LOT, "topology.egress.loss", &[("p", "0.01")]);
    let error = read(LOT, vec!["topology.bottlenecks.first.aqm.q0=20".to_string()]).unwrap_err();
    assert!(error.to_string().contains("a path that ends before 'q0'"), "{error}");
}

/// An item may be added after the last one of a list; a gap is refused.
#[test]
fn next_number_of_a_list_adds_an_item() {
    let more = ["flows.15.kind=cbr", "flows.15.rate=1mbit", "flows.15.name=more", "compare.aqm.2=codel"];
    let sets = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
    let scenario = read(LOT, sets(&more)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((scenario.flows.len(), scenario.flows[15].name.as_str(), scenario.compare.len()), (16, "more", 3));
    let error = read(LOT, sets(&["flows.16.kind=cbr"])).unwrap_err();
    assert_eq!((error.key.as_str(), error.found.as_str()), ("flows.16.kind", "16"), "{error}");
    assert!(error.accepts.contains("an index from 0 to 14, * for all of them, or 15 for a new one"), "{error}");
    let error = read(LOT, sets(&["topology.bottlenecks.b3.rate=1mbit"])).unwrap_err();
    assert!(error.accepts.contains("one of first, b2, last"), "{error}");
}
