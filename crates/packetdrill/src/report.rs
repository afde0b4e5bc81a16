//! What came of a script.

use std::fmt;

use forebay_sim::tcp::Variant;

/// The verdict on a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Everything that was compared agrees.
    Pass,
    /// Something differs. What came before is expressed here.
    Fail,
    /// The script needs something that is not modelled, and nothing differs before that.
    CannotExpress,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 3] = [Self::Pass, Self::Fail, Self::CannotExpress];

    /// Its name in tables and documents.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::CannotExpress => "cannot express",
        }
    }
}

/// A difference between what a script expects and what came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// Line of the script, from 1.
    pub line: usize,
    /// What the script expects.
    pub expected: String,
    /// What came instead.
    pub came: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, came {}", self.line, self.expected, self.came)
    }
}

/// Something that a script needs and that cannot be expressed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// Line of the script, from 1.
    pub line: usize,
    /// What cannot be expressed.
    pub what: String,
}

/// The result of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// File, as it was named.
    pub file: String,
    /// Name of the sender, as in scenario files.
    pub tcp: &'static str,
    /// Number of expected packets and assertions that were compared.
    pub compared: u32,
    /// Number of events that were read and not compared: the handshake, the end of the connection, and system calls that
    /// neither set up the connection nor hand over data.
    pub skipped: u32,
    /// Differences, in the order of the script.
    pub mismatches: Vec<Mismatch>,
    /// What cannot be expressed. The script ran up to the first one.
    pub reasons: Vec<Reason>,
}

impl Report {
    pub(crate) fn new(file: &str, tcp: Variant) -> Self {
        Self {
            file: file.to_string(),
            tcp: tcp.word(),
            compared: 0,
            skipped: 0,
            mismatches: Vec::new(),
            reasons: Vec::new(),
        }
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        match (self.mismatches.is_empty(), self.reasons.is_empty()) {
            (false, _) => Verdict::Fail,
            (true, false) => Verdict::CannotExpress,
            (true, true) => Verdict::Pass,
        }
    }

    /// Why the verdict is not a pass, in one line: the first difference or reason, with its line.
    pub fn why(&self) -> Option<String> {
        let mismatch = self.mismatches.first().map(ToString::to_string);
        mismatch.or_else(|| self.reasons.first().map(|reason| format!("{}: {}", reason.line, reason.what)))
    }
}
