//! Sans-IO TCP endpoints: told the time, asked what to send. Sequence numbers count packets.
//!
//! Loss recovery ([`Recovery`]: when to send what again) and congestion control ([`Variant`]: how large the
//! window is) are apart. A sender without selective acknowledgements, pacing or a model of the path is a plain
//! struct; what only some need lies behind a pointer.

mod bits;
mod control;
mod gate;
pub mod receiver;
pub mod reports;
pub mod rtt;
mod scoreboard;
pub mod sender;
pub mod window;

use forebay_aqm::base::time::Span;

use rtt::RttOptions;

/// Which TCP: a congestion control with the loss recovery that goes with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Slow start from one packet after every loss (Jacobson 1988).
    Tahoe,
    /// Fast recovery ends with the first new acknowledgement (RFC 5681), once in a window of data, as in ns-2.
    Reno,
    /// Fast recovery ends when all data outstanding at its start is acknowledged (RFC 6582).
    NewReno,
    /// NewReno's window, recovery with selective acknowledgements (RFC 2018, RFC 6675).
    Sack,
    /// CUBIC's window (RFC 9438), recovery as with [`Sack`](Self::Sack).
    Cubic,
    /// DCTCP's window (RFC 8257) on ECN marks that are echoed one by one, recovery as with [`Sack`](Self::Sack).
    Dctcp,
    /// BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): a model of the path and pacing, recovery as
    /// with [`Sack`](Self::Sack).
    Bbr,
    /// SCTP's window (RFC 9260 section 7.2) and its recovery, on acknowledgements that report as [`Sack`](Self::Sack)'s do.
    Sctp,
}

/// When a sender sends what again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// Back to the first hole on the third duplicate acknowledgement.
    Tahoe,
    /// The first hole only; see [`Variant::Reno`].
    Reno,
    /// A hole for each partial acknowledgement.
    NewReno,
    /// Holes as the receiver reports them.
    Sack,
}

impl Variant {
    /// Every variant with its word in scenario files; the TCPs first.
    pub const WORDS: [(&'static str, Self); 8] = [
        ("tahoe", Self::Tahoe),
        ("reno", Self::Reno),
        ("newreno", Self::NewReno),
        ("sack", Self::Sack),
        ("cubic", Self::Cubic),
        ("dctcp", Self::Dctcp),
        ("bbr", Self::Bbr),
        ("sctp", Self::Sctp),
    ];

    /// Those that are TCPs: all but the last.
    pub const TCPS: &'static [(&'static str, Self)] = Self::WORDS.split_at(Self::WORDS.len() - 1).0;

    /// The variant with this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(other, _)| *other == word).map(|(_, variant)| *variant)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, other)| *other == self).map_or("", |(word, _)| word)
    }

    /// What it is, in a line.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Tahoe => "slow start from one packet after every loss",
            Self::Reno => "slow start, congestion avoidance, fast retransmit and recovery of RFC 5681",
            Self::NewReno => "reno whose fast recovery takes partial acknowledgements (RFC 6582); the default",
            Self::Sack => "reno's window, recovery with selective acknowledgements (RFC 6675)",
            Self::Cubic => "a cubic curve in time (RFC 9438), recovery as in sack",
            Self::Dctcp => "reduction by the share of marked packets (RFC 8257), recovery as in sack; sets ecn",
            Self::Bbr => "version 1: paces at the rate that a model of the path finds, recovery as in sack",
            Self::Sctp => {
                "a window by partial_bytes_acked, recovery by missing reports (RFC 9260); written kind = sctp"
            }
        }
    }

    /// Its loss recovery.
    pub const fn recovery(self) -> Recovery {
        match self {
            Self::Tahoe => Recovery::Tahoe,
            Self::Reno => Recovery::Reno,
            Self::NewReno => Recovery::NewReno,
            Self::Sack | Self::Cubic | Self::Dctcp | Self::Bbr | Self::Sctp => Recovery::Sack,
        }
    }

    /// Timeout before the first measurement. RFC 6298 says 1 s, ns-2 and RFC 2988 3 s; RFC 9260 section 16 has
    /// `RTO.Initial` 1 s.
    const fn initial_rto(self) -> Span {
        match self {
            Self::Sctp => Span::from_millis(1000),
            _ => Span::from_millis(3000),
        }
    }

    /// A held acknowledgement leaves after this at the latest: as ns-2's delayed-ACK sink, where RFC 1122 allows 500 ms;
    /// RFC 9260 section 16 has `SACK.Delay` 200 ms.
    const fn ack_delay(self) -> Span {
        match self {
            Self::Sctp => Span::from_millis(200),
            _ => Span::from_millis(100),
        }
    }
}

/// What can be chosen about a connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpOptions {
    /// Congestion control and loss recovery.
    pub variant: Variant,
    /// Packets that may be sent before the first acknowledgement.
    pub initial_window: u32,
    /// Receiver's window in packets.
    pub window: u32,
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
    /// Send ECN-capable data and react to ECN-Echo (RFC 3168); DCTCP always does, BBR never reacts.
    pub ecn: bool,
    /// Spread packets over the round trip instead of sending them as acknowledgements come; BBR always does.
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
    /// [`Variant::Sack`] recovers as `Sack1` does (`tcp-sack1.cc`).
    pub sack1: bool,
}

impl TcpOptions {
    /// Is the connection's data ECN-capable? RFC 9260 says nothing of ECN.
    pub fn ecn_capable(&self) -> bool {
        (self.ecn && self.variant != Variant::Sctp) || self.variant == Variant::Dctcp
    }

    /// What its timers depend on; `phase` is where its clock stands within a tick.
    pub(crate) fn timer(&self, phase: Span) -> RttOptions {
        let initial = self.initial_rto.unwrap_or(self.variant.initial_rto());
        RttOptions { initial, min_rto: self.min_rto, max_rto: self.max_rto, tick: self.tick, phase }
    }

    /// Are its packets paced?
    pub fn paced(&self) -> bool {
        self.pacing || self.variant == Variant::Bbr
    }
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self {
            variant: Variant::NewReno,
            initial_window: 2,
            window: u32::MAX,
            delayed_ack: false,
            limited_transmit: true,
            initial_rto: None,
            min_rto: Span::from_millis(200),
            max_rto: Span::from_millis(60_000),
            tick: Span::from_millis(10),
            ecn: false,
            pacing: false,
            idle_restart: true,
            ns2: Ns2Rules::default(),
        }
    }
}
