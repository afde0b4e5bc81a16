//! RED in the integers of Linux 6.12: the part of net/red.h that sch_red and sch_choke share, and the numbers that tc
//! computes for them.
//!
//! The average is a fixed-point number with `log` bits after the point. The gap between two signals is drawn when it
//! begins: a number of 32 bits, divided by max_p 2^32/(max_th - min_th). After idle time the average is shifted right;
//! a table of 256 cells gives the shift.

use crate::base::cx::Cx;
use crate::base::discipline::Aqm;
use crate::base::rng::Rng;
use crate::base::time::Instant;
use crate::base::units::{Bytes, Rate};

/// Number of cells in the table of idle time: `RED_STAB_SIZE`.
const CELLS: usize = 256;
/// The largest shift in the table: tc.
const LARGEST_SHIFT: u8 = 31;
/// tc takes the smallest cells with which the time to the largest shift has less cells than this.
const MOST_CELLS: f64 = 512.0;
/// tc's unit of time per microsecond: the kernel's ticks of 64 ns. The kernel reads the table in microseconds.
const TICKS_PER_MICROSECOND: f64 = 15.625;
/// A probability of 1 in max_p.
const ONE: f64 = 4_294_967_296.0;

/// RED's parameters as tc's arguments. Thresholds are in the unit of the queue, packets or bytes.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// min_th.
    pub min: u32,
    /// max_th.
    pub max: u32,
    /// The mean packet in the unit of the queue.
    pub packet: u32,
    /// max_p, 0 to 1; 1 counts as 1 - 2^-32.
    pub max_p: f64,
    /// The weight of a new sample; it is rounded to a power of 2. `None`: by `burst`.
    pub weight: Option<f64>,
    /// Burst size in packets that the average must not count as congestion. `None`: (2 min + max)/3.
    pub burst: Option<u32>,
    /// The mean packet in bytes and the link's rate give the packet time, by which the average decays.
    pub mean: Bytes,
    /// The link's rate.
    pub rate: Rate,
}

/// `tc_red_eval_ewma`: the smallest n for which a burst raises an average with weight 2^-n to at most `min`, a number
/// of packets (Floyd and Jacobson 1993, eq. 3). `None`: tc refuses the burst.
fn tc_log(burst: f64, min: f64) -> Option<u32> {
    let above = burst + 1.0 - min;
    let fits = |n: &u32| {
        let w = libm::scalbn(1.0, -(*n as i32));
        above <= (1.0 - libm::pow(1.0 - w, burst)) / w
    };
    (1..32).find(fits).filter(|_| above >= 1.0)
}

impl Settings {
    /// Bits after the point of the average. A burst that tc refuses counts as min_th.
    fn log(&self) -> u32 {
        if let Some(weight) = self.weight {
            return libm::round(-libm::log2(weight)).clamp(0.0, 31.0) as u32;
        }
        let (min, packet) = (u64::from(self.min), u64::from(self.packet.max(1)));
        let usual = (2 * min + u64::from(self.max)) / (3 * packet);
        let burst = self.burst.map_or(usual, u64::from);
        let min = min as f64 / packet as f64;
        tc_log(burst as f64, min).or_else(|| tc_log(libm::ceil(min), min)).unwrap_or(1)
    }

    /// `tc_red_eval_idle_damping`: the logarithm of the length of a cell, and the shift of each cell. The length is in
    /// tc's ticks here, and in microseconds for the kernel.
    fn cells(&self, log: u32) -> (u32, [u8; CELLS]) {
        let bytes_per_second = (self.rate.0 / 8) as f64;
        let microseconds = libm::trunc(1e6 * (self.mean.0 as f64 / bytes_per_second));
        let packet_time = libm::trunc(microseconds * TICKS_PER_MICROSECOND);
        let per_tick = -libm::log(1.0 - libm::scalbn(1.0, -(log as i32))) / packet_time;
        let until_largest = f64::from(LARGEST_SHIFT) / per_tick;
        let fits = |cell: &u32| libm::scalbn(until_largest, -(*cell as i32)) < MOST_CELLS;
        let cell_log = (0..32).find(fits).unwrap_or(31);
        let mut shifts = [LARGEST_SHIFT; CELLS];
        for (i, shift) in (0_i32..).zip(&mut shifts[..CELLS - 1]) {
            // As in tc, 32 bits with sign, of which the lowest eight are stored.
            let x = if i == 0 { 0.0 } else { f64::from(i << cell_log) * per_tick };
            *shift = if x.is_finite() { (x as i32 as u8).min(LARGEST_SHIFT) } else { LARGEST_SHIFT };
        }
        (cell_log, shifts)
    }
}

/// What happens to an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing.
    Pass,
    /// A random signal.
    Signal,
    /// A signal because of the average alone.
    Forced,
}

