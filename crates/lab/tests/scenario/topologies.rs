//! Parking lots, graphs, losses on links and changing link rates, from the scenario file to the results of a run.

use std::fs;
use std::path::PathBuf;

use forebay_lab::load;
use forebay_lab::plan::{Job, Plan};
use forebay_lab::record::{RunRecord, RunSummary};
use forebay_lab::scenario::{Case, InputError, Overrides};

const LOT: &str = include_str!("../data/everything-lot.toml");
const GRAPH: &str = include_str!("../data/everything-graph.toml");

/// Five TCP flows over 10 Mb/s for 10 s; the given keys go into the bottleneck.
fn bell(more: &str, flows: &str) -> String {
    format!(
        r#"
        version = 1
        duration = "10s"
        warmup = "2s"
        [topology]
        kind = "dumbbell"
        bottleneck = {{ rate = "10mbit", delay = "10ms", queue = "100p"{more} }}
        access = {{ rate = "100mbit", delays = ["1ms"], hosts = 5 }}
        egress = {{ delay = "1ms" }}
        [[flows]]
        kind = "ftp"
        count = 5
        {flows}
        "#
    )
}

fn read(text: &str) -> Result<Vec<Case>, InputError> {
    load::parse("scenario.toml", text, &Overrides::default())
}

fn run_cases(cases: Vec<Case>) -> RunRecord {
    let plan = Plan::new(cases, 1, 1);
    plan.run(Job { case: 0, contender: 0, seed: 1 }, &mut ()).unwrap().unwrap()
}

fn run(text: &str) -> RunRecord {
    run_cases(read(text).unwrap_or_else(|e| panic!("{e}")))
}

/// The results have a summary of each link under study, also of a reverse direction.
#[test]
fn every_link_under_study_has_a_summary() {
    let lot = run(LOT);
    let links: Vec<&str> = lot.summaries().map(|s| s.link.as_str()).collect();
    assert_eq!(links, ["b2", "b2-reverse", "last"]);
    assert!(lot.summaries().all(|s| s.offered_pkts > 0));
    let graph = run(GRAPH);
    let links: Vec<&str> = graph.summaries().map(|s| s.link.as_str()).collect();
    assert_eq!(links, ["core", "core-reverse"]);
    assert!(graph.summaries().all(|s| s.offered_pkts > 0 && s.wire_lost_pkts > 0));
    let probes: Vec<bool> =
        graph.all_series().map(|(_, s)| s.probes.iter().any(|(p, _)| p.starts_with("red."))).collect();
    assert_eq!(probes, [true, false], "the reverse has pi");
}

/// A row of results names the discipline of its link: one of `[compare]` if that applies to the link, else that of the
/// link's table.
#[test]
fn table_row_names_the_discipline_of_its_link() {
    let named = |text: &str, contender| {
        let plan = Plan::new(read(text).unwrap(), 1, 1);
        let record = plan.run(Job { case: 0, contender, seed: 1 }, &mut ()).unwrap().unwrap();
        let row = |s: &RunSummary| [s.link.as_str(), &s.label, &s.aqm, &s.contender_here()].join(" | ");
        record.summaries().map(row).collect::<Vec<_>>()
    };
    let raqm =
        ["b2 | raqm | raqm | raqm", "b2-reverse | raqm | codel | raqm (codel here)", "last | raqm | raqm | raqm"];
    assert_eq!(named(LOT, 0), raqm);
    let text =
        LOT.replace("[\"b2\", \"last\"]", "[\"last\"]").replace("\"160kb\"", "\"160kb\"\naqm = \"pi  q_ref=20\"");
    let text = text.replace("reverse = { rate_steps", "reverse = { study = true, rate_steps")
        + "[vary]\nflows.ftp.count = [3]";
    let point = "raqm [flows.ftp.count=3]";
    let rows = [("b2", "pi q_ref=20p"), ("b2-reverse", "codel"), ("last", "raqm"), ("last-reverse", "droptail")];
    assert_eq!(
        named(&text, 0),
        rows.map(|(link, aqm)| {
            let here = if aqm == "raqm" { String::new() } else { format!(" ({aqm} here)") };
            format!("{link} | {point} | {aqm} | raqm{here}")
        })
    );
}

