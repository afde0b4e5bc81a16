//! Invalid input: exit code 2, one message with place and cause, and no files left behind.

use crate::common::{Place, SCENARIO};

/// An invalid call: the change of the file, further arguments, and what the message must contain.
struct Bad {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    words: &'static [&'static str],
    says: &'static [&'static str],
}

const BAD: &[Bad] = &[
    Bad {
        name: "unknown-key",
        from: "warmup = ",
        to: "warmpu = ",
        words: &[],
        says: &["short.toml:4: ", "warmpu", "expected one of", "duration", "did you mean warmup?"],
    },
    Bad {
        name: "unknown-table-key",
        from: "count = 10",
        to: "cuont = 10",
        words: &[],
        says: &["short.toml:15: ", "flows.ftp.cuont", "expected one of", "did you mean count?"],
    },
    Bad {
        name: "mbps",
        from: "{ rate = \"10mbit\", delay = \"10ms\", queue",
        to: "{ rate = \"10mbps\", delay = \"10ms\", queue",
        words: &[],
        says: &["short.toml:9: ", "topology.bottleneck.rate", "found '10mbps'", "a rate such as", "write 10mbit"],
    },
    Bad {
        name: "kB",
        from: "queue = \"100p\"",
        to: "queue = \"30kB\"",
        words: &[],
        says: &["short.toml:9: ", "topology.bottleneck.queue", "found '30kB'", "a buffer size", "30000b", "30kb"],
    },
    Bad {
        name: "negative-delay",
        from: "delay = \"10ms\", queue",
        to: "delay = \"-10ms\", queue",
        words: &[],
        says: &["short.toml:9: ", "topology.bottleneck.delay", "found '-10ms'", "a time of at least 0"],
    },
    Bad {
        name: "wrong-discipline-in-file",
        from: "\"droptail\"]",
        to: "\"droptial\"]",
        words: &[],
        says: &["short.toml:20: ", "found 'droptial'", "expected one of", "did you mean droptail?"],
    },
    Bad {
        name: "nonsense",
        from: "",
        to: "",
        words: &["--aqm", "nonsense"],
        says: &["--aqm: ", "discipline", "found 'nonsense'", "expected one of 32 names, such as "],
    },
    Bad {
        name: "near-discipline",
        from: "",
        to: "",
        words: &["--aqm", "raqn q0=50"],
        says: &["--aqm: ", "found 'raqn'", "did you mean raqm?"],
    },
    Bad {
        name: "near-parameter",
        from: "",
        to: "",
        words: &["--aqm", "raqm perod=1s"],
        says: &["--aqm: ", "perod", "expected one of", "did you mean period?"],
    },
    Bad {
        name: "set-unit",
        from: "",
        to: "",
        words: &["--set", "topology.bottleneck.rate=10mbps"],
        says: &["--set: topology.bottleneck.rate", "found '10mbps'", "write 10mbit"],
    },
    Bad {
        name: "set-rate-without-unit",
        from: "",
        to: "",
        words: &["--set", "topology.bottleneck.rate=5"],
        says: &["--set: topology.bottleneck.rate", "found '5'", "a rate such as", "write 5mbit or 5bit"],
    },
    Bad {
        name: "aqm-rate-without-unit",
        from: "",
        to: "",
        words: &["--aqm", "raqm r0=5"],
        says: &["--aqm: ", "r0", "found '5'", "a rate such as", "write 5mbit or 5bit"],
    },
    Bad {
        name: "set-without-value",
        from: "",
        to: "",
        words: &["--set", "duration"],
        says: &["--set: ", "found 'duration'", "PATH=VALUE"],
    },
    Bad {
        name: "one-way-link-in-both-directions",
        from: "",
        to: "",
        words: &[
            "--both-directions",
            "--set",
            "topology={kind='graph', nodes=['a', 'b'], links=[\
             {from='a', to='b', one_way=true, rate='1mbit', delay='1ms', queue='9p', study=true},\
             {from='b', to='a', one_way=true, rate='1mbit', delay='1ms', queue='9p'}]}",
            "--set",
            "flows=[{kind='ftp', from='a', to='b'}]",
        ],
        says: &[
            "--both-directions: found link a-b without a reverse direction (one_way = true)",
            "expected compared links with two directions",
            "compare.links names the links",
        ],
    },
    Bad {
        name: "axis-value-twice",
        from: "",
        to: "",
        words: &["--set", "vary.flows.ftp.count=[5, 5]"],
        says: &["--set: vary.flows.ftp.count: found '5' twice, expected each value once"],
    },
    Bad {
        name: "too-long",
        from: "",
        to: "",
        words: &["--set", "duration=100000s"],
        says: &["--set: duration: found '100000s', expected a time above 0 and at most 70368s"],
    },
];

