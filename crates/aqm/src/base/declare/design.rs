//! What a discipline declares about itself: summary, presets, readable variables (probes), guarantees, CPU cost,
//! constructor. The command line, scenario files, Python and the documentation use this.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::base::discipline::BareLaw;
use crate::base::params::{ParamSet, ParamSpec};
use crate::base::tc::Tc;
use crate::base::units::Link;

/// Texts about a discipline.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// What the discipline does, in one line.
    pub summary: &'static str,
    /// Publication or source code that defines the discipline.
    pub source: &'static str,
    /// The rule in pseudocode.
    pub rule: &'static str,
    /// Differences from the source, one per item.
    pub deviations: &'static [&'static str],
}

/// A named set of parameter values.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The preset's name: `paper`, `ns2`, `linux`, `rfc...`
    pub name: &'static str,
    /// The values as text, `key=value ...`. They are applied before the user's settings.
    pub settings: &'static str,
    /// Where the values come from.
    pub source: &'static str,
}

/// A probe: a readable variable of a discipline's internal state, such as its drop probability.
#[derive(Clone, Copy, Debug)]
pub struct ProbeSpec {
    /// Name without the discipline: `p` in `raqm.p`.
    pub name: &'static str,
    /// Unit, `1` if none.
    pub unit: &'static str,
    /// What the value means.
    pub doc: &'static str,
    /// Range of its values.
    pub readings: Readings,
    /// For a variable of one of several equal parts, such as a tin: the number of the part. The name ends in it.
    pub part: Option<u8>,
}

impl ProbeSpec {
    const NONE: Self = Self { name: "", unit: "", doc: "", readings: Readings::Amount, part: None };

    /// The name for a table with one row for all parts: `drops_N` for `drops_0`, `None` for `drops_1`.
    pub fn common_name(&self) -> Option<String> {
        match self.part {
            None => Some(self.name.into()),
            Some(0) => Some(alloc::format!("{}_N", self.name.trim_end_matches("_0"))),
            Some(_) => None,
        }
    }
}

/// The range of a probe's values.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Readings {
    /// At least 0.
    #[default]
    Amount,
    /// Any number, such as a scheduler's credit or a count that starts at -1.
    Signed,
    /// 0 to 1: a probability, or a root or average of probabilities.
    Probability,
    /// 0 or 1: off or on.
    Switch,
}

impl Readings {
    /// The smallest and the largest value.
    pub const fn ends(self) -> [f64; 2] {
        match self {
            Self::Amount => [0.0, f64::MAX],
            Self::Signed => [f64::MIN, f64::MAX],
            Self::Probability | Self::Switch => [0.0, 1.0],
        }
    }

    /// Whether `value` is allowed.
    pub fn allow(self, value: f64) -> bool {
        let [least, most] = self.ends();
        (least..=most).contains(&value) && (self != Self::Switch || value == 0.0 || value == 1.0)
    }
}

/// The order of departures that a discipline guarantees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// FIFO within each of this number of queues (lists); 1 for a plain FIFO.
    Lists(usize),
    /// FIFO within each flow.
    PerFlow,
    /// Any order.
    Free,
}

/// Guarantees of a discipline beyond those of all disciplines.
#[derive(Clone, Copy, Debug)]
pub struct Promises {
    /// The order of delivered packets.
    pub order: Order,
    /// ECT packets may be marked; if false, no packet is ever marked.
    pub ecn: bool,
    /// An arrival that fits into an empty queue is neither dropped nor marked.
    pub spares_empty: bool,
}

/// Class of the CPU time that a discipline takes per packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// One average or probability for all packets.
    Light,
    /// Decisions at both arrival and departure, or per-flow state.
    Heavy,
}

impl Cost {
    /// Target for the largest CPU time per packet, in ns.
    pub const fn goal_ns(self) -> u32 {
        match self {
            Self::Light => 20,
            Self::Heavy => 40,
        }
    }
}

/// Readable internal state of a discipline.
pub trait Probes {
    /// The readable variables (probes).
    const PROBES: &'static [ProbeSpec] = &[];

    /// The current value of `PROBES[index]`; NaN if there is none.
    fn probe(&self, _index: usize) -> f64 {
        f64::NAN
    }
}

/// The declaration of a discipline, as the registry needs it.
pub trait Design: Sized {
    /// The parameters of the discipline, declared with `params!`.
    type Params: ParamSet;
    /// Summary, the publication or code that it implements, rule in pseudocode, and differences from that publication.
    const ABOUT: About;
    /// The presets: named sets of parameter values.
    const PRESETS: &'static [Preset] = &[];
    /// The arguments of tc(8) for it; `None` if tc does not have it.
    const TC: Option<Tc> = None;
    /// The order of departures.
    const ORDER: Order = Order::Lists(1);
    /// The class of its CPU time per packet.
    const COST: Cost = Cost::Light;

