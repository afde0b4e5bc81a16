//! The conformance suite passes correct congestion controls and finds faulty ones.

use super::super::congestion::{Acked, CongestionControl, Design, Profile, Progress, Start};
use super::super::window::Window;
use super::super::{Transport, register};
use super::*;

#[test]
fn built_in_controls_pass_the_conformance_suite() {
    for variant in Variant::WORDS.iter().map(|(_, variant)| *variant) {
        check_control(variant, 300).unwrap();
    }
}

#[test]
fn built_in_controls_conform_on_the_linux_stack() {
    let all = Variant::WORDS.iter().map(|(_, variant)| *variant);
    let tcp = all.filter(|variant| variant.profile().transport == Transport::Tcp);
    for variant in tcp.filter(|variant| !variant.profile().reports_delay) {
        check_control_on(Stack::Linux, variant, 300).unwrap();
    }
}

#[test]
fn amended_controls_conform_on_both_stacks() {
    let rules: [fn(&mut TcpOptions); 5] = [
        |options| options.ecn_beta = Some(0.8),
        |options| options.byte_counting = Some(2),
        |options| options.hystart = true,
        |options| options.pipe_ack = true,
        |options| {
            (options.ecn_beta, options.byte_counting) = (Some(0.85), Some(8));
            (options.hystart, options.pipe_ack) = (true, true);
        },
    ];
    for stack in [Stack::Rfc, Stack::Linux] {
        for variant in [Variant::RENO, Variant::NEWRENO, Variant::SACK, Variant::CUBIC] {
            for rule in rules {
                let mut options = TcpOptions { variant, stack: Some(stack), ..TcpOptions::default() };
                rule(&mut options);
                check(options, 100).unwrap();
            }
        }
    }
    for variant in [Variant::PRAGUE, Variant::L4SLINUX] {
        check(TcpOptions { variant, low_rate: true, ..TcpOptions::default() }, 100).unwrap();
    }
}

/// A control with the default hooks of `CongestionControl` and the loss recovery `Recovery::ALL[RECOVERY]`.
#[derive(Clone, Debug)]
struct Defaults<const RECOVERY: usize>;

impl<const RECOVERY: usize> CongestionControl for Defaults<RECOVERY> {}

impl<const RECOVERY: usize> Design for Defaults<RECOVERY> {
    const PROFILE: Profile = Profile {
        word: ["go-back-n", "first-hole", "partial-acks", "selective", "miss-reports"][RECOVERY],
        recovery: Recovery::ALL[RECOVERY],
        ..Profile::TCP
    };

    fn new(_: Start) -> Self {
        Self
    }
}

#[test]
fn default_hooks_conform_with_every_loss_recovery() {
    let registered = [
        register::<Defaults<0>>(),
        register::<Defaults<1>>(),
        register::<Defaults<2>>(),
        register::<Defaults<3>>(),
        register::<Defaults<4>>(),
    ];
    registered.into_iter().for_each(|variant| check_control(variant.unwrap(), 300).unwrap());
}

/// Defines a control with one fault.
macro_rules! faulty {
    ($name:ident, $word:literal, $($hook:item)*) => {
        faulty!($name, $word in Recovery::Selective, $($hook)*);
    };
    ($name:ident, $word:literal in $recovery:expr, $($hook:item)*) => {
        #[derive(Clone, Debug)]
        struct $name;

        impl CongestionControl for $name {
            $($hook)*
        }

        impl Design for $name {
            const PROFILE: Profile = Profile { word: $word, recovery: $recovery, ..Profile::TCP };

            fn new(_: Start) -> Self {
                Self
            }
        }
    };
}

faulty!(Deaf, "deaf", fn on_loss(&mut self, _: &mut Window) {});
faulty!(Blind, "blind", fn on_mark(&mut self, _: &mut Window) {});
faulty!(Stubborn, "stubborn", fn on_timeout(&mut self, _: &mut Window, _: bool) {});
faulty!(
    Shut,
    "shut",
    fn on_loss(&mut self, window: &mut Window) {
        window.set(0.0);
    }
);
faulty!(
    Low,
    "low",
    fn on_ack(&mut self, window: &mut Window, _: Acked) {
        window.set(0.5);
    }
);
faulty!(
    Eager,
    "eager",
    fn after_ack(&mut self, window: &mut Window, _: Progress) {
        window.set((window.cwnd() * 0.99).max(1.0));
    }
);

/// A faulty control whose profile says that its window is Reno's and that senders need not call its hooks. The function
/// `register`, which adds a custom control to the simulator, sets the profile so that senders call all hooks. Therefore
/// the suite finds the fault.
#[derive(Clone, Debug)]
struct Liar;

impl CongestionControl for Liar {
    fn on_ack(&mut self, window: &mut Window, _: Acked) {
        window.set(0.25);
    }
}

impl Design for Liar {
    const PROFILE: Profile =
        Profile { word: "liar", recovery: Recovery::PartialAcks, tracks_packets: false, is_aimd: true, ..Profile::TCP };

    fn new(_: Start) -> Self {
        Self
    }
}

faulty!(DeafReno, "deaf-reno" in Recovery::FirstHole, fn on_loss(&mut self, _: &mut Window) {});
faulty!(BlindNewReno, "blind-newreno" in Recovery::PartialAcks, fn on_mark(&mut self, _: &mut Window) {});

#[test]
fn conformance_suite_finds_faulty_controls() {
    for (variant, words) in [
        (register::<Deaf>(), "a loss leaves the window"),
        (register::<Blind>(), "a mark leaves the window"),
        (register::<Stubborn>(), "a timeout leaves"),
        (register::<Shut>(), "a window of 0"),
        (register::<Low>(), "a window of 0.5"),
        (register::<Eager>(), "a second time"),
        (register::<Liar>(), "a window of 0.25"),
        (register::<DeafReno>(), "a loss leaves the window"),
        (register::<BlindNewReno>(), "a mark leaves the window"),
    ] {
        let fault = check_control(variant.unwrap(), 300).unwrap_err();
        assert!(fault.contains(words), "{fault}");
    }
}

#[test]
fn register_refuses_empty_and_duplicate_names() {
    faulty!(Mine, "mine",);
    faulty!(Nameless, "",);
    let mine = register::<Mine>().unwrap();
    assert_eq!((Variant::parse("own:mine"), format!("{mine:?}")), (Some(mine), "own:mine".to_string()));
    assert_eq!(Variant::parse("mine"), None);
    for taken in [register::<Mine>(), register::<Nameless>()] {
        assert_eq!(taken, Err(super::super::Unfit::Word));
    }
}