fn check_message(name: &str, message: &str, says: &[&str]) {
    assert_eq!(message.lines().count(), 1, "{name}: {message}");
    for part in says {
        assert!(message.contains(part), "{name}: '{part}' in {message}");
    }
}

fn refused(place: &Place, name: &str, words: &[&str], says: &[&str]) {
    let before = place.names();
    let ended = place.run(words);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{name}: {ended:?}");
    check_message(name, &ended.stderr, &[&["error: "], says].concat());
    let json = place.run(&[words, &["--json"]].concat());
    assert_eq!((json.code, json.stderr.as_str()), (Some(2), ""), "{name}: {json:?}");
    let document = json.json();
    assert_eq!(document["version"], 1);
    assert_eq!(document["error"]["kind"], "input", "{name}");
    for key in ["file", "line", "key", "found", "accepts", "hint"] {
        assert!(document["error"].get(key).is_some(), "{name}: {key}");
    }
    check_message(name, document["error"]["message"].as_str().unwrap(), says);
    assert_eq!(place.names(), before, "{name} leaves nothing behind");
}

#[test]
fn every_wrong_scenario_or_argument_is_refused() {
    for bad in BAD {
        let place = Place::new(&format!("bad-{}", bad.name));
        assert!(SCENARIO.contains(bad.from), "{}", bad.name);
        place.write("short.toml", &SCENARIO.replacen(bad.from, bad.to, 1));
        refused(&place, bad.name, &[&["run", "short.toml"], bad.words].concat(), bad.says);
        refused(&place, bad.name, &[&["run", "short.toml", "-o", "new/dir"], bad.words].concat(), bad.says);
    }
}

#[test]
fn unreadable_files_are_refused() {
    let place = Place::new("no-file");
    refused(&place, "missing", &["run", "shrot.toml"], &["shrot.toml: found no such file", "did you mean short.toml?"]);
    refused(&place, "folder", &["run", "."], &["found a directory"]);
    // A file truncated anywhere except at the end of a table is invalid.
    let lines: Vec<usize> = SCENARIO.match_indices('\n').map(|(at, _)| at).collect();
    for end in [20, 80, lines[7], lines[8] - 30, lines[12]] {
        place.write("cut.toml", &SCENARIO[..end]);
        refused(&place, "truncated", &["run", "cut.toml"], &["cut.toml:"]);
    }
    place.write("empty.toml", "");
    refused(&place, "empty", &["run", "empty.toml"], &["empty.toml", "version"]);
    refused(&place, "output", &["run", "short.toml", "-o", "short.toml"], &["--output", "a file called short.toml"]);
    refused(&place, "report", &["report", "nowhere"], &["found no such directory", "nowhere"]);
    refused(&place, "report", &["report", "."], &["without meta.json"]);
    refused(&place, "explain", &["explain", "raqn"], &["found 'raqn'", "did you mean raqm?"]);
    refused(&place, "explain", &["explain", "xyzzy"], &["found 'xyzzy'", "expected one of 63 names, such as "]);
}

