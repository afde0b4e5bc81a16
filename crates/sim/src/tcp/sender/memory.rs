//! What a sender with selective acknowledgements remembers.

use forebay_aqm::base::rng::Rng;

use super::super::control::Control;
use super::super::scoreboard::Scoreboard;
use super::super::window::Window;
use super::super::{TcpOptions, Variant};

/// What only senders with selective acknowledgements have.
#[derive(Clone, Debug)]
pub(super) struct Selective {
    pub(super) board: Scoreboard,
    pub(super) control: Control,
    /// In place of RFC 6675.
    pub(super) sack1: Option<Sack1>,
}

impl Selective {
    pub(super) fn new(options: &TcpOptions, rng: Rng) -> Self {
        let sack1 = (options.ns2.sack1 && options.variant == Variant::Sack).then(Sack1::default);
        Self { board: Scoreboard::default(), control: Control::new(options, rng), sack1 }
    }

    pub(super) fn on_timeout(&mut self, una: u32, high: u32, window: &mut Window, reduced: bool) {
        match &mut self.sack1 {
            Some(sack1) => sack1.on_timeout(&mut self.board),
            None if matches!(self.control, Control::Sctp(_)) => self.board.on_expiry(una, high),
            None => self.board.on_timeout(una, high),
        }
        self.control.on_timeout(window, reduced);
    }
}

/// What ns-2's `Sack1` keeps in place of RFC 6675's state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sack1 {
    /// Packets thought to be in flight, in recovery.
    pub(super) pipe: i64,
    /// Every hole below has been retransmitted in this recovery.
    pub(super) high_rxt: u32,
    /// Nothing new has been acknowledged since the last timeout.
    pub(super) is_deaf: bool,
}

impl Sack1 {
    fn on_timeout(&mut self, board: &mut Scoreboard) {
        *board = Scoreboard::default();
        self.is_deaf = true;
    }

    pub(super) fn on_new_ack(&mut self, board: &mut Scoreboard) {
        *board = Scoreboard::default();
        self.is_deaf = false;
    }
}
