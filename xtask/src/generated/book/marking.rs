//! The book's pictures of the markers, which signal or colour packets in front of a queue: their effect over time.

use forebay_aqm::Spec;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::markers::MarkerEntry;
use forebay_aqm::base::packet::{Colour, Ecn, Packet};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::parts::token_bucket::TokenBucket;
use forebay_lab::record::SeriesRecord;
use forebay_lab::render::svg::{Panel, Svg, WIDTH};

use super::behaviour::{self, SECONDS};

/// Top and bottom of the upper of the two panels of a picture.
const UPPER: (f64, f64) = (30.0, 190.0);
const ORANGE: &str = "#b3541e";
const BLUE: &str = "#1f5f8b";

/// The picture of this marker.
pub(super) fn draw(marker: &MarkerEntry, droptail: &SeriesRecord) -> Result<String, String> {
    match marker.name {
        "th" => threshold(droptail),
        "token-bucket" => Ok(bucket()),
        other => Err(format!("{other} has no picture")),
    }
}

/// Caption of the picture.
pub(super) fn caption(marker: &MarkerEntry) -> &'static str {
    match marker.name {
        "th" => include_str!("../../../templates/th.txt").trim_end(),
        "token-bucket" => include_str!("../../../templates/token-bucket.txt").trim_end(),
        _ => "",
    }
}

/// Steps of the threshold marker: second, threshold from then on as a share of the buffer, colour of its curve.
const STEPS: [(f64, f64, &str); 3] = [(0.0, 0.8, "#3c7a3c"), (5.0, 0.3, ORANGE), (15.0, 0.6, "#7a3c7a")];
/// The buffer of the book's scenario, in packets.
const BUFFER: u32 = 150;

fn threshold(droptail: &SeriesRecord) -> Result<String, String> {
    const LOWER: (f64, f64) = (260.0, 400.0);
    let words: Vec<String> = STEPS.iter().map(|(from, th, _)| format!("{from}s:{th}")).collect();
    let words = format!("droptail th={}", words.join("/").replacen("0s:", "", 1));
    let own = behaviour::series(&words)?;
    let mut out = Svg::new(WIDTH, LOWER.1 + 40.0, &[]);
    let queue = behaviour::queues(&mut out, ("with a threshold", &own), droptail, UPPER);
    let ends = STEPS.iter().skip(1).map(|step| step.0).chain([queue.last]);
    for ((from, th, colour), to) in STEPS.iter().zip(ends) {
        let level = th * f64::from(BUFFER);
        queue.dashes(&mut out, &[(*from, level), (to, level)], colour);
    }
    queue.below(&mut out, &SECONDS, "seconds");
    let buffer = f64::from(BUFFER);
    let share = Panel { edge: LOWER, last: buffer, most: 1.0 };
    share.frame(&mut out, "share of arrivals that are marked or dropped, by the queue in packets");
    for (_, th, colour) in STEPS {
        share.dashes(&mut out, &[(0.0, 0.0), (th * buffer, 0.0), (buffer, 1.0)], colour);
        share.dots(&mut out, &signalled(th)?, colour);
    }
    share.below(&mut out, &[0.0, 50.0, 100.0, 150.0], "packets");
    Ok(out.finish())
}

/// Fewest arrivals at a queue length for which the share of marked or dropped packets is shown.
const ENOUGH: u64 = 400;

/// Drop-tail behind the threshold marker, with traffic that fills and drains the buffer. Returns the share of arrivals
/// that are marked or dropped, by queue length with the arrival (every third); arrivals that do not fit are left out.
fn signalled(th: f64) -> Result<Vec<(f64, f64)>, String> {
    let link = Link { rate: Rate(20_000_000), limit: Limit::Packets(BUFFER), mean_packet: Bytes(1000) };
    let spec = Spec::parse(&format!("droptail th={th}")).map_err(|error| error.to_string())?;
    let mut queue = spec.queue(link, Rng::stream(1, "queue"));
    let mut rng = Rng::stream(1, "arrivals");
    let mut counts = vec![[0_u64; 2]; BUFFER as usize + 1];
    for slot in 0..400_000 {
        let now = Instant::ZERO + Span::from_micros(u64::from(slot));
        // A thousand events in which most are arrivals, and a thousand in which most are departures.
        let load = if slot / 1000 % 2 == 0 { 0.8 } else { 0.4 };
        if rng.uniform() >= load {
            queue.depart(now);
        } else if let Some(count) = counts.get_mut(queue.port.pkts() as usize + 1) {
            let ecn = if rng.uniform() < 0.5 { Ecn::Ect0 } else { Ecn::NotEct };
            count[1] += 1;
            count[0] += u64::from(offer(&mut queue, Packet { slot, len: 1000, ecn, ..Packet::default() }, now));
        }
    }
    let shown = counts.iter().enumerate().filter(|(length, count)| length % 3 == 0 && count[1] >= ENOUGH);
    Ok(shown.map(|(length, [signals, all])| (length as f64, *signals as f64 / *all as f64)).collect())
}

