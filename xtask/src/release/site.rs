//! Where a release is built: a copy of the last commit, a target folder, and the environment that keeps both out of it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::program::{self, at, shown};

/// A folder of its own for one build.
pub(super) struct Site {
    home: PathBuf,
    cargo: PathBuf,
    /// Seconds since 1970 that files in archives bear.
    pub(super) epoch: String,
}

impl Site {
    /// A clone. Changes that are not committed are left out, with a message.
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

    /// The same sources elsewhere.
    pub(super) fn again(&self, home: &Path, cargo: &Path) -> Result<Self, String> {
        let site = Self { home: home.to_path_buf(), cargo: cargo.to_path_buf(), epoch: self.epoch.clone() };
        site.empty()?;
        copy(&self.source(), &site.source()).map(|()| site)
    }

    fn empty(&self) -> Result<(), String> {
        // The other folder for cargo may already exist.
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

    /// Where the artefacts go.
    pub(super) fn out(&self) -> PathBuf {
        self.home.join("artefacts")
    }

    /// Where they are put together, and taken apart again.
    pub(super) fn unpacked(&self) -> PathBuf {
        self.home.join("unpacked")
    }

    /// `command` from the sources, as cargo that leaves this machine out of what it builds.
    pub(super) fn builds(&self, command: &mut Command) {
        let map = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
        // Paths may have blanks: flags are parted by the character that is made for it.
        let flags = [map(&self.cargo, "/cargo"), map(&self.target(), "/target"), map(&self.source(), "/forebay")];
        command.current_dir(self.source()).env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        command.env("CARGO_HOME", &self.cargo).env("CARGO_TARGET_DIR", self.target());
        command.env("SOURCE_DATE_EPOCH", &self.epoch);
    }

    /// Folders of this machine of which no artefact may speak.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let mut all = vec![program::root(), program::build_dir(), self.home.clone(), self.cargo.clone()];
        all.extend(cargo_home().ok().into_iter().chain(env::var_os("HOME").map(PathBuf::from)));
        all
    }

    /// Leaves the artefacts alone.
    pub(super) fn clear(&self) -> Result<(), String> {
        let folders = [self.source(), self.target(), self.unpacked()];
        folders.iter().try_for_each(|folder| at(folder, fs::remove_dir_all(folder)))
    }
}

/// The folder in which cargo keeps what it has fetched.
pub(super) fn cargo_home() -> Result<PathBuf, String> {
    let own = || env::var_os("HOME").map(|user| Path::new(&user).join(".cargo"));
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(own).ok_or_else(|| "neither CARGO_HOME nor HOME is set".into())
}

/// The same crates under another path, so that nothing is fetched again. Copies: through a link rustc sees both paths, one
/// as its working folder and one as that of its sources, and writes other debug information.
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
    fn paths_with_blanks_stay_whole() {
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
