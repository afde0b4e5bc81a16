//! Words that tc(8) has for DualPI2, and that mean something only together (iproute2, tc/q_dualpi2.c).

use alloc::format;
use alloc::vec::Vec;

use crate::base::params::{ParamError, Value};
use crate::base::tc::{Setting, Typed, micros};
use crate::base::text;
use crate::base::time::Span;

/// Each of the two round trips gives the other, and both give PI its values, whatever else is said of those.
pub fn round_trips(all: &[Typed]) -> Result<Vec<Setting>, ParamError> {
    let [most, typical] = ["max_rtt", "typical_rtt"].map(|word| Typed::find(all, word));
    let time = |typed: &Typed, times: f64| match text::span(&micros(&typed.value)) {
        Ok(time) => Ok(Span::from_secs(time.secs() * times)),
        Err(bad) => Err(typed.wrong(bad.accepts, bad.hint)),
    };
    let (rtt_max, target, said) = match (most, typical) {
        (Some(most), Some(typical)) => (time(most, 1.0)?, time(typical, 1.0)?, [most, typical]),
        (Some(one), None) => (time(one, 1.0)?, time(one, 1.0 / 6.0)?, [one, one]),
        (None, Some(one)) => (time(one, 6.0)?, time(one, 1.0)?, [one, one]),
        (None, None) => return Ok(Vec::new()),
    };
    if target > rtt_max {
        return Err(said[1].wrong("a time of at most max_rtt", None));
    }
    let times =
        [said[0].sets(format!("rtt_max={}", rtt_max.show())), said[1].sets(format!("target={}", target.show()))];
    Ok(times.into_iter().chain(["tupdate=auto", "alpha=auto", "beta=auto"].map(Setting::new)).collect())
}

/// A step in time, or in packets that are left behind when one leaves; and packets without which there is none.
pub fn step(all: &[Typed]) -> Result<Vec<Setting>, ParamError> {
    let (least, thresh) = (Typed::find(all, "min_qlen_step"), Typed::find(all, "step_thresh"));
    let count = |typed: &Typed| {
        let packets = typed.value.strip_suffix('p').unwrap_or(&typed.value).parse::<u32>();
        packets.map_err(|_| typed.wrong("a number of packets", None))
    };
    let most_exempt = least.map_or(Ok(0), count)?;
    let mut out: Vec<Setting> = least.map(|typed| typed.sets(format!("th_len={most_exempt}"))).into_iter().collect();
    let Some(thresh) = thresh else { return Ok(out) };
    let number = thresh.value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    match (&thresh.value[number.len()..], number.parse::<u32>()) {
        ("p" | "pkt" | "pkts" | "packet" | "packets", Ok(packets)) => {
            let exempt = packets.saturating_add(1).max(most_exempt);
            out.extend(["min_th=0s".into(), format!("th_len={exempt}")].map(|text| thresh.sets(text)));
        }
        _ => out.push(thresh.sets(format!("min_th={}", micros(&thresh.value)))),
    }
    Ok(out)
}
