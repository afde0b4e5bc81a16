//! The artefacts: an archive with the program, its texts and licences, and the wheel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::site::Site;
use super::{name, said};
use crate::base::program;

const TEXTS: [&str; 5] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "docs/licences.md"];
const SHELLS: [(&str, &str); 3] = [("bash", "forebay"), ("zsh", "_forebay"), ("fish", "forebay.fish")];

/// The program's archive.
pub(super) fn archive(site: &Site) -> Result<PathBuf, String> {
    let version = env!("CARGO_PKG_VERSION");
    let folder = format!("forebay-{version}-{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let place = site.unpacked().join("put together").join(&folder);
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    fs::create_dir_all(place.join("completions")).map_err(failed)?;
    fs::copy(site.program(), place.join("forebay")).map_err(failed)?;
    for text in TEXTS {
        fs::copy(site.source().join(text), place.join(name(Path::new(text)))).map_err(failed)?;
    }
    said(Command::new(site.program()).args(["--quiet", "man"]).arg(place.join("man")))?;
    for (shell, file) in SHELLS {
        let mut command = Command::new(site.program());
        command.args(["completions", shell]);
        fs::write(place.join("completions").join(file), program::output(command)?.1).map_err(failed)?;
    }
    let archive = site.out().join(format!("{folder}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{}", site.epoch)).args(["--use-compress-program", "gzip -9n", "-cf"]).arg(&archive);
    said(tar.arg("-C").arg(place.parent().unwrap_or(&place)).arg(&folder))?;
    Ok(archive)
}

/// The wheel.
pub(super) fn wheel(site: &Site, python: &Path) -> Result<PathBuf, String> {
    let mut maturin = Command::new(python);
    site.builds(&mut maturin).args(["-m", "maturin", "build", "--quiet", "--locked", "--out"]).arg(site.out());
    maturin.current_dir(site.source().join("python"));
    program::with_cargo(&mut maturin)?;
    said(&mut maturin)?;
    let mut built = fs::read_dir(site.out()).into_iter().flatten().flatten().map(|entry| entry.path());
    built.find(|path| path.extension().is_some_and(|end| end == "whl")).ok_or_else(|| "no wheel was made".to_string())
}

/// Takes both apart again, as users do, and runs the program; where they lie.
pub(super) fn unpack(site: &Site, archive: &Path, wheel: &Path, python: &Path) -> Result<PathBuf, String> {
    let place = site.unpacked().join("as users have it");
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    said(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&place))?;
    said(Command::new(python).args(["-m", "zipfile", "-e"]).arg(wheel).arg(place.join("wheel")))?;
    let folder = name(archive);
    let program = place.join(folder.trim_end_matches(".tar.gz")).join("forebay");
    said(Command::new(program).arg("--version"))?;
    Ok(place)
}
