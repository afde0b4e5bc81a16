//! Nothing asks the network: the same results where there is none.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::process::Command;

use common::{Ended, Place};
use serde_json::Value;

const RUN: [&str; 7] = ["run", "short.toml", "--runs", "2", "-o", "out", "--json"];

fn fingerprints(document: &Value) -> Vec<&Value> {
    document["runs"].as_array().unwrap().iter().map(|run| &run["fingerprint"]).collect()
}

#[test]
fn without_a_network_everything_is_the_same() {
    let connected = Place::new("connected").run(&RUN).good().json();
    let place = Place::new("alone");
    let program = place.command(&RUN);
    // A network namespace of its own, in which not even the loopback device is on.
    let mut alone = Command::new("unshare");
    alone.arg("-rn").arg(program.get_program()).args(program.get_args()).current_dir(&place.dir);
    let Some(out) = alone.output().ok().filter(|out| !String::from_utf8_lossy(&out.stderr).contains("unshare:")) else {
        return println!("skipped: without_a_network: no user namespaces");
    };
    let alone = Ended::new(out).good().json();
    assert_eq!(fingerprints(&alone), fingerprints(&connected));
    let report = fs::read_to_string(place.dir.join("out").join("report.html")).unwrap();
    // Its policy lets it load nothing, from nowhere; only the words of a licence or a namespace may look like addresses.
    assert!(report.contains("default-src 'none'"), "no strict policy");
}
