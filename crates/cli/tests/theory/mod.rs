//! `forebay theory`: its output, what the models leave out, and refused input.

mod markov;

use crate::common::Place;
use serde_json::Value;

const LOOP: &str = include_str!("../../../../examples/pi-design.toml");
const DATAGRAMS: &str = include_str!("../../../../examples/aaqm-model.toml");

fn place(name: &str) -> Place {
    let place = Place::new(name);
    place.write("loop.toml", LOOP);
    place.write("datagrams.toml", DATAGRAMS);
    place
}

fn results(place: &Place, words: &[&str]) -> Vec<Value> {
    let words: Vec<&str> = ["theory"].iter().chain(words).chain(&["--json"]).copied().collect();
    let document = place.run(&words).good().json();
    assert_eq!(document["version"], 1);
    document["results"].as_array().unwrap().clone()
}

fn near(value: &Value, want: f64, tolerance: f64) -> bool {
    value.as_f64().is_some_and(|x| (x - want).abs() <= tolerance)
}

#[test]
fn pi_of_hollot_has_designed_equilibrium_and_crossover() {
    let place = place("theory-stability");
    let found = &results(&place, &["stability", "loop.toml"])[0];
    assert_eq!(found["stable"], true);
    // W = R C/N, p = 2/W^2; the crossover is the design point of the rule.
    assert!(near(&found["window_pkts"], 15.375, 0.05) && near(&found["p_rest"], 0.00846, 5e-5), "{found}");
    assert!(near(&found["crossover_rad_per_s"], 0.53, 0.02), "{found}");
    let text = place.run(&["theory", "stability", "loop.toml", "--aqm", "codel", "--aqm", "rem b=200"]).good();
    assert!(text.stdout.contains("codel: no model of this discipline"), "{}", text.stdout);
    let rem = text.stdout.lines().find(|line| line.starts_with("rem")).unwrap();
    assert!(rem.contains(" no "), "unstable: {rem}");
}

#[test]
fn pi_and_rem_with_drops_have_an_equilibrium() {
    let place = place("theory-rest");
    let sets = ["--set", "flows.ftp.count=30", "--set", "flows.ftp.ecn=false"];
    let aqm = ["--aqm", "pi preset=ns2 q_ref=200", "--aqm", "rem preset=ns2 b=200 mean_packet=500"];
    let words: Vec<&str> = ["stability", "loop.toml"].iter().chain(&sets).chain(&aqm).copied().collect();
    for found in results(&place, &words) {
        // (1 - p) W = R C/N = 30.75 packets: p = 0.0021.
        assert_eq!(found["signals_are_drops"], true);
        assert!(near(&found["q_rest_pkts"], 200.0, 2.0) && near(&found["p_rest"], 0.00211, 3e-5), "{found}");
    }
}

#[test]
fn fluid_and_linear_model_agree_on_stability() {
    let place = place("theory-fluid");
    let aqm = ["--aqm", "pi q_ref=200", "--aqm", "rem b=200", "--aqm", "raqm_plus q0=200"];
    let with = |topic| results(&place, &[topic, "loop.toml"].iter().chain(&aqm).copied().collect::<Vec<_>>());
    for (linear, trajectory) in with("stability").iter().zip(with("fluid")) {
        let [mean, std] = ["q_mean_pkts", "q_std_pkts"].map(|key| trajectory[key].as_f64().unwrap());
        assert_eq!(linear["stable"].as_bool().unwrap(), std < 0.05 * mean, "{linear}");
        assert!((mean - 200.0).abs() < 10.0, "{mean}");
    }
}

/// Two service classes of a 10 Mb/s link that measures their round trips; the first has a third of the rate.
const CLASSES: &str = include_str!("../data/classes.toml");