/// RED's parameters and state: `struct red_parms` and `struct red_vars`.
#[derive(Clone, Debug)]
pub struct KernelRed {
    /// Thresholds, with `log` bits after the point.
    min: u64,
    max: u64,
    log: u32,
    max_p: u32,
    /// By this a random number of 32 bits is divided: `max_P_reciprocal`.
    divisor: u32,
    cell_log: u32,
    shifts: [u8; CELLS],
    /// The average queue, with `log` bits after the point.
    avg: u64,
    /// Arrivals between the thresholds since the gap began; -1: none has begun.
    count: i32,
    /// `qR`: the gap ends when the average above min_th times the count reaches it.
    gap: u32,
    idle_since: Option<Instant>,
}

impl KernelRed {
    /// RED with an empty queue, idle from time 0.
    pub fn new(settings: &Settings) -> Self {
        let log = settings.log();
        let (cell_log, shifts) = settings.cells(log);
        let max_p = (settings.max_p * ONE) as u32;
        let divisor = (max_p / settings.max.saturating_sub(settings.min).max(1)).max(1);
        let scaled = |threshold: u32| u64::from(threshold) << log;
        let (min, max) = (scaled(settings.min), scaled(settings.max));
        let idle_since = Some(Instant::ZERO);
        Self { min, max, log, max_p, divisor, cell_log, shifts, avg: 0, count: -1, gap: 0, idle_since }
    }

    /// These parameters with the state of `before`. The kernel would forget the state.
    #[must_use]
    pub fn after(self, before: &Self) -> Self {
        let Self { count, gap, idle_since, .. } = *before;
        Self { avg: before.avg >> before.log << self.log, count, gap, idle_since, ..self }
    }

    /// `red_calc_qavg`: updates the average with an arrival at a queue of `q`. The arrival that ends an idle time adds
    /// no sample.
    pub fn average(&mut self, q: u64, now: Instant) {
        self.avg = match self.idle_since.take() {
            None => self.avg.wrapping_add(q.wrapping_sub(self.avg >> self.log)),
            Some(since) => self.decayed(now.since(since).nanos() / 1000),
        };
    }

    /// `red_calc_qavg_from_idle_time`, after `idle` microseconds.
    fn decayed(&self, idle: u64) -> u64 {
        let idle = idle.min(u64::from(255_u32 << self.cell_log));
        let shift = self.shifts[(idle >> self.cell_log) as usize % CELLS];
        if shift > 0 {
            return self.avg >> shift;
        }
        // In cells that do not shift yet, the average falls in proportion to the time, at most to a half.
        let fall = self.avg.wrapping_mul(idle) >> self.cell_log;
        let half = self.avg >> 1;
        if fall < half { self.avg - fall } else { half }
    }

    /// `red_action`, after the average is updated. Draws one number of 32 bits when a gap begins.
    pub fn action(&mut self, rng: &mut Rng) -> Action {
        if self.avg < self.min {
            self.restart();
            Action::Pass
        } else if self.avg >= self.max {
            self.restart();
            Action::Forced
        } else if self.ends_gap(rng) {
            Action::Signal
        } else {
            Action::Pass
        }
    }

    /// Counts an arrival between the thresholds; whether it ends the gap. The next gap then begins.
    pub fn ends_gap(&mut self, rng: &mut Rng) -> bool {
        self.count = self.count.wrapping_add(1);
        let begins = self.count == 0;
        let above = (self.avg - self.min) >> self.log;
        let ends = !begins && above.wrapping_mul(self.count as u64) >= u64::from(self.gap);
        if ends {
            self.count = 0;
        }
        if begins || ends {
            self.gap = rng.bits32() / self.divisor;
        }
        ends
    }

    /// The next arrival between the thresholds begins a gap.
    pub const fn restart(&mut self) {
        self.count = -1;
    }

    /// Whether the average is above min_th.
    pub const fn is_above_min(&self) -> bool {
        self.avg > self.min
    }

    /// Whether the average is above max_th.
    pub const fn is_above_max(&self) -> bool {
        self.avg > self.max
    }

    /// The average in the unit of the queue.
    pub fn avg(&self) -> f64 {
        libm::scalbn(self.avg as f64, -(self.log as i32))
    }

    /// The base probability at the current average, 0 to 1.
    pub fn p(&self) -> f64 {
        if self.avg < self.min {
            return 0.0;
        }
        let part = (self.avg - self.min) as f64 / self.max.saturating_sub(self.min) as f64;
        if self.avg >= self.max { 1.0 } else { part * f64::from(self.max_p) / ONE }
    }

    /// Arrivals between the thresholds since the gap began; -1: none has begun.
    pub fn count(&self) -> f64 {
        f64::from(self.count)
    }
}

