//! The papers' scenario files and claims, compiled in: the binary reproduces them anywhere.

/// One paper.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Its word on the command line.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// `claims.toml`.
    pub claims: &'static str,
    /// Scenario files by name, without `.toml`.
    pub scenarios: &'static [(&'static str, &'static str)],
}

/// Every paper there is, in the order of the command line.
pub const PAPERS: &[Paper] = &[Paper {
    name: "raqm",
    summary: "RAQM: rate-based, p follows the input rate exponentially (Wang, Li, Hou, Sohraby, Tang)",
    claims: include_str!("../../../papers/raqm/claims.toml"),
    scenarios: &[
        ("case-1", include_str!("../../../papers/raqm/case-1.toml")),
        ("case-2", include_str!("../../../papers/raqm/case-2.toml")),
        ("case-3", include_str!("../../../papers/raqm/case-3.toml")),
        ("case-3-sweep", include_str!("../../../papers/raqm/case-3-sweep.toml")),
        ("case-4", include_str!("../../../papers/raqm/case-4.toml")),
    ],
}];

/// The paper of this name.
pub fn find(name: &str) -> Option<&'static Paper> {
    PAPERS.iter().find(|p| p.name == name)
}
