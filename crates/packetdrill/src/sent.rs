//! What a connection sends, in the script's terms: bytes and header fields.

use std::fmt;

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::Instant;

/// A packet that the connection has sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    /// First byte; 1 is the first of the connection.
    pub(crate) seq: u32,
    /// Bytes of payload; 0: an acknowledgement alone.
    pub(crate) len: u32,
    pub(crate) fin: bool,
    pub(crate) ack: u32,
    pub(crate) ece: bool,
    pub(crate) cwr: bool,
    pub(crate) ecn: Ecn,
    pub(crate) sack: Vec<(u32, u32)>,
}

impl Sent {
    /// One above the last byte; FIN counts as one.
    pub(crate) const fn end(&self) -> u32 {
        self.seq + self.len + self.fin as u32
    }

    /// Is it neither data nor FIN?
    pub(crate) const fn is_ack(&self) -> bool {
        self.len == 0 && !self.fin
    }
}

impl fmt::Display for Sent {
    /// As packetdrill writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.ecn {
            Ecn::NotEct => "",
            Ecn::Ect0 => "[ect0] ",
            Ecn::Ect1 => "[ect1] ",
            Ecn::Ce => "[ce] ",
        })?;
        let flags = [(self.fin, "F"), (self.ece, "E"), (self.cwr, "W")]
            .map(|(set, letter)| if set { letter } else { "" })
            .concat();
        write!(f, "{flags}. {}:{}({}) ack {}", self.seq, self.seq + self.len, self.len, self.ack)?;
        if !self.sack.is_empty() {
            let blocks: Vec<String> = self.sack.iter().map(|(left, right)| format!("{left}:{right}")).collect();
            write!(f, " <sack {}>", blocks.join(" "))?;
        }
        Ok(())
    }
}

/// Packets in order, those of consecutive bytes as one.
pub(crate) fn show(packets: &[Sent]) -> String {
    let mut runs: Vec<Sent> = Vec::new();
    for packet in packets {
        match runs.last_mut() {
            Some(run) if run.len > 0 && !packet.is_ack() && run.end() == packet.seq && !packet.cwr => {
                run.len += packet.len;
                run.fin = packet.fin;
            }
            _ => runs.push(packet.clone()),
        }
    }
    let shown: Vec<String> = runs.iter().take(4).map(ToString::to_string).collect();
    let more = if runs.len() > 4 { format!(", and {} more", runs.len() - 4) } else { String::new() };
    if runs.is_empty() { "nothing".to_string() } else { format!("{}{more}", shown.join(", ")) }
}
