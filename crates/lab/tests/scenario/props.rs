//! No text makes the reader of scenario files panic. A scenario that it accepts is written and read back unchanged.

use forebay_lab::load;
use forebay_lab::scenario::{Case, InputError, Overrides};
use proptest::prelude::*;
use proptest::sample::{Index, select};

const EXAMPLE: &str = include_str!("../data/example.toml");
const EVERYTHING: &str = include_str!("../data/everything.toml");
const LOT: &str = include_str!("../data/everything-lot.toml");
const GRAPH: &str = include_str!("../data/everything-graph.toml");

/// Tokens that bring a random file closer to a limit than random letters would.
const WORDS: &[&str] = &[
    "\"",
    "\"\"\"",
    "'",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "{q}",
    "=",
    ".",
    ",",
    "#",
    "\n",
    "\\",
    "\u{0}",
    "\u{feff}",
    "é",
    "-1",
    "0",
    "1e308",
    "nan",
    "inf",
    "0x",
    "99999999999999999999",
    "10mbps",
    "30kB",
    "-10ms",
    "1e6s",
    "0.0000000004s",
    "10mbit",
    "20ms",
    "400p",
    "end",
    "host",
    "unlimited",
    "true",
    "1979-05-27",
    "flows",
    "ftp",
    "onoff",
    "short-tcp",
    "raqm q0=",
    "preset=",
    "alpha=adaptive",
    "\n[vary]\nq = [1, 2]\n",
    "\n\"flows.0.count\" = [1]\n",
    "\n[[change]]\n",
    "\n[[flows]]\nkind = \"cbr\"\nrate = \"1mbit\"\n",
    "[[[[[[[[[[[[[[[[",
    "a.b.c.d.e",
    "parking-lot",
    "graph",
    "loss = \"2%\"\n",
    "rate_steps = [[\"1s\", \"0\"]]\n",
    "rate_trace = [0, 4294967295]\n",
    "delay_trace = [[\"1s\", \"0ms\"]]\ndelay_jitter = \"1ns\"\n",
    "1-h = 1e-300",
    "enter = \"last\"\n",
    "one_way = true\n",
    "\n[[flows]]\nkind = \"trace\"\npackets = \"0 100, 7 200\"\nrepeat = true\n",
    "0 18446744073709551615",
    "\n[[flows]]\nkind = \"rtp\"\nframes = \"0 I 100, 7 B 0\"\nfloor = 1\n",
    "\n[[flows]]\nkind = \"rtp\"\nsynthetic = { rate = \"1mbit\" }\n",
    "\n[[flows]]\nkind = \"rtp\"\ncontrol = \"nada\"\npriority = 2\nfps = 20\n",
    "\n[[flows]]\nkind = \"mmpp\"\nrates = [\"9/s\", \"0/s\"]\ngenerator = [[-1, 1], [2, -2]]\nerlang = 2\n",
    "\n[[flows]]\nkind = \"map\"\nd0 = [[-3, 1], [2, -2]]\nd1 = [[0, 2], [0, 0]]\n",
    ", ",
];

