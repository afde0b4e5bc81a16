//! The sending end of a TCP connection, of one of two [stacks](super::Stack).

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::congestion::PathModel;
use super::receiver::Ack;
use super::reports::Block;
use super::rtt::Rtt;
use super::state::{Outstanding, State};
use super::{Stack, TcpOptions, linux, rfc};

/// One data packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Send {
    /// Number of the packet in the connection.
    pub seq: u32,
    /// Congestion Window Reduced flag.
    pub cwr: bool,
    /// Does the packet have the ECN codepoint of the connection's data? If not, it is Not-ECT.
    pub ect: bool,
    /// The flag PSH: the receiver of the Linux stack acknowledges the packet at once.
    pub push: bool,
    /// Number of the sender's retransmission episode, modulo 4, in place of a timestamp (RFC 7323). The Linux stack
    /// detects with it which transmission of a packet has arrived.
    pub stamp: u8,
}

/// The result of a handshake, for the end that sends data.
#[derive(Clone, Debug)]
pub struct Handshake {
    /// This end's estimate of the round trip, by Karn's rule.
    pub rtt: Rtt,
    /// Number of retransmissions of this end's handshake packet.
    pub retransmissions: u32,
    /// Time from the last transmission of this end's handshake packet to the answer.
    pub round_trip: Span,
    /// The SYN was retransmitted.
    pub syn_lost: bool,
    /// A lost SYN counts as a loss of data, as in ns-2.
    pub counts_as_loss: bool,
}

impl Handshake {
    /// A handshake without retransmissions, which measured this round trip.
    pub fn at_once(rtt: Rtt) -> Self {
        let round_trip = rtt.precise();
        Self { rtt, retransmissions: 0, round_trip, syn_lost: false, counts_as_loss: false }
    }
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets among `sent` that were retransmissions.
    pub retransmitted: u64,
    /// Fast retransmits: one for each loss event that acknowledgements, not the timer, reported.
    pub fast_retransmits: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Window reductions for ECN-Echo.
    pub ecn_cuts: u64,
}

/// State of a sender.
#[derive(Clone, Debug)]
pub struct Sender(Of);

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would cost each packet of the common stack an access")]
enum Of {
    Rfc(rfc::Sender),
    Linux(Box<linux::Sender>),
}

/// Calls a method of the stack's sender.
macro_rules! of {
    ($of:expr, $sender:ident => $call:expr) => {
        match $of {
            Of::Rfc($sender) => $call,
            Of::Linux($sender) => $call,
        }
    };
}

impl Sender {
    /// A connection that has sent nothing and has unlimited data. `phase`: position of the retransmission timer's
    /// coarse clock within its tick at time 0; `rng`: the connection's random stream.
    pub fn new(options: TcpOptions, phase: Span, rng: Rng) -> Self {
        Self(match options.stack() {
            Stack::Rfc => Of::Rfc(rfc::Sender::new(options, phase, rng)),
            Stack::Linux => Of::Linux(Box::new(linux::Sender::new(options, rng))),
        })
    }

    /// Starts a new connection with the same peer after everything sent is acknowledged. All state is reset except
    /// packet numbers and counters.
    pub fn renew(&mut self, options: TcpOptions, phase: Span, rng: Rng) {
        match &mut self.0 {
            Of::Rfc(sender) => sender.renew(options, phase, rng),
            Of::Linux(sender) => sender.renew(options, rng),
        }
    }

    /// Ends the handshake.
    pub fn opened(&mut self, now: Instant, handshake: Handshake) {
        of!(&mut self.0, sender => sender.opened(now, handshake));
    }

    /// The sender's counters.
    pub fn counts(&self) -> &SenderCounts {
        of!(&self.0, sender => sender.counts())
    }

    /// Congestion window in packets.
    pub fn cwnd(&self) -> f64 {
        of!(&self.0, sender => sender.cwnd())
    }

