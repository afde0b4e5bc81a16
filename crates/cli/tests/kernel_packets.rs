//! `forebay link` and `run --on kernel` with real packets: results that do not depend on timing. `cargo xtask test attach`.

mod hostile;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::behind_link::{ANY_TIME, as_user, forebay, link, number, place, role, scenario};
use crate::skips::skip;
use serde_json::Value;

/// `forebay link` sets FOREBAY_LINK for links within its link. A value from elsewhere has no effect.
#[test]
fn environment_variable_forebay_link_of_user_is_ignored() {
    let out = as_user(&place().join("forebay"))
        .env("FOREBAY_LINK", "0")
        .args(["link", "--", "sh", "-c", "echo $FOREBAY_SERVER"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), "100.64.0.1", "no link is around it");
}

#[test]
fn ecn_marks_that_are_sent_are_received() {
    let words = ["--rate", "20mbit", "--delay", "5ms", "--aqm", "codel target=2ms interval=20ms", "--ecn"];
    let words = [&words[..], &ANY_TIME].concat();
    let Some((document, said)) = link(&words, "sink", "source") else { return };
    let marked: f64 = document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (number(run, "/mark_ratio") * number(run, "/offered_pkts")).round())
        .sum();
    let received: f64 = said.lines().rev().find_map(|line| line.strip_prefix("InCEPkts ")).unwrap().parse().unwrap();
    assert!(marked > 10.0 && marked == received, "{marked} marked, {received} received: {said}");
}

#[test]
fn what_kernel_lacks_is_refused_by_name() {
    for (keys, why) in [
        ("cubic\"\necn = \"ect1\"", "bulk/0: ECT(1) over TCP"),
        ("cubic\"\necn = true\naccecn = \"field\"", "bulk/0: accecn = \"field\" has no counterpart in the kernel"),
        ("tahoe\"", "bulk/0: tahoe has no counterpart in the kernel"),
        ("bbr3\"", "bulk/0: bbr3 has no counterpart in the kernel"),
    ] {
        let text = scenario("20mbit", 20.0, "400p", 1, "\"dualpi2\"", 10).replace("cubic\"", keys);
        let file = place().join("lacks.toml");
        fs::write(&file, text).unwrap();
        let out = forebay(&["run", file.to_str().unwrap(), "--on", "kernel", "--quiet"]);
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(4) && said.contains(why), "{keys}: {said}");
    }
}

#[test]
fn no_process_remains_after_killing_the_link() {
    let server = role("hang");
    let mut child = as_user(&place().join("forebay"))
        .args(["link", "--server", &server, "--", "sleep", "600"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mine = || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter(|entry| {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            // The zombie of the killed process is this process's child.
            words.contains(place().to_str().unwrap()) || words.starts_with("sleep 600")
        })
        .count()
    };
    let until = Instant::now() + Duration::from_secs(10);
    while mine() < 4 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(mine() >= 4, "the link, its copies, the server and the command");
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let until = Instant::now() + Duration::from_secs(10);
    while mine() > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    // Nothing else holds the namespaces, so they end with the processes.
    assert_eq!(mine(), 0);
}

#[test]
fn unix_signals_are_forwarded_to_the_command() {
    let out = forebay(&["link", "--", "sh", "-c", "kill -TERM $$; exit 3"]);
    assert_eq!(out.status.code(), Some(143), "ended by the signal");
}

#[test]
fn removed_interface_ends_the_link_with_error() {
    let out = forebay(&["link", "--", "sh", "-c", "ip link del eth0; sleep 60"]);
    let said = String::from_utf8_lossy(&out.stderr);
    if said.contains("ip: not found") {
        return skip("iproute2 is not installed");
    }
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("the interface to the client end has disappeared"), "{said}");
}

