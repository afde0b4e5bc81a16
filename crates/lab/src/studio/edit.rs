//! Changes single values in the text of a scenario file. Comments, order and layout of the rest stay as they are.

use crate::document::{Entry, Node, Value};

/// The text with `value`, which is TOML, at the path `keys`; `root` is the tree of the text. A missing key is added to
/// its table, a missing table at the end of the text. `None` if the path leads through something that is not a table or
/// list.
pub(super) fn put(text: &str, root: &Node, keys: &[&str], value: &str) -> Option<String> {
    let (last, tables) = keys.split_last()?;
    let mut at = root;
    for (depth, key) in tables.iter().enumerate() {
        match at.step(key) {
            Some(node) => at = node,
            None if depth == 0 && tables.len() == 1 => return Some(with_table(text, key, last, value)),
            None => return None,
        }
    }
    if let Some(node) = at.step(last) {
        let span = node.place.span();
        return Some([text.get(..span.start)?, value, text.get(span.end..)?].concat());
    }
    let Value::Table(entries) = &at.value else { return None };
    let is_inline = text.get(at.place.span())?.starts_with('{') && !std::ptr::eq(at, root);
    let place = entries.iter().filter(|entry| is_here(text, entry)).map(|entry| entry.node.place.span().end).max();
    let (place, line) = match (is_inline, place) {
        (true, Some(end)) => (end, format!(", {last} = {value}")),
        (true, None) => (at.place.span().start + 1, format!(" {last} = {value} ")),
        (false, Some(end)) => {
            (end + text.get(end..)?.find('\n').unwrap_or(text.len() - end), format!("\n{last} = {value}"))
        }
        (false, None) => return None,
    };
    Some([text.get(..place)?, &line, text.get(place..)?].concat())
}

/// The text with a new table at its end, which has one key.
fn with_table(text: &str, table: &str, key: &str, value: &str) -> String {
    format!("{}\n\n[{table}]\n{key} = {value}\n", text.trim_end())
}

/// Whether the entry is `key = value`, not a table with its own header.
fn is_here(text: &str, entry: &Entry) -> bool {
    let between = text.get(entry.place.span().end..entry.node.place.span().start);
    between.is_some_and(|between| between.trim() == "=")
}

#[cfg(test)]
mod tests {
    use crate::document::{Source, parse};

    const TEXT: &str = "# a scenario\ntitle = \"é\" # the title\n[topology]\nkind = \"dumbbell\"\nbottleneck = { rate = \"10mbit\", delays = [\"1ms\", \"2ms\"] }\n\n[[flows]]\nkind = \"ftp\" # bulk\n[[flows]]\nkind = \"web\"\n";

    fn put(keys: &[&str], value: &str) -> Option<String> {
        let root = parse(&Source::file("x.toml", TEXT)).unwrap();
        let changed = super::put(TEXT, &root, keys, value)?;
        parse(&Source::file("x.toml", &changed)).unwrap_or_else(|error| panic!("{error}: {changed}"));
        Some(changed)
    }

    #[test]
    fn value_is_replaced_and_comments_stay() {
        let cases: [(&[&str], &str, &str, &str); 3] = [
            (&["title"], "\"b\"", "\"é\" # the title", "\"b\" # the title"),
            (&["topology", "bottleneck", "rate"], "\"20mbit\"", "\"10mbit\"", "\"20mbit\""),
            (&["topology", "bottleneck", "delays", "1"], "\"5ms\"", "\"2ms\"", "\"5ms\""),
        ];
        for (keys, value, old, new) in cases {
            assert_eq!(put(keys, value).unwrap(), TEXT.replace(old, new));
        }
    }

    #[test]
    fn missing_keys_and_tables_are_added() {
        assert_eq!(put(&["flows", "0", "count"], "5").unwrap(), TEXT.replace("# bulk", "# bulk\ncount = 5"));
        assert_eq!(put(&["flows", "1", "count"], "5").unwrap(), TEXT.replace("\"web\"", "\"web\"\ncount = 5"));
        let inline = put(&["topology", "bottleneck", "queue"], "\"9p\"").unwrap();
        assert_eq!(inline, TEXT.replace("\"2ms\"] }", "\"2ms\"], queue = \"9p\" }"));
        assert!(put(&["compare", "aqm"], "[\"red\"]").unwrap().ends_with("\"web\"\n\n[compare]\naqm = [\"red\"]\n"));
        assert_eq!(put(&["title", "x"], "1"), None);
        assert_eq!(put(&["flows", "7", "count"], "1"), None);
    }
}
