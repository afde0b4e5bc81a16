//! The records that a guest writes: what happened to packets at its qdiscs, and texts of its agent. The other side is
//! `crates/qdisc/kernel/sch_forebay.c`.

/// What happened to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It arrived at a link under study.
    Arrived,
    /// Its transmission there began.
    Departed,
    /// It was dropped there by decision of the discipline.
    Early,
    /// It was dropped there because the buffer was full.
    Overflow,
    /// Packets were dropped there at a departure; `id` is their number. Each has a [`Self::Freed`] before.
    Lost,
    /// It entered the network.
    Entered,
    /// It left the network.
    Left,
    /// A qdisc of Linux dropped it from its queue; `value` is of no meaning.
    Freed,
}

/// Flags of [`Event::flags`]: a packet to a server.
pub const FORWARD: u8 = 1;
/// Flags of [`Event::flags`]: a packet with payload.
pub const PAYLOAD: u8 = 2;
/// Flags of [`Event::flags`]: a TCP segment.
pub const TCP: u8 = 4;
/// Flags of [`Event::flags`]: a SYN.
pub const SYN: u8 = 8;

/// What happened to a packet, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// What happened.
    pub kind: Kind,
    /// Index of the link.
    pub link: u8,
    /// The two ECN bits of the packet.
    pub ecn: u8,
    /// [`FORWARD`], [`PAYLOAD`], [`TCP`], [`SYN`].
    pub flags: u8,
    /// Length of the frame, bytes.
    pub len: u16,
    /// Index of the flow; `u16::MAX`: none.
    pub flow: u16,
    /// Number of the packet: at the link, or in the network for [`Kind::Entered`] and [`Kind::Left`].
    pub id: u32,
    /// At a link: packets that wait afterwards. At the edge of the network: the sequence number after the payload, or
    /// without payload the acknowledged one.
    pub value: u32,
    /// Time since the start of the run, ns.
    pub at: u64,
}

/// A record.
#[derive(Clone, PartialEq, Debug)]
pub enum Record {
    /// What happened to a packet.
    Event(Event),
    /// A text of the agent or the kernel.
    Text(String),
    /// The beginning of a packet that arrived at a link or left the network, after the event; only with a capture.
    Headers {
        /// The event. Its `len` is that of the IP packet; its `kind` is of no meaning.
        event: Event,
        /// The first bytes, from the IP header on.
        bytes: Vec<u8>,
    },
    /// The internal variables (probes) of the discipline of a link at a sampling time in ns.
    Probes {
        /// Index of the link.
        link: u8,
        /// The time.
        at: u64,
        /// The values, in the order of the discipline.
        values: Vec<f64>,
    },
}

/// Length of an event, and of the header of other records.
const EVENT: usize = 24;
const TEXT: u8 = 16;
const PROBES: u8 = 17;
const HEADERS: u8 = 18;

/// Reads records from parts of a stream.
#[derive(Default)]
pub struct Parser {
    left: Vec<u8>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map_or(0, u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes)
}

fn short(bytes: &[u8], at: usize) -> u16 {
    bytes[at..at + 2].try_into().map_or(0, u16::from_le_bytes)
}

impl Parser {
    /// Passes the next part of the stream. Calls `each` for every complete record.
    ///
    /// # Errors
    /// A record has an unknown kind.
    pub fn read(&mut self, part: &[u8], mut each: impl FnMut(Record)) -> Result<(), String> {
        self.left.extend_from_slice(part);
        let mut at = 0;
        while let Some(bytes) = self.left.get(at..).filter(|bytes| bytes.len() >= EVENT) {
            let Some((record, len)) = record(bytes)? else { break };
            each(record);
            at += len;
        }
        self.left.drain(..at);
        Ok(())
    }

    /// Was every record complete?
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }
}

