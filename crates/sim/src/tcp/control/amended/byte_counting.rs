//! Appropriate byte counting (RFC 3465): the window grows by the packets that an acknowledgement covers, with a limit in
//! slow start.

use super::super::super::window::Window;

/// Limit in the slow start after a timeout (section 2.3), in packets.
const AFTER_TIMEOUT: u32 = 1;

/// State of the counting.
#[derive(Clone, Debug)]
pub(super) struct ByteCounting {
    /// L: the most packets by which an acknowledgement grows the window in slow start.
    limit: u32,
    /// A timeout has expired, and slow start has not ended since.
    after_timeout: bool,
    /// Packets acknowledged in congestion avoidance that have not yet grown the window.
    acked: f64,
    /// The next acknowledgement ends a fast recovery: it does not count.
    ends_recovery: bool,
}

impl ByteCounting {
    pub(super) const fn new(limit: u32) -> Self {
        Self { limit, after_timeout: false, acked: 0.0, ends_recovery: false }
    }

    /// An acknowledgement covers `packets`. Section 2.2 in slow start, section 2.1 in congestion avoidance: one packet for
    /// each window of packets acknowledged.
    pub(super) fn grow(&mut self, window: &mut Window, packets: u32) {
        let cwnd = window.cwnd();
        if window.in_slow_start() {
            let limit = if self.after_timeout { AFTER_TIMEOUT } else { self.limit };
            window.set(cwnd + f64::from(packets.min(limit)));
            return;
        }
        self.after_timeout = false;
        if core::mem::take(&mut self.ends_recovery) {
            return;
        }
        self.acked += f64::from(packets);
        if self.acked >= cwnd {
            self.acked -= cwnd;
            window.set(cwnd + 1.0);
        }
    }

    /// A loss or mark reduces the window: what was acknowledged of the larger window is forgotten (ours; the RFC does not
    /// say).
    pub(super) const fn on_reduction(&mut self) {
        self.acked = 0.0;
    }

    /// The acknowledgement that comes next repairs a loss. Of a fast recovery RFC 5681 section 3.2 sets the window to the
    /// threshold then.
    pub(super) fn on_recovered(&mut self, window: &Window) {
        self.ends_recovery = !window.in_slow_start();
    }

    /// The timer has expired.
    pub(super) const fn on_timeout(&mut self) {
        self.on_reduction();
        self.after_timeout = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_counts_packets_up_to_the_limit() {
        let (mut counting, mut window) = (ByteCounting::new(2), Window::new(4.0, f64::INFINITY));
        counting.grow(&mut window, 1);
        assert_eq!(window.cwnd(), 5.0);
        counting.grow(&mut window, 2);
        assert_eq!(window.cwnd(), 7.0);
        counting.grow(&mut window, 5);
        assert_eq!(window.cwnd(), 9.0);
        let mut one = ByteCounting::new(1);
        one.grow(&mut window, 5);
        assert_eq!(window.cwnd(), 10.0, "L = 1, as RFC 5681 section 3.1");
    }

    /// A window of 10: the tenth packet acknowledged adds one, and of 12 packets two are left, with 9 more 11.
    #[test]
    fn avoidance_adds_a_packet_per_window_acknowledged() {
        let (mut counting, mut window) = (ByteCounting::new(2), Window::new(10.0, f64::INFINITY));
        window.restore_threshold(10.0);
        (0..4).for_each(|_| counting.grow(&mut window, 2));
        assert_eq!((window.cwnd(), counting.acked), (10.0, 8.0));
        counting.grow(&mut window, 4);
        assert_eq!((window.cwnd(), counting.acked), (11.0, 2.0));
        counting.grow(&mut window, 8);
        assert_eq!((window.cwnd(), counting.acked), (11.0, 10.0));
        counting.on_reduction();
        counting.grow(&mut window, 10);
        assert_eq!((window.cwnd(), counting.acked), (11.0, 10.0));
        counting.grow(&mut window, 1);
        assert_eq!((window.cwnd(), counting.acked), (12.0, 0.0));
    }

    #[test]
    fn acknowledgement_that_ends_recovery_does_not_count() {
        let (mut counting, mut window) = (ByteCounting::new(2), Window::new(10.0, f64::INFINITY));
        window.halve();
        counting.on_recovered(&window);
        counting.grow(&mut window, 10);
        assert_eq!((window.cwnd(), counting.acked), (5.0, 0.0));
        counting.grow(&mut window, 5);
        assert_eq!((window.cwnd(), counting.acked), (6.0, 0.0));
    }

    #[test]
    fn limit_is_one_packet_after_a_timeout() {
        let (mut counting, mut window) = (ByteCounting::new(2), Window::new(1.0, f64::INFINITY));
        window.restore_threshold(3.0);
        counting.on_timeout();
        counting.grow(&mut window, 2);
        assert_eq!(window.cwnd(), 2.0);
        counting.grow(&mut window, 2);
        assert_eq!(window.cwnd(), 3.0);
        // Congestion avoidance ends the exception.
        counting.grow(&mut window, 2);
        window.restore_threshold(f64::INFINITY);
        counting.grow(&mut window, 2);
        assert_eq!(window.cwnd(), 5.0);
    }
}
