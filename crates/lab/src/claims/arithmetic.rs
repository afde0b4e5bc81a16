//! The papers' own arithmetic: relations between numbers that a paper prints, checked without a run.
//!
//! `papers/PAPER/arithmetic.toml` has the printed numbers with their places, and the relations. A printed number has
//! the interval of the values that round to its digits. A relation contradicts if no values of the intervals of its two
//! sides satisfy it. So no tolerance is chosen, except for numbers that we chose for words of the paper
//! ([`Kind::Words`]).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::interval::{self, Interval};

/// The kind of a printed number. It decides which interval of values the number stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A rounded result: stands for all values within half a unit of its last digit.
    #[default]
    Rounded,
    /// A result that the paper calls "about", "around" or "approximately": stands for all values within half a unit of
    /// its last nonzero digit.
    About,
    /// A setting of the experiment or a constant of a formula: stands for exactly this value.
    Setting,
    /// The paper has only words, and we chose the number for them: stands for all values within half a unit of its last
    /// digit.
    Words,
}

/// A number that a paper prints, with its name in the expressions of relations.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Number {
    /// Name of the number in expressions.
    pub name: String,
    /// Digits as printed.
    pub value: String,
    /// Unit; empty if it has none.
    pub unit: String,
    /// Place of the number in the paper.
    pub at: String,
    /// Kind of the number.
    pub kind: Kind,
    /// Interval of the values that the number stands for.
    pub interval: Interval,
}

/// The comparison that a relation states between its two sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// The sides are equal.
    Equals,
    /// The side `this` is at most the other side.
    AtMost,
    /// The side `this` is at least the other side.
    AtLeast,
}

/// One side of a relation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Side {
    /// The expression, as written in the file.
    pub expression: String,
    /// Interval of the values of the expression.
    pub interval: Interval,
}

/// Whether numbers that round to the printed ones can satisfy a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// Some values that round to the printed numbers satisfy the relation.
    Agrees,
    /// No values that round to the printed numbers satisfy the relation.
    Contradicts,
}

/// A relation between printed numbers, with the outcome of its check.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Relation {
    /// Id of the relation, which never changes.
    pub id: String,
    /// The relation in words.
    pub what: String,
    /// The law from which the relation follows.
    pub law: String,
    /// Ids of the claims that the relation concerns.
    pub claims: Vec<String>,
    /// Unit of both sides; empty if they have none.
    pub unit: String,
    /// The left side of the comparison: key `this`.
    pub this: Side,
    /// How the left side compares with the right side: equal, at most or at least.
    pub comparison: Comparison,
    /// The right side of the comparison: key `equals`, `at_most` or `at_least`.
    pub other: Side,
    /// The printed numbers that the two sides use, in the order of first use.
    pub numbers: Vec<Number>,
    /// Whether the printed numbers can satisfy the relation.
    pub agreement: Agreement,
    /// Distance between the two nearest bounds of the intervals, divided by the larger of the absolute values of these
    /// bounds; 0 if the relation agrees.
    pub apart: f64,
}

/// An error in an `arithmetic.toml`, the file of printed numbers and relations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Path of the file.
    pub file: String,
    /// The key with the error; empty if the file as a whole cannot be read.
    pub key: String,
    /// What is wrong, in words.
    pub found: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, key, found } = self;
        if key.is_empty() { write!(f, "{file}: {found}") } else { write!(f, "{file}: {key}: {found}") }
    }
}

impl std::error::Error for Fault {}

/// A printed number as `arithmetic.toml` has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredNumber {
    value: String,
    #[serde(default)]
    unit: String,
    at: String,
    #[serde(default)]
    kind: Kind,
}

/// A relation as `arithmetic.toml` has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredRelation {
    id: String,
    what: String,
    law: String,
    #[serde(default)]
    claims: Vec<String>,
    #[serde(default)]
    unit: String,
    this: String,
    equals: Option<String>,
    at_most: Option<String>,
    at_least: Option<String>,
}

/// `arithmetic.toml` of a paper.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    paper: String,
    printed: BTreeMap<String, DeclaredNumber>,
    #[serde(rename = "relation")]
    relations: Vec<DeclaredRelation>,
}

