//! How a discipline describes itself: one declaration for CLI, scenario files, Python and docs.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::base::ladder::BareLaw;
use crate::base::params::{ParamSet, ParamSpec};
use crate::base::tc::Tc;
use crate::base::units::Link;

/// The words about a discipline that its parameters cannot say.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// One line.
    pub summary: &'static str,
    /// Where the rule was published.
    pub source: &'static str,
    /// The rule itself, as short as the paper's listing.
    pub rule: &'static str,
    /// Numbered differences from the source.
    pub deviations: &'static [&'static str],
}

/// A named set of parameter values.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// `paper`, `ns2`, `linux`, `rfc...`
    pub name: &'static str,
    /// `key=value ...`, applied before the user's own.
    pub settings: &'static str,
    /// Where the values come from.
    pub source: &'static str,
}

/// One plottable piece of internal state.
#[derive(Clone, Copy, Debug)]
pub struct ProbeSpec {
    /// Name after the discipline's: `p` of `raqm.p`.
    pub name: &'static str,
    /// Unit, `1` if none.
    pub unit: &'static str,
    /// Meaning.
    pub doc: &'static str,
    /// What it may read.
    pub readings: Readings,
}

/// Between which ends a probe reads.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Readings {
    /// From 0 on.
    #[default]
    Amount,
    /// Any number: what a scheduler owes, a count that starts at -1.
    Signed,
    /// From 0 to 1: a probability, or a root or an average of some.
    Probability,
    /// 0 or 1: whether something is so.
    Switch,
}

impl Readings {
    /// The least and the greatest.
    pub const fn ends(self) -> [f64; 2] {
        match self {
            Self::Amount => [0.0, f64::MAX],
            Self::Signed => [f64::MIN, f64::MAX],
            Self::Probability | Self::Switch => [0.0, 1.0],
        }
    }

    /// May it read `value`?
    pub fn allow(self, value: f64) -> bool {
        let [least, most] = self.ends();
        (least..=most).contains(&value) && (self != Self::Switch || value == 0.0 || value == 1.0)
    }
}

/// In which order packets must leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// As if from so many FIFO lists: 1 for a plain FIFO.
    Lists(usize),
    /// FIFO within each flow.
    PerFlow,
    /// Any.
    Free,
}

/// What a discipline promises beyond the rules for all.
#[derive(Clone, Copy, Debug)]
pub struct Promises {
    /// The order of delivered packets.
    pub order: Order,
    /// ECT packets may be marked; otherwise nothing ever is.
    pub ecn: bool,
    /// An arrival that finds nothing queued, and room, is neither dropped nor marked.
    pub spares_empty: bool,
}

/// What a packet may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// One average or probability for all packets.
    Light,
    /// A decision at both ends of the queue, or memory of each flow.
    Heavy,
}

impl Cost {
    /// Nanoseconds that a packet should cost at most.
    pub const fn goal_ns(self) -> u32 {
        match self {
            Self::Light => 20,
            Self::Heavy => 40,
        }
    }
}

/// Readable internal state.
pub trait Probes {
    /// What there is.
    const PROBES: &'static [ProbeSpec] = &[];

    /// The present value of `PROBES[index]`; NaN where there is none.
    fn probe(&self, _index: usize) -> f64 {
        f64::NAN
    }
}

/// A discipline with its parameters and its words: what the registry needs.
pub trait Design: Sized {
    /// Its knobs.
    type Params: ParamSet;
    /// Its words.
    const ABOUT: About;
    /// Its presets.
    const PRESETS: &'static [Preset] = &[];
    /// The words that tc(8) has for it.
    const TC: Option<Tc> = None;
    /// The order in which its packets leave.
    const ORDER: Order = Order::Lists(1);
    /// What a packet may cost.
    const COST: Cost = Cost::Light;

    /// Is an arrival that finds nothing queued, and room, neither dropped nor marked?
    fn spares_empty(_params: &Self::Params) -> bool {
        false
    }

    /// Are ECT packets marked where `ecn` is off too?
    fn marks_without_ecn(_params: &Self::Params) -> bool {
        false
    }

    /// Rules between parameters, and between parameters and the link: what is wrong, in one line.
    fn check(_params: &Self::Params) -> Result<(), String> {
        Ok(())
    }

    /// A fresh instance for `link`.
    fn build(params: &Self::Params, link: &Link) -> Self;

    /// The same with other parameters, in the state that it is in: for what is tuned while it runs. `None`: it cannot be.
    fn retuned(&self, _params: &Self::Params, _link: &Link) -> Option<Self> {
        None
    }

    /// What a fluid meets in its place: for models of what is no law itself. `None` if there is none.
    fn fluid(_params: &Self::Params, _link: &Link) -> Option<Box<dyn BareLaw>> {
        None
    }

    /// The shares to which it holds classes in one queue: for models. `None` if it does not.
    fn shares(_params: &Self::Params, _link: &Link) -> Option<Shares> {
        None
    }
}

/// The shares to which a discipline holds the classes in one queue.
#[derive(Clone, PartialEq, Debug)]
pub struct Shares {
    /// Of each class, from class 0.
    pub of: Vec<Share>,
    /// Does what is dropped count as well?
    pub offered: bool,
}

/// The share of a class, and the threshold on the queue that holds it there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share {
    /// Of the link, in parts of 1.
    pub phi: f64,
    /// How fast the threshold follows, in packets of it for each packet of traffic.
    pub alpha: f64,
    /// The threshold at the start, in packets.
    pub threshold_pkts: f64,
    /// The smallest and the largest that it may be, in packets.
    pub bounds_pkts: [f64; 2],
}

