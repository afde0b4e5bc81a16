//! Compares the packets that a script expects with those that the connection sends.

use std::ops::Range;

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};

use super::{Runner, blocks};
use crate::connection::Connection;
use crate::report::Mismatch;
use crate::script::{Codepoint, Event, Packet, When};
use crate::sent::{Sent, show};

/// How long to wait for a packet with the time `*`.
const LONGEST: Span = Span::from_millis(120_000);

/// The packets that answer an expected one.
enum Found {
    /// All of them: their positions in the queue.
    Complete(Range<usize>),
    /// The first of them, at the end of the queue: their number, 0 for none.
    Partial(usize),
}

impl Runner<'_> {
    pub(super) fn expect(&mut self, event: &Event, packet: &Packet) -> Result<(), String> {
        let (from, to) = self.times(event.when);
        if packet.flags.syn {
            // It leaves at once: a later one repeats it.
            if from.since(self.now) > self.allowed(from) {
                return Err("retransmissions of the handshake".to_string());
            }
            self.report.skipped += 1;
            return self.handshake.syn(self.now, packet).map(|_| ());
        }
        let is_ack = packet.len == 0 && !packet.flags.fin;
        if is_ack && packet.ack.is_some() && packet.ack == self.connection.as_ref().and_then(Connection::end_of_peer) {
            self.report.skipped += 1;
            return self.advance(from);
        }
        if std::mem::take(&mut self.ends_handshake) && packet.len == 0 && packet.ack == Some(1) {
            self.report.skipped += 1;
            return Ok(());
        }
        self.compare(event, packet, (from, to))
    }

    /// How far a packet may be from the time `from`.
    fn allowed(&self, from: Instant) -> Span {
        let part = from.since(self.now).nanos() as f64 * self.tolerance.percent / 100.0;
        self.tolerance.span.max(Span::from_nanos(part as u64))
    }

    fn compare(&mut self, event: &Event, packet: &Packet, (from, to): (Instant, Instant)) -> Result<(), String> {
        let allowed = self.allowed(from);
        let Some(connection) = &self.connection else {
            return Err("a packet before the handshake".to_string());
        };
        if packet.win.is_some() {
            return Err("the window that the receiver announces".to_string());
        }
        if self.compares_stamps && packet.options.as_ref().is_some_and(|options| options.timestamps) {
            return Err("the values of timestamps".to_string());
        }
        if packet.len == 0 && packet.ack.is_none() {
            return Err("a packet without data and acknowledgement".to_string());
        }
        let is_ack = packet.len == 0 && !packet.flags.fin;
        if is_ack && packet.seq < connection.first_byte() && !connection.is_probing() {
            return Err("keepalive packets".to_string());
        }
        // A late packet is recognised up to twice its time.
        let latest = match event.when {
            When::Any => self.now + LONGEST,
            _ => to + allowed.max(to.since(self.now)),
        };
        self.report.compared += 1;
        let mut ahead = connection.clone();
        loop {
            match find(&ahead, packet) {
                Found::Complete(at) => {
                    self.connection = Some(ahead);
                    self.matched(event, packet, at, (from, to));
                    return Ok(());
                }
                Found::Partial(count) => {
                    // What fails ahead of time fails again if the time comes.
                    if ahead.deadline().is_none_or(|deadline| deadline > latest) || ahead.expire().is_err() {
                        return self.missing(event, packet, count, from);
                    }
                }
            }
        }
    }

    /// All packets have been sent: those at the positions `at` of the queue.
    fn matched(&mut self, event: &Event, packet: &Packet, at: Range<usize>, (from, to): (Instant, Instant)) {
        let allowed = self.allowed(from);
        let Some(connection) = &mut self.connection else { return };
        let extra: Vec<Sent> = connection.out.drain(..at.start).collect();
        let sent: Vec<Sent> = connection.out.drain(..at.len()).collect();
        let times = (sent.first().map_or(from, |first| first.at), sent.last().map_or(from, |last| last.at));
        self.now = self.now.max(times.1);
        if !extra.is_empty() {
            self.mismatch(event.line, packet, format!("{}, before it", show(&extra)));
        }
        if let Some(what) = differs(packet, &sent) {
            self.mismatch(event.line, packet, format!("{} ({what})", show(&sent)));
        }
        let early = (times.0 + allowed) < from;
        let late = to + allowed < times.1;
        if event.when != When::Any && (early || late) {
            let sent = if early { times.0 } else { times.1 };
            let range = if from == to { seconds(from) } else { format!("{} to {}", seconds(from), seconds(to)) };
            let expected = format!("{} at {range} s", shown(packet));
            let came = format!("the packet at {} s", seconds(sent));
            self.report.mismatches.push(Mismatch { line: event.line, expected, came });
        }
    }

    /// At most `count` of the expected packets have been sent in time.
    fn missing(&mut self, event: &Event, packet: &Packet, count: usize, from: Instant) -> Result<(), String> {
        self.advance(from)?;
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let came = match connection.out.len() - count.min(connection.out.len()) {
            at if count > 0 => {
                let part: Vec<Sent> = connection.out.drain(at..).collect();
                format!("only {}", show(&part))
            }
            _ => show(connection.out.make_contiguous()),
        };
        self.mismatch(event.line, packet, came);
        Ok(())
    }

    fn mismatch(&mut self, line: usize, packet: &Packet, came: String) {
        self.report.mismatches.push(Mismatch { line, expected: shown(packet), came });
    }
}