#[derive(Clone, Debug)]
enum Edit {
    Insert(Index, &'static str),
    Remove(Index, usize),
    Replace(Index, char),
    Copy(Index, Index, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (any::<Index>(), select(WORDS)).prop_map(|(at, word)| Edit::Insert(at, word)),
        (any::<Index>(), 1..40usize).prop_map(|(at, n)| Edit::Remove(at, n)),
        (any::<Index>(), any::<char>()).prop_map(|(at, c)| Edit::Replace(at, c)),
        (any::<Index>(), any::<Index>(), 1..60usize).prop_map(|(from, to, n)| Edit::Copy(from, to, n)),
    ]
}

fn apply(text: &str, edits: &[Edit]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for edit in edits {
        let size = chars.len() + 1;
        let end = |at: usize, n: usize| (at + n).min(chars.len());
        match edit {
            Edit::Insert(at, word) => drop(chars.splice(at.index(size)..at.index(size), word.chars())),
            Edit::Remove(at, n) => drop(chars.drain(at.index(size)..end(at.index(size), *n))),
            Edit::Replace(at, c) => drop(chars.splice(at.index(size)..end(at.index(size), 1), [*c])),
            Edit::Copy(from, to, n) => {
                let piece = chars[from.index(size)..end(from.index(size), *n)].to_vec();
                chars.splice(to.index(size)..to.index(size), piece);
            }
        }
    }
    chars.into_iter().collect()
}

fn read(text: &str, sets: Vec<String>, aqm: Vec<String>) -> Result<Vec<Case>, InputError> {
    load::parse("s.toml", text, &Overrides { sets, aqm, ..Overrides::default() })
}

/// Reads a text and checks the result: an error on one line, or an exact round trip.
fn check(outcome: Result<Vec<Case>, InputError>) -> Result<(), TestCaseError> {
    match outcome {
        Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
        Ok(cases) => {
            for case in cases.iter().take(4) {
                let written = case.scenario.to_toml();
                let again =
                    read(&written, vec![], vec![]).map_err(|e| TestCaseError::fail(format!("{e}\n{written}")))?;
                prop_assert_eq!(&again[0].scenario, &case.scenario);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(read(&String::from_utf8_lossy(&bytes), vec![], vec![]))?;
    }

    #[test]
    fn random_tokens_never_panic(words in prop::collection::vec(select(WORDS), 0..40)) {
        check(read(&words.concat(), vec![], vec![]))?;
    }

    #[test]
    fn mutated_scenarios_never_panic(text in select(vec![EXAMPLE, EVERYTHING, LOT, GRAPH]), edits in prop::collection::vec(edit(), 1..5)) {
        check(read(&apply(text, &edits), vec![], vec![]))?;
    }

    #[test]
    fn random_set_and_aqm_arguments_never_panic(
        path in select(vec!["", "title", "packet", "flows", "flows.0", "flows.ftp.start", "topology.bottleneck.aqm", "vary.q", "vary.packet", "report.reference", "x.y"]),
        word in select(WORDS),
        tail in "\\PC{0,12}",
    ) {
        check(read(EXAMPLE, vec![format!("{path}={word}{tail}")], vec![]))?;
        check(read(EXAMPLE, vec![format!("{tail}{path}{word}")], vec![]))?;
        check(read(EXAMPLE, vec![], vec![format!("{word}{tail}"), format!("raqm q0={word}"), tail]))?;
    }

    #[test]
    fn random_vary_arguments_never_panic(
        path in select(vec!["", "title", "packet", "flows", "flows.0.count", "flows.ftp.count", "vary.q", "q", "x.y"]),
        lo in "[-+.0-9e]{0,5}(mbit|ms|/s|p)?",
        hi in "[-+.0-9e]{0,5}(mbit|ms|/s|p)?",
        count in "[0-9.]{0,3}",
        word in select(WORDS),
        tail in "\\PC{0,12}",
    ) {
        let both = |first: String, second: &str| {
            let vary = vec![first, format!("flows.ftp.count={second}")];
            check(load::parse("s.toml", EXAMPLE, &Overrides { vary, ..Overrides::default() }))
        };
        both(format!("{path}={lo}..{hi}/{count}"), &tail)?;
        both(format!("{path}={word},{tail}"), "5..20/4")?;
        both(format!("{tail}{path}[{word}]"), word)?;
    }

    #[test]
    fn quantities_round_trip_through_toml(
        bits in 1..=100_000_000_000u64,
        nanos in 1..=1_000_000_000_000_000u64,
        start in 0..=1_000_000_000_000_000u64,
        packets in 1..=u32::MAX,
        bytes in 500..=1_000_000_000_000_000u64,
        reference in 0.0..=1e9,
        arrivals in 1e-9..=9e3,
        title in "\\PC{0,20}",
    ) {
        let sets = vec![
            format!("topology.bottleneck.rate={bits}bit"),
            format!("topology.bottleneck.delay={nanos}ns"),
            format!("topology.bottleneck.queue={packets}p"),
            format!("topology.access.queue={bytes}b"),
            format!("report.reference={reference}b"),
            format!("flows.bulk.start={start}ns"),
            format!("flows.mice.arrivals={arrivals}/s"),
        ];
        let cases = read(EVERYTHING, sets, vec![]);
        prop_assert!(cases.is_ok(), "{:?}", cases);
        check(cases)?;
        check(read(EXAMPLE, vec![format!("title='{title}'"), format!("compare.labels=['{title}', '', '', '']")], vec![]))?;
    }
}