#[test]
fn service_classes_in_one_queue_have_an_equilibrium() {
    let place = place("theory-classes");
    place.write("classes.toml", CLASSES);
    let found = |aqm: &str| results(&place, &["stability", "classes.toml", "--aqm", aqm])[0].clone();
    // W = phi C R/N and p = 2/W^2 for each class; Q + sum of B/alpha is the same as with Q = 0.
    let calm = found("msvb phi=0.34/0.66 alpha=0.1 b_init=45p b_cap=60p");
    let [q, rtt_ms] = ["q_rest_pkts", "rtt_ms"].map(|key| calm[key].as_f64().unwrap());
    let passes =
        [(0.34, 30.0), (0.66, 60.0)].map(|(phi, flows)| 1.0 - 2.0 * f64::powi(flows / (phi * 1.25 * rtt_ms), 2));
    assert!((q * (1.0 + passes.iter().sum::<f64>() / 0.1) / 900.0 - 1.0).abs() < 1e-6, "{calm}");
    // A threshold that would exceed its maximum stays there: that of the class with the smaller p.
    let fewer = ["--set", "flows.few.count=20", "--aqm", "msvb phi=0.34/0.66 alpha=0.1 b_cap=45p"];
    let capped = &results(&place, &[&["stability", "classes.toml"], &fewer[..]].concat())[0];
    let [q, rtt_ms] = ["q_rest_pkts", "rtt_ms"].map(|key| capped[key].as_f64().unwrap());
    let passes = 1.0 - 2.0 * f64::powi(20.0 / (0.34 * 1.25 * rtt_ms), 2);
    assert!((q * passes / 45.0 - 1.0).abs() < 1e-6, "{capped}");
    let fewest = ["--set", "flows.few.count=4", "--aqm", "msvb phi=0.34/0.66"];
    let oscillating = &results(&place, &[&["stability", "classes.toml"], &fewest[..]].concat())[0];
    assert_eq!(
        (calm["stable"].as_bool(), oscillating["stable"].as_bool()),
        (Some(true), Some(false)),
        "{calm} {oscillating}"
    );
    let refused = place.run(&["theory", "stability", "classes.toml"]).good();
    assert!(refused.stdout.contains("do not sum to 1"), "{}", refused.stdout);
    let edge = results(
        &place,
        &["stability", "classes.toml", "--critical", "--aqm", "msvb phi=0.34/0.66 alpha=0.1 b_cap=200p"],
    );
    assert!(edge[0]["critical_rate_mbps"].as_f64().is_some(), "{}", edge[0]);
}

