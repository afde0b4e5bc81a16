//! The registry of congestion controls: the built-in ones and those registered by other crates.
//!
//! A built-in control is one file and one line here. A control with state is boxed, so that senders with other controls
//! stay small. The hooks of built-in controls are called statically, those of custom controls through a pointer.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use super::TcpOptions;
use super::congestion::controller::Controller;
use super::congestion::{
    Acked, CongestionControl, Design, Feedback, PathModel, Profile, Progress, Recovery, RoundTrip, Sent, Start,
    Transport, hand_on,
};
use super::window::Window;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

/// A congestion control with the loss recovery that goes with it.
#[derive(Clone, Copy)]
pub struct Variant(&'static Registered);

struct Registered {
    profile: Profile,
    start: &'static (dyn Fn(Start) -> Control + Send + Sync),
}

static OWN: RwLock<Vec<Variant>> = RwLock::new(Vec::new());

/// A custom control: one that another crate registered.
pub(super) trait Own: CongestionControl {
    fn copy(&self) -> Box<dyn Own>;
}

impl<D: Design> Own for D {
    fn copy(&self) -> Box<dyn Own> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Own> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

/// Declares the modules of the built-in controls, the constants of [`Variant`], and the enum with a control's state.
macro_rules! controls {
    (
        ($d:tt)
        defaults { $($transport:ident $default:ident;)+ }
        $($name:ident $file:ident $type:ty;)+
    ) => {
        $(mod $file;)+

        /// The state of a control.
        #[derive(Clone, Debug)]
        #[expect(clippy::upper_case_acronyms, reason = "named as the constants of `Variant`")]
        pub(super) enum Control {
            $($name($type),)+
            // Boxed twice: a pointer of one word keeps every sender smaller.
            Own(Box<Box<dyn Own>>),
            Controlled(Box<controlled::Controlled>),
            Amended(Box<amended::Amended>),
        }

        impl Variant {
            $(
                #[doc = concat!("`", stringify!($file), "`")]
                pub const $name: Self = Self(&Registered {
                    profile: <$type as Design>::PROFILE,
                    start: &|start| Control::$name(<$type as Design>::new(start)),
                });
            )+

            /// All built-in controls, with their names in scenario files.
            pub const WORDS: &'static [(&'static str, Self)] = &[$((Self::$name.0.profile.word, Self::$name)),+];
        }

        impl Transport {
            /// The control of a connection of this protocol if the scenario does not name one.
            pub const fn control(self) -> Variant {
                match self {
                    $(Self::$transport => Variant::$default,)+
                }
            }
        }

        macro_rules! each {
            ($d self:ident, $d hook:ident($d($d argument:ident),*)) => {
                match $d self {
                    $(Self::$name(control) => control.$d hook($d($d argument),*),)+
                    Self::Own(control) => control.$d hook($d($d argument),*),
                    Self::Controlled(control) => control.$d hook($d($d argument),*),
                    Self::Amended(control) => control.$d hook($d($d argument),*),
                }
            };
        }
    };
}

mod amended;
mod controlled;
pub(super) use controlled::take_unsound;
mod rate;

controls! {
    ($)
    defaults {
        Tcp NEWRENO;
        Sctp SCTP;
    }
    TAHOE tahoe tahoe::Tahoe;
    RENO reno reno::Reno;
    NEWRENO newreno newreno::NewReno;
    SACK sack sack::Sack;
    CUBIC cubic Box<cubic::Cubic>;
    DCTCP dctcp Box<dctcp::Dctcp>;
    BBR bbr Box<bbr::Bbr>;
    SCTP sctp Box<sctp::Sctp>;
    PRAGUE prague Box<prague::Prague>;
    LINUX linux_cubic Box<linux_cubic::LinuxCubic>;
    L4SLINUX l4s_linux Box<l4s_linux::L4sLinux>;
    BBR3 bbr3 Box<bbr3::Bbr3>;
    LEDBAT ledbat Box<ledbat::Ledbat>;
}

#[deny(clippy::missing_trait_methods)]
impl CongestionControl for Control {
    hand_on!(each);
}