#[test]
fn every_wrong_vary_argument_is_refused() {
    let place = Place::new("axes");
    place.write("varied.toml", &format!("{SCENARIO}\n[vary]\n\"flows.ftp.count\" = [5, 10]\n"));
    for (vary, says) in [
        ("flows.ftp.count", &["found 'flows.ftp.count', expected PATH=VALUES", "such as "][..]),
        ("flows.fpt.count=5,10", &["vary.flows.fpt.count: found 'fpt'", "did you mean ftp?"]),
        ("topology.bottleneck.raet=1mbit,2mbit", &["topology.bottleneck.raet: ", "did you mean rate?"]),
        ("duratoin=1s,2s", &["vary.duratoin: found 'duratoin'", "did you mean duration?"]),
        ("q=20,30", &["vary.q: found 'q', expected {q} in some text", "changes nothing"]),
        ("flows.ftp.count=", &["flows.ftp.count: found an empty value", "such as 20,30,40"]),
        ("flows.ftp.count=5..50/0", &["found '5..50/0', expected LO..HI/N", "from 2 to 10000"]),
        ("flows.ftp.count=5..50", &["for 5 values write 5..50/5"]),
        ("flows.ftp.count=5..150/4", &["flows.ftp.count: found '53.333333333333', expected a whole number"]),
        ("flows.ftp.count=5,many", &["flows.ftp.count: found 'many', expected a whole number"]),
        ("topology.bottleneck.rate=1mbit,10mbps", &["found '10mbps'", "write 10mbit"]),
        ("topology.bottleneck.rate=1mbit..1gbit/3", &["both ends need the same unit"]),
        ("flows.0.count=5,50", &["found 'flows.0.count'", "does not overlap flows.ftp.count, which also varies"]),
        ("topology.bottleneck.aqm=pi,droptail", &["expected compare.aqm or --aqm", "[compare] replaces"]),
        ("topology.bottleneck.rate=1mbit,1000kbit", &["found '1mbit' and '1000kbit', which give identical runs"]),
        ("title=a,b\tc", &["title: found 'b\\tc', expected a text without line breaks"]),
        ("vary.flows.ftp.count=5,50", &["the path that varies, without 'vary.'"]),
    ] {
        refused(&place, vary, &["sweep", "varied.toml", "--vary", vary], &[&["--vary: "], says].concat());
    }
    let twice = ["sweep", "short.toml", "--vary", "flows.ftp.count=5", "--vary", "flows.ftp.count=10"];
    refused(&place, "twice", &twice, &["--vary: flows.ftp.count: ", "each path once"]);
    let held = ["sweep", "short.toml", "--vary", "flows.ftp.count=5,10", "--set", "flows.ftp.count=20"];
    refused(&place, "held", &held, &["--vary: flows.ftp.count: ", "a path that --set does not set"]);
    let same = ["sweep", "short.toml", "--vary", "flows.ftp.count=5,5"];
    refused(&place, "same", &same, &["--vary: vary.flows.ftp.count: found '5' twice, expected each value once"]);
    let both = ["sweep", "short.toml", "--vary", "compare.aqm=['pi'],['red']", "--aqm", "codel"];
    refused(&place, "both", &both, &["--vary: compare.aqm: ", "expected a path that --aqm does not replace"]);
    let many = ["sweep", "varied.toml", "--vary", "packet=501..10500/10000"];
    refused(&place, "many", &many, &["varied.toml:", "vary: found 2 x 10000 cases, expected at most 10000 cases"]);
    let runs = ["sweep", "short.toml", "--vary", "packet=501..1500/1000", "--runs", "100000"];
    refused(&place, "runs", &runs, &["--runs: found 200000000 runs", "at most 200000 in total", "1000 cases"]);
    let seeds = ["run", "short.toml", "--seed", "9007199254740991", "--runs", "3"];
    refused(&place, "seeds", &seeds, &["--seed: found '9007199254740991'", "at most 9007199254740990 for 3 runs"]);
    refused(&place, "none", &["sweep", "short.toml"], &["short.toml: found no axis, expected --vary PATH=VALUES"]);
}

#[test]
fn invalid_command_line_arguments_are_refused() {
    let place = Place::new("words");
    for words in [
        &["run"][..],
        &["run", "short.toml", "--runs", "0"],
        &["run", "short.toml", "--seed", "-1"],
        &["run", "short.toml", "--jobs", "0"],
        &["run", "short.toml", "--vary", "flows.ftp.count=5,10"],
        &["sweep", "short.toml", "--vary"],
        &["run", "short.toml", "--nonsense"],
        &["list", "everything"],
        &["bench", "--case", "none"],
        &["nonsense"],
    ] {
        let ended = place.run(words);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{words:?}: {ended:?}");
        assert!(ended.stderr.starts_with("error: "), "{words:?}: {ended:?}");
        let json = place.run(&[words, &["--json"]].concat());
        assert_eq!((json.code, json.stderr.as_str()), (Some(2), ""), "{words:?}: {json:?}");
        assert_eq!(json.json()["error"]["kind"], "usage", "{words:?}");
    }
    assert_eq!(place.names(), ["short.toml"]);
}

#[test]
fn device_rate_without_unit_is_refused() {
    let place = Place::new("rates");
    if cfg!(target_os = "linux") {
        let hint = &["found '5', expected a rate", "write 5mbit or 5bit"][..];
        refused(&place, "link", &["link", "--rate", "5"], &[&["--rate: "], hint].concat());
        refused(&place, "up", &["link", "--up-rate", "5"], &[&["--up-rate: "], hint].concat());
        refused(&place, "attach", &["attach", "lo", "--rate", "5"], &[&["attach: --rate: "], hint].concat());
    }
    let map = ["theory", "stability", "short.toml", "--map", "rate=5..10mbit", "--map", "flows=1..5"];
    refused(&place, "map", &map, &["--map: found 'rate=5..10mbit'", "write 5mbit or 5bit"]);
    let sigma = ["theory", "markov", "short.toml", "--sigma", "5"];
    refused(&place, "sigma", &sigma, &["--sigma: found '5'", "write 5mbit or 5bit"]);
    refused(&place, "axis", &["sweep", "short.toml", "--vary", "topology.bottleneck.rate=5,10"], &["5mbit or 5bit"]);
}

