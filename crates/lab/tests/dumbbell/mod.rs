//! A dumbbell around some flows, read and run, for tests of complete scenarios.

use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::record::RunRecord;
use forebay_lab::scenario::{Case, InputError, Overrides};

/// A dumbbell as in a file, without flows.
pub(crate) struct Dumbbell<'a> {
    /// `duration` and other keys of the top level.
    pub(crate) head: &'a str,
    /// Keys of the tables of its links.
    pub(crate) bottleneck: &'a str,
    pub(crate) access: &'a str,
    pub(crate) egress: &'a str,
}

/// 1 Mb/s with a buffer of 10 packets, for one second.
pub(crate) const SLOW: Dumbbell<'static> = Dumbbell {
    head: "duration = \"1s\"",
    bottleneck: "rate = \"1mbit\", delay = \"10ms\", queue = \"10p\"",
    access: "rate = \"1mbit\", delays = [\"10ms\"]",
    egress: "delay = \"10ms\"",
};

impl Dumbbell<'_> {
    /// The file with these flows.
    pub(crate) fn with(&self, flows: &str) -> String {
        let Self { head, bottleneck, access, egress } = self;
        format!(
            "version = 1\n{head}\n[topology]\nkind = \"dumbbell\"\nbottleneck = {{ {bottleneck} }}\n\
             access = {{ {access} }}\negress = {{ {egress} }}\n{flows}\n"
        )
    }
}

/// Its cases.
pub(crate) fn read(text: &str) -> Result<Vec<Case>, InputError> {
    load::parse("s.toml", text, &Overrides::default())
}

/// Its first case.
pub(crate) fn case(text: &str) -> Result<Case, InputError> {
    read(text).map(|mut cases| cases.remove(0))
}

/// The first run of these cases.
pub(crate) fn run(cases: Vec<Case>) -> RunRecord {
    let plan = Plan::new(cases, 1, 1);
    plan.run(plan.jobs()[0], &mut ()).unwrap().unwrap()
}
