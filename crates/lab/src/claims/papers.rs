//! The scenario files and claims of the papers, compiled in, so that the binary reproduces them anywhere.

use crate::claims::registration::Registered;

/// A paper that `forebay reproduce` reproduces.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Name of the paper on the command line.
    pub name: &'static str,
    /// One-line summary.
    pub summary: &'static str,
    /// Folder with its files, for messages.
    pub folder: &'static str,
    /// Text of the paper's `claims.toml`, followed by that of `exhibits.toml` if figures and tables have their own
    /// file.
    pub claims: &'static str,
    /// Scenario files: name without `.toml`, and text.
    pub scenarios: &'static [(&'static str, &'static str)],
    /// `readings.toml`: the settings that the paper leaves open.
    pub readings: &'static str,
    /// `found.json`: the result of the search of those settings.
    pub found: &'static str,
    /// Whether it is a suite of `forebay evaluate`.
    pub is_suite: bool,
    /// The registration of the claims of a suite, if there is one.
    pub registered: Option<&'static Registered>,
    /// `arithmetic.toml`: relations between numbers that the paper prints.
    pub arithmetic: &'static str,
}

impl Paper {
    /// Path, for messages, and text of the scenario `name`.
    pub fn scenario(&self, name: &str) -> Option<(String, &'static str)> {
        let (_, text) = self.scenarios.iter().find(|(known, _)| *known == name)?;
        Some((format!("{}/{name}.toml", self.folder), text))
    }
}

/// Declares the paper in the folder `papers/$name`, with the listed scenario files. Each `$part` is a further file of
/// the folder; its text is appended to that of `claims.toml`. File names are without `.toml`.
macro_rules! paper {
    ($name:literal, $summary:literal, [$($scenario:literal),* $(,)?] $(, $part:literal)*) => {
        Paper {
            name: $name,
            summary: $summary,
            folder: concat!("papers/", $name),
            claims: concat!(
                include_str!(concat!("../../../../papers/", $name, "/claims.toml"))
                $(, "\n", include_str!(concat!("../../../../papers/", $name, "/", $part, ".toml")))*
            ),
            scenarios: &[$((
                $scenario,
                include_str!(concat!("../../../../papers/", $name, "/", $scenario, ".toml")),
            )),*],
            readings: include_str!(concat!("../../../../papers/", $name, "/readings.toml")),
            found: include_str!(concat!("../../../../papers/", $name, "/found.json")),
            is_suite: false,
            registered: None,
            arithmetic: include_str!(concat!("../../../../papers/", $name, "/arithmetic.toml")),
        }
    };
}

/// All papers, in the order in which the command line lists them.
#[rustfmt::skip]
pub const PAPERS: &[Paper] = &[
    paper!("msc", "MSC: the rate sets p on a large time scale, the queue corrects it on a small one (Ji, Dong)", [
        "exp-1", "exp-1-rem-500", "exp-1-rem-bytes", "exp-1-even", "exp-1-reverse", "exp-1-reverse-light",
        "exp-2", "exp-2-rem-500", "exp-2-busy", "exp-2-reverse", "exp-2-reverse-light",
        "exp-3", "exp-3-rem-500", "exp-3-smooth", "exp-3-bursty", "exp-3-even", "exp-3-reverse", "exp-3-reverse-light",
        "exp-4", "exp-4-units", "exp-4-1000", "exp-4-reverse", "exp-4-reverse-light", "eq-3",
    ]),
    paper!("aaqm", "AAQM: p goes up and down by arrivals over departures, for access networks (Rahmani, Ahlund, Kanter)",
        ["tuning", "load", "load-64", "load-wired", "web", "web-busy", "model"],
        "exhibits"),
    paper!("raqm", "RAQM: rate-based, p follows the input rate exponentially (Wang, Li, Hou, Sohraby, Tang)",
        ["case-1", "case-2", "case-3", "case-3-sweep", "case-4", "constant-p", "sub-aggregates"],
        "exhibits"),
    paper!("red-tail", "RED+Tail: short TCP and UDP drop-tail, long TCP under Adaptive RED; dynamic thresholds",
        ["files", "files-tcp", "files-two-way", "files-setup", "files-ns2", "files-timers", "files-2006", "mixed", "mixed-tcp", "mixed-2006", "delivery", "load", "max-th1", "model"],
        "exhibits"),
    paper!("msvb", "MSVB and SIO: a virtual buffer with a threshold for each class, or for IN and OUT",
        ["load", "load-350", "load-sio", "profile", "profile-double", "rtt", "rtt-wide", "mixed", "mixed-double", "weighted", "weighted-mixed", "weighted-mixed-double"],
        "exhibits"),
];

/// The paper of this name.
pub fn find(name: &str) -> Option<&'static Paper> {
    PAPERS.iter().find(|p| p.name == name)
}
