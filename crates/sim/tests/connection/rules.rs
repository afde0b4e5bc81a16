//! Requirements for every sender, checked at every event.

use std::collections::BTreeMap;

use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::tcp::receiver::Ack;
use forebay_sim::tcp::sender::{Send, Sender};
use forebay_sim::tcp::{Stack, TcpOptions, Variant};

use super::setting::Setting;

/// State observed of a sender.
pub(crate) struct Rules {
    options: TcpOptions,
    /// The shortest possible round trip.
    least_rtt: u64,
    /// Number after the last packet sent, and number of packets that the application has written.
    high: u32,
    pub(crate) offered: u32,
    /// Echoes in acknowledgements up to this number have been answered.
    answered_until: u32,
    /// Number after the last packet sent at the last reduction of the threshold; for a mark: 0 after a loss.
    reduced_until: u32,
    marked_until: u32,
    /// A mark at a window of one packet: no new packet may be sent now.
    waits: bool,
    /// Number of retransmissions of each packet since the last timeout or the start of the last recovery.
    again: BTreeMap<u32, u32>,
    /// Time and length of the last timeout, if nothing has been received since.
    expired: Option<(Instant, Span)>,
}

impl Rules {
    pub(crate) fn new(setting: &Setting) -> Self {
        Self {
            options: setting.options,
            least_rtt: 2 * setting.delay[0],
            high: 0,
            offered: 0,
            answered_until: 0,
            reduced_until: 0,
            marked_until: 0,
            waits: false,
            again: BTreeMap::new(),
            expired: None,
        }
    }

    fn is(&self, variant: Variant) -> bool {
        self.options.variant == variant
    }

    fn is_selective(&self) -> bool {
        self.is_linux() || self.options.variant.profile().recovery.is_selective()
    }

    /// Linux reduces the window gradually, repeats a lost retransmission, and undoes reductions.
    fn is_linux(&self) -> bool {
        self.options.stack() == Stack::Linux
    }

    /// Whether the control deviates from the RFCs where ns-2 does.
    fn follows_ns2(&self) -> bool {
        !self.is_linux() && self.options.variant.profile().follows_ns2
    }

    /// Checks a received acknowledgement.
    pub(crate) fn ack(&mut self, before: &Sender, after: &Sender, ack: Ack) {
        self.expired = None;
        self.check_measurements(after);
        if self.is_linux() {
            assert!(after.cwnd() >= 1.0 && after.ssthresh() >= 2.0, "a packet may be sent");
            return;
        }
        if !self.options.variant.profile().paces {
            self.check_window(before, after, ack);
        }
        let recovers = after.counts().fast_retransmits > before.counts().fast_retransmits;
        if recovers {
            self.again.clear();
            self.check_threshold(before, after);
            (self.answered_until, self.marked_until) = (self.high, 0);
        }
        if after.ssthresh() < before.ssthresh() {
            // DCTCP reacts to a loss after a mark, which may have reduced the window only a little.
            let twice = self.is(Variant::CUBIC) && after.acknowledged() < self.reduced_until;
            assert!(!twice, "RFC 3168 section 6.1.2: one reduction in a window of data");
            self.reduced_until = self.high;
        }
    }

    /// Checks a received old acknowledgement: only its blocks count (RFC 6675 section 5).
    pub(crate) fn late(&mut self, before: &Sender, after: &Sender, ack: Ack) {
        assert_eq!(after.acknowledged(), before.acknowledged(), "RFC 793 section 3.9: it acknowledges no data");
        assert!(after.in_flight() <= before.in_flight(), "it does not increase the packets in flight");
        let hears = self.is_selective() && !self.is(Variant::SCTP);
        assert!(hears || after.in_flight() == before.in_flight(), "RFC 9260 section 6.2.1: SCTP drops it");
        let answers = after.counts().ecn_cuts > before.counts().ecn_cuts;
        assert!(!self.is_selective() || !answers, "its echo belongs to an older window");
        self.ack(before, after, Ack { ece: ack.ece && answers, ..ack });
    }

    fn check_window(&mut self, before: &Sender, after: &Sender, ack: Ack) {
        let (old, new) = (before.cwnd(), after.cwnd());
        let ece = ack.ece && self.options.ecn_capable();
        let cut = after.counts().ecn_cuts > before.counts().ecn_cuts;
        let recovers = after.counts().fast_retransmits > before.counts().fast_retransmits;
        // A partial acknowledgement opens NewReno's closed window (RFC 6582 section 3.2).
        let opens = self.is(Variant::NEWRENO) && old < 1.0 && new == 1.0;
        assert!(!ece || new <= old || opens, "RFC 3168 section 6.1.2: an echo does not raise the window");
        // RFC 9260 section 7.2.3: the window after a loss may be four packets, even if it was smaller.
        let most = if self.is(Variant::SCTP) { old.max(4.0) } else { old };
        assert!(!recovers || new <= most, "a loss does not raise the window");
        let acked = ack.next.saturating_sub(before.acknowledged());
        assert!(new <= most.max(old + f64::from(acked.max(1))), "the window grows by at most what is acknowledged");
        assert!(!ece || ack.next <= self.answered_until || cut, "RFC 3168 section 6.1.2: the first echo is answered");
        assert!(!cut || ack.next > self.answered_until || self.follows_ns2(), "later echoes are not answered");
        if cut {
            (self.answered_until, self.marked_until) = (self.high, self.high);
            // Without selective acknowledgements, limited transmit and recovery may still send a packet.
            self.waits = old <= 1.0 && self.is_selective();
        }
    }

