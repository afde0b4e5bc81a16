//! Small files, small functions.

use crate::base::tree::Tree;

const FILE_LINES: usize = 800;
const FUNCTION_LINES: usize = 80;
/// Kinds of file that people write and read.
const WRITTEN: [&str; 6] = [".rs", ".js", ".css", ".md", ".toml", ".tcl"];
/// Files and functions that may be longer: path, function or nothing, and why.
const ALLOWED: &[(&str, &str, &str)] = &[];

/// Files and functions over the limit, and permissions that nobody needs any more.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    check_with(tree, ALLOWED)
}

fn check_with(tree: &Tree, allowed: &[(&str, &str, &str)]) -> Vec<String> {
    let mut long: Vec<(&str, String, String)> = Vec::new();
    for file in tree.files().filter(|f| WRITTEN.iter().any(|end| f.path.ends_with(end))) {
        let lines = file.text.lines().count();
        if lines > FILE_LINES {
            let what = format!("{}: {lines} lines, the limit is {FILE_LINES}", file.path);
            long.push((&file.path, String::new(), what));
        }
        let ours = ["crates/", "xtask/"].iter().any(|folder| file.path.starts_with(folder));
        if ours && file.path.contains("/src/") {
            for function in functions(&file.code).into_iter().filter(|f| f.lines > FUNCTION_LINES) {
                let Function { name, line, lines } = function;
                let what = format!("{}:{line}: fn {name} has {lines} lines, the limit is {FUNCTION_LINES}", file.path);
                long.push((&file.path, name, what));
            }
        }
    }
    let permits = |path: &str, name: &str| allowed.iter().any(|(p, n, _)| *p == path && *n == name);
    let idle = allowed.iter().filter(|(p, n, _)| !long.iter().any(|(path, name, _)| path == p && name == n));
    let idle: Vec<String> =
        idle.map(|(p, n, _)| format!("{p} {n}: nothing here needs a permission to be long")).collect();
    let mut findings: Vec<String> =
        long.into_iter().filter(|(path, name, _)| !permits(path, name)).map(|(_, _, what)| what).collect();
    findings.extend(idle);
    findings
}

/// A function and its length, from its `fn` to its last brace.
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// Every function with a body in `code`, some Rust without comments and strings.
fn functions(code: &str) -> Vec<Function> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let name: String = code[at + 3..].chars().take_while(|c| word(*c)).collect();
        if name.is_empty() || code[..at].ends_with(word) {
            continue;
        }
        if let Some(length) = body_end(&code[at..]) {
            let line = code[..at].matches('\n').count() + 1;
            out.push(Function { name, line, lines: code[at..at + length].matches('\n').count() + 1 });
        }
    }
    out
}

/// Where the body ends of the function that `code` begins with; `None` for a declaration.
fn body_end(code: &str) -> Option<usize> {
    let (mut braces, mut brackets) = (0usize, 0usize);
    for (i, c) in code.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            ';' if braces == 0 && brackets == 0 => return None,
            '{' => braces += 1,
            '}' if braces <= 1 => return (braces == 1).then_some(i),
            '}' => braces -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> String {
        format!(
            "trait T {{ fn g(&self, x: [u8; 2]); }}\nfn long(a: [u8; 2]) -> u8 {{\n{}}}\nfn h() {{}}\n",
            "    f();\n".repeat(lines - 2)
        )
    }

    #[test]
    fn counts_from_the_signature_to_the_last_brace() {
        let found: Vec<_> = functions(&function(7)).into_iter().map(|f| (f.name, f.line, f.lines)).collect();
        assert_eq!(found, [("long".to_string(), 2, 7), ("h".to_string(), 9, 1)]);
    }

    #[test]
    fn finds_a_function_one_line_too_long() {
        let tree = |lines| Tree::of(&[("crates/aqm/src/x.rs", &function(lines))]);
        assert!(check(&tree(FUNCTION_LINES)).is_empty());
        let findings = check(&tree(FUNCTION_LINES + 1));
        assert!(
            findings.len() == 1 && findings[0].starts_with("crates/aqm/src/x.rs:2: fn long has 81 lines"),
            "{findings:?}"
        );
    }

    #[test]
    fn braces_in_strings_and_comments_do_not_count() {
        let text = "fn f() {\n    // }\n    g(\"}\", '}');\n}\n";
        assert_eq!(functions(&crate::base::tree::blank(text))[0].lines, 4);
    }

    #[test]
    fn finds_a_file_too_long_and_permissions_without_need() {
        let (long, short) = ("x\n".repeat(FILE_LINES + 1), "x\n".repeat(FILE_LINES));
        let tree = Tree::of(&[("docs/a.md", &long), ("docs/b.md", &short), ("x/data.csv", &long)]);
        assert_eq!(check(&tree), ["docs/a.md: 801 lines, the limit is 800"]);
        assert!(check_with(&tree, &[("docs/a.md", "", "a reason")]).is_empty());
        let idle = check_with(&tree, &[("docs/a.md", "", "a reason"), ("docs/b.md", "", "a reason")]);
        assert!(idle.len() == 1 && idle[0].starts_with("docs/b.md"), "{idle:?}");
    }
}