/// Reads an `arithmetic.toml` and checks its relations, in the order of the file. An error has the file, the key and
/// what was found there.
pub fn check(text: &str) -> Result<Vec<Relation>, Fault> {
    let fault = |file: &str, key: &str, found: String| Fault { file: file.to_string(), key: key.to_string(), found };
    let read: File = toml::from_str(text).map_err(|error| fault("arithmetic.toml", "", error.to_string()))?;
    let name = format!("papers/{}/arithmetic.toml", read.paper);
    if read.version != 1 {
        return Err(fault(&name, "version", format!("{} is not 1", read.version)));
    }
    let mut numbers = Vec::new();
    for (key, declared) in read.printed {
        let at = format!("printed.{key}");
        numbers.push(number(key, declared).map_err(|found| fault(&name, &at, found))?);
    }
    let known = numbers.iter().map(|number| (number.name.clone(), number.interval)).collect();
    let mut relations: Vec<Relation> = Vec::new();
    for declared in read.relations {
        let id = declared.id.clone();
        if relations.iter().any(|earlier| earlier.id == id) {
            return Err(fault(&name, &format!("relation {id}"), "there are two of this id".to_string()));
        }
        let checked = relation(declared, &known, &numbers);
        relations.push(checked.map_err(|(key, found)| fault(&name, &format!("relation {id}: {key}"), found))?);
    }
    let is_used = |name: &str| relations.iter().any(|relation| relation.numbers.iter().any(|used| used.name == name));
    if let Some(idle) = numbers.iter().find(|number| !is_used(&number.name)) {
        return Err(fault(&name, &format!("printed.{}", idle.name), "no relation uses it".to_string()));
    }
    if relations.is_empty() { Err(fault(&name, "relation", "there is none".to_string())) } else { Ok(relations) }
}

/// Checks a printed number of the file and computes its interval.
fn number(name: String, declared: DeclaredNumber) -> Result<Number, String> {
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_name {
        return Err("a name has small letters, digits and '_', and begins with a letter".to_string());
    }
    if interval::is_function(&name) {
        return Err("this is the name of a function".to_string());
    }
    if declared.at.trim().is_empty() {
        return Err("at is empty".to_string());
    }
    let interval = printed(&declared.value, declared.kind)?;
    let DeclaredNumber { value, unit, at, kind } = declared;
    Ok(Number { name, value, unit, at, kind, interval })
}

/// The interval of the values for which a printed number stands. `value` is its digits, with an optional sign, point,
/// and commas between thousands.
fn printed(value: &str, kind: Kind) -> Result<Interval, String> {
    let digits = value.replace(',', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let unsigned = whole.strip_prefix('-').unwrap_or(whole);
    let is_run = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let read = digits.parse::<f64>().ok().filter(|x| x.is_finite());
    let (Some(x), true, true) = (read, is_run(unsigned), fraction.is_empty() != digits.contains('.')) else {
        return Err(format!("'{value}' is not a printed number"));
    };
    let significant = if kind == Kind::About { fraction.trim_end_matches('0') } else { fraction };
    let zeros = whole.len() - whole.trim_end_matches('0').len();
    let exponent = match kind {
        Kind::About if significant.is_empty() && x != 0.0 => zeros as i64,
        _ => -(significant.len() as i64),
    };
    let half: f64 = format!("0.5e{exponent}").parse().map_err(|_| format!("'{value}' has too many digits"))?;
    Ok(if kind == Kind::Setting { Interval::exact(x) } else { Interval::outward(x - half, x + half) })
}

/// Computes the outcome of a relation. An error has the key and what was found there.
fn relation(
    declared: DeclaredRelation,
    known: &BTreeMap<String, Interval>,
    numbers: &[Number],
) -> Result<Relation, (&'static str, String)> {
    let texts = [("id", &declared.id), ("what", &declared.what), ("law", &declared.law)];
    if let Some((key, _)) = texts.into_iter().find(|(_, text)| text.trim().is_empty()) {
        return Err((key, "is empty".to_string()));
    }
    let DeclaredRelation { id, what, law, claims, unit, this, equals, at_most, at_least } = declared;
    let (key, comparison, other) = match (equals, at_most, at_least) {
        (Some(other), None, None) => ("equals", Comparison::Equals, other),
        (None, Some(other), None) => ("at_most", Comparison::AtMost, other),
        (None, None, Some(other)) => ("at_least", Comparison::AtLeast, other),
        _ => return Err(("this", "needs exactly one of equals, at_most and at_least".to_string())),
    };
    let mut used = Vec::new();
    let mut side = |key: &'static str, expression: String| match interval::evaluate(&expression, known, &mut used) {
        Ok(interval) => Ok(Side { expression, interval }),
        Err(found) => Err((key, format!("'{expression}' {found}"))),
    };
    let (this, other) = (side("this", this)?, side(key, other)?);
    let apart = apart(this.interval, comparison, other.interval);
    let agreement = if apart == 0.0 { Agreement::Agrees } else { Agreement::Contradicts };
    let numbers = used.iter().filter_map(|name| numbers.iter().find(|number| number.name == *name)).cloned().collect();
    Ok(Relation { id, what, law, claims, unit, this, comparison, other, numbers, agreement, apart })
}

