//! Unsafe code stands where the kernel is talked to, and each piece says why it is sound.
//!
//! Compiler and clippy are asked the same, but clippy is not everywhere, and both can be told to look away.

use super::lints::SYS;
use crate::base::tree::{File, Tree};

/// What a comment that gives the reason begins with.
const REASON: &str = "// SAFETY:";

/// Unsafe code without a reason, or elsewhere.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    tree.rust().flat_map(findings).collect()
}

fn findings(file: &File) -> Vec<String> {
    let (code, text): (Vec<&str>, Vec<&str>) = (file.code.lines().collect(), file.text.lines().collect());
    let unsafe_lines = (0..code.len()).filter(|n| has_unsafe(code[*n]));
    let wrong = unsafe_lines.filter_map(|n| {
        let at = format!("{}:{}", file.path, n + 1);
        match (file.path.starts_with(SYS), has_reason(&code, &text, n)) {
            (false, _) => Some(format!("{at}: unsafe code outside of {SYS}")),
            (true, false) => Some(format!("{at}: no {REASON} above it")),
            (true, true) => None,
        }
    });
    wrong.collect()
}

/// The keyword, not the name of a lint.
fn has_unsafe(line: &str) -> bool {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == "unsafe")
}

/// Is there a reason right above the statement that line `n` is part of?
fn has_reason(code: &[&str], text: &[&str], n: usize) -> bool {
    let mut above = (0..n).rev();
    let comment = above.find(|i| text[*i].trim_start().starts_with("//") || ends_before(code[*i]));
    let mut lines = comment.into_iter().chain(above).take_while(|i| text[*i].trim_start().starts_with("//"));
    lines.any(|i| text[i].trim_start().starts_with(REASON))
}

/// Does something end on this line, so that the next one begins anew?
fn ends_before(line: &str) -> bool {
    line.trim().is_empty() || line.trim_end().ends_with([';', '{', '}'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)]))
    }

    #[test]
    fn finds_unsafe_code_without_a_reason() {
        let path = "crates/live/src/sys/x.rs";
        for fine in [
            "// SAFETY: plain numbers.\nunsafe { f() };",
            "// SAFETY: plain numbers,\n// and they are small.\nlet a =\n    unsafe { f() };",
            "#![expect(unsafe_code, reason = \"calls\")]\n// unsafe in words\nlet a = \"unsafe\";",
        ] {
            assert!(of(path, fine).is_empty(), "{fine}");
        }
        for (wrong, line) in [
            ("unsafe { f() };", 1),
            ("// It is quick.\nunsafe { f() };", 2),
            ("// SAFETY: of the first.\nunsafe { f() };\nunsafe { g() };", 3),
            ("// SAFETY: far away.\n\nunsafe { f() };", 3),
            ("let a = 1; // SAFETY: behind code.\nunsafe { f() };", 2),
        ] {
            assert_eq!(of(path, wrong), [format!("{path}:{line}: no // SAFETY: above it")], "{wrong}");
        }
    }

    #[test]
    fn finds_unsafe_code_elsewhere() {
        let text = "// SAFETY: plain numbers.\nunsafe { f() };";
        assert_eq!(of("crates/live/src/lane.rs", text).len(), 1);
        assert_eq!(of("xtask/src/main.rs", text).len(), 1);
    }
}