/// The trait that a discipline implements, and the folder that it is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rung {
    /// [`Law`](crate::base::ladder::Law): sees counters.
    Law,
    /// [`Aqm`](crate::base::ladder::Aqm): sees packets.
    Aqm,
    /// [`Discipline`](crate::base::ladder::Discipline): has its own queues.
    Queue,
}

impl Rung {
    /// `law`, `aqm` or `queue`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Law => "law",
            Self::Aqm => "aqm",
            Self::Queue => "queue",
        }
    }
}

/// A registry line, for listings.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The discipline's name.
    pub name: &'static str,
    /// The trait it implements.
    pub rung: Rung,
    /// For a variant of another discipline: that one's name and the preset that makes it.
    pub variant_of: Option<(&'static str, &'static str)>,
    /// Its words.
    pub about: &'static About,
    /// Its knobs, after the ones common to all.
    pub params: &'static [ParamSpec],
    /// Its presets.
    pub presets: &'static [Preset],
    /// The words that tc(8) has for it.
    pub tc: Option<Tc>,
    /// Its probes.
    pub probes: &'static [ProbeSpec],
    /// The order in which its packets leave.
    pub order: Order,
    /// What a packet may cost.
    pub cost: Cost,
}

impl Entry {
    /// One line of what it does; a variant is its base with a preset.
    pub fn summary(&self) -> String {
        let Some((base, preset)) = self.variant_of else { return self.about.summary.to_string() };
        let source = self.presets.iter().find(|p| p.name == preset).map_or("", |p| p.source);
        alloc::format!("{base} preset={preset}: {}", source.trim_start_matches("ours: "))
    }
}

/// The probes of a whole and those of a part of it, `N` in all.
pub const fn both<const N: usize>(own: &[ProbeSpec], part: &[ProbeSpec]) -> [ProbeSpec; N] {
    let mut all = [ProbeSpec { name: "", unit: "", doc: "", readings: Readings::Amount }; N];
    let mut n = 0;
    while n < N {
        all[n] = if n < own.len() { own[n] } else { part[n - own.len()] };
        n += 1;
    }
    all
}

/// Declares the probes of a type: name, unit, meaning, what it may read (nothing: 0 or more), and how to read it; after
/// `then` the part whose probes follow.
#[macro_export]
macro_rules! probes {
    ($owner:ty { $( $(#[doc = $doc:expr])+ $name:ident [$unit:literal] $($readings:ident)? = |$it:ident| $read:expr; )* }
        $( then $part:ty = |$whole:ident| $inner:expr )?) => {
        impl $crate::base::design::Probes for $owner {
            const PROBES: &'static [$crate::base::design::ProbeSpec] = {
                const OWN: &[$crate::base::design::ProbeSpec] = &[
                    $( $crate::base::design::ProbeSpec {
                        name: stringify!($name), unit: $unit, doc: concat!($($doc),+),
                        readings: $crate::probes!(@readings $($readings)?),
                    } ),*
                ];
                $crate::probes!(@all OWN $(, $part)?)
            };
            fn probe(&self, index: usize) -> f64 {
                let readers: &[fn(&Self) -> f64] = &[ $( |$it: &Self| $read ),* ];
                let Some(read) = readers.get(index) else {
                    $( let part: fn(&Self) -> &$part = |$whole: &Self| $inner;
                       return $crate::base::design::Probes::probe(part(self), index - readers.len()); )?
                    #[allow(unreachable_code)]
                    return f64::NAN;
                };
                read(self)
            }
        }
    };
    (@all $own:ident) => { $own };
    (@all $own:ident, $part:ty) => {{
        const PART: &[$crate::base::design::ProbeSpec] = <$part as $crate::base::design::Probes>::PROBES;
        const ALL: [$crate::base::design::ProbeSpec; $own.len() + PART.len()] = $crate::base::design::both($own, PART);
        &ALL
    }};
    (@readings) => { $crate::base::design::Readings::Amount };
    (@readings signed) => { $crate::base::design::Readings::Signed };
    (@readings probability) => { $crate::base::design::Readings::Probability };
    (@readings switch) => { $crate::base::design::Readings::Switch };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_belong_to_what_a_probe_may_read() {
        let allowed = [
            (Readings::Amount, &[0.0, 1e300][..], &[-1e-9, f64::INFINITY][..]),
            (Readings::Signed, &[-3.0, 3.0], &[f64::NAN, f64::NEG_INFINITY]),
            (Readings::Probability, &[0.0, 0.5, 1.0], &[1.0 + 1e-9, -1e-9]),
            (Readings::Switch, &[0.0, 1.0], &[0.5, 2.0]),
        ];
        for (readings, inside, outside) in allowed {
            assert!(inside.iter().all(|value| readings.allow(*value)), "{readings:?}");
            assert!(!outside.iter().any(|value| readings.allow(*value)), "{readings:?}");
        }
    }

    #[test]
    fn every_probe_called_a_probability_reads_as_one() {
        let probes = crate::ENTRIES.iter().flat_map(|entry| entry.probes).filter(|probe| probe.unit == "1");
        let called = probes.filter(|probe| probe.doc.to_lowercase().contains("probability"));
        let others: Vec<&str> =
            called.filter(|probe| probe.readings != Readings::Probability).map(|probe| probe.name).collect();
        // What accumulates until a signal is due.
        assert_eq!(others, ["spacing"]);
    }
}
