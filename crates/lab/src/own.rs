//! Custom disciplines that a program registers. After registration their names are accepted wherever the name of a
//! discipline is read.

use std::sync::{PoisonError, RwLock};

use forebay_aqm::base::design::Entry;
use forebay_aqm::base::own::Own;
use forebay_aqm::base::params::ParamError;
use forebay_aqm::{ENTRIES, Spec};

use crate::linux;

static KNOWN: RwLock<Vec<Own>> = RwLock::new(Vec::new());

/// Registers a discipline for scenarios, `--aqm` and comparisons. `false` if the name is taken.
pub fn register(own: Own) -> bool {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let name = own.entry().name;
    let taken = ENTRIES.iter().chain(known.iter().map(Own::entry)).any(|entry| entry.name == name);
    if !taken {
        known.push(own);
    }
    !taken
}

/// Registers a discipline, replacing a custom one of the same name. `false` if a built-in discipline has this name.
pub fn replace(own: Own) -> bool {
    let name = own.entry().name;
    if ENTRIES.iter().any(|entry| entry.name == name) {
        return false;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let before = known.iter().position(|before| before.entry().name == name).map(|at| known.swap_remove(at));
    known.push(own);
    drop(known);
    // Dropped without the lock: dropping the discipline may wait for another lock.
    drop(before);
    true
}

/// Description of a discipline (name, parameters and others), built-in or registered; `None` if the name is unknown.
pub fn entry(name: &str) -> Option<&'static Entry> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    ENTRIES.iter().chain(known.iter().map(Own::entry)).find(|entry| entry.name == name)
}

/// Reads a discipline with its parameters, built-in or registered.
pub fn parse(text: &str) -> Result<Spec, ParamError> {
    if let Some(linux) = linux::parse(text) {
        return linux;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let named = |own: &&Own| words.first() == Some(&own.entry().name);
    // Read without the lock: a custom discipline may wait for another lock or look up another discipline.
    let own = KNOWN.read().unwrap_or_else(PoisonError::into_inner).iter().find(named).cloned();
    own.map_or_else(|| Spec::parse(text), |own| Spec::own(&own, &words[1..]))
}
