//! The three actuators, by name.

/// What drops and marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The BPF program as a TCX link, Linux 6.6 and later.
    Tcx,
    /// The BPF program as a filter of the clsact qdisc.
    Clsact,
    /// Rules of nftables, where BPF is refused.
    Nft,
}

impl Kind {
    /// All, the best first.
    pub const ALL: [Self; 3] = [Self::Tcx, Self::Clsact, Self::Nft];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tcx => "tcx",
            Self::Clsact => "clsact",
            Self::Nft => "nft",
        }
    }

    /// The one with this word.
    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}
