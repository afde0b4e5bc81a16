//! Other programs: whether they exist, and running them; files of the checkout.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Polling interval of a program with a time limit.
const LOOK: Duration = Duration::from_millis(50);

/// The root of the checkout: the nearest folder with Cargo.lock above the manifest of the running crate.
pub fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&here).ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    root.map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// The build directory of cargo.
pub fn build_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// The cargo that started this program.
pub fn cargo_program() -> PathBuf {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into()).into()
}

/// The cargo that started this program, in the root of the checkout, with these arguments.
pub fn cargo(words: &[&str]) -> Command {
    let mut cargo = at_root(cargo_program());
    cargo.args(words);
    cargo
}

/// The crate whose tests and examples use transport stacks of others. Their dependencies turn on features of libraries that
/// the other crates use too. Together with them, those would be built once more for the tests, and again for the wheel.
pub const STACKS: &str = "forebay-net";

/// A command of cargo for the whole workspace without [`STACKS`].
pub fn cargo_workspace(command: &str, words: &[&str]) -> Command {
    let mut cargo = cargo(&[command, "--workspace", "--exclude", STACKS]);
    cargo.args(words);
    cargo
}

/// Builds the program `name` of this workspace as the tests are built, and returns its path. `cargo run` would build
/// most crates again, because without the whole workspace some libraries have fewer features.
pub fn built(name: &str) -> Result<PathBuf, String> {
    shown(cargo(&["build", "--workspace", "--quiet", "--bin", name]))?;
    Ok(build_dir().join("debug").join(name))
}

/// A program, to be started in the root of the checkout.
pub fn at_root(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Puts the folder of this cargo first into the PATH of `command`.
pub fn with_cargo(command: &mut Command) {
    let own = cargo_program().parent().map(Path::to_path_buf).filter(|folder| folder.is_dir());
    let path = env::var_os("PATH").unwrap_or_default();
    // A folder with a colon in its name cannot be in PATH.
    if let Ok(path) = env::join_paths(own.into_iter().chain(env::split_paths(&path))) {
        command.env("PATH", path);
    }
}

/// `command` with idle priority (sched(7), SCHED_IDLE), if chrt(1) is installed.
pub fn idle(command: Command) -> Command {
    let Some(chrt) = find(&["chrt"]) else { return command };
    let mut idle = at_root(chrt);
    idle.args(["--idle", "0"]).arg(command.get_program()).args(command.get_args());
    idle.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    idle.current_dir(command.get_current_dir().unwrap_or(&root()));
    idle
}

/// Whether `command` succeeds. Its output is discarded.
pub fn works(mut command: Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The first of `names` that is in a folder of PATH.
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let places = names.iter().flat_map(|name| env::split_paths(&path).map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Runs `command` and calls `line` with each line of stdout and stderr, in the order of writing.
pub fn stream(mut command: Command, mut line: impl FnMut(&str)) -> Result<ExitStatus, String> {
    let (reader, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let second = writer.try_clone().map_err(|error| error.to_string())?;
    let mut child = command
        .stdout(writer)
        .stderr(second)
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", name(&command)))?;
    // It holds the writing ends; the pipe ends when all of them are closed.
    drop(command);
    let (mut reader, mut bytes) = (BufReader::new(reader), Vec::new());
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
        line(String::from_utf8_lossy(&bytes).trim_end());
        bytes.clear();
    }
    child.wait().map_err(|error| error.to_string())
}

/// Runs `command` and prints its output; it must succeed.
pub fn shown(command: Command) -> Result<(), String> {
    let name = name(&command);
    let status = stream(command, |line| println!("{line}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name}: {status}")) }
}

fn name(command: &Command) -> String {
    Path::new(command.get_program()).display().to_string()
}

/// The stdout of `command`, which must succeed; stderr is inherited.
pub fn said(mut command: Command) -> Result<String, String> {
    let name = name(&command);
    let out = command.stderr(Stdio::inherit()).output().map_err(|error| format!("cannot start {name}: {error}"))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    if out.status.success() { Ok(text) } else { Err(format!("{name}: {}: {}", out.status, last_lines(&text, 5))) }
}

/// Exit status and output of a program.
pub struct Ended {
    /// Exit status.
    pub status: ExitStatus,
    /// Its stdout.
    pub out: String,
    /// Its stderr.
    pub complaints: String,
}

/// Runs `command` to its end, successful or not; kills it after `limit`.
pub fn ended_within(mut command: Command, limit: Duration) -> Result<Ended, String> {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| format!("cannot start {}: {error}", name(&command)))?;
    let (out, complaints) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if begun.elapsed() < limit => thread::sleep(LOOK),
            None => {
                // It may have ended in the meantime.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("did not end within {} s", limit.as_secs()));
            }
        }
    };
    let text = |thread: thread::JoinHandle<String>| thread.join().unwrap_or_default();
    Ok(Ended { status, out: text(out), complaints: text(complaints) })
}

