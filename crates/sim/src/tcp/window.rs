//! The congestion window in packets, and Reno's rules for it (RFC 5681).

/// Smallest slow-start threshold (RFC 5681 eq. 4).
pub(super) const MIN_SSTHRESH: f64 = 2.0;

/// Congestion window and slow-start threshold, in packets.
#[derive(Clone, Debug)]
pub struct Window {
    cwnd: f64,
    ssthresh: f64,
    /// The receiver's window, an upper limit of `cwnd`. More is never outstanding, so that a loss halves at most this.
    limit: f64,
    /// Does [`grow_for`](Self::grow_for) count packets, as the Linux stack does, and not acknowledgements?
    counts_packets: bool,
    /// Packets acknowledged in congestion avoidance that have not yet added a packet to the window.
    credit: u32,
}

impl Window {
    /// Starts in slow start at `initial` packets; `limit`: the receiver's window.
    pub const fn new(initial: f64, limit: f64) -> Self {
        Self { cwnd: initial.min(limit), ssthresh: f64::INFINITY, limit, counts_packets: false, credit: 0 }
    }

    /// The window of a sender of the Linux stack. It grows by the number of packets acknowledged. The receiver's window
    /// does not limit it.
    pub(super) const fn of_linux(initial: f64) -> Self {
        Self { counts_packets: true, ..Self::new(initial, f64::INFINITY) }
    }

    /// Congestion window in packets.
    #[inline]
    pub const fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Slow-start threshold in packets.
    pub const fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// Is the window below the slow-start threshold?
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// One acknowledgement of new data: adds 1 packet to the window in slow start, 1/cwnd packets in congestion
    /// avoidance.
    #[inline]
    pub fn grow(&mut self) {
        let more = if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
        self.cwnd = (self.cwnd + more).min(self.limit);
    }

    /// An acknowledgement of `packets` packets. As [`grow`](Self::grow); in the Linux stack the window grows by packets
    /// acknowledged (RFC 3465 without its limit): by each of them in slow start, by one per window of them in congestion
    /// avoidance.
    #[inline]
    pub fn grow_for(&mut self, packets: u32) {
        if !self.counts_packets {
            self.grow();
            return;
        }
        let rest = self.slow_start(packets);
        if rest > 0 {
            self.add_credit(self.cwnd as u32, rest);
        }
    }

    /// Grows by each of `packets` up to the slow-start threshold. Returns how many of them are left for congestion
    /// avoidance (Linux: `tcp_slow_start`).
    pub fn slow_start(&mut self, packets: u32) -> u32 {
        if !self.in_slow_start() {
            return packets;
        }
        let grown = (self.cwnd + f64::from(packets)).min(self.ssthresh);
        let used = (grown - self.cwnd) as u32;
        self.cwnd = grown.min(self.limit);
        packets - used
    }

    /// Grows by one packet for each `per` packets acknowledged; the rest is credit for later (Linux:
    /// `tcp_cong_avoid_ai`). Credit that exceeds a smaller `per` adds only one packet.
    pub fn add_credit(&mut self, per: u32, packets: u32) {
        let per = per.max(1);
        if self.credit >= per {
            self.credit = 0;
            self.cwnd += 1.0;
        }
        self.credit += packets;
        self.cwnd = (self.cwnd + f64::from(self.credit / per)).min(self.limit);
        self.credit %= per;
    }

    /// Forgets the credit of [`add_credit`](Self::add_credit).
    pub(super) const fn forget_credit(&mut self) {
        self.credit = 0;
    }

    /// Sets the window, capped by the receiver's window.
    pub fn set(&mut self, cwnd: f64) {
        self.cwnd = cwnd.min(self.limit);
    }

    /// Reduces the window to `cwnd`, at least `least` packets. Never raises it.
    const fn reduce_to(&mut self, cwnd: f64, least: f64) {
        self.cwnd = self.cwnd.min(cwnd.max(least));
    }

    /// Loss: halves the window, to at least one packet. The slow-start threshold becomes the same half, rounded down,
    /// at least 2.
    pub fn halve(&mut self) {
        self.ssthresh = (self.cwnd / 2.0).floor().max(MIN_SSTHRESH);
        self.reduce_to(self.cwnd / 2.0, 1.0);
    }

    /// Mark: halves the window, which can [close](Self::is_closed) it. The slow-start threshold becomes the same half,
    /// rounded down, at least 2.
    pub fn halve_for_mark(&mut self) {
        self.ssthresh = (self.cwnd / 2.0).floor().max(MIN_SSTHRESH);
        self.reduce_to(self.cwnd / 2.0, 0.0);
    }

