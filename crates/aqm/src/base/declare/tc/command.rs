//! Whole commands of tc(8), as scripts have them, and lines of `tc qdisc show`:
//! `tc qdisc add dev eth0 root handle 1: fq_codel limit 1000`, `qdisc fq_codel 8001: root refcnt 2 limit 10240p`.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Typed;
use crate::base::nearest::nearest;
use crate::base::params::ParamError;
use crate::base::text::joined;

/// Commands that set a qdisc.
const VERBS: [&str; 4] = ["add", "change", "replace", "link"];

/// Words before the name of the qdisc: name, and whether a value follows.
const PLACES: [(&str, bool); 9] = [
    ("dev", true),
    ("handle", true),
    ("parent", true),
    ("refcnt", true),
    ("ingress_block", true),
    ("egress_block", true),
    ("root", false),
    ("deleted", false),
    ("offloaded", false),
];

/// The qdisc's name and its arguments in a whole command or an output line of tc. Other `words` are returned as they
/// are.
///
/// # Errors
/// It is a command of tc that sets no qdisc.
pub(in crate::base) fn qdisc(words: Vec<&str>) -> Result<Vec<&str>, ParamError> {
    let start = usize::from(words.first() == Some(&"sudo"));
    match words.get(start) {
        Some(program) if program.rsplit('/').next() == Some("tc") => Ok(of_command(&words[start + 1..])?.to_vec()),
        Some(&"qdisc") if words.get(start + 2).is_some_and(|handle| handle.ends_with(':')) => {
            let kind = words[start + 1];
            let tail = after_places(&words[start + 3..])?;
            Ok(core::iter::once(kind).chain(tail.iter().map(|word| as_read(word))).collect())
        }
        _ => Ok(words),
    }
}

/// The place of the qdisc in a whole command of tc or in a line of `tc qdisc show`: `dev eth0 parent 1:10 handle 110:`.
/// If no device is named it is `dev DEV`, and if `text` is neither, `dev DEV root`.
pub fn place(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_whole = qdisc(words.clone()).is_ok_and(|rest| rest.len() < words.len());
    let (mut place, mut rest) = (Vec::new(), if is_whole { words.iter() } else { [].iter() });
    while let Some(word) = rest.next() {
        match *word {
            "dev" | "parent" | "handle" => place.extend([*word, rest.next().copied().unwrap_or_default()]),
            "root" => place.push(word),
            _ => {}
        }
    }
    if !place.contains(&"dev") {
        place.splice(0..0, ["dev", "DEV"]);
    }
    if !place.contains(&"root") && !place.contains(&"parent") {
        place.insert(2, "root");
    }
    place.join(" ")
}

/// The arguments of the qdisc in a whole command of tc, in a line of `tc qdisc show`, or in `NAME ARGUMENTS`.
pub fn arguments(text: &str) -> Vec<&str> {
    qdisc(text.split_whitespace().collect()).unwrap_or_default().into_iter().skip(1).collect()
}

/// From the words of a tc command, without `tc` itself: the name of the qdisc and its arguments.
fn of_command<'a, 'b>(words: &'b [&'a str]) -> Result<&'b [&'a str], ParamError> {
    let options = words.iter().take_while(|word| word.starts_with('-')).count();
    let wrong = |found: &str, accepts: Cow<'static, str>, hint| ParamError {
        found: found.to_string(),
        ..Typed::new("tc", "").wrong(accepts, hint)
    };
    let mut rest = words[options..].iter();
    let object = rest.next().copied().unwrap_or_default();
    // As tc does: any abbreviation.
    if object.is_empty() || !"qdisc".starts_with(object) {
        return Err(wrong(object, "qdisc: a command of tc that sets a qdisc".into(), None));
    }
    let verb = rest.next().copied().unwrap_or_default();
    let is_verb = |known: &&str| !verb.is_empty() && known.starts_with(verb);
    if !VERBS.iter().any(is_verb) {
        let hint = nearest(verb, VERBS.iter().copied()).map(|near| format!("did you mean {near}?"));
        return Err(wrong(verb, format!("one of {}: it sets a qdisc", joined(VERBS.into_iter())).into(), hint));
    }
    let qdisc = after_places(rest.as_slice())?;
    if qdisc.is_empty() { Err(wrong("", "the name of a qdisc at the end".into(), None)) } else { Ok(qdisc) }
}

/// The words after those that say where the qdisc is.
fn after_places<'a, 'b>(mut words: &'b [&'a str]) -> Result<&'b [&'a str], ParamError> {
    while let [word, rest @ ..] = words {
        let Some((_, has_value)) = PLACES.iter().find(|(place, _)| place == word) else { break };
        words = match (has_value, rest) {
            (false, _) => rest,
            (true, [_, rest @ ..]) => rest,
            (true, []) => {
                let accepts = format!("a value after {word}");
                return Err(ParamError { found: String::new(), ..Typed::new(word, "").wrong(accepts, None) });
            }
        };
    }
    Ok(words)
}

