//! Expressions over intervals: the arithmetic of rounded numbers.
//!
//! A printed number stands for every number that rounds to it. An expression of such numbers has the interval of its
//! values. If an expression uses a name twice, the two values are treated as independent. So the interval can be too
//! wide, but never too narrow. Bounds are widened by the rounding of floating point.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Maximum nesting depth of function calls and parentheses.
const DEPTH: usize = 50;
/// Functions by name, with the smallest and the largest number of arguments.
const FUNCTIONS: [(&str, usize, usize); 6] =
    [("min", 2, 9), ("max", 2, 9), ("span", 2, 9), ("exp", 1, 1), ("ln", 1, 1), ("sqrt", 1, 1)];

/// A closed interval of finite numbers.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Interval {
    /// Lower bound.
    pub from: f64,
    /// Upper bound.
    pub to: f64,
}

impl Interval {
    /// The interval between these bounds, widened by a few units of the last binary digit: bounds are results of
    /// operations with an error of at most one unit.
    pub(crate) fn outward(from: f64, to: f64) -> Self {
        let slack = |x: f64| 4.0 * f64::EPSILON * x.abs();
        Self { from: from - slack(from), to: to + slack(to) }
    }

    /// The interval of a number that is written without rounding: exact if it is an integer.
    pub(crate) fn exact(x: f64) -> Self {
        if x.fract() == 0.0 { Self { from: x, to: x } } else { Self::outward(x, x) }
    }

    fn is_finite(self) -> bool {
        self.from.is_finite() && self.to.is_finite()
    }

    fn plus(self, other: Self) -> Self {
        Self::outward(self.from + other.from, self.to + other.to)
    }

    fn negated(self) -> Self {
        Self { from: -self.to, to: -self.from }
    }

    /// The interval of `f(a, b)` for all `a` of this interval and `b` of the other. `f` must be monotonic in each
    /// argument.
    fn corners(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let all = [f(self.from, other.from), f(self.from, other.to), f(self.to, other.from), f(self.to, other.to)];
        Self::outward(all.into_iter().fold(f64::INFINITY, f64::min), all.into_iter().fold(f64::NEG_INFINITY, f64::max))
    }

    fn over(self, other: Self) -> Result<Self, String> {
        let is_zero = other.from <= 0.0 && other.to >= 0.0;
        if is_zero {
            Err("divides by a number that can be 0".to_string())
        } else {
            Ok(self.corners(other, |a, b| a / b))
        }
    }
}

/// The interval of an expression: `+ - * /`, parentheses, `min`, `max`, `exp`, `ln`, `sqrt`, exact numbers, and names,
/// whose intervals are in `known`. `span(a, b)` is every number from the least to the largest argument. The names in
/// the expression are added to `used`, each once. An error says what is wrong.
pub fn evaluate(text: &str, known: &BTreeMap<String, Interval>, used: &mut Vec<String>) -> Result<Interval, String> {
    let mut reader = Reader { text, at: 0, depth: 0, known, used };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.unexpected("an operator or the end")),
    }
}

/// Whether `name` is a function that expressions can use.
pub(crate) fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, ..)| *known == name)
}

/// An expression, read from left to right.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    known: &'a BTreeMap<String, Interval>,
    used: &'a mut Vec<String>,
}

impl<'a> Reader<'a> {
    /// The next character that is not white space.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// Takes the next character if it is one of these.
    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let next = self.peek().filter(|next| wanted.contains(next))?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Takes all characters up to the first one that `belongs` refuses.
    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let word = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn unexpected(&mut self, wanted: &str) -> String {
        let found = self.peek().map_or("the end".to_string(), |found| format!("'{found}'"));
        format!("needs {wanted} at character {}, found {found}", self.text[..self.at].chars().count() + 1)
    }

    fn sum(&mut self) -> Result<Interval, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let next = self.product()?;
            value = finite(value.plus(if sign == '-' { next.negated() } else { next }))?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Interval, String> {
        let mut value = self.factor()?;
        while let Some(sign) = self.take(&['*', '/']) {
            let next = self.factor()?;
            value = finite(if sign == '/' { value.over(next)? } else { value.corners(next, |a, b| a * b) })?;
        }
        Ok(value)
    }

