//! Running text on a terminal.

/// The widest line of running text.
const WIDTH: usize = 100;

/// `text` in lines of at most 100 letters, the first after `first`, the others after as much space.
pub(crate) fn wrap(first: &str, text: &str) -> String {
    let indent = " ".repeat(first.chars().count());
    let (mut out, mut line) = (String::new(), first.to_string());
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line.clone_from(&indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn hangs_below_the_first_word() {
        let text = wrap("  1. ", &"word ".repeat(40));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("  1. word") && lines[1].starts_with("     word"));
        assert!(lines.iter().all(|line| line.chars().count() <= 100));
        assert_eq!(wrap("- ", ""), "-\n");
    }
}
