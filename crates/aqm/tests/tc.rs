//! What tc(8) says, as tc has it: the lines of the manual pages, and every word of each discipline.

use forebay_aqm::base::tc::Tail;
use forebay_aqm::{ENTRIES, Spec};

fn canonical(text: &str) -> String {
    Spec::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}")).canonical()
}

/// tc's line beside ours.
const LINES: [(&str, &str); 14] = [
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
    (
        "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn bandwidth 10Mbit",
        "red preset=linux hard_limit=400000b min_th=30000b max_th=90000b mean_packet=1000b burst=55 ecn=on",
    ),
    (
        "choke limit 1000 min 83 max 250 burst 90 ecn",
        "choke preset=linux hard_limit=1000p min_th=83p max_th=250p burst=90 ecn=on",
    ),
    ("sfb limit 1000 max 100", "sfb preset=linux hard_limit=1000p max=100"),
    ("bfifo limit 10k", "droptail ecn=off hard_limit=10240b"),
];

#[test]
fn lines_of_tc_mean_here_what_they_mean_there() {
    for (tc, ours) in LINES {
        assert_eq!(canonical(tc), canonical(ours), "{tc}");
    }
}

/// A word that sets no parameter, or none that there is, would be found out by nobody else.
#[test]
fn every_word_is_read_and_sets_what_it_names() {
    for entry in ENTRIES {
        let Some(tc) = &entry.tc else { continue };
        for (word, tail) in tc.words {
            let (value, key) = match tail {
                Tail::Time(key) => ("7ms", Some(key)),
                Tail::Millis(key) | Tail::Packets(key) | Tail::Size(key) | Tail::Number(key) => ("777", Some(key)),
                Tail::Parts(key, _) => ("7", Some(key)),
                Tail::Flag(_) | Tail::Moot(_) => ("", None),
                Tail::Ignored(_) => ("7", None),
            };
            let text = format!("{} {word} {value}", entry.name);
            let read = Spec::parse(&text).or_else(|_| Spec::parse(&format!("{} {word} 0.7", entry.name)));
            let read = read.unwrap_or_else(|e| panic!("{text}: {e:?}"));
            if let Some(key) = key {
                let default = Spec::parse(&format!("{} {}", entry.name, tc.defaults)).unwrap();
                assert_ne!(read.get(key), default.get(key), "{text}");
            }
        }
    }
}
