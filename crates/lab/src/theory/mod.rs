//! Analytical models. They use the same scenario file and the same disciplines as the simulator, but they do not
//! simulate packets. A loop is the control loop of TCP flows and a discipline at one link.
//!
//! - [`setting`]: link and flows as the models see them.
//! - [`stability`]: the linearised loop; [`fluid`]: its trajectory from an empty queue. Both run the discipline's own
//!   code. For one that enforces class shares the linear model uses formulas ([`classes`]).
//! - [`mmpp`]: stationary queue with datagrams from Markov chains; [`fit`]: such a chain for a recording.
//! - [`markov`]: queue distribution with TCP at one signal probability.

pub mod answer;
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

    /// The scenario `examples/pi-design.toml` with these settings and with the discipline `aqm`.
    pub(super) fn example(sets: &[&str], aqm: &str) -> (Spec, Setting) {
        setting_of(EXAMPLE, sets, aqm)
    }

    /// The scenario of this text with these settings and with the discipline `aqm`.
    pub(super) fn setting_of(scenario: &str, sets: &[&str], aqm: &str) -> (Spec, Setting) {
        let sets = sets.iter().map(|set| (*set).to_string()).collect();
        let overrides = Overrides { sets, ..Overrides::default() };
        let case = load::parse("example.toml", scenario, &overrides).unwrap().remove(0);
        let spec = Spec::parse(aqm).unwrap();
        let setting = setting::of(&case, &spec).unwrap();
        (spec, setting)
    }
}
