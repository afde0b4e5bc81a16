//! State that only a sender with selective acknowledgements has.

use forebay_aqm::base::rng::Rng;

use super::super::TcpOptions;
use super::super::congestion::{CongestionControl, Recovery, Start};
use super::super::control::Control;
use super::super::scoreboard::Scoreboard;
use super::super::window::Window;

/// Scoreboard and congestion control.
#[derive(Clone, Debug)]
pub(super) struct Selective {
    pub(super) board: Scoreboard,
    pub(super) control: Control,
}

impl Selective {
    pub(super) fn new(options: &TcpOptions, rng: Rng) -> Self {
        let start = Start { initial_window: options.initial_window, rng };
        Self { board: Scoreboard::default(), control: Control::new(options.variant, start) }
    }

    pub(super) fn on_timeout(
        &mut self,
        recovery: Recovery,
        (una, high): (u32, u32),
        window: &mut Window,
        is_reduced: bool,
    ) {
        match recovery {
            Recovery::Sctp => self.board.on_expiry(una, high),
            _ => self.board.on_timeout(una, high),
        }
        self.control.on_timeout(window, is_reduced);
    }
}
