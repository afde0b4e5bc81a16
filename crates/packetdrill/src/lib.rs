//! Runs packetdrill scripts on Forebay's TCP sender and receiver, without sockets and in simulated time.
//!
//! A script is read with the grammar of packetdrill, and runs as far as a sender and a receiver of whole segments can
//! express it. `docs/packetdrill.md` of the repository says what is read, and what cannot be expressed.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod code;
mod connection;
mod lex;
mod parse;
mod report;
mod run;
mod script;
mod sent;
mod settings;
mod stream;

use forebay_aqm::base::time::Span;
use forebay_sim::tcp::Variant;

use connection::NEEDS_SACK;
pub use report::{Mismatch, Reason, Report, Verdict};

/// How scripts run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Options {
    /// The sender. `None`: the one with the congestion control that the script sets, else `linux` if there is one, else
    /// `cubic`.
    pub tcp: Option<Variant>,
    /// How far a packet may be from its time. `None`: as the script says, else 4 ms. An eighth of the time since the
    /// event before is always allowed, unless the script sets another percentage.
    pub tolerance: Option<Span>,
}

/// A script that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    /// File, as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is there.
    pub found: String,
    /// What would be accepted.
    pub accepts: String,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: found {}, expected {}", self.file, self.line, self.found, self.accepts)
    }
}

impl std::error::Error for SyntaxError {}

/// Reads and runs the script `text`. `file`: its name in the report and in errors. If the peer of the script sends
/// duplicate acknowledgements without SACK, and `options` name no sender, the script runs on `newreno`. An error says
/// which text is not understood; nothing has run then.
pub fn check(file: &str, text: &str, options: &Options) -> Result<Report, SyntaxError> {
    let script = parse::parse(file, text)?;
    let report = run::run(file, &script, options)?;
    let lacks_sack = report.reasons.first().is_some_and(|reason| reason.what == NEEDS_SACK);
    if lacks_sack && options.tcp.is_none() {
        return run::run(file, &script, &Options { tcp: Some(Variant::NEWRENO), ..*options });
    }
    Ok(report)
}
