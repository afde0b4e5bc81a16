//! The arguments of tc(8) that give Forebay's settings: the inverse of [`translate`](super::translate).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Form, Sets, Step, Tail, Tc, read};

/// Returns the value of a parameter as text.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A value that the kernel rounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rounded {
    /// The argument of tc.
    pub word: &'static str,
    /// Its value, in ns.
    pub asked: u64,
    /// The value that the kernel uses, in ns.
    pub used: u64,
}

impl Tc {
    /// The arguments of tc for the settings `now`, as far as tc has arguments for them. Those are left out whose value is
    /// also that of the kernel's defaults, `usual`, except those that tc requires.
    pub fn arguments(&self, now: Lookup, usual: Lookup) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let mut done: Vec<&str> = Vec::new();
        for (word, tail) in self.words() {
            let (key, argument) = match tail {
                Tail::Sets(sets) => (
                    sets.key,
                    now(sets.key).and_then(|value| sets.value(&value)).map(|value| format!("{word} {value}")),
                ),
                Tail::Flag(setting) => {
                    let Some((key, value)) = setting.split_once('=') else { continue };
                    (key, now(key).is_some_and(|now| now == value).then(|| word.to_string()))
                }
                _ => continue,
            };
            let is_usual = now(key) == usual(key) && !self.needs.contains(word);
            if let Some(argument) = argument.filter(|_| !is_usual && !done.contains(&key)) {
                out.push(argument);
                done.push(key);
            }
        }
        // Some of them change what an earlier argument means: a bandwidth after autorate-ingress switches it off.
        out.extend(self.late.map(|late| late(now, usual)).unwrap_or_default());
        out
    }

    /// Those of `words`, arguments of tc, that have no effect here, each with the reason.
    pub fn without_effect(&self, words: &[&str]) -> Vec<(String, &'static str)> {
        let (mut rest, mut out) = (words.iter(), Vec::new());
        while let Some(&word) = rest.next() {
            let Some((_, tail)) = self.words().find(|(name, _)| *name == word) else { continue };
            let value = match tail {
                Tail::Sets(_) | Tail::Late(_) | Tail::Ignored(..) => rest.next(),
                Tail::Flag(_) | Tail::Keyword | Tail::Moot(_) | Tail::Refused(_) => None,
            };
            match (tail, value) {
                (Tail::Moot(why), _) => out.push((word.to_string(), *why)),
                (Tail::Ignored(_, why), Some(value)) => out.push((format!("{word} {value}"), *why)),
                _ => {}
            }
        }
        out
    }

    /// The values among `arguments`, written by [`arguments`](Self::arguments), that the kernel rounds.
    pub fn rounded(&self, arguments: &[String]) -> Vec<Rounded> {
        let all = arguments.iter().filter_map(|argument| {
            let (name, value) = argument.split_once(' ')?;
            let (word, tail) = self.words().find(|(word, _)| *word == name)?;
            let Tail::Sets(sets) = tail else { return None };
            let asked = match sets.form {
                Form::Time => u64::from(read::time(value)?) * 1000,
                Form::Millis => u64::from(read::count(value, true)?) * 1_000_000,
                _ => return None,
            };
            Some(Rounded { word, asked, used: sets.step.of(asked) })
        });
        all.filter(|value| value.asked != value.used).collect()
    }
}

impl Sets {
    /// Forebay's `value` of the parameter as tc reads it. `None`: tc cannot say it.
    fn value(&self, value: &str) -> Option<String> {
        let parts = f64::from(self.parts);
        let written = match self.form {
            Form::Time => time(value)?,
            Form::Millis => format!("{}", nanos(value)? / 1_000_000),
            Form::Packets | Form::DecimalPackets | Form::SizedPackets => value.strip_suffix('p')?.to_string(),
            Form::Size => value.to_string(),
            Form::Bytes | Form::DecimalBytes => format!("{}", read::size(value)?),
            Form::Count | Form::Percent => format!("{}", libm::rint(value.parse::<f64>().ok()? * parts)),
            Form::Real | Form::Probability | Form::Gain => value.to_string(),
            Form::Rate | Form::Bandwidth | Form::Overhead | Form::TimeOrPackets => value.to_string(),
        };
        self.form
            .read(&written)
            .filter(|number| *number <= f64::from(self.most) && *number >= f64::from(self.least))?;
        Some(written)
    }
}

