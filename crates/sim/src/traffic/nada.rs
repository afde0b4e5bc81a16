//! NADA (RFC 8698), a congestion control of video over RTP. The receiver computes one signal, `x_curr`, from queuing
//! delay, losses and marks. The sender sets its rate by it. Names, equations and sections are those of the RFC.
//!
//! Deviations:
//! 1. `loss_int` leaves out the interval since the last loss. With it, as RFC 5348 section 5.4 has it, a loss would
//!    never expire: that interval has the weight 1 of at most 6, so `loss_exp` = 7 `loss_int` would exceed it always.
//! 2. Each gap in the numbers is a loss event. RFC 5348 section 5.2 joins the gaps of one round trip, which the receiver
//!    of NADA does not know.
//! 3. The RFC does not say whether rates include headers. Here all do: 40 bytes per packet of IP, UDP and RTP.
//!
//! ns3-rmcat, an implementation of the authors, differs from the RFC in two points where this one does not: it smooths the
//! ratios of losses once per report, and it limits `x_curr` to 500 ms. Here the ratios are smoothed with each packet
//! (section 4.2), and the format of the report limits `x_curr` to 3.28 s (section 5.3).

use std::collections::VecDeque;

use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;

/// Parameters of a flow (section 4.1, table of the parameters).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Nada {
    /// PRIO: weight of the flow.
    pub prio: f64,
    /// RMIN: minimum rate of the encoder, and its first rate.
    pub rmin: Rate,
    /// RMAX: maximum rate of the encoder.
    pub rmax: Rate,
    /// XREF: reference congestion level.
    pub xref: Span,
    /// FPS: frames per second.
    pub fps: f64,
}

impl Nada {
    /// Are the rates and times above 0, the rates in order, and the frames at most 1000 in a second?
    pub fn is_sound(&self) -> bool {
        let positive = self.prio > 0.0 && self.rmin.0 > 0 && self.xref > Span::ZERO;
        positive && self.rmin <= self.rmax && self.fps > 0.0 && self.fps <= 1000.0
    }
}

impl Default for Nada {
    /// The defaults of the RFC.
    fn default() -> Self {
        Self { prio: 1.0, rmin: Rate(150_000), rmax: Rate(1_500_000), xref: Span::from_millis(10), fps: 30.0 }
    }
}

// The other parameters of the same table; times in seconds if they are f64.
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU: f64 = 0.5;
const LOGWIN: Span = Span::from_millis(500);
const QEPS: Span = Span::from_millis(10);
const DFILT: f64 = 0.12;
const GAMMA_MAX: f64 = 0.5;
const QBOUND: f64 = 0.05;
const MULTILOSS: f64 = 7.0;
const QTH: f64 = 0.05;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const PMRREF: f64 = 0.01;
const DLOSS: f64 = 0.01;
const DMARK: f64 = 0.002;
const BETA_S: f64 = 0.1;
const BETA_V: f64 = 0.1;
const ALPHA: f64 = 0.1;
/// Taps of the minimum filter of the queuing delay (section 5.1.1).
const TAPS: usize = 15;
/// Weights of the loss intervals, newest first (RFC 5348 section 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// When it was sent.
    pub(crate) sent: Instant,
    /// When it arrived.
    pub(crate) at: Instant,
    /// Its number.
    pub(crate) seq: u32,
    /// Its length on the wire in bytes.
    pub(crate) len: u16,
    /// Has it CE?
    pub(crate) marked: bool,
}

impl Packet {
    /// One-way delay.
    fn d_fwd(&self) -> Span {
        self.at.since(self.sent)
    }
}

/// How the sender is to update its rate (`rmode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// 0: accelerated ramp-up.
    RampUp,
    /// 1: gradual update.
    Gradual,
}

/// What a report contains, in the units of section 5.3. `x_curr` has 15 bits there. The times are those of a report
/// block of RTCP (LSR and DLSR of RFC 3550 section 6.4.1), from which the sender computes its round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Feedback {
    rmode: Mode,
    /// Aggregate congestion signal in units of 100 us.
    x_curr: u16,
    /// Receiving rate in bit/s.
    r_recv: u32,
    /// When the packet that arrived last was sent.
    last_sent: Instant,
    /// Time from its arrival to the report.
    since_last: Span,
}

/// Unit of `x_curr` in a report in seconds, and its maximum there.
const X_UNIT: f64 = 1e-4;
const X_MOST: f64 = ((1 << 15) - 1) as f64;

/// Equation (1): non-linear warping of the queuing delay, in seconds. It applies only after a recent loss.
fn d_tilde(d_queue: f64) -> f64 {
    if d_queue < QTH { d_queue } else { QTH * libm::exp(-LAMBDA * (d_queue - QTH) / QTH) }
}

