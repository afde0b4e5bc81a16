//! Disciplines of one's own beside the built-in ones: registered once, then known wherever a name is read.

use std::sync::{PoisonError, RwLock};

use forebay_aqm::base::design::Entry;
use forebay_aqm::base::own::Own;
use forebay_aqm::base::params::ParamError;
use forebay_aqm::{ENTRIES, Spec};

static KNOWN: RwLock<Vec<Own>> = RwLock::new(Vec::new());

/// Adds a discipline to those that scenarios, `--aqm` and comparisons know. `false`: the name is taken.
pub fn register(own: Own) -> bool {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let name = own.entry().name;
    let taken = ENTRIES.iter().chain(known.iter().map(Own::entry)).any(|entry| entry.name == name);
    if !taken {
        known.push(own);
    }
    !taken
}

/// The same, in place of the one that was registered under this name before; `false`: it is a built-in one's.
pub fn replace(own: Own) -> bool {
    let name = own.entry().name;
    if ENTRIES.iter().any(|entry| entry.name == name) {
        return false;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let before = known.iter().position(|before| before.entry().name == name).map(|at| known.swap_remove(at));
    known.push(own);
    drop(known);
    // Not under the lock: what it is made of may wait for another one.
    drop(before);
    true
}

/// The line of a discipline, built in or registered.
pub fn entry(name: &str) -> Option<&'static Entry> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    ENTRIES.iter().chain(known.iter().map(Own::entry)).find(|entry| entry.name == name)
}

/// Reads a discipline, built in or registered.
pub fn parse(text: &str) -> Result<Spec, ParamError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let named = |own: &&Own| words.first() == Some(&own.entry().name);
    // Read without the lock: a discipline of one's own may wait for another one, or ask for a third discipline.
    let own = KNOWN.read().unwrap_or_else(PoisonError::into_inner).iter().find(named).cloned();
    own.map_or_else(|| Spec::parse(text), |own| Spec::own(&own, &words[1..]))
}
