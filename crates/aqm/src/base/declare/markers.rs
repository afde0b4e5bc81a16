//! The descriptions of markers for the command `explain` and the documentation. A marker works in addition to a
//! discipline: it signals packets, or it colours them IN or OUT of a traffic profile.

use alloc::string::String;

use crate::base::common::Common;
use crate::base::design::{About, Preset, ProbeSpec};
use crate::base::params::{ParamSet, ParamSpec, Value};
use crate::base::units::{Bytes, Rate};

/// The description of a marker.
#[derive(Clone, Copy, Debug)]
pub struct MarkerEntry {
    /// The marker's name.
    pub name: &'static str,
    /// Summary, the publication or code that it implements, rule in pseudocode, and differences from that publication.
    pub about: About,
    /// Examples of its syntax, one per line.
    pub written: &'static str,
    /// Whether it is a parameter of every discipline; otherwise it is a key of `[[flows]]` in scenario files.
    pub is_param: bool,
    /// Its keys in `[[flows]]` of scenario files.
    pub keys: &'static [ParamSpec],
    /// The presets: named sets of values of its keys.
    pub presets: &'static [Preset],
    /// The readable variables of its state (probes).
    pub probes: &'static [ProbeSpec],
    /// Path of the source file that implements it.
    pub code: &'static str,
}

impl MarkerEntry {
    /// The name of the file `code` without extension. The marker's reference implementation, recorded trace (golden
    /// trace) and mutation tests (mutants) have this name.
    pub fn rule(&self) -> &'static str {
        let file = self.code.rsplit('/').next().unwrap_or_default();
        file.strip_suffix(".rs").unwrap_or(file)
    }

    /// The parameters that can be set.
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

/// Keys of the token bucket. An empty default means that the key is required.
pub const BUCKET_KEYS: [ParamSpec; 3] = [
    BUCKET,
    ParamSpec {
        name: "cbs",
        symbol: "CBS",
        unit: "packets|bytes",
        doc: "Committed burst size, in packets such as 8p or in bytes; at least one packet.",
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
        doc: "One bucket per: host of the group, flow, or host over all groups with the same marker (edge); default: \
              host.",
        source: "one profiler per source node in MSVB section 4.1; flow and edge are ours",
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
            summary: "threshold marker in front of any discipline: signals by the buffer's fill level",
            source: "AAQM paper, eq. (18): marking/dropping function with a threshold",
            rule: "arrival:  x = share of the buffer in use, including the packet\n\
                   \u{20}         d = 0 if x <= th;  else (x - th)/(1 - th)\n\
                   \u{20}         if the discipline accepts it and u < d: mark or drop\n\
                   th:       may change at given times",
            deviations: &[
                "eq. (18) is reconstructed from the text, because its symbols are unreadable: 0 up to the threshold, \
                 then linear to 1 at a full buffer",
                "the fill level x differs from the paper: it is measured at arrival, including the packet; the paper \
                 uses the buffer occupancy probability per kind of source, eqs. (7) to (10)",
                "th differs from the paper: it is given; the paper changes it by the sources' loss probability, eqs. \
                 (13) to (16), and gives 0.25 to 0.95 for its simulations",
                "the combination with the AQM is ours: the discipline decides about every packet, also about signalled \
                 ones, and u is from a separate random stream",
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
            summary: "token bucket at the edge: packets within a rate and a burst are IN, others OUT",
            source: "ns-2.35's token-bucket policer with one rate; the edge of RIO and SIO (MSVB section 4.1)",
            rule: "arrival:  tokens = min(cbs, tokens + cir dt)\n\
                   \u{20}         if tokens >= size: IN, tokens -= size;  else OUT, tokens unchanged",
            deviations: &[
                "tokens differ from ns-2: they are integers (bits times nanoseconds), not rounded floating-point \
                 numbers, so a source at exactly cir is always IN",
                "buckets differ from the paper with per=flow or per=edge: in the paper the flows of a host share a \
                 bucket",
                "IN and OUT differ from ns-2: they are a packet field that RIO and SIO read; ns-2 has a code point \
                 and a virtual queue for each",
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
    fn every_parameter_is_fully_described() {
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
    fn documented_and_accepted_range_of_cir_are_equal() {
        let (least, most) = BUCKET_KEYS[0].range;
        let reads = |rate: f64| text::rate(&alloc::format!("{rate}bit")).is_ok();
        assert_eq!([least, most, least / 4.0, most * 2.0].map(reads), [true, true, false, false]);
    }
}