/// Distance between the two nearest bounds of the intervals, divided by the larger of the absolute values of these
/// bounds; 0 if some values satisfy the comparison.
fn apart(this: Interval, comparison: Comparison, other: Interval) -> f64 {
    let below = if this.to < other.from { Some((this.to, other.from)) } else { None };
    let above = if this.from > other.to { Some((other.to, this.from)) } else { None };
    let gap = match comparison {
        Comparison::Equals => below.or(above),
        Comparison::AtMost => above,
        Comparison::AtLeast => below,
    };
    gap.map_or(0.0, |(low, high)| (high - low) / low.abs().max(high.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        version = 1
        paper = "p"
        [printed]
        rate = { value = "209.465", unit = "KB/s", at = "Table III" }
        delay = { value = "0.184", unit = "s", at = "Table III" }
        queue = { value = "60", unit = "KB", at = "section V, 'about 60KBytes'", kind = "about" }
        [[relation]]
        id = "P-A1"
        what = "the queue is the rate times the delay"
        law = "Little's law"
        claims = ["P-1"]
        unit = "KB"
        this = "rate * delay"
        equals = "queue"
    "#;

    fn found(text: &str) -> String {
        check(text).unwrap_err().to_string()
    }

    /// A printed number stands for an interval of values. The kind says how the paper gives the number: rounded, with
    /// "about", in words, or as a setting, which is exact.
    #[test]
    fn digits_and_kind_of_number_give_its_interval() {
        for (value, kind, from, to) in [
            ("0.184", Kind::Rounded, 0.1835, 0.1845),
            ("40.0", Kind::Rounded, 39.95, 40.05),
            ("40", Kind::Rounded, 39.5, 40.5),
            ("-0.5", Kind::Rounded, -0.55, -0.45),
            ("60", Kind::About, 55.0, 65.0),
            ("74,800,000", Kind::About, 74_750_000.0, 74_850_000.0),
            ("74,800,000", Kind::Rounded, 74_799_999.5, 74_800_000.5),
            ("350", Kind::About, 345.0, 355.0),
            ("2.50", Kind::About, 2.45, 2.55),
            ("10.0", Kind::About, 5.0, 15.0),
            ("0", Kind::About, -0.5, 0.5),
            ("2", Kind::Words, 1.5, 2.5),
            ("3.0", Kind::Setting, 3.0, 3.0),
        ] {
            let Interval { from: low, to: high } = printed(value, kind).unwrap();
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
            assert!(near(low, from) && near(high, to), "{value} as {kind:?}: {low}..{high}");
        }
        for wrong in ["", "-", "1.", ".5", "1.2.3", "1e5", "+3", "inf", "nan", "3 s", "１"] {
            assert!(printed(wrong, Kind::Rounded).is_err(), "'{wrong}' was read");
        }
        assert!(printed(&"9".repeat(400), Kind::Rounded).is_err());
        assert!(printed(&format!("0.{}", "0".repeat(400)), Kind::Rounded).is_ok());
    }

    #[test]
    fn contradiction_has_intervals_of_both_sides_and_distance() {
        let [relation] = &check(TEXT).unwrap()[..] else { panic!("one relation") };
        assert_eq!((relation.agreement, relation.comparison), (Agreement::Contradicts, Comparison::Equals));
        let Interval { from, to } = relation.this.interval;
        assert!((from - 38.4367).abs() < 1e-4 && (to - 38.6464).abs() < 1e-4, "{from}..{to}");
        assert!((relation.apart - (55.0 - to) / 55.0).abs() < 1e-12);
        let names: Vec<&str> = relation.numbers.iter().map(|number| number.name.as_str()).collect();
        assert_eq!(names, ["rate", "delay", "queue"]);
    }

    #[test]
    fn relation_agrees_within_rounding_and_contradicts_beyond() {
        for (queue, agreement) in [
            ("38.5", Agreement::Agrees),
            ("38.6", Agreement::Agrees),
            ("38.7", Agreement::Contradicts),
            ("38.3", Agreement::Contradicts),
        ] {
            let text = TEXT.replace("\"60\"", &format!("\"{queue}\"")).replace("\"about\"", "\"rounded\"");
            assert_eq!(check(&text).unwrap()[0].agreement, agreement, "{queue}");
        }
    }

    #[test]
    fn inequality_is_contradicted_in_one_direction_only() {
        for (comparison, with_40, with_30) in [("at_most", 0.0, 0.21), ("at_least", 0.02, 0.0)] {
            for (value, apart) in [("40", with_40), ("30", with_30)] {
                let text = TEXT.replace("equals", comparison).replace("\"60\"", &format!("\"{value}\""));
                let text = text.replace("\"about\"", "\"rounded\"");
                let found = check(&text).unwrap()[0].apart;
                assert!((found - apart).abs() < 0.01, "{comparison} {value}: {found}");
            }
        }
    }

    #[test]
    fn relation_survives_json_round_trip() {
        let relations = check(TEXT).unwrap();
        let text = serde_json::to_string(&relations).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Relation>>(&text).unwrap(), relations);
        assert!(text.contains("\"agreement\":\"contradicts\"") && text.contains("\"kind\":\"about\""), "{text}");
    }

    #[test]
    fn errors_have_file_key_and_value_found() {
        let file = "papers/p/arithmetic.toml";
        for (from, to, error) in [
            ("version = 1", "version = 2", format!("{file}: version: 2 is not 1")),
            ("\"0.184\"", "\"short\"", format!("{file}: printed.delay: 'short' is not a printed number")),
            ("\"Table III\"", "\" \"", format!("{file}: printed.delay: at is empty")),
            ("delay =", "ln =", format!("{file}: printed.ln: this is the name of a function")),
            (
                "delay =",
                "Delay =",
                format!("{file}: printed.Delay: a name has small letters, digits and '_', and begins with a letter"),
            ),
            ("* delay", "* 2", format!("{file}: printed.delay: no relation uses it")),
            (
                "rate * delay",
                "rate * wait",
                format!("{file}: relation P-A1: this: 'rate * wait' 'wait' is not a printed number"),
            ),
            ("\"Little's law\"", "\"\"", format!("{file}: relation P-A1: law: is empty")),
            (
                "equals =",
                "at_most = \"1\"\nequals =",
                format!("{file}: relation P-A1: this: needs exactly one of equals, at_most and at_least"),
            ),
        ] {
            assert_eq!(found(&TEXT.replacen(from, to, 9)), error);
        }
        let twice = format!("{TEXT}{}", &TEXT[TEXT.find("[[relation]]").unwrap()..]);
        assert_eq!(found(&twice), format!("{file}: relation P-A1: there are two of this id"));
    }

    #[test]
    fn unknown_keys_in_arithmetic_toml_are_refused() {
        for (from, to) in [("unit = \"KB\"\n", "units = \"KB\"\n"), ("at =", "place ="), ("version = 1", "v = 1")] {
            let error = found(&TEXT.replacen(from, to, 1));
            assert!(error.starts_with("arithmetic.toml: TOML parse error at line"), "{error}");
            assert!(error.contains("unknown field") || error.contains("missing field"), "{error}");
        }
    }

    /// A printed number stands for an interval of values, such as 2.5 to 3.5 for 3.
    #[test]
    fn printed_numbers_agree_if_their_intervals_touch() {
        let of = |from, to| Interval { from, to };
        assert_eq!(apart(of(1.0, 2.0), Comparison::Equals, of(2.0, 3.0)), 0.0);
        assert!(apart(of(1.0, 2.0), Comparison::Equals, of(2.1, 3.0)) > 0.0);
    }
}
