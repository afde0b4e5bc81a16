//! The processing of an acknowledgement, in the order of Linux (`tcp_ack`): reports and cumulative part, round trip, RACK's
//! window, marks, outcome of a probe, congestion state, timer, window.

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::{Acked, CongestionControl, Feedback, Progress, RoundTrip};
use super::super::receiver::Ack;
use super::super::reports::{Block, MAX_BLOCKS};
use super::packets::Packet;
use super::{Plan, REORDERING, Sender, State};

/// What an acknowledgement has brought.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) now: Instant,
    /// Its number, and `una` before it.
    pub(super) ack: u32,
    pub(super) before: u32,
    /// Stamp of the packet that it echoes.
    pub(super) stamp: u8,
    pub(super) advanced: bool,
    /// It reports packets out of order for the first time.
    pub(super) reported: bool,
    /// It reports a packet that arrived twice; the packet was a tail loss probe.
    duplicated: bool,
    pub(super) probe_duplicated: bool,
    /// Packets arrived that were sent once, before the congestion state began.
    pub(super) original: bool,
    /// It acknowledges retransmitted packets.
    repeated: bool,
    /// It echoes congestion.
    pub(super) echo: bool,
    /// A retransmission was lost.
    pub(super) lost_again: bool,
    /// RACK has set the timer.
    pub(super) keeps_timer: bool,
    /// Packets delivered when the newest packet was sent of those that it delivers.
    prior: Option<u32>,
    /// Packets that it delivers for the first time.
    fresh: u32,
    /// The lowest packet that it delivers after packets above it.
    reordered: Option<u32>,
    /// When the first and the last packet were sent of those sent once that it acknowledges cumulatively, and of those that
    /// it reports.
    acked: Option<[Instant; 2]>,
    sacked: Option<[Instant; 2]>,
}

impl Event {
    const fn new(now: Instant, before: u32, ack: &Ack) -> Self {
        Self {
            now,
            ack: ack.next,
            before,
            stamp: ack.echoes.stamp(),
            advanced: ack.next > before,
            reported: false,
            duplicated: false,
            probe_duplicated: false,
            original: false,
            repeated: false,
            echo: false,
            lost_again: false,
            keeps_timer: false,
            prior: None,
            fresh: 0,
            reordered: None,
            acked: None,
            sacked: None,
        }
    }

    /// Is it a duplicate acknowledgement without a report of duplicate data?
    pub(super) const fn is_duplicate(&self) -> bool {
        !self.advanced && !self.duplicated
    }

    /// Packet `seq` is delivered.
    fn deliver(&mut self, packet: &Packet) {
        self.fresh += 1;
        self.prior = self.prior.max(Some(packet.delivered));
    }

    fn reorders(&mut self, seq: u32) {
        self.reordered = Some(self.reordered.map_or(seq, |other| other.min(seq)));
    }
}

fn extend(times: &mut Option<[Instant; 2]>, sent: Instant) {
    let first = times.map_or(sent, |[first, _]| first);
    *times = Some([first, sent]);
}

impl Sender {
    pub(in super::super) fn on_ack(&mut self, now: Instant, ack: Ack, blocks: &[Block]) {
        if self.stopped || ack.next > self.high {
            return;
        }
        self.plan = Plan::New;
        self.control.on_event(now);
        let mut event = Event::new(now, self.una, &ack);
        let (in_flight, lost, delivered) = (self.in_flight(), self.lost, self.delivered);
        if ack.next < self.una {
            // Of an old acknowledgement only the reports count.
            if !blocks.is_empty() {
                self.note_reports(&mut event, blocks);
                self.on_alert(&mut event);
            }
            return;
        }
        let top = self.packets.top(self.una);
        if event.advanced {
            self.expirations = 0;
        }
        self.note_reports(&mut event, blocks);
        event.echo = ack.ece && self.ecn;
        if self.high == self.una {
            if event.duplicated {
                self.on_alert(&mut event);
            }
            self.end_probe(&event);
            return;
        }
        let first = *self.packets.get(self.una);
        self.acknowledge(&mut event, top);
        let restarts = self.measure_round_trip(&event, &first);
        self.rack.update_window(event.prior, self.delivered);
        let marked = self.count_marks(&mut event, &ack);
        self.end_probe(&event);
        if !event.advanced || event.echo || event.reported || event.duplicated || self.state != State::Open {
            self.on_alert(&mut event);
        }
        if restarts && !event.keeps_timer {
            self.restart_timer(now);
        }
        let (fresh, lost) = (self.delivered.wrapping_sub(delivered), self.lost.wrapping_sub(lost));
        self.set_window(&event, fresh, lost);
        let progress = Progress {
            now,
            in_flight: (in_flight, self.in_flight()),
            lost,
            delivered: event.fresh,
            marked,
            is_done: self.una == self.high,
            una: self.una,
            high: self.high,
            srtt: self.rtt.precise(),
            is_limited: self.is_limited(),
            pause: self.gate.as_ref().map_or(Span::ZERO, |gate| gate.pause(now)),
        };
        self.control.after_ack(&mut self.window, progress);
    }

