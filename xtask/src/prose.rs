//! `cargo xtask prose [SEED]`: passages of the project's prose drawn at random, for a reader who does not know it.

use forebay_aqm::base::rng::Rng;

use crate::base::tree::{File, Tree};

/// Number of passages of each kind, and largest number of lines of each part of the context.
const EACH: usize = 15;

/// A passage: file, line, context, text.
type Passage = (String, usize, Vec<String>, String);

/// Prints [`EACH`] help texts, doc comments, paragraphs or list items of pages, and test names. Each has its context,
/// which a reader of the file sees before it. The same seed draws the same passages.
pub(crate) fn run(seed: u64) -> Result<(), String> {
    let tree = Tree::read()?;
    let is_help = |path: &str| path.starts_with("crates/cli/src/args/");
    let docs = |file: &File| file.path.starts_with("crates/") && file.path.contains("/src/") && !is_help(&file.path);
    let pages = |file: &File| file.path.ends_with(".md") && !file.path.starts_with("docs/book/");
    let kinds: [(&str, Vec<Passage>); 4] = [
        ("help", passages(&tree, |file| is_help(&file.path), help)),
        ("doc comment", passages(&tree, docs, comments)),
        ("page", passages(&tree, pages, paragraphs)),
        ("test", passages(&tree, |file| file.path.ends_with(".rs"), tests)),
    ];
    let mut rng = Rng::stream(seed, "prose");
    for (kind, mut all) in kinds {
        for _ in 0..EACH.min(all.len()) {
            let (path, line, context, text) = all.swap_remove(rng.below(all.len() as u64) as usize);
            println!("{kind}  {path}:{line}");
            context.iter().for_each(|line| println!("  | {line}"));
            println!("    {}\n", text.replace('\n', "\n    "));
        }
    }
    Ok(())
}

fn passages(tree: &Tree, of: impl Fn(&File) -> bool, find: fn(&str) -> Vec<(usize, String)>) -> Vec<Passage> {
    let found = |file: &File| -> Vec<Passage> {
        let context = if file.path.ends_with(".md") { above_in_page } else { above_in_code };
        let lines: Vec<&str> = file.text.lines().collect();
        let passage = |(line, text): (usize, String)| (file.path.clone(), line, context(&lines, line - 1), text);
        find(&file.text).into_iter().map(passage).collect()
    };
    tree.files().filter(|file| of(file)).flat_map(found).collect()
}

/// The opening of a page, the heading over line `at`, and the lines of the section above it.
fn above_in_page(lines: &[&str], at: usize) -> Vec<String> {
    let section = lines[..at].iter().rposition(|line| line.starts_with("## "));
    let begin = section.map_or(1, |line| line + 1).max(at.saturating_sub(EACH)).min(at);
    let opening = lines[..begin].iter().take_while(|line| !line.starts_with("## ")).take(EACH);
    let above = opening.chain(section.map(|line| &lines[line])).chain(&lines[begin..at]);
    above.filter(|line| !line.is_empty()).map(|line| (*line).to_string()).collect()
}

/// The first paragraph of the file, the command of arguments, the item around line `at`, and the lines above.
fn above_in_code(lines: &[&str], at: usize) -> Vec<String> {
    let is_doc = |line: &&&str| line.trim_start().starts_with("///") || line.trim_start().starts_with("#[");
    let depth = |line: &str| line.len() - line.trim_start().len();
    let docs = |item: usize| lines[..item].iter().rev().take_while(is_doc).count();
    let head = lines[..at].iter().take_while(|line| line.starts_with("//!")).take(EACH);
    let holds = |line: &&str| depth(line) < depth(lines[at]) && line.ends_with('{');
    let around = lines[..at].iter().rposition(holds).map_or(0..0, |item| item - docs(item)..item + 1);
    // The description of a command is at the enum's variant that has its arguments: `Run(RunArgs)`.
    let arguments = lines[around.clone()].last().and_then(|item| item.split("struct ").nth(1)?.split(' ').next());
    let is_command = |line: &&str| arguments.is_some_and(|name| line.trim().ends_with(&format!("({name}),")));
    let command = lines[..at].iter().position(is_command).map_or(0..0, |item| item - docs(item)..item);
    let near = around.end.max(at.saturating_sub(EACH))..at;
    let all = head.chain(&lines[command]).chain(&lines[around]).chain(&lines[near]);
    all.filter(|line| !line.trim().is_empty()).map(|line| line.trim_end().to_string()).collect()
}