/// A parking lot with one bottleneck of the same name is the same network as a dumbbell: its reverse link has another
/// name, but draws no random numbers.
#[test]
fn parking_lot_with_one_bottleneck_equals_dumbbell() {
    let bell = bell(", aqm = \"raqm\"", "");
    let lot = bell
        .replace("\"dumbbell\"", "\"parking-lot\"")
        .replace("bottleneck = {", "bottlenecks = [{ name = \"bottleneck\",")
        .replace("\"raqm\" }", "\"raqm\" }]");
    let (bell, lot) = (run(&bell), run(&lot));
    assert_eq!(bell.summary.fingerprint, lot.summary.fingerprint);
    assert_eq!((bell.queue_shares, bell.flows), (lot.queue_shares, lot.flows));
}

#[test]
fn random_link_losses_reduce_goodput_and_are_counted() {
    let clean = run(&bell("", "")).summary;
    let lossy = run(&bell(", loss = \"5%\"", "")).summary;
    let bursts = run(&bell(", loss = { p = 0.01, r = 0.2 }", "")).summary;
    assert_eq!(clean.wire_lost_pkts, 0);
    for hurt in [&lossy, &bursts] {
        let share = hurt.wire_lost_pkts as f64 / hurt.delivered_pkts as f64;
        assert!((0.02..0.08).contains(&share), "{share}");
        assert!(hurt.goodput_bps < clean.goodput_bps && hurt.queue_pkts.mean < 0.5 * clean.queue_pkts.mean);
    }
}

#[test]
fn link_rates_change_as_scheduled() {
    let steps = run(&bell(", rate_steps = [[\"6s\", \"2mbit\"]]", "")).summary;
    // 4 s of 10 Mb/s and 4 s of 2 Mb/s.
    assert!((4e6..6.2e6).contains(&steps.goodput_bps) && steps.utilisation > 0.9, "{}", steps.goodput_bps);
    assert!((0.6..1.05).contains(&steps.goodput_ratio), "a share of what the link could carry");
    let trace = run(&bell(", rate_trace = [2, 4]", "")).summary;
    assert!((4e6..6.2e6).contains(&trace.goodput_bps), "a packet each 2 ms: {}", trace.goodput_bps);
}

/// The mean rate of a trace is the number of its deliveries, including those in its last millisecond, divided by its
/// length.
#[test]
fn link_rate_defaults_to_mean_of_its_trace() {
    for (trace, rate) in [("[5]", "2.4mbit"), ("[1, 10, 10, 10]", "4.8mbit"), ("[1000]", "12kbit")] {
        let text = bell("", "").replace("rate = \"10mbit\"", &format!("rate_trace = {trace}"));
        let written = read(&text).unwrap()[0].scenario.to_toml();
        assert!(written.contains(&format!("rate = \"{rate}\"")), "{trace}: {written}");
    }
}

/// 100 kb/s carry 312 acknowledgements per second, one per data packet: 3.7 Mb/s of 1500-byte packets.
#[test]
fn return_path_may_be_slower_than_forward_path() {
    let more = ", reverse = { rate = \"100kbit\", queue = \"10p\", study = true }";
    let narrow = run(&bell(more, ""));
    let back = narrow.summaries().nth(1).unwrap();
    assert_eq!(back.link, "reverse");
    assert!(back.utilisation > 0.9 && back.loss_ratio > 0.05, "{back:?}");
    assert_eq!(back.goodput_bps, 0.0, "no data passes it");
    let against = run(&bell(", reverse = { study = true }", "direction = \"reverse\""));
    let back = against.summaries().nth(1).unwrap();
    assert!(back.goodput_bps > 8e6 && against.summary.goodput_bps == 0.0);
}

