//! The Python package: builds its wheel; tries it in an environment with only numpy, and tests it in a full one.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::pytest;
use crate::base::program;
use crate::base::tally::Tally;

/// The largest wheel, in bytes.
const MAX_WHEEL: u64 = 15_000_000;

/// The environment of the tests and the built wheel.
pub(crate) struct Ready {
    python: PathBuf,
    home: PathBuf,
    tools: PathBuf,
    wheel: Result<PathBuf, String>,
}

/// Makes the environment and builds the wheel, or returns why not. It takes minutes, at idle priority.
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

/// Installs the wheel and runs the tests.
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
    let small = if size < MAX_WHEEL { Ok(()) } else { Err(format!("{size} bytes, at most {MAX_WHEEL}")) };
    tally.check("the wheel is small", small);
    match install(tools, &["--force-reinstall".as_ref(), "--no-deps".as_ref(), wheel.as_os_str()]) {
        Ok(()) => tally.pass(),
        Err(why) => return tally.fail(format!("installing the wheel: {why}")),
    }
    let apart: Vec<PathBuf> = APART.iter().map(|file| tests_folder().join(file)).collect();
    let apart_tests = std::thread::spawn({
        let (tools, apart) = (tools.clone(), apart.clone());
        move || {
            let mut tally = Tally::default();
            tests(pytest(&tools, &apart), "apart", &mut tally);
            tally
        }
    });
    tally.check("in a fresh environment, with numpy alone", alone(python, &home.join("alone"), wheel));
    let mut mypy = module(tools, &["mypy", "--no-error-summary"]);
    mypy.current_dir(program::root().join("python"));
    tally.check("mypy: the package", said(mypy));
    let stubs = module(tools, &["mypy.stubtest", "--concise", "forebay._native"]);
    tally.check("stubtest: the stubs against the module", said(stubs));
    let mut docs = module(tools, &["pdoc", "--docformat", "google", "forebay", "forebay.gym", "-o"]);
    docs.arg(home.join("docs"));
    tally.check("pdoc: its documentation", said(docs));
    let mut others = pytest(tools, &[tests_folder()]);
    others.args(apart.iter().map(|file| format!("--ignore={}", file.display())));
    tests(others, "others", tally);
    match apart_tests.join() {
        Ok(counts) => tally.add(counts),
        Err(_) => tally.fail("the tests of a thread ended badly"),
    }
}

/// The interpreter of a virtual environment, which is created if missing.
pub(crate) fn environment(python: &Path, place: &Path) -> Result<PathBuf, String> {
    let own = place.join("bin").join("python");
    if !own.exists() {
        let mut make = Command::new(python);
        make.args(["-m", "venv"]).arg(place);
        said(make)?;
    }
    Ok(own)
}

/// Time limit of each of these programs.
const LONGEST: Duration = Duration::from_secs(3600);

fn said(command: Command) -> Result<(), String> {
    program::output_within(command, LONGEST).map(drop)
}

/// A module of the interpreter `python`.
fn module(python: &Path, words: &[&str]) -> Command {
    let mut module = Command::new(python);
    module.arg("-m").args(words).current_dir(program::build_dir());
    module
}

pub(crate) fn install(python: &Path, what: &[&OsStr]) -> Result<(), String> {
    let mut pip = module(python, &["pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.args(what);
    said(pip)
}

pub(crate) fn wheel_in(folder: &Path) -> Result<PathBuf, String> {
    let mut all = program::files_below(folder).into_iter();
    all.find(|path| path.extension().is_some_and(|end| end == "whl")).ok_or_else(|| "no wheel was made".to_string())
}

fn wheel(tools: &Path, out: &Path) -> Result<PathBuf, String> {
    let _ = fs::remove_dir_all(out);
    // The profile of the tests, which have built the simulator and the laboratory; `cargo xtask release` uses another.
    let mut maturin = module(tools, &["maturin", "build", "--quiet", "--profile", "dev", "--strip"]);
    maturin.args(["--compression-level", "9", "--out"]).arg(out);
    // Without optimisation many functions are equal: LLD, rustc's linker here, keeps one of each.
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        maturin.args(["--", "-C", "link-arg=-Wl,--icf=all"]);
    }
    maturin.current_dir(program::root().join("python")).env("CARGO_TARGET_DIR", program::build_dir());
    program::with_cargo(&mut maturin);
    said(program::idle(maturin))?;
    wheel_in(out)
}

/// A run with only numpy installed, then the README's example with matplotlib.
fn alone(python: &Path, place: &Path, wheel: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(place);
    let own = environment(python, place)?;
    install(&own, &[wheel.as_os_str()])?;
    let mut small = program::at_root(&own);
    small.args(["-P", "-c", SMALL]);
    said(small)?;
    let mut with_plots = wheel.as_os_str().to_os_string();
    with_plots.push("[plot]");
    install(&own, &[&with_plots])?;
    let readme = program::read("README.md")?;
    let code = block(&readme).ok_or("README.md has no block of Python")?;
    let mut five = Command::new(&own);
    let examples = program::root().join("examples");
    five.args(["-P", "-c"]).arg(code.replace("examples/", &format!("{}/", examples.display()))).current_dir(place);
    five.env("MPLBACKEND", "Agg");
    said(five)?;
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

/// Files of tests that run at the same time as the others, on a second processor. They take about half of the time.
const APART: [&str; 2] = ["test_sweeps.py", "test_theory.py"];

/// The folder with the tests of the package.
fn tests_folder() -> PathBuf {
    program::root().join("python").join("tests")
}

/// pytest with the tests in `places`.
fn pytest(tools: &Path, places: &[PathBuf]) -> Command {
    let mut command = Command::new(tools);
    command.args(["-P", "-m", "pytest", "-rfE", "--tb=short", "-p", "no:cacheprovider", "-c"]);
    command.arg(program::root().join("python").join("pyproject.toml")).args(places);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    // Not in the package's source folder, which has no compiled module: programs started by tests would import it
    // first.
    command.current_dir(program::build_dir());
    command
}

/// Executes the notebooks and writes their outputs into the repository; `cargo xtask notebooks`.
pub(crate) fn notebooks() -> Result<(), String> {
    let Ready { tools, wheel, .. } = prepare()?;
    install(&tools, &["--force-reinstall".as_ref(), "--no-deps".as_ref(), wheel?.as_os_str()])?;
    let mut writer = pytest(&tools, &[tests_folder().join("test_notebooks.py")]);
    writer.arg("-rs").env("FOREBAY_BLESS", "1");
    program::shown(writer)
}

/// Runs pytest and counts its results. `name` is that of the file with the outcomes.
fn tests(mut command: Command, name: &str, tally: &mut Tally) {
    let outcomes = program::build_dir().join(format!("pytest-{name}-{}.txt", std::process::id()));
    command.args(["-p", "outcomes"]).env("PYTHONPATH", program::root().join("xtask/src/test"));
    command.env("FOREBAY_OUTCOMES", &outcomes);
    match program::stream(command, |line| println!("   {line}")) {
        Ok(status) => pytest::tell(&fs::read_to_string(&outcomes).unwrap_or_default(), status.success(), tally),
        Err(why) => tally.fail(why),
    }
    // The file is missing if pytest did not start.
    let _ = fs::remove_file(outcomes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_the_first_python_code_block() {
        assert_eq!(block("a\n```python\nb\n```\nc\n```python\nd\n```"), Some("b\n"));
    }
}
