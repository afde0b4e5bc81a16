//! Whatever reads what somebody else wrote.

use forebay_aqm::base::text;
use forebay_aqm::{ENTRIES, Spec};
use forebay_lab::scenario::{self, Overrides};
use forebay_lab::{claim_file, traces};
use forebay_sim::schedule::Trace;

/// What scenarios are made of.
pub(crate) const SCENARIO: &[&str] = &[
    "[topology]\n",
    "kind = ",
    "\"dumbbell\"",
    "\"parking_lot\"",
    "\"graph\"",
    "bottleneck = { rate = \"15mbit\" }",
    "[[flows]]\n",
    "\"ftp\"",
    "\"onoff\"",
    "\"web\"",
    "\"mmpp\"",
    "\"trace\"",
    "count = 8\n",
    "[vary]\n",
    "[compare]\n",
    "aqm = [\"pi\"]",
    "[report]\n",
    "duration = \"20s\"\n",
    "{flows}",
    "1e308",
    "18446744073709551615",
    "-1",
    "nan",
    "inf",
    "[1, 2, 3]",
    "\"1ns\"",
    "\"400gbit\"",
    "rates = [[\"0s\", \"0\"]]",
    "loss = 1",
    "[topology.access]\n",
];
/// What command lines are made of.
pub(crate) const TC: &[&str] = &[
    "red ",
    "pi ",
    "codel ",
    "limit ",
    "min ",
    "max ",
    "avpkt ",
    "1000",
    "1e308",
    "-0",
    "nan",
    "inf",
    "auto",
    "off",
    "20ms",
    "160kb",
    "15mbit",
    "400p",
    "0.1/0.9",
    "preset=",
    "th=0.9",
    "ecn=on",
    "hard_limit=",
    "100.0%",
    "1us",
    "18446744073709551616",
    "min/max/max_p",
    "5p/15p/0.1",
];
/// What recordings are made of.
pub(crate) const TRACES: &[&str] = &[
    "\u{a}\u{d}\u{d}\u{a}",
    "\u{1a}+<M",
    "M<+\u{1a}",
    "0,1500\n",
    "time,size,class\n",
    "1e308,1\n",
    "-1,0\n",
    "1,18446744073709551616\n",
    "\u{0}\u{0}\u{0}\u{1}",
    "\u{ff}\u{ff}\u{ff}\u{7f}",
    "\n",
    "I 100\n",
    "#",
];
/// What files of claims are made of.
pub(crate) const CLAIMS: &[&str] = &[
    "[[claim]]\n",
    "[[section]]\n",
    "id = \"",
    "check = [",
    "quantity = \"queue mean\"",
    "at_most = ",
    "version = 1\n",
    "seeds = ",
    "theorem = ",
    "not_run = ",
    "against = ",
    "1e308",
    "nan",
    "[[figure]]\n",
    "[[table]]\n",
];

/// A scenario is refused, or read; every case of it, written again, is the same.
pub(crate) fn scenario(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(cases) = scenario::parse("fuzzed.toml", text, &Overrides::default()) else { return };
    for case in &cases {
        let written = case.scenario.to_toml();
        match scenario::parse("written.toml", &written, &Overrides::default()).as_deref() {
            Ok([again]) => assert!(again.scenario == case.scenario, "reads back as another:\n{written}"),
            Ok(more) => panic!("reads back as {} scenarios:\n{written}", more.len()),
            Err(error) => panic!("{error}:\n{written}"),
        }
    }
}

/// A discipline as tc(8) or we write it; what is written in full reads the same.
pub(crate) fn tc(bytes: &[u8]) {
    let Ok(line) = std::str::from_utf8(bytes) else { return };
    if let Ok(spec) = Spec::parse(line) {
        let written = spec.canonical();
        let again = Spec::parse(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!(again.canonical(), written);
    }
}

/// Every parameter of every discipline, and every kind of quantity, from any text.
pub(crate) fn params(bytes: &[u8]) {
    let Ok(value) = std::str::from_utf8(bytes) else { return };
    let _ = (text::rate(value), text::span(value), text::bytes(value), text::depth(value));
    let _ = (text::number(value), text::limit(value));
    let (which, value) = value.split_at(value.chars().next().map_or(0, char::len_utf8));
    let entry = &ENTRIES[which.chars().next().map_or(0, |c| c as usize) % ENTRIES.len()];
    let names = entry.params.iter().map(|spec| spec.name).chain(["ecn", "th", "hard_limit", "preset"]);
    for name in names {
        tc(format!("{} {name}={value}", entry.name).as_bytes());
    }
}

/// Recordings of packets and of frames, and delivery opportunities.
pub(crate) fn traces(bytes: &[u8]) {
    for recorded in traces::read_all(bytes).into_iter().flatten() {
        assert!(recorded.items.is_sorted_by_key(|item| item.at), "items out of order");
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Trace::parse(text);
    }
}

/// Files of claims.
pub(crate) fn claims(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = claim_file::parse(text);
}
