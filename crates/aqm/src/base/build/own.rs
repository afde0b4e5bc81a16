//! Custom disciplines, which are not in the registry.
//!
//! [`Own::law`], [`Own::aqm`] and [`Own::queue`] apply the same adapters as the registry. A custom discipline is
//! parsed, built and tested for equality like one of the registry, and its internal variables (probes) are read in the
//! same way. Its calls are dynamically dispatched.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::base::adapters::{Fifo, Ticked};
use crate::base::common::Common;
use crate::base::cx::Cx;
use crate::base::design::{About, Design, DisciplineKind, Entry, Probes};
use crate::base::discipline::{Aqm, BareLaw, Discipline, Law};
use crate::base::packet::Packet;
use crate::base::params::{ParamError, ParamSet};
use crate::base::port::Port;
use crate::base::settings::{self, canonical, once_and_in_order};
use crate::base::tc::Setting;
use crate::base::time::Instant;
use crate::base::units::Link;
use core::marker::PhantomData;

/// An instance of a custom discipline.
pub struct OwnDiscipline(Box<dyn Full>);

/// A discipline whose internal variables (probes) can be read.
trait Full: Discipline + Send + Sync {
    fn value(&self, index: usize) -> f64;
}

impl<D: Discipline + Probes + Send + Sync> Full for D {
    fn value(&self, index: usize) -> f64 {
        self.probe(index)
    }
}

impl OwnDiscipline {
    /// A FIFO queue under a control law.
    pub fn law(law: impl Law + Probes + Send + Sync + 'static) -> Self {
        Self(Box::new(FromLaw::adapt(law)))
    }

    /// A FIFO queue under a per-packet AQM.
    pub fn aqm(aqm: impl Aqm + Probes + Send + Sync + 'static) -> Self {
        Self(Box::new(FromAqm::adapt(aqm)))
    }

    /// The current value of the internal variable (probe) with this index.
    pub fn probe(&self, index: usize) -> f64 {
        self.0.value(index)
    }
}

impl Discipline for OwnDiscipline {
    fn lists(&self) -> usize {
        self.0.lists()
    }
    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        self.0.enqueue(packet, port, cx);
    }
    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        self.0.dequeue(port, cx)
    }
    fn held_until(&self) -> Option<Instant> {
        self.0.held_until()
    }
    fn next_tick(&self) -> Option<Instant> {
        self.0.next_tick()
    }
    fn tick(&mut self, port: &mut Port, cx: &mut Cx) {
        self.0.tick(port, cx);
    }
}

/// The parsed parameters of a custom discipline.
#[derive(Clone)]
pub struct OwnParams {
    entry: &'static Entry,
    words: String,
    parameters: Arc<dyn OwnParameters>,
}

/// Type-erased parameters of a custom discipline.
pub trait OwnParameters: Send + Sync {
    /// One parameter in canonical form; `None` if the key is unknown.
    fn get(&self, key: &str) -> Option<String>;

    /// A new instance for `link`.
    fn build(&self, link: &Link) -> OwnDiscipline;

    /// The control law for fluid models, as [`Design::fluid`]; `None` if there is none.
    fn fluid(&self, _link: &Link) -> Option<Box<dyn BareLaw>> {
        None
    }
}

/// Converts an implementation of one of the three traits (Law, Aqm, Discipline) to a discipline.
trait Adapt<D> {
    const KIND: DisciplineKind;
    type Full: Discipline + Probes + Send + Sync + 'static;
    fn adapt(design: D) -> Self::Full;
}

struct FromLaw;
struct FromAqm;
struct FromQueue;

impl<D: Law + Probes + Send + Sync + 'static> Adapt<D> for FromLaw {
    const KIND: DisciplineKind = DisciplineKind::Law;
    type Full = Fifo<Ticked<D>>;
    fn adapt(law: D) -> Self::Full {
        Fifo::new(Ticked::new(law))
    }
}

impl<D: Aqm + Probes + Send + Sync + 'static> Adapt<D> for FromAqm {
    const KIND: DisciplineKind = DisciplineKind::Aqm;
    type Full = Fifo<D>;
    fn adapt(aqm: D) -> Self::Full {
        Fifo::new(aqm)
    }
}

impl<D: Discipline + Probes + Send + Sync + 'static> Adapt<D> for FromQueue {
    const KIND: DisciplineKind = DisciplineKind::Queue;
    type Full = D;
    fn adapt(queue: D) -> D {
        queue
    }
}

/// The parameters of the discipline `D`, whose adapter is `C`.
struct Set<D: Design, C>(D::Params, PhantomData<fn() -> C>);

impl<D: Design, C: Adapt<D>> OwnParameters for Set<D, C>
where
    D::Params: Send + Sync,
{
    fn get(&self, key: &str) -> Option<String> {
        self.0.get(key)
    }
    fn build(&self, link: &Link) -> OwnDiscipline {
        OwnDiscipline(Box::new(C::adapt(D::build(&self.0, link))))
    }
    fn fluid(&self, link: &Link) -> Option<Box<dyn BareLaw>> {
        D::fluid(&self.0, link)
    }
}