#[test]
fn replayed_arrivals_give_the_recorded_verdicts() {
    let dir = place().join("recorded");
    let aqm = "pie target=2ms";
    let words =
        ["--rate", "5mbit", "--queue", "60p", "--aqm", aqm, "--loss", "1%", "--record", "-o", dir.to_str().unwrap()];
    let words = [&words[..], &ANY_TIME].concat();
    if link(&words, "echo", "flood").is_none() {
        return;
    }
    let text = fs::read_to_string(dir.join("up.csv")).unwrap();
    let count = |verdict: &str| text.lines().filter(|line| line.ends_with(verdict)).count();
    assert!(count(",dropped") > 1000 && count(",lost") > 10, "{} dropped, {} lost", count(",dropped"), count(",lost"));
    let out = forebay(&["link", "--replay", dir.to_str().unwrap(), "--json"]);
    let document: Value =
        serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&out.stderr)));
    let back = fs::read_to_string(dir.join("down.csv")).unwrap();
    let arrivals = text.lines().count() + back.lines().count() - 2;
    assert_eq!((&document["arrivals"], &document["different"]), (&Value::from(arrivals), &Value::from(0)));
}

/// The link completes what the sender's offloads leave undone, and all data arrives.
fn completes(client: &str, least: f64) {
    let Some((document, said)) =
        link(&[&["--rate", "50mbit", "--delay", "5ms"], &ANY_TIME[..]].concat(), "sink", client)
    else {
        return;
    };
    let timing = |path: &str| number(&document, &format!("/timing/{path}"));
    assert_eq!((&document["command"], timing("unfinished_pkts")), (&Value::from(0), 0.0), "{said}");
    assert!(timing("completed_pkts") >= least, "{document}");
    // 2 MiB of data, 1448 bytes in each packet.
    assert!(number(&document, "/runs/0/offered_pkts") >= f64::from(2 << 20) / 1448.0, "{document}");
}

#[test]
fn offloaded_checksums_are_completed() {
    completes("source-without-checksums", 1448.0);
}

#[test]
fn offloaded_segments_are_split() {
    completes("source-without-segments", 50.0);
}

/// The document of a link whose command and server first configure devices with ip(8), and the output; `None` without
/// ip.
fn link_after([near, client]: [&str; 2], [far, server]: [&str; 2]) -> Option<(Value, String)> {
    let within = |first: &str, name: &str| format!("{first} && exec {}", role(name));
    let mut command = as_user(&place().join("forebay"));
    command.args(["link", "--json"]).args(ANY_TIME);
    command.args(["--server", &format!("sh -c '{}'", within(far, server)), "--", "sh", "-c", &within(near, client)]);
    let out = command.output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    if let Some(lacking) =
        said.lines().find(|line| line.contains("ip: not found") || line.contains("Unknown device type"))
    {
        skip(lacking);
        return None;
    }
    let document: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{said}"));
    let valid = document["timing"]["valid"] == true;
    assert_eq!(out.status.code(), Some(i32::from(!valid)), "{document} {said}");
    Some((document, said))
}

#[test]
fn long_packets_within_a_larger_mtu_arrive() {
    let long = "ip link set eth0 mtu 9000";
    let Some((document, said)) = link_after([long, "long"], [long, "echo"]) else {
        return;
    };
    assert!(document["timing"]["valid"] == true && said.contains("received 8000"), "{document} {said}");
}

#[test]
fn packets_above_the_mtu_are_an_error() {
    let near = ["ip link set eth0 mtu 9000", "long"];
    let Some((document, said)) = link_after(near, ["true", "echo"]) else { return };
    let timing = &document["timing"];
    assert!(timing["valid"] == false && number(timing, "/refused_pkts") >= 5.0, "{document} {said}");
    assert!(timing["faults"].to_string().contains("MTU"), "{document}");
}

/// A route with an MTU of 540 bytes: 488 bytes of data in each packet. No route leads around the link.
#[test]
fn packets_on_changed_routes_cross_the_link() {
    let routes = "ip route del default && ip route replace 100.64.0.0/24 dev eth0 src 100.64.0.2 mtu 540";
    let Some((document, said)) = link_after([routes, "source"], ["true", "sink"]) else { return };
    assert_eq!((&document["command"], &document["timing"]["valid"]), (&0.into(), &true.into()), "{document} {said}");
    assert!(number(&document, "/runs/0/offered_pkts") >= f64::from(6 << 20) / 488.0, "{document}");
}

