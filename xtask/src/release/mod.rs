//! `cargo xtask release`: an archive with the program, its manual and completions, and the wheel. A second build on
//! the same system gives the same bytes: archives have no paths of the machine, fixed times and order of files, and no
//! names of users.

mod site;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::program::{self, at, shown};
use crate::test::python::{environment, install, wheel_in};
use site::Site;

const TEXTS: &str = "README.md CHANGELOG.md SECURITY.md CITATION.cff LICENSE-MIT LICENSE-APACHE docs/licences.md";
const SHELLS: [(&str, &str); 3] = [("bash", "forebay"), ("zsh", "_forebay"), ("fish", "forebay.fish")];
/// Paths with fewer letters are not searched for: they are also ordinary words.
const SHORTEST: usize = 3;

/// An artefact's name and its checksum.
type Sums = Vec<(String, String)>;

/// Builds everything; with `twice` again in another folder with another cargo home, and compares.
pub(crate) fn run(twice: bool) -> Result<(), String> {
    let home = program::build_dir().join("released");
    let python = tools(&home.join("tools"))?;
    let cargo = site::cargo_home()?;
    let first = Site::of_last_commit(&home.join("once"), &cargo)?;
    // The path has a blank, to test quoting. Both copies are made now, so that they have the same commits.
    let place = home.join("once more");
    let second = twice.then(|| first.again(&place, &site::other_cargo_home(&cargo, &place)?)).transpose()?;
    let sums = build(&first, &python)?;
    for (name, sum) in &sums {
        println!("{sum}  {name}");
    }
    println!("{}", first.out().display());
    if let Some(second) = second {
        let differ = differing(&sums, &build(&second, &python)?);
        if !differ.is_empty() {
            return Err(format!("two builds differ in {}; both are in {}", differ.join(", "), home.display()));
        }
        println!("built twice, in {} too: the same bytes", place.display());
        at(&place, fs::remove_dir_all(&place))?;
    }
    first.clear()
}

/// The interpreter of an environment with the version of maturin in `python/requirements.txt`.
fn tools(place: &Path) -> Result<PathBuf, String> {
    let python = program::find(&["python3"]).ok_or("there is no python3 for the wheel")?;
    let own = environment(&python, place)?;
    let requirements = program::read("python/requirements.txt")?;
    let maturin = requirements.lines().find(|line| line.starts_with("maturin=="));
    install(&own, &[maturin.ok_or("python/requirements.txt names no maturin")?.as_ref()])?;
    Ok(own)
}

/// Builds, packs and checks both artefacts; returns their checksums.
fn build(site: &Site, python: &Path) -> Result<Sums, String> {
    let mut cargo = program::cargo(&["build", "--release", "--locked", "-p", "forebay"]);
    site.builds(&mut cargo);
    shown(cargo)?;
    let (archive, wheel) = (archive(site)?, wheel(site, python)?);
    let unpacked = unpack(site, &archive, &wheel, python)?;
    contains_no_path_of(&unpacked, &site.folders())?;
    [archive, wheel].iter().map(|file| Ok((name(file), sum(file)?))).collect()
}