#[test]
fn flow_across_more_bottlenecks_gets_less_goodput() {
    let text = LOT.split("[[flows]]").next().unwrap().replace("loss = 0.001", "").replace("loss = { p = \"1%\" }", "");
    let group = |name: &str, span: &str| {
        format!("[[flows]]\nname = \"{name}\"\nkind = \"ftp\"\ncount = 5\nhosts = \"lan\"\n{span}\n")
    };
    let one = "enter = \"last\"";
    let record = run(&(text + &group("through", "") + &group("cross", one)));
    let goodput = |name: &str| record.flows.iter().filter(|f| f.group == name).map(|f| f.goodput_bytes).sum::<u64>();
    assert!(goodput("through") * 2 < goodput("cross"), "{} {}", goodput("through"), goodput("cross"));
    let last = record.summaries().last().unwrap();
    assert!((last.goodput_bps * 20.0 / 8.0 - (goodput("through") + goodput("cross")) as f64).abs() < 1.0);
}

#[test]
fn wrong_parking_lots_and_graphs_are_refused() {
    let table = [
        (LOT, "leave = \"b2\"\narr", "leave = \"b3\"\narr", "flows.short-tcp.leave", "b3", "did you mean b2?"),
        (
            LOT,
            "enter = \"b2\"\nleave = \"b2\"",
            "enter = \"last\"\nleave = \"b2\"",
            "flows.cbr.leave",
            "b2",
            "enter or a bottleneck after it",
        ),
        (LOT, "hosts = \"wifi\"", "hosts = \"wify\"", "flows.ftp.hosts", "wify", "did you mean wifi?"),
        (LOT, "hosts = \"wifi\"", "from = \"b2\"", "flows.ftp.from", "b2", "kind graph"),
        (LOT, "name = \"wifi\"", "name = \"lan\"", "topology.access.lan.name", "lan", "a name unique among groups"),
        (LOT, "name = \"wifi\"", "", "topology.access.1.name", "nothing", "a name for the group"),
        (
            LOT,
            "name = \"last\"",
            "name = \"first\"",
            "topology.bottlenecks.2.name",
            "first",
            "a name unique among links",
        ),
        (LOT, "name = \"last\"", "name = \"b2-reverse\"", "topology.bottlenecks.2.name", "b2-reverse", "NAME-reverse"),
        (LOT, "name = \"last\"", "name = \"3\"", "topology.bottlenecks.3.name", "3", "not digits alone"),
        (LOT, "\"160kb\"", "\"900b\"", "topology.bottlenecks.1.queue", "900b", "at least 1500b"),
        (LOT, "\"500p\"", "\"900b\"", "topology.access.0.queue", "900b", "at least 1500b"),
        (LOT, "[\"b2\", \"last\"]", "[\"b2\", \"lost\"]", "compare.links[1]", "lost", "did you mean last?"),
        (LOT, "[\"b2\", \"last\"]", "[\"b2\", \"b2\"]", "compare.links[1]", "b2", "each link once"),
        (GRAPH, "to = \"b\"\nweight", "to = \"x\"\nweight", "topology.links.core.to", "x", "one of a, b, c, 1"),
        (GRAPH, "to = \"b\"\nweight", "to = \"a\"\nweight", "topology.links.core.to", "a", "a node other than from"),
        (GRAPH, "weight = 2", "weight = 0", "topology.links.core.weight", "0", "from 1"),
        (GRAPH, "\"c\", \"1\"]", "\"c\", \"c\"]", "topology.nodes[3]", "c", "a name unique among nodes"),
        (GRAPH, "to = \"c\"\ncount", "to = \"a\"\ncount", "flows.ftp.to", "a", "a node other than from"),
        (GRAPH, "from = \"a\"\nto = \"c\"", "to = \"c\"", "flows.ftp.from", "nothing", "one of a, b, c, 1"),
        (GRAPH, "from = \"a\"\nto = \"c\"", "hosts = \"a\"\nto = \"c\"", "flows.ftp.hosts", "a", "parking-lot"),
        (GRAPH, "one_way = true", "one_way = true\nreverse = {}", "topology.links.2.reverse", "a table", "no reverse"),
        (GRAPH, "one_way = true", "one_way = 1", "topology.links.2.one_way", "1", "true or false"),
    ];
    for (text, from, to, key, found, words) in table {
        assert!(text.contains(from), "{from}");
        let error = read(&text.replacen(from, to, 1)).expect_err(to);
        assert_eq!((error.key.as_str(), error.found.as_str()), (key, found), "{error}");
        assert!(error.line.is_some() && error.to_string().contains(words), "{error}");
    }
}

