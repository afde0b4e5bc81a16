//! Invalid scenario files and arguments: one message with file, line, key, what was found, what is accepted, and the
//! nearest name.

use std::fs;
use std::path::PathBuf;

use forebay_aqm::base::time::Instant;
use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::scenario::{InputError, Overrides};
use forebay_sim::world::Observer;

const EXAMPLE: &str = include_str!("../data/example.toml");

/// One block of `bad.txt`.
#[derive(Default, Debug)]
struct Bad {
    what: String,
    from: String,
    to: Vec<String>,
    line: usize,
    key: String,
    found: String,
    words: String,
}

fn blocks() -> Vec<Bad> {
    let mut out: Vec<Bad> = Vec::new();
    for line in include_str!("../data/bad.txt").lines() {
        let (mark, rest) = (line.chars().next().unwrap_or('#'), line.get(2..).unwrap_or_default());
        match (mark, out.last_mut()) {
            ('=', _) => out.push(Bad { what: rest.to_string(), ..Bad::default() }),
            ('-', Some(bad)) => bad.from = rest.to_string(),
            ('+', Some(bad)) => bad.to.push(rest.to_string()),
            ('!', Some(bad)) => {
                let parts: Vec<&str> = rest.splitn(4, " | ").collect();
                bad.line = parts[0].parse().unwrap();
                (bad.key, bad.found, bad.words) = (parts[1].into(), parts[2].into(), parts[3].into());
            }
            _ => assert!(line.is_empty() || mark == '#', "{line}"),
        }
    }
    out
}

fn refused(text: &str, sets: &[&str], aqm: &[&str]) -> InputError {
    let own = |list: &[&str]| list.iter().map(|s| s.to_string()).collect();
    let overrides = Overrides { sets: own(sets), aqm: own(aqm), ..Overrides::default() };
    load::parse("scenario.toml", text, &overrides).expect_err(text)
}

/// Message and JSON contain exactly the parts of the error.
fn check_surfaces(error: &InputError) {
    let message = error.to_string();
    assert_eq!(message.lines().count(), 1, "{message}");
    let place = error.line.map_or(error.file.clone(), |line| format!("{}:{line}", error.file));
    assert!(message.starts_with(&format!("{place}: ")), "{message}");
    for part in [error.key.as_str(), error.found.as_str(), error.accepts.as_str()] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert!(message.contains(error.hint.as_deref().unwrap_or_default()), "{message}");
    let json = serde_json::to_value(error).unwrap();
    assert_eq!(json["message"], message.as_str());
    assert_eq!((&json["kind"], json["line"].as_u64()), (&"input".into(), error.line.map(|n| n as u64)));
}

#[test]
fn every_invalid_scenario_error_names_its_line() {
    let blocks = blocks();
    assert!(blocks.len() >= 100);
    for bad in &blocks {
        assert!(EXAMPLE.contains(&bad.from), "{bad:?}");
        let error = refused(&EXAMPLE.replacen(&bad.from, &bad.to.join("\n"), 1), &[], &[]);
        let what = format!("{}: {error}", bad.what);
        assert_eq!(error.file, "scenario.toml", "{what}");
        assert_eq!(error.line, Some(bad.line), "{what}");
        assert_eq!(error.key, bad.key, "{what}");
        assert_eq!(error.found.as_str(), bad.found, "{what}");
        assert!(
            format!("{} {}", error.accepts, error.hint.as_deref().unwrap_or_default()).contains(&bad.words),
            "{what}"
        );
        check_surfaces(&error);
    }
}

#[test]
fn message_for_wrong_rate_unit_proposes_correct_rate() {
    let text = EXAMPLE.replacen("rate = \"10mbit\"", "rate = \"10mbps\"", 1);
    assert_eq!(
        refused(&text, &[], &[]).to_string(),
        "scenario.toml:9: topology.bottleneck.rate: found '10mbps', expected a rate such as 15mbit \
         (tc reads mbps as megabytes per second; write 10mbit)"
    );
}

