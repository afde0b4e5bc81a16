//! Reads packets from the trace files of ns-2 (the format of "trace-all" for wired links, ns manual, chapter 26) and from
//! the ASCII traces of ns-3 (EnableAsciiAll, ns-3 tutorial, section 6.3.1).
//!
//! A line begins with `+` (a packet enters a queue), `-` (it leaves the queue), `r` (it is received) or `d` (it is dropped).
//! Only `+` is read: of ns-2 where a packet leaves its source, with the flow id as its class; of ns-3 at the device of the
//! first such line.

use std::collections::BTreeSet;
use std::io::BufRead;

use super::bytes::Bytes;
use super::{Raw, Read, Recorded, gather, packet_length, room, text};

const ACCEPTS: &str = "a line of a trace of ns-2, such as + 1.84 0 2 cbr 210 ------- 0 0.0 3.1 225 610, or of ns-3";

/// Whether a file with these first bytes is a trace: an event and a space.
pub(super) fn is_trace(start: [u8; 4]) -> bool {
    b"+-rdhv".contains(&start[0]) && start[1] == b' '
}

/// Reads the packets.
pub(super) fn read<R: BufRead>(bytes: &mut Bytes<R>) -> Read<Recorded> {
    let text = text::of(bytes)?;
    let mut packets: Vec<Raw> = Vec::new();
    let mut flows = BTreeSet::new();
    let mut device = None;
    for (at, line) in text::lines(&text) {
        let mut words = line.split_whitespace();
        let (event, rest) = (words.next().unwrap_or_default(), words.collect::<Vec<&str>>());
        match event {
            "+" => {}
            // A hop, an annotation.
            "-" | "r" | "d" | "h" | "v" | "t" => continue,
            _ => return Err(text::bad(at, line, ACCEPTS)),
        }
        let time = rest.first().and_then(|time| text::decimal(time, 9)).ok_or_else(|| text::bad(at, line, ACCEPTS))?;
        let found = match rest.as_slice() {
            [_, place, ..] if place.starts_with("/NodeList/") => (*device.get_or_insert_with(|| (*place).to_string())
                == **place)
                .then(|| length(line))
                .flatten()
                .map(|n| (n, 0)),
            [_, from, _, _, size, _, flow, source, ..] => {
                let number = |word: &str| word.parse::<u32>().map_err(|_| text::bad(at, line, ACCEPTS));
                let (size, flow) = (number(size)?, number(flow)?);
                (source.split('.').next() == Some(*from)).then_some((size, flow))
            }
            _ => return Err(text::bad(at, line, ACCEPTS)),
        };
        let Some((size, flow)) = found else { continue };
        room(&packets, at)?;
        flows.insert(flow);
        packets.push((time, packet_length(size, at)?, u8::try_from(flow).unwrap_or(0)));
    }
    let has_classes = flows.len() > 1 && flows.iter().all(|flow| *flow <= 255);
    if !has_classes {
        packets.iter_mut().for_each(|packet| packet.2 = 0);
    }
    gather(packets, has_classes, "packets that enter a queue")
}

/// The length of the IP packet in a line of ns-3: `ns3::Ipv4Header (... length: 1052 ...)`.
fn length(line: &str) -> Option<u32> {
    let (_, header) = line.split_once("Ipv4Header (")?;
    let (_, number) = header.split_once("length: ")?;
    number.split_whitespace().next()?.parse().ok()
}