/// Disciplines of the command line replace those of the file, on the same links.
#[test]
fn command_line_disciplines_apply_to_compared_links() {
    let words = |list: &[&str]| list.iter().map(|s| s.to_string()).collect();
    let read = |text: &str, sets: &[&str]| {
        let overrides = Overrides { sets: words(sets), aqm: words(&["pi", "red"]), ..Overrides::default() };
        let scenario = load::parse("s.toml", text, &overrides).unwrap_or_else(|e| panic!("{e}")).remove(0).scenario;
        let labels: Vec<String> = scenario.compare.into_iter().map(|contender| contender.label).collect();
        (labels, scenario.compared)
    };
    let both = words(&["pi", "red"]);
    assert_eq!(read(LOT, &[]), (both.clone(), words(&["b2", "last"])));
    let labelled = LOT.replace("links = [\"b2\", \"last\"]", "links = [\"first\"]\nlabels = [\"one\", \"other\"]");
    assert_eq!(read(&labelled, &[]), (both.clone(), words(&["first"])));
    assert_eq!(read(LOT, &["compare.links=[\"b2\"]"]), (both.clone(), words(&["b2"])));
    let alone = LOT.split("[compare]").next().unwrap();
    assert_eq!(read(alone, &["compare.links=[\"last\"]"]), (both.clone(), words(&["last"])));
    assert_eq!(read(alone, &[]), (both, words(&["first", "b2", "last"])));
}

#[test]
fn option_both_directions_compares_disciplines_on_opposite_links() {
    let words = |list: &[&str]| -> Vec<String> { list.iter().map(|s| s.to_string()).collect() };
    let read = |text: &str, sets: &[&str]| {
        let overrides =
            Overrides { sets: words(sets), aqm: words(&["pi", "red"]), both_directions: true, ..Overrides::default() };
        load::parse("s.toml", text, &overrides).map(|mut cases| cases.remove(0).scenario)
    };
    let links = |text: &str, sets: &[&str]| read(text, sets).unwrap_or_else(|e| panic!("{e}")).compared;
    let alone = LOT.split("[compare]").next().unwrap();
    assert_eq!(links(&bell("", ""), &[]), ["bottleneck", "reverse"]);
    assert_eq!(links(LOT, &[]), ["b2", "b2-reverse", "last", "last-reverse"]);
    assert_eq!(links(alone, &[]), ["first", "first-reverse", "b2", "b2-reverse", "last", "last-reverse"]);
    assert_eq!(links(LOT, &["compare.links=[\"last-reverse\"]"]), ["last-reverse", "last"]);
    assert_eq!(links(GRAPH, &[]), ["core", "core-reverse"], "both are under study");
    assert_eq!(links(GRAPH, &["compare.links=[\"b-c\"]"]), ["b-c", "b-c-reverse"]);
    let error = read(GRAPH, &["compare.links=[\"core\", \"c-1\"]"]).unwrap_err();
    assert_eq!((error.file.as_str(), error.line), ("--both-directions", None), "{error}");
    assert!(error.found.as_str().contains("link c-1 without a reverse direction"), "{error}");

    let scenario = read(&bell("", ""), &["topology.bottleneck.reverse.study=true"]).unwrap();
    let again = load::parse("s.toml", &scenario.to_toml(), &Overrides::default()).unwrap();
    assert_eq!(again[0].scenario, scenario);
    let disciplines: Vec<String> = run_cases(again).summaries().map(|s| s.aqm.clone()).collect();
    assert_eq!(disciplines, ["pi", "pi"]);
}

