//! Rules of ns-2 that our runs can follow, to see whether they explain a difference.

use forebay_aqm::Spec;
use forebay_lab::scenario::Case;
use forebay_sim::tcp::Ns2Rules;

/// A change of our run towards ns-2.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) name: String,
    /// The discipline with the change.
    pub(super) spec: Spec,
    pub(super) rules: Ns2Rules,
}

/// Discipline, our value of a parameter, and the value that follows ns-2. Presets of a paper may differ from ns-2.
const SETTINGS: [(&str, &str, &str); 4] = [
    ("ared", "clock=timer", "clock=change"),
    ("ared", "quirk=off", "quirk=on"),
    ("rio", "quirk=off", "quirk=on"),
    ("feng_red", "quirk=off", "quirk=on"),
];

/// The discipline as it is: no change.
pub(super) fn none(spec: &Spec) -> Change {
    Change { name: String::new(), spec: spec.clone(), rules: Ns2Rules::default() }
}

/// The changes that can affect a contender, one at a time, then all of them.
pub(super) fn changes(spec: &Spec, case: &Case) -> Vec<Change> {
    let plain = none(spec);
    let mut changes = Vec::new();
    let mut together = plain.clone();
    let options = || case.scenario.flows.iter().filter_map(|group| group.kind.tcp());
    let cwr = spec.ecn() && case.scenario.flows.iter().any(|group| group.codepoint().is_capable());
    let sack = options().any(|options| options.variant.profile().word == "sack");
    for (applies, name, rules) in [
        (cwr, "CWR on retransmissions", Ns2Rules { cwr: true, sack1: false }),
        (sack, "the recovery of Sack1", Ns2Rules { cwr: false, sack1: true }),
    ] {
        if applies {
            changes.push(Change { name: name.to_string(), rules, ..plain.clone() });
            together.rules.cwr |= rules.cwr;
            together.rules.sack1 |= rules.sack1;
        }
    }
    for (discipline, ours, ns2) in SETTINGS {
        if spec.name() == discipline
            && let Some(spec) = with(spec, ours, ns2)
        {
            changes.push(Change { name: ns2.to_string(), spec, ..plain.clone() });
            together.spec = with(&together.spec, ours, ns2).unwrap_or(together.spec);
        }
    }
    if changes.len() > 1 {
        let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
        together.name = names.join(" and ");
        changes.push(together);
    }
    changes
}

/// The discipline `spec` with the parameter value `new` instead of `old`; `None`: it does not have the value `old`.
fn with(spec: &Spec, old: &str, new: &str) -> Option<Spec> {
    let text = spec.canonical();
    text.contains(old).then(|| Spec::parse(&text.replace(old, new)).ok()).flatten()
}
