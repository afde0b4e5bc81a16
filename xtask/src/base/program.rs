//! Running other programs, and knowing which of them there are.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often a program under a time limit is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The folder of the checkout.
pub(crate) fn root() -> PathBuf {
    let here =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// The cargo that runs us.
pub(crate) fn cargo_program() -> PathBuf {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into()).into()
}

/// The cargo that runs us, in the root of the checkout.
pub(crate) fn cargo() -> Command {
    at_root(cargo_program())
}

/// The build directory.
pub(crate) fn build_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// A program that starts in the root of the checkout.
pub(crate) fn at_root(name: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Lets `command` find the cargo that runs us first.
pub(crate) fn with_cargo(command: &mut Command) -> Result<(), String> {
    let cargo = cargo_program();
    if let Some(folder) = cargo.parent().filter(|folder| folder.is_dir()) {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder.to_path_buf()).chain(env::split_paths(&path));
        command.env("PATH", env::join_paths(folders).map_err(|error| error.to_string())?);
    }
    Ok(())
}

/// The same for when nobody else wants the processor (sched(7), SCHED_IDLE), where chrt(1) is.
pub(crate) fn idle(command: Command) -> Command {
    let Some(chrt) = find(&["chrt"]) else { return command };
    let mut idle = Command::new(chrt);
    idle.args(["--idle", "0"]).arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => idle.env(name, value),
            None => idle.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        idle.current_dir(dir);
    }
    idle
}

/// Does `command` run and succeed? What it says is thrown away.
pub(crate) fn works(mut command: Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The first of `names` that stands in a folder of PATH.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let places = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Runs `command`, handing each line of its stdout to `line` as it comes; stderr goes where ours goes.
pub(crate) fn stream(mut command: Command, line: impl FnMut(&str)) -> Result<ExitStatus, String> {
    let mut child = start(command.stdout(Stdio::piped()))?;
    if let Some(out) = child.stdout.take() {
        each_line(out, line);
    }
    child.wait().map_err(|error| error.to_string())
}

/// Like [`stream`] for the lines of stdout and stderr together, in the order in which they were written.
pub(crate) fn stream_both(mut command: Command, line: impl FnMut(&str)) -> Result<ExitStatus, String> {
    let (reader, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let second = writer.try_clone().map_err(|error| error.to_string())?;
    let mut child = start(command.stdout(writer).stderr(second))?;
    // It holds the writing ends, and the pipe ends only when all of them are closed.
    drop(command);
    each_line(reader, line);
    child.wait().map_err(|error| error.to_string())
}

fn each_line(from: impl Read, mut line: impl FnMut(&str)) {
    let mut from = BufReader::new(from);
    let mut bytes = Vec::new();
    while from.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
        line(String::from_utf8_lossy(&bytes).trim_end());
        bytes.clear();
    }
}

/// Runs `command` and gives its exit status and its stdout; stderr goes where ours goes.
pub(crate) fn output(mut command: Command) -> Result<(ExitStatus, String), String> {
    let out = command.stderr(Stdio::inherit()).output().map_err(|error| cannot_start(&command, &error))?;
    Ok((out.status, String::from_utf8_lossy(&out.stdout).into_owned()))
}

/// What `command` says on stdout; it must succeed.
pub(crate) fn said(command: Command) -> Result<String, String> {
    let name = Path::new(command.get_program()).display().to_string();
    let (status, out) = output(command)?;
    if status.success() { Ok(out) } else { Err(format!("{name}: {status}: {}", last_lines(&out, 5))) }
}

/// How a program ended, and what it said.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) complaints: String,
}

/// Runs `command` to its end, however it ends; killed after `limit`.
pub(crate) fn ended_within(mut command: Command, limit: Duration) -> Result<Ended, String> {
    let mut child = start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let out = reader(child.stdout.take());
    let complaints = reader(child.stderr.take());
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if begun.elapsed() < limit => thread::sleep(LOOK),
            None => {
                // It may have ended just now: then there is nothing left to end.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("did not end within {} s", limit.as_secs()));
            }
        }
    };
    let text = |thread: thread::JoinHandle<String>| thread.join().unwrap_or_default();
    Ok(Ended { status, out: text(out), complaints: text(complaints) })
}

/// Runs words in `dir` as a shell does: they must succeed, and say something.
pub(crate) fn shell(words: &str, dir: &Path) -> Result<(), String> {
    let mut shell = at_root("sh");
    shell.arg("-c").arg(words).current_dir(dir);
    if said(shell)?.trim().is_empty() { Err("says nothing".to_string()) } else { Ok(()) }
}

/// Gives the stdout of `command`; what it says on stderr is only told if it fails. Killed after `limit`.
pub(crate) fn output_within(command: Command, limit: Duration) -> Result<String, String> {
    let ended = ended_within(command, limit)?;
    if ended.status.success() {
        Ok(ended.out)
    } else {
        Err(format!("{}: {}", ended.status, last_lines(&ended.complaints, 5)))
    }
}

/// Reads a pipe to its end, beside whatever else goes on.
fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What a broken pipe held so far is all there is.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn start(command: &mut Command) -> Result<Child, String> {
    command.spawn().map_err(|error| cannot_start(command, &error))
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}", Path::new(command.get_program()).display())
}

/// The last `n` lines of `text`.
pub(crate) fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

/// A folder of our own below the build directory, new and empty.
pub(crate) fn scratch(name: &str) -> Result<PathBuf, String> {
    let dir = build_dir().join("xtask").join(format!("{name}-{}", std::process::id()));
    let make = || -> std::io::Result<()> {
        if dir.exists() {
            std::fs::remove_dir_all(&dir)?;
        }
        std::fs::create_dir_all(&dir)
    };
    make().map_err(|error| format!("{}: {error}", dir.display()))?;
    Ok(dir)
}

/// Reads a file of the checkout.
pub(crate) fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// Writes a file of the checkout.
pub(crate) fn write(path: &str, text: &str) -> Result<(), String> {
    std::fs::write(root().join(path), text).map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_by_one_and_the_status_last() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two; exit 3"]);
        let mut lines = Vec::new();
        let status = stream(command, |line| lines.push(line.to_string())).unwrap();
        assert_eq!((lines, status.code()), (vec!["one".to_string(), "two".to_string()], Some(3)));
    }

    #[test]
    fn both_streams_keep_their_order() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; echo three"]);
        let mut lines = Vec::new();
        let status = stream_both(command, |line| lines.push(line.to_string())).unwrap();
        assert_eq!((lines.join(" "), status.success()), ("one two three".to_string(), true));
    }

    #[test]
    fn what_hangs_is_ended_and_what_fails_is_quoted() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let hung = output_within(shell("exec sleep 60"), Duration::from_millis(200));
        assert_eq!(hung, Err("did not end within 0 s".to_string()));
        let failed = output_within(shell("echo why >&2; exit 1"), Duration::from_secs(60));
        assert!(failed.unwrap_err().ends_with("why"));
        assert_eq!(output_within(shell("echo fine"), Duration::from_secs(60)), Ok("fine\n".to_string()));
    }

    #[test]
    fn missing_programs_are_named() {
        assert!(stream(Command::new("no-such-program"), |_| ()).unwrap_err().contains("no-such-program"));
        assert_eq!(find(&["no-such-program"]), None);
    }

    #[test]
    fn tails() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
    }
}
