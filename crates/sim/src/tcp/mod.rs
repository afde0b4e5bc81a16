//! TCP endpoints without I/O: the caller passes the time and the packets and sends what they return.
//! Sequence numbers count packets, not bytes.
//!
//! Loss recovery ([`Recovery`]: what to retransmit, and when) and congestion control
//! ([`CongestionControl`](congestion::CongestionControl): the size of the window) are separate. A [`Variant`] names
//! one of each. A [`Stack`] has the rules of loss detection and of timers. State that only some senders need (selective acknowledgements, pacing, a path model) is boxed, so that
//! the other senders stay small.

pub mod accecn;
mod bits;
pub mod congestion;
mod control;
mod gate;
mod linux;
pub mod receiver;
pub mod reports;
mod rfc;
pub mod rtt;
mod scoreboard;
pub mod sender;
pub mod state;
pub mod testing;
pub mod window;

use congestion::{Echo, EcnUse};
use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::Span;

pub use congestion::{Recovery, Transport};
pub use control::{Unfit, Variant, register, register_controller};
use rtt::RttOptions;

/// Options of a connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpOptions {
    /// Congestion control and loss recovery.
    pub variant: Variant,
    /// Rules of loss recovery, timers and window growth. `None`: those of the congestion control.
    pub stack: Option<Stack>,
    /// Congestion control on a real kernel, by the kernel's name. `None`: that of `variant`.
    pub kernel_tcp: Option<&'static str>,
    /// Packets that may be sent before the first acknowledgement.
    pub initial_window: u32,
    /// Receiver's window in packets; `None`: unlimited.
    pub window: Option<u32>,
    /// Size of an acknowledgement on the wire, in bytes.
    pub ack: u16,
    /// Acknowledge only every second packet.
    pub delayed_ack: bool,
    /// Send new data on the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// Retransmission timeout before the first measurement. `None`: the default of the congestion control.
    pub initial_rto: Option<Span>,
    /// Smallest retransmission timeout.
    pub min_rto: Span,
    /// Largest retransmission timeout, backoff included (RFC 6298 rule 2.5).
    pub max_rto: Span,
    /// Granularity of the retransmission clock.
    pub tick: Span,
    /// Send ECN-capable data and react to ECN-Echo (RFC 3168). Some congestion controls always or never do.
    pub ecn: bool,
    /// Send ECN-capable data as ECT(1), the L4S codepoint (RFC 9331), instead of ECT(0).
    pub l4s: bool,
    /// Accurate feedback of marks (RFC 9768), in place of the ECN-Echo of the congestion control.
    pub accecn: AccEcn,
    /// Are retransmissions ECN-capable, if the connection's data is? `None`: the default of its kind of
    /// feedback, see [`Self::repeats_with_ect`]. ns-2 has `true`.
    pub ect_retransmissions: Option<bool>,
    /// Are acknowledgements without data ECN-capable, if the connection's data is? `None`: the default of its stack,
    /// see [`Self::acknowledges_with_ect`].
    pub ect_acks: Option<bool>,
    /// Spread packets over the round trip instead of sending a burst per acknowledgement. Some congestion controls
    /// always do.
    pub pacing: bool,
    /// Prague: a flow with a shorter round trip grows, reduces and averages as if it had this one. 1 us: by its own
    /// round trip.
    pub virtual_rtt: Span,
    /// Prague: control the rate, not the window, at small windows, so that less than two packets are sent per round trip.
    pub low_rate: bool,
    /// LEDBAT: the queueing delay to cause (RFC 6817 section 2.5: at most 100 ms).
    pub target: Span,
    /// LEDBAT: packets per round trip by which the window grows while there is no queueing delay (RFC 6817 section 2.5: at
    /// most 1).
    pub gain: f64,
    /// Part of the window that a mark leaves (RFC 8511): 0.8 for Reno's window, 0.85 for CUBIC's. `None`: as much as the
    /// congestion control leaves.
    pub ecn_beta: Option<f64>,
    /// Appropriate byte counting (RFC 3465) with this limit L in packets; the RFC has 1 and 2. `None`: the window grows once
    /// per acknowledgement. For a window that follows RFC 5681; not in the Linux stack, which always counts.
    pub byte_counting: Option<u32>,
    /// HyStart++ (RFC 9406) in the first slow start, in place of the slow start of the congestion control.
    pub hystart: bool,
    /// Validation of the window by RFC 7661 in place of the stack's rule for an unused window.
    pub pipe_ack: bool,
    /// Restart with the initial window after an idle time of one timeout (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// Rules of ns-2 that replace those of the RFCs.
    pub ns2: Ns2Rules,
}