/// With `--json`: the complete message without the usage.
#[test]
fn json_errors_have_the_complete_message() {
    let place = Place::new("told");
    for (words, message) in [
        (&["run"][..], "the following required arguments were not provided: <SCENARIO.toml>"),
        (
            &["run", "short.toml", "--rnus", "2"],
            "unexpected argument '--rnus' found, tip: a similar argument exists: '--runs'",
        ),
        (&["swep", "short.toml"], "unrecognized subcommand 'swep', tip: a similar subcommand exists: 'sweep'"),
    ] {
        let json = place.run(&[words, &["--json"]].concat());
        assert_eq!(json.json()["error"]["message"], message);
    }
    let json = place.run(&["list", "traffik", "--json"]).json();
    let message = json["error"]["message"].as_str().unwrap();
    for part in ["'traffik'", "[possible values: disciplines, ", "tip: a similar value exists: 'traffic'"] {
        assert!(message.contains(part) && !message.contains('\n'), "{message}");
    }
}

#[test]
fn results_of_another_scenario_are_not_overwritten() {
    let place = Place::new("foreign");
    place.run(&["run", "short.toml", "--runs", "1", "-o", "out"]).good();
    let summary = std::fs::read(place.dir.join("out/summary.json")).unwrap();
    let words = ["run", "short.toml", "--runs", "1", "-o", "out", "--set", "flows.ftp.count=11"];
    let ended = place.run(&words);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    check_message("foreign", &ended.stderr, &["error: out contains the results of another scenario"]);
    let json = place.run(&[&words[..], &["--json"]].concat());
    assert_eq!((json.code, json.json()["error"]["kind"].as_str()), (Some(2), Some("foreign-directory")));
    std::fs::create_dir(place.dir.join("mine")).unwrap();
    place.write("mine/notes.txt", "not results");
    let ended = place.run(&["run", "short.toml", "-o", "mine"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(crate::common::names(&place.dir.join("mine")), ["notes.txt"]);
    assert_eq!(std::fs::read(place.dir.join("out/summary.json")).unwrap(), summary);
    for dir in ["mine", "out"] {
        let ended = place.run(&["reproduce", "RAQM-TH1", "-o", dir, "--quiet"]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        check_message("foreign", &ended.stderr, &[&format!("error: {dir} contains "), "choose another -o"]);
    }
    assert_eq!(crate::common::names(&place.dir.join("mine")), ["notes.txt"]);
}

#[test]
fn run_beyond_time_or_memory_limit_is_refused() {
    let place = Place::new("too-much");
    let long = ["run", "short.toml", "--set", "duration=60000s", "--runs", "20000", "--jobs", "2", "-o", "out"];
    let ended = place.run(&long);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("runs that take up to") && ended.stderr.contains("hours"), "{ended:?}");
    assert!(ended.stderr.contains("at most 24 hours") && ended.stderr.contains("--force"), "{ended:?}");
    let deep = ["topology.bottleneck.queue=4000000000p", "topology.bottleneck.rate=100gbit", "duration=1000s"];
    let sets = deep.iter().flat_map(|set| ["--set", set]);
    let words: Vec<&str> = ["run", "short.toml", "-o", "out", "--jobs", "2"].into_iter().chain(sets).collect();
    let ended = place.run(&words);
    assert!(ended.code == Some(2) && ended.stderr.contains("GiB of memory"), "{ended:?}");
    // Datagrams fill a buffer that is not under study.
    let flow = ("kind = \"ftp\"", "kind = \"cbr\"\nrate = \"300mbit\"\npacket = 41");
    let flood = SCENARIO.replace("tcp = \"newreno\"\n", "").replace(flow.0, flow.1);
    place.write("flood.toml", &flood);
    let sets = ["topology.access.queue=4000000000p", "duration=1000s"].iter().flat_map(|set| ["--set", set]);
    let words: Vec<&str> = ["run", "flood.toml", "-o", "out", "--jobs", "1"].into_iter().chain(sets).collect();
    let ended = place.run(&words);
    assert!(ended.code == Some(2) && ended.stderr.contains("GiB of memory"), "{ended:?}");
    assert_eq!(place.names(), ["flood.toml", "short.toml"]);
}
