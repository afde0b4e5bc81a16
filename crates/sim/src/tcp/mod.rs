//! Sans-IO TCP endpoints: told the time, asked what to send. Sequence numbers count packets.
//!
//! Loss recovery ([`Recovery`]: when to send what again) and congestion control
//! ([`CongestionControl`](congestion::CongestionControl): how large the window is) are apart. A [`Variant`] names one of each. A sender without selective acknowledgements, pacing or a model of the path is a plain
//! struct; what only some need lies behind a pointer.

mod bits;
pub mod congestion;
mod control;
mod gate;
pub mod receiver;
pub mod reports;
pub mod rtt;
mod scoreboard;
pub mod sender;
pub mod testing;
pub mod window;

use congestion::EcnUse;
use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::Span;

pub use congestion::Recovery;
pub use control::{Unfit, Variant, register};
use rtt::RttOptions;

/// What can be chosen about a connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpOptions {
    /// Congestion control and loss recovery.
    pub variant: Variant,
    /// Packets that may be sent before the first acknowledgement.
    pub initial_window: u32,
    /// Receiver's window in packets; `None`: unlimited.
    pub window: Option<u32>,
    /// An acknowledgement in bytes on the wire.
    pub ack: u16,
    /// Acknowledge every second packet.
    pub delayed_ack: bool,
    /// Send new data on the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// Retransmission timeout before the first measurement; none: the variant's.
    pub initial_rto: Option<Span>,
    /// Smallest retransmission timeout.
    pub min_rto: Span,
    /// Largest retransmission timeout, backoff included (RFC 6298 rule 2.5).
    pub max_rto: Span,
    /// Granularity of the retransmission clock.
    pub tick: Span,
    /// Send ECN-capable data and answer ECN-Echo (RFC 3168), unless the variant always or never does.
    pub ecn: bool,
    /// Send ECT(1), the codepoint of L4S (RFC 9331), and not ECT(0), where the data is ECN-capable.
    pub l4s: bool,
    /// Spread packets over the round trip instead of sending them as acknowledgements come. Some variants always do.
    pub pacing: bool,
    /// Begin again with the initial window after a timeout's worth of silence (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// Rules of ns-2 in place of the RFCs'.
    pub ns2: Ns2Rules,
}

/// Rules of ns-2 2.35 that differ from those of the RFCs. No scenario has them: the comparison with ns-2 takes them one
/// by one to find out what makes a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ns2Rules {
    /// A retransmission of the highest packet sent passes for new and takes CWR with it (`output` of `tcp.cc`).
    pub cwr: bool,
    /// [`Recovery::Sack`] recovers as `Sack1` does (`tcp-sack1.cc`).
    pub sack1: bool,
}

impl TcpOptions {
    /// Is the connection's data ECN-capable?
    pub const fn ecn_capable(&self) -> bool {
        match self.variant.profile().ecn {
            EcnUse::OnRequest | EcnUse::Unanswered => self.ecn,
            EcnUse::Always => true,
            EcnUse::Never => false,
        }
    }

    /// The ECN codepoint of its data.
    pub const fn codepoint(&self) -> Ecn {
        match (self.ecn_capable(), self.l4s) {
            (false, _) => Ecn::NotEct,
            (true, false) => Ecn::Ect0,
            (true, true) => Ecn::Ect1,
        }
    }

    /// Does its sender answer ECN-Echo?
    pub(crate) const fn answers_echo(&self) -> bool {
        self.ecn_capable() && !matches!(self.variant.profile().ecn, EcnUse::Unanswered)
    }

    /// What its timers depend on; `phase` is where its clock stands within a tick.
    pub(crate) fn timer(&self, phase: Span) -> RttOptions {
        let initial = self.initial_rto.unwrap_or(self.variant.profile().initial_rto);
        RttOptions { initial, min_rto: self.min_rto, max_rto: self.max_rto, tick: self.tick, phase }
    }

    /// Are its packets paced?
    pub const fn paced(&self) -> bool {
        self.pacing || self.variant.profile().paces
    }
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self {
            variant: Variant::default(),
            initial_window: 2,
            window: None,
            ack: 40,
            delayed_ack: false,
            limited_transmit: true,
            initial_rto: None,
            min_rto: Span::from_millis(200),
            max_rto: Span::from_millis(60_000),
            tick: Span::from_millis(10),
            ecn: false,
            l4s: false,
            pacing: false,
            idle_restart: true,
            ns2: Ns2Rules::default(),
        }
    }
}
