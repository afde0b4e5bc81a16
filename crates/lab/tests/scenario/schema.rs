//! The published JSON Schema and the reader of scenario files accept the same keys and bounds.

use std::collections::BTreeSet;

use forebay_lab::load;
use forebay_lab::scenario::{self, Overrides};
use serde_json::{Map, Value, json};

const EXAMPLE: &str = include_str!("../data/example.toml");
const EVERYTHING: &str = include_str!("../data/everything.toml");
const LOT: &str = include_str!("../data/everything-lot.toml");
const GRAPH: &str = include_str!("../data/everything-graph.toml");

/// The part of JSON Schema that our schema uses.
fn valid(schema: &Value, value: &Value) -> bool {
    let rules = schema.as_object().unwrap();
    rules.iter().all(|(rule, arg)| match rule.as_str() {
        "$schema" | "title" | "description" | "additionalProperties" => true,
        "type" => arg.as_array().map_or_else(|| is_a(arg, value), |types| types.iter().any(|t| is_a(t, value))),
        "properties" => value.as_object().is_none_or(|object| valid_keys(rules, arg, object)),
        "required" => arg.as_array().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some()),
        "const" => value == arg,
        "enum" => arg.as_array().unwrap().contains(value),
        "anyOf" => arg.as_array().unwrap().iter().any(|s| valid(s, value)),
        "oneOf" => arg.as_array().unwrap().iter().filter(|s| valid(s, value)).count() == 1,
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| valid(arg, item))),
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= arg.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= arg.as_u64().unwrap()),
        "minimum" => value.as_f64().is_none_or(|x| x >= arg.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|x| x <= arg.as_f64().unwrap()),
        "pattern" => value.as_str().is_none_or(|text| text.contains('{')),
        other => panic!("a rule that this test does not know: {other}"),
    })
}

fn is_a(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("{other}"),
    }
}

fn valid_keys(rules: &Map<String, Value>, properties: &Value, object: &Map<String, Value>) -> bool {
    let open = rules.get("additionalProperties") != Some(&json!(false));
    object.iter().all(|(key, value)| properties.get(key).map_or(open, |schema| valid(schema, value)))
}

fn document(text: &str) -> Value {
    serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap()
}

/// `path`, with the kind of the table if it has one: keys of different kinds of flows are different.
fn of_kind(path: &str, kind: Option<&Value>) -> String {
    kind.map_or(path.to_string(), |kind| format!("{path}<{}>", kind.as_str().unwrap_or_default()))
}

/// Every key of the schema, with the path of its tables.
fn keys(schema: &Value, path: &str, out: &mut BTreeSet<String>) {
    let path = of_kind(path, schema.pointer("/properties/kind/const"));
    for (rule, arg) in schema.as_object().unwrap() {
        match rule.as_str() {
            "properties" => {
                for (key, inner) in arg.as_object().unwrap() {
                    let path = format!("{path}.{key}");
                    keys(inner, &path, out);
                    out.insert(path);
                }
            }
            "items" => keys(arg, &path, out),
            "anyOf" | "oneOf" => arg.as_array().unwrap().iter().for_each(|s| keys(s, &path, out)),
            _ => {}
        }
    }
}

/// Every key of a document, in the same notation.
fn used(value: &Value, path: &str, out: &mut BTreeSet<String>) {
    let path = of_kind(path, value.get("kind"));
    match value {
        Value::Object(object) => object.iter().for_each(|(key, inner)| {
            let path = format!("{path}.{key}");
            used(inner, &path, out);
            out.insert(path);
        }),
        Value::Array(items) => items.iter().for_each(|item| used(item, &path, out)),
        _ => {}
    }
}

#[test]
fn schema_accepts_scenarios_that_the_reader_accepts() {
    let schema = scenario::schema();
    for text in [EXAMPLE, EVERYTHING, LOT, GRAPH] {
        assert!(valid(&schema, &document(text)), "{text}");
        let written = load::parse("s.toml", text, &Overrides::default()).unwrap()[0].scenario.to_toml();
        assert!(valid(&schema, &document(&written)), "{written}");
    }
}

/// Keys of an access group about its receivers.
const OWN_EGRESS: &str = r#"egress = { preset = "wifi", rate = "20mbit", delay = "1ms", queue = "50p" }"#;

const WAN: &str = r#"{ name = "wan", rate = "10mbit", delays = ["9ms"] }"#;

/// The example with its hosts in a group, and a second group.
fn everything_named() -> String {
    let access = EXAMPLE.lines().find(|line| line.starts_with("access")).unwrap();
    let group =
        access.replace("{ hosts", "[{ name = \"lan\", hosts").replace("\" }", &format!("\", {OWN_EGRESS} }}, {WAN}]"));
    EXAMPLE.replace(access, &group)
}

