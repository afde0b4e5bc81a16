//! The grammar of tc-cake(8), and the presets.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::overhead;
use crate::base::design::Preset;
use crate::base::params::{ParamError, Value};
use crate::base::tc::{Form, Lookup, Setting, Tail, Tc, Typed, Words, sets};
use crate::base::text::BadValue;
use crate::base::units::Rate;

/// Rate of the shaper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bandwidth {
    /// There is no shaper.
    Unlimited,
    /// That of the link when the parameters are set.
    Link,
    /// At this rate.
    At(Rate),
}

impl Value for Bandwidth {
    const ACCEPTS: &'static str = Rate::ACCEPTS;
    const UNIT: &'static str = Rate::UNIT;
    const INSTEAD: Option<&'static str> = Some("unlimited, link");
    const RANGE_IN: Option<&'static str> = Rate::RANGE_IN;

    fn parse(text: &str) -> Result<Self, BadValue> {
        match text.trim() {
            "unlimited" => return Ok(Self::Unlimited),
            "link" => return Ok(Self::Link),
            _ => {}
        }
        let accepts =
            |bad: BadValue| BadValue { accepts: format!("unlimited, link, or {}", bad.accepts).into(), ..bad };
        Rate::parse(text).map(Self::At).map_err(accepts)
    }

    fn show(&self) -> String {
        match self {
            Self::Unlimited => "unlimited".to_string(),
            Self::Link => "link".to_string(),
            Self::At(rate) => rate.show(),
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Unlimited | Self::Link => None,
            Self::At(rate) => rate.number(),
        }
    }
}

/// The presets: the defaults of tc, and its keywords for the round trip, such as `internet`.
pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "linux",
        settings: "ecn=on bandwidth=unlimited autorate=off rtt=100ms tins=diffserv3 flows=triple-isolate wash=off \
                   ack_filter=off memlimit=auto overhead=raw mpu=auto ingress=off mtu=1514b memory=skb hash=salted \
                   hard_limit=15503360b",
        source: "Linux sch_cake on Ethernet: tc's defaults; the buffer is the largest memory",
    },
    rtt("datacentre", "rtt=100us"),
    rtt("lan", "rtt=1ms"),
    rtt("metro", "rtt=10ms"),
    rtt("regional", "rtt=30ms"),
    rtt("internet", "rtt=100ms"),
    rtt("oceanic", "rtt=300ms"),
    rtt("satellite", "rtt=1000ms"),
    rtt("interplanetary", "rtt=1000s"),
];

const fn rtt(name: &'static str, settings: &'static str) -> Preset {
    Preset { name, settings, source: "tc-cake(8)" }
}

