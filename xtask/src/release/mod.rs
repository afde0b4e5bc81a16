//! `cargo xtask release`: the program with its manual and completions, and the wheel, the same bytes when they are built
//! again on the same system.
//!
//! What is known to differ is taken out: paths of the machine, the order and times of files in archives, names of users.

mod pack;
mod paths;
mod site;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::program;
use site::Site;

/// An artefact's name and the sum over its bytes.
type Sums = Vec<(String, String)>;

/// Builds everything; with `twice` once more in another folder, with another folder for cargo, to see that nothing differs.
pub(crate) fn run(twice: bool) -> Result<(), String> {
    let home = program::build_dir().join("released");
    let python = tools(&home.join("tools"))?;
    let cargo = site::cargo_home()?;
    let first = Site::lay_out(&home.join("once"), &cargo)?;
    // A blank, so that nothing is cut there.
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
            return Err(format!("built twice, not the same: {}; they lie in {}", differ.join(", "), home.display()));
        }
        println!("built twice, in {} too: the same bytes", place.display());
        fs::remove_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    }
    first.clear()
}

/// Builds, packs, and looks at what was packed; each artefact with its sum.
fn build(site: &Site, python: &Path) -> Result<Sums, String> {
    let mut cargo = program::cargo();
    said(site.builds(cargo.args(["build", "--release", "--locked", "-p", "forebay"])))?;
    let archive = pack::archive(site)?;
    let wheel = pack::wheel(site, python)?;
    let unpacked = pack::unpack(site, &archive, &wheel, python)?;
    paths::absent(&unpacked, &site.folders())?;
    [archive, wheel].iter().map(|file| Ok((name(file), sum(file)?))).collect()
}

/// What is not the same in both, by name.
fn differing(one: &Sums, other: &Sums) -> Vec<String> {
    let lacks = |some: &Sums, all: &Sums| -> Vec<String> {
        some.iter().filter(|artefact| !all.contains(artefact)).map(|(name, _)| name.clone()).collect()
    };
    let mut names = [lacks(one, other), lacks(other, one)].concat();
    names.sort();
    names.dedup();
    names
}

/// The interpreter of an environment with the maturin that `python/requirements.txt` names.
fn tools(place: &Path) -> Result<PathBuf, String> {
    let python = program::find(&["python3"]).ok_or("there is no python3 for the wheel")?;
    let own = place.join("bin").join("python");
    if !own.exists() {
        said(Command::new(python).args(["-m", "venv"]).arg(place))?;
    }
    let requirements = program::read("python/requirements.txt")?;
    let maturin = requirements.lines().find(|line| line.starts_with("maturin=="));
    let maturin = maturin.ok_or("python/requirements.txt names no maturin")?;
    said(Command::new(&own).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", maturin]))?;
    Ok(own)
}

fn said(command: &mut Command) -> Result<(), String> {
    let words = format!("{command:?}");
    let status = command.status().map_err(|error| format!("{words}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{words}: {status}")) }
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn sum(file: &Path) -> Result<String, String> {
    let mut command = Command::new("sha256sum");
    command.arg(file);
    let (_, out) = program::output(command)?;
    out.split(' ').next().map(str::to_string).ok_or_else(|| format!("no sum of {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_or_stands_in_one_only_is_named() {
        let sums = |all: &[(&str, &str)]| all.iter().map(|(n, s)| (n.to_string(), s.to_string())).collect::<Sums>();
        let one = sums(&[("a.tar.gz", "1"), ("b.whl", "2")]);
        assert!(differing(&one, &one).is_empty());
        assert_eq!(differing(&one, &sums(&[("a.tar.gz", "1"), ("b.whl", "3")])), ["b.whl"]);
        assert_eq!(differing(&one, &sums(&[("a.tar.gz", "1"), ("c.whl", "2")])), ["b.whl", "c.whl"]);
    }
}
