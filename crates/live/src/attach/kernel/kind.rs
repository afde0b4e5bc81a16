//! The three actuators of `forebay attach` by name. An actuator marks and drops packets in the kernel.

/// The kinds of actuator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The BPF program as a TCX link; Linux 6.6 and later.
    Tcx,
    /// The BPF program as a filter of the clsact qdisc.
    Clsact,
    /// nftables rules, for systems that refuse BPF.
    Nft,
}

impl Kind {
    /// All actuators in order of preference.
    pub const ALL: [Self; 3] = [Self::Tcx, Self::Clsact, Self::Nft];

    /// The actuator's name on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tcx => "tcx",
            Self::Clsact => "clsact",
            Self::Nft => "nft",
        }
    }

    /// The actuator with this name.
    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}