    /// Reports of packets out of order, and of a packet that arrived twice (`tcp_sacktag_write_queue`).
    fn note_reports(&mut self, event: &mut Event, blocks: &[Block]) {
        let blocks = match blocks {
            [first, rest @ ..] if is_of_duplicate(*first, rest, event.ack) && self.note_duplicate(event, *first) => {
                rest
            }
            all => all,
        };
        let lowest = event.ack.max(self.una);
        let mut sorted = [Block::default(); MAX_BLOCKS];
        let mut count = 0;
        let valid = |block: &&Block| block.start > lowest && block.start < block.end && block.end <= self.high;
        for (place, block) in sorted.iter_mut().zip(blocks.iter().filter(valid)) {
            *place = *block;
            count += 1;
        }
        sorted[..count].sort_unstable_by_key(|block| block.start);
        let Self { packets, rack, control, point, delivered, una, min_rtt, .. } = self;
        let min_rtt = min_rtt.get();
        for block in &sorted[..count] {
            packets.report(*una, *block, |seq, packet, top| {
                event.reported = true;
                event.deliver(&packet);
                *delivered = delivered.wrapping_add(1);
                rack.deliver(event.now, seq, &packet, min_rtt);
                if !packet.was_repeated {
                    if seq < top {
                        event.reorders(seq);
                    }
                    event.original |= seq < *point;
                    extend(&mut event.sacked, packet.sent);
                }
                control.on_delivered(event.now, seq);
            });
        }
        if let Some(seq) = event.reordered.take()
            && (self.state != State::Loss || self.undo.marker.is_some())
        {
            self.note_reordering(seq);
        }
    }

    /// The receiver reports that `block` arrived twice (RFC 2883). Returns whether it can be: the sender has sent that many
    /// packets again.
    fn note_duplicate(&mut self, event: &mut Event, block: Block) -> bool {
        let packets = block.end - block.start;
        if u64::from(self.duplicates) + u64::from(packets) > self.counts.retransmitted {
            return false;
        }
        self.duplicates += packets;
        event.probe_duplicated = packets == 1 && self.probed == Some(block.end);
        self.rack.duplicate |= self.reordered > 0 && !event.probe_duplicated;
        event.duplicated = true;
        self.delivered = self.delivered.wrapping_add(packets);
        if block.end <= self.una {
            self.undo.duplicated(block.end, packets);
        }
        for seq in block.start.max(self.una)..block.end.min(self.high) {
            if self.packets.get(seq).was_repeated {
                self.undo.duplicated(seq + 1, 1);
                self.packets.duplicated(seq);
            }
        }
        true
    }

    /// Removes the records of the packets that are cumulatively acknowledged (`tcp_clean_rtx_queue`). `top`: one above the
    /// highest packet reported before.
    fn acknowledge(&mut self, event: &mut Event, top: u32) {
        let min_rtt = self.min_rtt.get();
        for seq in self.una..event.ack {
            let packet = self.packets.acknowledge(seq);
            if packet.was_repeated {
                event.repeated = true;
            } else if !packet.is_reported {
                extend(&mut event.acked, packet.sent);
                event.reorders(seq);
                event.original |= seq < self.point;
            }
            if packet.is_reported {
                continue;
            }
            event.deliver(&packet);
            self.delivered = self.delivered.wrapping_add(1);
            // Not if an earlier transmission has arrived.
            if !(packet.was_repeated && event.stamp != packet.stamps[1]) {
                self.rack.deliver(event.now, seq, &packet, min_rtt);
            }
            self.control.on_delivered(event.now, seq);
        }
        self.una = event.ack;
        if let Some(seq) = event.reordered.take_if(|seq| *seq < top) {
            self.note_reordering(seq);
        }
    }

