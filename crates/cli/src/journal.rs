//! What came over a link and what became of it, as a table: `time_s,size_bytes,class` first, which a scenario's `trace` reads.

use std::fmt::Write as _;
use std::path::Path;

use forebay_lab::store::{self, StoreError};
use forebay_live::journal::{Journal, Verdict};

/// Writes it.
pub(crate) fn write(path: &Path, journal: &Journal) -> Result<(), StoreError> {
    let mut out = String::from("time_s,size_bytes,class,colour,flow,pair,protocol,ecn,verdict\n");
    for (arrival, verdict) in journal.arrivals.iter().zip(&journal.verdicts) {
        let about = &arrival.about;
        let verdict = match verdict {
            Some(Verdict::Sent { marked: false }) => "sent",
            Some(Verdict::Sent { marked: true }) => "marked",
            Some(Verdict::Dropped) => "dropped",
            Some(Verdict::Lost) => "lost",
            None => "waiting",
        };
        let _ = writeln!(
            out,
            "{}.{:09},{},{},{:?},{},{},{:?},{:?},{verdict}",
            arrival.at / 1_000_000_000,
            arrival.at % 1_000_000_000,
            arrival.len,
            about.class,
            about.colour,
            about.flow,
            about.pair,
            about.proto,
            about.ecn,
        );
    }
    store::write_whole(path, out.as_bytes())
}