impl Control {
    /// The state of a new connection's control. `rng`: the connection's random stream.
    pub(super) fn new(options: &TcpOptions, rng: Rng) -> Self {
        let plain = (options.variant.0.start)(Start::new(options, rng));
        if options.amends() { Self::Amended(Box::new(amended::Amended::new(plain, options))) } else { plain }
    }
}

impl Variant {
    /// The properties of the congestion control.
    #[inline]
    pub const fn profile(self) -> &'static Profile {
        &self.0.profile
    }

    /// The name of the congestion control in scenario files.
    pub const fn word(self) -> &'static str {
        self.0.profile.word
    }

    /// The control with this name, built-in or registered. Of a control with a version, `own:NAME` is the latest one, and
    /// `own:NAME#VERSION` that version, if it is the latest one.
    pub fn parse(word: &str) -> Option<Self> {
        Self::all().into_iter().find(|variant| variant.word() == word || variant.name() == word)
    }

    /// The word without the version of a registered control.
    pub fn name(self) -> &'static str {
        self.word().split_once('#').map_or(self.word(), |(name, _)| name)
    }

    /// All controls, built-in and registered.
    pub fn all() -> Vec<Self> {
        let own = OWN.read().unwrap_or_else(PoisonError::into_inner);
        Self::WORDS.iter().map(|(_, variant)| variant).chain(own.iter()).copied().collect()
    }

    /// All controls of this protocol, built-in and registered, with their names.
    pub fn of(transport: Transport) -> Vec<(&'static str, Self)> {
        let all = Self::all().into_iter().filter(|variant| variant.profile().transport == transport);
        all.map(|variant| (variant.name(), variant)).collect()
    }
}

impl Default for Variant {
    fn default() -> Self {
        Transport::Tcp.control()
    }
}

impl PartialEq for Variant {
    fn eq(&self, other: &Self) -> bool {
        self.word() == other.word()
    }
}

impl Eq for Variant {}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Why a control cannot be registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// The name is empty, or a registered control has it.
    Word,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Word => "the word is empty or taken",
        })
    }
}

impl std::error::Error for Unfit {}

/// Registers a custom control for the rest of the process. Scenario files name it `own:` plus the `word` of its
/// profile, so that it never collides with a later built-in control.
pub fn register<D: Design>() -> Result<Variant, Unfit> {
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    let word = format!("own:{}", D::PROFILE.word);
    if D::PROFILE.word.is_empty() || own.iter().any(|variant| variant.name() == word) {
        return Err(Unfit::Word);
    }
    let variant = made(word, D::PROFILE, |start| Control::Own(Box::new(Box::new(D::new(start)))));
    own.push(variant);
    Ok(variant)
}

/// Registers controls that `make` creates, one for each connection, as [`register`] does. Replaces an earlier one of
/// this name. A scenario that was run names it `own:NAME#version`, so that results of another version are not taken for its
/// results; an empty version is left out. Of `profile`, `owns_window`, `paces` and the kind of recovery have no effect.
pub fn register_controller(
    profile: Profile,
    version: &str,
    make: impl Fn(Start) -> Box<dyn Controller> + Send + Sync + 'static,
) -> Result<Variant, Unfit> {
    if profile.word.is_empty() || profile.word.contains('#') {
        return Err(Unfit::Word);
    }
    let name = format!("own:{}", profile.word);
    let word = if version.is_empty() { name.clone() } else { format!("{name}#{version}") };
    let profile = Profile { recovery: Recovery::Selective, owns_window: true, paces: true, is_aimd: false, ..profile };
    let start = move |start: Start| {
        let pacing = start.pacing;
        Control::Controlled(Box::new(controlled::Controlled::new(make(start), pacing)))
    };
    let variant = made(word, profile, start);
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    own.retain(|other| other.name() != name);
    own.push(variant);
    Ok(variant)
}

/// A variant of this name. Leaked on purpose: copies of a variant have no lifetime.
fn made(word: String, profile: Profile, start: impl Fn(Start) -> Control + Send + Sync + 'static) -> Variant {
    // Which hooks a custom control overrides is unknown here: all are called.
    let profile = Profile { tracks_packets: true, word: Box::leak(word.into_boxed_str()), ..profile };
    Variant(Box::leak(Box::new(Registered { profile, start: Box::leak(Box::new(start)) })))
}
