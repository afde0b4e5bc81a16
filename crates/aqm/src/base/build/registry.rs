//! The registry of built-in disciplines: one line per discipline generates its module, enum variant, name and
//! constructor.

use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use crate::base::cx::Cx;
use crate::base::design::{Entry, Preset};
use crate::base::discipline::Discipline;
use crate::base::nearest::{nearest, one_of};
use crate::base::packet::Packet;
use crate::base::params::ParamError;
use crate::base::port::Port;
use crate::base::settings::once_and_in_order;
use crate::base::tc::{self, Setting};

/// A slice with only the preset called `name`, for a variant: another discipline with one fixed preset. Empty if there
/// is no such preset.
pub const fn only(presets: &'static [Preset], name: &str) -> &'static [Preset] {
    let mut rest = presets;
    while let [first, more @ ..] = rest {
        if same(first.name.as_bytes(), name.as_bytes()) {
            return core::slice::from_ref(first);
        }
        rest = more;
    }
    &[]
}

/// Whether `a` equals `b`, for const contexts, where slices have no `==`.
const fn same(a: &[u8], b: &[u8]) -> bool {
    match (a, b) {
        ([], []) => true,
        ([x, a @ ..], [y, b @ ..]) => *x == *y && same(a, b),
        _ => false,
    }
}

/// Calls [`Discipline::enqueue_from`] out of line. If all disciplines were inlined into one function, each would save
/// the registers that any of them needs. The packet is passed by reference, which saves a copy.
#[inline(never)]
pub fn enqueue<D: Discipline>(discipline: &mut D, packet: &Packet, port: &mut Port, cx: &mut Cx) {
    discipline.enqueue_from(packet, port, cx);
}

/// Calls [`Discipline::dequeue`] out of line, for the same reason as [`enqueue`].
#[inline(never)]
pub fn dequeue<D: Discipline>(discipline: &mut D, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
    discipline.dequeue(port, cx)
}

/// The error for an unknown name of a discipline.
pub fn unknown(name: &str, entries: &'static [Entry]) -> ParamError {
    let known = entries.iter().map(|e| e.name).chain(tc::aliases().map(|(name, ..)| name));
    ParamError {
        key: "discipline".to_string(),
        found: name.to_string(),
        accepts: one_of(name, &entries.iter().map(|e| e.name).collect::<Vec<_>>()).into(),
        hint: tc::elsewhere(name).or_else(|| nearest(name, known).map(|near| format!("did you mean {near}?"))),
    }
}

/// A discipline and its settings, parsed from text.
pub struct Asked {
    /// The registry entry.
    pub entry: &'static Entry,
    /// Name of the discipline that defines the parameters: for a variant, which is another discipline with a preset, that
    /// discipline; else the entry's own name.
    pub base: &'static str,
    /// The settings, in order.
    pub settings: Vec<Setting>,
}

/// Parses `NAME [preset=...] [key=value ...]`, a name and tc(8) arguments, or a whole command of tc.
pub fn asked(text: &str, entries: &'static [Entry]) -> Result<Asked, ParamError> {
    let given: Vec<&str> = text.split_whitespace().collect();
    let count = given.len();
    let words = tc::qdisc(given)?;
    // A whole command has tc's defaults, also without arguments.
    let is_command = words.len() < count;
    let (&name, words) = words.split_first().ok_or_else(|| unknown("", entries))?;
    let name = tc::meant(name, words);
    let alias = tc::alias(name);
    let name = alias.map_or(name, |(name, _)| name);
    let entry = entries.iter().find(|entry| entry.name == name).ok_or_else(|| unknown(name, entries))?;
    let (base, mut settings) = match entry.variant_of {
        Some((base, preset)) => (base, vec![Setting::new(format!("preset={preset}"))]),
        None => (entry.name, Vec::new()),
    };
    match alias.map(|(_, tc)| tc).or(entry.tc) {
        Some(tc) if tc::is_tail(words) || alias.is_some() || is_command => settings.extend(tc::translate(words, &tc)?),
        _ => settings.extend(words.iter().map(|word| Setting::new(*word))),
    }
    // tc uses the last occurrence of an argument; a key=value may occur only once.
    if !tc::is_tail(words) {
        once_and_in_order(words, entry.variant_of.map(|(_, preset)| (entry.name, preset)))?;
    }
    Ok(Asked { entry, base, settings })
}

/// Declares every discipline; see `lib.rs`.
#[macro_export]
macro_rules! registry {
    (
        law { $( $law:ident: $Law:ident ),* $(,)? }
        aqm { $( $group:ident { $( $aqm:ident: $Aqm:ident ),* $(,)? } )* }
        queue { $( $queue:ident: $Queue:ident ),* $(,)? }
        variants { $( $variant:ident: $base:ident $preset:literal ),* $(,)? }
    ) => {
        /// Control laws: they read counters, not packets.
        pub mod law { $( pub mod $law; )* }
        /// Per-packet AQMs: they decide about packets but do not own the queue.
        pub mod aqm { $( pub(crate) mod $group { $( pub mod $aqm; )* } pub use $group::{$( $aqm ),*}; )* }
        /// Disciplines that own their queues.
        pub mod queue { $( pub mod $queue; )* }

        $crate::registry! { @edge
            $( [$law, Law, law::$law::$Law, $crate::base::adapters::Fifo<$crate::base::adapters::Ticked<law::$law::$Law>>,
                |d| $crate::base::adapters::Fifo::new($crate::base::adapters::Ticked::new(d))] )*
            $( $( [$aqm, Aqm, aqm::$aqm::$Aqm, $crate::base::adapters::Fifo<aqm::$aqm::$Aqm>,
                |d| $crate::base::adapters::Fifo::new(d)] )* )*
            $( [$queue, Queue, queue::$queue::$Queue, queue::$queue::$Queue, |d| d] )*
            ; $( [$variant, $base, $preset] )*
        }

        impl AnyDiscipline {
            /// Changes the parameters to those of `spec` and keeps the state. Returns `false` and changes nothing if
            /// that is not possible.
            pub fn retune(&mut self, spec: &Spec, link: &$crate::base::units::Link) -> bool {
                use $crate::base::{adapters::Fifo, design::Design};
                if let Self::behind(marker) = self {
                    return marker.behind_mut().retune(spec, link);
                }
                let link = spec.common.link(link);
                let other = match (&*self, &spec.params) {
                    $( (Self::$law(d), AnyParams::$law(p)) => {
                        d.aqm().law().retuned(p, &link).map(|law| Self::$law(Fifo::new(d.aqm().under(law))))
                    } )*
                    $( $( (Self::$aqm(d), AnyParams::$aqm(p)) => d.aqm().retuned(p, &link).map(|aqm| Self::$aqm(Fifo::new(aqm))), )* )*
                    $( (Self::$queue(d), AnyParams::$queue(p)) => d.retuned(p, &link).map(Self::$queue), )*
                    _ => None,
                };
                let can = other.is_some();
                if let Some(other) = other {
                    *self = other;
                }
                can
            }
        }

        impl Spec {
            /// The law for fluid models: a law itself, or the discipline's `Design::fluid`; `None` if there is none, or
            /// if the law signals service classes differently.
            pub fn fluid(&self, link: &$crate::base::units::Link) -> Option<$crate::alloc::boxed::Box<dyn $crate::base::discipline::BareLaw>> {
                use $crate::base::{design::Design, discipline::Bare};
                let link = self.common.link(link);
                match &self.params {
                    $( AnyParams::$law(p) if <law::$law::$Law as Design>::has_classes(p) => None, )*
                    $( AnyParams::$law(p) => Some($crate::alloc::boxed::Box::new(Bare(<law::$law::$Law as Design>::build(p, &link)))), )*
                    $( $( AnyParams::$aqm(p) => <aqm::$aqm::$Aqm as Design>::fluid(p, &link), )* )*
                    AnyParams::own(p) => p.fluid(&link),
                    _ => None,
                }
            }

            /// The shares of the link that the discipline enforces for service classes in a common queue; `None` if it
            /// enforces none.
            pub fn shares(&self, link: &$crate::base::units::Link) -> Option<$crate::base::design::Shares> {
                let link = self.common.link(link);
                match &self.params {
                    $( $( AnyParams::$aqm(p) => <aqm::$aqm::$Aqm as $crate::base::design::Design>::shares(p, &link), )* )*
                    _ => None,
                }
            }
        }
    };
    (@edge $( [$name:ident, $kind:ident, $design:ty, $full:ty, $adapt:expr] )* ; $( [$variant:ident, $base:ident, $preset:literal] )*) => {
        /// Every entry of the registry, in order.
        pub static ENTRIES: &[$crate::base::design::Entry] = &[
            $( Lines::$name, )*
            $( $crate::registry!(@variant $variant $base $preset), )*
        ];

        /// Any discipline. One of the registry is stored by value: one `match` per call, no allocation. `own` is a
        /// custom discipline, see [`base::own`]. `behind` is a threshold marker with a discipline behind it.
        #[allow(non_camel_case_types, missing_docs, clippy::large_enum_variant)]
        pub enum AnyDiscipline { $( $name($full), )* own($crate::base::own::OwnDiscipline), behind($crate::alloc::boxed::Box<$crate::base::threshold::Threshold<AnyDiscipline>>) }

        impl $crate::base::discipline::Discipline for AnyDiscipline {
            fn lists(&self) -> usize {
                match self { $( Self::$name(d) => d.lists(), )* Self::own(d) => d.lists(), Self::behind(d) => d.lists() }
            }
            #[inline(always)]
            fn enqueue(&mut self, packet: $crate::base::packet::Packet, port: &mut $crate::base::port::Port, cx: &mut $crate::base::cx::Cx) {
                self.enqueue_from(&packet, port, cx);
            }
            #[inline(always)]
            fn enqueue_from(&mut self, packet: &$crate::base::packet::Packet, port: &mut $crate::base::port::Port, cx: &mut $crate::base::cx::Cx) {
                match self { $( Self::$name(d) => $crate::base::registry::enqueue(d, packet, port, cx), )* Self::own(d) => $crate::base::registry::enqueue(d, packet, port, cx), Self::behind(d) => $crate::base::registry::enqueue(&mut **d, packet, port, cx) }
            }
            #[inline(always)]
            fn dequeue(&mut self, port: &mut $crate::base::port::Port, cx: &mut $crate::base::cx::Cx) -> Option<$crate::base::packet::Packet> {
                match self { $( Self::$name(d) => $crate::base::registry::dequeue(d, port, cx), )* Self::own(d) => $crate::base::registry::dequeue(d, port, cx), Self::behind(d) => $crate::base::registry::dequeue(&mut **d, port, cx) }
            }
            fn held_until(&self) -> Option<$crate::base::time::Instant> {
                match self { $( Self::$name(d) => d.held_until(), )* Self::own(d) => d.held_until(), Self::behind(d) => d.held_until() }
            }
            #[inline(always)]
            fn next_tick(&self) -> Option<$crate::base::time::Instant> {
                match self { $( Self::$name(d) => d.next_tick(), )* Self::own(d) => d.next_tick(), Self::behind(d) => d.next_tick() }
            }
            fn tick(&mut self, port: &mut $crate::base::port::Port, cx: &mut $crate::base::cx::Cx) {
                match self { $( Self::$name(d) => d.tick(port, cx), )* Self::own(d) => d.tick(port, cx), Self::behind(d) => d.tick(port, cx) }
            }
        }

        impl AnyDiscipline {
            /// The current value of a probe (a variable of the internal state), by its index in
            /// [`Entry::probes`](base::design::Entry::probes).
            pub fn probe(&self, index: usize) -> f64 {
                match self { $( Self::$name(d) => $crate::base::design::Probes::probe(d, index), )* Self::own(d) => d.probe(index), Self::behind(d) => d.behind().probe(index) }
            }
        }

        #[allow(non_camel_case_types, clippy::large_enum_variant)]
        #[derive(Clone, PartialEq, Debug)]
        enum AnyParams { $( $name(<$design as $crate::base::design::Design>::Params), )* own($crate::base::own::OwnParams) }

        /// A discipline's name with all its parameters, such as `raqm q0=50`.
        #[derive(Clone, PartialEq, Debug)]
        pub struct Spec {
            name: &'static str,
            common: $crate::base::common::Common,
            params: AnyParams,
        }

        impl Spec {
            /// Parses `NAME [preset=...] [key=value ...]`, a name and tc(8) arguments, or a whole command of tc.
            pub fn parse(text: &str) -> Result<Self, $crate::base::params::ParamError> {
                use $crate::base::{registry, settings};
                let asked = registry::asked(text, ENTRIES)?;
                $( if asked.base == stringify!($name) {
                    let (common, own) = settings::read::<$design>(asked.entry.name, text, &asked.settings)?;
                    return Ok(Self { name: asked.entry.name, common, params: AnyParams::$name(own) });
                } )*
                Err(registry::unknown(asked.base, ENTRIES))
            }

            /// Whether all parameters except `ecn` have their defaults. Always false for a custom discipline.
            pub fn has_defaults(&self) -> bool {
                let common = $crate::base::common::Common { ecn: self.common.ecn, ..Default::default() };
                self.common == common && match &self.params {
                    $( AnyParams::$name(own) => *own == <$design as $crate::base::design::Design>::Params::default(), )*
                    AnyParams::own(_) => false,
                }
            }

            /// Parses the settings of a custom discipline.
            pub fn own(own: &$crate::base::own::Own, words: &[&str]) -> Result<Self, $crate::base::params::ParamError> {
                let (common, params) = own.read(words)?;
                Ok(Self { name: own.entry().name, common, params: AnyParams::own(params) })
            }

            /// The name as parsed; aliases are resolved.
            pub const fn name(&self) -> &'static str {
                self.name
            }

            /// The registry entry of this discipline.
            pub fn entry(&self) -> &'static $crate::base::design::Entry {
                if let AnyParams::own(own) = &self.params {
                    return own.entry();
                }
                ENTRIES.iter().find(|e| e.name == self.name).unwrap_or(&ENTRIES[0])
            }

            /// `link` with the buffer of the parameter `hard_limit`, if that is given.
            pub fn link(&self, link: &$crate::base::units::Link) -> $crate::base::units::Link {
                self.common.link(link)
            }

            /// The parameters common to all disciplines.
            pub const fn common(&self) -> &$crate::base::common::Common {
                &self.common
            }

            /// Whether ECN is on.
            pub const fn ecn(&self) -> bool {
                self.common.ecn
            }

            /// The discipline's guarantees, which the conformance suite checks. For a custom discipline only the order
            /// and ECN are known.
            pub fn promises(&self) -> $crate::base::design::Promises {
                use $crate::base::design::Design;
                let (spares_empty, marks) = match &self.params {
                    $( AnyParams::$name(p) => (<$design as Design>::spares_empty(p), <$design as Design>::marks_without_ecn(p)), )*
                    AnyParams::own(_) => (false, false),
                };
                // A threshold marker in front may signal an arrival at an empty queue.
                let marker = self.common.th != $crate::base::common::Common::default().th;
                let (order, ecn) = (self.entry().order, self.common.ecn || marks);
                $crate::base::design::Promises { order, ecn, spares_empty: spares_empty && !marker }
            }

            /// The internal variables that can be recorded (probes) and have a meaning with these parameters.
            pub fn probes(&self) -> &'static [$crate::base::design::ProbeSpec] {
                let all = self.entry().probes;
                let used = match &self.params {
                    $( AnyParams::$name(p) => <$design as $crate::base::design::Design>::probes(p), )*
                    AnyParams::own(_) => all.len(),
                };
                &all[..used.min(all.len())]
            }

            /// One parameter in canonical form.
            pub fn get(&self, key: &str) -> Option<$crate::alloc::string::String> {
                use $crate::base::params::ParamSet;
                match &self.params {
                    $( AnyParams::$name(p) => p.get(key).or_else(|| self.common.get(key)), )*
                    AnyParams::own(p) => p.get(key).or_else(|| self.common.get(key)),
                }
            }

            /// Name and every parameter, including defaults.
            pub fn canonical(&self) -> $crate::alloc::string::String {
                let words = match &self.params {
                    $( AnyParams::$name(p) => $crate::base::settings::canonical(&self.common, p), )*
                    AnyParams::own(p) => p.canonical().into(),
                };
                $crate::alloc::format!("{}{words}", self.name)
            }

            /// A queue under this discipline, with its buffer, ECN setting and threshold marker.
            pub fn queue(&self, link: $crate::base::units::Link, rng: $crate::base::rng::Rng) -> $crate::base::host::Queue<AnyDiscipline> {
                let link = self.common.link(&link);
                let mut discipline = self.build(&link);
                if !self.common.th.is_off() {
                    let marker = $crate::base::threshold::Threshold::new(self.common.th, &rng, discipline);
                    discipline = AnyDiscipline::behind($crate::alloc::boxed::Box::new(marker));
                }
                $crate::base::host::Queue::new(discipline, link, self.common.ecn, rng)
            }

            /// A new instance for `link`. The common parameters are not applied: `link` must have the right buffer.
            pub fn build(&self, link: &$crate::base::units::Link) -> AnyDiscipline {
                match &self.params { $( AnyParams::$name(p) => {
                    let adapt: fn($design) -> $full = $adapt;
                    AnyDiscipline::$name(adapt(<$design as $crate::base::design::Design>::build(p, link)))
                }, )*
                    AnyParams::own(p) => AnyDiscipline::own(p.build(link)),
                }
            }
        }

        struct Lines;

        #[allow(non_upper_case_globals)]
        impl Lines {
            $( const $name: $crate::base::design::Entry =
                $crate::registry!(@entry $kind, $design, $full, stringify!($name)); )*
        }
    };
    (@entry $kind:ident, $design:ty, $full:ty, $name:expr) => {
        $crate::base::design::Entry {
            name: $name,
            kind: $crate::base::design::DisciplineKind::$kind,
            variant_of: None,
            about: &<$design as $crate::base::design::Design>::ABOUT,
            params: <<$design as $crate::base::design::Design>::Params as $crate::base::params::ParamSet>::SPECS,
            presets: <$design as $crate::base::design::Design>::PRESETS,
            tc: <$design as $crate::base::design::Design>::TC,
            probes: <$full as $crate::base::design::Probes>::PROBES,
            order: <$design as $crate::base::design::Design>::ORDER,
            cost: <$design as $crate::base::design::Design>::COST,
        }
    };
    (@variant $variant:ident $base:ident $preset:literal) => {
        $crate::base::design::Entry {
            name: stringify!($variant),
            variant_of: Some((stringify!($base), $preset)),
            presets: $crate::base::registry::only(Lines::$base.presets, $preset),
            ..Lines::$base
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ENTRIES, Spec};
    use alloc::string::String;
    use alloc::vec::Vec;

    /// The error message for a text of a discipline, such as `msc q_ref=20 preset=paper`. `preset=NAME` selects a named
    /// set of parameter values.
    fn error(text: &str) -> String {
        Spec::parse(text).map_or_else(|error| error.to_string(), |spec| panic!("{}", spec.canonical()))
    }

    #[test]
    fn preset_must_precede_the_other_parameters() {
        let late = "preset: found 'q_ref=20 preset=paper', expected preset=paper q_ref=20 (preset=... goes first)";
        assert_eq!(error("msc q_ref=20 preset=paper"), late);
        assert!(error("pfifo ecn=on preset=ns2").contains("goes first"));
        assert!(error("codel target=4ms preset=linux").contains("expected preset=linux target=4ms"));
        assert!(Spec::parse("msc preset=paper q_ref=20").is_ok() && Spec::parse("pfifo preset=ns2 ecn=on").is_ok());
    }

    #[test]
    fn each_parameter_may_be_set_only_once() {
        assert_eq!(error("raqm q0=50 q0=60"), "q0: found 'q0=50 q0=60', expected q0=... once");
        assert!(error("msc preset=paper preset=listing").starts_with("preset: found 'preset=paper preset=listing'"));
        assert!(error("droptail ecn=on front=on ecn=on").starts_with("ecn: found 'ecn=on ecn=on'"));
        assert!(error("pfifo hard_limit=5p hard_limit=6p").contains("once"));
    }

    #[test]
    fn raqm_plus_accepts_only_the_preset_plus() {
        assert_eq!(
            error("raqm_plus preset=paper"),
            "preset: found 'paper', expected no other preset: raqm_plus is preset=plus"
        );
        let plain = Spec::parse("raqm_plus").map(|spec| spec.canonical());
        assert_eq!(Spec::parse("raqm_plus preset=plus").map(|spec| spec.canonical()), plain);
        for entry in ENTRIES.iter().filter(|entry| entry.variant_of.is_some()) {
            assert_eq!(entry.presets.iter().map(|p| Some(p.name)).collect::<Vec<_>>(), [entry.variant_of.map(|v| v.1)]);
        }
    }

    #[test]
    fn repeated_tc_argument_has_its_last_value() {
        let of = |text| Spec::parse(text).map(|spec| spec.canonical());
        assert_eq!(of("codel limit 10 limit 20 target 4ms"), of("codel preset=linux hard_limit=20p target=4ms"));
        assert_eq!(of("pfifo limit 10 limit 20"), of("droptail ecn=off hard_limit=20p"));
    }
}
