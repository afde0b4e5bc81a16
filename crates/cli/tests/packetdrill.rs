//! `forebay packetdrill`.

use crate::common::Place;

/// The handshake of a client with segments of 1000 bytes.
const OPEN: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 connect(3, ..., ...) = 0
+0 > S 0:0(0) <mss 1460,sackOK,nop,nop,nop,wscale 8>
+.1 < S. 0:0(0) ack 1 win 32767 <mss 1000,nop,wscale 6,nop,nop,sackOK>
+0 > . 1:1(0) ack 1
+0 write(3, ..., 20000) = 20000
";

fn place(name: &str) -> Place {
    let place = Place::new(name);
    place.write("good.pkt", &format!("{OPEN}+0 > P. 1:10001(10000) ack 1\n"));
    let wrong = "+0 %{ assert tcpi_snd_cwnd == 11 }%\n".repeat(7);
    place.write("wrong.pkt", &format!("{OPEN}{wrong}+0 > P. 1:10001(10000) ack 1\n"));
    place.write("beyond.pkt", &format!("{OPEN}+0 > R. 1:1(0)\n+0 < icmp x\n"));
    place.write("bad.pkt", &format!("{OPEN}+0 > P. 1:10001(10001) ack 1\n"));
    place
}

#[test]
fn passing_scripts_exit_with_0() {
    let place = place("good");
    let out = place.run(&["packetdrill", "--tcp", "cubic", "good.pkt", "good.pkt"]).good().stdout;
    assert!(out.starts_with("pass            good.pkt  (cubic, 1 compared)\n"), "{out}");
    let numbers: Vec<&str> = out.lines().rev().take(3).map(str::trim).collect();
    assert!(numbers[2].starts_with("pass") && numbers[2].ends_with('2'), "{out}");
}

#[test]
fn differences_exit_with_1_and_name_lines() {
    let place = place("wrong");
    let ended = place.run(&["packetdrill", "--tcp", "cubic", "wrong.pkt", "good.pkt", "beyond.pkt"]);
    assert_eq!(ended.code, Some(1));
    let all = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "fail wrong.pkt (cubic, 7 differ, 8 compared)",
        "wrong.pkt:7: expected assert tcpi_snd_cwnd == 11, came tcpi_snd_cwnd = 10",
        "also differ: lines 12, 13",
        "cannot express beyond.pkt beyond.pkt:7: cannot express RST beyond.pkt:8: cannot express ICMP",
        "pass 1 fail 1 cannot express 1",
    ] {
        assert!(all.contains(part), "{part}\n{}", ended.stdout);
    }
    assert_eq!(place.run(&["packetdrill", "beyond.pkt"]).code, Some(1), "it did not pass");
}

#[test]
fn json_has_every_script_and_the_totals() {
    let place = place("json");
    let json = place.run(&["packetdrill", "wrong.pkt", "beyond.pkt", "--json", "--tcp", "sack"]).json();
    assert_eq!(json["version"], 1);
    assert_eq!(json["totals"].to_string(), r#"{"scripts":2,"pass":0,"fail":1,"cannot_express":1}"#);
    let wrong = &json["scripts"][0];
    assert_eq!(
        (&wrong["file"], &wrong["verdict"], &wrong["tcp"]),
        (&"wrong.pkt".into(), &"fail".into(), &"sack".into())
    );
    assert_eq!((&wrong["compared"], wrong["mismatches"].as_array().unwrap().len()), (&8.into(), 7));
    assert_eq!(wrong["mismatches"][0]["line"], 7);
    assert_eq!(wrong["why"], "7: expected assert tcpi_snd_cwnd == 11, came tcpi_snd_cwnd = 10");
    assert_eq!(json["scripts"][1]["reasons"][1]["what"], "ICMP");
}

#[test]
fn unreadable_scripts_exit_with_2() {
    let place = place("bad");
    let ended = place.run(&["packetdrill", "good.pkt", "bad.pkt"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    let wanted = "bad.pkt:7: found '10001', expected the number of bytes between the two sequence numbers";
    assert!(ended.stderr.contains(wanted), "{}", ended.stderr);
    let none = place.run(&["packetdrill", "none.pkt"]);
    assert!(none.code == Some(2) && none.stderr.contains("expected a packetdrill script"), "{none:?}");
    let tcp = place.run(&["packetdrill", "--tcp", "qubic", "good.pkt"]);
    assert!(tcp.code == Some(2) && tcp.stderr.contains("did you mean cubic?"), "{tcp:?}");
}
