//! Keys that vary without effect, and arguments that contradict each other or the scenario file, are refused.

use forebay_lab::load;
use forebay_lab::scenario::{Case, InputError, Overrides};

const EXAMPLE: &str = include_str!("../data/example.toml");
const LOT: &str = include_str!("../data/everything-lot.toml");
const GRAPH: &str = include_str!("../data/everything-graph.toml");

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| s.to_string()).collect()
}

fn read(text: &str, sets: &[&str], vary: &[&str], aqm: &[&str]) -> Result<Vec<Case>, InputError> {
    let overrides = Overrides { sets: words(sets), vary: words(vary), aqm: words(aqm), ..Overrides::default() };
    load::parse("scenario.toml", text, &overrides)
}

fn refused(text: &str, sets: &[&str], vary: &[&str], aqm: &[&str]) -> InputError {
    read(text, sets, vary, aqm).expect_err(&format!("{sets:?} {vary:?} {aqm:?}"))
}

/// The example without `[compare]`: its bottleneck has `raqm q0=50`.
fn alone() -> &'static str {
    EXAMPLE.split("[compare]").next().unwrap()
}

#[test]
fn discipline_of_compared_link_cannot_be_varied() {
    let bell = "topology.bottleneck.aqm";
    for (text, link, path, aqm) in [
        (EXAMPLE, "bottleneck", bell, &[][..]),
        (alone(), "bottleneck", bell, &["pi", "red"]),
        (LOT, "b2", "topology.bottlenecks.1.aqm", &[]),
        (LOT, "last", "topology.bottlenecks.last.aqm", &[]),
        (GRAPH, "core", "topology.links.core.aqm", &["pi", "red"]),
    ] {
        for values in ["raqm q0=20,raqm q0=50", "raqm q0=20"] {
            let error = refused(text, &[], &[&format!("{path}={values}")], aqm);
            assert_eq!(
                (error.file.as_str(), error.key.as_str()),
                ("--vary", format!("vary.{path}").as_str()),
                "{error}"
            );
            assert_eq!(error.found.as_str(), path, "{error}");
            assert!(error.accepts.contains("compare.aqm or --aqm") && error.accepts.contains("{q}"), "{error}");
            assert!(
                error.hint.as_deref().is_some_and(|hint| hint.contains(&format!("discipline of {link}"))),
                "{error}"
            );
        }
    }
    let error = read(&format!("{EXAMPLE}\n[vary]\n{bell} = [\"pi\", \"red\"]\n"), &[], &[], &[]).unwrap_err();
    assert_eq!((error.line, error.key.as_str()), (Some(26), "vary.topology.bottleneck.aqm"), "{error}");
    let inside = refused(EXAMPLE, &[], &["topology.bottleneck.aqm.q0=20,50"], &[]);
    assert!(inside.to_string().contains("a path that ends before 'q0'"), "{inside}");
}

#[test]
fn discipline_of_link_not_compared_can_be_varied() {
    let bell = "topology.bottleneck.aqm=pi,red";
    for (text, sets, vary) in [
        (alone(), &[][..], bell),
        (EXAMPLE, &["compare.links=[\"reverse\"]"], bell),
        (EXAMPLE, &[], "topology.bottleneck.reverse.aqm=pi,red"),
        (LOT, &[], "topology.bottlenecks.first.aqm=pi,red"),
        (LOT, &[], "topology.bottlenecks.1.reverse.aqm=pi,red"),
        (GRAPH, &[], "topology.links.core.aqm=pi,red"),
    ] {
        assert_eq!(read(text, sets, &[vary], &[]).unwrap_or_else(|e| panic!("{e}")).len(), 2, "{vary}");
    }
}