const RATES: Words = &[
    ("bandwidth", sets(Form::Bandwidth, "bandwidth").but_zero()),
    ("unlimited", Tail::Flag("bandwidth=unlimited")),
    ("autorate-ingress", Tail::Keyword),
];
const TIMES: Words = &[
    ("rtt", sets(Form::Time, "rtt").but_zero()),
    ("datacentre", Tail::Flag("rtt=100us")),
    ("lan", Tail::Flag("rtt=1ms")),
    ("metro", Tail::Flag("rtt=10ms")),
    ("regional", Tail::Flag("rtt=30ms")),
    ("internet", Tail::Flag("rtt=100ms")),
    ("oceanic", Tail::Flag("rtt=300ms")),
    ("satellite", Tail::Flag("rtt=1000ms")),
    ("interplanetary", Tail::Flag("rtt=1000s")),
];
const TINS: Words = &[
    ("besteffort", Tail::Flag("tins=besteffort")),
    ("precedence", Tail::Flag("tins=precedence")),
    ("diffserv8", Tail::Flag("tins=diffserv8")),
    ("diffserv4", Tail::Flag("tins=diffserv4")),
    ("diffserv", Tail::Flag("tins=diffserv4")),
    ("diffserv3", Tail::Flag("tins=diffserv3")),
];
const FLOWS: Words = &[
    ("flowblind", Tail::Flag("flows=flowblind")),
    ("srchost", Tail::Flag("flows=srchost")),
    ("dsthost", Tail::Flag("flows=dsthost")),
    ("hosts", Tail::Flag("flows=hosts")),
    ("flows", Tail::Flag("flows=flows")),
    ("dual-srchost", Tail::Flag("flows=dual-srchost")),
    ("dual-dsthost", Tail::Flag("flows=dual-dsthost")),
    ("triple-isolate", Tail::Flag("flows=triple-isolate")),
    ("nat", Tail::Moot("addresses are not translated here")),
    ("nonat", Tail::Moot("addresses are not translated here")),
];
const REST: Words = &[
    ("wash", Tail::Flag("wash=on")),
    ("nowash", Tail::Flag("wash=off")),
    ("split-gso", Tail::Moot("there are no super-packets here")),
    ("no-split-gso", Tail::Moot("there are no super-packets here")),
    ("ack-filter", Tail::Flag("ack_filter=on")),
    ("ack-filter-aggressive", Tail::Flag("ack_filter=aggressive")),
    ("no-ack-filter", Tail::Flag("ack_filter=off")),
    ("ingress", Tail::Flag("ingress=on")),
    ("egress", Tail::Flag("ingress=off")),
    ("memlimit", sets(Form::Size, "memlimit").but_zero()),
    ("fwmark", Tail::Ignored(Form::Count, "there are no marks of a firewall here")),
];
const OVERHEADS: Words = &[
    ("overhead", Tail::Late(Form::Overhead)),
    ("mpu", Tail::Late(Form::Count)),
    ("raw", Tail::Keyword),
    ("conservative", Tail::Keyword),
    ("ipoa-vcmux", Tail::Keyword),
    ("ipoa-llcsnap", Tail::Keyword),
    ("bridged-vcmux", Tail::Keyword),
    ("bridged-llcsnap", Tail::Keyword),
    ("pppoa-vcmux", Tail::Keyword),
    ("pppoa-llc", Tail::Keyword),
    ("pppoe-vcmux", Tail::Keyword),
    ("pppoe-llcsnap", Tail::Keyword),
    ("pppoe-ptm", Tail::Keyword),
    ("bridged-ptm", Tail::Keyword),
    ("docsis", Tail::Keyword),
    ("ethernet", Tail::Keyword),
    ("ether-vlan", Tail::Keyword),
    ("via-ethernet", Tail::Keyword),
    ("atm", Tail::Keyword),
    ("ptm", Tail::Keyword),
    ("noatm", Tail::Keyword),
];

/// The arguments of tc.
pub(super) const TC: Tc = Tc {
    defaults: "preset=linux",
    groups: &[RATES, TIMES, TINS, FLOWS, REST, OVERHEADS],
    needs: &[],
    together: Some(together),
    late: Some(late),
};

/// Largest minimum packet unit in bytes (tc).
const MOST_MPU: f64 = 256.0;

/// The arguments whose effect depends on others: overhead, mpu, autorate, presets of the round trip.
fn together(all: &[Typed]) -> Result<Vec<Setting>, ParamError> {
    let is_preset = |typed: &&Typed| TIMES[1..].iter().any(|(name, _)| *name == typed.word);
    let mut presets = all.iter().filter(is_preset);
    if let (Some(first), Some(second)) = (presets.next(), presets.next()) {
        return Err(second.wrong(format!("only one of them: {} is given too", first.word), None));
    }
    let mut settings = Vec::new();
    let (mut words, mut mpu, mut last) = (Vec::new(), None, None);
    for typed in all {
        match typed.word.as_str() {
            "overhead" => {
                words.push(typed.value.trim_start_matches('+').to_string());
                last = Some(typed);
            }
            "mpu" if typed.number > MOST_MPU => return Err(typed.wrong("a whole number from 0 to 256", None)),
            // mpu 0 is not sent to the kernel.
            "mpu" if typed.number > 0.0 => mpu = Some(typed),
            "docsis" | "ethernet" => {
                mpu = None;
                words.push(typed.word.clone());
                last = Some(typed);
            }
            word if overhead::keywords().any(|keyword| keyword == word) => {
                words.push(typed.word.clone());
                last = Some(typed);
            }
            _ => {}
        }
    }
    if let Some(typed) = last {
        settings.push(typed.sets(format!("overhead={}", words.join("/"))));
    }
    if let Some(typed) = mpu {
        settings.push(typed.sets(format!("mpu={}b", typed.number)));
    }
    // A later bandwidth switches autorate off.
    let is_rate = |typed: &&Typed| matches!(typed.word.as_str(), "bandwidth" | "unlimited" | "autorate-ingress");
    if let Some(typed) = all.iter().rfind(is_rate).filter(|typed| typed.word == "autorate-ingress") {
        settings.push(typed.sets("autorate=on"));
    }
    Ok(settings)
}

