//! The registry of congestion controls: the built-in ones and those registered by other crates.
//!
//! A built-in control is one file and one line here. A control with state is boxed, so that senders with other controls
//! stay small. The hooks of built-in controls are called statically, those of custom controls through a pointer.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use super::TcpOptions;
use super::congestion::{
    Acked, CongestionControl, Design, Feedback, PathModel, Profile, Progress, RoundTrip, Sent, Start, Transport,
    hand_on,
};
use super::window::Window;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

/// A congestion control with the loss recovery that goes with it.
#[derive(Clone, Copy)]
pub struct Variant(&'static Registered);

struct Registered {
    profile: Profile,
    start: fn(Start) -> Control,
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
            Amended(Box<amended::Amended>),
        }

        impl Variant {
            $(
                #[doc = concat!("`", stringify!($file), "`")]
                pub const $name: Self = Self(&Registered {
                    profile: <$type as Design>::PROFILE,
                    start: |start| Control::$name(<$type as Design>::new(start)),
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
                    Self::Amended(control) => control.$d hook($d($d argument),*),
                }
            };
        }
    };
}

mod amended;
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

    /// The control with this name, built-in or registered.
    pub fn parse(word: &str) -> Option<Self> {
        Self::all().into_iter().find(|variant| variant.word() == word)
    }

    /// All controls, built-in and registered.
    pub fn all() -> Vec<Self> {
        let own = OWN.read().unwrap_or_else(PoisonError::into_inner);
        Self::WORDS.iter().map(|(_, variant)| variant).chain(own.iter()).copied().collect()
    }

    /// All controls of this protocol, built-in and registered, with their names.
    pub fn of(transport: Transport) -> Vec<(&'static str, Self)> {
        let all = Self::all().into_iter().filter(|variant| variant.profile().transport == transport);
        all.map(|variant| (variant.word(), variant)).collect()
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
    let mut profile = D::PROFILE;
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    let word = format!("own:{}", profile.word);
    if profile.word.is_empty() || own.iter().any(|variant| variant.word() == word) {
        return Err(Unfit::Word);
    }
    // Which hooks it overrides is unknown here: all are called.
    profile.tracks_packets = true;
    // Leaked on purpose: copies of a variant have no lifetime.
    profile.word = Box::leak(word.into_boxed_str());
    let start = |start| Control::Own(Box::new(Box::new(D::new(start))));
    let variant = Variant(Box::leak(Box::new(Registered { profile, start })));
    own.push(variant);
    Ok(variant)
}
