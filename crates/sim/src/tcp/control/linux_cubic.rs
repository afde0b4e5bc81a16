//! CUBIC as Linux 6.12 has it (`tcp_cubic.c`), with its HyStart.
//!
//! Differences from RFC 9438, which `cubic` follows:
//! - windows are whole packets, and a window grows by one packet for `every` packets acknowledged;
//! - the curve is looked up at the time plus the minimum round trip, not the smoothed one;
//! - the window that Reno would have always grows by 0.53 packets per round trip;
//! - without a loss since the start or a timeout, the window grows by at least 5 % per round trip.

mod hystart;

use forebay_aqm::base::time::{Instant, Span};

use super::super::Stack;
use super::super::congestion::{Acked, CongestionControl, Design, Profile, RoundTrip, Sent, Start};
use super::super::window::Window;
use hystart::HyStart;

/// Window after a reduction, as a part of the window before (717/1024).
const BETA: u32 = 717;
/// The same with fast convergence, for the plateau: (1024 + 717)/2048.
const CONVERGENCE: u32 = 1024 + BETA;
/// Scale of the curve in packets per second cubed: 41 * 10/1024.
const C: f64 = 410.0 / 1024.0;
/// Without a loss: one packet for this many acknowledged, 5 % per round trip.
const UNKNOWN: u32 = 20;
/// At most one packet for this many acknowledged, 1.5 times per round trip.
const FASTEST: u32 = 2;
/// The growth is computed again after this time, or when the window changes: 1/32 s.
const REFRESH: Span = Span::from_micros(31_250);

/// State of CUBIC.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct LinuxCubic {
    /// The window grows by one packet for this many acknowledged (`cnt`).
    every: u32,
    /// Window before the last reduction; 0: none since the start or a timeout (`last_max_cwnd`).
    w_max: u32,
    /// Window at which `every` was computed, and when.
    computed: Option<(u32, Instant)>,
    /// Plateau of the curve (`bic_origin_point`), and the time at which it is reached, in seconds.
    origin: u32,
    k: f64,
    /// Start of the curve.
    epoch: Option<Instant>,
    /// Packets acknowledged that have not yet added a packet to `reno` (`ack_cnt`).
    acked: u32,
    /// The window that Reno would have (`tcp_cwnd`).
    reno: u32,
    min_rtt: Option<Span>,
    last_sent: Instant,
    hystart: HyStart,
}

impl LinuxCubic {
    /// `bictcp_update`: for how many acknowledged packets the window grows by one.
    fn update(&mut self, now: Instant, cwnd: u32, acked: u32) {
        self.acked += acked;
        let fresh = |&(at, when): &(u32, Instant)| at == cwnd && now.since(when) <= REFRESH;
        if self.computed.as_ref().is_some_and(fresh) {
            return;
        }
        self.computed = Some((cwnd, now));
        let epoch = self.epoch.unwrap_or_else(|| self.begin(now, cwnd, acked));
        let target = self.target(now.since(epoch) + self.min_rtt.unwrap_or(Span::ZERO));
        self.every = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.w_max == 0 {
            self.every = self.every.min(UNKNOWN);
        }
        self.follow_reno(cwnd);
        self.every = self.every.max(FASTEST);
    }

    fn begin(&mut self, now: Instant, cwnd: u32, acked: u32) -> Instant {
        (self.epoch, self.acked, self.reno) = (Some(now), acked, cwnd);
        (self.origin, self.k) = (cwnd, 0.0);
        if self.w_max > cwnd {
            self.origin = self.w_max;
            self.k = libm::cbrt(f64::from(self.w_max - cwnd) / C);
        }
        now
    }

    /// The curve in whole packets, `t` after its start. The distance from the plateau is rounded down.
    fn target(&self, t: Span) -> u32 {
        let x = t.secs() - self.k;
        let distance = (C * (x * x * x).abs()) as u32;
        if x < 0.0 { self.origin.saturating_sub(distance) } else { self.origin.saturating_add(distance) }
    }

    /// Reno's window grows by one packet for 15/8 windows; CUBIC's is at least as large.
    fn follow_reno(&mut self, cwnd: u32) {
        let per_packet = (cwnd * 15 / 8).max(1);
        let more = self.acked.saturating_sub(1) / per_packet;
        self.acked -= more * per_packet;
        self.reno += more;
        if self.reno > cwnd {
            self.every = self.every.min(cwnd / (self.reno - cwnd));
        }
    }

    /// `cubictcp_recalc_ssthresh`. Reduces threshold and window.
    fn reduce(&mut self, window: &mut Window) {
        let cwnd = window.cwnd() as u32;
        self.epoch = None;
        self.w_max = if cwnd < self.w_max { (u64::from(cwnd) * u64::from(CONVERGENCE) / 2048) as u32 } else { cwnd };
        let threshold = ((u64::from(cwnd) * u64::from(BETA) / 1024) as u32).max(2);
        window.restore_threshold(f64::from(threshold));
        window.set(window.cwnd().min(f64::from(threshold)));
    }
}

impl CongestionControl for LinuxCubic {
    /// The application was idle: the curve waits.
    fn on_sent(&mut self, sent: Sent) {
        if sent.in_flight == 0 {
            let idle = sent.now.since(self.last_sent);
            self.epoch = self.epoch.map(|epoch| (epoch + idle).min(sent.now));
        }
        self.last_sent = sent.now;
    }

