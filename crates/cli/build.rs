//! Passes the version and, in a git checkout, the revision to the program and the Python module.

use std::path::Path;
use std::process::Command;

fn git(words: &[&str]) -> Option<String> {
    let out = Command::new("git").args(words).output().ok().filter(|out| out.status.success())?;
    let text = String::from_utf8(out.stdout).ok()?;
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}

/// The short revision, if this crate is at its usual place in a checkout of the project.
fn revision() -> Option<String> {
    let manifest = std::env::var("CARGO_MANIFEST_DIR").ok()?;
    let own = format!("crates/{}/", Path::new(&manifest).file_name()?.to_string_lossy());
    git(&["rev-parse", "--show-prefix"]).filter(|prefix| *prefix == own)?;
    let folder = git(&["rev-parse", "--absolute-git-dir"])?;
    // logs/HEAD changes with every commit and checkout. A path that does not exist would force a rebuild each
    // time.
    for name in ["HEAD", "logs/HEAD"] {
        let path = Path::new(&folder).join(name);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(&["rev-parse", "--short=10", "HEAD"])
}

fn main() {
    println!("cargo::rerun-if-changed=../cli/build.rs");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let revision = revision();
    let long = revision.as_ref().map_or_else(|| version.clone(), |rev| format!("{version} ({rev})"));
    println!("cargo::rustc-env=FOREBAY_VERSION={long}");
    println!("cargo::rustc-env=FOREBAY_REVISION={}", revision.unwrap_or_default());
}