    fn factor(&mut self) -> Result<Interval, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("has more than {DEPTH} levels"));
        }
        let value = if self.take(&['-']).is_some() {
            self.factor()?.negated()
        } else if self.take(&['(']).is_some() {
            let value = self.sum()?;
            self.take(&[')']).ok_or_else(|| self.unexpected("')'"))?;
            value
        } else {
            match self.peek() {
                Some('0'..='9') => self.number()?,
                Some('a'..='z') => self.name()?,
                _ => return Err(self.unexpected("a number, a name or '('")),
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<Interval, String> {
        let word = self.word(|c| c.is_ascii_digit() || c == '.');
        let value: f64 = word.parse().map_err(|_| format!("'{word}' is not a number"))?;
        finite(Interval::exact(value))
    }

    fn name(&mut self) -> Result<Interval, String> {
        let name = self.word(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if self.take(&['(']).is_none() {
            let value = self.known.get(name).ok_or_else(|| format!("'{name}' is not a printed number"))?;
            if !self.used.iter().any(|used| used == name) {
                self.used.push(name.to_string());
            }
            return Ok(*value);
        }
        let mut arguments = vec![self.sum()?];
        while self.take(&[',']).is_some() {
            arguments.push(self.sum()?);
        }
        self.take(&[')']).ok_or_else(|| self.unexpected("',' or ')'"))?;
        finite(call(name, &arguments)?)
    }
}

/// The interval of the function `name` for these arguments, of which there is at least one.
fn call(name: &str, arguments: &[Interval]) -> Result<Interval, String> {
    let (_, least, most) = FUNCTIONS
        .into_iter()
        .find(|(known, ..)| *known == name)
        .ok_or_else(|| format!("'{name}' is not a function"))?;
    if !(least..=most).contains(&arguments.len()) {
        return Err(format!("{name} has {} arguments, from {least} to {most} are allowed", arguments.len()));
    }
    let Interval { from, to } = arguments[0];
    let fold = |f: fn(f64, f64) -> f64, g: fn(f64, f64) -> f64| {
        let both = |a: Interval, b: &Interval| Interval { from: f(a.from, b.from), to: g(a.to, b.to) };
        arguments.iter().fold(arguments[0], both)
    };
    match name {
        "min" => Ok(fold(f64::min, f64::min)),
        "max" => Ok(fold(f64::max, f64::max)),
        "span" => Ok(fold(f64::min, f64::max)),
        "exp" => Ok(Interval::outward(libm::exp(from), libm::exp(to))),
        "ln" if from > 0.0 => Ok(Interval::outward(libm::log(from), libm::log(to))),
        "sqrt" if from >= 0.0 => Ok(Interval::outward(libm::sqrt(from), libm::sqrt(to))),
        "ln" => Err("ln of a number that can be 0 or negative".to_string()),
        _ => Err("sqrt of a number that can be negative".to_string()),
    }
}

fn finite(value: Interval) -> Result<Interval, String> {
    if value.is_finite() { Ok(value) } else { Err("is too large for a number".to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BTreeMap<String, Interval> {
        let of = |name: &str, from, to| (name.to_string(), Interval { from, to });
        BTreeMap::from([of("a", 1.0, 2.0), of("b", -1.0, 3.0), of("c_2", 4.0, 9.0), of("one", 1.0, 1.0)])
    }

    fn value(text: &str) -> Result<Interval, String> {
        evaluate(text, &known(), &mut Vec::new())
    }

    #[test]
    fn intervals_of_expressions_match_hand_calculation() {
        let e = std::f64::consts::E;
        for (text, from, to) in [
            ("a + b", 0.0, 5.0),
            ("a - b", -2.0, 3.0),
            ("a - a", -1.0, 1.0),
            ("a * b", -2.0, 6.0),
            ("-a * b", -6.0, 2.0),
            ("b / a", -1.0, 3.0),
            ("1 / c_2", 1.0 / 9.0, 0.25),
            ("2 + 3 * 4 - 6 / 3", 12.0, 12.0),
            ("(2 + 3) * (4 - 6) / 5", -2.0, -2.0),
            ("8 - 2 - 1", 5.0, 5.0),
            ("8 / 2 / 2", 2.0, 2.0),
            ("- - 3", 3.0, 3.0),
            ("min(a, b, 0.5)", -1.0, 0.5),
            ("max(a, b)", 1.0, 3.0),
            ("span(a, c_2)", 1.0, 9.0),
            ("exp(a - 1)", 1.0, e),
            ("ln(exp(a))", 1.0, 2.0),
            ("sqrt(c_2)", 2.0, 3.0),
            ("1 - exp(64 * ln(1 - 0.04))", 0.926_656_958_744, 0.926_656_958_744),
        ] {
            let found = value(text).unwrap();
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
            assert!(near(found.from, from) && near(found.to, to), "{text}: {found:?}, not {from}..{to}");
        }
    }

    #[test]
    fn intervals_of_equal_expressions_intersect() {
        let meet = |one: &str, other: &str| {
            let (one, other) = (value(one).unwrap(), value(other).unwrap());
            one.from <= other.to && other.from <= one.to
        };
        for (one, other) in [("0.1 + 0.2", "0.3"), ("3.0 * 1000 / 8", "375"), ("1 / 3 + 1 / 3 + 1 / 3", "1")] {
            assert!(meet(one, other), "{one} = {other}");
        }
        assert!(!meet("0.3", "0.30000001"));
    }

    #[test]
    fn names_in_expression_are_listed_once_in_order() {
        let mut used = Vec::new();
        evaluate("c_2 * a + c_2", &known(), &mut used).unwrap();
        assert_eq!(used, ["c_2", "a"]);
    }

    #[test]
    fn errors_in_expression_give_position_and_reason() {
        for (text, error) in [
            ("", "needs a number, a name or '(' at character 1, found the end"),
            ("a +", "needs a number, a name or '(' at character 4, found the end"),
            ("a $ b", "needs an operator or the end at character 3, found '$'"),
            ("é", "needs a number, a name or '(' at character 1, found 'é'"),
            ("(a", "needs ')' at character 3, found the end"),
            ("min(a", "needs ',' or ')' at character 6, found the end"),
            ("a b", "needs an operator or the end at character 3, found 'b'"),
            ("d", "'d' is not a printed number"),
            ("sin(a)", "'sin' is not a function"),
            ("min(a)", "min has 1 arguments, from 2 to 9 are allowed"),
            ("ln(a, a)", "ln has 2 arguments, from 1 to 1 are allowed"),
            ("1.2.3", "'1.2.3' is not a number"),
            ("a / b", "divides by a number that can be 0"),
            ("ln(b)", "ln of a number that can be 0 or negative"),
            ("sqrt(b)", "sqrt of a number that can be negative"),
            ("exp(1000)", "is too large for a number"),
            ("exp(700) * exp(700)", "is too large for a number"),
        ] {
            assert_eq!(value(text).unwrap_err(), error, "{text}");
        }
        for deep in [format!("{}a", "(".repeat(9999)), format!("{}a", "-".repeat(9999)), "exp(".repeat(9999)] {
            assert_eq!(value(&deep).unwrap_err(), "has more than 50 levels");
        }
    }
}
