//! Completion times of the TCP connections over an emulated link, from the headers of their segments.
//!
//! A connection begins with its first SYN. It is complete when the receiver acknowledges the FIN of the direction with
//! more payload, which includes all data of that direction. A connection that is reset, or that began before the
//! emulation, has no completion time.

use std::collections::HashMap;

use forebay_aqm::base::time::{Instant, Span};

use crate::frame::Tcp;
use crate::round_trips::{Owner, before};

/// Maximum number of open connections. When it is reached, the records of all open connections are deleted, so that
/// memory is bounded.
const MAX_OPEN: usize = 1 << 14;

/// One direction of a connection.
#[derive(Default)]
struct Direction {
    /// Flow and bundle (set of flows measured together) of its latest segment with payload.
    owner: Owner,
    /// Payload in bytes, with retransmissions.
    payload: u64,
    /// The sequence number after its FIN.
    end: Option<u32>,
}

struct Connection {
    begun: Instant,
    /// Both directions, by the end that sends.
    directions: [Direction; 2],
}

/// The open connections, each by the hash that its segments have (`Tcp::connection`).
#[derive(Default)]
pub(crate) struct Connections(HashMap<u32, Connection>);

impl Connections {
    /// Takes note of a segment that the end `from` (client or server) sent; `owner` is its flow and its bundle (set of
    /// flows measured together). If the segment completes its connection, returns the completion time and the owner of
    /// the data.
    pub(crate) fn sent(&mut self, segment: &Tcp, (from, owner): (usize, Owner), now: Instant) -> Option<(Owner, Span)> {
        if segment.is_reset {
            self.0.remove(&segment.connection);
            return None;
        }
        if segment.is_syn && segment.acknowledged.is_none() && !self.0.contains_key(&segment.connection) {
            if self.0.len() >= MAX_OPEN {
                self.0.clear();
            }
            self.0.insert(segment.connection, Connection { begun: now, directions: Default::default() });
        }
        let Connection { begun, directions } = self.0.get_mut(&segment.connection)?;
        let own = &mut directions[from];
        if segment.payload > 0 {
            (own.owner, own.payload) = (owner, own.payload + u64::from(segment.payload));
        }
        if segment.is_fin {
            own.end = Some(segment.sequence.wrapping_add(segment.payload).wrapping_add(1));
        }
        let (own, other) = (own.payload, &directions[1 - from]);
        let is_acknowledged = other.end.zip(segment.acknowledged).is_some_and(|(end, seen)| !before(seen, end));
        if !is_acknowledged || other.payload == 0 || other.payload < own {
            return None;
        }
        let completed = (other.owner, now.since(*begun));
        self.0.remove(&segment.connection);
        Some(completed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: usize = 0;
    const SERVER: usize = 1;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn owner(end: usize) -> Owner {
        Owner { flow: end, bundle: end as u8 + 4 }
    }

    /// A segment with a sequence number, an acknowledgement number and payload.
    fn data(sequence: u32, acknowledged: u32, payload: u32) -> Tcp {
        Tcp { connection: 7, sequence, acknowledged: Some(acknowledged), payload, ..Tcp::default() }
    }

    fn syn(sequence: u32) -> Tcp {
        Tcp { is_syn: true, acknowledged: None, ..data(sequence, 0, 0) }
    }

    fn fin(segment: Tcp) -> Tcp {
        Tcp { is_fin: true, ..segment }
    }

    /// Which connections a series of segments completes: when (ms), whose data it was (client or server), and the
    /// completion time in ms. Each segment has its time in ms and its sender.
    fn completions(segments: &[(u64, usize, Tcp)]) -> Vec<(u64, usize, u64)> {
        let mut connections = Connections::default();
        let completed = |(ms, from, segment): &(u64, usize, Tcp)| {
            let (whose, took) = connections.sent(segment, (*from, owner(*from)), at(*ms))?;
            assert_eq!(whose, owner(whose.flow));
            Some((*ms, whose.flow, took.nanos() / 1_000_000))
        };
        segments.iter().filter_map(completed).collect()
    }

    /// A request of 100 bytes and a response of 3000, whose sequence numbers wrap around.
    fn exchange() -> Vec<(u64, usize, Tcp)> {
        let start = u32::MAX - 1000;
        let end = start.wrapping_add(3001);
        vec![
            (10, CLIENT, syn(50)),
            (20, SERVER, Tcp { is_syn: true, ..data(start, 51, 0) }),
            (30, CLIENT, data(51, start + 1, 100)),
            (40, SERVER, data(start + 1, 151, 1500)),
            (50, SERVER, fin(data(start.wrapping_add(1501), 151, 1500))),
            (60, CLIENT, data(151, end, 0)),
            (70, CLIENT, fin(data(151, end.wrapping_add(1), 0))),
            (80, SERVER, data(end.wrapping_add(1), 152, 0)),
        ]
    }

    #[test]
    fn connection_completes_when_its_fin_is_acknowledged() {
        assert_eq!(completions(&exchange()), [(70, SERVER, 60)], "the acknowledgement at 60 ms lacks the FIN");
    }

    #[test]
    fn connection_completes_with_direction_that_has_more_payload() {
        let mut upload = vec![
            (0, CLIENT, syn(0)),
            (1, CLIENT, data(1, 0, 900)),
            (2, SERVER, fin(data(1, 901, 10))),
            (3, CLIENT, data(901, 12, 0)),
            (9, CLIENT, fin(data(901, 12, 100))),
            (11, SERVER, data(12, 1002, 0)),
        ];
        assert_eq!(completions(&upload), [(11, CLIENT, 11)]);
        upload.truncate(4);
        assert_eq!(completions(&upload), [], "only the direction with less payload has ended");
    }

    #[test]
    fn completion_time_counts_from_the_first_syn() {
        let again = [vec![(4, CLIENT, syn(50))], exchange()].concat();
        assert_eq!(completions(&again), [(70, SERVER, 66)]);
    }

    #[test]
    fn later_connections_may_use_the_same_ports() {
        let again: Vec<_> = exchange().into_iter().map(|(ms, from, segment)| (ms + 100, from, segment)).collect();
        assert_eq!(completions(&[exchange(), again].concat()), [(70, SERVER, 60), (170, SERVER, 60)]);
    }

    #[test]
    fn incomplete_connections_have_no_completion_time() {
        let without_syn = exchange().split_off(1);
        assert_eq!(completions(&without_syn), []);
        let mut reset = exchange();
        reset.insert(5, (55, SERVER, Tcp { is_reset: true, ..data(0, 0, 0) }));
        assert_eq!(completions(&reset), []);
        let empty = [(0, CLIENT, syn(0)), (1, CLIENT, fin(data(1, 1, 0))), (2, SERVER, fin(data(1, 2, 0)))];
        assert_eq!(completions(&empty), [], "no payload");
    }

    #[test]
    fn number_of_open_connections_is_bounded() {
        let mut connections = Connections::default();
        for connection in 0..3 * MAX_OPEN as u32 {
            connections.sent(&Tcp { connection, ..syn(0) }, (CLIENT, owner(CLIENT)), at(1));
        }
        assert!(connections.0.len() <= MAX_OPEN);
    }
}
