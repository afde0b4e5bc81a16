//! `forebay advise`: the answer first, the commands, and lines that it refuses.

use crate::common::Place;

/// A slow line, so that the runs are short.
const LINE: [&str; 9] = ["advise", "--rate", "4mbit", "--up", "1mbit", "--rtts", "20ms..60ms", "--flows", "4"];

#[test]
fn advice_names_the_best_and_its_commands() {
    let place = Place::new("advice");
    let words = [&LINE[..], &["--device", "wan", "--overhead", "docsis", "--runs", "3", "-q", "-o", "out"]].concat();
    let out = place.run(&words).good().stdout;
    let best = out.split(" has the highest score").next().unwrap().to_string();
    let row = out.lines().find(|line| line.starts_with(&best) && line.contains("best")).unwrap();
    assert!(!row.contains(" ="), "{row}");
    assert!(!best.starts_with("droptail"), "the FIFO of 1000 packets delays calls by seconds: {best}");
    assert!(out.replace('\n', " ").contains("the kernel's FIFO") && out.contains("dev ifb4wan root"), "{out}");
    assert!(out.contains("dev wan root") && out.contains("(95 %)"), "{out}");
    assert!(place.dir.join("out/report.html").is_file());
    // The ranking is that of the stored runs: the same words print the same text.
    let again = place.run(&words).good().stdout;
    assert_eq!(out, again);
}

#[test]
fn advice_is_one_json_document() {
    let place = Place::new("advice-json");
    let words = [&LINE[..], &["--runs", "2", "--json", "-q", "-o", "out"]].concat();
    let json = place.run(&words).good().json();
    let ranking = json["ranking"].as_array().unwrap();
    let scores: Vec<f64> = ranking.iter().map(|one| one["score"]["mean"].as_f64().unwrap()).collect();
    assert!(scores.windows(2).all(|pair| pair[0] >= pair[1]), "{scores:?}");
    assert!(ranking[0]["behind"].is_null() && ranking[1]["behind"]["mean"].as_f64().unwrap() <= 0.0);
    assert!(ranking.iter().any(|one| one["aqm"] == "droptail hard_limit=1000p"), "the kernel's FIFO is always there");
    assert_eq!(json["seeds"], 2);
    assert!(json["commands"][3].as_str().unwrap().starts_with("tc qdisc add dev eth0 root"));
}

#[test]
fn bad_lines_are_refused() {
    let place = Place::new("advice-bad");
    let refused = |words: &[&str], wanted: &[&str]| {
        let out = place.run(&[&["advise"], words].concat());
        assert_eq!(out.code, Some(2), "{words:?}: {}", out.stderr);
        assert!(wanted.iter().all(|word| out.stderr.contains(word)), "{words:?}: {}", out.stderr);
    };
    refused(&["--rate", "10mbit"], &["--rtts"]);
    refused(&["--rate", "0mbit", "--rtts", "20ms"], &["--rate", "500kbit"]);
    refused(&["--rate", "10mbit", "--rtts", "rtts.txt"], &["--rtts", "rtts.txt", "20ms..80ms"]);
    place.write("none.txt", "# nothing\n");
    refused(&["--rate", "10mbit", "--rtts", "none.txt"], &["a file without round-trip times"]);
    place.write("bad.txt", "23ms\nsoon\n");
    refused(&["--rate", "10mbit", "--rtts", "bad.txt"], &["bad.txt:2", "soon", "23ms"]);
    refused(&["--rate", "10mbit", "--rtts", "20ms", "--overhead", "docsys"], &["docsys", "did you mean docsis?"]);
    refused(&["--rate", "10mbit", "--rtts", "20ms", "--profile", "farm"], &["household"]);
    refused(&["--rate", "10mbit", "--rtts", "20ms", "--device", "eth0; reboot"], &["--device", "eth0; reboot"]);
    let varied = format!("{}\n[vary]\nduration = [\"2s\", \"3s\"]\n", crate::common::SCENARIO);
    place.write("varied.toml", &varied);
    refused(&["--rate", "10mbit", "--rtts", "20ms", "--scenario", "varied.toml"], &["varied.toml", "without [vary]"]);
}
