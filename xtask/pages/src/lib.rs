//! Fills templates to generate pages. Each crate has its templates in its folder `templates`.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};

/// The text of a template of the calling crate, filled with `values`.
#[macro_export]
macro_rules! page {
    ($name:literal, $values:expr) => {
        $crate::fill(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/templates/", $name)), &$values)
    };
}

/// Fills `template` with `values`. It adds three filters to those of minijinja: `x|fixed(2)` writes a number with
/// two decimals, `x|signed(2)` the same with a sign, `x|cell` escapes text for a cell of a table.
///
/// # Errors
/// The template is invalid, or a value is missing.
pub fn fill(template: &str, values: &serde_json::Value) -> Result<String, String> {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    let mut pages = Environment::new();
    pages.set_syntax(syntax.map_err(|error| error.to_string())?);
    pages.set_undefined_behavior(UndefinedBehavior::Strict);
    pages.add_filter("fixed", |x: f64, digits: usize| format!("{x:.digits$}"));
    pages.add_filter("signed", |x: f64, digits: usize| format!("{x:+.digits$}"));
    pages.add_filter("cell", |text: String| cell(&text));
    pages.render_str(template, Serde(values)).map_err(|error| format!("{error:#}"))
}

/// `text` in a cell of a table: `|` is escaped.
pub fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn template_block_tags_leave_no_empty_lines() {
        let rows = serde_json::json!({ "rows": [["a|b", 1.0], ["c", 2.5]] });
        let text = fill("{% for row in rows %}\n{{ row[0]|cell }} {{ row[1]|signed(2) }}\n{% endfor %}\ny\n", &rows);
        assert_eq!(text.as_deref(), Ok("a\\|b +1.00\nc +2.50\ny\n"));
        assert!(fill("{{ missing }}", &rows).is_err());
    }
}