    /// Slow-start threshold in packets.
    pub fn ssthresh(&self) -> f64 {
        of!(&self.0, sender => sender.ssthresh())
    }

    /// Smoothed round-trip time and timeout estimator.
    pub fn rtt(&self) -> &Rtt {
        of!(&self.0, sender => sender.rtt())
    }

    /// Number of packets that are cumulatively acknowledged.
    #[inline]
    pub fn acknowledged(&self) -> u32 {
        of!(&self.0, sender => sender.acknowledged())
    }

    /// Packets estimated to be in the network; without selective acknowledgements, all outstanding packets.
    pub fn in_flight(&self) -> u32 {
        of!(&self.0, sender => sender.in_flight())
    }

    /// Returns the latest measured round-trip time once. `None`: there is no new measurement since the last call.
    #[inline]
    pub fn take_round_trip(&mut self) -> Option<Span> {
        of!(&mut self.0, sender => sender.take_round_trip())
    }

    /// The congestion control's estimate of the fraction of marked packets, 0 to 1, if it has one.
    pub fn marked_share(&self) -> Option<f64> {
        of!(&self.0, sender => sender.marked_share())
    }

    /// The congestion control's model of the path, if it has one.
    pub fn path_model(&self) -> Option<PathModel> {
        of!(&self.0, sender => sender.path_model())
    }

    /// When to call [`on_deadline`](Self::on_deadline): the earlier of retransmission timer and pacer.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        of!(&self.0, sender => sender.deadline())
    }

    /// Stops the sender for good: the application has closed.
    pub fn stop(&mut self) {
        of!(&mut self.0, sender => sender.stop());
    }

    /// The application hands over data for `packets` more packets. Before the first call data is unlimited; afterwards
    /// there is only what the application handed over. After an idle time longer than the timeout the window is
    /// reduced (RFC 5681 section 4.1).
    pub fn offer(&mut self, now: Instant, packets: u32) {
        of!(&mut self.0, sender => sender.offer(now, packets));
    }

    /// The next packet that window, recovery and pacer allow now. Call it until it returns `None`.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Send> {
        of!(&mut self.0, sender => sender.poll(now))
    }

    /// An acknowledgement arrives; `blocks`: its selective blocks.
    #[inline]
    pub fn on_ack(&mut self, now: Instant, ack: Ack, blocks: &[Block]) {
        of!(&mut self.0, sender => sender.on_ack(now, ack, blocks));
    }

    /// Handles an expired [`deadline`](Self::deadline). [`poll`](Self::poll) then returns what the pacer delayed.
    pub fn on_deadline(&mut self, now: Instant) {
        of!(&mut self.0, sender => sender.on_deadline(now));
    }

    /// State of loss recovery and congestion control.
    pub fn state(&self) -> State {
        of!(&self.0, sender => sender.state())
    }

    /// What the sender knows of its outstanding packets.
    pub fn outstanding(&self) -> Outstanding {
        of!(&self.0, sender => sender.outstanding())
    }

    /// Number of packets by which others may overtake a packet before it is considered lost.
    pub fn reordering(&self) -> u32 {
        of!(&self.0, sender => sender.reordering())
    }

    /// How often packets were reordered, as far as the sender knows. `None`: it does not look for reordering.
    pub fn reordered(&self) -> Option<u32> {
        of!(&self.0, sender => sender.reordered())
    }

    /// Does the sender use selective acknowledgements?
    pub fn is_selective(&self) -> bool {
        match &self.0 {
            Of::Rfc(sender) => sender.is_selective(),
            Of::Linux(_) => true,
        }
    }

    /// The receiver announces a window of `packets` above the cumulative acknowledgement. It limits sending, not the
    /// congestion window.
    pub fn announce(&mut self, packets: u32) {
        of!(&mut self.0, sender => sender.announce(packets));
    }

    /// Checks the sequence space and the counts of packets.
    pub fn check(&self) -> Result<(), &'static str> {
        of!(&self.0, sender => sender.check())
    }
}