#[test]
fn trajectories_and_distributions_are_drawn() {
    let place = place("theory-pictures");
    let lines = |words: &[&str]| {
        place.run(&[&["theory"], words, &["-o", "picture.svg"]].concat()).good();
        let drawn = std::fs::read_to_string(place.dir.join("picture.svg")).unwrap();
        assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>\n") && !drawn.contains("NaN"), "{drawn}");
        drawn.matches("<polyline").count()
    };
    assert_eq!(lines(&["fluid", "loop.toml", "--aqm", "pi q_ref=200", "--aqm", "red"]), 4, "queue and p of both");
    assert_eq!(lines(&["markov", "loop.toml", "--p", "0.008"]), 1);
    assert_eq!(lines(&["mmpp", "datagrams.toml", "--aqm", "droptail", "--aqm", "droptail th=0.5"]), 2);
    let refused = place.run(&["theory", "stability", "loop.toml", "-o", "picture.svg"]);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn theory_finds_stability_limit_of_flows_rtt_rate() {
    let place = place("theory-critical");
    let found = &results(&place, &["stability", "loop.toml", "--critical"])[0];
    // Fewer flows, longer round trips and faster links increase the gain.
    let edge = |key: &str| found[key].as_f64().unwrap();
    assert!((4.0..20.0).contains(&edge("critical_flows")), "{found}");
    assert!(edge("critical_base_rtt_factor") > 1.5 && edge("critical_rate_mbps") > 20.0, "{found}");
    let refused = place.run(&["theory", "fluid", "loop.toml", "--critical"]);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn models_report_what_they_leave_out() {
    let place = place("theory-left-out");
    let sets = ["--set", "flows.ftp.tcp=cubic", "--set", "flows.ftp.window=1000"];
    let words: Vec<&str> = ["stability", "loop.toml", "--aqm", "pi q_ref=100 th=0.9 hard_limit=300p"]
        .iter()
        .chain(&sets)
        .copied()
        .collect();
    let found = &results(&place, &words)[0];
    let left_out = found["left_out"].to_string();
    for word in ["flows.ftp.tcp", "flows.ftp.window", "th of pi"] {
        assert!(left_out.contains(word), "{word} in {left_out}");
    }
    for (topic, file, word) in [("stability", "datagrams.toml", "ftp"), ("mmpp", "loop.toml", "datagrams")] {
        let ended = place.run(&["theory", topic, file]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(file) && ended.stderr.contains(word), "{}", ended.stderr);
    }
}

#[test]
fn disciplines_without_a_model_are_refused() {
    let place = place("theory-no-model");
    for topic in ["stability", "fluid", "markov"] {
        let words = ["theory", topic, "loop.toml", "--aqm", "codel", "--aqm", "fq_codel"];
        let ended = place.run(&words);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{topic}: {ended:?}");
        let message = ended.stderr.trim();
        assert_eq!(message.lines().count(), 1, "{message}");
        let at = if topic == "markov" { "--p: found nothing" } else { "loop.toml: compare.aqm: found" };
        for part in [at, "no model of ", "raqm, ", "pi, ", "rem, ", "red, ", "avq", "svb"] {
            assert!(message.contains(part), "{topic}: no {part} in {message}");
        }
        assert!(topic == "markov" || message.contains("no model of codel, fq_codel"), "{message}");
        assert_eq!(message.contains("msvb"), topic == "stability", "of MSVB there is the linear loop alone: {message}");
        let document = place.run(&[&words[..], &["--json"]].concat());
        assert_eq!((document.code, document.stderr.as_str()), (Some(2), ""), "{topic}");
        assert_eq!(document.json()["error"]["kind"], "input", "{topic}");
    }
    let map = ["--map", "flows=5..50", "--map", "rtt=20ms..1s", "--points", "4"];
    let words = [&["theory", "stability", "loop.toml", "--aqm", "codel"][..], &map].concat();
    let ended = place.run(&words);
    assert!(ended.code == Some(2) && ended.stderr.contains("codel") && ended.stderr.contains("raqm"), "{ended:?}");
    let mmpp = ["theory", "mmpp", "datagrams.toml", "--aqm", "codel", "--aqm", "red"];
    let ended = place.run(&mmpp);
    assert!(ended.code == Some(2) && ended.stderr.contains("no model of codel, red"), "{ended:?}");
    let some = place.run(&[&mmpp[..], &["--aqm", "droptail"]].concat()).good().stdout;
    assert!(some.lines().any(|line| line.starts_with("droptail ")) && some.contains("codel: no model of"), "{some}");
    let some = &results(&place, &[&mmpp[1..], &["--aqm", "droptail"]].concat())[0];
    assert_eq!((&some["queues"][0]["label"], &some["without"][1]["label"]), (&"droptail".into(), &"red".into()));
    // A result is printed, and disciplines without a model are named.
    let some = place.run(&["theory", "stability", "loop.toml", "--aqm", "codel", "--aqm", "pi q_ref=200"]).good();
    assert!(some.stdout.contains("codel: no model of this discipline"), "{}", some.stdout);
    assert!(some.stdout.lines().any(|line| line.starts_with("pi q_ref=200 ")), "{}", some.stdout);
    // A loop without equilibrium is a result too, with its own row.
    let crowd = ["theory", "stability", "loop.toml", "--aqm", "pi q_ref=200", "--set", "flows.ftp.count=5000"];
    let none = place.run(&crowd).good();
    assert!(none.stdout.lines().any(|line| line.starts_with("pi q_ref=200 ") && line.contains(" - ")), "{none:?}");
    assert!(none.stdout.contains("no equilibrium"), "{}", none.stdout);
}

/// The specification of this project (section D.6; it is not in this repository) has the mean queue and the loss ratio,
/// computed before this code was written.
#[test]
fn mmpp_results_equal_values_of_the_specification() {
    let place = place("theory-mmpp");
    let found = &results(&place, &["mmpp", "datagrams.toml"])[0];
    let plain = &found["queues"][0];
    assert_eq!((&found["arrival_states"], &plain["states"]), (&Value::from(16), &Value::from(3216)));
    assert!(near(&plain["mean_pkts"], 23.035, 6e-4) && near(&plain["loss"], 0.016, 5e-6), "{plain}");
    let text = place.run(&["theory", "mmpp", "datagrams.toml"]).good();
    assert!(text.stdout.contains("lost: video") && text.stdout.contains("16 arrival states"), "{}", text.stdout);
}

#[test]
fn run_report_has_model_curves_that_scenario_requests() {
    let place = place("theory-report");
    let short = ["run", "loop.toml", "--runs", "1", "--set", "duration=5s", "--set", "warmup=1s", "--quiet"];
    let asked = [&short[..], &["--set", "report.theory=[\"fluid\"]", "-o", "asked"]].concat();
    place.run(&asked).good();
    place.run(&[&short[..], &["-o", "plain"]].concat()).good();
    let page = |dir: &str| std::fs::read_to_string(place.dir.join(dir).join("report.html")).unwrap();
    let line = r#""name":"fluid: pi q_ref=200""#;
    assert!(page("asked").contains(line) && !page("plain").contains(line));
    assert!(page("asked").contains(r#""partner":"pi q_ref=200""#));
    let both = |scenario: &str, model: &str, aqm: &str, dir: &str| {
        let ask = format!("report.theory=[\"{model}\"]");
        let words =
            ["--runs", "1", "--set", "duration=5s", "--set", "warmup=1s", "--quiet", "--aqm", aqm, "--set", &ask, "-o"];
        place.run(&[&["run", scenario], &words[..], &[dir]].concat()).good();
        assert!(page(dir).contains(&format!(r#""name":"{model}: {aqm}""#)), "{model}");
    };
    both("loop.toml", "markov", "pi q_ref=200", "chain");
    both("datagrams.toml", "mmpp", "droptail th=0.5", "queue");
    let refused = place.run(&[&short[..], &["--set", "report.theory=[\"fluids\"]"]].concat());
    assert!(
        refused.stderr.contains("fluid, markov, mmpp") && refused.stderr.contains("did you mean fluid"),
        "{refused:?}"
    );
}

#[test]
fn stability_map_covers_flows_and_round_trips() {
    let place = place("theory-map");
    let map = ["--map", "flows=5..250", "--map", "rtt=40ms..1s", "--points", "16"];
    let words: Vec<&str> =
        ["theory", "stability", "loop.toml", "--aqm", "raqm", "-o", "map.svg"].into_iter().chain(map).collect();
    let text = place.run(&words).good().stdout;
    assert!(text.starts_with("y axis: rtt_s, x axis: flows") && text.contains("unstable"), "{text}");
    let picture = std::fs::read_to_string(place.dir.join("map.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains(">raqm</text>") && picture.matches("<rect").count() > 16);
    let document = place.run(&[&words[..], &["--json"]].concat()).good().json();
    let near = |value: &Value, want: f64| (value.as_f64().unwrap() / want - 1.0).abs() < 1e-9;
    let sides = &document["map"];
    assert!(near(&sides["x"]["values"][0], 5.0) && near(&sides["x"]["values"][15], 250.0), "{sides}");
    assert!(near(&sides["y"]["values"][0], 0.04) && near(&sides["y"]["values"][15], 1.0), "{sides}");
    let stable = document["results"][0]["stable"].as_array().unwrap();
    assert_eq!((stable.len(), stable[0].as_array().unwrap().len()), (16, 16));
    // A loop that is stable with a long round trip is stable with a short one.
    let count = |row: &Value| row.as_array().unwrap().iter().filter(|cell| **cell == true).count();
    assert!(count(&stable[0]) >= count(&stable[15]), "{stable:?}");
}

#[test]
fn impossible_stability_maps_are_refused() {
    let place = place("theory-map-bad");
    let refused = |words: &[&str], what: &[&str]| {
        let words: Vec<&str> = ["theory"].iter().chain(words).copied().collect();
        let ended = place.run(&words);
        assert_eq!(ended.code, Some(2), "{words:?}: {ended:?}");
        what.iter().for_each(|what| assert!(ended.stderr.contains(what), "{words:?}: no {what} in {}", ended.stderr));
    };
    let (flows, rtt) = (["--map", "flows=5..50"], ["--map", "rtt=20ms..1s"]);
    refused(&[&["stability", "loop.toml"][..], &flows].concat(), &["--map", "1 sides", "two: horizontal and vertical"]);
    refused(&[&["stability", "loop.toml"][..], &flows, &flows].concat(), &["two different sides"]);
    refused(&[&["fluid", "loop.toml"][..], &flows, &rtt].concat(), &["fluid", "stability"]);
    for bad in ["flows=50..5", "flows=0..5", "flows", "flow=1..5", "rtt=1..5", "rate=1mbps..2mbit"] {
        refused(&[&["stability", "loop.toml", "--map", bad][..], &rtt].concat(), &["--map"]);
    }
    refused(&["stability", "loop.toml", "-o", "map.svg"], &["only together with --map"]);
    refused(
        &[&["stability", "loop.toml", "--critical"][..], &flows, &rtt].concat(),
        &["--critical", "either --critical or --map"],
    );
    let words = [&["stability", "loop.toml", "--aqm", "codel"][..], &flows, &rtt].concat();
    refused(&words, &["codel: no model of this discipline", "a discipline with a model: raqm, "]);
}
