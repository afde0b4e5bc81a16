//! A copy of the crate `forebay-aqm` into which a fault is put, and the programs of its tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use toml::Table;

use super::fault::Fault;
use crate::base::tree::Tree;
use crate::base::{program, rules};

/// A test program that runs this long hangs because of the fault, and so has found it.
const TIMEOUT: Duration = Duration::from_secs(120);
const CRATE: &str = "crates/aqm/";

pub(super) struct Trial {
    root: PathBuf,
    /// Files without faults, by path.
    sources: BTreeMap<String, String>,
    faulty: Vec<String>,
    /// Test programs by target.
    programs: BTreeMap<String, PathBuf>,
}

impl Trial {
    pub(super) fn new(tree: &Tree) -> Result<Self, String> {
        let root = program::build_dir().join("mutants");
        let sources: BTreeMap<String, String> = tree
            .files()
            .filter(|file| file.path.starts_with(CRATE))
            .map(|file| (file.path.clone(), file.text.clone()))
            .collect();
        let trial = Self { root, sources, faulty: Vec::new(), programs: BTreeMap::new() };
        program::empty(&trial.root.join("crates"))?;
        for (path, text) in &trial.sources {
            trial.write(path, text)?;
        }
        for path in ["Cargo.lock", "rust-toolchain.toml"] {
            trial.write(path, &program::read(path)?)?;
        }
        trial.write("Cargo.toml", &alone(&program::read("Cargo.toml")?)?)?;
        Ok(trial)
    }

    fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let path = self.root.join(path);
        let folder = path.parent().unwrap_or(Path::new("."));
        program::at(&path, fs::create_dir_all(folder).and_then(|()| fs::write(&path, text)))
    }

    /// Applies these faults, removes earlier ones, and builds the test programs.
    pub(super) fn build(&mut self, faults: &[&Fault]) -> Result<(), String> {
        for path in std::mem::take(&mut self.faulty) {
            self.write(&path, &self.sources[&path])?;
        }
        for fault in faults {
            self.write(&fault.file, &fault.apply(&self.sources[&fault.file])?)?;
            self.faulty.push(fault.file.clone());
        }
        let mut cargo = self.command(&program::cargo_program());
        cargo.args(["test", "--quiet", "--no-run", "--message-format=json", "--target-dir", "target"]);
        let out = program::output_within(cargo, Duration::from_secs(900)).map_err(|what| {
            let all: Vec<String> = faults.iter().map(|f| format!("{}: {}", f.discipline, f.words)).collect();
            format!("does not build with: {}\n{what}", all.join("; "))
        })?;
        let messages = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        self.programs = messages
            .filter_map(|m| Some((m["target"]["name"].as_str()?.to_string(), m["executable"].as_str()?.into())))
            .collect();
        Ok(())
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // Cargo's own variables would refer to the checkout, not to the copy.
        command.current_dir(&self.root).stdin(Stdio::null()).env_remove("CARGO_MANIFEST_DIR");
        command
    }

    /// Whether the tests of this fault's discipline or part fail.
    pub(super) fn finds(&self, Fault { discipline, own, .. }: &Fault) -> Result<bool, String> {
        let module = rules::module(own).ok_or_else(|| format!("{own} is no file of forebay-aqm"))?;
        Ok(self.fails("forebay_aqm", &[&format!("{module}::")], None)?
            || self.fails("all", &[&format!("::{discipline}::")], None)?
            || self.fails("all", &["golden::traces_match_the_golden_files"], Some(discipline))?)
    }

    pub(super) fn crate_finds(&self) -> Result<bool, String> {
        for program in self.programs.keys() {
            if self.fails(program, &[], None)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fails(&self, program: &str, tests: &[&str], only: Option<&str>) -> Result<bool, String> {
        let path = self.programs.get(program).ok_or_else(|| format!("no test program {program}"))?;
        let mut command = self.command(path);
        command.current_dir(self.root.join(CRATE)).arg("--quiet").args(tests);
        if let Some(only) = only {
            command.env("FOREBAY_ONLY", only);
        }
        Ok(program::output_within(command, TIMEOUT).is_err())
    }
}

/// The manifest of the workspace with `forebay-aqm` as its only member.
fn alone(manifest: &str) -> Result<String, String> {
    let mut table: Table = toml::from_str(manifest).map_err(|error| error.to_string())?;
    let workspace = table.get_mut("workspace").and_then(|value| value.as_table_mut()).ok_or("no [workspace]")?;
    workspace.insert("members".to_string(), vec!["crates/aqm"].into());
    workspace.remove("default-members");
    toml::to_string(&table).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_workspace_has_one_member_and_keeps_lints() {
        let table: Table = toml::from_str(&alone(&program::read("Cargo.toml").unwrap()).unwrap()).unwrap();
        assert_eq!(table["workspace"]["members"].as_array().map(Vec::len), Some(1));
        assert!(table["workspace"].get("lints").is_some() && table.get("profile").is_some());
    }
}
