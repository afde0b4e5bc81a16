//! Runs `validation/proofs/prove.py`: proofs about arithmetic with the solver z3, and the comparison of its models with the
//! code on random inputs.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use forebay_aqm::aqm::codel;
use forebay_aqm::base::packet::Colour;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Rate};
use forebay_aqm::law::raqm;
use forebay_aqm::parts::delay_pi::{Base, Gains};
use forebay_aqm::parts::token_bucket::TokenBucket;

use crate::skips::skip;

/// Random inputs for each model.
const VECTORS: usize = 2000;
/// Token units per byte in the code.
const TOKENS_OF_BYTE: u64 = 8_000_000_000;

/// A double as the hexadecimal digits of its bits.
fn bits(value: f64) -> String {
    format!("{:016x}", value.to_bits())
}

/// Numbers from 1 to `most`, evenly spread over the orders of magnitude.
fn spread(rng: &mut Rng, most: f64) -> u64 {
    most.powf(rng.uniform()) as u64
}

/// A bucket that has lost the tokens of one packet, and then sees a second one.
fn token_bucket(rng: &mut Rng) -> Option<String> {
    let (burst, rate) = (spread(rng, 1e5), spread(rng, 1e12));
    let (first, second) = (rng.below(burst + 1), spread(rng, 2e5) as u32);
    let elapsed = spread(rng, 1e13);
    let mut bucket = TokenBucket::new(Rate(rate), Bytes(burst));
    let is_in = |colour: Colour| u8::from(colour == Colour::In);
    (is_in(bucket.colour(first as u32, Instant::ZERO)) == 1).then_some(())?;
    let (size, tokens) = (burst * TOKENS_OF_BYTE, (burst - first) * TOKENS_OF_BYTE);
    let colour = bucket.colour(second, Instant::from_nanos(elapsed));
    Some(format!("{size} {tokens} {elapsed} {rate} {second} | {} {}", bucket.level() as u64, is_in(colour)))
}

fn time_for(rng: &mut Rng) -> Option<String> {
    let (rate, length) = (spread(rng, 1e15), spread(rng, 2e9) as u32);
    Some(format!("{rate} {length} | {}", Rate(rate).time_for(length).nanos()))
}

fn codel_gap(rng: &mut Rng) -> Option<String> {
    let (interval, count) = (spread(rng, 1e12), spread(rng, 4e9) as u32);
    Some(format!("{interval} {count} | {}", codel::gap(Span::from_nanos(interval), count).nanos()))
}

fn delay_pi(rng: &mut Rng) -> Option<String> {
    let target = Span::from_nanos(spread(rng, 1e9));
    let (alpha, beta, most) = (10.0 * rng.uniform(), 10.0 * rng.uniform(), rng.uniform());
    let mut base = Base::new(Gains::new(target, alpha, beta), most);
    base.update(rng.uniform());
    let (p, before, delay) = (base.p(), base.delay(), rng.uniform());
    base.update(delay);
    let inputs = [p, before, delay, target.secs(), alpha, beta, most].map(bits).join(" ");
    Some(format!("{inputs} | {}", bits(base.p())))
}

fn raqm(rng: &mut Rng) -> Option<String> {
    let (p, p_min) = (rng.uniform(), 0.01 * rng.uniform());
    let (m, x) = (10.0 * rng.uniform(), 3.0 * rng.uniform());
    let factor = libm::exp((m * (x - 1.0)).clamp(-5.0, 5.0));
    Some(format!("{} | {}", [p, factor, p_min].map(bits).join(" "), bits(raqm::step(p, m, x, p_min))))
}

/// The vectors of all models as text.
fn vectors() -> String {
    type Model = fn(&mut Rng) -> Option<String>;
    let models: [(&str, Model); 5] = [
        ("token_bucket", token_bucket),
        ("time_for", time_for),
        ("codel_gap", codel_gap),
        ("delay_pi", delay_pi),
        ("raqm", raqm),
    ];
    let mut text = String::new();
    for (name, model) in models {
        let mut rng = Rng::stream(1, name);
        let made: Vec<String> = std::iter::repeat_with(|| model(&mut rng)).flatten().take(VECTORS).collect();
        for vector in made {
            let _ = writeln!(text, "{name} | {vector}");
        }
    }
    text
}

/// A Python with z3: that of `.ci/run`, or the machine's.
fn python() -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    [target.join("ci/python/bin/python"), PathBuf::from("python3")].into_iter().find(|python| {
        let mut command = Command::new(python);
        command.args(["-c", "import z3"]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The output of the script with these vectors, and whether it succeeded.
fn prove(python: &Path, vectors: &str) -> (String, bool) {
    let mut command = Command::new(python);
    command.arg(root().join("validation/proofs/prove.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(vectors.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.success())
}

#[test]
fn proofs_hold_for_models_that_match_code() {
    let Some(python) = python() else { return skip("python3 has no z3: pip install z3-solver") };
    let vectors = vectors();
    let (said, is_right) = prove(&python, &vectors);
    assert!(is_right, "{said}");
    let count = |word: &str| said.lines().filter(|line| line.starts_with(word)).count();
    assert_eq!([count("proved "), count("found "), count("agrees ")], [11, 7, 5], "{said}");
    // A result that is wrong by one bit or by one.
    let last = vectors.lines().find(|line| line.starts_with("time_for")).unwrap();
    let (said, is_right) = prove(&python, &format!("{last}0\n"));
    assert!(!is_right && said.contains("DIFFERS time_for"), "{said}");
}