impl Aqm for KernelRed {
    /// Idle time begins, unless it has begun.
    fn emptied(&mut self, cx: &mut Cx) {
        self.idle_since.get_or_insert(cx.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::by_hand::us;

    /// Thresholds of 10,000 and 30,000 bytes, packets of 1000 bytes at 10 Mb/s, which take 800 us.
    const TYPICAL: Settings = Settings {
        min: 10_000,
        max: 30_000,
        packet: 1000,
        max_p: 0.02,
        weight: None,
        burst: None,
        mean: Bytes(1000),
        rate: Rate(10_000_000),
    };

    #[test]
    fn numbers_of_tc_match_hand_calculation() {
        let red = KernelRed::new(&TYPICAL);
        // burst = 50,000/3000 = 16; a = 7; n = 2: (1 - 0.75^16) 4 = 3.96; n = 3: (1 - 0.875^16) 8 = 7.06.
        assert_eq!((red.log, red.min, red.max), (3, 80_000, 240_000));
        // 0.02 x 2^32 = 85,899,345.9; over 20,000.
        assert_eq!((red.max_p, red.divisor), (85_899_345, 4294));
        // 800 us are 12,500 ticks: 0.1335/12,500 per tick, 31 after 2,901,879 ticks, which are 354 cells of 2^13.
        assert_eq!((red.cell_log, red.shifts[0], red.shifts[255]), (13, 0, 31));
        // 0.0875 per cell: 1 from cell 12 on, 22 in cell 254.
        assert_eq!((red.shifts[11], red.shifts[12], red.shifts[254]), (0, 1, 22));
        let log = |burst, weight| Settings { burst, weight, ..TYPICAL }.log();
        // 46 + 1 - 10 = 37; (1 - (63/64)^46) 64 = 33.0 and (1 - (127/128)^46) 128 = 38.8: n = 7.
        assert_eq!([log(Some(46), None), log(Some(3), None), log(None, Some(0.002))], [7, log(Some(10), None), 9]);
    }

    #[test]
    fn average_is_a_fixed_point_number() {
        let mut red = KernelRed::new(&TYPICAL);
        red.average(5000, us(0));
        assert_eq!(red.avg, 0, "the arrival that ends the idle time adds no sample");
        red.average(5000, us(1));
        red.average(5000, us(2));
        assert_eq!((red.avg, red.avg()), (5000 + 5000 - 625, 9375.0 / 8.0));
    }

    #[test]
    fn idle_time_shifts_the_average() {
        let after = |idle| KernelRed { avg: 80_000, ..KernelRed::new(&TYPICAL) }.decayed(idle);
        // Each entry of the table stands for 8192 us of idle time. In the first 8192 us the average falls linearly, by
        // avg * idle / 8192, at most by half.
        assert_eq!([after(0), after(1024), after(4095), after(8192 * 12 - 1)], [80_000, 70_000, 40_010, 40_000]);
        assert_eq!([after(8192 * 12), after(8192 * 254), after(u64::MAX)], [40_000, 80_000 >> 22, 80_000 >> 31]);
    }

    #[test]
    fn gap_ends_when_count_times_excess_reaches_it() {
        // An average of 12,000: the excess over min_th is 2000 at every arrival.
        let mut red = KernelRed { avg: 12_000 << 3, gap: 7000, count: 0, ..KernelRed::new(&TYPICAL) };
        let mut rng = Rng::stream(1, "red");
        assert_eq!([0; 4].map(|_| red.action(&mut rng)), [Action::Pass, Action::Pass, Action::Pass, Action::Signal]);
        assert_eq!((red.count, red.gap), (0, Rng::stream(1, "red").bits32() / 4294), "the next gap is drawn");
        let before = Rng::stream(1, "red").bits32() / 4294;
        let mut red = KernelRed { avg: 12_000 << 3, ..KernelRed::new(&TYPICAL) };
        assert_eq!((red.action(&mut Rng::stream(1, "red")), red.count, red.gap), (Action::Pass, 0, before));
    }

    #[test]
    fn thresholds_separate_three_actions() {
        let mut rng = Rng::stream(1, "red");
        let mut at = |avg, count| {
            let mut red = KernelRed { avg, count, gap: u32::MAX, ..KernelRed::new(&TYPICAL) };
            (red.action(&mut rng), red.count, red.is_above_min(), red.is_above_max())
        };
        assert_eq!(at(79_999, 5), (Action::Pass, -1, false, false));
        assert_eq!(at(80_000, 5), (Action::Pass, 6, false, false));
        assert_eq!(at(239_999, 5), (Action::Pass, 6, true, false));
        assert_eq!(at(240_000, 5), (Action::Forced, -1, true, false));
        assert_eq!(at(240_001, 5), (Action::Forced, -1, true, true));
    }
}