/// Equation (2): aggregate congestion signal, in seconds.
fn x_curr(d_tilde: f64, p_mark: f64, p_loss: f64) -> f64 {
    let (marks, losses) = (p_mark / PMRREF, p_loss / PLRREF);
    d_tilde + DMARK * marks * marks + DLOSS * losses * losses
}

/// Equation (3): rate increase multiplier of the accelerated ramp-up. Times in seconds.
fn gamma(rtt: f64, delta: f64) -> f64 {
    GAMMA_MAX.min(QBOUND / (rtt + delta + DFILT))
}

/// Equation (10): exponential smoothing of a ratio.
fn smooth(p: f64, p_inst: f64) -> f64 {
    ALPHA * p_inst + (1.0 - ALPHA) * p
}

/// Numbers of packets from one loss event to the next (section 4.2, RFC 5348 section 5).
#[derive(Default)]
struct LossIntervals {
    /// Packets since the last loss event began.
    since: u32,
    /// Complete intervals, newest first, at most as many as weights. The first one begins with the first packet.
    complete: VecDeque<u32>,
}

impl LossIntervals {
    /// A packet has arrived, after `missing` lost ones.
    fn receive(&mut self, missing: u32) {
        if missing > 0 {
            self.complete.truncate(WEIGHTS.len() - 1);
            self.complete.push_front(core::mem::take(&mut self.since));
        }
        self.since = self.since.saturating_add(missing).saturating_add(1);
    }

    /// `loss_int`: weighted mean of the complete intervals. `None` before the first loss.
    fn loss_int(&self) -> Option<f64> {
        let sum: f64 = WEIGHTS.iter().zip(&self.complete).map(|(weight, packets)| weight * f64::from(*packets)).sum();
        let all: f64 = WEIGHTS.iter().take(self.complete.len()).sum();
        (all > 0.0).then(|| sum / all)
    }

    /// Is the last loss within its expiration threshold `loss_exp`?
    fn is_recent(&self) -> bool {
        self.loss_int().is_some_and(|loss_int| f64::from(self.since) <= MULTILOSS * loss_int)
    }
}

/// The receiving end (section 4.2).
pub(crate) struct Receiver {
    /// Baseline delay. `None` before the first packet.
    d_base: Option<Span>,
    /// One-way delays of the last [`TAPS`] packets.
    taps: VecDeque<Span>,
    /// Packets of the last [`LOGWIN`], oldest first.
    log: VecDeque<Packet>,
    /// Bytes and marked packets in the log.
    bytes: u64,
    marked: u32,
    p_loss: f64,
    p_mark: f64,
    losses: LossIntervals,
    /// The packet that arrived last.
    last: Option<Packet>,
}

impl Receiver {
    pub(crate) fn new() -> Self {
        Self {
            d_base: None,
            taps: VecDeque::with_capacity(TAPS),
            log: VecDeque::new(),
            bytes: 0,
            marked: 0,
            p_loss: 0.0,
            p_mark: 0.0,
            losses: LossIntervals::default(),
            last: None,
        }
    }

    /// A packet has arrived. A packet out of order is discarded and remains lost (section 5.1.2).
    pub(crate) fn receive(&mut self, packet: Packet) {
        let missing = match self.last {
            Some(last) if packet.seq <= last.seq => return,
            Some(last) => packet.seq - last.seq - 1,
            None => 0,
        };
        let d_fwd = packet.d_fwd();
        self.d_base = Some(self.d_base.map_or(d_fwd, |d_base| d_base.min(d_fwd)));
        self.taps.truncate(TAPS - 1);
        self.taps.push_front(d_fwd);
        self.losses.receive(missing);
        self.last = Some(packet);
        self.log.push_back(packet);
        self.bytes += u64::from(packet.len);
        self.marked += u32::from(packet.marked);
        self.forget(packet.at);
        // Number of packets sent while those in the log were sent.
        let all = f64::from(packet.seq - self.log.front().map_or(packet.seq, |first| first.seq) + 1);
        self.p_loss = smooth(self.p_loss, 1.0 - self.log.len() as f64 / all);
        self.p_mark = smooth(self.p_mark, f64::from(self.marked) / all);
    }

    /// Removes packets that are older than the window from the log.
    fn forget(&mut self, now: Instant) {
        while let Some(old) = self.log.front().copied().filter(|packet| packet.at + LOGWIN <= now) {
            self.bytes -= u64::from(old.len);
            self.marked -= u32::from(old.marked);
            self.log.pop_front();
        }
    }

