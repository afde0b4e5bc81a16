//! tc(8)'s way to write a discipline: `fq_codel target 5ms interval 100ms ecn`, with the kernel's names and defaults.
//!
//! Each discipline that the kernel has declares its words; they are rewritten as `preset=linux target=5ms ...` and
//! then read like any other discipline. Values are read as iproute2 reads them, also those that change nothing here.
//!
//! Where it differs from tc: a number of packets may end in `p`, as `tc qdisc show` prints it; what follows a number
//! and is no unit is an error everywhere, and so is what does not fit into 32 bits or into the parameter's range.

mod form;
mod read;

pub use form::Form;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::base::nearest::nearest;
use crate::base::params::ParamError;
use crate::base::text::joined;

/// Which parameter a value sets.
#[derive(Clone, Copy, Debug)]
pub struct Sets {
    form: Form,
    key: &'static str,
    /// Parts of one that it counts.
    parts: u32,
    least: u32,
    most: u32,
    skips_zero: bool,
}

/// What follows one of tc's words, and what comes of it.
#[derive(Clone, Copy, Debug)]
pub enum Tail {
    /// A value that sets a parameter.
    Sets(Sets),
    /// A value that [`Tc::together`] evaluates after all words are parsed.
    Late(Form),
    /// Nothing: the word stands for this `key=value`.
    Flag(&'static str),
    /// A value that is checked and changes nothing here, and why.
    Ignored(Form, &'static str),
    /// A word alone that changes nothing here, and why.
    Moot(&'static str),
    /// A word that asks for what is not to be had here, and why.
    Refused(&'static str),
}

/// A value of this form sets the parameter `key`.
pub const fn sets(form: Form, key: &'static str) -> Sets {
    Sets { form, key, parts: 1, least: 0, most: u32::MAX, skips_zero: false }
}

impl Sets {
    /// It is up to so many.
    #[must_use]
    pub const fn up_to(self, most: u32) -> Self {
        Self { most, ..self }
    }

    /// It counts parts of one, so many of which are one: 16ths, or hundredths.
    #[must_use]
    pub const fn over(self, parts: u32) -> Self {
        Self { parts, ..self }
    }

    /// The kernel raises it to so many.
    #[must_use]
    pub const fn raised_to(self, least: u32) -> Self {
        Self { least, ..self }
    }

    /// 0 is the default to tc, as if the word were not there.
    #[must_use]
    pub const fn but_zero(self) -> Tail {
        Tail::Sets(Self { skips_zero: true, ..self })
    }

    /// 0 is a value like any other.
    pub const fn tail(self) -> Tail {
        Tail::Sets(self)
    }

    /// The parameter.
    pub const fn key(&self) -> &'static str {
        self.key
    }

    /// How its value is read.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// The `key=value` that a number comes to; none if it is the default.
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

/// A word of tc and the value after it, as they were written.
#[derive(Clone, PartialEq, Debug)]
pub struct Typed {
    /// The word.
    pub word: String,
    /// What follows it; nothing after a word that stands alone.
    pub value: String,
    /// What that is to tc, in the unit of its form.
    pub number: f64,
}

impl Typed {
    fn new(word: &str, value: &str) -> Self {
        Self { word: word.to_string(), value: value.to_string(), number: 0.0 }
    }

    /// `word` where it was written last.
    pub fn find<'a>(all: &'a [Self], word: &str) -> Option<&'a Self> {
        all.iter().rev().find(|typed| typed.word == word)
    }

    /// The number that follows `word`, or 0 if the word is absent, which is tc's default.
    pub fn number(all: &[Self], word: &str) -> f64 {
        Self::find(all, word).map_or(0.0, |typed| typed.number)
    }

    /// The packets that it is, if it has a unit of packets.
    pub fn packets(&self) -> Option<u32> {
        read::packets(&self.value)
    }

    /// The `key=value` that comes of it.
    pub fn sets(&self, text: impl Into<String>) -> Setting {
        Setting { text: text.into(), typed: Some(self.clone()) }
    }

    /// It is wrong.
    pub fn wrong(&self, accepts: impl Into<Cow<'static, str>>, hint: Option<String>) -> ParamError {
        let found = if self.value.is_empty() { &self.word } else { &self.value };
        ParamError { key: self.word.clone(), found: found.clone(), accepts: accepts.into(), hint }
    }

    /// Reads its value.
    fn read(&mut self, tail: &Tail) -> Result<(), ParamError> {
        let (form, most) = match tail {
            Tail::Sets(sets) => (sets.form, sets.most),
            Tail::Late(form) | Tail::Ignored(form, _) => (*form, u32::MAX),
            Tail::Flag(_) | Tail::Moot(_) | Tail::Refused(_) => return Ok(()),
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

/// A `key=value`, and the words of tc that it comes from.
#[derive(Clone, PartialEq, Debug)]
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
            Some(typed) => typed.wrong(error.accepts, error.hint),
            None => error,
        }
    }

    fn is_of(&self, word: &str) -> bool {
        self.typed.as_ref().is_some_and(|typed| typed.word == word)
    }
}

/// What comes of all words together, or what is wrong with them.
pub type Together = fn(&[Typed]) -> Result<Vec<Setting>, ParamError>;

/// Words of tc, and what each comes to.
pub type Words = &'static [(&'static str, Tail)];

