//! Parser for tc(8) arguments: `fq_codel target 5ms interval 100ms ecn`, with the kernel's names and defaults.
//!
//! A discipline that is also in the Linux kernel declares its tc arguments. They are translated to `preset=linux
//! target=5ms ...` and then parsed as usual. Values are parsed as in iproute2, even if they have no effect here.
//!
//! Whole commands (`tc qdisc add dev eth0 root fq_codel limit 1000`) and lines of `tc qdisc show` are accepted too.
//!
//! Differences from tc: a number of packets may end in `p`, as `tc qdisc show` prints it. Text after a number that is
//! not a unit is always an error, and so is a value beyond 32 bits or beyond the parameter's range.

mod command;
mod form;
mod read;
mod written;

pub(in crate::base) use command::qdisc;
pub use command::{arguments, place};
pub use form::Form;
pub use written::{Lookup, Rounded, time};

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::base::common::Common;
use crate::base::nearest::nearest;
use crate::base::params::{ParamError, ParamSet};
use crate::base::text::joined;

/// A tc argument that sets a parameter.
#[derive(Clone, Copy, Debug)]
pub struct Sets {
    form: Form,
    key: &'static str,
    /// Divisor of the value, for example 16 if tc counts sixteenths.
    parts: u32,
    least: u32,
    most: u32,
    skips_zero: bool,
    step: Step,
}

/// How the kernel rounds a time; steps in ns.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Not at all.
    Exact,
    /// Down to a multiple.
    Down(u64),
    /// Up to a multiple.
    Up(u64),
}

/// CoDel's unit of time in the kernel (`CODEL_SHIFT`).
pub const CODEL_TIME: Step = Step::Down(1024);
/// The kernel's unit of time of PIE (`PSCHED_SHIFT`).
pub const PSCHED_TICK: Step = Step::Down(64);
/// Intervals of the kernel's timer, with its usual 250 in a second.
pub const JIFFIES: Step = Step::Up(4_000_000);