fn archive(site: &Site) -> Result<PathBuf, String> {
    let folder = format!("forebay-{}-{}-{}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, std::env::consts::OS);
    let parent = site.unpacked().join("put together");
    let place = parent.join(&folder);
    at(&place, fs::create_dir_all(place.join("completions")))?;
    at(&place, fs::copy(site.program(), place.join("forebay")))?;
    for text in TEXTS.split(' ') {
        at(&place, fs::copy(site.source().join(text), place.join(name(Path::new(text)))))?;
    }
    let forebay = |words: &[&str]| {
        let mut forebay = Command::new(site.program());
        forebay.args(words).current_dir(&place);
        program::said(forebay)
    };
    forebay(&["--quiet", "man", "man"])?;
    for (shell, file) in SHELLS {
        at(&place, fs::write(place.join("completions").join(file), forebay(&["completions", shell])?))?;
    }
    let archive = site.out().join(format!("{folder}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{}", site.epoch)).args(["--use-compress-program", "gzip -9n", "-cf"]).arg(&archive);
    tar.arg("-C").arg(parent).arg(&folder);
    shown(tar).map(|()| archive)
}

fn wheel(site: &Site, python: &Path) -> Result<PathBuf, String> {
    let mut maturin = Command::new(python);
    site.builds(&mut maturin);
    maturin.args(["-m", "maturin", "build", "--quiet", "--locked", "--out"]).arg(site.out());
    maturin.current_dir(site.source().join("python"));
    program::with_cargo(&mut maturin);
    shown(maturin)?;
    wheel_in(&site.out())
}

/// Unpacks both, as users do, and runs the program; returns their folder.
fn unpack(site: &Site, archive: &Path, wheel: &Path, python: &Path) -> Result<PathBuf, String> {
    let place = site.unpacked().join("as users have it");
    program::empty(&place)?;
    let (mut tar, mut zip) = (Command::new("tar"), Command::new(python));
    tar.arg("-xzf").arg(archive).arg("-C").arg(&place);
    zip.args(["-m", "zipfile", "-e"]).arg(wheel).arg(place.join("wheel"));
    let mut forebay = Command::new(place.join(name(archive).trim_end_matches(".tar.gz")).join("forebay"));
    forebay.arg("--version");
    [tar, zip, forebay].into_iter().try_for_each(shown).map(|()| place)
}

/// Checks that no file below `place` contains a path below one of `folders`.
fn contains_no_path_of(place: &Path, folders: &[PathBuf]) -> Result<(), String> {
    let paths = folders.iter().map(|folder| folder.to_string_lossy().trim_end_matches('/').to_string());
    let words = paths.filter(|path| path.len() >= SHORTEST).map(|path| path + "/");
    let mut grep = Command::new("grep");
    grep.args(["--recursive", "--text", "--only-matching", "--fixed-strings"]).current_dir(place);
    grep.args(words.flat_map(|word| ["-e".to_string(), word])).arg(".");
    let out = at(place, grep.output())?;
    match out.status.code() {
        Some(1) if !program::files_below(place).is_empty() => Ok(()),
        _ => Err(format!(
            "{} contains paths of this machine:\n{}",
            place.display(),
            String::from_utf8_lossy(&out.stdout)
        )),
    }
}

/// Names of artefacts that differ or are in one list only.
fn differing(one: &Sums, other: &Sums) -> Vec<String> {
    let alone = one.iter().filter(|sum| !other.contains(sum)).chain(other.iter().filter(|sum| !one.contains(sum)));
    let mut names: Vec<String> = alone.map(|(name, _)| name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn sum(file: &Path) -> Result<String, String> {
    let mut command = Command::new("sha256sum");
    command.arg(file);
    Ok(program::said(command)?.split(' ').next().unwrap_or_default().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_files_that_differ_or_are_missing() {
        let sums = |all: &[(&str, &str)]| all.iter().map(|(n, s)| (n.to_string(), s.to_string())).collect::<Sums>();
        let one = sums(&[("a.tar.gz", "1"), ("b.whl", "2")]);
        assert!(differing(&one, &one).is_empty());
        assert_eq!(differing(&one, &sums(&[("a.tar.gz", "1"), ("c.whl", "2")])), ["b.whl", "c.whl"]);
        assert_eq!(differing(&one, &sums(&[("a.tar.gz", "1"), ("b.whl", "3")])), ["b.whl"]);
    }

    #[test]
    fn finds_paths_of_the_build_machine_in_binaries() {
        let place = program::scratch("paths").unwrap();
        let folders = [PathBuf::from("/some/body"), PathBuf::from("/")];
        assert!(contains_no_path_of(&place, &folders).is_err(), "an empty folder is an error");
        fs::create_dir(place.join("bin")).unwrap();
        fs::write(place.join("bin/x"), b"\x00/some/bodyguard\x00/other/").unwrap();
        assert_eq!(contains_no_path_of(&place, &folders), Ok(()));
        fs::write(place.join("bin/x"), b"\xff\x00/some/body/src/a.rs\x00more").unwrap();
        assert!(contains_no_path_of(&place, &folders).is_err_and(|what| what.contains("bin/x:/some/body/")));
        fs::remove_dir_all(place).unwrap();
    }
}