/// Tables and comparisons use the first link under study. So the same links must be under study with every combination
/// of values of the keys that vary.
#[test]
fn vary_that_changes_links_under_study_is_refused() {
    let vary = |axes: &str| read(&format!("{LOT}\n[vary]\n{axes}\n"));
    let renamed = read(&format!("{GRAPH}\n[vary]\ntopology.links.0.name = [\"core\", \"middle\"]")).unwrap_err();
    let line = GRAPH.lines().count() + 3;
    assert_eq!((renamed.found.as_str(), renamed.line), ("middle, middle-reverse", Some(line)), "{renamed}");
    for axes in ["flows.ftp.count = [1, 2]", "topology.bottlenecks.0.aqm = [\"pi\", \"red\"]"] {
        vary(axes).unwrap_or_else(|e| panic!("{e}"));
    }
    let all = "b2, b2-reverse, last";
    for (axis, values, found) in [
        ("topology.bottlenecks.first.study", "[false, true]", "first, b2, b2-reverse, last".to_string()),
        ("topology.bottlenecks.last.study", "[true, false]", "b2, b2-reverse".to_string()),
    ] {
        let error = vary(&format!("flows.ftp.count = [1, 2]\n{axis} = {values}")).expect_err(axis);
        assert_eq!((error.key.as_str(), error.found.as_str()), (format!("vary.{axis}").as_str(), found.as_str()));
        assert!(error.line.is_some() && error.accepts.contains(all), "{error}");
    }
}

/// The error points to the line of the second link's name, or of its table if the name is the default one.
#[test]
fn duplicate_link_name_is_refused_at_the_second() {
    let twice =
        "[[topology.links]]\nfrom = \"b\"\nto = \"c\"\nrate = \"5mbit\"\ndelay = \"1ms\"\nqueue = \"9p\"\n\n[[flows]]";
    for (text, to, words, key, found) in [
        (LOT, "name = \"last\"", "name = \"first\"", "topology.bottlenecks.2.name", "first"),
        (LOT, "name = \"first\"", "name = \"b2\"", "topology.bottlenecks.1", "b2"),
        (LOT, "name = \"first\"", "name = \"b2-reverse\"", "topology.bottlenecks.1", "b2-reverse"),
        (GRAPH, "[[flows]]", twice, "topology.links.4", "b-c"),
        (GRAPH, "name = \"core\"", "name = \"b-c\"", "topology.links.1", "b-c"),
    ] {
        let text = text.replacen(to, words, 1);
        let error = read(&text).expect_err(words);
        assert_eq!((error.key.as_str(), error.found.as_str()), (key, found), "{error}");
        let line = text.lines().nth(error.line.unwrap() - 1).unwrap();
        assert!(line == words || line.starts_with("[[topology."), "{error}: {line}");
    }
}

/// With `class = "host"` each host has its own service class, whose number is one byte. Each pair of a host group and a
/// span of bottlenecks has its own hosts.
#[test]
fn class_per_host_allows_at_most_256_hosts() {
    let text = LOT.replace("kind = \"ftp\"", "kind = \"ftp\"\nclass = \"host\"");
    let with =
        |hosts: u32| read(&text.replace("name = \"lan\"\nhosts = 4", &format!("name = \"lan\"\nhosts = {hosts}")));
    assert!(with(127).is_ok(), "two spans of lan, one of wifi and one of slow: 256");
    let error = with(128).unwrap_err();
    assert_eq!(error.key, "flows.ftp.class", "{error}");
    assert!(error.line.is_some() && error.accepts.contains("at most 256 hosts; there are 258"), "{error}");
}

#[test]
fn flow_to_node_without_return_path_is_refused() {
    let cut = GRAPH.replacen("from = \"1\"\nto = \"a\"\nrate", "one_way = true\nfrom = \"a\"\nto = \"1\"\nrate", 1);
    let error = read(&cut).unwrap_err();
    assert_eq!((error.key.as_str(), error.found.as_str()), ("flows.short-tcp.to", "1"), "{error}");
    assert!(error.accepts.contains("a route"), "{error}");
}

