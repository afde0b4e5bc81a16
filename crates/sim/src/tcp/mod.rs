//! Sans-IO TCP endpoints: told the time, asked what to send. Sequence numbers count packets.

pub mod receiver;
pub mod rtt;
pub mod sender;
pub mod window;

use forebay_aqm::base::time::Span;

/// How a sender recovers from loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// Fast recovery ends with the first new acknowledgement (RFC 5681), once in a window of data, as in ns-2.
    Reno,
    /// Fast recovery ends when all data outstanding at its start is acknowledged (RFC 6582).
    NewReno,
}

/// What can be chosen about a connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpOptions {
    /// Loss recovery.
    pub recovery: Recovery,
    /// Packets that may be sent before the first acknowledgement.
    pub initial_window: u32,
    /// Receiver's window in packets.
    pub window: u32,
    /// Acknowledge every second packet.
    pub delayed_ack: bool,
    /// Send new data on the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// Smallest retransmission timeout.
    pub min_rto: Span,
    /// Granularity of the retransmission clock.
    pub tick: Span,
    /// Set ECT(0) on data and react to ECN-Echo (RFC 3168).
    pub ecn: bool,
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self {
            recovery: Recovery::NewReno,
            initial_window: 2,
            window: u32::MAX,
            delayed_ack: false,
            limited_transmit: true,
            min_rto: Span::from_millis(200),
            tick: Span::from_millis(10),
            ecn: false,
        }
    }
}