    fn on_round_trip(&mut self, window: &mut Window, sample: RoundTrip) {
        // Samples right after a recovery are not used.
        if self.epoch.is_some_and(|epoch| sample.now.since(epoch) < Span::from_millis(1000)) {
            return;
        }
        let rtt = sample.rtt.max(Span::from_micros(1));
        let least = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(least);
        if window.in_slow_start() && self.hystart.ends(window.cwnd(), least, sample) {
            window.restore_threshold(window.cwnd());
        }
    }

    fn on_ack(&mut self, window: &mut Window, acked: Acked) {
        let rest = window.slow_start(acked.packets);
        if rest > 0 {
            self.update(acked.now, window.cwnd() as u32, rest);
            window.add_credit(self.every, rest);
        }
    }

    fn on_loss(&mut self, window: &mut Window) {
        self.reduce(window);
    }

    fn on_mark(&mut self, window: &mut Window) {
        self.reduce(window);
    }

    /// A timeout forgets the curve and the minimum round trip, and HyStart begins again.
    fn on_timeout(&mut self, window: &mut Window, is_reduced: bool) {
        if !is_reduced {
            self.reduce(window);
        }
        *self = Self { last_sent: self.last_sent, ..Self::default() };
        window.set(1.0);
    }
}

impl Design for LinuxCubic {
    const PROFILE: Profile = Profile {
        word: "linux",
        summary: "a Linux host: CUBIC of Linux 6.12 with HyStart, RACK-TLP, PRR and undo",
        stack: Stack::Linux,
        kernel: Some("cubic"),
        ..Profile::TCP
    };

    fn new(_start: Start) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// A flow with a window of 100 packets that has lost a packet.
    fn reduced() -> (LinuxCubic, Window) {
        let (mut cubic, mut window) = (LinuxCubic::default(), Window::of_linux(100.0));
        cubic.min_rtt = Some(Span::from_millis(40));
        cubic.on_loss(&mut window);
        (cubic, window)
    }

    #[test]
    fn curve_has_the_values_of_linux() {
        let (mut cubic, window) = reduced();
        assert_eq!((window.cwnd(), window.ssthresh(), cubic.w_max), (70.0, 70.0, 100));
        let epoch = cubic.begin(at(0), 70, 1);
        assert!((cubic.k - 4.2158).abs() < 5e-5, "{}", cubic.k);
        let target = |ms| cubic.target(at(ms).since(epoch) + Span::from_millis(40));
        assert_eq!([0, 100, 1000, 2000, 4216, 6000].map(target), [71, 73, 88, 96, 100, 102]);
    }

    #[test]
    fn second_loss_below_the_plateau_releases_bandwidth() {
        let (mut cubic, mut window) = reduced();
        window.set(90.0);
        cubic.on_loss(&mut window);
        assert_eq!((cubic.w_max, window.ssthresh()), (76, 63.0));
        cubic.on_timeout(&mut window, true);
        assert_eq!((cubic.w_max, window.cwnd()), (0, 1.0));
    }

    /// Without a loss, 20 packets acknowledged add one; after a reduction the first one at 70 is due after 70/(71 - 70).
    #[test]
    fn window_grows_by_whole_packets() {
        let (mut cubic, mut window) = reduced();
        let ack = |cubic: &mut LinuxCubic, window: &mut Window, ms, packets| {
            cubic.on_ack(window, Acked { now: at(ms), packets, srtt: Span::from_millis(40) });
            window.cwnd()
        };
        assert_eq!(ack(&mut cubic, &mut window, 0, 69), 70.0);
        assert_eq!(ack(&mut cubic, &mut window, 1, 1), 71.0);
        let (mut cubic, mut window) = (LinuxCubic::default(), Window::of_linux(100.0));
        window.restore_threshold(100.0);
        assert_eq!(ack(&mut cubic, &mut window, 0, 19), 100.0);
        assert_eq!(ack(&mut cubic, &mut window, 1, 1), 101.0);
    }

    /// 15/8 windows of acknowledgements add a packet to the window that Reno would have.
    #[test]
    fn window_is_at_least_that_of_reno() {
        let (mut cubic, _) = reduced();
        cubic.begin(at(0), 70, 0);
        cubic.every = 1000;
        cubic.acked = 131;
        cubic.follow_reno(70);
        assert_eq!((cubic.reno, cubic.every), (70, 1000), "131 = 70 * 15/8");
        cubic.acked = 132;
        cubic.follow_reno(70);
        assert_eq!((cubic.reno, cubic.acked, cubic.every), (71, 1, 70));
        cubic.acked = 2 * 131 + 1;
        cubic.follow_reno(70);
        assert_eq!((cubic.reno, cubic.every), (73, 23));
    }

    #[test]
    fn idle_time_shifts_the_curve() {
        let (mut cubic, _) = reduced();
        cubic.begin(at(1000), 70, 1);
        let sent = |ms, in_flight| Sent { now: at(ms), seq: 0, una: 0, in_flight, again: false };
        cubic.on_sent(sent(1500, 3));
        cubic.on_sent(sent(4500, 0));
        assert_eq!(cubic.epoch, Some(at(4000)));
        cubic.on_sent(sent(5000, 1));
        assert_eq!(cubic.epoch, Some(at(4000)));
    }
}