    /// Is the window below one packet? Nothing is then sent until the timer expires (RFC 3168 section 6.1.2).
    #[inline]
    pub const fn is_closed(&self) -> bool {
        self.cwnd < 1.0
    }

    /// Loss or mark: multiplies the window by `part`, to at least `least` packets, and sets the slow-start threshold to
    /// the product, at least 2.
    pub fn cut(&mut self, part: f64, least: f64) {
        self.ssthresh = (self.cwnd * part).max(MIN_SSTHRESH);
        self.reduce_to(self.cwnd * part, least);
    }

    /// Sets the slow-start threshold back to `ssthresh`, its value before the last reduction.
    pub const fn restore_threshold(&mut self, ssthresh: f64) {
        self.ssthresh = ssthresh;
    }

    /// Timeout: the slow-start threshold becomes half of the window, rounded down, at least 2. The window becomes one
    /// packet.
    pub fn collapse(&mut self) {
        self.ssthresh = (self.cwnd / 2.0).floor().max(MIN_SSTHRESH);
        self.cwnd = 1.0;
    }

    /// Tahoe's loss: like a timeout, but a closed window stays closed.
    pub fn collapse_for_loss(&mut self) {
        let cwnd = self.cwnd;
        self.collapse();
        self.cwnd = self.cwnd.min(cwnd);
    }

    /// Partial acknowledgement (RFC 6582 section 3.2 step 3): reduces the window by `packets`, to at least one packet.
    /// This opens a closed window.
    pub fn deflate(&mut self, packets: f64) {
        self.cwnd = (self.cwnd - packets).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_reduction_raises_the_window(cwnd in 0.1f64..20.0, part in 0.0f64..1.0, least in 0.0f64..4.0) {
            let reduced = |reduce: fn(&mut Window, f64, f64)| {
                let mut w = Window::new(cwnd, f64::INFINITY);
                reduce(&mut w, part, least);
                w.cwnd()
            };
            prop_assert!(reduced(|w, _, _| w.halve()) <= cwnd);
            prop_assert!(reduced(|w, _, _| w.halve_for_mark()) <= cwnd);
            prop_assert!(reduced(|w, part, least| w.cut(part, least)) <= cwnd);
            prop_assert!(reduced(|w, _, _| w.collapse_for_loss()) <= cwnd);
        }
    }

    #[test]
    fn slow_start_doubles_avoidance_adds_one() {
        let mut w = Window::new(2.0, f64::INFINITY);
        (0..2).for_each(|_| w.grow());
        assert_eq!(w.cwnd(), 4.0);
        w.halve();
        assert_eq!((w.cwnd(), w.ssthresh()), (2.0, 2.0));
        (0..2).for_each(|_| w.grow());
        assert!((w.cwnd() - 2.9).abs() < 1e-12, "2 + 1/2 + 1/2.5");
        (0..50).for_each(|_| w.grow());
        let before = w.cwnd();
        (0..before as usize).for_each(|_| w.grow());
        assert!((w.cwnd() - before - 1.0).abs() < 0.1);
    }

    /// Slow start ends at the threshold; the rest of the acknowledgement is credit for congestion avoidance.
    #[test]
    fn linux_window_grows_by_packets_acknowledged() {
        let mut w = Window::of_linux(10.0);
        w.restore_threshold(12.0);
        w.grow_for(5);
        assert_eq!((w.cwnd(), w.credit), (12.0, 3));
        w.grow_for(9);
        assert_eq!((w.cwnd(), w.credit), (13.0, 0));
        w.grow_for(12);
        w.add_credit(5, 2);
        assert_eq!((w.cwnd(), w.credit), (14.0, 2), "credit of a larger window adds one packet");
        w.add_credit(2, 5);
        assert_eq!((w.cwnd(), w.credit), (17.0, 1));
    }

    #[test]
    fn receiver_window_limits_the_window() {
        let mut w = Window::new(2.0, 20.0);
        (0..1000).for_each(|_| w.grow());
        w.halve();
        assert_eq!(w.cwnd(), 10.0);
    }

    #[test]
    fn loss_halves_at_most_the_receiver_window() {
        let mut w = Window::new(10.0, 4.0);
        w.halve();
        assert_eq!((w.cwnd(), w.ssthresh()), (2.0, 2.0));
    }

    #[test]
    fn timeout_keeps_slow_start_threshold_at_least_two() {
        let mut w = Window::new(2.0, f64::INFINITY);
        w.collapse();
        assert_eq!((w.cwnd(), w.ssthresh()), (1.0, 2.0));
    }
}
