//! What the models say about a scenario: the same file, the same disciplines, no packets.
//!
//! [`setting`] reads the link and its flows as the models see them; [`stability`] linearises the loop, [`fluid`] follows
//! it from an empty queue. Both ask the discipline's own code; of one that holds classes to shares the first knows the
//! form ([`classes`]). [`mmpp`] is the queue in the long run under datagrams
//! that Markov chains bring, [`fit`] such a chain for a recording. [`markov`] has the distribution of TCP's queue at one
//! signal probability.

mod answer;
mod classes;
mod controller;
mod drive;
pub mod fit;
pub mod fluid;
pub mod map;
pub mod markov;
pub mod mmpp;

pub mod setting;
pub mod stability;
pub mod tune;

pub use setting::Setting;

#[cfg(test)]
mod testing {
    use forebay_aqm::Spec;

    use super::setting::{self, Setting};
    use crate::load;
    use crate::scenario::Overrides;

    const EXAMPLE: &str = include_str!("../../../../examples/pi-design.toml");

    /// PI's design example with these values, under another discipline.
    pub(super) fn example(sets: &[&str], aqm: &str) -> (Spec, Setting) {
        setting_of(EXAMPLE, sets, aqm)
    }

    /// A scenario with these values, under another discipline.
    pub(super) fn setting_of(scenario: &str, sets: &[&str], aqm: &str) -> (Spec, Setting) {
        let sets = sets.iter().map(|set| (*set).to_string()).collect();
        let overrides = Overrides { sets, ..Overrides::default() };
        let case = load::parse("example.toml", scenario, &overrides).unwrap().remove(0);
        let spec = Spec::parse(aqm).unwrap();
        let setting = setting::of(&case, &spec).unwrap();
        (spec, setting)
    }
}
