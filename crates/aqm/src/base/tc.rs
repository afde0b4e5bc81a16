//! tc(8)'s way to write a discipline: `fq_codel target 5ms interval 100ms ecn`, with the kernel's names and defaults.
//!
//! Each discipline that the kernel has declares its words; they are rewritten as `preset=linux target=5ms ...` and
//! then read like any other discipline. Bare numbers mean what they mean to tc: microseconds, packets, bytes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::nearest::nearest;
use super::params::ParamError;
use super::registry::joined;

/// What follows one of tc's words, and which of our parameters it sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tail {
    /// A time; a bare number is microseconds.
    Time(&'static str),
    /// A number of milliseconds.
    Millis(&'static str),
    /// A number of packets.
    Packets(&'static str),
    /// A size in bytes, as tc writes it.
    Size(&'static str),
    /// A number as it is.
    Number(&'static str),
    /// A number of such parts of one: 16ths, or percent.
    Parts(&'static str, u32),
    /// Nothing: the word stands for this `key=value`.
    Flag(&'static str),
    /// A value that changes nothing here, and why.
    Ignored(&'static str),
    /// A word alone that changes nothing here, and why.
    Moot(&'static str),
}

/// How tc(8) writes a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tc {
    /// The kernel's defaults as `key=value`s.
    pub defaults: &'static str,
    /// Its words.
    pub words: &'static [(&'static str, Tail)],
}

impl Tc {
    /// `codel [limit PACKETS] [target TIME] [ecn]`.
    pub fn synopsis(&self, name: &str) -> String {
        let mut out = name.to_string();
        for (word, tail) in self.words {
            out.push_str(&match tail {
                Tail::Time(_) => format!(" [{word} TIME]"),
                Tail::Millis(_) => format!(" [{word} MS]"),
                Tail::Packets(_) => format!(" [{word} PACKETS]"),
                Tail::Size(_) => format!(" [{word} BYTES]"),
                Tail::Number(_) | Tail::Parts(..) => format!(" [{word} NUMBER]"),
                Tail::Flag(_) | Tail::Moot(_) => format!(" [{word}]"),
                Tail::Ignored(_) => format!(" [{word} ...]"),
            });
        }
        out
    }
}

/// tc's names for disciplines that have another one here, ours, and what tc has under its own.
const ALIASES: [(&str, &str, Tc); 3] = [
    ("pfifo", "droptail", fifo("ecn=off hard_limit=1000p", &[("limit", Tail::Packets("hard_limit"))])),
    (
        "pfifo_head_drop",
        "droptail",
        fifo("ecn=off front=on hard_limit=1000p", &[("limit", Tail::Packets("hard_limit"))]),
    ),
    ("bfifo", "droptail", fifo("ecn=off hard_limit=1514000b", &[("limit", Tail::Size("hard_limit"))])),
];

/// The least buffer in bytes: a packet that every host must take (RFC 791).
const LEAST_BUFFER: f64 = 576.0;

const fn fifo(defaults: &'static str, words: &'static [(&'static str, Tail)]) -> Tc {
    Tc { defaults, words }
}

/// Our name for tc's, and what tc has under it.
pub fn alias(name: &str) -> Option<(&'static str, Tc)> {
    ALIASES.iter().find(|(tc, ..)| *tc == name).map(|(_, ours, tc)| (*ours, *tc))
}

/// Are these the words of a tc tail rather than `key=value`s?
pub fn is_tail(words: &[&str]) -> bool {
    words.iter().any(|word| !word.contains('='))
}

/// `words`, tc's or `key=value`s, as `key=value`s with the kernel's defaults first.
pub fn translate(words: &[&str], tc: &Tc) -> Result<Vec<String>, ParamError> {
    let known = tc.words;
    let mut out: Vec<String> = tc.defaults.split_whitespace().map(|word| word.to_string()).collect();
    if !is_tail(words) {
        out.extend(words.iter().map(|word| word.to_string()));
        return Ok(out);
    }
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let names = || known.iter().map(|(name, _)| *name);
        let fail = |found: &str, accepts: String, hint| ParamError {
            key: word.to_string(),
            found: found.to_string(),
            accepts: accepts.into(),
            hint,
        };
        let Some((_, tail)) = known.iter().find(|(name, _)| *name == word) else {
            let accepts = format!("one of tc's words {}, or key=value throughout", joined(names()));
            return Err(fail(word, accepts, nearest(word, names()).map(|near| format!("did you mean {near}?"))));
        };
        match tail {
            Tail::Flag(setting) => {
                out.push(setting.to_string());
                continue;
            }
            Tail::Moot(_) => continue,
            _ => {}
        }
        let value = words.next().ok_or_else(|| fail("", format!("a value after {word}"), None))?;
        let bare = value.chars().all(|c| c.is_ascii_digit() || c == '.');
        match tail {
            Tail::Time(key) if bare => out.push(format!("{key}={value}us")),
            Tail::Millis(key) => out.push(format!("{key}={value}ms")),
            Tail::Packets(key) => out.push(format!("{key}={}p", value.strip_suffix('p').unwrap_or(value))),
            Tail::Size("hard_limit") if bare && value.parse().is_ok_and(|bytes: f64| bytes < LEAST_BUFFER) => {
                let hint = format!(
                    "tc counts it in bytes here; write hard_limit={value}p for packets, and key=value throughout"
                );
                return Err(fail(
                    value,
                    format!("at least {LEAST_BUFFER} bytes: no packet fits into less"),
                    Some(hint),
                ));
            }
            Tail::Size(key) if bare => out.push(format!("{key}={value}b")),
            Tail::Parts(key, parts) => out.push(match value.trim_end_matches('%').parse::<f64>() {
                Ok(number) => format!("{key}={}", number / f64::from(*parts)),
                Err(_) => format!("{key}={value}"),
            }),
            Tail::Time(key) | Tail::Size(key) | Tail::Number(key) => {
                out.push(format!("{key}={}", value.to_ascii_lowercase()));
            }
            Tail::Flag(_) | Tail::Moot(_) | Tail::Ignored(_) => {}
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    const TC: Tc = Tc { defaults: "preset=linux hard_limit=10240p", words: WORDS };
    const WORDS: &[(&str, Tail)] = &[
        ("limit", Tail::Packets("hard_limit")),
        ("target", Tail::Time("target")),
        ("quantum", Tail::Size("quantum")),
        ("rehash", Tail::Millis("rehash")),
        ("beta", Tail::Parts("beta", 16)),
        ("ecn", Tail::Flag("ecn=on")),
        ("split_gso", Tail::Moot("no segments here")),
        ("memory_limit", Tail::Ignored("no bytes of headers here")),
    ];

    fn of(text: &str) -> Result<String, ParamError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        translate(&words, &TC).map(|words| words.join(" "))
    }

    #[test]
    fn numbers_mean_what_they_mean_to_tc() {
        let text = "limit 1000 target 5000 quantum 1514 memory_limit 32Mb ecn";
        assert_eq!(
            of(text).unwrap(),
            "preset=linux hard_limit=10240p hard_limit=1000p target=5000us quantum=1514b ecn=on"
        );
        assert!(of("rehash 600000").unwrap().ends_with("rehash=600000ms"));
        assert!(of("split_gso beta 20").unwrap().ends_with(" beta=1.25"));
        assert!(of("beta x").unwrap().ends_with(" beta=x"), "whoever reads the parameters says what is wrong");
        let units = of("target 5ms quantum 2Kb limit 10p").unwrap();
        assert!(units.ends_with("target=5ms quantum=2kb hard_limit=10p"), "{units}");
    }

    #[test]
    fn a_synopsis_says_what_follows_each_word() {
        let line = "x [limit PACKETS] [target TIME] [quantum BYTES] [rehash MS] [beta NUMBER] [ecn] [split_gso] \
                    [memory_limit ...]";
        assert_eq!(TC.synopsis("x"), line);
    }

    #[test]
    fn wrong_words_are_named_with_the_nearest() {
        let error = of("targt 5ms").unwrap_err();
        assert_eq!((error.found.as_str(), error.hint.as_deref()), ("targt", Some("did you mean target?")));
        assert!(error.accepts.contains("memory_limit") && of("target").unwrap_err().accepts.contains("after target"));
    }

    #[test]
    fn a_tail_is_read_like_any_discipline() {
        let codel = Spec::parse("codel limit 1000 target 5000 interval 100ms ecn").unwrap();
        let same = Spec::parse("codel preset=linux hard_limit=1000p target=5ms interval=100ms ecn=on").unwrap();
        assert_eq!(codel.canonical(), same.canonical());
        let of = |text, key| Spec::parse(text).unwrap().get(key).unwrap();
        assert_eq!(
            ["pfifo limit 50", "pfifo", "bfifo limit 5000", "bfifo"].map(|text| of(text, "hard_limit")),
            ["50p", "1000p", "5000b", "1514000b"]
        );
        assert_eq!(["pfifo_head_drop limit 50", "pfifo front=on"].map(|text| of(text, "front")), ["on"; 2]);
        assert!(Spec::parse("codel target 5ms interval=100ms").is_err());
        for text in ["red limit 100", "bfifo limit 575"] {
            let error = Spec::parse(text).unwrap_err();
            assert!(error.key == "limit" && error.hint.is_some_and(|hint| hint.contains("bytes")), "{text}");
        }
        assert!(Spec::parse("red limit 60000").is_ok() && Spec::parse("pfifo limit 1").is_ok());
    }
}