/// Every distribution of sizes and times.
const DISTRIBUTIONS: [(&str, &str); 4] = [
    ("{ uniform = [\"1kb\", \"2kb\"] }", "{ uniform = [\"1s\", \"2s\"] }"),
    ("{ exponential = \"1kb\" }", "{ exponential = \"1s\" }"),
    ("{ pareto = \"1kb\", shape = 1.2, most = \"1mb\" }", "{ pareto = \"1s\", shape = 1.2, most = \"9s\" }"),
    ("{ lognormal = \"1kb\", sigma = 1.2, most = \"1mb\" }", "{ lognormal = \"1s\", sigma = 1.2, most = \"9s\" }"),
];

/// The scenario with keys that are written only if they are given: `dscp`; the packet size of connections, and several objects
/// of a page.
fn with_further_keys(written: &str) -> [String; 2] {
    let text: String =
        written.lines().filter(|line| !line.starts_with("dscp")).map(|line| format!("{line}\n")).collect();
    let dscp = text.replace("\nclass = ", "\ndscp = \"cs1\"\nclass = ");
    let mut pages = written.replace("\nkind = \"web\"\n", "\nkind = \"web\"\nobjects = 50\nconnections = 6\n");
    for kind in ["web", "ftp", "file", "short-tcp"] {
        let line = format!("\nkind = \"{kind}\"\n");
        pages = pages.replace(&line, &format!("{line}packet = 1000\n"));
    }
    [dscp, pages]
}

#[test]
fn reader_accepts_every_key_of_the_schema() {
    let (mut declared, mut present) = (BTreeSet::new(), BTreeSet::new());
    keys(&scenario::schema(), "", &mut declared);
    for text in [EVERYTHING, LOT, GRAPH] {
        let everything = format!("{text}\n[vary]\nduration = [\"100s\", \"200s\"]\n");
        let cases = load::parse("s.toml", &everything, &Overrides::default()).unwrap();
        used(&document(&everything), "", &mut present);
        used(&document(&cases[0].scenario.to_toml()), "", &mut present);
    }
    // Keys that are written only if they differ from the defaults of the sender.
    let written = load::parse("s.toml", EVERYTHING, &Overrides::default()).unwrap()[0].scenario.to_toml();
    for more in [
        "tcp = \"dctcp\"\nkernel_tcp = \"vegas\"\nstack = \"linux\"\naccecn = \"field\"\nect_retransmissions = false\n\
         ect_acks = false\n",
        "tcp = \"prague\"\nvirtual_rtt = \"1us\"\nlow_rate = true\n",
        "tcp = \"ledbat\"\ntarget = \"5ms\"\ngain = 10\n",
        "tcp = \"reno\"\necn_beta = 0.8\nbyte_counting = 2\nslow_start = \"hystart++\"\nwindow_validation = \"rfc7661\"\n",
    ] {
        // `ecn_beta` needs ECN, and `l4s` is for another control.
        let line = |line: &str| match line.split_once(" = ").map_or("", |(key, _)| key) {
            "tcp" => more.to_string(),
            "ecn" if more.contains("reno") => "ecn = true\n".to_string(),
            "l4s" if more.contains("reno") || more.contains("ledbat") => String::new(),
            _ => format!("{line}\n"),
        };
        let text: String = written.lines().map(line).collect();
        let cases = load::parse("s.toml", &text, &Overrides::default()).unwrap();
        used(&document(&cases[0].scenario.to_toml()), "", &mut present);
    }
    for text in with_further_keys(&written) {
        let cases = load::parse("s.toml", &text, &Overrides::default()).unwrap();
        used(&document(&cases[0].scenario.to_toml()), "", &mut present);
    }
    let (named, own) = (everything_named(), LOT.replace("jitter = \"1us\"", OWN_EGRESS));
    let wires = [
        (EXAMPLE, vec!["topology.bottleneck", "topology.bottleneck.reverse", "topology.access", "topology.egress"]),
        (&named, vec!["topology.access.0", "topology.access.0.egress"]),
        (LOT, vec!["topology.bottlenecks.last", "topology.egress"]),
        (GRAPH, vec!["topology.links.3.reverse"]),
        (&own, vec!["topology.access.lan", "topology.access.lan.egress", "topology.bottlenecks.first.reverse"]),
    ];
    for (text, places) in wires {
        used(&document(text), "", &mut present);
        let levels = "rate_levels={ rates = [\"1mbit\", \"2mbit\"], hold = \"1s\" }";
        for change in ["rate_trace=[1, 2]", "rate_steps=[[\"1s\", \"1mbit\"]]", levels] {
            let loss = "loss={ p = 0.1, r = 0.2, 1-h = 0.9, 1-k = 0.1 }";
            let delays = ["delay_trace=[[\"0s\", \"5ms\"]]", "delay_jitter=1ms"];
            let keys = [change, loss].into_iter().chain(delays);
            let sets = places.iter().flat_map(|place| keys.clone().map(move |key| format!("{place}.{key}"))).collect();
            let cases = load::parse("s.toml", text, &Overrides { sets, ..Overrides::default() }).unwrap();
            used(&document(&cases[0].scenario.to_toml()), "", &mut present);
        }
    }
    for (size, think) in DISTRIBUTIONS {
        let sets = ["users", "mail"]
            .map(|flows| [format!("flows.{flows}.size={size}"), format!("flows.{flows}.think={think}")]);
        let overrides = Overrides { sets: sets.concat(), ..Overrides::default() };
        let cases = load::parse("s.toml", EVERYTHING, &overrides).unwrap();
        used(&document(&cases[0].scenario.to_toml()), "", &mut present);
    }
    for rtt in [
        "{ uniform = [\"67ms\", \"90ms\"] }",
        "{ quantiles = [[0, \"67ms\"], [1, \"90ms\"]] }",
        "{ measured = [\"67ms\"] }",
    ] {
        let sets = vec![format!("flows.*.rtt={rtt}")];
        let cases = load::parse("s.toml", LOT, &Overrides { sets, ..Overrides::default() }).unwrap();
        used(&document(&cases[0].scenario.to_toml()), "", &mut present);
    }
    let of_files = declared.iter().filter(|key| key.ends_with(".rtt.file") || key.ends_with(".rtt.unit"));
    present.extend(of_files.cloned());
    // The packets of a file are written inline.
    present.extend([".flows<trace>.file", ".flows<rtp>.file"].map(str::to_string));
    // docs/claims.md has the keys of a figure.
    let figure = "[[figure]]\nid = \"a\"\ntitle = \"b\"\nkind = \"cdf\"\nx = { label = \"c\" }\ny = { label = \"d\" }\n\
         lines = [{ of = \"droptail\" }]\n";
    let cases = load::parse("s.toml", &format!("{EXAMPLE}\n{figure}"), &Overrides::default()).unwrap();
    assert_eq!(cases[0].scenario.figures.len(), 1);
    present.insert(".figure".to_string());
    present.remove(".vary.duration");
    let differing: Vec<&String> = declared.symmetric_difference(&present).collect();
    assert!(differing.is_empty(), "declared or read, but not both: {differing:#?}");
}

