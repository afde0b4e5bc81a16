//! Code within braces is indented: rustfmt leaves the bodies of macros as they are.

use crate::base::tree::{File, Tree};

/// Lines of Rust that begin in the first column within something that is open.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    tree.rust().flat_map(of).collect()
}

fn of(file: &File) -> Vec<String> {
    let mut findings = Vec::new();
    let mut open = 0_i64;
    for (n, line) in file.code.lines().enumerate() {
        let first = line.chars().next().filter(|letter| !letter.is_whitespace());
        // A string that goes on is blank here up to its closing quote.
        if open > 0 && first.is_some_and(|letter| !")]}\"".contains(letter)) {
            findings.push(format!("{}:{}: not indented", file.path, n + 1));
        }
        open += line
            .chars()
            .map(|letter| i64::from("([{".contains(letter)) - i64::from(")]}".contains(letter)))
            .sum::<i64>();
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_not_indented() {
        let of = |text: &str| check(&Tree::of(&[("crates/x/src/lib.rs", text)]));
        for fine in [
            "fn a() {\n    b(\n    );\n}\nfn c() {}\n",
            "fn a() {\n    let b = \"\nc\n{\";\n    '{'\n}\n// }\nfn d() {}\n",
        ] {
            assert_eq!(of(fine), Vec::<String>::new(), "{fine}");
        }
        let body = "macro_rules! a {\n    () => {\n        #[b]\nfn c() {}\n    };\n}\n";
        assert_eq!(of(body), ["crates/x/src/lib.rs:4: not indented"]);
    }
}
