//! The program never uses the network: no socket, and the same results without a network.

use std::fs;
use std::process::Command;

use crate::common::{Ended, Place};
use crate::skips::skip;
use serde_json::Value;

const RUN: [&str; 7] = ["run", "short.toml", "--runs", "2", "-o", "out", "--json"];

fn fingerprints(document: &Value) -> Vec<&Value> {
    document["runs"].as_array().unwrap().iter().map(|run| &run["fingerprint"]).collect()
}

#[test]
fn results_are_the_same_without_a_network() {
    let connected = Place::new("connected").run(&RUN).good().json();
    let place = Place::new("alone");
    let program = place.command(&RUN);
    // A separate network namespace, in which even the loopback device is down.
    let mut alone = Command::new("unshare");
    alone.arg("-rn").arg(program.get_program()).args(program.get_args()).current_dir(&place.dir);
    let Some(out) = alone.output().ok().filter(|out| !String::from_utf8_lossy(&out.stderr).contains("unshare:")) else {
        return skip("no user namespaces");
    };
    let alone = Ended::new(out).good().json();
    assert_eq!(fingerprints(&alone), fingerprints(&connected));
    let report = fs::read_to_string(place.dir.join("out").join("report.html")).unwrap();
    // The page's policy forbids loading; only texts of licences and namespaces may look like addresses.
    assert!(report.contains("default-src 'none'"), "no strict policy");
}

#[test]
fn no_network_socket_is_opened() {
    let place = Place::new("watched");
    let dimensions = ["--vary", "flows.ftp.count=2,3", "--runs", "1", "-o", "swept"];
    let sweep = [&["sweep", "short.toml"][..], &dimensions].concat();
    let fluid = ["theory", "fluid", "short.toml", "--aqm", "raqm q0=50"];
    for words in [&RUN[..], &sweep, &fluid, &["list"], &["explain", "codel"]] {
        let program = place.command(words);
        let mut watched = Command::new("strace");
        watched.args(["-f", "-qq", "-e", "trace=socket", "-o", "sockets"]).arg(program.get_program());
        match watched.args(program.get_args()).current_dir(&place.dir).output() {
            Err(_) => return skip("strace is not installed"),
            Ok(out) if String::from_utf8_lossy(&out.stderr).contains("strace:") => {
                return skip(String::from_utf8_lossy(&out.stderr).lines().next().unwrap_or_default());
            }
            Ok(out) => Ended::new(out).good(),
        };
        let sockets = fs::read_to_string(place.dir.join("sockets")).unwrap();
        assert!(!sockets.contains("AF_INET"), "{words:?}: {sockets}");
    }
}
