//! `cargo xtask release`: the program with its manual and completions, and the wheel, meant to be the same bytes when
//! they are built again on the same system.
//!
//! What is known to differ is taken out: paths of the machine, the order and times of files in archives, names of users.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program;

/// Where results go.
const OUT: &str = "release";
/// Times in archives: those of the last commit.
const EPOCH: [&str; 3] = ["log", "-1", "--format=%ct"];

/// Builds everything; with `twice` once more in another folder, to see that nothing differs.
pub(crate) fn run(twice: bool) -> Result<(), String> {
    let first = build(&program::build_dir().join(OUT))?;
    for (name, sum) in &first {
        println!("{sum}  {name}");
    }
    if !twice {
        return Ok(());
    }
    let second = build(&program::build_dir().join("release-again"))?;
    let differ: Vec<&String> = first.iter().filter(|one| !second.contains(one)).map(|(name, _)| name).collect();
    match differ.as_slice() {
        [] => {
            println!("built twice: the same bytes");
            Ok(())
        }
        _ => Err(format!("built twice, not the same: {differ:?}")),
    }
}

/// Builds into a folder of its own; each artefact with its sum.
fn build(home: &Path) -> Result<Vec<(String, String)>, String> {
    let _ = fs::remove_dir_all(home);
    let out = home.join("artefacts");
    fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let mut git = program::at_root("git");
    git.args(EPOCH);
    let epoch = program::output(git)?.1.trim().to_string();
    let flags = plain_paths(home);
    let mut cargo = program::cargo();
    cargo.args(["build", "--release", "--locked", "-p", "forebay", "--target-dir"]).arg(home.join("target"));
    said(cargo.env("RUSTFLAGS", &flags).env("SOURCE_DATE_EPOCH", &epoch))?;
    pack(home, &out, &epoch)?;
    wheel(home, &out, &flags, &epoch)?;
    let mut files: Vec<PathBuf> =
        fs::read_dir(&out).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.iter().map(|file| Ok((name(file), sum(file)?))).collect()
}

/// Flags that leave folders of this machine out of what is built.
fn plain_paths(home: &Path) -> String {
    let cargo = std::env::var("CARGO_HOME").map_or_else(
        |_| std::env::var_os("HOME").map_or_else(PathBuf::new, |user| Path::new(&user).join(".cargo")),
        PathBuf::from,
    );
    let map = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    [map(&program::root(), "/forebay"), map(&home.join("target"), "/target"), map(&cargo, "/cargo")].join(" ")
}

/// The program, its texts and licences in one archive.
fn pack(home: &Path, out: &Path, epoch: &str) -> Result<(), String> {
    let version = env!("CARGO_PKG_VERSION");
    let machine = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let folder = format!("forebay-{version}-{machine}");
    let place = home.join(&folder);
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    fs::create_dir_all(place.join("completions")).map_err(failed)?;
    let program = home.join("target").join("release").join("forebay");
    fs::copy(&program, place.join("forebay")).map_err(failed)?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "docs/licences.md"] {
        fs::copy(program::root().join(file), place.join(name(Path::new(file)))).map_err(failed)?;
    }
    said(Command::new(&program).args(["--quiet", "man"]).arg(place.join("man")))?;
    for (shell, file) in [("bash", "forebay"), ("zsh", "_forebay"), ("fish", "forebay.fish")] {
        let mut command = Command::new(&program);
        command.args(["completions", shell]);
        fs::write(place.join("completions").join(file), program::output(command)?.1).map_err(failed)?;
    }
    let archive = out.join(format!("{folder}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", "--mtime"]);
    tar.arg(format!("@{epoch}")).args(["--use-compress-program", "gzip -9n", "-cf"]).arg(archive);
    said(tar.arg("-C").arg(home).arg(&folder))
}

fn wheel(home: &Path, out: &Path, flags: &str, epoch: &str) -> Result<(), String> {
    let Some(python) = program::find(&["python3"]) else { return Err("there is no python3 for the wheel".to_string()) };
    let tools = home.join("tools");
    said(Command::new(python).args(["-m", "venv"]).arg(&tools))?;
    let python = tools.join("bin").join("python");
    let maturin = program::read("python/requirements.txt")?;
    let maturin = maturin.lines().find(|line| line.starts_with("maturin")).unwrap_or("maturin").to_string();
    said(Command::new(&python).args(["-m", "pip", "install", "--quiet", &maturin]))?;
    let mut build = Command::new(&python);
    build.args(["-m", "maturin", "build", "--quiet", "--locked", "--out"]).arg(out);
    build.current_dir(program::root().join("python")).env("CARGO_TARGET_DIR", home.join("target"));
    said(build.env("RUSTFLAGS", flags).env("SOURCE_DATE_EPOCH", epoch))
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
