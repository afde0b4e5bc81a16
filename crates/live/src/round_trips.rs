//! Round-trip times of TCP connections, from the timestamps in their segments (RFC 7323), as a sender measures them.
//!
//! A sample is the time from the first data segment with a timestamp value to the first segment that echoes it. Without
//! timestamps there are no samples.

use std::collections::{HashMap, VecDeque};

use forebay_aqm::base::time::{Instant, Span};

use crate::frame::Tcp;

/// Maximum number of entries of [`RoundTrips`]: two per connection with data in both directions. When it is reached,
/// all entries are deleted, so that memory is bounded; their pending samples are lost.
const MAX_ENTRIES: usize = 1 << 14;
/// Maximum number of timestamp values of a direction without an echo so far. The oldest is deleted for a further one.
const MAX_OPEN: usize = 1 << 10;

/// The flow of a segment, and the bundle of the flow. A bundle is a set of flows that are measured together.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Owner {
    pub(crate) flow: usize,
    pub(crate) bundle: u8,
}

/// The data segments of one direction.
#[derive(Default)]
struct Direction {
    /// Flow and bundle of the latest segment.
    owner: Owner,
    /// The newest timestamp value.
    newest: Option<u32>,
    /// Timestamp values without an echo so far, with the time of their first segment.
    open: VecDeque<(u32, Instant)>,
}

/// The directions of all connections. Key: connection and sending end.
#[derive(Default)]
pub(crate) struct RoundTrips(HashMap<(u32, usize), Direction>);

/// Is `a` before `b`? Timestamp values and sequence numbers wrap around.
pub(crate) const fn before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) > 1 << 31
}

impl RoundTrips {
    /// Takes note of a segment that the end `from` sent; `owner` is its flow and bundle.
    pub(crate) fn sent(&mut self, segment: &Tcp, (from, owner): (usize, Owner), now: Instant) {
        let Some([value, _]) = segment.timestamps.filter(|_| segment.payload > 0) else { return };
        if self.0.len() >= MAX_ENTRIES {
            self.0.clear();
        }
        let direction = self.0.entry((segment.connection, from)).or_default();
        direction.owner = owner;
        if direction.newest.is_none_or(|newest| before(newest, value)) {
            direction.newest = Some(value);
            direction.open.push_back((value, now));
        }
        if direction.open.len() > MAX_OPEN {
            direction.open.pop_front();
        }
    }

    /// Takes note of a segment that reaches the end `to`. If it completes a sample, returns this with flow and bundle
    /// of the data.
    pub(crate) fn received(&mut self, segment: &Tcp, to: usize, now: Instant) -> Option<(Owner, Span)> {
        let [_, echo] = segment.timestamps?;
        let Direction { open, owner, .. } = self.0.get_mut(&(segment.connection, to))?;
        let mut last = None;
        while let Some(first) = open.pop_front_if(|(value, _)| !before(echo, *value)) {
            last = Some(first);
        }
        last.filter(|(value, _)| *value == echo).map(|(_, at)| (*owner, now.since(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000_000)
    }

    fn of(bundle: u8) -> Owner {
        Owner { flow: 5, bundle }
    }

    fn segment(value: u32, echo: u32, has_data: bool) -> Tcp {
        Tcp { connection: 7, timestamps: Some([value, echo]), payload: u32::from(has_data), ..Tcp::default() }
    }

    /// The samples in ms. Each of `data` is a timestamp value, and also the time in ms at which it is sent. Each of
    /// `acks` is an arrival time in ms and an echoed value.
    fn samples(data: &[u32], acks: &[(u64, u32)]) -> Vec<Option<u64>> {
        let mut trips = RoundTrips::default();
        for value in data {
            trips.sent(&segment(*value, 0, true), (0, of(3)), ms(u64::from(*value)));
        }
        let took = |(at, echo): &(u64, u32)| trips.received(&segment(1, *echo, false), 0, ms(*at));
        acks.iter().map(took).map(|took| took.map(|(_, took)| took.nanos() / 1_000_000)).collect()
    }

    #[test]
    fn round_trip_ends_at_the_first_echo() {
        assert_eq!(samples(&[10, 20, 20, 30], &[(50, 10), (55, 10), (70, 20)]), [Some(40), None, Some(50)]);
    }

    #[test]
    fn timestamp_values_without_echo_give_no_sample() {
        assert_eq!(samples(&[10, 20, 30], &[(60, 20), (61, 10), (70, 30)]), [Some(40), None, Some(40)]);
        assert_eq!(samples(&[10, 20], &[(60, 15), (61, 20)]), [None, Some(41)]);
    }

    #[test]
    fn timestamp_values_wrap_around() {
        let mut trips = RoundTrips::default();
        trips.sent(&segment(u32::MAX, 0, true), (0, of(3)), ms(1));
        trips.sent(&segment(3, 0, true), (0, of(3)), ms(5));
        assert_eq!(trips.received(&segment(1, 3, false), 0, ms(9)), Some((of(3), Span::from_millis(4))));
    }

    #[test]
    fn echoed_timestamp_gives_sample_only_at_data_sender() {
        let mut trips = RoundTrips::default();
        trips.sent(&segment(1, 0, false), (0, of(3)), ms(1));
        trips.sent(&segment(2, 0, true), (1, of(4)), ms(1));
        assert_eq!(trips.received(&segment(9, 1, false), 0, ms(2)), None);
        assert_eq!(trips.received(&segment(9, 2, false), 0, ms(2)), None);
        assert_eq!(trips.received(&segment(9, 2, false), 1, ms(2)), Some((of(4), Span::from_millis(1))));
    }

    #[test]
    fn number_of_pending_round_trip_samples_is_bounded() {
        let mut trips = RoundTrips::default();
        for n in 0..3 * MAX_ENTRIES as u32 {
            trips.sent(&Tcp { connection: n, ..segment(1, 0, true) }, (0, of(3)), ms(1));
            trips.sent(&segment(n, 0, true), (1, of(3)), ms(1));
        }
        assert!(trips.0.len() <= MAX_ENTRIES + 1);
        assert!(trips.0.values().all(|direction| direction.open.len() <= MAX_OPEN));
    }
}