/// The rules of a sender and receiver, besides the congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stack {
    /// The RFCs: 5681, 6582, 6675, 3042, 6298 and 3168.
    #[default]
    Rfc,
    /// Linux 6.12: RACK-TLP (RFC 8985), PRR (RFC 6937), undo of spurious reductions, always with selective
    /// acknowledgements. Not for SCTP.
    Linux,
}

/// Use of Accurate ECN (RFC 9768) by a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AccEcn {
    /// Not used.
    #[default]
    Off,
    /// Acknowledgements have the field ACE.
    Field,
    /// Acknowledgements have the field ACE and the AccECN option.
    Option,
}

/// Rules of ns-2 2.35 that differ from the RFCs. Scenarios cannot set them. The comparison with ns-2 sets them one at
/// a time to find which rule causes a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ns2Rules {
    /// A retransmission of the highest packet sent counts as new data and carries CWR (`output` of `tcp.cc`).
    pub cwr: bool,
    /// [`Recovery::Selective`] recovers like ns-2's `Sack1` (`tcp-sack1.cc`).
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

    /// The ECN codepoint of the connection's data.
    pub const fn codepoint(&self) -> Ecn {
        match (self.ecn_capable(), self.l4s || self.variant.profile().sends_ect1) {
            (false, _) => Ecn::NotEct,
            (true, false) => Ecn::Ect0,
            (true, true) => Ecn::Ect1,
        }
    }

    /// Are the retransmissions of this connection ECN-capable? If the options do not say it, the feedback decides: no with
    /// ECN-Echo (RFC 3168 section 6.1.5); yes with DCTCP and AccECN, as in Linux (`tcp_ecn_send`), which RFC 8311 section
    /// 4.3 permits.
    pub const fn repeats_with_ect(&self) -> bool {
        match self.ect_retransmissions {
            Some(chosen) => chosen,
            None => !self.has_classic_feedback(),
        }
    }

    /// Are acknowledgements without data ECN-capable? If the options do not say it, the stack decides: no on that of the RFCs
    /// (RFC 3168 section 6.1.4); on that of Linux yes for DCTCP and AccECN (`tcp_ecn_send`), which RFC 8311 section 4.3
    /// permits.
    pub const fn acknowledges_with_ect(&self) -> bool {
        match self.ect_acks {
            Some(chosen) => chosen,
            None => matches!(self.stack(), Stack::Linux) && !self.has_classic_feedback(),
        }
    }

    /// Do acknowledgements report marks by the ECN-Echo of RFC 3168?
    const fn has_classic_feedback(&self) -> bool {
        matches!((self.variant.profile().echo, self.accurate()), (Echo::UntilCwr, AccEcn::Off))
    }

    /// The default options of a connection with this control on `stack`; `None`: on the control's. In the Linux stack they
    /// are those of a Linux host.
    pub fn of(variant: Variant, stack: Option<Stack>) -> Self {
        let rfc = Self { variant, stack, ..Self::default() };
        match rfc.stack() {
            Stack::Rfc => rfc,
            Stack::Linux => {
                Self { initial_window: linux::INITIAL_WINDOW, delayed_ack: true, max_rto: linux::MAX_RTO, ..rfc }
            }
        }
    }

    /// The stack of the connection.
    pub const fn stack(&self) -> Stack {
        match (self.variant.profile().transport, self.stack) {
            (Transport::Sctp, _) => Stack::Rfc,
            (Transport::Tcp, Some(stack)) => stack,
            (Transport::Tcp, None) => self.variant.profile().stack,
        }
    }

    /// Do acknowledgements have selective blocks?
    pub const fn is_selective(&self) -> bool {
        matches!(self.stack(), Stack::Linux) || self.variant.profile().recovery.is_selective()
    }

    /// How acknowledgements report marks accurately. A congestion control can require the AccECN option.
    pub const fn accurate(&self) -> AccEcn {
        match (self.variant.profile().echo, self.accecn) {
            (Echo::Accurate, AccEcn::Off) => AccEcn::Option,
            (_, accecn) => accecn,
        }
    }

    /// Does the sender react to ECN-Echo?
    pub(crate) const fn answers_echo(&self) -> bool {
        self.ecn_capable() && !matches!(self.variant.profile().ecn, EcnUse::Unanswered)
    }

    /// Are handshake packets ECN-capable? Linux makes them so for congestion controls that need ECN
    /// (`tcp_ca_needs_ecn`); RFC 3168 section 6.1.1 does not.
    pub(crate) fn ect_handshake(&self) -> bool {
        self.stack() == Stack::Linux && matches!(self.variant.profile().ecn, EcnUse::Always)
    }

    /// Options of the retransmission timer; `phase`: position of the timer's coarse clock within its tick at time 0.
    pub(crate) fn timer(&self, phase: Span) -> RttOptions {
        let initial = self.initial_rto.unwrap_or(match self.stack() {
            Stack::Rfc => self.variant.profile().initial_rto,
            Stack::Linux => linux::INITIAL_RTO,
        });
        let (tick, phase) = match self.stack() {
            Stack::Rfc => (self.tick, phase),
            // Its clock is exact here.
            Stack::Linux => (Span::from_nanos(1), Span::ZERO),
        };
        RttOptions { initial, min_rto: self.min_rto, max_rto: self.max_rto, tick, phase }
    }

    /// Does the connection request rules that amend its congestion control?
    pub const fn amends(&self) -> bool {
        self.ecn_beta.is_some() || self.byte_counting.is_some() || self.hystart || self.pipe_ack
    }

    /// The keys of a scenario that request these rules.
    pub fn amending_keys(&self) -> Vec<&'static str> {
        let keys = [
            ("ecn_beta", self.ecn_beta.is_some()),
            ("byte_counting", self.byte_counting.is_some()),
            ("slow_start", self.hystart),
            ("window_validation", self.pipe_ack),
        ];
        keys.into_iter().filter_map(|(key, given)| given.then_some(key)).collect()
    }

    /// The scenario keys of this connection that a real kernel ignores, because it has its own values. Only keys whose value is
    /// not the default of the stack.
    pub fn keys_besides_kernel(&self) -> Vec<&'static str> {
        let own = Self::of(self.variant, self.stack);
        let plain = Self { ect_retransmissions: None, ect_acks: None, ..*self };
        let keys = [
            ("ect_retransmissions", self.repeats_with_ect() != plain.repeats_with_ect()),
            ("ect_acks", self.acknowledges_with_ect() != plain.acknowledges_with_ect()),
            ("initial_window", self.initial_window != own.initial_window),
            // Linux delays acknowledgements.
            ("delayed_ack", own.delayed_ack && !self.delayed_ack),
            ("initial_rto", self.timer(Span::ZERO).initial != own.timer(Span::ZERO).initial),
            ("min_rto", self.min_rto != own.min_rto),
            ("max_rto", self.max_rto != own.max_rto.max(self.min_rto)),
            ("tick", self.tick != own.tick),
            ("ack", self.ack != own.ack),
            ("limited_transmit", self.limited_transmit != own.limited_transmit),
        ];
        keys.into_iter().filter_map(|(key, differs)| differs.then_some(key)).collect()
    }

    /// The name of the congestion control on a real kernel; `None`: no kernel has it.
    pub const fn kernel(&self) -> Option<&'static str> {
        match self.kernel_tcp {
            Some(name) => Some(name),
            None => self.variant.profile().kernel,
        }
    }

    /// Are the connection's packets paced?
    pub const fn paced(&self) -> bool {
        self.pacing || self.variant.profile().paces
    }
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self {
            variant: Variant::default(),
            stack: None,
            kernel_tcp: None,
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
            accecn: AccEcn::Off,
            ect_retransmissions: None,
            ect_acks: None,
            pacing: false,
            virtual_rtt: Span::from_millis(25),
            low_rate: false,
            target: Span::from_millis(100),
            gain: 1.0,
            ecn_beta: None,
            byte_counting: None,
            hystart: false,
            pipe_ack: false,
            idle_restart: true,
            ns2: Ns2Rules::default(),
        }
    }
}
