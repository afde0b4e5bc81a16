//! A folder to build a release in: a copy of the last commit, a target folder, and the environment of the build.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::program::{self, at, shown};

pub(super) struct Site {
    home: PathBuf,
    cargo: PathBuf,
    /// Time of files in archives, in seconds since 1970.
    pub(super) epoch: String,
}

impl Site {
    /// Clones the last commit. Uncommitted changes are left out, with a message.
    pub(super) fn of_last_commit(home: &Path, cargo: &Path) -> Result<Self, String> {
        let git = |words: &[&str]| {
            let mut git = program::at_root("git");
            git.args(words);
            program::said(git).map(|out| out.trim().to_string())
        };
        let changed = git(&["status", "--porcelain"])?;
        if !changed.is_empty() {
            println!("the last commit is built, without what has changed since:\n{changed}");
        }
        let epoch = env::var("SOURCE_DATE_EPOCH").or_else(|_| git(&["log", "-1", "--format=%ct"]))?;
        let site = Self { home: home.to_path_buf(), cargo: cargo.to_path_buf(), epoch };
        site.empty()?;
        let mut clone = program::at_root("git");
        clone.args(["clone", "--quiet", "--shared"]).arg(program::root()).arg(site.source());
        shown(clone).map(|()| site)
    }

    /// Copies the sources to another folder.
    pub(super) fn again(&self, home: &Path, cargo: &Path) -> Result<Self, String> {
        let site = Self { home: home.to_path_buf(), cargo: cargo.to_path_buf(), epoch: self.epoch.clone() };
        site.empty()?;
        copy(&self.source(), &site.source()).map(|()| site)
    }

    fn empty(&self) -> Result<(), String> {
        // The folder of the cargo home may exist already.
        for old in [self.source(), self.target()] {
            let _ = fs::remove_dir_all(old);
        }
        [self.out(), self.unpacked()].iter().try_for_each(|new| program::empty(new))
    }

    pub(super) fn source(&self) -> PathBuf {
        self.home.join("source")
    }

    fn target(&self) -> PathBuf {
        self.home.join("target")
    }

    pub(super) fn program(&self) -> PathBuf {
        self.target().join("release").join("forebay")
    }

    /// Folder of the artefacts.
    pub(super) fn out(&self) -> PathBuf {
        self.home.join("artefacts")
    }

    /// Folder to pack and unpack in.
    pub(super) fn unpacked(&self) -> PathBuf {
        self.home.join("unpacked")
    }

    /// Runs `command` in the sources; cargo then writes no path of this machine into its output.
    pub(super) fn builds(&self, command: &mut Command) {
        let map = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
        // Paths may contain blanks: flags are separated by a special character.
        let flags = [map(&self.cargo, "/cargo"), map(&self.target(), "/target"), map(&self.source(), "/forebay")];
        command.current_dir(self.source()).env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        command.env("CARGO_HOME", &self.cargo).env("CARGO_TARGET_DIR", self.target());
        command.env("SOURCE_DATE_EPOCH", &self.epoch);
    }

    /// Folders of this machine whose paths must not be in an artefact.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let mut all = vec![program::root(), program::build_dir(), self.home.clone(), self.cargo.clone()];
        all.extend(cargo_home().ok().into_iter().chain(env::var_os("HOME").map(PathBuf::from)));
        all
    }

    /// Removes everything except the artefacts.
    pub(super) fn clear(&self) -> Result<(), String> {
        let folders = [self.source(), self.target(), self.unpacked()];
        folders.iter().try_for_each(|folder| at(folder, fs::remove_dir_all(folder)))
    }
}

/// Cargo's home.
pub(super) fn cargo_home() -> Result<PathBuf, String> {
    let own = || env::var_os("HOME").map(|user| Path::new(&user).join(".cargo"));
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(own).ok_or_else(|| "neither CARGO_HOME nor HOME is set".into())
}

/// The same crates under another path, so that nothing is fetched again. They are copied: with a link, rustc sees both
/// paths, and writes different debug information.
pub(super) fn other_cargo_home(cargo: &Path, home: &Path) -> Result<PathBuf, String> {
    let other = home.join("cargo");
    program::empty(&other)?;
    let here = ["registry", "git", "config.toml", "config"].into_iter().filter(|entry| cargo.join(entry).exists());
    here.into_iter().try_for_each(|entry| copy(&cargo.join(entry), &other.join(entry)))?;
    Ok(other)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let mut cp = Command::new("cp");
    cp.arg("-r").arg(from).arg(to);
    shown(cp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_paths_may_contain_blanks() {
        let site = Site { home: "/a b".into(), cargo: "/c d".into(), epoch: "0".into() };
        let mut command = Command::new("cargo");
        site.builds(&mut command);
        let has = |name: &str, value: &str| {
            command.get_envs().any(|(key, now)| key == name && now.is_some_and(|now| now.to_str() == Some(value)))
        };
        let flags = ["/c d=/cargo", "/a b/target=/target", "/a b/source=/forebay"];
        let flags = flags.map(|map| format!("--remap-path-prefix={map}")).join("\x1f");
        assert!(has("CARGO_ENCODED_RUSTFLAGS", &flags) && has("CARGO_HOME", "/c d"));
        assert!(has("CARGO_TARGET_DIR", "/a b/target"));
    }
}