    /// Whether an arrival that fits into an empty queue is neither dropped nor marked.
    fn spares_empty(_params: &Self::Params) -> bool {
        false
    }

    /// Whether ECT packets can be marked although `ecn` is off.
    fn marks_without_ecn(_params: &Self::Params) -> bool {
        false
    }

    /// Checks parameters against each other. The error text says what is required; it is printed after "expected".
    fn check(_params: &Self::Params) -> Result<(), String> {
        Ok(())
    }

    /// A new instance for `link`.
    fn build(params: &Self::Params, link: &Link) -> Self;

    /// Changes parameters at run time and keeps the state. `None` if that is not possible.
    fn retuned(&self, _params: &Self::Params, _link: &Link) -> Option<Self> {
        None
    }

    /// Whether a law signals service classes differently (`Law::of_class`). Fluid models and the command `forebay
    /// attach`, which have one signal for all packets, refuse such a law.
    fn has_classes(_params: &Self::Params) -> bool {
        false
    }

    /// Number of probes that have a meaning with these parameters. The ones after them are not recorded.
    fn probes(_params: &Self::Params) -> usize {
        usize::MAX
    }

    /// A control law for fluid models, for disciplines that are not laws. `None` if there is none.
    fn fluid(_params: &Self::Params, _link: &Link) -> Option<Box<dyn BareLaw>> {
        None
    }

    /// The shares of the link that the discipline enforces for service classes in a common queue, for `forebay theory`.
    /// `None` if there are none.
    fn shares(_params: &Self::Params, _link: &Link) -> Option<Shares> {
        None
    }
}

/// The shares of the link that a discipline enforces for service classes in a common queue.
#[derive(Clone, PartialEq, Debug)]
pub struct Shares {
    /// The share of each class, from class 0.
    pub of: Vec<Share>,
    /// Whether dropped packets count as traffic of their class, in addition to accepted ones.
    pub offered: bool,
}

/// The share of a class, and the threshold on the queue that enforces it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share {
    /// Share of the link, 0 to 1.
    pub phi: f64,
    /// Gain of the threshold: its decrease in packets per packet of traffic.
    pub alpha: f64,
    /// Initial threshold in packets.
    pub threshold_pkts: f64,
    /// Smallest and largest threshold in packets.
    pub bounds_pkts: [f64; 2],
}

/// The kind of a discipline: the trait it implements, and the folder of its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DisciplineKind {
    /// [`Law`](crate::base::discipline::Law): reads counters.
    Law,
    /// [`Aqm`](crate::base::discipline::Aqm): decides per packet.
    Aqm,
    /// [`Discipline`](crate::base::discipline::Discipline): owns its queues.
    Queue,
}

impl DisciplineKind {
    /// `law`, `aqm` or `queue`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Law => "law",
            Self::Aqm => "aqm",
            Self::Queue => "queue",
        }
    }
}

/// The registry's description of a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The discipline's name on the command line and in scenario files.
    pub name: &'static str,
    /// The trait that the discipline implements.
    pub kind: DisciplineKind,
    /// For a variant, which is another discipline with a preset: the name of that discipline, and the preset.
    pub variant_of: Option<(&'static str, &'static str)>,
    /// Summary, the publication or code that it implements, rule in pseudocode, and differences from that publication.
    pub about: &'static About,
    /// Its parameters, without those that all disciplines have.
    pub params: &'static [ParamSpec],
    /// The presets: named sets of parameter values.
    pub presets: &'static [Preset],
    /// The arguments of tc(8) for it; `None` if tc does not have it.
    pub tc: Option<Tc>,
    /// The readable variables of its state (probes).
    pub probes: &'static [ProbeSpec],
    /// The order of departures.
    pub order: Order,
    /// The class of its CPU time per packet.
    pub cost: Cost,
}

impl Entry {
    /// What the discipline does, in one line; for a variant: the other discipline and the preset.
    pub fn summary(&self) -> String {
        let Some((base, preset)) = self.variant_of else { return self.about.summary.to_string() };
        let source = self.presets.iter().find(|p| p.name == preset).map_or("", |p| p.source);
        alloc::format!("{base} preset={preset}: {}", source.trim_start_matches("ours: "))
    }
}

/// Concatenates two lists of probes, `N` in total.
pub const fn both<const N: usize>(own: &[ProbeSpec], part: &[ProbeSpec]) -> [ProbeSpec; N] {
    let mut all = [ProbeSpec::NONE; N];
    let mut n = 0;
    while n < N {
        all[n] = if n < own.len() { own[n] } else { part[n - own.len()] };
        n += 1;
    }
    all
}