#[test]
fn errors_in_set_arguments_name_option_and_key() {
    let table = [
        ("nonsense", "", "nonsense", "PATH=VALUE"),
        ("=1", "", "", "dotted path"),
        ("a..b=1", "a..b", "a..b", "empty parts"),
        ("flows.fpt.count=1", "flows.fpt.count", "fpt", "did you mean ftp?"),
        ("flows.9.count=1", "flows.9.count", "9", "the index 0"),
        ("duration=-1s", "duration", "-1s", "a time above 0"),
        ("topology.botleneck.rate=1mbit", "topology.botleneck", "botleneck", "did you mean bottleneck?"),
        ("topology.bottleneck.rate=30mbps", "topology.bottleneck.rate", "30mbps", "write 30mbit"),
        ("topology.bottleneck.rate=[1", "topology.bottleneck.rate", "[1", "a rate"),
        ("topology.kind.x=1", "topology.kind.x", "x", "ends before 'x'"),
        ("topology.bottleneck.aqm=raqm q00=1", "topology.bottleneck.aqm q00", "q00", "did you mean q0?"),
        ("topology=dumbbell", "topology", "dumbbell", "a table"),
        ("vary=3", "vary", "vary", "vary.AXIS"),
        ("vary.q=[]", "vary.q", "an empty list", "one or more values"),
        ("vary.q=3", "vary.q", "q", "{q} in some text"),
        ("title=5", "title", "5", "in quotes"),
        ("flows.ftp.count={q}", "flows.ftp.count", "{q}", "an axis of [vary]"),
    ];
    for (argument, key, found, words) in table {
        let error = refused(EXAMPLE, &[argument], &[]);
        assert_eq!((error.file.as_str(), error.line, error.key.as_str()), ("--set", None, key), "{error}");
        assert_eq!(error.found.as_str(), found, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        check_surfaces(&error);
    }
}

#[test]
fn constraints_between_keys_apply_to_set_arguments() {
    let table: [(&[&str], &str, &str); 3] = [
        (&["topology.access.hosts=257", "flows.ftp.class=host"], "flows.ftp.class", "at most 256 hosts"),
        (&["topology.bottleneck.queue=600b", "packet=601"], "topology.bottleneck.queue", "at least 601b"),
        (
            &["topology.bottleneck.queue=700b", "flows.ftp.direction=reverse", "packet=701"],
            "topology.bottleneck.queue",
            "at least 701b",
        ),
    ];
    for (sets, key, words) in table {
        let error = refused(EXAMPLE, sets, &[]);
        assert_eq!((error.file.as_str(), error.line, error.key.as_str()), ("--set", None, key), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        check_surfaces(&error);
    }
}

/// Ends a run immediately.
struct Enough;

impl Observer for Enough {
    fn reached(&mut self, _: Instant) -> bool {
        false
    }
}

#[test]
fn pages_of_one_object_have_one_connection() {
    let text = "version = 1\nduration = \"10s\"\n[topology]\nkind = \"dumbbell\"\nbottleneck = { rate = \"10mbit\", delay = \"10ms\", \
                queue = \"100p\" }\naccess = { rate = \"100mbit\", delays = [\"1ms\"] }\negress = { rate = \"100mbit\", delay = \"1ms\" }\n[[flows]]\nname = \"web\"\nkind = \"web\"\nsize = \"1p\"\nthink = \"1s\"\n[compare]\naqm = [\"codel\"]\n";
    for (sets, key, accepts) in [
        (vec!["flows.web.connections=6"], "connections", "1, or objects above 1"),
        (vec!["flows.web.objects=0"], "objects", "1"),
        (vec!["flows.web.objects=5", "flows.web.connections=65"], "connections", "64"),
        (vec!["flows.web.objects=5", "flows.web.handshake=ns2"], "handshake", "true or false with several objects"),
        (vec!["flows.web.packet=40"], "packet", "41"),
        (vec!["flows.web.count=200000", "flows.web.objects=9"], "count", "1000000"),
    ] {
        let message = refused(text, &sets, &[]).to_string();
        assert!(message.contains(key) && message.contains(accepts), "{message}");
    }
}

#[test]
fn keys_that_a_control_excludes_are_refused() {
    let text = "version = 1\nduration = \"10s\"\n[topology]\nkind = \"dumbbell\"\nbottleneck = { rate = \"10mbit\", delay = \"10ms\", \
                queue = \"100p\" }\naccess = { rate = \"100mbit\", delays = [\"1ms\"] }\negress = { rate = \"100mbit\", delay = \"1ms\" }\n[[flows]]\nname = \"ftp\"\nkind = \"ftp\"\n[compare]\naqm = [\"codel\"]\n";
    for (control, set, key, accepts) in [
        ("bbr3", "flows.ftp.stack=rfc", "stack", "\"linux\", which bbr3 needs"),
        ("linux", "flows.ftp.stack=rfc", "stack", "\"linux\", which linux needs"),
        ("bbr3", "flows.ftp.ecn=true", "ecn", "false: bbr3 does not use ECN"),
        ("bbr3", "flows.ftp.accecn=true", "accecn", "false: bbr3 does not use ECN"),
        ("prague", "flows.ftp.accecn=false", "accecn", "no accecn, true or \"field\": prague requires it"),
        (
            "ledbat",
            "flows.ftp.accecn=true",
            "accecn",
            "false: ledbat needs acknowledgements with the one-way delay instead",
        ),
        ("ledbat", "flows.ftp.stack=linux", "stack", "\"rfc\": ledbat needs the one-way delay"),
        ("ledbat", "flows.ftp.slow_start=hystart++", "slow_start", "a sender with the slow start of RFC 5681"),
        ("ledbat", "flows.ftp.target=150ms", "target", "a time from 1ms to 100ms"),
        ("cubic", "flows.ftp.target=5ms", "target", "no target, or tcp = \"ledbat\""),
        ("cubic", "flows.ftp.gain=2", "gain", "no gain, or tcp = \"ledbat\""),
    ] {
        let error = refused(text, &[&format!("flows.ftp.tcp={control}"), set], &[]);
        let message = error.to_string();
        assert!(message.contains(key) && message.contains(accepts), "{message}");
    }
}

/// The simulator's event queue (agenda) has 131,072 places. A pair of hosts with delayed acknowledgements takes four.
#[test]
fn too_many_hosts_for_event_agenda_are_refused() {
    let group =
        |i: u32, hosts: u32| format!("{{ name = \"g{i}\", rate = \"1mbit\", delays = [\"1ms\"], hosts = {hosts} }}");
    let flows = |i: u32, more: &str| format!("[[flows]]\nkind = \"ftp\"\nname = \"f{i}\"\nhosts = \"g{i}\"\n{more}\n");
    let text = |last: u32, more: &str| {
        let groups: Vec<String> = (0..4).map(|i| group(i, if i < 3 { 10_000 } else { last })).collect();
        let network = EXAMPLE.split("access     =").next().unwrap();
        let flows: String = (0..4).map(|i| flows(i, more)).collect();
        format!("{network}access = [{}]\negress = {{ delay = \"1ms\" }}\n{flows}", groups.join(", "))
    };
    let full = "count = 10000\ndelayed_ack = true";
    let read = |text: &str| load::parse("scenario.toml", text, &Overrides::default());
    let error = read(&text(10_000, full)).unwrap_err();
    assert_eq!((error.line, error.key.as_str()), (Some(10), "topology.access"), "{error}");
    assert!(error.found.as_str().contains("160005") && error.accepts.contains("at most 131072"), "{error}");
    check_surfaces(&error);
    for (last, more) in [(2_000, full), (10_000, "count = 10000"), (10_000, "count = 5\ndelayed_ack = true")] {
        let cases = read(&text(last, more)).unwrap_or_else(|e| panic!("{e}"));
        let plan = Plan::new(cases, 1, 1);
        assert!(plan.run(plan.jobs()[0], &mut Enough).unwrap().is_none(), "it could start");
    }
}

#[test]
fn errors_in_aqm_arguments_name_the_parameter() {
    let table = [
        ("nonsense", "discipline", "nonsense", "one of 32 names, such as "),
        ("raqn", "discipline", "raqn", "did you mean raqm?"),
        ("", "discipline", "", "one of 32 names, such as "),
        ("raqm q00=5", "q00", "q00", "did you mean q0?"),
        ("raqm q0=30kB", "q0", "30kB", "30000b"),
        ("raqm preset=linux", "preset", "linux", "preset"),
        ("raqm {x}", "compare.aqm[1]", "{x}", "an axis of [vary]"),
    ];
    for (argument, key, found, words) in table {
        let error = refused(EXAMPLE, &[], &["droptail", argument]);
        assert_eq!((error.file.as_str(), error.line, error.key.as_str()), ("--aqm", None, key), "{error}");
        assert_eq!(error.found.as_str(), found, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        check_surfaces(&error);
    }
}

#[test]
fn truncated_file_is_valid_or_error_names_line() {
    let lines = |text: &str| text.trim_end().lines().count().max(1);
    for cut in (0..EXAMPLE.len()).filter(|cut| EXAMPLE.is_char_boundary(*cut)) {
        let text = &EXAMPLE[..cut];
        let Err(error) = load::parse("cut.toml", text, &Overrides::default()) else { continue };
        check_surfaces(&error);
        assert!(error.line.is_some_and(|line| line <= lines(text)), "{error}");
    }
    let error = refused(EXAMPLE.split(" jitter").next().unwrap(), &[], &[]);
    assert_eq!((error.line, error.key.as_str()), (Some(10), "topology.access"));
    assert_eq!(error.found.as_str(), "the end of the file");
}

#[test]
fn error_for_empty_scenario_file_requests_key_version() {
    for text in ["", "\n\n", "# nothing\n"] {
        let error = refused(text, &[], &[]);
        assert_eq!((error.line, error.key.as_str()), (Some(1), "version"));
        assert!(error.to_string().contains("version = 1"), "{error}");
    }
}

/// A separate directory with these files.
fn folder(name: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&path).unwrap();
    for (file, content) in files {
        fs::write(path.join(file), content).unwrap();
    }
    path
}

#[test]
fn unreadable_scenario_file_is_reported() {
    let text = b"version = 1\ntitle = \"caf\xe9\"\n";
    let folder = folder("scenario-files", &[("case1.toml", EXAMPLE.as_bytes()), ("latin1.toml", text)]);
    let refuse = |name: &str| {
        let path = folder.join(name);
        let error = load::file(&path, &Overrides::default()).unwrap_err();
        assert_eq!(error.file, path.display().to_string());
        check_surfaces(&error);
        error
    };
    let missing = refuse("cse1.toml");
    assert_eq!((missing.line, missing.found.as_str()), (None, "no such file"));
    let meant = folder.join("case1.toml").display().to_string();
    assert_eq!(missing.hint.as_deref(), Some(format!("did you mean {meant}?").as_str()));
    assert!(refuse("elsewhere/case1.toml").hint.as_deref().unwrap_or_default().contains("no directory"));
    let directory = refuse("");
    assert_eq!(directory.found.as_str(), "a directory");
    assert!(directory.to_string().contains("it contains case1.toml"), "{directory}");
    let latin1 = refuse("latin1.toml");
    assert_eq!((latin1.line, latin1.column), (Some(2), Some(13)));
    assert!(latin1.accepts.contains("UTF-8"));
}