/// A tunnel sends its segments in one frame, behind the tunnel's headers.
#[test]
fn offloaded_tunnel_segments_are_an_error() {
    let tunnel = |own: u8, other: u8| {
        format!(
            "ip link add t0 type vxlan id 5 dstport 4789 local 100.64.0.{own} remote 100.64.0.{other} && \
             ip addr add 10.64.0.{own}/24 dev t0 && ip link set t0 up"
        )
    };
    let (near, far) = (tunnel(2, 1), tunnel(1, 2));
    let Some((document, said)) = link_after([&near, "tunnel"], [&far, "sink"]) else {
        return;
    };
    let timing = &document["timing"];
    assert!(timing["valid"] == false && number(timing, "/unfinished_pkts") >= 1.0, "{document} {said}");
    assert!(timing["faults"].to_string().contains("offload"), "{document}");
}

/// Without an output directory `forebay link` does not keep the time series of the queue. With one, the series has a
/// maximum number of rows, which is reached only after hours.
#[test]
fn memory_is_constant_without_an_output_directory() {
    let words = ["link", "--sample", "10us", "--late", "500ms", "--"];
    let mut command = as_user(&place().join("forebay"));
    command.args(words).args(role("drip").split(' '));
    // The role is a test, whose result would count as one of this program.
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let resident = || -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    std::thread::sleep(Duration::from_millis(1500));
    let before = resident();
    std::thread::sleep(Duration::from_millis(3500));
    let after = resident();
    assert!(child.wait().unwrap().success());
    // 350,000 rows for each of two links.
    assert!(after < before + 2048, "from {before} to {after} kB");
}

/// Runs that take more than a day in total need --force. The estimate of their time must not leave a thread: each run
/// with real packets forks this process, which must then have one thread only.
#[test]
fn force_runs_a_scenario_longer_than_a_day() {
    let file = place().join("long.toml");
    fs::write(&file, scenario("10mbit", 20.0, "400p", 1, "\"droptail\"", 20_000)).unwrap();
    let mut command = as_user(Path::new("timeout"));
    command.args(["--signal=INT", "3"]).arg(place().join("forebay"));
    let out =
        command.args(["run", file.to_str().unwrap(), "--on", "kernel", "--force", "--runs", "10"]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(124) && !said.contains("cannot start"), "{said}");
}

#[test]
fn command_behind_link_may_write_to_output_directory() {
    let dir = place().join("next");
    let _ = fs::remove_dir_all(&dir);
    let words = format!("sleep 1; echo x > {}/log", dir.display());
    let out = forebay(&[&["link", "-o", dir.to_str().unwrap()], &ANY_TIME[..], &["--", "sh", "-c", &words]].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(dir.join("log").exists() && dir.join("summary.json").exists());
}

#[test]
fn wrong_link_arguments_are_refused_with_their_name() {
    let trace = place().join("bad.trace");
    fs::write(&trace, "1\n5\n4\n").unwrap();
    let missing = place().join("missing.trace");
    for (words, found) in [
        (vec!["--rate", "0"], "--rate"),
        (vec!["--rate", "fast"], "--rate"),
        (vec!["--rate", "50"], "write 50mbit or 50bit"),
        (vec!["--up-rate=-1mbit"], "--up-rate"),
        (vec!["--delay", "20"], "--delay"),
        (vec!["--queue", "many"], "--queue"),
        (vec!["--aqm", "raqmm"], "raqm"),
        (vec!["--loss", "2"], "--loss"),
        (vec!["--late", "0s"], "--late"),
        (vec!["--trace", trace.to_str().unwrap()], "line 3"),
        (vec!["--trace", missing.to_str().unwrap()], "missing.trace"),
        (vec!["--output", "/proc"], "--output"),
        (vec!["--series", "up.rtx"], "did you mean up.rtt?"),
    ] {
        let out = forebay(&[&["link"], &words[..], &["--", "true"]].concat());
        let said = String::from_utf8_lossy(&out.stderr).replace(":3:", ": line 3:");
        assert_eq!(out.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(found), "{words:?}: {said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
    }
}
