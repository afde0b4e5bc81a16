//! Markers: what signals or colours packets beside any discipline. Here their words, for `explain` and the book.

use alloc::string::String;

use crate::base::common::Common;
use crate::base::design::{About, Preset, ProbeSpec};
use crate::base::params::{ParamSet, ParamSpec, Value};
use crate::base::units::{Bytes, Rate};

/// A marker and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct MarkerEntry {
    /// The name it is asked for by.
    pub name: &'static str,
    /// Its words.
    pub about: About,
    /// How it is written, an example a line.
    pub written: &'static str,
    /// Is it a parameter of any discipline (else a key of `[[flows]]`)?
    pub is_param: bool,
    /// Its keys there.
    pub keys: &'static [ParamSpec],
    /// Its presets.
    pub presets: &'static [Preset],
    /// Its probes.
    pub probes: &'static [ProbeSpec],
    /// The file with its rule.
    pub code: &'static str,
}

impl MarkerEntry {
    /// The name of that file, which its transcription, its golden trace and its faults have too.
    pub fn rule(&self) -> &'static str {
        let file = self.code.rsplit('/').next().unwrap_or_default();
        file.strip_suffix(".rs").unwrap_or(file)
    }

    /// What can be set.
    pub fn params(&self) -> impl Iterator<Item = &'static ParamSpec> {
        let common = Common::SPECS.iter().filter(|param| self.is_param && param.name == self.name);
        common.chain(self.keys)
    }
}

/// The largest burst of a token bucket, in bytes.
pub const LARGEST_BURST: u64 = 1_000_000_000;

const BUCKET: ParamSpec = ParamSpec {
    name: "cir",
    symbol: "CIR",
    unit: Rate::UNIT,
    doc: "Committed information rate.",
    source: "1 Mb/s in MSVB section 4.1",
    range: (1.0, 1e15),
    accepts: Rate::ACCEPTS,
    instead: None,
    range_in: Rate::RANGE_IN,
    default: String::new,
};

/// Keys of the token bucket, without a default where there is none.
pub const BUCKET_KEYS: [ParamSpec; 3] = [
    BUCKET,
    ParamSpec {
        name: "cbs",
        symbol: "CBS",
        unit: "packets|bytes",
        doc: "Committed burst size, in packets such as 8p or in bytes; at least a packet.",
        source: "8 packets in MSVB section 4.1",
        range: (1.0, LARGEST_BURST as f64),
        accepts: "a burst such as 8p (packets) or 8000b",
        range_in: Bytes::RANGE_IN,
        ..BUCKET
    },
    ParamSpec {
        name: "per",
        symbol: "",
        unit: "host|flow|edge",
        doc: "Who has a bucket: each host of the group, each flow, or each host for all groups marked alike (edge); default host.",
        source: "a profiler for each source node in MSVB section 4.1; flow and edge are ours",
        accepts: "one of host, flow, edge",
        range_in: None,
        default: || String::from("host"),
        ..BUCKET
    },
];

/// Every marker.
pub static MARKERS: &[MarkerEntry] = &[
    MarkerEntry {
        name: "th",
        about: About {
            summary: "threshold marker in front of any discipline: signals by how full the buffer is",
            source: "AAQM paper, eq. (18): marking/dropping function with a threshold",
            rule: "arrival:  x = share of the buffer that is taken, the packet counted\n\
                   \u{20}         d = 0 if x <= th;  else (x - th)/(1 - th)\n\
                   \u{20}         if the discipline accepts it and u < d: mark or drop\n\
                   th:       may change at given times",
            deviations: &[
                "the symbols of eq. (18) are lost: that it is 0 up to the threshold and rises linearly to 1 at a full \
                 buffer is read from the text around it",
                "here x is how full the buffer is as a packet arrives, which counts; the text has the probability of \
                 buffer occupancy of each kind of source, from eqs. (7) to (10)",
                "the threshold is given; the text changes it by the loss probability of the sources, from eqs. (13) to (16), \
                 and says of the simulations what it was, from 0.25 to 0.95",
                "the text does not say how it meets the AQM: here the discipline judges every packet, also one that is \
                 signalled, and u is of a random stream of its own",
            ],
        },
        written: "--aqm \"droptail th=0.95\"\n--aqm \"red th=0.95/125s:0.5/175s:0.95\"",
        is_param: true,
        keys: &[],
        presets: &[],
        probes: &[],
        code: "crates/aqm/src/base/declare/threshold.rs",
    },
    MarkerEntry {
        name: "token-bucket",
        about: About {
            summary: "token bucket at the edge: within a rate and a burst packets are IN, beyond them OUT",
            source: "ns-2.35's token-bucket policer with one rate; the edge of RIO and SIO (MSVB section 4.1)",
            rule: "arrival:  tokens = min(cbs, tokens + cir dt)\n\
                   \u{20}         if tokens >= size: IN, tokens -= size;  else OUT, tokens stay",
            deviations: &[
                "tokens are whole numbers (bits times nanoseconds), ns-2's are rounded ones: a source at exactly cir is IN \
                 for ever",
                "several flows of a host share a bucket, as in the paper, or each has one: per",
                "IN and OUT are a field of the packet that RIO and SIO read; ns-2 has a code point for either, and a queue \
                 by it",
            ],
        },
        written: "[[flows]] with marker = { kind = \"token-bucket\", cir = \"1mbit\", cbs = \"8p\" }",
        is_param: false,
        keys: &BUCKET_KEYS,
        presets: &[],
        probes: &[],
        code: "crates/aqm/src/parts/token_bucket.rs",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::text;
    use alloc::vec::Vec;

    #[test]
    fn every_parameter_says_all_of_itself() {
        let of = |marker: &MarkerEntry| marker.params().map(|param| param.name).collect::<Vec<_>>();
        assert_eq!(MARKERS.iter().map(of).collect::<Vec<_>>(), [&["th"][..], &["cir", "cbs", "per"]]);
        assert_eq!(MARKERS.iter().map(MarkerEntry::rule).collect::<Vec<_>>(), ["threshold", "token_bucket"]);
        for param in MARKERS.iter().flat_map(MarkerEntry::params) {
            assert!([param.doc, param.source, param.accepts].iter().all(|words| !words.is_empty()), "{param:?}");
            assert!(param.words().is_some() || !param.symbol.is_empty(), "{param:?}");
        }
        assert_eq!(BUCKET_KEYS[0].accepted(), "a rate such as 15mbit, from 1 to 1e15 bit/s");
        assert_eq!(BUCKET_KEYS[1].accepted(), "a burst such as 8p (packets) or 8000b, from 1 to 1e9 bytes");
    }

    #[test]
    fn the_range_of_a_rate_is_what_its_reader_takes() {
        let (least, most) = BUCKET_KEYS[0].range;
        let reads = |rate: f64| text::rate(&alloc::format!("{rate}bit")).is_ok();
        assert_eq!([least, most, least / 4.0, most * 2.0].map(reads), [true, true, false, false]);
    }
}
