//! The Python package: a wheel, a fresh environment with nothing else but numpy, and its tests in a full one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::pytest::Pytest;
use crate::base::program;
use crate::base::tally::Tally;

/// The largest wheel, in bytes.
const LARGEST: u64 = 15_000_000;

/// What the tests stand on.
pub(crate) struct Ready {
    python: PathBuf,
    home: PathBuf,
    tools: PathBuf,
    wheel: Result<PathBuf, String>,
}

/// Makes the environment and builds the wheel; why there can be none. It takes minutes, in which others may work: the compiler
/// uses what they leave.
pub(crate) fn prepare() -> Result<Ready, String> {
    let python = program::find(&["python3"]).ok_or("there is no python3")?;
    let home = program::build_dir().join("python");
    let tools = environment(&python, &home.join("tools"))
        .map_err(|why| format!("python3 makes no virtual environment ({why}): install python3-venv"))?;
    let requirements = program::root().join("python").join("requirements.txt");
    install(&tools, &["-r".as_ref(), requirements.as_os_str()])
        .map_err(|why| format!("the packages of python/requirements.txt cannot be installed: {why}"))?;
    let wheel = wheel(&tools, &home.join("wheels"));
    Ok(Ready { python, home, tools, wheel })
}

/// Installs, tests.
pub(crate) fn check(ready: &Result<Ready, String>, tally: &mut Tally) {
    let Ready { python, home, tools, wheel } = match ready {
        Ok(ready) => ready,
        Err(why) => return tally.skip(why),
    };
    let wheel = match wheel {
        Ok(wheel) => wheel,
        Err(why) => return tally.fail(format!("the wheel: {why}")),
    };
    let size = fs::metadata(wheel).map_or(u64::MAX, |meta| meta.len());
    let small = if size < LARGEST { Ok(()) } else { Err(format!("{size} bytes, at most {LARGEST}")) };
    tally.check("the wheel is small", small);
    tally.check("in a fresh environment, with numpy alone", alone(python, &home.join("alone"), wheel));
    match install(tools, &["--force-reinstall".as_ref(), "--no-deps".as_ref(), wheel.as_os_str()]) {
        Ok(()) => tally.pass(),
        Err(why) => return tally.fail(format!("installing the wheel: {why}")),
    }
    tally.check("mypy: the package", types(tools));
    tally.check("stubtest: the stubs against the module", stubs(tools));
    tally.check("pdoc: its documentation", docs(tools, &home.join("docs")));
    tests(tools, tally);
}

/// The interpreter of a virtual environment, made if it is not there.
fn environment(python: &Path, place: &Path) -> Result<PathBuf, String> {
    let own = place.join("bin").join("python");
    if own.exists() {
        return Ok(own);
    }
    let mut make = Command::new(python);
    make.args(["-m", "venv"]).arg(place);
    said(&mut make)?;
    Ok(own)
}

fn said(command: &mut Command) -> Result<(), String> {
    let out = command.output().map_err(|error| error.to_string())?;
    if out.status.success() {
        return Ok(());
    }
    let all = [out.stdout, out.stderr].concat();
    let text = String::from_utf8_lossy(&all);
    let last: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(12).collect();
    Err(last.into_iter().rev().collect::<Vec<_>>().join("\n"))
}

fn install(python: &Path, what: &[&std::ffi::OsStr]) -> Result<(), String> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(what);
    said(&mut pip)
}

/// Builds the wheel.
fn wheel(tools: &Path, out: &Path) -> Result<PathBuf, String> {
    let _ = fs::remove_dir_all(out);
    let mut maturin = Command::new(tools);
    maturin.args(["-m", "maturin", "build", "--quiet", "--out"]).arg(out);
    maturin.current_dir(program::root().join("python")).env("CARGO_TARGET_DIR", program::build_dir());
    // The same code, optimised as much within each crate: what takes a compiler minutes is left to `cargo xtask release`.
    maturin.env("CARGO_PROFILE_WHEEL_LTO", "off").env("CARGO_PROFILE_WHEEL_CODEGEN_UNITS", "16");
    program::with_cargo(&mut maturin)?;
    said(&mut program::idle(maturin))?;
    let mut built = fs::read_dir(out).map_err(|error| error.to_string())?.flatten().map(|entry| entry.path());
    built.find(|path| path.extension().is_some_and(|end| end == "whl")).ok_or_else(|| "none was made".to_string())
}

/// A run where nothing but numpy is installed, then the lines of the README with matplotlib.
fn alone(python: &Path, place: &Path, wheel: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(place);
    let own = environment(python, place)?;
    install(&own, &[wheel.as_os_str()])?;
    let mut small = program::at_root(&own);
    small.args(["-P", "-c", SMALL]);
    said(&mut small)?;
    let mut with_plots = wheel.as_os_str().to_os_string();
    with_plots.push("[plot]");
    install(&own, &[&with_plots])?;
    let readme = program::read("README.md")?;
    let code = block(&readme).ok_or("README.md has no block of Python")?;
    let mut five = Command::new(&own);
    let papers = program::root().join("papers");
    five.args(["-P", "-c"]).arg(code.replace("papers/", &format!("{}/", papers.display()))).current_dir(place);
    said(five.env("MPLBACKEND", "Agg"))?;
    let drawn = fs::metadata(place.join("queue.png")).map_or(0, |meta| meta.len());
    if drawn > 10_000 { Ok(()) } else { Err(format!("queue.png has {drawn} bytes")) }
}

const SMALL: &str = "import forebay; results = forebay.run('papers/raqm/case-1.toml', set={'flows.ftp.count': 5}, \
                     aqm='pi'); assert results.summary['queue_pkts_mean'][0] > 0";

/// The first block of Python in a text.
fn block(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```python\n")?;
    Some(rest.split_once("```")?.0)
}

fn types(tools: &Path) -> Result<(), String> {
    let mut mypy = Command::new(tools);
    mypy.args(["-m", "mypy", "--no-error-summary"]).current_dir(program::root().join("python"));
    said(&mut mypy)
}

fn stubs(tools: &Path) -> Result<(), String> {
    let mut stubtest = Command::new(tools);
    stubtest.args(["-m", "mypy.stubtest", "--concise", "forebay._native"]);
    said(stubtest.current_dir(program::build_dir()))
}

fn docs(tools: &Path, out: &Path) -> Result<(), String> {
    let mut pdoc = Command::new(tools);
    pdoc.args(["-m", "pdoc", "--docformat", "google", "-o"]).arg(out).args(["forebay", "forebay.gym"]);
    pdoc.current_dir(program::build_dir());
    said(&mut pdoc)
}

/// pytest, every test of the package.
fn tests(tools: &Path, tally: &mut Tally) {
    let sources = program::root().join("python");
    let mut command = Command::new(tools);
    command.args(["-P", "-m", "pytest", "-rpsfExX", "--no-fold-skipped", "--tb=short", "-p", "no:cacheprovider", "-c"]);
    command.arg(sources.join("pyproject.toml")).arg(sources.join("tests"));
    // Not beside the package's sources, which have no module: also programs that tests start would find those first.
    command.current_dir(program::build_dir()).env("PYTHONDONTWRITEBYTECODE", "1");
    let mut pytest = Pytest::default();
    let status = program::stream(command, |line| {
        if pytest.hear(line) {
            println!("   {line}");
        }
    });
    match status {
        Ok(status) => pytest.tell(status.success(), tally),
        Err(why) => tally.fail(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_of_python() {
        assert_eq!(block("a\n```python\nb\n```\nc\n```python\nd\n```"), Some("b\n"));
    }
}