/// The stdout of `command`, which must succeed; an error has the end of its output. Kills it after `limit`.
pub fn output_within(command: Command, limit: Duration) -> Result<String, String> {
    let Ended { status, out, complaints } = ended_within(command, limit)?;
    let why = || if complaints.trim().is_empty() { &out } else { &complaints };
    if status.success() { Ok(out) } else { Err(format!("{status}: {}", last_lines(why(), 12))) }
}

/// Reads a pipe to its end in a thread.
fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is the result.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Runs a shell command in `dir`; it must succeed and print something.
pub fn shell(words: &str, dir: &Path) -> Result<(), String> {
    let mut shell = at_root("sh");
    shell.arg("-c").arg(words).current_dir(dir);
    if said(shell)?.trim().is_empty() { Err("no output".to_string()) } else { Ok(()) }
}

/// The last `n` lines of `text`.
pub fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

/// Adds `path` to an error of `outcome`.
pub fn at<T>(path: &Path, outcome: std::io::Result<T>) -> Result<T, String> {
    outcome.map_err(|error| format!("{}: {error}", path.display()))
}

/// Creates `dir`, or removes everything in it.
pub fn empty(dir: &Path) -> Result<(), String> {
    if dir.exists() {
        at(dir, fs::remove_dir_all(dir))?;
    }
    at(dir, fs::create_dir_all(dir))
}

/// A new and empty folder below the build directory.
pub fn scratch(name: &str) -> Result<PathBuf, String> {
    let dir = build_dir().join("xtask").join(format!("{name}-{}", std::process::id()));
    empty(&dir).map(|()| dir)
}

/// All files below a folder, sorted by path.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.sort();
    entries.into_iter().flat_map(|entry| if entry.is_dir() { files_below(&entry) } else { vec![entry] }).collect()
}

/// The text of a file of the checkout; `path` is relative to its root.
pub fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// Writes a file of the checkout; `path` is relative to its root.
pub fn write(path: &str, text: &str) -> Result<(), String> {
    fs::write(root().join(path), text).map_err(|error| format!("{path}: {error}"))
}

/// A shell that runs `script`, for tests.
pub fn script(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_lines_in_order_and_returns_status() {
        let mut lines = Vec::new();
        let status = stream(script("echo one; echo two >&2; echo three; exit 3"), |line| lines.push(line.to_string()));
        assert_eq!((lines.join(" "), status.unwrap().code()), ("one two three".to_string(), Some(3)));
    }

    #[test]
    fn kills_slow_programs_and_quotes_failed_programs_output() {
        let limit = Duration::from_millis(200);
        assert_eq!(output_within(script("exec sleep 60"), limit), Err("did not end within 0 s".to_string()));
        let minute = Duration::from_secs(60);
        for script_of in ["echo why >&2; exit 1", "echo why; exit 1"] {
            assert!(output_within(script(script_of), minute).is_err_and(|what| what.contains("why")));
        }
        assert_eq!(output_within(script("echo fine"), minute), Ok("fine\n".to_string()));
        assert!(said(script("echo why; exit 1")).is_err_and(|what| what.contains("why")));
    }

    #[test]
    fn programs_are_found_in_path() {
        assert!(find(&["no-such-program", "sh"]).is_some() && find(&["no-such-program"]).is_none());
    }
}
