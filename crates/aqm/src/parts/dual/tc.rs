//! tc(8) arguments of DualPI2 that are evaluated together (iproute2, tc/q_dualpi2.c).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::base::params::ParamError;
use crate::base::tc::{Lookup, Setting, Typed, time};

/// tc's ratio of max_rtt to typical_rtt if only one is given.
const TYPICAL_PART: f64 = 6.0;
/// Smallest gain in Hz: the kernel rounds smaller ones to 0, and tc rejects them.
const MIN_GAIN: f64 = 1.0 / 256.0;
const MICROS: f64 = 1e6;

/// The settings from tc's step and RTT arguments.
pub fn together(all: &[Typed]) -> Result<Vec<Setting>, ParamError> {
    let mut out = step(all);
    out.extend(round_trips(all)?);
    Ok(out)
}

/// The settings from max_rtt and typical_rtt. Either implies the other. They override target, tupdate, alpha and beta.
fn round_trips(all: &[Typed]) -> Result<Vec<Setting>, ParamError> {
    let [most, typical] =
        ["max_rtt", "typical_rtt"].map(|word| Typed::find(all, word).filter(|typed| typed.number > 0.0));
    let (rtt_max, target, said) = match (most, typical) {
        (Some(most), Some(typical)) => (most.number, typical.number, [most, typical]),
        (Some(one), None) => (one.number, libm::floor(one.number / TYPICAL_PART).max(1.0), [one, one]),
        (None, Some(one)) => (one.number * TYPICAL_PART, one.number, [one, one]),
        (None, None) => return Ok(Vec::new()),
    };
    if target > rtt_max {
        return Err(said[1].wrong("a time of at most max_rtt", None));
    }
    // RFC 9332 Figure 2.
    let (alpha, beta) = (0.1 * target.min(rtt_max / 3.0) / rtt_max * MICROS / rtt_max, 0.3 * MICROS / rtt_max);
    if alpha.min(beta) < MIN_GAIN {
        let hint =
            format!("it makes alpha {alpha:.5} and beta {beta:.5} Hz, which the kernel rounds to less than 1/256");
        return Err(said[0].wrong("shorter round trips", Some(hint)));
    }
    let times = [said[0].sets(format!("rtt_max={rtt_max}us")), said[1].sets(format!("target={target}us"))];
    Ok(times.into_iter().chain(["tupdate=auto", "alpha=auto", "beta=auto"].map(Setting::new)).collect())
}

/// The settings from step_thresh and min_qlen_step. step_thresh is a time, or a number of packets that remain in the
/// queue after a departure.
fn step(all: &[Typed]) -> Vec<Setting> {
    let (least, thresh) = (Typed::find(all, "min_qlen_step"), Typed::find(all, "step_thresh"));
    let most_exempt = least.map_or(0, |typed| typed.number as u32);
    let mut out: Vec<Setting> = least.map(|typed| typed.sets(format!("th_len={most_exempt}"))).into_iter().collect();
    let Some(thresh) = thresh.filter(|typed| typed.number > 0.0) else { return out };
    match thresh.packets() {
        Some(packets) => {
            let exempt = packets.saturating_add(1).max(most_exempt);
            out.extend(["min_th=0s".into(), format!("th_len={exempt}")].map(|text| thresh.sets(text)));
        }
        None => out.push(thresh.sets(format!("min_th={}us", thresh.number))),
    }
    out
}
/// The arguments for the step of the L queue.
pub fn late(now: Lookup, usual: Lookup) -> Vec<String> {
    let changed = |key: &str| now(key).filter(|value| usual(key).as_ref() != Some(value));
    let step = changed("min_th").and_then(|value| time(&value)).map(|value| format!("step_thresh {value}"));
    let least = changed("th_len").map(|packets| format!("min_qlen_step {packets}"));
    step.into_iter().chain(least).collect()
}
