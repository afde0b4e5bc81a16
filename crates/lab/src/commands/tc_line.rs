//! `forebay explain --tc SPEC`: the command of tc(8) that sets a discipline on a Linux box, and what differs there.

use forebay_aqm::Spec;
use forebay_aqm::base::common::Common;
use forebay_aqm::base::params::{ParamError, ParamSet};
use forebay_aqm::base::tc::{self, Tail, Tc};
use serde::Serialize;

use crate::own;
use crate::scenario::{Found, InputError};

/// A discipline as a command of tc. It is the JSON document of `forebay explain --tc --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TcLine {
    /// Format version, 1.
    pub version: u32,
    /// The command; `DEV` stands for the name of the device.
    pub command: String,
    /// Values that the kernel rounds.
    pub rounded: Vec<Rounded>,
    /// Parameters for which tc has no argument, or whose value tc cannot express.
    pub differs: Vec<Differs>,
    /// Arguments that were given and have no effect here. The command has them all the same.
    pub without_effect: Vec<WithoutEffect>,
}

/// An argument of tc that has no effect here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WithoutEffect {
    /// The argument, with its value.
    pub argument: String,
    /// Why it has no effect.
    pub why: &'static str,
}

/// A value of the command that the kernel rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rounded {
    /// The argument.
    pub argument: &'static str,
    /// The value in the command, in ns.
    pub asked_ns: u64,
    /// The value that the kernel uses, in ns.
    pub used_ns: u64,
}

/// A parameter with another value in Linux.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Differs {
    /// The parameter.
    pub key: &'static str,
    /// Its value in the specification.
    pub here: String,
    /// Its value in Linux after the command.
    pub linux: String,
}

/// The command for a discipline such as `fq_codel target=3ms`.
///
/// # Errors
/// The specification is wrong, tc has no such qdisc, or a required argument is missing.
pub fn line(text: &str) -> Result<TcLine, InputError> {
    // A name alone is a command without arguments.
    let is_name = text.split_whitespace().count() == 1 && !text.contains('=');
    let whole = if is_name { format!("tc qdisc add {}", text.trim()) } else { text.to_string() };
    let spec = own::parse(&whole).map_err(|error| wrong(&error))?;
    let Some((kind, tc)) = qdisc(&spec) else {
        let names: Vec<&str> = forebay_aqm::ENTRIES.iter().filter(|it| it.tc.is_some()).map(|it| it.name).collect();
        let hint = "Linux has no such qdisc; forebay attach runs it on a device".to_string();
        let accepts = format!("a discipline that Linux has: {}", names.join(", "));
        return Err(InputError::new("explain", "--tc", Found::text(spec.name()), accepts).hint(Some(hint)));
    };
    let parsed = |arguments: &str| own::parse(format!("{kind} {arguments}").trim()).map_err(|error| wrong(&error));
    let usual = own::parse(&format!("{} {}", spec.name(), tc.defaults)).map_err(|error| wrong(&error))?;
    let mut arguments = tc.arguments(&|key| spec.get(key), &|key| usual.get(key));
    let rounded = tc.rounded(&arguments);
    if spec.name() == "ared" {
        arguments.push("adaptive".to_string());
    }
    // tc requires CHOKe's bandwidth, and computes something from it that the kernel does not use.
    let mut read = arguments.clone();
    for word in tc.needs.iter().filter(|word| !arguments.iter().any(|it| it.split(' ').next() == Some(**word))) {
        match tc.words().find(|(name, _)| name == word) {
            Some((_, Tail::Ignored(..))) => read.push(format!("{word} 10mbit")),
            Some((_, Tail::Sets(sets))) => {
                let accepts = format!("a value for tc's argument {word}, which tc requires");
                return Err(InputError::new("explain --tc", sets.key(), Found::thing("nothing"), accepts));
            }
            _ => {}
        }
    }
    let linux = if read.is_empty() { usual } else { parsed(&read.join(" "))? };
    let ignored = tc.without_effect(&tc::arguments(text));
    let is_given = |word: &str| ignored.iter().any(|(given, _)| given.split(' ').next() == word.split(' ').next());
    let required = read[arguments.len()..].iter().filter(|it| !is_given(it)).map(|it| it.replace("10mbit", "RATE"));
    let shown = arguments.iter().cloned().chain(required).chain(ignored.iter().map(|(given, _)| given.clone()));
    let arguments = shown.collect::<Vec<String>>().join(" ");
    let keys = spec.entry().params.iter().chain(Common::SPECS).map(|param| param.name);
    let differs = keys.filter_map(|key| {
        let (here, linux) = (spec.get(key)?, linux.get(key)?);
        (here != linux).then_some(Differs { key, here, linux })
    });
    Ok(TcLine {
        version: 1,
        command: format!("tc qdisc replace {} {kind} {arguments}", tc::place(text)).trim_end().to_string(),
        rounded: rounded.iter().map(|it| Rounded { argument: it.word, asked_ns: it.asked, used_ns: it.used }).collect(),
        differs: differs.collect(),
        without_effect: ignored.into_iter().map(|(argument, why)| WithoutEffect { argument, why }).collect(),
    })
}

