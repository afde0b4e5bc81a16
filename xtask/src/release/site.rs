//! Where a release is built: a copy of the last commit, a target folder, and the environment that keeps both out of it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::said;
use crate::base::{program, tree};

/// The first moment that both archives can state, for sources without git: 1980-01-01.
const FIRST: &str = "315532800";

/// A folder of its own for one build.
pub(super) struct Site {
    home: PathBuf,
    cargo: PathBuf,
    /// Seconds since 1970 that files in archives bear.
    pub(super) epoch: String,
}

impl Site {
    /// A new one. What a checkout has beside its last commit is left out, and said to be.
    pub(super) fn lay_out(home: &Path, cargo: &Path) -> Result<Self, String> {
        let site = Self { home: home.to_path_buf(), cargo: cargo.to_path_buf(), epoch: epoch() };
        site.empty()?;
        site.copy()?;
        Ok(site)
    }

    /// The same sources elsewhere, while nothing is built yet: commits that come later are in neither.
    pub(super) fn again(&self, home: &Path, cargo: &Path) -> Result<Self, String> {
        let site = Self { home: home.to_path_buf(), cargo: cargo.to_path_buf(), epoch: self.epoch.clone() };
        site.empty()?;
        said(Command::new("cp").arg("-r").arg(self.source()).arg(site.source()))?;
        Ok(site)
    }

    fn empty(&self) -> Result<(), String> {
        // The other folder for cargo may lie in it already.
        for old in [self.source(), self.target(), self.out(), self.unpacked()] {
            let _ = fs::remove_dir_all(old);
        }
        for new in [self.out(), self.unpacked()] {
            fs::create_dir_all(&new).map_err(|error| format!("{}: {error}", new.display()))?;
        }
        Ok(())
    }

    fn copy(&self) -> Result<(), String> {
        if let Some(changed) = git(&["status", "--porcelain"]) {
            if !changed.is_empty() {
                println!("the last commit is built, without what has changed since:\n{changed}");
            }
            let mut clone = program::at_root("git");
            return said(clone.args(["clone", "--quiet", "--shared"]).arg(program::root()).arg(self.source()));
        }
        for path in tree::paths()? {
            let to = self.source().join(&path);
            let folder = to.parent().unwrap_or(&to);
            let copied = fs::create_dir_all(folder).and_then(|()| fs::copy(program::root().join(&path), &to));
            copied.map_err(|error| format!("{}: {error}", to.display()))?;
        }
        Ok(())
    }

    /// The sources.
    pub(super) fn source(&self) -> PathBuf {
        self.home.join("source")
    }

    fn target(&self) -> PathBuf {
        self.home.join("target")
    }

    /// The program.
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
    pub(super) fn builds<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let map = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
        // Paths may have blanks: flags are parted by the character that is made for it.
        let flags = [map(&self.cargo, "/cargo"), map(&self.target(), "/target"), map(&self.source(), "/forebay")];
        command.current_dir(self.source()).env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        command.env("CARGO_HOME", &self.cargo).env("CARGO_TARGET_DIR", self.target());
        command.env("SOURCE_DATE_EPOCH", &self.epoch)
    }

    /// Folders of this machine of which no artefact may speak.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let mut all = vec![program::root(), program::build_dir(), self.home.clone(), self.cargo.clone()];
        all.extend(cargo_home());
        all.extend(env::var_os("HOME").map(PathBuf::from));
        all
    }

    /// Leaves the artefacts alone.
    pub(super) fn clear(&self) -> Result<(), String> {
        for folder in [self.source(), self.target(), self.unpacked()] {
            fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        Ok(())
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
    let _ = fs::remove_dir_all(&other);
    fs::create_dir_all(&other).map_err(|error| format!("{}: {error}", other.display()))?;
    for entry in ["registry", "git", "config.toml", "config"] {
        if cargo.join(entry).exists() {
            said(Command::new("cp").arg("-r").arg(cargo.join(entry)).arg(other.join(entry)))?;
        }
    }
    Ok(other)
}

/// What git says of the checkout; nothing where there is none.
fn git(words: &[&str]) -> Option<String> {
    let mut command = program::at_root("git");
    let out = command.args(words).output().ok().filter(|out| out.status.success())?;
    Some(String::from_utf8_lossy(&out.stdout).trim().to_string())
}

/// The time of the last commit, unless the caller names one.
fn epoch() -> String {
    let told = env::var("SOURCE_DATE_EPOCH").ok();
    told.or_else(|| git(&["log", "-1", "--format=%ct"])).unwrap_or_else(|| {
        println!("without git there is no last commit: files in archives bear 1980-01-01, or SOURCE_DATE_EPOCH");
        FIRST.to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_blanks_stay_whole() {
        let site = Site { home: "/a b".into(), cargo: "/c d".into(), epoch: FIRST.into() };
        let mut command = Command::new("cargo");
        site.builds(&mut command);
        let value = |name: &str| {
            command.get_envs().find(|(key, _)| *key == name).and_then(|(_, value)| Some(value?.to_str()?.to_string()))
        };
        let flags = value("CARGO_ENCODED_RUSTFLAGS").unwrap();
        let flags: Vec<&str> = flags.split('\x1f').collect();
        assert_eq!(flags.len(), 3);
        assert!(flags.contains(&"--remap-path-prefix=/a b/source=/forebay"));
        assert_eq!(
            (value("CARGO_TARGET_DIR").as_deref(), value("CARGO_HOME").as_deref()),
            (Some("/a b/target"), Some("/c d"))
        );
    }
}
