//! Arguments of tc(8): examples from the manual pages with Forebay's parameters for them, and every argument of each
//! discipline.

use forebay_aqm::base::tc::Tail;
use forebay_aqm::{ENTRIES, Spec};

fn canonical(text: &str) -> String {
    Spec::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}")).canonical()
}

/// tc commands, and our parameters for them.
const LINES: [(&str, &str); 36] = [
    (
        "codel limit 1000 target 4ms interval 60ms noecn",
        "codel preset=linux hard_limit=1000p target=4ms interval=60ms ecn=off",
    ),
    ("codel ce_threshold 1ms ecn", "codel preset=linux ce_threshold=1ms ecn=on"),
    ("fq_codel target 5ms interval 100ms ecn", "fq_codel preset=linux"),
    (
        "fq_codel limit 2000 flows 1024 target 3ms interval 40ms noecn quantum 300 memory_limit 32Mb drop_batch 64",
        "fq_codel preset=linux hard_limit=2000p target=3ms interval=40ms ecn=off quantum=300b",
    ),
    ("pie limit 100 target 20ms tupdate 30ms ecn", "pie preset=linux hard_limit=100p target=20ms tupdate=30ms ecn=on"),
    ("pie alpha 2 beta 20", "pie preset=linux"),
    ("pie alpha 4 beta 8 bytemode dq_rate_estimator", "pie preset=linux alpha=0.25 beta=0.5 bytes=on latency=rate"),
    (
        "fq_pie limit 500 flows 64 target 15000 quantum 1514 ecn_prob 10 ecn",
        "fq_pie preset=linux hard_limit=500p flows=64 ecn=on",
    ),
    (
        "dualpi2 limit 10000 coupling_factor 2 step_thresh 1ms min_qlen_step 0 drop_on_overload drop_dequeue \
         classic_protection 10% target 15ms tupdate 16ms alpha 0.16 beta 3.2 split_gso",
        "dualpi2 preset=linux",
    ),
    ("dualpi2 coupling_factor 4 overflow", "dualpi2 preset=linux k=4 overload=delay"),
    ("dualpi2 min_qlen_step 5 step_thresh 800", "dualpi2 preset=linux min_th=800us th_len=5"),
    // step_thresh in packets counts those that remain queued; th_len also counts the departing one.
    ("dualpi2 step_thresh 5p min_qlen_step 0", "dualpi2 preset=linux min_th=0s th_len=6"),
    ("dualpi2 step_thresh 5pkts min_qlen_step 9", "dualpi2 preset=linux min_th=0s th_len=9"),
    ("dualpi2 max_rtt 120ms", "dualpi2 preset=linux rtt_max=120ms target=20ms tupdate=auto alpha=auto beta=auto"),
    ("dualpi2 typical_rtt 5ms", "dualpi2 preset=linux rtt_max=30ms target=5ms tupdate=auto alpha=auto beta=auto"),
    (
        "dualpi2 typical_rtt 15000 target 3ms max_rtt 100ms alpha 7 tupdate 1s",
        "dualpi2 preset=linux rtt_max=100ms target=15ms tupdate=auto alpha=auto beta=auto",
    ),
    ("fq_codel flows 65536 quantum 64", "fq_codel preset=linux flows=65536 quantum=256b"),
    ("fq_pie flows 65536 quantum 300", "fq_pie preset=linux flows=65536 quantum=300b"),
    // The example of tc-red(8) is adaptive, so it is ARED.
    (
        "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn adaptive bandwidth 10Mbit",
        "ared preset=linux hard_limit=400000b min_th=30000b max_th=90000b mean_packet=1000b burst=55 ecn=on",
    ),
    ("red limit 400000 avpkt 1000 adaptative", "ared preset=linux hard_limit=400000b mean_packet=1000b"),
    (
        "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn bandwidth 10Mbit",
        "red preset=linux hard_limit=400000b min_th=30000b max_th=90000b mean_packet=1000b burst=55 ecn=on",
    ),
    (
        "choke limit 1000 min 83 max 250 burst 90 bandwidth 10mbit ecn",
        "choke preset=linux hard_limit=1000p min_th=83p max_th=250p burst=90 ecn=on",
    ),
    // Values that are 0 in tc are not set.
    ("dualpi2 max_rtt 0 step_thresh 0 limit 0 target 0", "dualpi2 preset=linux"),
    ("codel limit 0 target 0.9 interval 0", "codel preset=linux"),
    ("pie alpha 0 beta 0 tupdate 0s limit 0", "pie preset=linux"),
    ("fq_pie flows 0 quantum 0 ecn_prob 0 memory_limit 32Mb", "fq_pie preset=linux"),
    ("fq_codel flows 0 quantum 0 drop_batch 0 memory_limit 32Mb", "fq_codel preset=linux"),
    ("sfb limit 0 max 0 target 0", "sfb preset=linux hard_limit=1000p"),
    ("red limit 400000 avpkt 1000 min 0 max 0 burst 0", "red preset=linux hard_limit=400000b mean_packet=1000b"),
    // Other number bases, cases, units and percentages.
    ("codel limit 0x3E8 target 5MS interval 0.1Sec", "codel preset=linux hard_limit=1000p"),
    ("fq_codel flows 02000 target 5000.9 limit 10240p", "fq_codel preset=linux"),
    ("bfifo limit 80KBIT", "droptail ecn=off hard_limit=10240b"),
    ("dualpi2 classic_protection 12.5% coupling_factor 0x2", "dualpi2 preset=linux weight=0.12"),
    ("sfb max 100", "sfb preset=linux hard_limit=1000p max=100"),
    ("sfb limit 1000 max 100", "sfb preset=linux hard_limit=1000p max=100"),
    ("bfifo limit 10k", "droptail ecn=off hard_limit=10240b"),
];