#[test]
fn schema_and_reader_refuse_the_same_invalid_scenarios() {
    let edits = [
        ("version  = 1", "version = 2"),
        ("duration = \"200s\"", ""),
        ("warmup", "warmpu"),
        ("packet   = 500", "packet = 40"),
        ("\"dumbbell\"", "\"graph\""),
        ("\"dumbbell\"", "\"parking-lot\""),
        ("\"dumbbell\"", "\"star\""),
        ("aqm = \"raqm q0=50\" }", "loss = { q = 0.1 } }"),
        ("aqm = \"raqm q0=50\" }", "rate_steps = \"5s\" }"),
        ("aqm = \"raqm q0=50\" }", "rate_steps = [\"5s\", \"1mbit\"] }"),
        ("aqm = \"raqm q0=50\" }", "rate_trace = 3 }"),
        ("aqm = \"raqm q0=50\" }", "study = 1 }"),
        ("hosts = 5", "hosts = 0"),
        ("hosts = 5", "hosts = 10001"),
        ("delays = [\"10ms\"]", "delays = []"),
        ("queue = \"100p\"", "qeuue = \"100p\""),
        ("rate = \"10mbit\", delay = \"10ms\" }", "rate = true, delay = \"10ms\" }"),
        ("\"ftp\"", "\"web\""),
        ("count = 40", "count = 1000001"),
        ("count = 40", "count = 40\nclass = 256"),
        ("count = 40", "count = 40\nclass = \"hosts\""),
        ("count = 40", "count = 40\nrate = \"1mbit\""),
        ("\"newreno\"", "\"vegas\""),
        ("kind  = \"ftp\"", "kind = \"cbr\"\nrate = \"1mbit\"\necn = \"ce\""),
        ("[\"0s\", \"1s\"]", "[\"0s\"]"),
        ("series = [\"queue\", \"raqm.p\"]", "series = \"queue\""),
    ];
    let schema = scenario::schema();
    for (from, to) in edits {
        assert!(EXAMPLE.contains(from), "{from}");
        let text = EXAMPLE.replacen(from, to, 1);
        assert!(load::parse("s.toml", &text, &Overrides::default()).is_err(), "{to}");
        assert!(!valid(&schema, &document(&text)), "{to}");
    }
}
