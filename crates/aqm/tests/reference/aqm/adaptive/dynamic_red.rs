//! Adaptive RED with dynamic thresholds of the RED+Tail paper (section V), on one queue. The transcribed listing is in
//! `shared/adaptive_red.rs`.

use crate::reference::aqm::red::Clock;
use crate::reference::harness::*;
use crate::reference::shared::adaptive_red::{Adaptive, BRANCHES, Settings};

struct DynamicRed {
    net: Net,
    buffer: Buffer,
    seen: Seen,
    red: Adaptive,
    /// Scale of the average probability. Spacing divides by up to 0, which amplifies rounding.
    scale: f64,
}

impl Listing for DynamicRed {
    usual!(seen, backlog = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        let verdict = self.red.verdict(&self.buffer, now, u, &mut self.seen);
        let outcome = match verdict {
            Some(true) if !self.buffer.full(&self.net, &pkt) => Outcome::Early,
            _ => self.buffer.finish(&self.net, pkt, verdict.is_some()),
        };
        if outcome != Outcome::Queued {
            self.red.count = 0;
        }
        outcome
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let departure = self.buffer.plain_deque();
        if departure.sent.is_none() {
            self.red.emptied(now);
        }
        departure
    }

    fn next_timer(&self) -> Option<u64> {
        self.red.next_timer()
    }

    fn timer(&mut self) {
        self.red.timer(&mut self.seen);
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![
            ("avg", self.red.v_ave, self.red.th_max),
            ("p", self.red.p_bar, self.scale),
            ("min_th", self.red.th_min, self.red.th_max),
            ("max_p", self.red.cur_max_p, 1.0),
            ("p_b", self.red.v_prob1, 0.01),
        ]
    }
}

fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let (net, unit) = (trace.net, dice.pick(&UNITS));
    let room = net.room(unit);
    let th_min = dice.between(0.02, 0.2) * room;
    let th_max = (dice.between(0.21, 0.6) * room).max(1.0);
    let (clock_word, clock) = dice.pick(&[("arrival", Clock::Step), ("timer", Clock::Timer)]);
    // P_U below P_max.
    let max_p = dice.pick(&[0.02, 0.1, 0.4]);
    let p_u = max_p * dice.scale(0.05, 0.95);
    let set = Settings {
        gamma: dice.pick(&[0.05, 0.2]),
        w_p: dice.scale(0.005, 1.0),
        applied: dice.odds(0.5),
        alpha: dice.pick(&[0.01, 0.1]),
        beta: dice.pick(&[0.9, 0.5]),
        max_p,
        w_q: if dice.odds(0.4) { 0.0 } else { dice.scale(1e-3, 1.0) },
        interval: dice.pick(&[50, 500]) * MS + 12_345,
        clock,
        ..Settings::usual(unit, (th_min, th_max), (p_u * dice.scale(0.01, 1.0), p_u))
    };
    let words = format!(
        "min_th={} max_th={} p_l={} p_u={} gamma={} w_p={} p_of={} interval={}ns clock={clock_word} alpha={} beta={} \
         max_p={} w_q={}",
        depth(th_min, unit),
        depth(th_max, unit),
        set.p_l,
        set.p_u,
        set.gamma,
        set.w_p,
        if set.applied { "applied" } else { "base" },
        set.interval,
        set.alpha,
        set.beta,
        set.max_p,
        if set.w_q == 0.0 { "auto".to_string() } else { set.w_q.to_string() },
    );
    let (buffer, seen) = Default::default();
    let scale = if set.applied { 1.0 } else { 0.01 };
    (words, Box::new(DynamicRed { net, buffer, seen, red: Adaptive::new(net, set), scale }))
}

#[test]
fn dynamic_red_handles_packets_as_red_tail_paper() {
    differ("dynamic_red", case, &BRANCHES);
}
