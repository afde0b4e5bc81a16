//! The line of the comparison in user space: tbf(8) above a discipline of Forebay.
//!
//! tbf takes the next packet from the discipline as soon as the previous one has left, and sends it when the bucket has
//! enough tokens.

use forebay_aqm::AnyDiscipline;
use forebay_aqm::Spec;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ecn, Packet, Proto};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;

use super::arrivals::{Arrivals, BYTE, dscp};
use super::{BUCKET, Fate, OURS, link};

/// A token bucket, and the packet that waits for tokens. Times and tokens in ns.
struct Line {
    queue: Queue<AnyDiscipline>,
    tokens: u64,
    filled: u64,
    /// Length of the packet that waits, bytes.
    head: Option<u32>,
    /// When it has enough tokens, or when a discipline that holds its packets back sends again.
    due: Option<u64>,
    fates: Vec<Fate>,
}

impl Line {
    fn tick(&mut self, now: Instant) {
        while let Some(due) = self.queue.next_tick().filter(|due| *due <= now) {
            self.queue.tick(due);
        }
    }

    /// Takes packets from the discipline and sends them, as long as there are tokens.
    fn send(&mut self, at: u64) {
        let now = Instant::from_nanos(at);
        self.due = None;
        loop {
            let len = match self.head {
                Some(len) => len,
                None => {
                    self.tick(now);
                    let Some(packet) = self.queue.depart(now) else {
                        self.due = self.queue.held_until().map(|until| until.nanos().max(at + 1));
                        return;
                    };
                    self.fates[packet.slot as usize].departed = Some((at, packet.ecn == Ecn::Ce));
                    self.head = Some(packet.len);
                    packet.len
                }
            };
            let (tokens, cost) = ((self.tokens + at - self.filled).min(BUCKET * BYTE), u64::from(len) * BYTE);
            if tokens < cost {
                self.due = Some(at + cost - tokens);
                return;
            }
            (self.tokens, self.filled, self.head) = (tokens - cost, at, None);
        }
    }

    /// Sends what is due before `end`. At the same time as an arrival, a discipline that holds its packets back is served
    /// first, as in the kernel. A packet never has its tokens at the time of an arrival.
    fn pass(&mut self, end: u64) {
        while let Some(due) = self.due.filter(|due| *due <= end) {
            self.send(due);
        }
    }
}

/// The fates of packets under `discipline`, with the random numbers that it has in the kernel with this seed.
pub fn fates(discipline: &Spec, arrivals: &Arrivals, seed: u64) -> Vec<Fate> {
    let rng = Rng::stream(seed, &format!("link/{OURS}"));
    let fates = arrivals.packets.iter().map(|packet| Fate { arrived: packet.at, departed: None }).collect();
    let queue = discipline.queue(link(), rng);
    let mut line = Line { queue, tokens: BUCKET * BYTE, filled: 0, head: None, due: None, fates };
    for (slot, arrival) in arrivals.packets.iter().enumerate() {
        line.pass(arrival.at);
        let now = Instant::from_nanos(arrival.at);
        line.tick(now);
        let ecn = arrivals.codepoints[arrival.flow as usize];
        let len = u32::from(arrival.len);
        let (flow, dscp) = (arrival.flow, dscp(arrival.flow as usize));
        let packet = Packet { slot: slot as u32, len, flow, proto: Proto::Udp, dscp, ecn, ..Packet::default() };
        line.queue.arrive(packet, now);
        line.queue.port.discarded().clear();
        if line.head.is_none() {
            line.send(arrival.at);
        }
    }
    line.pass(u64::MAX);
    line.fates
}

#[cfg(test)]
mod tests {
    use super::super::arrivals::Arrival;
    use super::*;

    #[test]
    fn next_packet_is_taken_when_one_has_left() {
        let packet = |at, len| Arrival { at, flow: 0, len };
        let packets = vec![packet(1000, 1440), packet(2000, 1440), packet(3000, 160), packet(3_000_000, 160)];
        let arrivals = Arrivals { codepoints: vec![Ecn::NotEct], packets };
        let times: Vec<u64> = fates(&Spec::parse("droptail").unwrap(), &arrivals, 1)
            .iter()
            .map(|fate| fate.departed.map_or(0, |(at, _)| at))
            .collect();
        // The first leaves at once and leaves 40 bytes in the bucket; the second is taken at once and has its tokens
        // after 1400 bytes, the third is taken then.
        assert_eq!(times, [1000, 2000, 1000 + 1400 * 800, 3_000_000]);
    }
}
