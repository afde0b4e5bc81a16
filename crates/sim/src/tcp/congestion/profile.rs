//! The properties of a congestion control: its name, its loss recovery, and its use of ECN.

use forebay_aqm::base::time::Span;

use super::super::Stack;

/// Loss recovery: what a sender retransmits, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// Goes back to the first hole at the third duplicate acknowledgement (Jacobson 1988).
    GoBackN,
    /// Retransmits the first hole only; fast recovery ends with the first new acknowledgement (RFC 5681).
    FirstHole,
    /// Retransmits one hole per partial acknowledgement (RFC 6582).
    PartialAcks,
    /// Retransmits the holes that selective acknowledgements report (RFC 6675).
    Selective,
    /// Retransmits holes that were reported missing three times. Retransmissions precede new data (RFC 9260 sections
    /// 6.1 and 7.2.4).
    MissReports,
}

impl Recovery {
    /// All kinds of loss recovery.
    pub const ALL: [Self; 5] = [Self::GoBackN, Self::FirstHole, Self::PartialAcks, Self::Selective, Self::MissReports];

    /// Does it use selective acknowledgements?
    pub const fn is_selective(self) -> bool {
        matches!(self, Self::Selective | Self::MissReports)
    }
}

/// Transport protocol of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// The connection uses TCP (RFC 9293).
    Tcp,
    /// The connection uses SCTP (RFC 9260).
    Sctp,
}

/// When data is ECN-capable, and whether the sender reacts to ECN-Echo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnUse {
    /// ECN-capable if the flow's key `ecn` in the scenario is true; reacts to ECN-Echo (RFC 3168).
    OnRequest,
    /// Always ECN-capable; reacts to ECN-Echo.
    Always,
    /// ECN-capable if the flow's key `ecn` in the scenario is true; ignores ECN-Echo.
    Unanswered,
    /// Never ECN-capable.
    Never,
}

/// Meaning of the receiver's ECN-Echo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Echo {
    /// A packet was marked since the last CWR (RFC 3168 section 6.1.3).
    UntilCwr,
    /// Every packet newly acknowledged by this acknowledgement was marked (RFC 8257 section 3.2).
    EachPacket,
    /// Acknowledgements have the number of marked packets, not ECN-Echo (RFC 9768).
    Accurate,
}

/// Properties of a congestion control.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Profile {
    /// Its name in scenario files.
    pub word: &'static str,
    /// Description of the control in one line.
    pub summary: &'static str,
    /// Transport protocol for which the control is made.
    pub transport: Transport,
    /// The kind of loss recovery that a sender with this control uses.
    pub recovery: Recovery,
    /// When the data of the control is ECN-capable, and whether the sender reacts to ECN-Echo.
    pub ecn: EcnUse,
    /// What the receiver's ECN-Echo must mean for this control.
    pub echo: Echo,
    /// Does a mark reduce the window as much as a loss? Then a loss in the same window of data does not reduce it
    /// again.
    pub mark_is_loss: bool,
    /// Is its reaction to marks scalable, so that its data may use ECT(1) (RFC 9331)?
    pub is_scalable: bool,
    /// Does its data have ECT(1), the codepoint of L4S, without a request?
    pub sends_ect1: bool,
    /// Are its packets always paced?
    pub paces: bool,
    /// If it is paced: does a packet that leaves late shorten the gap to the next one, as in Linux?
    pub catches_up: bool,
    /// Does it need the one-way delay of data, which acknowledgements report (RFC 6817)? Not in the Linux stack and not with
    /// AccECN.
    pub reports_delay: bool,
    /// Does it need the hooks `on_sent`, `on_delivered`, `on_feedback`, `on_recovered`, `after_ack`, `on_out_of_data`
    /// and `burst_limit`? If not, the sender may skip these calls, which saves time per packet. Always true for a
    /// custom control.
    pub tracks_packets: bool,
    /// Does its window follow RFC 5681: slow start, one more packet per round trip, half at a loss? The models of the
    /// crate `forebay-theory` assume this. If so, a sender grows the window without a call of `on_ack`, unless it uses
    /// selective acknowledgements or `tracks_packets` is set.
    pub is_aimd: bool,
    /// Does it follow ns-2, not the RFCs, in the points that `tcp/rfc/ns2.rs` lists?
    pub follows_ns2: bool,
    /// The stack of a connection that does not name one.
    pub stack: Stack,
    /// Does it set the window itself, after losses and marks too? If not, the Linux stack takes the slow-start threshold
    /// that `on_loss` or `on_mark` sets as the target, and reduces the window to it by PRR (RFC 6937).
    pub owns_window: bool,
    /// Its name in Linux; `None`: not in Linux.
    pub kernel: Option<&'static str>,
    /// Retransmission timeout before the first measurement.
    pub initial_rto: Span,
    /// Longest time to delay an acknowledgement.
    pub ack_delay: Span,
    /// Header bytes per data packet.
    pub headers: u16,
}

impl Profile {
    /// Base profile: a TCP with selective acknowledgements. `initial_rto` is 3 s as in ns-2 and RFC 2988 (RFC 6298: 1
    /// s). `ack_delay` is 100 ms as in ns-2's delayed-ACK sink (RFC 1122 allows 500 ms).
    pub const TCP: Self = Self {
        word: "",
        summary: "",
        transport: Transport::Tcp,
        recovery: Recovery::Selective,
        ecn: EcnUse::OnRequest,
        echo: Echo::UntilCwr,
        mark_is_loss: true,
        is_scalable: false,
        sends_ect1: false,
        paces: false,
        catches_up: false,
        reports_delay: false,
        tracks_packets: true,
        is_aimd: false,
        follows_ns2: false,
        stack: Stack::Rfc,
        owns_window: false,
        kernel: None,
        initial_rto: Span::from_millis(3000),
        ack_delay: Span::from_millis(100),
        headers: 40,
    };
}