/// Two values that give identical runs would show the same results under two labels.
#[test]
fn varied_key_without_effect_is_refused() {
    let named = alone().replace("raqm q0=50", "raqm q0={q}");
    let whole = "topology.bottleneck={rate='1mbit',delay='1ms',queue='9p',aqm='pi'},\
                 {rate='1mbit',delay='1ms',queue='9p',aqm='red'}";
    for (text, vary, aqm, key, found) in [
        (named.as_str(), &["q=20,50"][..], &["pi"][..], "vary.q", "'20' and '50', which give identical runs"),
        (&named, &["flows.ftp.count=1,2", "q=20,50"], &["pi"], "vary.q", "'20' and '50', which give identical runs"),
        (&named, &["q=20,50", "flows.ftp.count=1,2"], &["pi"], "vary.q", "'20' and '50', which give identical runs"),
        (EXAMPLE, &["flows.ftp.count=5,6,5"], &[], "vary.flows.ftp.count", "'5' twice"),
        (
            EXAMPLE,
            &["topology.bottleneck.rate=1mbit,2mbit,1000kbit"],
            &[],
            "vary.topology.bottleneck.rate",
            "'1mbit' and '1000kbit', which give identical runs",
        ),
        (
            EXAMPLE,
            &["compare.labels=['a','b','c','d'],['e','f','g','h']"],
            &[],
            "vary.compare.labels",
            r#"'["a", "b", "c", "d"]' and '["e", "f", "g", "h"]', which give identical runs"#,
        ),
        (EXAMPLE, &[whole], &[], "vary.topology.bottleneck", "which give identical runs"),
    ] {
        let error = refused(text, &[], vary, aqm);
        assert_eq!((error.file.as_str(), error.key.as_str()), ("--vary", key), "{error}");
        assert!(error.found.as_str().contains(found), "{error}");
        assert!(error.accepts.contains("each value"), "{error}");
        let is_own = aqm == ["pi"] || key == "vary.topology.bottleneck";
        assert_eq!(
            error.hint.as_deref().is_some_and(|hint| hint.contains("discipline of bottleneck")),
            is_own,
            "{error}"
        );
    }
    let mixed = ["q=20,50", "flows.ftp.count=1,2"];
    let cases = read(&named, &["title=at {q}"], &mixed, &["raqm q0={q}", "droptail"]).unwrap();
    assert_eq!(cases.len(), 4, "drop-tail is the same at every q, raqm is not");
    assert_eq!(read(EXAMPLE, &[], &["report.reference=20p,50p"], &[]).unwrap().len(), 2, "settling is another");
}

/// If --set and --vary have the same path, in any notation, --vary is refused. If --set has the path of a key
/// that the file varies, the value of --set replaces the file's values.
#[test]
fn set_conflicts_with_vary_but_replaces_file_value() {
    for (set, vary) in [
        ("flows.ftp.count=3", "flows.ftp.count=1,2"),
        ("flows.ftp.count=3", "flows.0.count=1,2"),
        ("flows.0.count=3", "flows.ftp.count=1,2"),
        ("topology.access.delays.0=3ms", "topology.access.delays=['1ms'],['2ms']"),
    ] {
        let error = refused(EXAMPLE, &[set], &[vary], &[]);
        let path = vary.split('=').next().unwrap();
        assert_eq!((error.file.as_str(), error.key.as_str()), ("--vary", path), "{error}");
        assert!(error.accepts.contains("a path that --set does not set"), "{error}");
    }
    let above = read(EXAMPLE, &["topology.egress={delay='1ms'}"], &["topology.egress.delay=2ms,3ms"], &[]);
    assert_eq!(above.unwrap().len(), 2, "the axis changes a part of what is set");

    let varied =
        format!("{EXAMPLE}\n[vary]\nflows.ftp.count = [5, 6]\ntopology.access.delays = [[\"1ms\"], [\"2ms\"]]\n");
    let counts = |set: &str| {
        let cases = read(&varied, &[set], &[], &[]).unwrap_or_else(|e| panic!("{e}"));
        cases.iter().map(|case| case.scenario.flows[0].count).collect::<Vec<_>>()
    };
    assert_eq!(counts("flows.ftp.count=3"), [3, 3]);
    assert_eq!(counts("flows.0.count=3"), [3, 3]);
    let error = refused(&varied, &["topology.access.delays.0=3ms"], &[], &[]);
    assert_eq!((error.file.as_str(), error.key.as_str()), ("--set", "topology.access.delays.0"), "{error}");
    assert!(error.accepts.contains("does not overlap topology.access.delays, which varies"), "{error}");
}