/// The scenarios in `examples` do what their titles say.
#[test]
fn example_networks_run_as_their_titles_say() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let overrides = Overrides { sets: vec!["duration=30s".to_string()], ..Overrides::default() };
    let go = |name: &str| run_cases(load::file(&folder.join(name), &overrides).unwrap_or_else(|e| panic!("{e}")));
    let lot = go("parking-lot.toml");
    let links: Vec<&str> = lot.summaries().map(|s| s.link.as_str()).collect();
    assert_eq!(links, ["west", "middle", "east"]);
    assert!(lot.summaries().all(|s| s.utilisation > 0.9));
    let mobile = go("mobile.toml");
    assert_eq!(mobile.summary.link, "uplink-reverse");
    assert!(mobile.summary.utilisation > 0.5 && mobile.flows.iter().all(|f| f.goodput_bytes > 0));
}

/// A separate folder with a scenario of this trace.
fn with_trace(folder: &str, trace: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(dir.join("traces")).unwrap();
    fs::write(dir.join("traces/cell.trace"), trace).unwrap();
    let path = dir.join("scenario.toml");
    fs::write(&path, bell(", rate_trace = \"traces/cell.trace\"", "")).unwrap();
    path
}

#[test]
fn rate_trace_is_read_and_kept_with_results() {
    let load = |path: &PathBuf| load::file(path, &Overrides::default());
    let first = load(&with_trace("trace-identity", "1\n2\n3\n")).unwrap();
    let second = load(&with_trace("trace-identity", "1\n2\n4\n")).unwrap();
    let (one, other) = (Plan::new(first.clone(), 1, 1), Plan::new(second, 1, 1));
    assert_ne!(one.hash(), other.hash());
    let job = one.jobs()[0];
    assert_ne!(one.key(job), other.key(job), "a changed trace is not mistaken for a finished run");
    let written = first[0].scenario.to_toml();
    assert!(written.contains("rate_trace = [1, 2, 3]"), "{written}");
    let again = read(&written).unwrap();
    assert_eq!(again[0].scenario, first[0].scenario, "and needs the file no more");
    assert_eq!(run_cases(again).summary.fingerprint, run_cases(first).summary.fingerprint);
}

#[test]
fn delay_trace_is_read_and_kept_with_results() {
    let path = with_trace("delay-trace", "0 20 # begins\n1500 42.5\n");
    let text = fs::read_to_string(&path).unwrap().replace("rate_trace", "delay_jitter = \"2ms\", delay_trace");
    fs::write(&path, text).unwrap();
    let cases = load::file(&path, &Overrides::default()).unwrap();
    let written = cases[0].scenario.to_toml();
    assert!(written.contains("delay_trace = [[\"0s\", \"20ms\"], [\"1.5s\", \"42.5ms\"]]"), "{written}");
    let again = read(&written).unwrap();
    assert_eq!(again[0].scenario, cases[0].scenario);
    assert_eq!(run_cases(again).summary.fingerprint, run_cases(cases).summary.fingerprint);
    fs::write(path.with_file_name("traces").join("cell.trace"), "0 20\n1500\n").unwrap();
    let error = load::file(&path, &Overrides::default()).unwrap_err();
    assert_eq!((error.line, error.found.as_str()), (Some(2), "1500"));
    assert!(error.file.ends_with("cell.trace") && error.accepts.contains("a time and a delay in ms"), "{error}");
}

#[test]
fn bad_trace_line_is_reported_with_its_file() {
    for (trace, line, found, words) in [
        ("1\n2\nx\n", 3, "x", "a whole number of milliseconds"),
        ("1\n5\n4\n", 3, "4", "no earlier"),
        ("", 1, "nothing", "a whole number of milliseconds"),
        ("0\n0\n", 2, "0", "above 0"),
    ] {
        let path = with_trace("trace-bad", trace);
        let error = load::file(&path, &Overrides::default()).unwrap_err();
        let file = path.with_file_name("traces").join("cell.trace").display().to_string();
        assert_eq!((&error.file, error.line), (&file, Some(line)), "{trace:?}");
        assert_eq!((error.key.as_str(), error.found.as_str()), ("topology.bottleneck.rate_trace", found));
        assert!(error.accepts.contains(words), "{}", error.accepts);
    }
}