/// A word of `tc qdisc show` in the form that tc accepts as an argument. It prints a number of packets as `1000p` and of
/// bytes as `1514b`; some arguments accept only the number.
fn as_read(word: &str) -> &str {
    let number = word.strip_suffix(['p', 'b']).unwrap_or(word);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { number } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    fn of(text: &str) -> String {
        Spec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).canonical()
    }

    #[test]
    fn commands_of_scripts_equal_their_arguments() {
        for (command, tail) in [
            ("tc qdisc add dev eth0 root fq_codel limit 1000", "fq_codel limit 1000"),
            ("tc qdisc add dev eth0 root handle 1: fq_codel limit 1000", "fq_codel limit 1000"),
            (
                "sudo /sbin/tc -s qdisc replace dev ifb4eth0 root cake bandwidth 20mbit besteffort ingress",
                "cake bandwidth 20mbit besteffort ingress",
            ),
            ("tc q r dev eth0 parent 1:10 handle 10: pie target 20ms", "pie target 20ms"),
            ("tc qdisc change dev wan root handle 1: codel target 5ms ecn", "codel target 5ms ecn"),
        ] {
            assert_eq!(of(command), of(tail), "{command}");
        }
    }

    #[test]
    fn lines_of_tc_show_equal_their_arguments() {
        for (line, tail) in [
            (
                "qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms \
                 memory_limit 32Mb ecn drop_batch 64",
                "fq_codel limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms ecn",
            ),
            (
                "qdisc codel 8002: root refcnt 2 limit 1000p target 5ms interval 100ms",
                "codel limit 1000 target 5ms interval 100ms",
            ),
            (
                "qdisc pie 8003: dev eth0 root refcnt 2 limit 1000p target 15ms tupdate 16ms alpha 2 beta 20",
                "pie target 15ms tupdate 16ms",
            ),
            (
                "qdisc fq_pie 1: root limit 10240p flows 1024 target 15ms tupdate 16ms alpha 2 beta 20 quantum 1514b memory_limit 32Mb ecn_prob 10",
                "fq_pie quantum 1514 target 15ms tupdate 16ms",
            ),
            ("qdisc bfifo 1: root refcnt 2 limit 60000b", "bfifo limit 60000"),
        ] {
            assert_eq!(of(line), of(tail), "{line}");
        }
    }

    #[test]
    fn command_without_arguments_has_the_defaults_of_tc() {
        for kind in ["pie", "codel", "fq_codel", "fq_pie", "cake", "pfifo"] {
            for command in ["tc qdisc add dev eth0 root", "qdisc"] {
                let command =
                    if command == "qdisc" { format!("qdisc {kind} 1: root") } else { format!("{command} {kind}") };
                let tail = if kind == "pfifo" { kind.to_string() } else { format!("{kind} preset=linux") };
                assert_eq!(of(&command), of(&tail), "{command}");
            }
        }
        assert_ne!(of("pie"), of("pie preset=linux"), "without a command it has Forebay's defaults");
    }

    #[test]
    fn place_of_the_qdisc_is_kept() {
        for (text, want) in [
            ("tc qdisc add dev eth0 parent 1:10 handle 110: fq_codel", "dev eth0 parent 1:10 handle 110:"),
            ("sudo tc q r root dev wan cake", "root dev wan"),
            ("qdisc pie 8003: dev eth0 root refcnt 2 limit 1000p", "dev eth0 root"),
            ("qdisc pie 8003: root refcnt 2", "dev DEV root"),
            ("fq_codel limit 10", "dev DEV root"),
            ("tc qdisc add fq_codel", "dev DEV root"),
        ] {
            assert_eq!(place(text), want, "{text}");
        }
    }

    #[test]
    fn commands_that_set_no_qdisc_are_refused() {
        let said = |text: &str| Spec::parse(text).unwrap_err().to_string();
        for (text, start) in [
            ("tc class add dev eth0 parent 1: codel", "tc: found 'class', expected qdisc"),
            ("tc qdisc del dev eth0 root", "tc: found 'del', expected one of add, change"),
            ("tc qdisc add dev eth0 root", "tc: found '', expected the name of a qdisc"),
            ("tc", "tc: found '', expected qdisc"),
            ("tc qdisc add dev", "dev: found '', expected a value after dev"),
            ("tc qdisc add dev eth0 root fq_codl limit 5", "discipline: found 'fq_codl'"),
            ("tc qdisc add dev eth0 root htb default 10", "discipline: found 'htb'"),
        ] {
            assert!(said(text).starts_with(start), "{text}: {}", said(text));
        }
    }
}