/// The syntax and effect of a tc argument.
#[derive(Clone, Copy, Debug)]
pub enum Tail {
    /// A value that sets a parameter.
    Sets(Sets),
    /// A value that [`Tc::together`] evaluates after all arguments are parsed.
    Late(Form),
    /// A flag that sets a parameter of Forebay, as this text `key=value` does.
    Flag(&'static str),
    /// A value that is checked but has no effect here, with the reason.
    Ignored(Form, &'static str),
    /// A flag that [`Tc::together`] evaluates after all arguments are parsed.
    Keyword,
    /// A flag without effect here, with the reason.
    Moot(&'static str),
    /// An argument that is not supported here, with the reason.
    Refused(&'static str),
}

/// An argument whose value has the format `form` and sets the parameter `key`.
pub const fn sets(form: Form, key: &'static str) -> Sets {
    Sets { form, key, parts: 1, least: 0, most: u32::MAX, skips_zero: false, step: Step::Exact }
}

impl Sets {
    /// Sets the largest accepted value.
    #[must_use]
    pub const fn up_to(self, most: u32) -> Self {
        Self { most, ..self }
    }

    /// Divides the value by `parts`, for values in 16ths or hundredths.
    #[must_use]
    pub const fn over(self, parts: u32) -> Self {
        Self { parts, ..self }
    }

    /// Raises smaller values to `least`, as the kernel does.
    #[must_use]
    pub const fn raised_to(self, least: u32) -> Self {
        Self { least, ..self }
    }

    /// Sets the step to which the kernel rounds the value, which is a time.
    #[must_use]
    pub const fn in_steps(self, step: Step) -> Self {
        Self { step, ..self }
    }

    /// The syntax of an argument whose value 0 means the default, as if the argument were absent.
    #[must_use]
    pub const fn but_zero(self) -> Tail {
        Tail::Sets(Self { skips_zero: true, ..self })
    }

    /// The syntax of an argument whose value 0 is an ordinary value.
    pub const fn tail(self) -> Tail {
        Tail::Sets(self)
    }

    /// The parameter that is set.
    pub const fn key(&self) -> &'static str {
        self.key
    }

    /// The format of the value.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// The setting of Forebay's parameter, `key=value`, for `number`; `None` if `number` is 0 and 0 means the default.
    fn setting(&self, number: f64) -> Option<String> {
        if self.skips_zero && number == 0.0 {
            return None;
        }
        let number = match self.form {
            Form::Percent => libm::rint(number),
            _ if self.least > 0 => number.max(f64::from(self.least)),
            _ => number,
        };
        Some(format!("{}={}", self.key, self.form.written(number / f64::from(self.parts))))
    }
}

/// A tc argument and its value as written.
#[derive(Clone, PartialEq, Debug)]
pub struct Typed {
    /// The argument's name.
    pub word: String,
    /// The text of the value; empty for a flag.
    pub value: String,
    /// The parsed value, in the unit of its format ([`Form`]).
    pub number: f64,
}

impl Typed {
    fn new(word: &str, value: &str) -> Self {
        Self { word: word.to_string(), value: value.to_string(), number: 0.0 }
    }

    /// The last occurrence of the argument `word`.
    pub fn find<'a>(all: &'a [Self], word: &str) -> Option<&'a Self> {
        all.iter().rev().find(|typed| typed.word == word)
    }

    /// The value of the argument `word`, or 0, tc's default, if it is absent.
    pub fn number(all: &[Self], word: &str) -> f64 {
        Self::find(all, word).map_or(0.0, |typed| typed.number)
    }

    /// The number of packets, if the value has a unit of packets.
    pub fn packets(&self) -> Option<u32> {
        read::packets(&self.value)
    }

    /// A setting of Forebay's parameters, `text` in the form `key=value`, that results from this tc argument.
    pub fn sets(&self, text: impl Into<String>) -> Setting {
        Setting { text: text.into(), typed: Some(self.clone()) }
    }

    /// An error about this argument.
    pub fn wrong(&self, accepts: impl Into<Cow<'static, str>>, hint: Option<String>) -> ParamError {
        let found = if self.value.is_empty() { &self.word } else { &self.value };
        ParamError { key: self.word.clone(), found: found.clone(), accepts: accepts.into(), hint }
    }

    /// Parses the value.
    fn read(&mut self, tail: &Tail) -> Result<(), ParamError> {
        let (form, most) = match tail {
            Tail::Sets(sets) => (sets.form, sets.most),
            Tail::Late(form) | Tail::Ignored(form, _) => (*form, u32::MAX),
            Tail::Flag(_) | Tail::Keyword | Tail::Moot(_) | Tail::Refused(_) => return Ok(()),
        };
        let accepts = match most {
            u32::MAX => form.accepts().into(),
            most => Cow::from(format!("{} from 0 to {most}", form.accepts())),
        };
        self.number = match form.read(&self.value) {
            Some(number) if most == u32::MAX || number <= f64::from(most) => number,
            _ => return Err(self.wrong(accepts, form.hint(&self.value))),
        };
        Ok(())
    }
}

/// A setting of Forebay's parameters, `key=value`, and the tc argument that it comes from.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// `key=value`.
    pub text: String,
    typed: Option<Typed>,
}

impl Setting {
    /// A setting that the user wrote as `key=value`.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), typed: None }
    }

    /// `error`, restated for the tc argument as it was written.
    pub fn blame(&self, error: ParamError) -> ParamError {
        match &self.typed {
            Some(typed) => typed.wrong(error.accepts, error.hint),
            None => error,
        }
    }

    fn is_of(&self, word: &str) -> bool {
        self.typed.as_ref().is_some_and(|typed| typed.word == word)
    }
}

/// A function that evaluates all tc arguments of a discipline together. Returns settings `key=value` of Forebay's
/// parameters, or an error.
pub type Together = fn(&[Typed]) -> Result<Vec<Setting>, ParamError>;

/// tc arguments, each with its syntax and effect.
pub type Words = &'static [(&'static str, Tail)];

/// The tc(8) syntax of a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    /// The kernel's defaults as settings of Forebay's parameters, `key=value ...`.
    pub defaults: &'static str,
    /// Its arguments, in groups that disciplines may share.
    pub groups: &'static [Words],
    /// Required arguments, which must not be 0.
    pub needs: &'static [&'static str],
    /// Evaluation of all arguments together.
    pub together: Option<Together>,
    /// The arguments that `together` evaluates, for settings of Forebay: of a specification and of the kernel's defaults.
    pub late: Option<fn(Lookup, Lookup) -> Vec<String>>,
}