fn read<D: Design + 'static, C: Adapt<D> + 'static>(
    entry: &'static Entry,
    words: &[&str],
) -> Result<(Common, OwnParams), ParamError>
where
    D::Params: Send + Sync,
{
    once_and_in_order(words, None)?;
    let settings: Vec<Setting> = words.iter().map(|word| Setting::new(*word)).collect();
    let (common, params) = settings::read::<D>(entry.name, &words.join(" "), &settings)?;
    let words = canonical(&common, &params);
    Ok((common, OwnParams { entry, words, parameters: Arc::new(Set::<D, C>(params, PhantomData)) }))
}

impl OwnParams {
    /// The description, as in the registry.
    pub const fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// One parameter in canonical form.
    pub fn get(&self, key: &str) -> Option<String> {
        self.parameters.get(key)
    }

    /// Every parameter in canonical form, and each parameter common to all disciplines that is not at its default.
    pub fn canonical(&self) -> &str {
        &self.words
    }

    /// A new instance for `link`.
    pub fn build(&self, link: &Link) -> OwnDiscipline {
        self.parameters.build(link)
    }

    /// The control law for fluid models, as [`Design::fluid`]; `None` if there is none.
    pub fn fluid(&self, link: &Link) -> Option<Box<dyn BareLaw>> {
        self.parameters.fluid(link)
    }
}

impl PartialEq for OwnParams {
    fn eq(&self, other: &Self) -> bool {
        (self.entry.name, &self.words) == (other.entry.name, &other.words)
    }
}

impl core::fmt::Debug for OwnParams {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}{}", self.entry.name, self.words)
    }
}

/// The description of a custom discipline and the parser of its settings. A program adds it to its table of custom
/// disciplines, such as that of `forebay_lab::own::register`.
#[derive(Clone)]
pub struct Own {
    entry: &'static Entry,
    read: Arc<dyn Reader>,
}

/// Parses the settings `key=value ...` of a custom discipline.
trait Reader: Send + Sync {
    fn read(&self, entry: &'static Entry, words: &[&str]) -> Result<(Common, OwnParams), ParamError>;
}

impl<F> Reader for F
where
    F: Fn(&'static Entry, &[&str]) -> Result<(Common, OwnParams), ParamError> + Send + Sync,
{
    fn read(&self, entry: &'static Entry, words: &[&str]) -> Result<(Common, OwnParams), ParamError> {
        self(entry, words)
    }
}

/// Gives the description of the discipline `D` as a static reference, as [`Entry::about`] requires.
struct Words<D>(PhantomData<D>);

impl<D: Design> Words<D> {
    const ABOUT: &'static About = &D::ABOUT;
}

impl Own {
    /// A control law called `name`.
    pub fn law<D: Law + Design + Probes + Send + Sync + 'static>(name: &'static str) -> Self
    where
        D::Params: Send + Sync,
    {
        Self::new::<D, FromLaw>(name)
    }

    /// A per-packet AQM called `name`.
    pub fn aqm<D: Aqm + Design + Probes + Send + Sync + 'static>(name: &'static str) -> Self
    where
        D::Params: Send + Sync,
    {
        Self::new::<D, FromAqm>(name)
    }

    /// A queueing discipline called `name`.
    pub fn queue<D: Discipline + Design + Probes + Send + Sync + 'static>(name: &'static str) -> Self
    where
        D::Params: Send + Sync,
    {
        Self::new::<D, FromQueue>(name)
    }

    fn new<D: Design + 'static, C: Adapt<D> + 'static>(name: &'static str) -> Self
    where
        D::Params: Send + Sync,
    {
        let entry = Entry {
            name,
            kind: C::KIND,
            variant_of: None,
            about: Words::<D>::ABOUT,
            params: D::Params::SPECS,
            presets: D::PRESETS,
            tc: D::TC,
            probes: C::Full::PROBES,
            order: D::ORDER,
            cost: D::COST,
        };
        // Leaked: one entry for the life of the program, like those of the registry.
        Self { entry: Box::leak(Box::new(entry)), read: Arc::new(read::<D, C>) }
    }

    /// A custom discipline whose parameters are defined at run time. `entry` describes it. `read` parses its
    /// `key=value` settings, without those common to all disciplines, and returns their canonical form and the
    /// parameters.
    pub fn made<K: OwnParameters + 'static>(
        entry: Entry,
        read: impl Fn(&[&str]) -> Result<(String, K), ParamError> + Send + Sync + 'static,
    ) -> Self {
        let read = move |entry: &'static Entry, words: &[&str]| {
            once_and_in_order(words, None)?;
            let mut common = Common::default();
            let mut own = Vec::new();
            for word in words {
                match word.split_once('=').and_then(|(key, text)| common.set(key, text)) {
                    Some(set) => set?,
                    None => own.push(*word),
                }
            }
            let (mut written, parameters) = read(&own)?;
            common.written().for_each(|(name, value)| written.push_str(&format!(" {name}={value}")));
            Ok((common, OwnParams { entry, words: written, parameters: Arc::new(parameters) }))
        };
        Self { entry: Box::leak(Box::new(entry)), read: Arc::new(read) }
    }

    /// The description, as in the registry.
    pub const fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Parses the settings `key=value ...` of a custom discipline.
    pub(crate) fn read(&self, words: &[&str]) -> Result<(Common, OwnParams), ParamError> {
        self.read.read(self.entry, words)
    }
}