/// Searches the sent packets for an expected one: a single packet with its bytes, or several that together have them.
fn find(connection: &Connection, packet: &Packet) -> Found {
    let out = &connection.out;
    let end = (packet.seq + packet.len).saturating_add(u32::from(packet.flags.fin));
    if packet.seq == end {
        let at = out.iter().position(|sent| sent.is_ack() && Some(sent.ack) == packet.ack);
        return at.map_or(Found::Partial(0), |at| Found::Complete(at..at + 1));
    }
    let mut longest = 0;
    for at in (0..out.len()).filter(|&at| !out[at].is_ack() && out[at].seq == packet.seq) {
        let mut next = at + 1;
        while next < out.len() && !out[next].is_ack() && out[next].seq == out[next - 1].end() && out[next].end() <= end
        {
            next += 1;
        }
        if out[next - 1].end() == end {
            return Found::Complete(at..next);
        }
        if next == out.len() {
            longest = next - at;
        }
    }
    Found::Partial(longest)
}

/// Is a packet wrong, given its place among those that answer an expected one?
type IsWrong<'a> = &'a dyn Fn(usize, &Sent) -> bool;

/// In which header field the packets differ from the expected one.
fn differs(packet: &Packet, sent: &[Sent]) -> Option<&'static str> {
    let codepoint = |ecn: Ecn| match packet.ecn {
        Some(Codepoint::One(wanted)) => ecn == wanted,
        Some(Codepoint::Either) => ecn == Ecn::Ect0 || ecn == Ecn::Ect1,
        None => true,
    };
    let sack = blocks(packet.options.as_ref());
    let compares_sack = packet.options.is_some() && (packet.len == 0 || !sack.is_empty());
    let wrong = |is_wrong: IsWrong<'_>| sent.iter().enumerate().any(|(i, one)| is_wrong(i, one));
    // CWR is on the first segment only.
    let checks: [(&'static str, IsWrong<'_>); 7] = [
        ("another sequence number", &|_, one| packet.len == 0 && one.seq != packet.seq),
        ("another acknowledgement", &|_, one| packet.ack.is_some_and(|ack| ack != one.ack)),
        ("other selective blocks", &|_, one| compares_sack && one.sack != sack),
        ("FIN", &|i, one| one.fin != (packet.flags.fin && i + 1 == sent.len())),
        ("ECN-Echo", &|_, one| one.ece != packet.flags.ece),
        ("CWR", &|i, one| one.cwr != (packet.flags.cwr && i == 0)),
        ("another ECN codepoint", &|_, one| !codepoint(one.ecn)),
    ];
    checks.into_iter().find(|(_, is_wrong)| wrong(is_wrong)).map(|(what, _)| what)
}

fn seconds(at: Instant) -> String {
    format!("{:.6}", at.secs()).trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The expected packet, as in the script.
fn shown(packet: &Packet) -> String {
    let ecn = match packet.ecn {
        Some(Codepoint::One(ecn)) => ecn,
        Some(Codepoint::Either) | None => Ecn::NotEct,
    };
    let sent = Sent {
        at: Instant::ZERO,
        seq: packet.seq,
        len: packet.len,
        fin: packet.flags.fin,
        ack: packet.ack.unwrap_or_default(),
        ece: packet.flags.ece,
        cwr: packet.flags.cwr,
        ecn,
        sack: blocks(packet.options.as_ref()).to_vec(),
    };
    sent.to_string()
}