/// Doc comments that the program prints: those of options, arguments and commands.
fn help(text: &str) -> Vec<(usize, String)> {
    let is_printed = |comment: &str| {
        let code = comment.lines().last().unwrap_or_default().trim_start();
        !comment.starts_with("//!")
            && !["fn ", "pub(", "#[derive", "const ", "enum "].iter().any(|no| code.starts_with(no))
    };
    comments(text).into_iter().filter(|(_, comment)| is_printed(comment)).collect()
}

/// Doc comments, each with the line that it describes.
fn comments(text: &str) -> Vec<(usize, String)> {
    let doc = |line: &str| line.trim_start().strip_prefix("//").filter(|rest| rest.starts_with(['/', '!'])).is_some();
    blocks(text, doc, 1)
}

/// Paragraphs and top-level list items outside of code, tables and headings.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut is_code = false;
    let is_prose = |line: &str| {
        is_code ^= line.starts_with("```");
        !is_code && !line.trim().is_empty() && !line.starts_with(['#', '|', '<']) && !line.starts_with("```")
    };
    let items = |(first, block): (usize, String)| {
        let mut items: Vec<(usize, String)> = Vec::new();
        for (n, line) in block.lines().enumerate() {
            match items.last_mut() {
                Some((_, item)) if !line.starts_with("- ") => *item = format!("{item}\n{line}"),
                _ => items.push((first + n, line.to_string())),
            }
        }
        items
    };
    blocks(text, is_prose, 0).into_iter().flat_map(items).collect()
}

/// Names of tests.
fn tests(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let name =
        |line: &str| line.trim_start().strip_prefix("fn ").and_then(|rest| rest.split('(').next()).map(str::to_string);
    let is_test = |n: &usize| lines[*n].trim() == "#[test]";
    (0..lines.len()).filter(is_test).filter_map(|n| Some((n + 2, name(lines.get(n + 1)?)?))).collect()
}

/// Blocks of consecutive lines that `is_in` accepts, with `more` lines after each.
fn blocks(text: &str, mut is_in: impl FnMut(&str) -> bool, more: usize) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let accepted: Vec<bool> = lines.iter().map(|line| is_in(line)).collect();
    let begins = (0..lines.len()).filter(|&n| accepted[n] && (n == 0 || !accepted[n - 1]));
    let block = |from: usize| {
        let length = accepted[from..].iter().take_while(|accepted| **accepted).count();
        (from + 1, lines[from..(from + length + more).min(lines.len())].join("\n"))
    };
    begins.map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_comments_paragraphs_and_test_names() {
        let code = "//! A.\n\n/// B\n/// c.\nfn d() {} // e\n#[test]\nfn f_g() {}\n";
        assert_eq!(comments(code), [(1, "//! A.\n".to_string()), (3, "/// B\n/// c.\nfn d() {} // e".to_string())]);
        assert_eq!(super::tests(code), [(7, "f_g".to_string())]);
        assert_eq!(help("/// B.\npub(crate) a() {}\n\n/// C.\nD,\n"), [(4, "/// C.\nD,".to_string())]);
        assert_eq!(paragraphs("- a\n  b\n- c\n"), [(1, "- a\n  b".to_string()), (3, "- c".to_string())]);
        let code = ["//! A.", "/// B.", "struct C {", "    /// D.", "    d: u8,"];
        assert_eq!(above_in_code(&code, 3), ["//! A.", "/// B.", "struct C {"]);
        let command = ["/// B.", "C(D),", "struct D {", "    /// E.", "    e: u8,"];
        assert_eq!(above_in_code(&command, 3), ["/// B.", "struct D {"]);
        assert_eq!(above_in_page(&["# a", "f", "## b", "", "c", "", "e"], 6), ["# a", "f", "## b", "c"]);
        assert_eq!(paragraphs("# a\n\nb\nc\n```sh\nd\n```\n| e |\n"), [(3, "b\nc".to_string())]);
    }
}
