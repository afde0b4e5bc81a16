//! The bytes that the application hands over, cut into the packets of the sender. A packet has a full segment, or less: at
//! the end of the data, of a record (`MSG_EOR`), or with FIN, which counts as one byte.

use std::collections::VecDeque;

/// Bytes of a connection. Sequence numbers are relative: 1 is the first byte.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    mss: u32,
    /// One above the last byte of each packet that was sent.
    ends: Vec<u32>,
    /// One above the last byte handed over.
    end: u32,
    /// Ends of records beyond the packets sent.
    records: VecDeque<u32>,
    /// Is a FIN after the last byte?
    is_closed: bool,
    /// Nagle's algorithm is off (`TCP_NODELAY`).
    pub(crate) no_delay: bool,
    /// What is less than a segment waits (`TCP_CORK`, or `MSG_MORE` of the last call).
    pub(crate) corked: bool,
    pub(crate) more: bool,
    /// The next packet does not wait, whatever its length.
    pub(crate) pushed: bool,
    /// The last packet sent that was less than a segment: the packets up to it.
    small: u32,
}

/// A packet of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) seq: u32,
    /// Bytes of payload.
    pub(crate) len: u32,
    pub(crate) fin: bool,
}

impl Stream {
    pub(crate) const fn new(mss: u32) -> Self {
        Self {
            mss,
            ends: Vec::new(),
            end: 1,
            records: VecDeque::new(),
            is_closed: false,
            no_delay: false,
            corked: false,
            more: false,
            pushed: false,
            small: 0,
        }
    }

    /// The application hands over `bytes` more; `ends_record`: nothing is appended to their last packet.
    pub(crate) fn write(&mut self, bytes: u32, ends_record: bool) {
        self.end += bytes;
        if ends_record {
            self.records.push_back(self.end);
        }
    }

    /// The application closes its end of the connection: a FIN follows the data.
    pub(crate) const fn close(&mut self) {
        self.is_closed = true;
    }