    /// Measures the round trip of packets that were sent once, or by the stamp. `first`: the record of the packet that was the
    /// lowest outstanding one. Returns whether the timer restarts.
    fn measure_round_trip(&mut self, event: &Event, first: &Packet) -> bool {
        let now = event.now;
        let acked = event.acked.filter(|_| !event.repeated);
        // In place of a timestamp: the stamp tells the last transmission from the one before.
        let by_stamp = event.advanced
            && first.was_repeated
            && !first.is_reported
            && first.stamps[0] != first.stamps[1]
            && event.stamp == first.stamps[1]
            && self.min_rtt.get().is_none_or(|least| now.since(first.sent) >= least);
        let stamped = by_stamp.then_some([first.sent; 2]);
        let measured = acked.or(event.sacked).or(stamped);
        if let Some([sent, mut latest]) = measured {
            latest = event.sacked.map_or(latest, |[_, latest]| latest);
            self.measure(now, now.since(sent), now.since(latest));
            let sample = RoundTrip {
                now,
                rtt: now.since(latest),
                srtt: self.rtt.precise(),
                una: self.una,
                high: self.high,
                is_paced: self.paced,
            };
            self.control.on_round_trip(&mut self.window, sample);
        }
        // A report of packets sent after the last transmission of the first outstanding packet extends its timeout.
        let later = |sent: Instant| self.high > self.una && sent < self.packets.get(self.una).sent;
        event.advanced || event.sacked.is_some_and(|[sent, _]| later(sent))
    }

    /// Takes over a round trip `rtt`, and `latest`, that of the newest packet.
    pub(super) fn measure(&mut self, now: Instant, rtt: Span, latest: Span) {
        self.min_rtt.measure(now, latest);
        let base = self.estimator.measure(rtt, self.rtt.min_rto(), (self.una, self.high));
        self.rtt.assume(rtt, self.estimator.srtt8(), base);
    }

    /// Decodes the marks that the acknowledgement reports. Returns their number.
    fn count_marks(&mut self, event: &mut Event, ack: &Ack) -> u32 {
        let marked = match ack.echoes.accurate() {
            Some(feedback) if event.fresh > 0 => self.marks.decode(feedback, event.fresh),
            None if event.echo => event.fresh,
            Some(_) | None => 0,
        };
        event.echo |= ack.echoes.accurate().is_some() && marked > 0 && self.ecn;
        self.control.on_feedback(Feedback { delivered: event.fresh, marked, una: self.una, high: self.high });
        marked
    }

    /// Reduces the window in the course of a reduction, or lets the control grow it (`tcp_cong_control`).
    fn set_window(&mut self, event: &Event, fresh: u32, lost: u32) {
        if self.owns_window {
            return;
        }
        if self.is_reducing() {
            self.reduce_proportionally(fresh, lost, event.advanced);
            return;
        }
        let raises = event.advanced || (self.reordering > REORDERING && event.reported);
        if !raises {
            return;
        }
        if self.is_limited() || self.control.is_validated(&self.window) {
            let acked = Acked { now: event.now, packets: fresh, srtt: self.rtt.precise() };
            self.control.on_ack(&mut self.window, acked);
        } else {
            self.control.on_application_limited(event.now);
        }
        self.usage.active(event.now);
    }
}

/// Does the first block report a packet that arrived twice (RFC 2883 section 4)? It is below the acknowledgement, or within
/// the second block.
fn is_of_duplicate(first: Block, rest: &[Block], ack: u32) -> bool {
    let within = |other: &Block| first.start >= other.start && first.end <= other.end;
    first.start < first.end && (first.start < ack || rest.first().is_some_and(within))
}