    /// A loss in a window that was reduced for a mark does not change the threshold; in ns-2 the packet with CWR
    /// belongs to that window.
    fn check_threshold(&self, before: &Sender, after: &Sender) {
        let una = after.acknowledged();
        let marked = self.marked_until > 0 && una < self.marked_until + u32::from(self.follows_ns2());
        let now = after.counts().ecn_cuts > before.counts().ecn_cuts;
        let stays =
            !marked || now || self.options.variant.profile().is_scalable || after.ssthresh() == before.ssthresh();
        assert!(stays, "RFC 3168 section 6.1.2: the threshold stays in a marked window");
    }

    /// Every measurement is a round trip (Karn's algorithm, RFC 6298 section 3).
    fn check_measurements(&self, sender: &Sender) {
        let srtt = sender.rtt().precise().nanos();
        // Integer arithmetic rounds down.
        assert!(srtt == 0 || srtt + 16 >= self.least_rtt, "srtt is at least the shortest round trip");
        let rto = sender.rtt().timeout();
        let most = self.options.max_rto.max(self.options.tick * 2);
        assert!((self.options.min_rto..=most).contains(&rto), "RFC 6298 rules 2.4 and 2.5");
        let found = sender.path_model().and_then(|model| model.min_rtt);
        assert!(found.is_none_or(|rtt| rtt.nanos() >= self.least_rtt), "min_rtt is at least the shortest round trip");
        assert!(sender.marked_share().is_none_or(|alpha| (0.0..=1.0).contains(&alpha)), "alpha is from 0 to 1");
    }

    /// Checks an expired deadline.
    pub(crate) fn timer(&mut self, now: Instant, before: &Sender, after: &Sender) {
        self.waits = false;
        if after.counts().timeouts == before.counts().timeouts {
            return;
        }
        assert!(self.high > after.acknowledged(), "acknowledged packets do not time out");
        // Linux does not consider packets lost that were sent less than a round trip ago.
        let kept = if self.is_linux() { after.in_flight() } else { 0 };
        assert_eq!(after.cwnd(), f64::from(kept + 1), "RFC 5681 section 3.1: the loss window");
        let least = if self.is(Variant::SCTP) { 4.0 } else { 2.0 };
        let most = before.ssthresh().max(0.7 * before.cwnd()).max(least);
        assert!(after.ssthresh() <= most, "RFC 5681 section 3.1: the threshold does not rise");
        if let Some((at, after)) = self.expired {
            let least = (after * 2).min(self.options.max_rto);
            assert!(now.since(at) >= least, "RFC 6298 rule 5.5: backoff doubles");
        }
        self.expired = Some((now, before.rtt().timeout()));
        self.again.clear();
        (self.answered_until, self.reduced_until, self.marked_until) = (self.high, self.high, 0);
    }

    /// Checks a sent packet.
    pub(crate) fn sends(&mut self, sender: &Sender, send: Send) {
        let una = sender.acknowledged();
        let new = send.seq == self.high;
        assert!(send.seq >= una, "acknowledged packets are not sent");
        assert!(send.seq <= self.high && send.seq < self.offered, "offered packets are sent in order");
        assert!(new || !send.cwr, "RFC 3168 section 6.1.5: no CWR on retransmissions");
        assert!(!new || !self.waits, "RFC 3168 section 6.1.2: marked at a window of one, a sender waits for its timer");
        self.high += u32::from(new);
        assert!(self.high - una <= self.options.window.unwrap_or(u32::MAX), "the receiver's window");
        if !new && self.is_selective() && !self.is_linux() {
            // RFC 6675 section 4, rule 4: the second one is the rescue retransmission. In Sack a mark prolongs the
            // recovery, as in ns-2.
            let prolonged = self.follows_ns2() && self.options.ecn;
            let times = self.again.entry(send.seq).or_default();
            *times += 1;
            assert!(*times <= 2 || prolonged, "at most two retransmissions of a packet in a recovery");
        }
    }

    /// Checks the timer when no more packets can be sent now.
    pub(crate) fn pauses(&mut self, sender: &Sender) {
        self.waits = false;
        let (outstanding, runs) = (self.high > sender.acknowledged(), sender.deadline().is_some());
        assert!(!outstanding || runs, "RFC 6298 rule 5.1: a timer runs");
        let idle = !outstanding && sender.cwnd() >= 1.0 && !self.options.paced();
        assert!(!idle || !runs, "RFC 6298 rule 5.2: no timer runs");
    }
}