/// The first record and its length; `None` if it is not complete. `bytes` has at least a header.
fn record(bytes: &[u8]) -> Result<Option<(Record, usize)>, String> {
    let kind = match bytes[0] {
        1 => Kind::Arrived,
        2 => Kind::Departed,
        3 => Kind::Early,
        4 => Kind::Overflow,
        5 => Kind::Lost,
        6 => Kind::Entered,
        7 => Kind::Left,
        8 => Kind::Freed,
        TEXT => {
            let len = EVENT + word(bytes, 12) as usize;
            let text = bytes.get(EVENT..len);
            return Ok(text.map(|text| (Record::Text(String::from_utf8_lossy(text).into_owned()), len)));
        }
        HEADERS => {
            let len = EVENT + word(bytes, 12) as usize;
            let kept = bytes.get(EVENT..len).map(<[u8]>::to_vec);
            return Ok(kept.map(|kept| (Record::Headers { event: event(Kind::Arrived, bytes), bytes: kept }, len)));
        }
        PROBES => {
            let len = EVENT + word(bytes, 12) as usize * 8;
            let values = bytes.get(EVENT..len);
            let values = values.map(|values| values.chunks_exact(8).map(|one| f64::from_bits(long(one, 0))).collect());
            return Ok(values.map(|values| (Record::Probes { link: bytes[1], at: long(bytes, 16), values }, len)));
        }
        other => return Err(format!("the guest wrote a record of the unknown kind {other}")),
    };
    Ok(Some((Record::Event(event(kind, bytes)), EVENT)))
}

/// The event of this kind in a header.
fn event(kind: Kind, bytes: &[u8]) -> Event {
    Event {
        kind,
        link: bytes[1],
        ecn: bytes[2],
        flags: bytes[3],
        len: short(bytes, 4),
        flow: short(bytes, 6),
        id: word(bytes, 8),
        value: word(bytes, 12),
        at: long(bytes, 16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &str) -> Vec<u8> {
        let mut bytes = vec![0; EVENT];
        bytes[0] = TEXT;
        bytes[12..16].copy_from_slice(&(words.len() as u32).to_le_bytes());
        bytes.extend(words.bytes());
        bytes
    }

    #[test]
    fn records_are_read_from_any_parts() {
        let mut event = vec![2, 3, 2, 5, 0xdc, 5, 7, 0];
        event.extend(9u32.to_le_bytes());
        event.extend(4u32.to_le_bytes());
        event.extend(1_000u64.to_le_bytes());
        let mut probes = vec![0; EVENT];
        (probes[0], probes[1], probes[12]) = (PROBES, 1, 2);
        probes.extend([0.5f64, 2.0].into_iter().flat_map(f64::to_le_bytes));
        let mut headers = vec![0; EVENT];
        (headers[0], headers[1], headers[4], headers[8], headers[12]) = (HEADERS, 254, 40, 3, 5);
        headers.extend([0x45, 0, 0, 40, 7]);
        let bytes = [text("fault x"), event, probes].concat();
        let bytes = [bytes, headers].concat();
        for part in [1, 7, bytes.len()] {
            let (mut parser, mut found) = (Parser::default(), Vec::new());
            bytes.chunks(part).for_each(|part| parser.read(part, |record| found.push(record)).unwrap());
            assert!(parser.is_empty());
            let event = Event {
                kind: Kind::Departed,
                link: 3,
                ecn: 2,
                flags: 5,
                len: 1500,
                flow: 7,
                id: 9,
                value: 4,
                at: 1_000,
            };
            let probes = Record::Probes { link: 1, at: 0, values: vec![0.5, 2.0] };
            let Some(Record::Headers { event: passed, bytes }) = found.pop() else { panic!("no headers") };
            assert_eq!((passed.link, passed.len, passed.id, bytes), (254, 40, 3, vec![0x45, 0, 0, 40, 7]));
            assert_eq!(found, [Record::Text("fault x".into()), Record::Event(event), probes]);
        }
    }

    #[test]
    fn unknown_records_are_an_error() {
        assert!(Parser::default().read(&[99; EVENT], |_| ()).unwrap_err().contains("99"));
    }
}
