//! The state of a sender as `struct tcp_info` of Linux has it.

/// State of loss recovery and congestion control, as Linux names it (`enum tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No sign of congestion.
    Open,
    /// Packets are reported missing, too few to be considered lost.
    Disorder,
    /// A mark reduced the window, and data sent before it is outstanding. Linux: `CWR`.
    Reduced,
    /// Fast recovery.
    Recovery,
    /// After a timeout, until the data outstanding then is acknowledged.
    Loss,
}

/// Number of packets sent and not cumulatively acknowledged, and what the sender knows of them. All but `sent` are 0
/// for a sender without selective acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outstanding {
    /// All of them.
    pub sent: u32,
    /// Selectively acknowledged ones.
    pub reported: u32,
    /// Those considered lost.
    pub lost: u32,
    /// Those retransmitted in the current recovery.
    pub repeated: u32,
}
