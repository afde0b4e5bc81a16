//! Checks of a TCP sender's state in scripts, which test one end of a connection.

use forebay_aqm::base::text::show_span;
use forebay_aqm::base::time::Span;

use super::ends::Stage;
use super::words::span;

const WORDS: [&str; 22] = [
    "cwnd",
    "ssthresh",
    "in_flight",
    "acknowledged",
    "sent",
    "retransmitted",
    "fast_retransmits",
    "timeouts",
    "ecn_cuts",
    "alpha",
    "phase",
    "bandwidth",
    "pacing_gain",
    "min_rtt",
    "longest_queue",
    "rto",
    "srtt",
    "deadline",
    "state",
    "reported",
    "lost",
    "repeated",
];

/// Runs the check `WORD VALUE`; `false`: the line is not a check.
pub(crate) fn check(stage: &mut Stage, word: &str, values: &[&str]) -> Result<bool, String> {
    let now = stage.now;
    let longest = stage.path.as_ref().map(|path| f64::from(path.longest_queue()));
    if !WORDS.contains(&word) {
        return Ok(false);
    }
    let [wanted] = values else { return Err(format!("{word} is asked for one value")) };
    let sender = stage.sender()?;
    let counts = sender.counts();
    let model = sender.path_model();
    let no_model = || format!("this sender has no {word}");
    if word == "phase" {
        let phase = model.ok_or_else(no_model)?.phase;
        return if phase == *wanted { Ok(true) } else { Err(format!("phase is {phase}, not {wanted}")) };
    }
    if word == "state" {
        let state = format!("{:?}", sender.state()).to_lowercase();
        return if state == *wanted { Ok(true) } else { Err(format!("state is {state}, not {wanted}")) };
    }
    let outstanding = sender.outstanding();
    let number = match word {
        "reported" => Some(f64::from(outstanding.reported)),
        "lost" => Some(f64::from(outstanding.lost)),
        "repeated" => Some(f64::from(outstanding.repeated)),
        "cwnd" => Some(sender.cwnd()),
        "ssthresh" => Some(sender.ssthresh()),
        "in_flight" => Some(f64::from(sender.in_flight())),
        "acknowledged" => Some(f64::from(sender.acknowledged())),
        "sent" => Some(counts.sent as f64),
        "retransmitted" => Some(counts.retransmitted as f64),
        "fast_retransmits" => Some(counts.fast_retransmits as f64),
        "timeouts" => Some(counts.timeouts as f64),
        "ecn_cuts" => Some(counts.ecn_cuts as f64),
        "longest_queue" => Some(longest.ok_or("no path yet")?),
        "bandwidth" => Some(model.ok_or_else(no_model)?.bandwidth),
        "pacing_gain" => Some(model.ok_or_else(no_model)?.pacing_gain),
        "alpha" => Some(sender.marked_share().ok_or("this sender has no alpha")?),
        _ => None,
    };
    if let Some(number) = number {
        return near(word, number, wanted).map(|()| true);
    }
    let time = match word {
        "rto" => Some(sender.rtt().timeout()),
        "srtt" => Some(sender.rtt().smoothed()),
        "min_rtt" => model.ok_or_else(no_model)?.min_rtt,
        "deadline" => sender.deadline().map(|at| at.since(now)),
        _ => return Ok(false),
    };
    same_time(word, time, wanted).map(|()| true)
}

fn same_time(word: &str, time: Option<Span>, wanted: &str) -> Result<(), String> {
    let wanted_time = if wanted == "none" { None } else { Some(span(wanted)?) };
    let shown = time.map_or("none".to_string(), show_span);
    if time == wanted_time { Ok(()) } else { Err(format!("{word} is {shown}, not {wanted}")) }
}

/// Compares with `5` or `5.2` (exact, except for rounding), `~5.2` (to the digits given) or `3..4` (between the two).
fn near(word: &str, number: f64, wanted: &str) -> Result<(), String> {
    let parse = |text: &str| text.parse::<f64>().map_err(|_| format!("not a number: {text}"));
    let holds = if let Some((low, high)) = wanted.split_once("..") {
        (parse(low)?..=parse(high)?).contains(&number)
    } else if let Some(rounded) = wanted.strip_prefix('~') {
        let digits = rounded.split_once('.').map_or(0, |(_, digits)| digits.len());
        (number - parse(rounded)?).abs() <= 0.5 * 0.1f64.powi(digits as i32) + 1e-9
    } else {
        number == parse(wanted)? || (number - parse(wanted)?).abs() < 1e-9
    };
    if holds { Ok(()) } else { Err(format!("{word} is {number}, not {wanted}")) }
}