    /// Number of packets sent.
    pub(crate) fn sent(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The first byte of packet `number`, which was sent or is the next one.
    pub(crate) fn start(&self, number: u32) -> u32 {
        number.checked_sub(1).and_then(|last| self.ends.get(last as usize)).copied().unwrap_or(1)
    }

    /// The first byte that was not sent.
    pub(crate) fn next(&self) -> u32 {
        self.start(self.sent())
    }

    /// One above everything that will be sent.
    pub(crate) fn last(&self) -> u32 {
        self.end + u32::from(self.is_closed)
    }

    /// Bytes that were not sent.
    pub(crate) fn waiting(&self) -> u32 {
        self.last() - self.next()
    }

    /// The packets of which all bytes from `left` to `right` are reported: a part of a packet counts as nothing.
    pub(crate) fn within(&self, left: u32, right: u32) -> (u32, u32) {
        let below = self.ends.partition_point(|&end| end < left) as u32;
        let start = if left <= 1 { 0 } else { below + 1 };
        (start, self.ends.partition_point(|&end| end <= right) as u32)
    }

    /// The end of the packet that begins at the unsent byte `seq`.
    fn cut(&self, seq: u32) -> u32 {
        let record = self.records.iter().find(|&&end| end > seq).copied().unwrap_or(u32::MAX);
        let end = self.end.min(seq + self.mss).min(record);
        end + u32::from(self.is_closed && end == self.end)
    }

    /// Number of packets that may be sent next. `una`: packets acknowledged.
    pub(crate) fn ready(&self, una: u32) -> u32 {
        let mut seq = self.next();
        if seq >= self.end {
            // Nothing, or FIN alone.
            return self.waiting();
        }
        let mut count = 0;
        for &end in &self.records {
            (count, seq) = (count + (end - seq).div_ceil(self.mss), end);
        }
        let rest = self.end - seq;
        let may_end = self.is_closed || !self.holds(una);
        count + if may_end { rest.div_ceil(self.mss) } else { rest / self.mss }
    }

    /// Must a packet that is shorter than a segment wait? Nagle's algorithm as in Linux, with Minshall's change: it waits
    /// only while another short packet is not acknowledged (`tcp_nagle_check`).
    fn holds(&self, una: u32) -> bool {
        !self.pushed && (self.corked || self.more || (!self.no_delay && self.small > una))
    }

    /// Number of packets that fit in a window of `window` bytes, from the first one that is not acknowledged.
    pub(crate) fn fitting(&self, una: u32, window: u64) -> u32 {
        let edge = u64::from(self.start(una)) + window;
        let fits = self.ends.partition_point(|&end| u64::from(end) <= edge) as u32;
        if fits < self.sent() {
            return fits.saturating_sub(una);
        }
        let room = edge.saturating_sub(u64::from(self.next()));
        let rest = if room >= u64::from(self.waiting()) { self.ready(una) } else { 0 };
        fits - una + rest.max((room / u64::from(self.mss)).min(1 << 30) as u32)
    }

    /// The next packet is sent.
    pub(crate) fn send(&mut self) -> Piece {
        let seq = self.next();
        self.ends.push(self.cut(seq));
        self.pushed = false;
        let piece = self.piece(self.sent() - 1);
        if piece.len < self.mss {
            self.small = self.sent();
        }
        self.records.retain(|&end| end > piece.seq + piece.len);
        piece
    }

    /// Packet `number`, which was sent.
    pub(crate) fn piece(&self, number: u32) -> Piece {
        let (seq, end) = (self.start(number), self.start(number + 1));
        let fin = self.is_closed && end == self.last();
        Piece { seq, len: end - seq - u32::from(fin), fin }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(stream: &mut Stream) -> Vec<(u32, u32, bool)> {
        let count = stream.ready(0);
        (0..count).map(|_| stream.send()).map(|piece| (piece.seq, piece.len, piece.fin)).collect()
    }

    #[test]
    fn last_packet_has_what_is_left() {
        let mut stream = Stream::new(1000);
        stream.write(2500, false);
        assert_eq!(sent(&mut stream), [(1, 1000, false), (1001, 1000, false), (2001, 500, false)]);
        assert_eq!((stream.start(2), stream.next()), (2001, 2501));
    }

    #[test]
    fn small_packet_waits_for_the_one_before() {
        let mut stream = Stream::new(1000);
        stream.write(40, false);
        assert_eq!(sent(&mut stream).len(), 1);
        stream.write(1030, false);
        assert_eq!((stream.ready(0), stream.ready(1)), (1, 2));
        stream.no_delay = true;
        assert_eq!(stream.ready(0), 2);
        stream.corked = true;
        assert_eq!(stream.ready(1), 1);
    }

    #[test]
    fn records_are_not_joined() {
        let mut stream = Stream::new(1000);
        stream.write(400, false);
        stream.write(1000, true);
        stream.write(700, false);
        assert_eq!(sent(&mut stream), [(1, 1000, false), (1001, 400, false), (1401, 700, false)]);
    }

    #[test]
    fn fin_is_in_the_last_packet_or_alone() {
        let mut stream = Stream::new(1000);
        stream.write(1000, false);
        stream.close();
        assert_eq!(sent(&mut stream), [(1, 1000, true)]);
        let mut stream = Stream::new(1000);
        stream.write(1000, false);
        assert_eq!(sent(&mut stream), [(1, 1000, false)]);
        stream.close();
        assert_eq!(sent(&mut stream), [(1001, 0, true)]);
        assert_eq!((stream.next(), stream.waiting(), stream.sent()), (1002, 0, 2));
    }

    /// `tcp_match_skb_to_sack` of Linux: a part of a segment is not marked.
    #[test]
    fn report_of_a_part_of_a_packet_counts_as_nothing() {
        let mut stream = Stream::new(1000);
        stream.write(4000, false);
        sent(&mut stream);
        assert_eq!(stream.within(1, 2001), (0, 2));
        assert_eq!(stream.within(1500, 3500), (2, 3));
        assert_eq!(stream.within(4000, 4001), (4, 4));
        assert_eq!(stream.within(1, 1), (0, 0));
    }
}
