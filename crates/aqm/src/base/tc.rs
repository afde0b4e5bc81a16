//! tc(8)'s way to write a discipline: `fq_codel target 5ms interval 100ms ecn`, with the kernel's names and defaults.
//!
//! Each discipline that the kernel has declares its words; they are rewritten as `preset=linux target=5ms ...` and
//! then read like any other discipline. Bare numbers mean what they mean to tc: microseconds, packets, bytes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::nearest::nearest;
use super::params::ParamError;
use super::text;
use super::text::joined;

/// What follows one of tc's words, and which of our parameters it sets.
#[derive(Clone, Copy, Debug)]
pub enum Tail {
    /// A time; a bare number is microseconds.
    Time(&'static str),
    /// A number of milliseconds.
    Millis(&'static str),
    /// A number of packets.
    Packets(&'static str),
    /// A size in bytes, as tc writes it.
    Size(&'static str),
    /// A size that the kernel raises to so many bytes.
    Raised(&'static str, u64),
    /// A number as it is.
    Number(&'static str),
    /// A whole number of such parts of one, 16ths or percent, up to so many.
    Parts(&'static str, u32, u32),
    /// A value that is read when all words are known: what it is, and what comes out of them.
    Late(&'static str, fn(&[Typed]) -> Result<Vec<Setting>, ParamError>),
    /// Nothing: the word stands for this `key=value`.
    Flag(&'static str),
    /// A value that changes nothing here, and why.
    Ignored(&'static str),
    /// A word alone that changes nothing here, and why.
    Moot(&'static str),
    /// A word that asks for what is not to be had here, and why.
    Refused(&'static str),
}

/// A word of tc and the value after it, as they were written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Typed {
    /// The word.
    pub word: String,
    /// What follows it.
    pub value: String,
}

impl Typed {
    /// `word` where it was written last.
    pub fn find<'a>(all: &'a [Self], word: &str) -> Option<&'a Self> {
        all.iter().rev().find(|typed| typed.word == word)
    }

    /// The `key=value` that comes of it.
    pub fn sets(&self, text: impl Into<String>) -> Setting {
        Setting { text: text.into(), typed: Some(self.clone()) }
    }

    /// It is wrong.
    pub fn wrong(&self, accepts: impl Into<String>, hint: Option<String>) -> ParamError {
        ParamError { key: self.word.clone(), found: self.value.clone(), accepts: accepts.into().into(), hint }
    }

    /// Its value as a `key=value`, where `tail` says more than that key's type does.
    fn read(&self, tail: &Tail) -> Result<Option<String>, ParamError> {
        let value = self.value.as_str();
        let wrong = |accepts: &str| self.wrong(accepts, None);
        let bare = !value.is_empty() && value.chars().all(|c| c.is_ascii_digit() || c == '.');
        let lower = value.to_ascii_lowercase();
        Ok(Some(match tail {
            Tail::Time(key) => format!("{key}={}", micros(value)),
            Tail::Millis(key) if bare => format!("{key}={value}ms"),
            Tail::Millis(_) => return Err(wrong("a number of milliseconds, without a unit")),
            Tail::Packets(key) => match value.strip_suffix('p').unwrap_or(value).parse::<u32>() {
                Ok(packets) => format!("{key}={packets}p"),
                Err(_) => return Err(wrong("a number of packets")),
            },
            Tail::Size(_) if lower.ends_with('p') => return Err(wrong("a size in bytes such as 1500 or 160kb")),
            Tail::Size("hard_limit") if bare && value.parse().is_ok_and(|bytes: f64| bytes < LEAST_BUFFER) => {
                let hint =
                    format!("tc counts it in bytes; for packets write hard_limit={value}p, and key=value throughout");
                return Err(self.wrong(format!("at least {LEAST_BUFFER} bytes: no packet fits into less"), Some(hint)));
            }
            Tail::Size(key) if bare => format!("{key}={value}b"),
            Tail::Size(key) => format!("{key}={lower}"),
            Tail::Raised(key, least) => match text::bytes(&lower) {
                Ok(bytes) => format!("{key}={}b", bytes.0.max(*least)),
                Err(bad) => return Err(self.wrong(bad.accepts, bad.hint)),
            },
            Tail::Number(key) => format!("{key}={lower}"),
            Tail::Parts(key, parts, most) => {
                let number = if *parts == 100 { value.strip_suffix('%').unwrap_or(value) } else { value };
                match number.parse::<u32>() {
                    Ok(number) if number <= *most => format!("{key}={}", f64::from(number) / f64::from(*parts)),
                    _ => return Err(wrong(&format!("a whole number from 0 to {most}"))),
                }
            }
            Tail::Flag(_) | Tail::Moot(_) | Tail::Ignored(_) | Tail::Refused(_) | Tail::Late(..) => return Ok(None),
        }))
    }
}

/// `value` as a time, of which tc reads a bare number as microseconds.
pub fn micros(value: &str) -> String {
    let bare = value.chars().all(|c| c.is_ascii_digit() || c == '.');
    format!("{value}{}", if bare { "us" } else { "" })
}

/// A `key=value`, and the words of tc that it comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// `key=value`.
    pub text: String,
    typed: Option<Typed>,
}

impl Setting {
    /// One that was written as it is.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), typed: None }
    }

    /// `error` about it, in the words that it was written in.
    pub fn blame(&self, error: ParamError) -> ParamError {
        match &self.typed {
            Some(typed) => ParamError { key: typed.word.clone(), found: typed.value.clone(), ..error },
            None => error,
        }
    }
}

/// How tc(8) writes a discipline.
#[derive(Clone, Copy, Debug)]
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
                Tail::Size(_) | Tail::Raised(..) => format!(" [{word} BYTES]"),
                Tail::Number(_) | Tail::Parts(..) => format!(" [{word} NUMBER]"),
                Tail::Late(what, _) => format!(" [{word} {what}]"),
                Tail::Flag(_) | Tail::Moot(_) => format!(" [{word}]"),
                Tail::Ignored(_) => format!(" [{word} ...]"),
                Tail::Refused(_) => String::new(),
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

/// What to know about tc's words for the discipline `name`: what is not tc's, and under which other names it has them.
pub fn notes(name: &str, tc: &Tc) -> Vec<String> {
    let bare = format!("{name} alone is not tc's: write {name} {}, or one of its words", tc.defaults);
    let others = aliases().filter(|(_, ours, _)| *ours == name);
    let other = |(alias, _, tc): (&str, &str, Tc)| format!("{}: {name} {}", tc.synopsis(alias), tc.defaults);
    core::iter::once(bare).chain(others.map(other)).collect()
}

/// tc's names that have another one here: tc's, ours, and what tc has under it.
pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str, Tc)> {
    ALIASES.into_iter()
}

/// Our name for tc's, and what tc has under it.
pub fn alias(name: &str) -> Option<(&'static str, Tc)> {
    aliases().find(|(tc, ..)| *tc == name).map(|(_, ours, tc)| (ours, tc))
}

/// Our name for what tc has under `name` with these words after it: RED that adapts is a discipline of its own here.
pub fn meant<'a>(name: &'a str, words: &[&str]) -> &'a str {
    let adapts = words.iter().any(|word| matches!(*word, "adaptive" | "adaptative"));
    if name == "red" && adapts { "ared" } else { name }
}

/// Are these the words of a tc tail rather than `key=value`s?
pub fn is_tail(words: &[&str]) -> bool {
    words.iter().any(|word| !word.contains('='))
}

/// `words`, tc's or `key=value`s, as `key=value`s with the kernel's defaults first.
pub fn translate(words: &[&str], tc: &Tc) -> Result<Vec<Setting>, ParamError> {
    let mut out: Vec<Setting> = tc.defaults.split_whitespace().map(Setting::new).collect();
    if !is_tail(words) {
        out.extend(words.iter().map(|word| Setting::new(*word)));
        return Ok(out);
    }
    let (mut words, mut all, mut late) = (words.iter(), Vec::new(), Vec::new());
    while let Some(&word) = words.next() {
        let (_, tail) = tc.words.iter().find(|(name, _)| *name == word).ok_or_else(|| stranger(word, tc))?;
        match tail {
            Tail::Flag(setting) => out.push(Setting::new(*setting)),
            Tail::Moot(_) => {}
            Tail::Refused(why) => {
                let typed = Typed { word: word.to_string(), value: word.to_string() };
                return Err(typed.wrong(format!("tc's line without it: {why}"), None));
            }
            _ => {
                let value = words.next().copied().unwrap_or_default().to_string();
                let typed = Typed { word: word.to_string(), value };
                if typed.value.is_empty() {
                    return Err(typed.wrong(format!("a value after {word}"), None));
                }
                let text = typed.read(tail)?;
                out.extend(text.map(|text| typed.sets(text)));
                if let Tail::Late(_, combine) = tail {
                    late.push(*combine);
                }
                all.push(typed);
            }
        }
    }
    for combine in late {
        out.extend(combine(&all)?);
    }
    Ok(out)
}

/// The error for a word that tc does not have there.
fn stranger(word: &str, tc: &Tc) -> ParamError {
    let names = || tc.words.iter().map(|(name, _)| *name);
    if let Some((key, _)) = word.split_once('=') {
        let typed = Typed { word: if key.is_empty() { word } else { key }.to_string(), value: word.to_string() };
        return typed.wrong("tc's words throughout or key=value throughout, not both", None);
    }
    let accepts = format!("one of tc's words {}, or key=value throughout", joined(names()));
    let typed = Typed { word: word.to_string(), value: word.to_string() };
    typed.wrong(accepts, nearest(word, names()).map(|near| format!("did you mean {near}?")))
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
        ("beta", Tail::Parts("beta", 16, 32)),
        ("least", Tail::Raised("quantum", 256)),
        ("twice", Tail::Late("TIME", twice)),
        ("ecn", Tail::Flag("ecn=on")),
        ("split_gso", Tail::Moot("no segments here")),
        ("memory_limit", Tail::Ignored("no bytes of headers here")),
        ("any_ect", Tail::Refused("nobody asks here")),
    ];

    fn twice(all: &[Typed]) -> Result<Vec<Setting>, ParamError> {
        let found = ["twice", "beta"].into_iter().filter_map(|word| Typed::find(all, word));
        Ok(found.map(|typed| typed.sets(format!("{}={}", typed.word, micros(&typed.value)))).collect())
    }

    fn of(text: &str) -> Result<String, ParamError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let settings = translate(&words, &TC)?;
        Ok(settings.iter().map(|setting| setting.text.as_str()).collect::<Vec<_>>().join(" "))
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
        assert!(of("least 64").unwrap().ends_with(" quantum=256b"));
        assert!(of("least 1Kb").unwrap().ends_with(" quantum=1024b"));
        assert!(of("twice 7 beta 16").unwrap().ends_with(" beta=1 twice=7us beta=16us"), "whatever the order");
        let units = of("target 5ms quantum 2Kb limit 10p").unwrap();
        assert!(units.ends_with("target=5ms quantum=2kb hard_limit=10p"), "{units}");
    }

    #[test]
    fn a_synopsis_says_what_follows_each_word() {
        let line = "x [limit PACKETS] [target TIME] [quantum BYTES] [rehash MS] [beta NUMBER] \
                    [least BYTES] [twice TIME] [ecn] [split_gso] \
                    [memory_limit ...]";
        assert_eq!(TC.synopsis("x"), line);
    }

    #[test]
    fn notes_tell_a_bare_name_from_tcs_and_list_its_other_names() {
        let bare = "x alone is not tc's: write x preset=linux hard_limit=10240p, or one of its words";
        assert_eq!(notes("x", &TC), [bare]);
        let droptail = notes("droptail", &alias("pfifo").unwrap().1);
        assert_eq!(droptail[1], "pfifo [limit PACKETS]: droptail ecn=off hard_limit=1000p");
        assert!(droptail[2].starts_with("pfifo_head_drop [") && droptail[3].starts_with("bfifo [limit BYTES]: "));
    }

    #[test]
    fn wrong_words_are_named_with_the_nearest() {
        let error = of("targt 5ms").unwrap_err();
        assert_eq!((error.found.as_str(), error.hint.as_deref()), ("targt", Some("did you mean target?")));
        assert!(error.accepts.contains("memory_limit") && of("target").unwrap_err().accepts.contains("after target"));
    }

    #[test]
    fn an_error_shows_the_word_and_the_value_as_they_were_written() {
        let said = |text: &str| Spec::parse(text).unwrap_err().to_string();
        let lines = [
            ("sfb rehash 60s", "rehash: found '60s', expected a number of milliseconds, without a unit"),
            ("fq_codel limit 10b", "limit: found '10b', expected a number of packets"),
            ("fq_codel target 5parsec", "target: found '5parsec', expected a time"),
            ("fq_codel flows 0", "flows: found '0', expected a whole number, from 1"),
            ("fq_pie ecn_prob 200", "ecn_prob: found '200', expected a whole number from 0 to 99"),
            ("dualpi2 coupling_factor 0", "coupling_factor: found '0', expected a number, from 0.1"),
            ("pie alpha -1", "alpha: found '-1', expected a whole number from 0 to 32"),
            ("pie alpha 33", "alpha: found '33', expected a whole number from 0 to 32"),
            ("pie beta 2.5", "beta: found '2.5', expected a whole number from 0 to 32"),
            ("red limit 100p", "limit: found '100p', expected a size in bytes"),
            ("codel ecn=on target 5ms", "ecn: found 'ecn=on', expected tc's words throughout or key=value"),
            ("codel target=5ms ecn", "target: found 'target=5ms', expected tc's words throughout or key=value"),
            ("fq_codel =5", "=5: found '=5', expected key=value"),
            ("raqm =5", "=5: found '=5', expected key=value"),
            ("codel target", "target: found '', expected a value after target"),
        ];
        for (text, error) in lines {
            assert!(said(text).starts_with(error), "{text}: {}", said(text));
        }
        let refused = of("any_ect").unwrap_err();
        assert_eq!(refused.to_string(), "any_ect: found 'any_ect', expected tc's line without it: nobody asks here");
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
