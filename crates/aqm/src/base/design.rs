//! How a discipline describes itself: one declaration for CLI, scenario files, Python and docs.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::ladder::BareLaw;
use super::params::{ParamSet, ParamSpec};
use super::tc::Tc;
use super::units::Link;

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
    /// [`Law`](super::ladder::Law): sees counters.
    Law,
    /// [`Aqm`](super::ladder::Aqm): sees packets.
    Aqm,
    /// [`Discipline`](super::ladder::Discipline): has its own queues.
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
}

impl Entry {
    /// One line of what it does; a variant is its base with a preset.
    pub fn summary(&self) -> String {
        let Some((base, preset)) = self.variant_of else { return self.about.summary.to_string() };
        let source = self.presets.iter().find(|p| p.name == preset).map_or("", |p| p.source);
        alloc::format!("{base} preset={preset}: {}", source.trim_start_matches("ours: "))
    }
}

/// Declares the probes of a type: name, unit, meaning, and how to read it.
#[macro_export]
macro_rules! probes {
    ($owner:ty { $( $(#[doc = $doc:expr])+ $name:ident [$unit:literal] = |$it:ident| $read:expr; )* }) => {
        impl $crate::base::design::Probes for $owner {
            const PROBES: &'static [$crate::base::design::ProbeSpec] = &[
                $( $crate::base::design::ProbeSpec {
                    name: stringify!($name), unit: $unit, doc: concat!($($doc),+),
                } ),*
            ];
            fn probe(&self, index: usize) -> f64 {
                let readers: &[fn(&Self) -> f64] = &[ $( |$it: &Self| $read ),* ];
                readers.get(index).map_or(f64::NAN, |read| read(self))
            }
        }
    };
}
