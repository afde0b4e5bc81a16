//! Round-trip times from the segments that enter the network and the acknowledgements that leave it. As in RFC 6298 a
//! segment that was retransmitted gives none (Karn's rule).

use std::collections::VecDeque;

/// A segment on its way: the sequence number after it, when it entered, and whether a part of it was sent twice.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u32,
    at: u64,
    again: bool,
}

/// The segments of all flows.
pub(crate) struct RoundTrips(Vec<VecDeque<Sent>>);

/// Is the sequence number `a` after `b`?
pub(crate) const fn is_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

impl RoundTrips {
    pub(crate) fn new(flows: usize) -> Self {
        Self(vec![VecDeque::new(); flows])
    }

    /// A segment of a flow with this sequence number after its payload enters the network. A SYN begins a connection.
    pub(crate) fn sent(&mut self, flow: usize, has_payload: bool, is_syn: bool, end: u32, at: u64) {
        let sent = &mut self.0[flow];
        if is_syn {
            sent.clear();
        }
        if !has_payload {
            return;
        }
        if sent.back().is_none_or(|last| is_after(end, last.end)) {
            sent.push_back(Sent { end, at, again: false });
        } else {
            let first = sent.partition_point(|one| is_after(end, one.end));
            if let Some(one) = sent.get_mut(first) {
                one.again = true;
            }
        }
    }

    /// An acknowledgement of everything before `number` leaves the network. Returns the round-trip time of the last
    /// segment that it is the first to acknowledge, ns.
    pub(crate) fn acknowledged(&mut self, flow: usize, number: u32, at: u64) -> Option<u64> {
        let sent = &mut self.0[flow];
        let (mut last, mut again) = (None, false);
        while let Some(one) = sent.front().copied().filter(|one| !is_after(one.end, number)) {
            sent.pop_front();
            again |= one.again;
            last = Some(one);
        }
        last.filter(|_| !again).map(|one| at - one.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgement_times_last_segment_it_covers() {
        let mut trips = RoundTrips::new(1);
        trips.sent(0, true, false, u32::MAX, 10);
        trips.sent(0, true, false, 100, 20);
        assert_eq!(trips.acknowledged(0, 100, 50), Some(30));
        assert_eq!(trips.acknowledged(0, 100, 60), None);
    }

    #[test]
    fn retransmitted_segments_give_no_round_trip() {
        let mut trips = RoundTrips::new(1);
        trips.sent(0, true, false, 100, 10);
        trips.sent(0, true, false, 200, 11);
        trips.sent(0, true, false, 100, 40);
        assert_eq!(trips.acknowledged(0, 200, 50), None);
        trips.sent(0, true, false, 300, 60);
        assert_eq!(trips.acknowledged(0, 300, 65), Some(5));
    }
}
