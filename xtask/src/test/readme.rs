//! README.md says what is true: its commands run.

use std::path::Path;

use crate::base::program;
use crate::base::tally::Tally;
use crate::generated::docs::README;

/// The command that does the main job. The `reproduce` stage runs it.
pub(crate) const MAIN: &str = "cargo run --release -- reproduce raqm";
/// The command that runs every test: this program.
pub(crate) const TESTS: &str = "cargo xtask test";
/// What the README's other commands begin with; they are run as they stand.
const OTHERS: &str = "cargo run --release -- ";
/// What CI runs.
const CI: &str = ".ci/run";

/// The two commands stand there, CI calls the second, and all others end well.
pub(crate) fn check(scratch: &Path, tally: &mut Tally) {
    let text = match program::read(README) {
        Ok(text) => text,
        Err(what) => return tally.fail(what),
    };
    let commands = commands(&text);
    for wanted in [MAIN, TESTS] {
        let there = commands.contains(&wanted);
        tally.check(wanted, there.then_some(()).ok_or_else(|| format!("does not stand in {README} as a command")));
    }
    let ci = program::read(CI).and_then(|script| {
        let last = script.lines().last().unwrap_or_default().trim();
        (last == format!("exec {TESTS}")).then_some(()).ok_or_else(|| format!("does not end with 'exec {TESTS}'"))
    });
    tally.check(CI, ci);
    let others = commands.iter().filter(|command| command.starts_with(OTHERS) && **command != MAIN);
    for (n, command) in others.enumerate() {
        tally.check(command, run(command, &scratch.join(format!("readme-{n}"))));
    }
}

/// Lines of the shell blocks.
fn commands(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut out = Vec::new();
    for line in text.lines().map(str::trim) {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside && !line.is_empty() => out.push(line),
            _ => {}
        }
    }
    out
}

/// Runs `command` as a shell does; what `run`, `sweep` and `reproduce` write goes to `dir`.
fn run(command: &str, dir: &Path) -> Result<(), String> {
    let word = command.strip_prefix(OTHERS).and_then(|rest| rest.split_whitespace().next());
    let place = match word {
        Some("run" | "sweep" | "reproduce") => format!(" -o '{}'", dir.display()),
        _ => String::new(),
    };
    println!("   $ {command}");
    program::shell(&format!("{command}{place}"), &program::root())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_the_lines_of_shell_blocks() {
        let text = "cargo none\n```sh\ncargo one\n\n  cargo two\n```\ncargo none\n```toml\ncargo = 1\n```\n";
        assert_eq!(commands(text), ["cargo one", "cargo two"]);
    }

    #[test]
    fn a_command_that_fails_or_is_silent_is_found() {
        let dir = Path::new("unused");
        assert_eq!(run("echo fine", dir), Ok(()));
        assert_eq!(run("true", dir), Err("says nothing".to_string()));
        assert!(run("echo why; exit 2", dir).is_err_and(|what| what.contains("why")));
    }
}
