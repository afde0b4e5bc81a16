//! Reads the state of a TCP sender, such as its slow-start threshold, for measurements and tests.

use forebay_aqm::base::time::Span;

use super::super::rtt::Rtt;
use super::super::state::{Outstanding, State};
use super::{Cut, DUP_THRESHOLD, Sender};

impl Sender {
    /// Slow-start threshold in packets.
    pub(in super::super) const fn ssthresh(&self) -> f64 {
        self.window.ssthresh()
    }

    /// Smoothed round-trip time and timeout estimator.
    pub(in super::super) const fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// Number of packets that are cumulatively acknowledged.
    pub(in super::super) const fn acknowledged(&self) -> u32 {
        self.una
    }

    /// Returns the latest measured round-trip time once. `None`: there is no new measurement since the last call.
    #[inline]
    pub(in super::super) const fn take_round_trip(&mut self) -> Option<Span> {
        self.rtt.take()
    }

    /// State of loss recovery and congestion control.
    pub(in super::super) fn state(&self) -> State {
        let cut = match self.last_cut {
            Cut::Timeout if self.una < self.recover => State::Loss,
            _ if self.in_recovery => State::Recovery,
            Cut::Mark if self.una <= self.recover && self.high > self.una => State::Reduced,
            _ => State::Open,
        };
        let disorder = self.dup_acks > 0 || self.outstanding().reported > 0;
        if cut == State::Open && disorder { State::Disorder } else { cut }
    }

    /// What the sender knows of its outstanding packets.
    pub(in super::super) fn outstanding(&self) -> Outstanding {
        let sent = self.high - self.una;
        match &self.board {
            Some(board) => board.outstanding(sent),
            None => Outstanding { sent, ..Outstanding::default() },
        }
    }

    /// Number of packets by which others may overtake a packet before it is considered lost.
    pub(in super::super) const fn reordering(&self) -> u32 {
        DUP_THRESHOLD
    }

    pub(in super::super) const fn reordered(&self) -> Option<u32> {
        None
    }

    /// Does the sender use selective acknowledgements?
    pub(in super::super) const fn is_selective(&self) -> bool {
        self.board.is_some()
    }

    /// The receiver announces a window of `packets` above the cumulative acknowledgement. It limits sending, not the
    /// congestion window.
    pub(in super::super) const fn announce(&mut self, packets: u32) {
        self.receiver_window = packets;
    }
}
