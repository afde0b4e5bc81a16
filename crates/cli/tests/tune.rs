//! `forebay tune`: its results, their check in simulation, and refused input.

use crate::common::Place;

const LOOP: &str = include_str!("../../../examples/pi-design.toml");
/// Short runs: two seeds of 30 s.
const SHORT: [&str; 8] = ["--set", "duration=30s", "--set", "warmup=10s", "--runs", "2", "-o", "out"];

fn place(name: &str) -> Place {
    let place = Place::new(name);
    place.write("loop.toml", LOOP);
    place
}

#[test]
fn pi_is_tuned_by_model_then_simulated() {
    let place = place("tune-pi");
    let aims = ["--for", "delay-margin>=100ms", "--for", "queue<=10ms"];
    let words: Vec<&str> = ["tune", "loop.toml", "--aqm", "pi"].into_iter().chain(aims).chain(SHORT).collect();
    let found = place.run(&[&words[..], &["--json"]].concat()).good().json();
    let text = found["aqm"].as_str().unwrap();
    assert!(text.starts_with("pi preset=tuned q_ref="), "{found}");
    let aims = found["aims"].as_array().unwrap();
    assert!(aims[0]["model"].as_f64().unwrap() >= 100.0 && aims[0]["simulated"].is_null(), "{found}");
    // 37.5 packets; the design rule without aims gives 50.
    let queue = &aims[1];
    assert!(queue["model"].as_f64().unwrap() <= 10.0 && queue["simulated"]["n"] == 2, "{found}");
    // The given parameters run too, with the same seeds.
    let contenders = found["compare"]["cases"][0]["contenders"].as_array().unwrap();
    assert_eq!(contenders.iter().map(|it| it["label"].as_str().unwrap()).collect::<Vec<_>>(), [text, "pi"]);
    let shown = place.run(&words).good().stdout;
    assert!(shown.starts_with(text) && shown.contains("by the model") && shown.contains("out/report.html"), "{shown}");
}

#[test]
fn aims_that_model_cannot_meet_are_refused() {
    let place = place("tune-unmet");
    let refused = |words: &[&str], what: &[&str]| {
        let ended = place.run(&[&["tune", "loop.toml"], words, &SHORT[..]].concat());
        assert_eq!(ended.code, Some(2), "{words:?}: {ended:?}");
        what.iter().for_each(|what| assert!(ended.stderr.contains(what), "{words:?}: no {what} in {}", ended.stderr));
        assert!(!place.dir.join("out").exists(), "nothing is simulated");
    };
    let queue = ["--for", "queue<=20ms"];
    refused(
        &[&["--aqm", "pi q_ref=300"][..], &queue].concat(),
        &["no parameters that meet the aims", "q_ref=300", "queue<=20ms has 80"],
    );
    refused(&[&["--aqm", "codel"][..], &queue].concat(), &["--aqm", "no model of this discipline"]);
    refused(&["--aqm", "pi", "--for", "queue<20ms"], &["--for", "queue<20ms", "an aim such as queue<=20ms"]);
    refused(&[&["--aqm", "pi", "--aqm", "rem"][..], &queue].concat(), &["--aqm", "2 disciplines"]);
    refused(&queue, &["--aqm", "0 disciplines"]);
}