impl Tc {
    /// A syntax in which all arguments are optional and independent.
    pub const fn new(defaults: &'static str, groups: &'static [Words]) -> Self {
        Self { defaults, groups, needs: &[], together: None, late: None }
    }

    /// The arguments, in order.
    pub fn words(&self) -> impl Iterator<Item = &'static (&'static str, Tail)> + use<> {
        self.groups.iter().copied().flatten()
    }

    /// The synopsis, such as `red limit BYTES [min BYTES] avpkt BYTES [ecn]`.
    pub fn synopsis(&self, name: &str) -> String {
        let mut out = name.to_string();
        for (word, tail) in self.words() {
            let words = match tail {
                Tail::Sets(Sets { form, .. }) | Tail::Late(form) | Tail::Ignored(form, _) => {
                    format!("{word} {}", form.name())
                }
                Tail::Flag(_) | Tail::Keyword | Tail::Moot(_) => word.to_string(),
                Tail::Refused(_) => continue,
            };
            let needed = self.needs.contains(word);
            out.push_str(&if needed { format!(" {words}") } else { format!(" [{words}]") });
        }
        out
    }
}

/// The settings of a qdisc of Linux as tc(8) has them: `key=value` becomes `key value`. Parameters that all disciplines of
/// Forebay have (`ecn=on`) are left out.
pub fn in_words_of_tc(settings: &str) -> String {
    let is_common = |key: &str| Common::SPECS.iter().any(|spec| spec.name == key);
    let word = |word: &str| match word.split_once('=') {
        Some((key, _)) if is_common(key) => None,
        Some((key, value)) => Some(format!("{key} {value}")),
        None => Some(word.into()),
    };
    settings.split_whitespace().filter_map(word).collect::<Vec<String>>().join(" ")
}

/// The argument `limit` of pfifo: the buffer in packets; 0 is an ordinary value.
pub const LIMIT_PACKETS: Words = &[("limit", sets(Form::SizedPackets, "hard_limit").tail())];
/// The argument `limit` of most other disciplines: the buffer in packets; 0 means the default.
pub const LIMIT: Words = &[("limit", sets(Form::Packets, "hard_limit").but_zero())];
/// The number of flow queues.
pub const FLOWS: Words = &[("flows", sets(Form::Count, "flows").but_zero())];
/// ECN marking on or off.
pub const ECN: Words = &[("ecn", Tail::Flag("ecn=on")), ("noecn", Tail::Flag("ecn=off"))];

/// Disciplines with another name in tc: tc's name, Forebay's name, and the syntax with tc's name.
const ALIASES: [(&str, &str, Tc); 3] = [
    ("pfifo", "droptail", Tc::new("ecn=off hard_limit=1000p", &[LIMIT_PACKETS])),
    ("pfifo_head_drop", "droptail", Tc::new("ecn=off front=on hard_limit=1000p", &[LIMIT_PACKETS])),
    (
        "bfifo",
        "droptail",
        Tc::new("ecn=off hard_limit=1514000b", &[&[("limit", sets(Form::Size, "hard_limit").tail())]]),
    ),
];

/// Qdiscs of Linux that Forebay does not have.
const ELSEWHERE: [&str; 31] = [
    "atm",
    "blackhole",
    "cake_mq",
    "cbq",
    "cbs",
    "clsact",
    "dsmark",
    "etf",
    "ets",
    "fq",
    "gred",
    "hfsc",
    "hhf",
    "htb",
    "ingress",
    "mq",
    "mqprio",
    "multiq",
    "netem",
    "noop",
    "noqueue",
    "pfifo_fast",
    "plug",
    "prio",
    "qfq",
    "sfq",
    "skbprio",
    "taprio",
    "tbf",
    "teql",
    "teql0",
];

/// The smallest buffer in bytes: the datagram that every host must accept (RFC 791).
const MIN_BUFFER: f64 = 576.0;

