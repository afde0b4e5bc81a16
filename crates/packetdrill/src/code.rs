//! The Python code of a script, as far as it consists of assertions about the fields of `tcp_info`.

use std::collections::BTreeMap;

/// Deepest nesting of an expression.
const DEEPEST: usize = 32;

/// A statement of a script's code.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Statement {
    /// `assert EXPRESSION`, with the expression as written.
    Assert(String),
    /// `NAME = EXPRESSION`, or `NAME += EXPRESSION`.
    Set(String, String),
}

/// Splits code into statements. `print` has no effect. An error is a statement of another kind.
pub(crate) fn statements(code: &str) -> Result<Vec<Statement>, String> {
    let mut found = Vec::new();
    for text in pieces(code) {
        let is = |word: &str| text.strip_prefix(word).filter(|rest| !rest.starts_with(|c: char| is_name(c)));
        if let Some(rest) = is("assert") {
            found.push(Statement::Assert(until_comma(rest).trim().to_string()));
        } else if let Some((name, value)) = text.split_once('=')
            && !name.trim().is_empty()
            && name.trim().chars().all(is_name)
            && !value.starts_with('=')
        {
            found.push(Statement::Set(name.trim().to_string(), value.trim().to_string()));
        } else if let Some((name, value)) = text.split_once("+=")
            && name.trim().chars().all(is_name)
        {
            found.push(Statement::Set(name.trim().to_string(), format!("{name}+ ({value})")));
        } else if is("print").is_none() {
            return Err(format!("the Python statement `{}`", crate::lex::short(&text)));
        }
    }
    Ok(found)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The statements as texts: split at semicolons and ends of lines, without comments.
fn pieces(code: &str) -> Vec<String> {
    let (mut pieces, mut quote, mut comment) = (vec![String::new()], None, false);
    for c in code.replace("\\\n", " ").chars() {
        if c == '\n' {
            comment = false;
        }
        let is_end = quote.is_none() && (c == '\n' || c == ';');
        match (quote, c) {
            _ if comment => {}
            (None, '#') => comment = true,
            _ if is_end => pieces.push(String::new()),
            _ => {
                if c == '\'' || c == '"' {
                    quote = if quote == Some(c) { None } else { quote.or(Some(c)) };
                }
                if let Some(piece) = pieces.last_mut() {
                    piece.push(c);
                }
            }
        }
    }
    pieces.iter().map(|piece| piece.trim().to_string()).filter(|piece| !piece.is_empty()).collect()
}

/// The text before the first comma outside of parentheses: what follows is the message of an assertion.
fn until_comma(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => return &text[..at],
            _ => {}
        }
    }
    text
}

/// Values of names.
pub(crate) type Names<'a> = dyn Fn(&str) -> Option<f64> + 'a;

/// Evaluates an expression of numbers and names. Comparisons are 1 or 0. `used` gets the names and their values. An
/// error says what cannot be evaluated.
pub(crate) fn evaluate(text: &str, names: &Names<'_>, used: &mut BTreeMap<String, f64>) -> Result<f64, String> {
    let mut reader = Reader { rest: text, names, used };
    let value = reader.either(DEEPEST)?;
    reader.skip();
    if reader.rest.is_empty() {
        Ok(value)
    } else {
        Err(format!("`{}` in an assertion", crate::lex::short(reader.rest)))
    }
}

struct Reader<'a, 'b> {
    rest: &'a str,
    names: &'b Names<'b>,
    used: &'b mut BTreeMap<String, f64>,
}