#[test]
fn tc_commands_equal_their_forebay_parameters() {
    for (tc, ours) in LINES {
        assert_eq!(canonical(tc), canonical(ours), "{tc}");
    }
}

/// Unsupported arguments are refused as written, with the reason.
#[test]
fn unsupported_tc_options_are_refused() {
    for (text, why) in [
        ("dualpi2 any_ect", "any_ect: found 'any_ect', expected tc's line without it: ECT(0) goes to the C queue"),
        ("dualpi2 limit 10 drop_enqueue", "drop_enqueue: found 'drop_enqueue', expected tc's line without it"),
        ("fq_codel ce_threshold 1ms ce_threshold_selector 0x01/0x03", "ce_threshold_selector: found"),
        ("dualpi2 typical_rtt 20ms max_rtt 15ms", "typical_rtt: found '20ms', expected a time of at most max_rtt"),
        (
            "dualpi2 max_rtt 5s",
            "max_rtt: found '5s', expected shorter round trips (it makes alpha 0.00333 and beta 0.06",
        ),
        ("dualpi2 max_rtt 5p", "max_rtt: found '5p', expected a time"),
        ("dualpi2 step_thresh 5cows", "step_thresh: found '5cows', expected a time"),
        ("dualpi2 min_qlen_step 0 step_thresh 5cows", "step_thresh: found '5cows', expected a time"),
        ("dualpi2 typical_rtt 5ms max_rtt 5cows", "max_rtt: found '5cows', expected a time"),
        ("dualpi2 min_qlen_step x", "min_qlen_step: found 'x', expected a number of packets"),
        ("dualpi2 classic_protection 101", "classic_protection: found '101', expected a percentage from 0 to 100"),
        ("dualpi2 limit 0x10", "limit: found '0x10', expected a number of packets"),
        ("dualpi2 memlimit 32Mb", "memlimit: found '32Mb', expected a whole number of bytes, without a unit"),
        ("fq_codel flows 65537", "flows: found '65537', expected a whole number, from 1 to 65536"),
        ("pfif limit 5", "discipline: found 'pfif', expected one of"),
    ] {
        let said = Spec::parse(text).map_or_else(|error| error.to_string(), |spec| spec.canonical());
        assert!(said.starts_with(why), "{text}: {said}");
    }
    let near = Spec::parse("pfif limit 5").unwrap_err().hint;
    assert_eq!(near.as_deref(), Some("did you mean pfifo?"));
}

/// Every argument sets a known parameter. No other test checks this.
#[test]
fn every_tc_argument_sets_its_parameter() {
    for entry in ENTRIES {
        let Some(tc) = &entry.tc else { continue };
        for (word, tail) in tc.words() {
            let (values, key): (&[&str], _) = match tail {
                Tail::Sets(sets) => (&["777", "7", "7000", "77000", "0.7"], Some(sets.key())),
                Tail::Flag(_) | Tail::Keyword | Tail::Moot(_) => (&[""], None),
                Tail::Ignored(..) | Tail::Late(_) => (&["700", "40"], None),
                Tail::Refused(_) => {
                    assert!(Spec::parse(&format!("{} {word}", entry.name)).is_err(), "{} {word}", entry.name);
                    continue;
                }
            };
            let needed = |need: &&str| format!("{need} {} ", if *need == "avpkt" { "1000" } else { "70000" });
            let needs: String = tc.needs.iter().map(needed).collect();
            let more = if *word == "nodrop" { "ecn" } else { "" };
            let line = |value: &&str| Spec::parse(&format!("{} {needs}{more} {word} {value}", entry.name)).ok();
            let read = values.iter().find_map(line).unwrap_or_else(|| panic!("{} {word}", entry.name));
            if let Some(key) = key {
                let default = Spec::parse(&format!("{} {}", entry.name, tc.defaults)).unwrap();
                assert_ne!(read.get(key), default.get(key), "{} {word}", entry.name);
            }
        }
    }
}