/// The hint for an error message about the name of a Linux qdisc that Forebay does not have.
pub fn elsewhere(name: &str) -> Option<String> {
    ELSEWHERE.contains(&name).then(|| format!("{name} is a qdisc that Forebay does not have"))
}

/// Notes on the tc syntax of the discipline `name`: its defaults without arguments, and its aliases.
pub fn notes(name: &str, tc: &Tc) -> Vec<String> {
    let bare = format!(
        "{name} alone has Forebay's defaults; for tc's write {name} {}, a tc argument, or a whole command",
        tc.defaults
    );
    let others = aliases().filter(|(_, ours, _)| *ours == name);
    let other = |(alias, _, tc): (&str, &str, Tc)| format!("{}: {name} {}", tc.synopsis(alias), tc.defaults);
    core::iter::once(bare).chain(others.map(other)).collect()
}

/// The disciplines with another name in tc: tc's name, Forebay's name, and the syntax with tc's name.
pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str, Tc)> {
    ALIASES.into_iter()
}

/// Forebay's name for tc's `name`, and its syntax.
pub fn alias(name: &str) -> Option<(&'static str, Tc)> {
    aliases().find(|(tc, ..)| *tc == name).map(|(_, ours, tc)| (ours, tc))
}

/// Forebay's name for tc's `name` with these arguments: `red adaptive` is `ared`.
pub fn meant<'a>(name: &'a str, words: &[&str]) -> &'a str {
    let adapts = words.iter().any(|word| matches!(*word, "adaptive" | "adaptative"));
    if name == "red" && adapts { "ared" } else { name }
}

/// Whether `words` are arguments in tc's syntax, not settings `key=value` in Forebay's syntax.
pub fn is_tail(words: &[&str]) -> bool {
    words.iter().any(|word| !word.contains('='))
}

/// Translates tc arguments to settings `key=value` in Forebay's syntax. The kernel's defaults come first; `words` that
/// are already in this syntax are kept.
pub fn translate(words: &[&str], tc: &Tc) -> Result<Vec<Setting>, ParamError> {
    let mut out: Vec<Setting> = tc.defaults.split_whitespace().map(Setting::new).collect();
    if !is_tail(words) {
        out.extend(words.iter().map(|word| Setting::new(*word)));
        return Ok(out);
    }
    let (mut rest, mut all) = (words.iter(), Vec::new());
    while let Some(&word) = rest.next() {
        let (_, tail) = tc.words().find(|(name, _)| *name == word).ok_or_else(|| stranger(word, tc))?;
        let mut typed = Typed::new(word, "");
        match tail {
            Tail::Flag(setting) => out.push(typed.sets(*setting)),
            Tail::Keyword | Tail::Moot(_) => {}
            Tail::Refused(why) => return Err(typed.wrong(format!("tc's line without it: {why}"), None)),
            Tail::Sets(_) | Tail::Late(_) | Tail::Ignored(..) => {
                let missing =
                    || ParamError { found: String::new(), ..typed.wrong(format!("a value after {word}"), None) };
                typed.value = rest.next().ok_or_else(missing)?.to_string();
                typed.read(tail)?;
                // tc uses the last occurrence, even if it means the default.
                out.retain(|setting| !setting.is_of(word));
            }
        }
        if let Tail::Sets(sets) = tail {
            out.extend(sets.setting(typed.number).map(|text| typed.sets(text)));
        }
        all.push(typed);
    }
    holds_a_packet(tc, &all)?;
    let missing: Vec<&str> = tc.needs.iter().copied().filter(|word| Typed::number(&all, word) == 0.0).collect();
    if let [word, others @ ..] = missing.as_slice() {
        let them = if others.is_empty() { "it" } else { "them" };
        let accepts = format!("{} too: tc requires {them}", joined(missing.iter().copied()));
        // tc computes other values from these two; `tc qdisc show` prints neither of them.
        let is_unseen = ["avpkt", "bandwidth"].contains(word);
        let hint = is_unseen.then(|| format!("tc qdisc show does not print {word}: add that of the script"));
        return Err(ParamError { found: words.join(" "), ..Typed::new(word, "").wrong(accepts, hint) });
    }
    if let Some(together) = tc.together {
        out.extend(together(&all)?);
    }
    Ok(out)
}