/// Offers a packet that fits. Returns whether it is marked or dropped.
fn offer(queue: &mut Queue<forebay_aqm::AnyDiscipline>, packet: Packet, now: Instant) -> bool {
    let marked = queue.port.tally().marked.pkts;
    queue.arrive(packet, now);
    let dropped = !queue.port.discarded().is_empty();
    queue.port.discarded().clear();
    dropped || queue.port.tally().marked.pkts > marked
}

/// Committed rate and burst (the profile) of the token bucket in its picture; the packet length.
const CIR: Rate = Rate(1_000_000);
const CBS: Bytes = Bytes(200_000);
const PACKET: u32 = 1000;
/// Time in which the source exceeds the profile, s.
const CROWD: (f64, f64) = (10.0, 20.0);
const LAST: f64 = 30.0;
/// Interval over which the picture averages rates, s.
const BIN: f64 = 0.5;

/// The token bucket's input: Mb/s offered and, of these, IN (in the profile) per interval; the tokens at each packet.
struct Coloured {
    offered: Vec<f64>,
    is_in: Vec<f64>,
    tokens: Vec<(f64, f64)>,
}

fn coloured() -> Coloured {
    let (mut bucket, mut rng, mut t) = (TokenBucket::new(CIR, CBS), Rng::stream(1, "arrivals"), 0.0);
    let bins = (LAST / BIN) as usize;
    let mut all =
        Coloured { offered: vec![0.0; bins], is_in: vec![0.0; bins], tokens: vec![(0.0, bucket.level() * 1e-3)] };
    loop {
        let rate = if (CROWD.0..CROWD.1).contains(&t) { 2e6 } else { 0.5e6 };
        t += rng.exponential(f64::from(PACKET) * 8.0 / rate);
        let Some(offered) = all.offered.get_mut((t / BIN) as usize) else { return all };
        let megabits = f64::from(PACKET) * 8e-6 / BIN;
        *offered += megabits;
        if bucket.colour(PACKET, Instant::ZERO + Span::from_secs(t)) == Colour::In {
            all.is_in[(t / BIN) as usize] += megabits;
        }
        all.tokens.push((t, bucket.level() * 1e-3));
    }
}

fn bucket() -> String {
    const LOWER: (f64, f64) = (226.0, 326.0);
    let all = coloured();
    let mut out = Svg::new(WIDTH, LOWER.1 + 40.0, &[]);
    let rates = Panel { edge: UPPER, last: LAST, most: 2.5 };
    rates.band(&mut out, CROWD);
    rates.frame(&mut out, "Mb/s: offered in grey, IN in blue, OUT in orange; cir in dashes");
    let at = |bin: usize| (bin as f64 + 0.5) * BIN;
    let points =
        |of: &dyn Fn(usize) -> f64| (0..all.offered.len()).map(|bin| (at(bin), Some(of(bin)))).collect::<Vec<_>>();
    rates.line(&mut out, points(&|bin| all.offered[bin]).into_iter(), "#c4c4c4");
    rates.line(&mut out, points(&|bin| all.offered[bin] - all.is_in[bin]).into_iter(), ORANGE);
    rates.line(&mut out, points(&|bin| all.is_in[bin]).into_iter(), BLUE);
    let cir = CIR.0 as f64 * 1e-6;
    rates.dashes(&mut out, &[(0.0, cir), (LAST, cir)], "#888");
    let tokens = Panel { edge: LOWER, last: LAST, most: CBS.0 as f64 * 1e-3 };
    tokens.band(&mut out, CROWD);
    tokens.frame(&mut out, "tokens in kB");
    tokens.line(&mut out, all.tokens.iter().map(|(t, level)| (*t, Some(*level))), "#3c7a3c");
    tokens.below(&mut out, &SECONDS, "seconds");
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_aqm::base::markers::MARKERS;

    #[test]
    fn every_marker_has_a_caption() {
        assert!(MARKERS.iter().all(|marker| caption(marker).ends_with('.')));
        let words: Vec<String> = STEPS.iter().map(|(from, th, _)| format!("{from}s:{th}")).collect();
        assert!(caption(&MARKERS[0]).contains(&words.join("/").replacen("0s:", "th=", 1)));
    }

    #[test]
    fn measured_signal_shares_follow_formula_of_threshold_marker() {
        for (_, th, _) in STEPS {
            let shares = signalled(th).unwrap();
            let d = |x: f64| ((x / f64::from(BUFFER) - th) / (1.0 - th)).max(0.0);
            assert!(shares.iter().all(|(length, share)| (share - d(*length)).abs() < 0.1), "{th}: {shares:?}");
            assert!(shares.len() > 30 && shares.iter().any(|(_, share)| *share > 0.9), "{th}: {shares:?}");
        }
    }

    #[test]
    fn in_profile_packets_match_token_rate_and_burst() {
        let all = coloured();
        let sum = |rates: &[f64]| rates.iter().sum::<f64>() * BIN;
        let crowd = (CROWD.0 / BIN) as usize..(CROWD.1 / BIN) as usize;
        let (is_in, out) = (sum(&all.is_in[crowd.clone()]), sum(&all.offered) - sum(&all.is_in));
        assert!((is_in - 11.6).abs() < 0.05 && out > 5.0, "{is_in} {out}: 10 s of 1 Mb/s, and 1.6 Mb of burst");
        assert!(all.tokens.iter().all(|(_, level)| (0.0..=200.0).contains(level)));
    }
}