/// How tc(8) writes a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    /// The kernel's defaults as `key=value`s.
    pub defaults: &'static str,
    /// Its words, in groups that disciplines may share.
    pub groups: &'static [Words],
    /// Those that must be there, with another number than 0.
    pub needs: &'static [&'static str],
    /// What is said of all of them together.
    pub together: Option<Together>,
}

impl Tc {
    /// One whose words may all be left out, and each of which is for itself.
    pub const fn new(defaults: &'static str, groups: &'static [Words]) -> Self {
        Self { defaults, groups, needs: &[], together: None }
    }

    /// Its words, in order.
    pub fn words(&self) -> impl Iterator<Item = &'static (&'static str, Tail)> + use<> {
        self.groups.iter().copied().flatten()
    }

    /// `red limit BYTES [min BYTES] avpkt BYTES [ecn]`.
    pub fn synopsis(&self, name: &str) -> String {
        let mut out = name.to_string();
        for (word, tail) in self.words() {
            let words = match tail {
                Tail::Sets(Sets { form, .. }) | Tail::Late(form) | Tail::Ignored(form, _) => {
                    format!("{word} {}", form.name())
                }
                Tail::Flag(_) | Tail::Moot(_) => word.to_string(),
                Tail::Refused(_) => continue,
            };
            let needed = self.needs.contains(word);
            out.push_str(&if needed { format!(" {words}") } else { format!(" [{words}]") });
        }
        out
    }
}

/// The word of pfifo.
pub const LIMIT_PACKETS: Words = &[("limit", sets(Form::SizedPackets, "hard_limit").tail())];
/// The buffer of most others, in packets.
pub const LIMIT: Words = &[("limit", sets(Form::Packets, "hard_limit").but_zero())];
/// Number of queues that flows are hashed to.
pub const FLOWS: Words = &[("flows", sets(Form::Count, "flows").but_zero())];
/// Marks instead of drops, or not.
pub const ECN: Words = &[("ecn", Tail::Flag("ecn=on")), ("noecn", Tail::Flag("ecn=off"))];

/// tc's names for disciplines that have another one here, ours, and what tc has under its own.
const ALIASES: [(&str, &str, Tc); 3] = [
    ("pfifo", "droptail", Tc::new("ecn=off hard_limit=1000p", &[LIMIT_PACKETS])),
    ("pfifo_head_drop", "droptail", Tc::new("ecn=off front=on hard_limit=1000p", &[LIMIT_PACKETS])),
    (
        "bfifo",
        "droptail",
        Tc::new("ecn=off hard_limit=1514000b", &[&[("limit", sets(Form::Size, "hard_limit").tail())]]),
    ),
];