/// An operator and what it computes.
type Operator = (&'static str, fn(f64, f64) -> f64);
/// A comparison.
type Comparison = (&'static str, fn(&f64, &f64) -> bool);

type Level<'a, 'b> = fn(&mut Reader<'a, 'b>, usize) -> Result<f64, String>;

const fn truth(value: bool) -> f64 {
    if value { 1.0 } else { 0.0 }
}

impl<'a, 'b> Reader<'a, 'b> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes the operator if it comes next, as a whole word if it is one.
    fn took(&mut self, operator: &str) -> bool {
        self.skip();
        let Some(rest) = self.rest.strip_prefix(operator) else { return false };
        let is_word = operator.ends_with(is_name);
        if is_word && rest.starts_with(is_name) {
            return false;
        }
        self.rest = rest;
        true
    }

    /// Operands of `next`, joined by operators that associate to the left.
    fn chain(&mut self, deepest: usize, next: Level<'a, 'b>, operators: &[Operator]) -> Result<f64, String> {
        let mut value = next(self, deepest)?;
        while let Some((_, apply)) = operators.iter().find(|(operator, _)| self.took(operator)) {
            value = apply(value, next(self, deepest)?);
        }
        Ok(value)
    }

    fn either(&mut self, deepest: usize) -> Result<f64, String> {
        self.chain(deepest, Self::both, &[("or", |a, b| if a == 0.0 { b } else { a })])
    }

    fn both(&mut self, deepest: usize) -> Result<f64, String> {
        self.chain(deepest, Self::not, &[("and", |a, b| if a == 0.0 { a } else { b })])
    }

    fn not(&mut self, deepest: usize) -> Result<f64, String> {
        let mut is_negated = None;
        while self.took("not") {
            is_negated = Some(!is_negated.unwrap_or(false));
        }
        let value = self.comparison(deepest)?;
        Ok(is_negated.map_or(value, |negated| truth((value != 0.0) != negated)))
    }

    /// `A`, `A < B` or `A < B < C`, which is `A < B and B < C`.
    fn comparison(&mut self, deepest: usize) -> Result<f64, String> {
        const OPERATORS: [Comparison; 6] =
            [("==", f64::eq), ("!=", f64::ne), ("<=", f64::le), (">=", f64::ge), ("<", f64::lt), (">", f64::gt)];
        let mut left = self.bits(deepest)?;
        let mut holds = None;
        while let Some((_, compare)) = OPERATORS.iter().find(|(operator, _)| self.took(operator)) {
            let right = self.bits(deepest)?;
            holds = Some(holds.unwrap_or(true) && compare(&left, &right));
            left = right;
        }
        Ok(holds.map_or(left, truth))
    }

    fn bits(&mut self, deepest: usize) -> Result<f64, String> {
        self.chain(
            deepest,
            Self::sum,
            &[("|", |a, b| (a as i64 | b as i64) as f64), ("&", |a, b| (a as i64 & b as i64) as f64)],
        )
    }

    fn sum(&mut self, deepest: usize) -> Result<f64, String> {
        self.chain(deepest, Self::product, &[("+", |a, b| a + b), ("-", |a, b| a - b)])
    }

    fn product(&mut self, deepest: usize) -> Result<f64, String> {
        let operators: [Operator; 4] = [
            ("//", |a, b| (a / b).floor()),
            ("*", |a, b| a * b),
            ("/", |a, b| a / b),
            ("%", |a, b| a - b * (a / b).floor()),
        ];
        self.chain(deepest, Self::factor, &operators)
    }

    fn factor(&mut self, deepest: usize) -> Result<f64, String> {
        let Some(deeper) = deepest.checked_sub(1) else { return Err("a deeply nested assertion".to_string()) };
        if self.took("-") {
            return Ok(-self.factor(deeper)?);
        }
        if self.took("(") {
            let value = self.either(deeper)?;
            return if self.took(")") { Ok(value) } else { Err("an assertion without `)`".to_string()) };
        }
        self.skip();
        let length = self.rest.find(|c| !is_name(c) && c != '.').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        let hex = word.strip_prefix("0x").and_then(|hex| i64::from_str_radix(hex, 16).ok());
        if let Some(number) = hex.map(|number| number as f64).or_else(|| number(word)) {
            return Ok(number);
        }
        let value = (self.names)(word).ok_or_else(|| match word {
            "" => format!("`{}` in an assertion", crate::lex::short(self.rest)),
            _ if word.starts_with("tcpi_") => format!("the field `{word}` of tcp_info"),
            _ => format!("the name `{word}` in an assertion"),
        })?;
        self.used.insert(word.to_string(), value);
        Ok(value)
    }
}

/// Digits, with or without a point.
fn number(word: &str) -> Option<f64> {
    word.starts_with(|c: char| c.is_ascii_digit() || c == '.').then(|| word.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Result<f64, String> {
        evaluate(text, &|name| (name == "cwnd").then_some(10.0), &mut BTreeMap::new())
    }

    #[test]
    fn operators_bind_as_in_python() {
        for (text, wanted) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3 - -1", 10.0),
            ("7 // 2 + 7 % 4", 6.0),
            ("-7 // 2", -4.0),
            ("0x10 & 24 | 1", 17.0),
            ("9 <= cwnd <= 11", 1.0),
            ("9 <= cwnd < 10", 0.0),
            ("not cwnd == 10 or cwnd != 9 and 1", 1.0),
            ("not not 5", 1.0),
            ("cwnd == 10 and (1 > 2 or 2 > 1)", 1.0),
            ("2.5 * 2", 5.0),
        ] {
            assert_eq!(value(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_evaluated_is_named() {
        assert_eq!(value("cwnd == tcpi_foo"), Err("the field `tcpi_foo` of tcp_info".to_string()));
        assert_eq!(value("cwnd == 'a'"), Err("`'a'` in an assertion".to_string()));
        assert_eq!(value("cwnd cwnd"), Err("`cwnd` in an assertion".to_string()));
        assert!(value("(cwnd").is_err() && value("").is_err());
        assert!(value(&"(".repeat(100_000)).is_err());
    }

    #[test]
    fn code_is_split_into_statements() {
        let assert = |text: &str| Statement::Assert(text.to_string());
        let code = "\nassert a == 1, 'x;#' # no\nprint(a); assert (b, c) == 2, b;\\\n  assert d\nx = a + 1\n";
        let set = Statement::Set("x".to_string(), "a + 1".to_string());
        let more = Statement::Set("x".to_string(), "x + ( 2)".to_string());
        assert_eq!(statements("x += 2"), Ok(vec![more]));
        assert_eq!(statements(code), Ok(vec![assert("a == 1"), assert("(b, c) == 2"), assert("d"), set]));
        assert_eq!(statements("import os"), Err("the Python statement `import os`".to_string()));
        assert_eq!(statements("a == 1"), Err("the Python statement `a == 1`".to_string()));
    }

    proptest! {
        #[test]
        fn random_code_never_panics(code in "[ -~\n]{0,60}") {
            let _ = (statements(&code), value(&code));
        }

        #[test]
        fn random_expressions_never_panic(parts in prop::collection::vec("[0-9]|[(]|[)]|cwnd|[-+*/%<>=&|]| ?(and|or|not) ", 0..40)) {
            let _ = value(&parts.concat());
        }
    }
}
