//! Qdiscs of Linux as disciplines: `linux:fq_codel limit 1000`, with the parameters of tc(8). They run in a Linux kernel
//! (`forebay run --on linux`), not in the simulator. Their parameters are checked there.

use std::sync::{PoisonError, RwLock};

use forebay_aqm::Spec;
use forebay_aqm::base::design::{About, Cost, DisciplineKind, Entry, Order, Probes};
use forebay_aqm::base::discipline::Aqm;
use forebay_aqm::base::own::{Own, OwnDiscipline, OwnParameters};
use forebay_aqm::base::params::ParamError;
use forebay_aqm::base::tc::in_words_of_tc;
use forebay_aqm::base::units::Link;

/// What the name of such a discipline begins with.
pub const PREFIX: &str = "linux:";

static KNOWN: RwLock<Vec<Own>> = RwLock::new(Vec::new());

/// Stands for the qdisc where a discipline is built before a run. It accepts every packet.
struct StandIn;

impl Aqm for StandIn {}
impl Probes for StandIn {}

/// The parameters in the words of tc(8).
struct TcWords;

impl OwnParameters for TcWords {
    fn get(&self, _: &str) -> Option<String> {
        None
    }

    fn build(&self, _: &Link) -> OwnDiscipline {
        OwnDiscipline::aqm(StandIn)
    }
}

fn own(name: &str) -> Own {
    static ABOUT: About = About { summary: "a qdisc of Linux", source: "", rule: "", deviations: &[] };
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(own) = known.iter().find(|own| own.entry().name == name) {
        return own.clone();
    }
    let entry = Entry {
        // One for each qdisc, for the life of the program.
        name: Box::leak(name.into()),
        kind: DisciplineKind::Aqm,
        variant_of: None,
        about: &ABOUT,
        params: &[],
        presets: &[],
        tc: None,
        probes: &[],
        order: Order::Lists(1),
        cost: Cost::Light,
    };
    let own = Own::made(entry, |words| {
        let written = words.iter().filter(|word| !word.is_empty()).map(|word| format!(" {word}")).collect();
        Ok((written, TcWords))
    });
    known.push(own.clone());
    own
}

/// Reads a discipline whose name begins with [`PREFIX`]; `None` for others.
///
/// # Errors
/// Nothing follows the prefix.
pub fn parse(text: &str) -> Option<Result<Spec, ParamError>> {
    let (name, words) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let qdisc = name.strip_prefix(PREFIX)?;
    if qdisc.is_empty() {
        let accepts = "a qdisc of Linux, such as linux:fq_codel".into();
        return Some(Err(ParamError { key: "aqm".into(), found: text.into(), accepts, hint: None }));
    }
    let words = in_words_of_tc(words);
    Some(Spec::own(&own(name), &[&words]))
}

/// The qdisc and its parameters of such a discipline, in the words of tc(8); `None` for others.
pub fn words(spec: &Spec) -> Option<String> {
    spec.canonical().strip_prefix(PREFIX).map(in_words_of_tc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_text_is_read_back() {
        let spec = parse("linux:fq_codel  limit 1000 flows 1000").unwrap().unwrap();
        assert_eq!(parse(&spec.canonical()).unwrap().unwrap(), spec);
        assert_eq!(words(&spec).unwrap(), "fq_codel limit 1000 flows 1000");
    }

    #[test]
    fn settings_with_equals_signs_are_words_of_tc() {
        let spec = parse("linux:fq_codel limit=20 target=5ms ecn=off").unwrap().unwrap();
        assert_eq!(words(&spec).unwrap(), "fq_codel limit 20 target 5ms");
    }

    #[test]
    fn other_disciplines_are_not_linux_qdiscs() {
        assert!(parse("codel target=5ms").is_none());
        assert!(parse("linux:").unwrap().is_err());
        assert_eq!(words(&Spec::default()), None);
    }
}
