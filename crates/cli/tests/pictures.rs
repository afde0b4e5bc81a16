//! `forebay plot`, `forebay compare`, and the figures that a scenario declares.

use std::fs;

use crate::common::Place;

const FIGURE: &str = r#"
[[figure]]
id = "Fig. 1"
title = "queue of drop-tail"
kind = "series"
x = { label = "time", unit = "s" }
y = { label = "queue", unit = "packets", series = "queue_pkts" }
lines = [{ of = "droptail" }]
"#;

#[test]
fn plot_subcommand_writes_svg_pdf_and_png() {
    let place = Place::new("plot");
    place.run(&["run", "short.toml", "--runs", "2", "-o", "out", "-q"]).good();
    let list = place.run(&["plot", "out"]).good().stdout;
    assert!(list.lines().any(|line| line.starts_with("queue-against-time ") && line.ends_with("Queue against time")));
    for (file, begins) in [("a.svg", &b"<svg "[..]), ("a.pdf", b"%PDF-"), ("a.png", b"\x89PNG")] {
        let words = ["plot", "out", "--figure", "queue-against-time", "-o", file, "--width", "88mm"];
        assert_eq!(place.run(&words).good().stdout.trim(), file);
        assert!(fs::read(place.dir.join(file)).unwrap().starts_with(begins), "{file}");
    }
    let svg = fs::read_to_string(place.dir.join("a.svg")).unwrap();
    for part in ["width=\"249.4pt\"", "time (s)", "queue (packets)", ">droptail</text>"] {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    let json = place.run(&["plot", "out", "--json"]).good().json();
    assert_eq!(json["figures"].as_array().unwrap().len(), list.lines().count());
}

#[test]
fn plot_subcommand_refuses_wrong_figure_format_and_width() {
    let place = Place::new("plot-errors");
    place.run(&["run", "short.toml", "--runs", "1", "-o", "out", "-q"]).good();
    for (words, want) in [
        (&["--figure", "queue-against-tine", "-o", "a.svg"][..], "did you mean queue-against-time?"),
        (&["--figure", "queue-against-time", "-o", "a.gif"], "a file that ends in .svg, .pdf or .png"),
        (&["--figure", "queue-against-time", "-o", "a.svg", "--width", "3"], "such as 3.5in or 88mm"),
        (&["--figure", "queue-against-time"], "--output"),
    ] {
        let ended = place.run(&[&["plot", "out"], words].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(want), "{want}: {ended:?}");
    }
    assert!(place.run(&["plot", "nothing"]).stderr.contains("no such directory"));
}

#[test]
fn figure_added_to_a_scenario_needs_no_runs() {
    let place = Place::new("figures");
    let base = fs::read_to_string(place.dir.join("short.toml")).unwrap();
    place.run(&["run", "short.toml", "--runs", "1", "-o", "out", "-q"]).good();
    fs::write(place.dir.join("short.toml"), base.clone() + FIGURE).unwrap();
    let again = place.run(&["run", "short.toml", "--runs", "1", "-o", "out"]).good();
    assert!(again.stderr.contains("all of them already finished"), "{again:?}");
    let list = place.run(&["plot", "out"]).good().stdout;
    assert!(list.lines().any(|line| line.starts_with("fig-1 ")), "{list}");
    assert!(fs::read_to_string(place.dir.join("out/report.html")).unwrap().contains("queue of drop-tail"));
    // The stored scenario has the figure and reads back as the same experiment.
    place.run(&["run", "out/scenario.toml", "--runs", "1", "-o", "out", "-q"]).good();
    // Disciplines given in place of those of the file have no line in the figure.
    let other = place.run(&["run", "short.toml", "--aqm", "pie", "--runs", "1", "-o", "other", "-q"]).good();
    assert!(!other.stdout.is_empty());
    assert!(!place.run(&["plot", "other"]).good().stdout.contains("fig-1 "));
    for (from, to, want) in [
        ("x = {", "x = { log = true, from = 0,", "a logarithmic axis begins and ends above 0"),
        ("of = \"droptail\"", "of = \"droptial\"", "figure[0].lines[0].of: found 'droptial'"),
        ("kind = \"series\"", "kind = \"serie\"", "figure[0]: found unknown variant"),
        ("id = ", "section = \"a\"\nid = ", "figure[0].section"),
        ("series = \"queue_pkts\"", "scale = 2", "y does not say which series"),
    ] {
        fs::write(place.dir.join("bad.toml"), base.clone() + &FIGURE.replace(from, to)).unwrap();
        let ended = place.run(&["run", "bad.toml"]);
        assert!(ended.code == Some(2) && ended.stderr.contains(want), "{want}: {ended:?}");
    }
}

/// `forebay compare DIR DIR` pairs the runs of the directories by seed. It lists the keys of the scenarios whose values
/// differ.
#[test]
fn compare_subcommand_pairs_runs_and_names_differing_keys() {
    let place = Place::new("compare");
    place.run(&["run", "short.toml", "--runs", "3", "-o", "a", "-q"]).good();
    let set = ["--set", "topology.bottleneck.queue=30p"];
    place.run(&[&["run", "short.toml", "--runs", "3", "-o", "b", "-q"], &set[..]].concat()).good();
    let out = place.run(&["compare", "a", "b"]).good().stdout;
    assert!(out.starts_with("topology.bottleneck.queue: 100p in a, 30p in b\n"), "{out}");
    let rows = |name: &str| out.lines().filter(|line| line.split_whitespace().any(|word| word == name)).count();
    assert!(rows("a") >= 4 && rows("b") >= 4 && out.contains("minus the first"), "{out}");
    let json = place.run(&["compare", "a", "b", "--json"]).good().json();
    let case = &json["compare"]["cases"][1];
    assert_eq!(
        (case["axes"]["discipline"].as_str(), case["contenders"][1]["label"].as_str()),
        (Some("droptail"), Some("b [discipline=droptail]"))
    );
    let difference = &case["contenders"][1]["difference"]["queue_pkts.mean"];
    assert!(difference["mean"].as_f64().unwrap() < 0.0 && difference["n"] == 3, "a smaller buffer has a shorter queue");
    // A sweep and a single run have one table: the run has no value of the axis.
    let sweep = ["sweep", "short.toml", "--vary", "flows.ftp.count=5,8", "--runs", "2", "-o", "c", "-q"];
    place.run(&sweep).good();
    let mixed = place.run(&["compare", "a", "c"]).good().stdout;
    assert!(mixed.contains("vary.flows.ftp.count: not set in a, 5 8 in c"), "{mixed}");
    let cells = |name: &str| {
        let row = mixed.lines().find(|line| line.split("  ").map(str::trim).any(|cell| cell == name));
        row.unwrap_or_else(|| panic!("{mixed}")).split("  ").filter(|cell| !cell.trim().is_empty()).count()
    };
    assert_eq!(cells("a"), cells("c"), "{mixed}");
    let twice = place.run(&["compare", "a", "a"]);
    assert!(twice.code == Some(2) && twice.stderr.contains("each directory once"), "{twice:?}");
    assert!(place.run(&["compare", "a", "nothing"]).stderr.contains("no such directory"));
}