/// The arguments for overhead, mpu and autorate.
fn late(now: Lookup, usual: Lookup) -> Vec<String> {
    let changed = |key: &str| now(key).filter(|value| usual(key).as_ref() != Some(value));
    let word = |word: &str| if word.parse::<i32>().is_ok() { format!("overhead {word}") } else { word.to_string() };
    let mut out: Vec<String> = changed("overhead").iter().flat_map(|words| words.split('/')).map(word).collect();
    out.extend(changed("mpu").and_then(|mpu| Some(format!("mpu {}", mpu.strip_suffix('b')?))));
    out.extend(changed("autorate").filter(|on| on == "on").map(|_| "autorate-ingress".to_string()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    fn of(words: &str, key: &str) -> String {
        Spec::parse(&format!("cake {words}")).unwrap_or_else(|bad| panic!("{words}: {bad}")).get(key).unwrap()
    }

    /// iproute2 6.1.0 printed these.
    #[test]
    fn arguments_have_the_meaning_of_tc() {
        for (words, key, value) in [
            ("bandwidth 10mbit", "bandwidth", "10mbit"),
            ("bandwidth 100", "bandwidth", "96bit"),
            ("bandwidth 10mbps", "bandwidth", "80mbit"),
            ("bandwidth 1.5mbit", "bandwidth", "1.5mbit"),
            ("bandwidth 10mibit", "bandwidth", "10485.76kbit"),
            ("bandwidth 80gbit", "bandwidth", "80gbit"),
            ("bandwidth 0", "bandwidth", "unlimited"),
            ("bandwidth 10mbit unlimited", "bandwidth", "unlimited"),
            ("bandwidth 10mbit autorate-ingress", "autorate", "on"),
            ("autorate-ingress bandwidth 10mbit", "autorate", "off"),
            ("rtt 50", "rtt", "50us"),
            ("rtt 0", "rtt", "100ms"),
            ("satellite rtt 50ms", "rtt", "50ms"),
            ("rtt 50ms satellite", "rtt", "1s"),
            ("diffserv", "tins", "diffserv4"),
            ("besteffort diffserv4", "tins", "diffserv4"),
            ("hosts flows", "flows", "flows"),
            ("overhead -64", "overhead", "-64"),
            ("ethernet ether-vlan", "overhead", "ethernet/ether-vlan"),
            ("mpu 256", "mpu", "256b"),
            ("mpu 100 docsis", "mpu", "auto"),
            ("docsis mpu 100", "mpu", "100b"),
            ("mpu 0", "mpu", "auto"),
            ("memlimit 100kb", "memlimit", "102400b"),
            ("ingress egress", "ingress", "off"),
            ("ack-filter-aggressive nat split-gso fwmark 0xff00", "ack_filter", "aggressive"),
            ("besteffort", "hard_limit", "15503360b"),
        ] {
            assert_eq!(of(words, key), value, "{words}");
        }
    }

    #[test]
    fn wrong_arguments_are_refused_with_accepted_values() {
        for (words, error) in [
            ("overhead 257", "overhead: found '257', expected a whole number of bytes from -64 to 256"),
            ("overhead 1k", "overhead: found '1k', expected a whole number of bytes from -64 to 256"),
            ("mpu 257", "mpu: found '257', expected a whole number from 0 to 256"),
            ("mpu -1", "mpu: found '-1', expected a whole number"),
            ("bandwidth -5mbit", "bandwidth: found '-5mbit', expected a rate such as 10mbit"),
            ("bandwidth 10mib", "bandwidth: found '10mib', expected a rate such as 10mbit"),
            ("bandwidth 50%", "bandwidth: found '50%', expected a rate such as 10mbit"),
            ("bandwidth", "bandwidth: found '', expected a value after bandwidth"),
            ("rtt abc", "rtt: found 'abc', expected a time"),
            ("internet lan", "lan: found 'lan', expected only one of them: internet is given too"),
            ("target 5ms", "target: found 'target', expected one of the tc arguments"),
            ("docis", "docis: found 'docis', expected one of the tc arguments"),
            ("memlimit 4g", "memlimit: found '4g', expected a size in bytes"),
            ("fwmark x", "fwmark: found 'x', expected a whole number"),
            ("bandwidth=0mbit", "bandwidth: found '0mbit', expected unlimited, link, or a rate such as 15mbit"),
            ("overhead=docis", "overhead: found 'docis', expected keywords and bytes"),
            ("mpu=257b", "mpu: found '257b', expected auto, or a size such as 1500b or 160kb, from 0 to 256 bytes"),
        ] {
            let found =
                Spec::parse(&format!("cake {words}")).map_or_else(|bad| bad.to_string(), |spec| spec.canonical());
            assert!(found.starts_with(error), "{words}: {found}");
        }
    }
}