/// Length of the longest name of a probe of a part.
const LONGEST_NAME: usize = 24;

/// Names of the probes of several equal parts, `N` in total: the name of the probe, `_`, the number of the part. Each is
/// with its length.
pub const fn names<const N: usize>(part: &[ProbeSpec]) -> [([u8; LONGEST_NAME], usize); N] {
    let mut all = [([0; LONGEST_NAME], 0); N];
    let mut n = 0;
    while n < N {
        let name = part[n % part.len()].name.as_bytes();
        let mut at = 0;
        while at < name.len() {
            all[n].0[at] = name[at];
            at += 1;
        }
        all[n].0[at] = b'_';
        all[n].0[at + 1] = b'0' + (n / part.len()) as u8;
        all[n].1 = at + 2;
        n += 1;
    }
    all
}

/// The probes `own`, followed by those of several equal parts, at most 10, with these names. `N` in total.
pub const fn numbered<const N: usize>(
    own: &[ProbeSpec],
    part: &[ProbeSpec],
    names: &'static [([u8; LONGEST_NAME], usize)],
) -> [ProbeSpec; N] {
    let mut all = [ProbeSpec::NONE; N];
    let mut n = 0;
    while n < N {
        all[n] = if n < own.len() {
            own[n]
        } else {
            let at = n - own.len();
            let (name, len) = &names[at];
            let Ok(name) = core::str::from_utf8(name.split_at(*len).0) else { panic!("names are ASCII") };
            ProbeSpec { name, part: Some((at / part.len()) as u8), ..part[at % part.len()] }
        };
        n += 1;
    }
    all
}

/// Declares the probes of a type. Each has a meaning (the doc comment), a name, a unit, a range (default: 0 or more)
/// and a closure that reads the value. `then` appends the probes of a field. `each` appends those of several equal
/// parts: `drops` of part 3 is `drops_3`, and 0 if there is no such part.
#[macro_export]
macro_rules! probes {
    ($owner:ty { $( $(#[doc = $doc:expr])+ $name:ident [$unit:literal] $($readings:ident)? = |$it:ident| $read:expr; )* }
        $( each $count:literal $each:ty = |$all:ident, $at:ident| $one:expr; )?
        $( then $part:ty = |$whole:ident| $inner:expr )?) => {
        impl $crate::base::design::Probes for $owner {
            const PROBES: &'static [$crate::base::design::ProbeSpec] = {
                const OWN: &[$crate::base::design::ProbeSpec] = &[
                    $( $crate::base::design::ProbeSpec {
                        name: stringify!($name), unit: $unit, doc: concat!($($doc),+),
                        readings: $crate::probes!(@readings $($readings)?), part: None,
                    } ),*
                ];
                $crate::probes!(@all OWN $(, $part)? $(; $count $each)?)
            };
            fn probe(&self, index: usize) -> f64 {
                let readers: &[fn(&Self) -> f64] = &[ $( |$it: &Self| $read ),* ];
                let Some(read) = readers.get(index) else {
                    $( let part: fn(&Self) -> &$part = |$whole: &Self| $inner;
                       return $crate::base::design::Probes::probe(part(self), index - readers.len()); )?
                    $( let part: fn(&Self, usize) -> Option<&$each> = |$all: &Self, $at: usize| $one;
                       let probes = <$each as $crate::base::design::Probes>::PROBES.len();
                       let at = index - readers.len();
                       return part(self, at / probes).map_or(0.0, |part| part.probe(at % probes)); )?
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
    (@all $own:ident; $count:literal $each:ty) => {{
        use $crate::base::design::{ProbeSpec, Probes, names, numbered};
        const EACH: &[ProbeSpec] = <$each as Probes>::PROBES;
        const ALL: [ProbeSpec; $own.len() + $count * EACH.len()] =
            numbered($own, EACH, &names::<{ $count * EACH.len() }>(EACH));
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

    /// Probes are the measured variables of a discipline, such as its drop probability.
    #[test]
    fn values_outside_probe_range_are_rejected() {
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
    fn variables_called_probability_range_from_0_to_1() {
        let probes = crate::ENTRIES.iter().flat_map(|entry| entry.probes).filter(|probe| probe.unit == "1");
        let called = probes.filter(|probe| probe.doc.to_lowercase().contains("probability"));
        let others: Vec<&str> =
            called.filter(|probe| probe.readings != Readings::Probability).map(|probe| probe.name).collect();
        // An accumulated probability may exceed 1.
        assert_eq!(others, ["spacing"]);
    }
}