/// Forebay's time `value` in ns.
fn nanos(value: &str) -> Option<u64> {
    let (number, unit) = read::real(value)?;
    let unit = [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)].into_iter().find(|(name, _)| *name == unit)?.1;
    Some(libm::rint(number * unit) as u64)
}

/// The time `value` of Forebay's parameters in tc's notation, rounded down to microseconds.
pub fn time(value: &str) -> Option<String> {
    let micros = nanos(value)? / 1000;
    Some(match micros {
        0 => "0us".to_string(),
        whole if whole.is_multiple_of(1_000_000) => format!("{}s", whole / 1_000_000),
        whole if whole.is_multiple_of(1000) => format!("{}ms", whole / 1000),
        whole => format!("{whole}us"),
    })
}

impl Step {
    /// The time in ns that the kernel uses for `asked`.
    pub(super) fn of(self, asked: u64) -> u64 {
        match self {
            Self::Exact => asked,
            Self::Down(step) => asked - asked % step,
            Self::Up(step) => asked.next_multiple_of(step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    /// The arguments of tc for `settings`, and what the kernel rounds.
    fn of(settings: &str) -> (String, Vec<Rounded>) {
        let spec = Spec::parse(settings).unwrap();
        let tc = spec.entry().tc.unwrap();
        let usual = Spec::parse(&format!("{} {}", spec.name(), tc.defaults)).unwrap();
        let arguments = tc.arguments(&|key| spec.get(key), &|key| usual.get(key));
        let rounded = tc.rounded(&arguments);
        (arguments.join(" "), rounded)
    }

    #[test]
    fn arguments_are_the_inverse_of_translation() {
        for (name, arguments) in [
            ("fq_codel", "target 3ms"),
            ("fq_codel", "target 3ms interval 50ms limit 1000 flows 64 quantum 300 ce_threshold 1ms noecn"),
            ("codel", "target 2500us ecn"),
            ("pie", "target 20ms tupdate 30ms alpha 4 beta 10 bytemode ecn"),
            ("fq_pie", "limit 500 target 1s ecn_prob 20"),
            ("sfb", "rehash 30000 max 30 increment 0.001"),
            ("dualpi2", "target 5ms coupling_factor 3 classic_protection 20"),
            ("red", "limit 60000b min 9000b max 27000b avpkt 1000b burst 20 probability 0.1 ecn"),
            ("choke", "limit 500 min 20 max 60 burst 40 probability 0.05"),
            ("droptail", "limit 50"),
            ("cake", "bandwidth 20mbit rtt 30ms besteffort dual-srchost ack-filter"),
        ] {
            let extra = if name == "choke" { " bandwidth 10mbit" } else { "" };
            let spec = Spec::parse(&format!("{name} {arguments}{extra}")).unwrap();
            let (back, _) = of(&spec.canonical());
            let again = Spec::parse(&format!("{name} {back}{extra}")).unwrap_or_else(|bad| panic!("{back}: {bad}"));
            assert_eq!(again.canonical(), spec.canonical(), "{back}");
            let words = |text: &str| text.split(' ').count();
            assert_eq!(words(&back), words(arguments), "{back}");
        }
    }

    #[test]
    fn values_that_cannot_differ_from_linux_are_left_out() {
        assert_eq!(of("fq_codel preset=linux").0, "");
        assert_eq!(of("cake preset=linux").0, "");
    }

    /// sch_codel counts in 1024 ns, sch_pie in 64 ns and jiffies of 4 ms (CONFIG_HZ=250).
    #[test]
    fn times_that_the_kernel_rounds_are_found() {
        let rounded = |settings: &str| of(settings).1.iter().map(|it| (it.word, it.used)).collect::<Vec<_>>();
        assert_eq!(rounded("fq_codel preset=linux target=3ms"), [("target", 2_999_296)]);
        assert_eq!(rounded("pie preset=linux target=20ms tupdate=30ms"), [("tupdate", 32_000_000)]);
        assert_eq!(rounded("codel preset=linux target=1024us interval=1024ms"), []);
    }
}
