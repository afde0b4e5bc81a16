//! Markers: what signals or colours packets beside any discipline. Here their words, for `explain` and the book.

use super::design::About;

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
    /// The file with its rule.
    pub code: &'static str,
}

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
            ],
        },
        written: "--aqm \"droptail th=0.95\"\n--aqm \"red th=0.95/125s:0.5/175s:0.95\"",
        is_param: true,
        code: "crates/aqm/src/base/threshold.rs",
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
            ],
        },
        written: "[[flows]] with marker = { kind = \"token-bucket\", cir = \"1mbit\", cbs = \"8p\" }",
        is_param: false,
        code: "crates/aqm/src/parts/token_bucket.rs",
    },
];
