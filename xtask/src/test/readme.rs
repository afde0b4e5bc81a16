//! The commands of README.md and of the book. Those of README.md and of the first pages are run; for all others the
//! command and its flags must exist.

use std::fs;
use std::path::Path;

use crate::base::program;
use crate::base::tally::Tally;
use crate::base::tree::Tree;
use crate::generated::docs::README;

/// The command of the main use. It is not run here: the stage `reproduce` runs all papers.
const MAIN: &str = "cargo run --release -- reproduce raqm";
/// The command that runs every test: this program.
const TESTS: &str = "cargo xtask test";
/// Prefix of the README's other commands, which are run with the program of the tests.
const OTHERS: &str = "cargo run --release -- ";
/// What CI runs.
const CI: &str = ".ci/run";
/// Pages whose commands use the scenario of the first one, and are run in order.
const TRIED: [&str; 2] = ["docs/quick-start.md", "docs/choosing.md"];
/// File name of the scenario there.
const SCENARIOS: [&str; 2] = ["first.toml", "mine.toml"];
/// Replaces a duration of a minute.
const SHORTER: &str = " --set duration=3s --set warmup=1s";

/// README.md has the two commands, CI runs the second one, and all others succeed.
pub(crate) fn check(scratch: &Path, tally: &mut Tally) {
    let text = match program::read(README) {
        Ok(text) => text,
        Err(what) => return tally.fail(what),
    };
    let commands = commands(&text, |fence| fence == "sh");
    for wanted in [MAIN, TESTS] {
        let there = commands.contains(&wanted);
        tally.check(wanted, there.then_some(()).ok_or_else(|| format!("is not a command in {README}")));
    }
    let calls = program::read(CI).is_ok_and(|script| script.trim_end().ends_with(&format!("\nexec {TESTS}")));
    tally.check(CI, calls.then_some(()).ok_or_else(|| format!("does not end with 'exec {TESTS}'")));
    let program = match program::built("forebay") {
        Ok(program) => program.display().to_string(),
        Err(why) => return tally.fail(why),
    };
    let others = commands.iter().filter(|command| command.starts_with(OTHERS) && **command != MAIN);
    for (n, command) in others.enumerate() {
        let writes = ["run", "sweep", "reproduce"].iter().any(|word| command[OTHERS.len()..].starts_with(word));
        let place = scratch.join(format!("readme-{n}")).display().to_string();
        println!("   $ {command}");
        // A release build takes minutes, and prints the same.
        let own = command.replacen(OTHERS, &format!("'{program}' "), 1);
        let words = if writes { format!("{own} -o '{place}'") } else { own };
        tally.check(command, program::shell(&words, &program::root()));
    }
}

/// One check for each page with commands of the program, and for each command that is run.
pub(crate) fn chapters(scratch: &Path, tally: &mut Tally) {
    let program = match program::built("forebay") {
        Ok(program) => program,
        Err(why) => return tally.fail(why),
    };
    let tree = match Tree::read() {
        Ok(tree) => tree,
        Err(what) => return tally.fail(what),
    };
    let dir = scratch.join("chapters");
    tally.check("the scenario of the quick start", program::empty(&dir).and_then(|()| lay_out(&tree, &dir)));
    for file in tree.files().filter(|file| file.path.ends_with(".md")) {
        let all = calls(&file.text);
        let lost: Vec<String> = all.iter().filter_map(|command| run(&asked(command), &program, &dir).err()).collect();
        if !all.is_empty() {
            let outcome = if lost.is_empty() { Ok(()) } else { Err(lost.join("\n")) };
            tally.check(&format!("{}: its commands and their flags exist", file.path), outcome);
        }
        // Real connections have separate tests, which run undisturbed.
        let tried =
            all.iter().filter(|command| TRIED.contains(&file.path.as_str()) && !command.contains("--on kernel"));
        for command in tried {
            println!("   $ forebay {command}");
            let shorter = if ["run", "sweep"].iter().any(|word| command.starts_with(word)) { SHORTER } else { "" };
            tally.check(command, run(&format!("{command}{shorter}"), &program, &dir));
        }
    }
}

/// Writes the scenario of the quick start where its commands expect it.
fn lay_out(tree: &Tree, dir: &Path) -> Result<(), String> {
    let page = tree.get(TRIED[0]).ok_or("there is no such page")?;
    let (_, rest) = page.text.split_once("```toml\n").ok_or("no block of TOML")?;
    let text = rest.split_once("```").ok_or("no end of the block")?.0;
    SCENARIOS.iter().try_for_each(|name| program::at(dir, fs::write(dir.join(name), text)))
}

/// Lines of code blocks whose opening fence `wanted` accepts, and of indented blocks.
fn commands(text: &str, wanted: fn(&str) -> bool) -> Vec<&str> {
    let (mut fence, mut all) = (None, Vec::new());
    for line in text.lines() {
        match (line.trim().strip_prefix("```"), fence) {
            (Some(word), None) => fence = Some(word),
            (Some(_), Some(_)) => fence = None,
            (None, word) if wanted(word.unwrap_or(if line.starts_with("    ") { "indented" } else { "no code" })) => {
                all.extend(Some(line.trim()).filter(|line| !line.is_empty()));
            }
            _ => {}
        }
    }
    all
}

/// The arguments after `forebay`, without a comment to the right; `None` for a synopsis.
fn calls(text: &str) -> Vec<&str> {
    let all = commands(text, |fence| fence != "no code").into_iter().filter_map(|line| line.strip_prefix("forebay "));
    let words = all.map(|line| line.split("   ").next().unwrap_or_default().split(" | ").next().unwrap_or_default());
    words.filter(|words| !words.contains('[') && !words.contains("...")).collect()
}

/// The command with `--help`, which fails if an argument before it is invalid.
fn asked(command: &str) -> String {
    format!("{} --help", command.split(" -- ").next().unwrap_or_default())
}

fn run(words: &str, program: &Path, dir: &Path) -> Result<(), String> {
    let command = format!("'{}' {words} 2>&1", program.display());
    program::shell(&command, dir).map_err(|why| format!("forebay {words}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_commands_in_code_blocks() {
        let text = "cargo none\n```sh\ncargo one\n\n  cargo two\n```\ncargo none\n```toml\ncargo = 1\n```\n";
        assert_eq!(commands(text, |fence| fence == "sh"), ["cargo one", "cargo two"]);
        let text = "forebay no\n```\nforebay run a.toml --runs 5     five\n```\n\n    forebay list | head\n    forebay run [--set X]\n";
        assert_eq!(calls(text), ["run a.toml --runs 5", "list"]);
        let asked = ["link --rate 1mbit -- true --x", "list"].map(asked);
        assert_eq!(asked, ["link --rate 1mbit --help", "list --help"]);
    }

    #[test]
    fn finds_commands_that_fail_or_print_nothing() {
        let here = Path::new(".");
        let runs = |words| run(words, Path::new("cargo"), here);
        assert!(runs("--version").is_ok() && runs("--verzion").is_err());
        assert_eq!(program::shell("echo fine", here), Ok(()));
        assert_eq!(program::shell("true", here), Err("no output".to_string()));
        assert!(program::shell("echo why; exit 2", here).is_err_and(|what| what.contains("why")));
    }
}