/// The name of the qdisc in tc, and its grammar.
fn qdisc(spec: &Spec) -> Option<(&'static str, Tc)> {
    let alias = |name| tc::alias(name).map(|(_, tc)| (name, tc));
    let is_on = |key: &str| spec.get(key).is_some_and(|value| value == "on");
    match spec.name() {
        "droptail" if spec.get("hard_limit").is_some_and(|limit| limit.ends_with('b')) => alias("bfifo"),
        "droptail" if is_on("front") => alias("pfifo_head_drop"),
        "droptail" => alias("pfifo"),
        "ared" => spec.entry().tc.map(|tc| ("red", tc)),
        _ => spec.entry().tc.map(|tc| (spec.entry().name, tc)),
    }
}

fn wrong(error: &ParamError) -> InputError {
    InputError::new("explain --tc", &error.key, Found::text(&error.found), error.accepts.to_string())
        .hint(error.hint.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_sets_only_what_differs_from_the_kernel() {
        let found = line("fq_codel preset=linux target=3ms").unwrap();
        assert_eq!(found.command, "tc qdisc replace dev DEV root fq_codel target 3ms");
        assert_eq!(found.rounded, [Rounded { argument: "target", asked_ns: 3_000_000, used_ns: 2_999_296 }]);
        assert_eq!(found.differs, []);
        let bare = line("cake preset=linux").unwrap();
        assert_eq!((bare.command.as_str(), bare.differs.len()), ("tc qdisc replace dev DEV root cake", 0));
    }

    #[test]
    fn command_has_the_name_of_the_qdisc_in_tc() {
        for (spec, command) in [
            ("droptail hard_limit=50p", "pfifo limit 50"),
            ("droptail hard_limit=60000b", "bfifo limit 60000b"),
            ("ared preset=linux hard_limit=60000b mean_packet=1000b", "red limit 60000b avpkt 1000b adaptive"),
        ] {
            let found = line(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
            assert_eq!(found.command, format!("tc qdisc replace dev DEV root {command}"));
        }
    }

    #[test]
    fn arguments_without_effect_are_kept_and_listed() {
        let found =
            line("tc qdisc add dev wan root cake bandwidth 20mbit docsis dual-srchost nat fwmark 0xff00").unwrap();
        let want = "tc qdisc replace dev wan root cake bandwidth 20mbit dual-srchost docsis nat fwmark 0xff00";
        assert_eq!((found.command.as_str(), found.without_effect.len()), (want, 2));
        let leaf = line("tc qdisc add dev eth0 parent 1:10 handle 110: fq_codel").unwrap();
        assert_eq!(leaf.command, "tc qdisc replace dev eth0 parent 1:10 handle 110: fq_codel");
        assert_eq!(
            (line("pie").unwrap().command.as_str(), leaf.differs),
            ("tc qdisc replace dev DEV root pie", vec![])
        );
        let choke = line("choke limit 500 min 100 max 300 avpkt 1000 bandwidth 10mbit").unwrap().command;
        assert!(choke.ends_with(" bandwidth 10mbit") && choke.matches("bandwidth").count() == 1, "{choke}");
    }

    #[test]
    fn rate_stays_automatic_in_the_command() {
        let found = line("cake bandwidth 10mbit autorate-ingress").unwrap();
        assert_eq!(
            (found.command.as_str(), found.differs.len()),
            ("tc qdisc replace dev DEV root cake bandwidth 10mbit autorate-ingress", 0)
        );
    }

    #[test]
    fn settings_without_an_argument_of_tc_are_listed() {
        let found = line("codel target=3ms").unwrap();
        let keys: Vec<&str> = found.differs.iter().map(|it| it.key).collect();
        assert!(keys.contains(&"hard_limit"), "{found:?}");
        assert!(line("raqm").unwrap_err().to_string().contains("a discipline that Linux has"));
        assert!(line("red preset=linux").unwrap_err().to_string().contains("hard_limit"), "tc requires it");
        let choke = line("choke preset=linux hard_limit=500p").unwrap().command;
        assert!(choke.contains(" limit 500") && choke.ends_with(" bandwidth RATE"), "{choke}");
    }
}
