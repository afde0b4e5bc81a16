//! The commands of the chapters: those of every page have commands and flags that exist, those of the first pages run.

use std::fs;
use std::path::Path;

use crate::base::program;
use crate::base::tally::Tally;
use crate::base::tree::Tree;

/// Pages whose commands stand on the scenario of the first, and run in their order.
const TRIED: [&str; 2] = ["docs/quick-start.md", "docs/choosing.md"];
/// What the scenario is called there.
const SCENARIOS: [&str; 2] = ["first.toml", "mine.toml"];
/// In place of a minute.
const SHORTER: &str = " --set duration=3s --set warmup=1s";

/// One check for each page with commands, and for each command that is run.
pub(crate) fn check(scratch: &Path, tally: &mut Tally) {
    let build = program::cargo(&["build", "--release", "--quiet", "-p", "forebay"]);
    let program = program::build_dir().join("release").join("forebay");
    if !program::works(build) {
        return tally.fail("the program does not build");
    }
    let tree = match Tree::read() {
        Ok(tree) => tree,
        Err(what) => return tally.fail(what),
    };
    let dir = scratch.join("chapters");
    let prepared = fs::create_dir_all(&dir).map_err(|error| error.to_string()).and_then(|()| lay_out(&tree, &dir));
    tally.check("the scenario of the quick start", prepared);
    for file in tree.files().filter(|file| file.path.ends_with(".md")) {
        let all = commands(&file.text);
        let lost: Vec<String> = all.iter().filter_map(|command| run(&asked(command), &program, &dir).err()).collect();
        if !all.is_empty() {
            let outcome = if lost.is_empty() { Ok(()) } else { Err(lost.join("\n")) };
            tally.check(&format!("{}: its commands and their flags exist", file.path), outcome);
        }
        if TRIED.contains(&file.path.as_str()) {
            // Real connections have tests of their own, whose clocks nothing disturbs.
            for command in all.iter().filter(|command| !command.contains("--on kernel")) {
                println!("   $ forebay {command}");
                let shorter = if ["run", "sweep"].iter().any(|word| command.starts_with(word)) { SHORTER } else { "" };
                tally.check(command, run(&format!("{command}{shorter}"), &program, &dir));
            }
        }
    }
}

/// Puts the scenario of the quick start where its commands look for it.
fn lay_out(tree: &Tree, dir: &Path) -> Result<(), String> {
    let page = tree.get(TRIED[0]).ok_or("there is no such page")?;
    let (_, rest) = page.text.split_once("```toml\n").ok_or("no block of TOML")?;
    let text = rest.split_once("```").ok_or("no end of the block")?.0;
    SCENARIOS.iter().try_for_each(|name| fs::write(dir.join(name), text).map_err(|error| error.to_string()))
}

/// The words after `forebay` on lines that begin with it, in blocks of code; what stands far to the right tells about them, and
/// a synopsis is none.
fn commands(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut all = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let inside = fenced || line.starts_with("    ");
        if let Some(words) = line.trim_start().strip_prefix("forebay ").filter(|_| inside) {
            let words = words.split("   ").next().unwrap_or_default().split(" | ").next().unwrap_or_default();
            if !words.contains('[') && !words.contains("...") {
                all.push(words.to_string());
            }
        }
    }
    all
}

/// The same as a question: what stands before it must be understood for an answer.
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
    fn commands_stand_in_blocks_and_can_be_asked() {
        let text = "forebay no\n```\nforebay run a.toml --runs 5     five\n```\n\n    forebay list | head\n    forebay run [--set X]\n";
        assert_eq!(commands(text), ["run a.toml --runs 5", "list"]);
        let asked = ["link --rate 1mbit -- true --x", "list"].map(asked);
        assert_eq!(asked, ["link --rate 1mbit --help", "list --help"]);
        let runs = |words| run(words, Path::new("cargo"), Path::new("."));
        assert!(runs("--version").is_ok() && runs("--verzion").is_err());
    }
}
