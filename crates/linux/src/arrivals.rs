//! Which segments bring data that the receiver does not have yet.

use std::collections::BTreeSet;

use crate::round_trips::is_after;

/// What the receiver of a connection has.
#[derive(Clone, Debug, Default)]
struct Received {
    /// It has acknowledged everything before this sequence number.
    acknowledged: Option<u32>,
    /// Sequence numbers after segments that arrived and are not acknowledged yet.
    ends: BTreeSet<u32>,
}

/// The data that arrived, for all flows. A segment is known by the sequence number after it, so one that was cut
/// differently when it was sent again counts as new.
pub(crate) struct Arrivals(Vec<Received>);

impl Arrivals {
    pub(crate) fn new(flows: usize) -> Self {
        Self(vec![Received::default(); flows])
    }

    /// A connection begins.
    pub(crate) fn begins(&mut self, flow: usize) {
        self.0[flow] = Received::default();
    }

    /// A segment with this sequence number after its payload leaves the network. Is it the first one?
    pub(crate) fn is_new(&mut self, flow: usize, end: u32) -> bool {
        let received = &mut self.0[flow];
        received.acknowledged.is_none_or(|before| is_after(end, before)) && received.ends.insert(end)
    }

    /// The receiver acknowledges everything before `number`. Only the end of a segment counts: the last acknowledgement of
    /// the connection before can be sent after the SYN of this one.
    pub(crate) fn acknowledged(&mut self, flow: usize, number: u32) {
        let received = &mut self.0[flow];
        if received.ends.contains(&number) {
            received.acknowledged = Some(number);
            received.ends.retain(|end| is_after(*end, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segment_is_new_once_before_and_after_acknowledgement() {
        let mut arrivals = Arrivals::new(2);
        arrivals.begins(0);
        assert_eq!([300, 100, 300, 100].map(|end| arrivals.is_new(0, end)), [true, true, false, false]);
        assert!(arrivals.is_new(1, 100), "another flow");
        arrivals.acknowledged(0, 100);
        arrivals.acknowledged(0, 50);
        assert_eq!([100, 300, 200].map(|end| arrivals.is_new(0, end)), [false, false, true]);
        arrivals.begins(0);
        assert!(arrivals.is_new(0, 100), "another connection");
    }

    #[test]
    fn acknowledgement_of_earlier_connection_does_not_count() {
        let mut arrivals = Arrivals::new(1);
        assert!(arrivals.is_new(0, 3_000_000_000));
        arrivals.begins(0);
        arrivals.acknowledged(0, 3_000_000_000);
        assert!(arrivals.is_new(0, 1_000_000_000), "the new connection has another first number");
        arrivals.acknowledged(0, 3_000_000_001);
        assert_eq!([1_000_000_000, 1_000_001_448].map(|end| arrivals.is_new(0, end)), [false, true]);
    }

    #[test]
    fn sequence_numbers_wrap_around() {
        let mut arrivals = Arrivals::new(1);
        assert!(arrivals.is_new(0, u32::MAX - 9) && arrivals.is_new(0, 90));
        arrivals.acknowledged(0, u32::MAX - 9);
        assert_eq!([u32::MAX - 9, 90, 190].map(|end| arrivals.is_new(0, end)), [false, false, true]);
        arrivals.acknowledged(0, 190);
        assert_eq!([90, 190, 290].map(|end| arrivals.is_new(0, end)), [false, false, true]);
    }
}