    /// Queuing delay after the minimum filter, in seconds (section 5.1.1).
    fn d_queue(&self) -> f64 {
        let least = self.taps.iter().min().copied().unwrap_or(Span::ZERO);
        least.secs() - self.d_base.unwrap_or(Span::ZERO).secs()
    }

    /// Recommended mode: accelerated ramp-up if no packet was lost and no queue built up in the window.
    fn rmode(&self) -> Mode {
        let lost = match (self.log.front(), self.log.back()) {
            (Some(first), Some(last)) => (last.seq - first.seq) as usize + 1 > self.log.len(),
            _ => false,
        };
        let d_base = self.d_base.unwrap_or(Span::ZERO);
        let queued = self.log.iter().any(|packet| packet.d_fwd() >= d_base + QEPS);
        if lost || queued { Mode::Gradual } else { Mode::RampUp }
    }

    /// The report due at `now`. `None` before the first packet.
    pub(crate) fn report(&mut self, now: Instant) -> Option<Feedback> {
        let last = self.last?;
        self.forget(now);
        let d_queue = self.d_queue();
        let delay = if self.losses.is_recent() { d_tilde(d_queue) } else { d_queue };
        let x_curr = libm::round(x_curr(delay, self.p_mark, self.p_loss) / X_UNIT).min(X_MOST);
        let r_recv = 8.0 * self.bytes as f64 / LOGWIN.secs();
        Some(Feedback {
            rmode: self.rmode(),
            x_curr: x_curr as u16,
            r_recv: r_recv.min(f64::from(u32::MAX)) as u32,
            last_sent: last.sent,
            since_last: now.since(last.at),
        })
    }
}

/// The sending end (section 4.3). Rates in bit/s, times in seconds.
pub(crate) struct Sender {
    nada: Nada,
    /// DELTA: target interval of reports.
    delta: f64,
    /// Reference rate.
    r_ref: f64,
    x_prev: f64,
    t_last: Instant,
}

impl Sender {
    /// A sender before its start; `delta`: interval of reports.
    pub(crate) const fn new(nada: Nada, delta: Span) -> Self {
        let r_ref = nada.rmin.0 as f64;
        Self { nada, delta: delta.nanos() as f64 * 1e-9, r_ref, x_prev: 0.0, t_last: Instant::ZERO }
    }

    pub(crate) const fn start(&mut self, now: Instant) {
        self.t_last = now;
    }

    /// A report has arrived: updates the reference rate.
    pub(crate) fn on_report(&mut self, t_curr: Instant, report: Feedback) {
        let rtt = t_curr.since(report.last_sent + report.since_last).secs();
        let delta = t_curr.since(self.t_last).secs();
        let x_curr = f64::from(report.x_curr) * X_UNIT;
        let r_ref = match report.rmode {
            Mode::RampUp => self.accelerated(f64::from(report.r_recv), rtt),
            Mode::Gradual => self.gradual(x_curr, delta),
        };
        // Equations (8) and (9).
        self.r_ref = r_ref.min(self.nada.rmax.0 as f64).max(self.nada.rmin.0 as f64);
        self.x_prev = x_curr;
        self.t_last = t_curr;
    }

    /// Equation (4).
    fn accelerated(&self, r_recv: f64, rtt: f64) -> f64 {
        self.r_ref.max((1.0 + gamma(rtt, self.delta)) * r_recv)
    }

    /// Equations (5) to (7).
    fn gradual(&self, x_curr: f64, delta: f64) -> f64 {
        let Nada { prio, rmax, xref, .. } = self.nada;
        let x_offset = x_curr - prio * xref.secs() * rmax.0 as f64 / self.r_ref;
        let x_diff = x_curr - self.x_prev;
        let change = KAPPA * (delta / TAU) * (x_offset / TAU) + KAPPA * ETA * x_diff / TAU;
        self.r_ref - change * self.r_ref
    }

    /// Equation (11): target rate of the encoder; `buffer_len`: bytes in the rate shaping buffer.
    pub(crate) fn r_vin(&self, buffer_len: u64) -> f64 {
        (self.r_ref - BETA_V * self.drain(buffer_len)).max(self.nada.rmin.0 as f64)
    }

    /// Equation (12): rate at which packets leave the rate shaping buffer.
    pub(crate) fn r_send(&self, buffer_len: u64) -> f64 {
        (self.r_ref + BETA_S * self.drain(buffer_len)).min(self.nada.rmax.0 as f64)
    }

    /// Rate that drains the buffer within a frame interval.
    fn drain(&self, buffer_len: u64) -> f64 {
        8.0 * buffer_len as f64 * self.nada.fps
    }
}

#[cfg(test)]
mod tests;
