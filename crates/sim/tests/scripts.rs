//! Scripts for one end of a connection, each about one rule of an RFC: see `scripts/README.md`.

use std::fs;
use std::path::Path;

use crate::script::run;

#[test]
fn every_script_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "txt"));
    files.sort();
    assert!(files.len() >= 20, "at least 20 scripts are found");
    let failures: Vec<String> = files
        .iter()
        .filter_map(|path| {
            let name = format!("crates/sim/tests/scripts/{}", path.file_name()?.to_str()?);
            run(&name, &fs::read_to_string(path).unwrap()).err()
        })
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn wrong_scripts_fail_at_their_line() {
    for (text, message) in [
        ("sender newreno\n-> 0-1\n+10ms ack 1 -> 2\n", "s.txt:3: sent 2-3, not 2"),
        ("sender newreno\n-> 0-1\n# nothing is sent\n+10ms ack 1\n", "s.txt:4: sent 2-3, not nothing"),
        ("sender newreno\n-> 0-1\ncwnd 3", "s.txt:3: cwnd is 2, not 3"),
        ("sender newreno\n-> 0-1\ncwnd ~2.1", "s.txt:3: cwnd is 2, not ~2.1"),
        ("sender newreno\n-> 0-1\ntimer after 1s -> 0", "s.txt:3: the timer fires after 3s, not 1s"),
        ("sender newreno\n-> 0-1\nphase drain", "s.txt:3: this sender has no phase"),
        ("sender newreno\n-> 0-1\n+1ms akc 1 -> 2", "s.txt:3: no such event or check: akc"),
        ("sender newreno widnow=3", "s.txt:1: no such option: widnow"),
        ("sender sack limited_transmit=on\n-> 0-1\n+1ms ack 0 sack 1", "s.txt:3: sent 2, not nothing"),
        ("receiver newreno\ndata 1 -> ack 1", "s.txt:2: answered ack 0, not ack 1"),
        ("receiver sack\ndata 2 -> ack 0", "s.txt:2: answered ack 0 sack 2, not ack 0"),
        (
            "sender sack initial_window=1\npath rate=100/s rtt=10ms queue=5p\nrun 1s\ntimeouts 3",
            "s.txt:4: timeouts is 0",
        ),
        ("ack 1", "s.txt:1: no sender yet"),
    ] {
        let failure = run("s.txt", text).expect_err(text);
        assert!(failure.starts_with(message), "{text}\n{failure}");
    }
}
