//! The handshake. It is not under test: the runner reads from it what the two ends negotiate.

use forebay_aqm::base::time::Instant;

use crate::script::{Options, Packet};

/// Segment size of a peer that names none (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u32 = 536;
/// Space of the timestamp option with its padding.
const TIMESTAMP: u32 = 12;

/// A SYN or SYN-ACK.
#[derive(Clone, Debug)]
struct Syn {
    at: Instant,
    /// `None`: the script does not compare these options; those of the other end are used.
    options: Option<Options>,
    ece: bool,
    window: u64,
}

/// The progress of a handshake.
#[derive(Clone, Debug, Default)]
pub(super) struct Handshake {
    /// Has the script called `connect`?
    pub(super) is_active: bool,
    ours: Option<Syn>,
    theirs: Option<Syn>,
}

/// What both ends have said.
#[derive(Clone, Debug)]
pub(super) struct Agreed {
    /// When this end sent its SYN or SYN-ACK.
    pub(super) opened: Instant,
    pub(super) mss: u32,
    pub(super) sack: bool,
    pub(super) scale: u32,
    pub(super) ecn: bool,
    /// The peer's window in bytes.
    pub(super) window: u64,
}

impl Handshake {
    /// A SYN or SYN-ACK that the script injects or expects at `now`. Returns true if this end is now connected: the
    /// SYN-ACK has arrived.
    pub(super) fn syn(&mut self, now: Instant, packet: &Packet) -> Result<bool, String> {
        if packet.len > 0 || packet.flags.fin {
            return Err("data or FIN on a SYN".to_string());
        }
        let syn = Syn {
            at: now,
            options: packet.options.clone(),
            ece: packet.flags.ece,
            window: u64::from(packet.win.unwrap_or_default()),
        };
        // SYN then SYN-ACK, each in its direction.
        let is_answer = packet.flags.ack;
        if self.is_active == (is_answer == packet.is_expected) {
            return Err("a handshake in which both ends send SYN".to_string());
        }
        let (slot, first) =
            if packet.is_expected { (&mut self.ours, &self.theirs) } else { (&mut self.theirs, &self.ours) };
        if is_answer && first.is_none() {
            return Err("a SYN-ACK without a SYN".to_string());
        }
        if slot.replace(syn).is_some() {
            return Err("retransmissions of the handshake, or a second connection".to_string());
        }
        Ok(is_answer && !packet.is_expected)
    }

    /// Has it begun?
    pub(super) const fn has_begun(&self) -> bool {
        self.is_active || self.ours.is_some() || self.theirs.is_some()
    }

    /// What both ends have said. `most`: largest segment that this end may send, headers excluded.
    pub(super) fn agreed(&self, most: u32) -> Result<Agreed, String> {
        let (Some(ours), Some(theirs)) = (&self.ours, &self.theirs) else {
            return Err("a packet before the handshake".to_string());
        };
        let their = theirs.options.clone().unwrap_or_default();
        let our = ours.options.clone().unwrap_or_else(|| their.clone());
        let most = our.mss.map_or(most, |mss| mss.min(most));
        let both_scale = our.wscale.is_some() && their.wscale.is_some();
        let stamps = our.timestamps && their.timestamps;
        Ok(Agreed {
            opened: ours.at,
            mss: their.mss.unwrap_or(DEFAULT_MSS).min(most).saturating_sub(if stamps { TIMESTAMP } else { 0 }),
            sack: our.sack_permitted && their.sack_permitted,
            scale: if both_scale { their.wscale.unwrap_or_default() } else { 0 },
            ecn: ours.ece && theirs.ece,
            window: theirs.window,
        })
    }
}