/// Rejects a buffer in bytes below [`MIN_BUFFER`]: the user probably meant packets.
fn holds_a_packet(tc: &Tc, all: &[Typed]) -> Result<(), ParamError> {
    let limits =
        tc.words().filter(|(_, tail)| matches!(tail, Tail::Sets(Sets { form: Form::Size, key: "hard_limit", .. })));
    let said = limits.filter_map(|(word, _)| Typed::find(all, word));
    let Some(small) = said.into_iter().find(|typed| (1.0..MIN_BUFFER).contains(&typed.number)) else { return Ok(()) };
    let packets = small.number;
    let hint = format!("tc counts bytes here; for packets write hard_limit={packets}p and only key=value settings");
    Err(small.wrong(format!("at least {MIN_BUFFER} bytes, enough for a packet"), Some(hint)))
}

/// The error for an unknown argument.
fn stranger(word: &str, tc: &Tc) -> ParamError {
    let names = || tc.words().map(|(name, _)| *name);
    if let Some((key, _)) = word.split_once('=') {
        let typed = Typed::new(if key.is_empty() { word } else { key }, word);
        return typed.wrong("either tc arguments or key=value settings, not both", None);
    }
    let accepts = format!("one of the tc arguments {}, or only key=value settings", joined(names()));
    Typed::new(word, word).wrong(accepts, nearest(word, names()).map(|near| format!("did you mean {near}?")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    const TC: Tc = Tc {
        defaults: "preset=linux hard_limit=10240p",
        groups: &[WORDS],
        needs: &["target"],
        together: Some(twice),
        late: None,
    };
    const WORDS: &[(&str, Tail)] = &[
        ("limit", sets(Form::Packets, "hard_limit").but_zero()),
        ("target", sets(Form::Time, "target").tail()),
        ("quantum", sets(Form::Size, "quantum").tail()),
        ("rehash", sets(Form::Millis, "rehash").tail()),
        ("beta", sets(Form::Count, "beta").up_to(32).over(16).tail()),
        ("least", sets(Form::Bytes, "quantum").raised_to(256).tail()),
        ("share", sets(Form::Percent, "weight").over(100).tail()),
        ("p", sets(Form::Real, "max_p").tail()),
        ("twice", Tail::Late(Form::Time)),
        ("ecn", Tail::Flag("ecn=on")),
        ("split_gso", Tail::Moot("there is no GSO here")),
        ("memory_limit", Tail::Ignored(Form::Size, "there is no header memory here")),
        ("bandwidth", Tail::Ignored(Form::Rate, "the link's rate")),
        ("any_ect", Tail::Refused("it is not supported")),
    ];

    fn twice(all: &[Typed]) -> Result<Vec<Setting>, ParamError> {
        let found = ["twice", "beta"].into_iter().filter_map(|word| Typed::find(all, word));
        Ok(found.map(|typed| typed.sets(format!("{}={}", typed.word, 2.0 * typed.number))).collect())
    }

    fn of(text: &str) -> Result<String, ParamError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let settings = translate(&words, &TC)?;
        Ok(settings.iter().map(|setting| setting.text.as_str()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn numbers_are_parsed_as_in_tc() {
        let text = "limit 1000 target 5000 quantum 1514 memory_limit 32Mb ecn";
        assert_eq!(
            of(text).unwrap(),
            "preset=linux hard_limit=10240p hard_limit=1000p target=5000us quantum=1514b ecn=on"
        );
        for (text, end) in [
            ("target 1 rehash 600000", " rehash=600000ms"),
            ("target 1 split_gso beta 20", " beta=1.25 beta=40"),
            ("target 1 least 64", " quantum=256b"),
            ("target 1 least 0x400", " quantum=1024b"),
            ("target 1 share 10.5", " weight=0.1"),
            ("target 1 share 12%", " weight=0.12"),
            ("target 1 p 0x.8", " max_p=0.5"),
            ("twice 7 beta 16 target 1", " beta=1 target=1us twice=14 beta=32"),
            ("target 5MS quantum 2Kb limit 0x10", " target=5000us quantum=2048b hard_limit=16p"),
            ("target 5.9 limit 010p", " target=5us hard_limit=8p"),
        ] {
            let read = of(text).unwrap();
            assert!(read.ends_with(end), "{text}: {read}");
        }
    }

    #[test]
    fn last_occurrence_of_a_tc_argument_wins() {
        assert_eq!(of("limit 5 target 1 limit 7").unwrap(), "preset=linux hard_limit=10240p target=1us hard_limit=7p");
        assert_eq!(of("limit 5 target 1 limit 0").unwrap(), "preset=linux hard_limit=10240p target=1us");
        assert!(of("target 1 limit x limit 7").is_err(), "each is read");
    }

    #[test]
    fn values_without_effect_are_still_checked() {
        for (text, error) in [
            ("memory_limit 32cows", "memory_limit: found '32cows', expected a size in bytes"),
            ("bandwidth 101%", "bandwidth: found '101%', expected a rate such as 10mbit"),
            ("bandwidth 40gbit", "bandwidth: found '40gbit', expected a rate such as 10mbit, of less than 2^32"),
            ("bandwidth", "bandwidth: found '', expected a value after bandwidth"),
        ] {
            let said = of(&format!("target 1 {text}")).unwrap_err().to_string();
            assert!(said.starts_with(error), "{text}: {said}");
        }
        assert!(of("target 1 memory_limit 32MBIT bandwidth 10KiBps bandwidth 50%").is_ok());
    }

    #[test]
    fn required_arguments_are_enforced() {
        for text in ["limit 5", "limit 5 target 0", "ecn target 0.4"] {
            let said = of(text).unwrap_err().to_string();
            assert_eq!(said, format!("target: found '{text}', expected target too: tc requires it"));
        }
    }

    #[test]
    fn hint_explains_numbers_that_tc_reads_unexpectedly() {
        let hint = |text: &str| of(&format!("target 1 {text}")).unwrap_err().hint;
        assert_eq!(hint("limit 08").as_deref(), Some("tc reads a number with a leading 0 as octal"));
        assert_eq!(hint("p 2%").as_deref(), Some("tc would read 2 and ignore the rest"));
        assert_eq!(hint("p x"), None);
    }

    #[test]
    fn usage_line_lists_tc_arguments_with_value_types() {
        let line = "x [limit PACKETS] target TIME [quantum BYTES] [rehash MS] [beta NUMBER] [least BYTES] \
                    [share PERCENT] [p NUMBER] [twice TIME] [ecn] [split_gso] [memory_limit BYTES] \
                    [bandwidth RATE|PERCENT]";
        assert_eq!(TC.synopsis("x"), line);
    }

    #[test]
    fn unsupported_linux_qdisc_gives_error_with_hint() {
        for name in ELSEWHERE {
            let said = Spec::parse(name).unwrap_err();
            assert_eq!(
                (said.found.as_str(), said.hint),
                (name, Some(format!("{name} is a qdisc that Forebay does not have")))
            );
        }
        assert_eq!(Spec::parse("fq_codl").unwrap_err().hint.as_deref(), Some("did you mean fq_codel?"));
    }

    #[test]
    fn notes_on_tc_syntax_show_defaults_and_aliases() {
        let bare = "x alone has Forebay's defaults; for tc's write x preset=linux hard_limit=10240p, a tc argument, or a whole command";
        assert_eq!(notes("x", &TC), [bare]);
        let droptail = notes("droptail", &alias("pfifo").unwrap().1);
        assert_eq!(droptail[1], "pfifo [limit PACKETS]: droptail ecn=off hard_limit=1000p");
        assert!(droptail[2].starts_with("pfifo_head_drop [") && droptail[3].starts_with("bfifo [limit BYTES]: "));
    }

    #[test]
    fn unknown_tc_arguments_suggest_the_nearest_known_one() {
        let error = of("targt 5ms").unwrap_err();
        assert_eq!((error.found.as_str(), error.hint.as_deref()), ("targt", Some("did you mean target?")));
        assert!(error.accepts.contains("memory_limit") && of("target").unwrap_err().accepts.contains("after target"));
        assert_eq!(of("target").unwrap_err().to_string(), "target: found '', expected a value after target");
    }

    #[test]
    fn errors_show_argument_and_value_as_written() {
        let said = |text: &str| Spec::parse(text).unwrap_err().to_string();
        let lines = [
            ("sfb rehash 60s", "rehash: found '60s', expected a number of milliseconds, without a unit"),
            ("fq_codel limit 10b", "limit: found '10b', expected a number of packets"),
            ("fq_codel target 5parsec", "target: found '5parsec', expected a time"),
            ("fq_codel flows 65537", "flows: found '65537', expected a whole number, from 1"),
            ("fq_codel quantum 2kb", "quantum: found '2kb', expected a whole number of bytes, without a unit"),
            ("fq_pie ecn_prob 10%", "ecn_prob: found '10%', expected a whole number from 0 to 99"),
            ("codel target 5ns", "target: found '5ns', expected a time such as 5ms"),
            ("codel target 5000s", "target: found '5000s', expected a time such as 5ms"),
            ("red limit 60000 avpkt 1000 nodrop", "nodrop: found 'nodrop', expected ecn too"),
            ("red limit 60000", "avpkt: found 'limit 60000', expected avpkt too: tc requires it"),
            ("red adaptive avpkt 1000", "limit: found 'adaptive avpkt 1000', expected limit too"),
            ("choke limit 1000", "bandwidth: found 'limit 1000', expected bandwidth too"),
            ("choke limit 100 bandwidth 10mbit max 101", "max: found '101', expected at most limit"),
            ("choke limit 100 bandwidth 10mbit min 25", "min: found '25', expected less than max"),
            ("red limit 60000 avpkt 1000 min 9000 max 8000", "max: found '8000', expected at least min"),
            ("red limit 60000 avpkt 1000 min 9000 burst 8", "burst: found '8', expected a burst that fits"),
            ("red limit 60000 avpkt 1000 probability 0", "probability: found '0', expected a larger probability"),
            ("red limit 60000 avpkt 1000 bandwidth fast", "bandwidth: found 'fast', expected a rate"),
            (
                "red limit 60000 avpkt 1000 qevent early_drop block 10",
                "qevent: found 'qevent', expected tc's line without",
            ),
            ("fq_pie ecn_prob 200", "ecn_prob: found '200', expected a whole number from 0 to 99"),
            ("dualpi2 coupling_factor 0", "coupling_factor: found '0', expected a number, from 0.1"),
            ("pie alpha -1", "alpha: found '-1', expected a whole number from 0 to 32"),
            ("pie alpha 33", "alpha: found '33', expected a whole number from 0 to 32"),
            ("pie beta 2.5", "beta: found '2.5', expected a whole number from 0 to 32"),
            ("red limit 100p", "limit: found '100p', expected a size in bytes"),
            ("codel ecn=on target 5ms", "ecn: found 'ecn=on', expected either tc arguments or key=value"),
            ("codel target=5ms ecn", "target: found 'target=5ms', expected either tc arguments or key=value"),
            ("fq_codel =5", "=5: found '=5', expected key=value"),
            ("raqm =5", "=5: found '=5', expected key=value"),
            ("codel target", "target: found '', expected a value after target"),
        ];
        for (text, error) in lines {
            assert!(said(text).starts_with(error), "{text}: {}", said(text));
        }
        let refused = of("any_ect").unwrap_err();
        assert_eq!(refused.to_string(), "any_ect: found 'any_ect', expected tc's line without it: it is not supported");
    }

    #[test]
    fn tc_arguments_equal_key_value_settings() {
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
        assert_eq!(["pfifo limit 10k", "pfifo limit 0x10"].map(|text| of(text, "hard_limit")), ["10240p", "16p"]);
        for text in ["red limit 100", "bfifo limit 575"] {
            let error = Spec::parse(text).unwrap_err();
            assert!(error.key == "limit" && error.hint.is_some_and(|hint| hint.contains("bytes")), "{text}");
        }
        assert!(Spec::parse("red limit 60000 avpkt 1000").is_ok() && Spec::parse("pfifo limit 1").is_ok());
        assert!(Spec::parse("red limit 60000 avpkt 1000 ecn nodrop bandwidth 50%").is_ok());
    }
}