/// `*` in a path means every item of a list.
#[test]
fn star_in_a_path_sets_every_list_item() {
    let two = format!("{EXAMPLE}\n[[flows]]\nkind = \"ftp\"\nname = \"other\"\ncount = 7\n");
    let error = refused(&two, &["flows.9.count=3"], &[], &[]);
    assert!(error.to_string().contains("an index from 0 to 1, * for all of them, or 2 for a new one"), "{error}");
    let counts = |sets: &[&str], vary: &[&str]| {
        let cases = read(&two, sets, vary, &[]).unwrap_or_else(|e| panic!("{e}"));
        cases.iter().map(|case| [case.scenario.flows[0].count, case.scenario.flows[1].count]).collect::<Vec<_>>()
    };
    assert_eq!(counts(&["flows.*.count=3"], &[]), [[3, 3]]);
    assert_eq!(counts(&["flows.*.count=3", "flows.other.count=4"], &[]), [[3, 4]]);
    assert_eq!(counts(&[], &["flows.*.count=1,2"]), [[1, 1], [2, 2]]);
    for (set, vary) in [("flows.*.count=3", "flows.other.count=1,2"), ("flows.other.count=3", "flows.*.count=1,2")] {
        let error = refused(&two, &[set], &[vary], &[]);
        assert!(error.accepts.contains("a path that --set does not set"), "{error}");
    }
    let error = refused(&two, &[], &["flows.*.count=1,2", "flows.other.count=3,4"], &[]);
    assert!(error.accepts.contains("does not overlap flows.*.count"), "{error}");
    let error = refused(&two, &["flows.*.cuont=3"], &[], &[]);
    assert_eq!(error.hint.as_deref(), Some("did you mean count?"), "{error}");
    let error = refused(&two, &["topology.*=3"], &[], &[]);
    assert_eq!(error.key, "topology.*", "{error}");
}

/// The option --aqm replaces the disciplines and labels of `[compare]`.
#[test]
fn set_or_vary_of_disciplines_conflicts_with_aqm() {
    for (sets, vary, file) in [
        (&[][..], &["compare.aqm=['pi'],['red']"][..], "--vary"),
        (&[], &["compare.aqm.0=pi,red"], "--vary"),
        (&[], &["compare.labels=['a'],['b']"], "--vary"),
        (&["vary.compare.aqm=[['pi'], ['red']]"], &[], "--set"),
        (&["compare.aqm=['pi']"], &[], "--set"),
        (&["compare.labels=['a']"], &[], "--set"),
    ] {
        let error = refused(EXAMPLE, sets, vary, &["codel"]);
        assert_eq!(error.file, file, "{error}");
        assert!(error.accepts.contains("a path that --aqm does not replace"), "{error}");
        assert!(read(EXAMPLE, sets, vary, &[]).is_ok() || sets.len() + vary.len() == 1);
    }
    let varied = format!("{EXAMPLE}\n[vary]\nflows.ftp.count = [5, 6]\ncompare.aqm = [[\"pi\"], [\"red\"]]\n");
    let cases = read(&varied, &[], &[], &["codel"]).unwrap();
    let labels: Vec<&str> = cases.iter().map(|case| case.scenario.compare[0].label.as_str()).collect();
    assert_eq!(labels, ["codel", "codel"], "the file's own give way, and so does their axis");
}

/// The file, --set and --vary give the same name to a value of a key that varies. The name has one line.
#[test]
fn name_of_varied_value_is_independent_of_notation() {
    let points = |text: &str, sets: &[&str], vary: &[&str]| {
        let cases = read(text, sets, vary, &[]).unwrap_or_else(|e| panic!("{e}"));
        cases.into_iter().map(|case| case.axes[0].1.clone()).collect::<Vec<_>>()
    };
    let axis = "topology.access.delays";
    let want = ["[\"10ms\"]", "[\"10ms\", \"50ms\"]"];
    let values = "[['10ms'],['10ms','50ms']]";
    assert_eq!(points(EXAMPLE, &[&format!("vary.{axis}={values}")], &[]), want);
    assert_eq!(points(EXAMPLE, &[], &[&format!("{axis}={values}")]), want);
    let file = format!("{EXAMPLE}\n[vary]\n{axis} = [[\n'10ms' # near\n], ['10ms',\n'50ms']]\n");
    assert_eq!(points(&file, &[], &[]), want);
    assert_eq!(points(EXAMPLE, &[], &["title=\"1..2/3\",b"]), ["1..2/3", "b"], "a text in quotes is no range");
}

/// Control characters would break tables or send control sequences to the terminal.
#[test]
fn titles_and_labels_have_no_control_characters() {
    for (set, key) in [
        ("title=\"a\\nb\"", "title"),
        ("compare.labels=[\"a\", \"b\", \"c\", \"\\u001b[31m\"]", "compare.labels[3]"),
        ("vary.title=[\"a\", \"b\\tc\"]", "vary.title"),
    ] {
        let error = refused(EXAMPLE, &[set], &[], &[]);
        assert_eq!((error.file.as_str(), error.key.as_str()), ("--set", key), "{error}");
        assert!(error.accepts.contains("control characters"), "{error}");
    }
    let untitled = EXAMPLE.replace("title    = \"RAQM case 1\"", "");
    let cases = load::parse("a\nb.toml", &untitled, &Overrides::default()).unwrap();
    assert_eq!(cases[0].scenario.title, "a_b");
}