/// Queueing disciplines of tc and of Linux that are not here under any name.
const ELSEWHERE: [&str; 32] = [
    "atm",
    "blackhole",
    "cake",
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

/// The least buffer in bytes: a packet that every host must take (RFC 791).
const LEAST_BUFFER: f64 = 576.0;

/// What to say of a name that is a queueing discipline of Linux, and of none here.
pub fn elsewhere(name: &str) -> Option<String> {
    ELSEWHERE.contains(&name).then(|| format!("{name} is a qdisc that Forebay does not have"))
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
    let (mut rest, mut all) = (words.iter(), Vec::new());
    while let Some(&word) = rest.next() {
        let (_, tail) = tc.words().find(|(name, _)| *name == word).ok_or_else(|| stranger(word, tc))?;
        let mut typed = Typed::new(word, "");
        match tail {
            Tail::Flag(setting) => out.push(typed.sets(*setting)),
            Tail::Moot(_) => {}
            Tail::Refused(why) => return Err(typed.wrong(format!("tc's line without it: {why}"), None)),
            Tail::Sets(_) | Tail::Late(_) | Tail::Ignored(..) => {
                let missing =
                    || ParamError { found: String::new(), ..typed.wrong(format!("a value after {word}"), None) };
                typed.value = rest.next().ok_or_else(missing)?.to_string();
                typed.read(tail)?;
                // tc takes the last of them, be it the default.
                out.retain(|setting| !setting.is_of(word));
            }
        }
        if let Tail::Sets(sets) = tail {
            out.extend(sets.setting(typed.number).map(|text| typed.sets(text)));
        }
        all.push(typed);
    }
    holds_a_packet(tc, &all)?;
    if let Some(word) = tc.needs.iter().find(|word| Typed::number(&all, word) == 0.0) {
        let accepts = format!("{} too: tc requires them", joined(tc.needs.iter().copied()));
        return Err(ParamError { found: words.join(" "), ..Typed::new(word, "").wrong(accepts, None) });
    }
    if let Some(together) = tc.together {
        out.extend(together(&all)?);
    }
    Ok(out)
}

/// Does a packet fit into a buffer in bytes? Those who count packets write a small number.
fn holds_a_packet(tc: &Tc, all: &[Typed]) -> Result<(), ParamError> {
    let limits =
        tc.words().filter(|(_, tail)| matches!(tail, Tail::Sets(Sets { form: Form::Size, key: "hard_limit", .. })));
    let said = limits.filter_map(|(word, _)| Typed::find(all, word));
    let Some(small) = said.into_iter().find(|typed| (1.0..LEAST_BUFFER).contains(&typed.number)) else { return Ok(()) };
    let packets = small.number;
    let hint = format!("tc counts it in bytes; for packets write hard_limit={packets}p, and key=value throughout");
    Err(small.wrong(format!("at least {LEAST_BUFFER} bytes: no packet fits into less"), Some(hint)))
}

/// The error for a word that tc does not have there.
fn stranger(word: &str, tc: &Tc) -> ParamError {
    let names = || tc.words().map(|(name, _)| *name);
    if let Some((key, _)) = word.split_once('=') {
        let typed = Typed::new(if key.is_empty() { word } else { key }, word);
        return typed.wrong("tc's words throughout or key=value throughout, not both", None);
    }
    let accepts = format!("one of tc's words {}, or key=value throughout", joined(names()));
    Typed::new(word, word).wrong(accepts, nearest(word, names()).map(|near| format!("did you mean {near}?")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    const TC: Tc =
        Tc { defaults: "preset=linux hard_limit=10240p", groups: &[WORDS], needs: &["target"], together: Some(twice) };
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
        ("split_gso", Tail::Moot("no segments here")),
        ("memory_limit", Tail::Ignored(Form::Size, "no bytes of headers here")),
        ("bandwidth", Tail::Ignored(Form::Rate, "the link's rate")),
        ("any_ect", Tail::Refused("nobody asks here")),
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
    fn numbers_mean_what_they_mean_to_tc() {
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
    fn the_last_of_a_word_counts_and_0_may_be_the_default() {
        assert_eq!(of("limit 5 target 1 limit 7").unwrap(), "preset=linux hard_limit=10240p target=1us hard_limit=7p");
        assert_eq!(of("limit 5 target 1 limit 0").unwrap(), "preset=linux hard_limit=10240p target=1us");
        assert!(of("target 1 limit x limit 7").is_err(), "each is read");
    }

    #[test]
    fn values_that_change_nothing_are_read_too() {
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
    fn words_that_tc_requires_are_required() {
        for text in ["limit 5", "limit 5 target 0", "ecn target 0.4"] {
            let said = of(text).unwrap_err().to_string();
            assert_eq!(said, format!("target: found '{text}', expected target too: tc requires them"));
        }
    }

    #[test]
    fn what_tc_would_misread_has_a_hint() {
        let hint = |text: &str| of(&format!("target 1 {text}")).unwrap_err().hint;
        assert_eq!(hint("limit 08").as_deref(), Some("tc takes a number that begins with 0 as octal"));
        assert_eq!(hint("p 2%").as_deref(), Some("tc would go by 2 and leave out what follows it"));
        assert_eq!(hint("p x"), None);
    }

    #[test]
    fn a_synopsis_says_what_follows_each_word() {
        let line = "x [limit PACKETS] target TIME [quantum BYTES] [rehash MS] [beta NUMBER] [least BYTES] \
                    [share PERCENT] [p NUMBER] [twice TIME] [ecn] [split_gso] [memory_limit BYTES] \
                    [bandwidth RATE|PERCENT]";
        assert_eq!(TC.synopsis("x"), line);
    }

    #[test]
    fn qdiscs_that_are_not_here_are_called_so() {
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
        assert_eq!(of("target").unwrap_err().to_string(), "target: found '', expected a value after target");
    }

    #[test]
    fn an_error_shows_the_word_and_the_value_as_they_were_written() {
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
            ("red limit 60000", "avpkt: found 'limit 60000', expected limit, avpkt too: tc requires them"),
            ("red adaptive avpkt 1000", "limit: found 'adaptive avpkt 1000', expected limit, avpkt too"),
            ("choke limit 1000", "bandwidth: found 'limit 1000', expected limit, bandwidth too"),
            ("choke limit 100 bandwidth 10mbit max 101", "max: found '101', expected at most limit"),
            ("choke limit 100 bandwidth 10mbit min 25", "min: found '25', expected less than max"),
            ("red limit 60000 avpkt 1000 min 9000 max 8000", "max: found '8000', expected at least min"),
            ("red limit 60000 avpkt 1000 min 9000 burst 8", "burst: found '8', expected a burst that a weight"),
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
        assert_eq!(["pfifo limit 10k", "pfifo limit 0x10"].map(|text| of(text, "hard_limit")), ["10240p", "16p"]);
        for text in ["red limit 100", "bfifo limit 575"] {
            let error = Spec::parse(text).unwrap_err();
            assert!(error.key == "limit" && error.hint.is_some_and(|hint| hint.contains("bytes")), "{text}");
        }
        assert!(Spec::parse("red limit 60000 avpkt 1000").is_ok() && Spec::parse("pfifo limit 1").is_ok());
        assert!(Spec::parse("red limit 60000 avpkt 1000 ecn nodrop bandwidth 50%").is_ok());
    }
}
