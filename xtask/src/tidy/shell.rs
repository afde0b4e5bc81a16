//! Checks that commands in documents work in every shell.

use crate::base::tree::Tree;

const PIP: &str = "pip install";

/// `pip install` with a square bracket outside of quotes: zsh takes it for a pattern and refuses the command.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| file.path != HERE) {
        for (n, line) in file.text.lines().enumerate() {
            if line.split(PIP).skip(1).any(is_bare) {
                findings.push(format!(
                    "{}:{}: quote what has a bracket: pip install 'PACKAGE[EXTRA]'",
                    file.path,
                    n + 1
                ));
            }
        }
    }
    findings
}

/// The file whose tests have such commands.
const HERE: &str = "xtask/src/tidy/shell.rs";

/// Is there a bracket outside of quotes, before the code in which it stands ends?
fn is_bare(words: &str) -> bool {
    let mut quote = None;
    for letter in words.chars() {
        match (letter, quote) {
            ('`', _) => return false,
            ('[', None) => return true,
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_brackets_outside_of_quotes() {
        let of = |line: &str| check(&Tree::of(&[("README.md", &format!("a\n{line}\n"))]));
        for fine in [
            "`pip install './python[plot]'` and [a link](x)",
            "    pip install \"forebay[plot,gym]\" numpy",
            "`pip install ./python` [1]",
            "\"source\": [\"!pip install \\\"./python[plot]\\\"\\n\"]",
            "with `forebay[plot]`, without a command",
        ] {
            assert_eq!(of(fine), Vec::<String>::new(), "{fine}");
        }
        for wrong in [
            "`pip install ./python[plot]`",
            "python -m pip install 'a' forebay[plot]",
            "\"!pip install ./python[plot]\\n\"",
        ] {
            assert_eq!(of(wrong), ["README.md:2: quote what has a bracket: pip install 'PACKAGE[EXTRA]'"], "{wrong}");
        }
    }
}
