//! Commands that work on real packets: emulated links, and AQM control laws on network devices.

pub(crate) mod attach;
#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
pub(crate) mod journal;
#[cfg(target_os = "linux")]
pub(crate) mod kernel;
#[cfg(target_os = "linux")]
pub(crate) mod link;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(all(test, target_os = "linux"))]
mod long_run;
pub(crate) mod top;

#[cfg(target_os = "linux")]
use std::collections::BTreeSet;

#[cfg(target_os = "linux")]
use forebay_lab::plan::Plan;

#[cfg(target_os = "linux")]
use crate::render::output::Ui;

/// Prints, for each group of flows of the plan, the keys of its senders that have no effect on a real kernel. `heeded`: keys
/// that have one.
#[cfg(target_os = "linux")]
fn note_keys_without_effect(plan: &Plan, heeded: &[&str], ui: &Ui) {
    let mut notes = BTreeSet::new();
    for group in plan.cases.iter().flat_map(|case| &case.scenario.flows) {
        let mut keys = group.kind.tcp().map(|tcp| tcp.keys_besides_kernel()).unwrap_or_default();
        keys.retain(|key| !heeded.contains(key));
        if !keys.is_empty() {
            notes.insert(format!("flows {}: no effect on Linux, which has its own: {}", group.name, keys.join(", ")));
        }
    }
    notes.iter().for_each(|note| ui.note(note));
}
