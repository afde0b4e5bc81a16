//! The modules of a crate, and where a name that one of them uses is defined.

use std::collections::BTreeMap;

use super::Needs;
use super::paths::Named;

/// More re-exports than this behind one another do not end.
const MOST_STEPS: usize = 16;

/// A module: its file and what stands in it. A folder that has no file of its own is one without names.
#[derive(Default)]
struct Module {
    file: String,
    named: Named,
}

/// The modules of a crate by their path from its root.
#[derive(Default)]
pub(super) struct Modules(BTreeMap<Vec<String>, Module>);

impl Modules {
    /// Of the files of a crate, each with its path below `src` and its code.
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let mut modules = Self::default();
        // A program beside a library uses it as another crate does.
        let is_apart = |file: &str| file == "main.rs" && files.iter().any(|(other, _)| *other == "lib.rs");
        for (file, code) in files.iter().filter(|(file, _)| !is_apart(file)) {
            modules.add(path_of(file), file, Named::of(code));
        }
        modules
    }

    fn add(&mut self, path: Vec<String>, file: &str, mut named: Named) {
        for (name, inner) in std::mem::take(&mut named.inner) {
            self.add(below(&path, &name), file, inner);
        }
        for length in 0..path.len() {
            self.0.entry(path[..length].to_vec()).or_default();
        }
        self.0.insert(path, Module { file: file.to_string(), named });
    }

    /// Which file needs which others, and for what.
    pub(super) fn needs(&self) -> Needs {
        let mut needs = Needs::new();
        for (path, module) in &self.0 {
            let own = needs.entry(module.file.clone()).or_default();
            for (file, name) in module.paths().filter_map(|named| self.definition(path, named, MOST_STEPS)) {
                if file != module.file && !is_parent(&file, &module.file) {
                    own.entry(file).or_default().insert(name);
                }
            }
        }
        needs
    }

    /// The file where what `named` stands for in the module at `path` is defined, and its name there; none for another
    /// crate's, and for a module as a whole.
    fn definition(&self, path: &[String], named: &[String], steps: usize) -> Option<(String, String)> {
        let mut at = path.to_vec();
        let mut rest = named;
        while let [first, more @ ..] = rest {
            match first.as_str() {
                "crate" => at.clear(),
                "super" => drop(at.pop()),
                "self" => {}
                _ => break,
            }
            rest = more;
        }
        let is_local = rest.len() == named.len();
        for (i, name) in rest.iter().enumerate() {
            let (module, child) = (self.0.get(&at)?, below(&at, name));
            let is_last = i + 1 == rest.len();
            let stands_for = module.named.imports.iter().find(|import| import.name == *name);
            // At the end of a path a name that is a module's too is that of what was brought in.
            if self.0.contains_key(&child) && !(is_last && stands_for.is_some()) {
                at = child;
            } else if let Some(import) = stands_for {
                let whole: Vec<String> = import.path.iter().chain(&rest[i + 1..]).cloned().collect();
                return self.definition(&at, &whole, steps.checked_sub(1)?);
            } else if is_local && i == 0 {
                return None;
            } else {
                // A macro for all is the root's wherever it is defined.
                let has_macro = |module: &&Module| module.named.macros.contains(name);
                let of_macro = self.0.values().find(has_macro).filter(|_| at.is_empty());
                return Some((of_macro.unwrap_or(module).file.clone(), name.clone()));
            }
        }
        None
    }
}

impl Module {
    /// What it uses by itself, and not only hands on.
    fn paths(&self) -> impl Iterator<Item = &[String]> {
        let used =
            self.named.imports.iter().filter(|import| !import.is_public || self.named.words.contains(&import.name));
        used.map(|import| import.path.as_slice()).chain(self.named.paths.iter().map(Vec::as_slice))
    }
}

/// The module that a file is.
fn path_of(file: &str) -> Vec<String> {
    let mut path: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_string).collect();
    if matches!(file, "lib.rs" | "main.rs") || file.ends_with("/mod.rs") {
        path.pop();
    }
    path
}

fn is_parent(file: &str, child: &str) -> bool {
    path_of(child).split_last().is_some_and(|(_, parent)| parent == path_of(file))
}

fn below(path: &[String], name: &str) -> Vec<String> {
    path.iter().cloned().chain([name.to_string()]).collect()
}
