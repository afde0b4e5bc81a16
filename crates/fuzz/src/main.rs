//! `forebay-fuzz TARGET... --secs N`: runs fuzz targets on mutations of a corpus, without coverage, on stable Rust.
//!
//! Every run uses a new seed and prints it; `--seed N` repeats the inputs of that run in the same order.
//! `forebay-fuzz TARGET --file FILE` runs the target once. After a panic, or an input that takes too long, the program
//! saves the input and exits.

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use forebay_aqm::base::rng::Rng;
use forebay_fuzz::{TARGETS, Target, target};

/// Maximum length of a generated input in bytes.
const MAX_LENGTH: usize = 4096;
/// Numbers at the limits of arithmetic.
const ENDS: [&str; 8] = ["0", "-1", "1e308", "1e-320", "18446744073709551615", "4294967296", "0.1", "999999999999"];

/// An input that takes longer is a finding too; the slowest of the corpus take less than a second.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of the timeout check.
const POLL: Duration = Duration::from_secs(1);

/// The current input and its start time, for the panic hook and the timeout check.
static TRIED: Mutex<Option<(Instant, Vec<u8>)>> = Mutex::new(None);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
    let names: Vec<&String> = words.iter().take_while(|word| !word.starts_with("--")).collect();
    let targets: Vec<&Target> = names.iter().filter_map(|name| target(name)).collect();
    let secs = option("--secs").map_or(Some(10), |secs| secs.parse().ok());
    let seed = option("--seed").map_or_else(|| Some(clock_seed()), |seed| seed.parse().ok());
    let (Some(secs), Some(seed), true) = (secs, seed, !targets.is_empty() && targets.len() == names.len()) else {
        let all: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("usage: forebay-fuzz TARGET... [--secs N] [--seed N] [--file FILE]; targets: {}", all.join(", "));
        return ExitCode::from(2);
    };
    if let Some(file) = option("--file") {
        return match fs::read(file) {
            Ok(bytes) => {
                targets.iter().for_each(|target| (target.run)(&bytes));
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("error: {file}: {error}");
                ExitCode::from(2)
            }
        };
    }
    save_input_on_panic();
    thread::spawn(exit_on_timeout);
    println!("seed {seed}");
    for target in &targets {
        let share = Duration::from_secs_f64(f64::from(secs) / targets.len() as f64);
        let tried = fuzz(target, seed, share);
        println!("{}: {tried} inputs in {:.0} s, no property violated", target.name, share.as_secs_f64());
    }
    ExitCode::SUCCESS
}

/// A new seed for every run: a constant one finds nothing new after the first run.
fn clock_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// Saves the current input when a panic occurs.
fn save_input_on_panic() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        let tried = TRIED.lock().ok().and_then(|tried| tried.as_ref().map(|(_, input)| input.clone()));
        save(&tried.unwrap_or_default());
    }));
}

/// Exits when an input takes too long, after saving it.
fn exit_on_timeout() {
    loop {
        thread::sleep(POLL);
        let overdue = TRIED.lock().ok().and_then(|tried| overdue(tried.as_ref(), TIMEOUT));
        if let Some(input) = overdue {
            eprintln!("an input takes more than {} s", TIMEOUT.as_secs());
            save(&input);
            process::exit(1);
        }
    }
}

/// The current input, if it has been running for longer than `timeout`.
fn overdue(tried: Option<&(Instant, Vec<u8>)>, timeout: Duration) -> Option<Vec<u8>> {
    tried.filter(|(begun, _)| begun.elapsed() > timeout).map(|(_, input)| input.clone())
}

/// Writes an input to a file and prints the file's name.
fn save(input: &[u8]) {
    let file = std::env::temp_dir().join(format!("forebay-fuzz-{}", process::id()));
    match fs::write(&file, input) {
        Ok(()) => eprintln!("the input is in {}", file.display()),
        Err(error) => eprintln!("cannot write the input to {}: {error}", file.display()),
    }
}

/// Runs the target for the time `share`; returns the number of inputs.
fn fuzz(target: &Target, seed: u64, share: Duration) -> u64 {
    let corpus = corpus(target.name);
    let mut rng = Rng::stream(seed, target.name);
    let begun = Instant::now();
    // First the corpus itself.
    corpus.iter().for_each(|seed| attempt(target, seed));
    let mut tried = corpus.len() as u64;
    while begun.elapsed() < share {
        attempt(target, &mutated(&corpus, target.words, &mut rng));
        tried += 1;
    }
    tried
}

fn attempt(target: &Target, input: &[u8]) {
    let trying = |what| {
        if let Ok(mut tried) = TRIED.lock() {
            *tried = what;
        }
    };
    trying(Some((Instant::now(), input.to_vec())));
    (target.run)(input);
    trying(None);
}

/// The inputs in the repository, sorted by file name.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.iter().filter_map(|file| fs::read(file).ok()).collect()
}

/// A mutation of one corpus input, possibly combined with parts of others.
fn mutated(corpus: &[Vec<u8>], words: &[&str], rng: &mut Rng) -> Vec<u8> {
    let pick = |rng: &mut Rng| {
        let at = rng.below(corpus.len().max(1) as u64) as usize;
        corpus.get(at).cloned().unwrap_or_default()
    };
    let mut out = pick(rng);
    for _ in 0..=rng.below(4) {
        let at = rng.below(out.len() as u64 + 1) as usize;
        let end = (at + rng.below(32) as usize).min(out.len());
        let new: Vec<u8> = match rng.below(7) {
            0 => vec![rng.below(256) as u8],
            1 => Vec::new(),
            2 => out[at..end].repeat(2),
            3 if !words.is_empty() => words[rng.below(words.len() as u64) as usize].as_bytes().to_vec(),
            4 => ENDS[rng.below(ENDS.len() as u64) as usize].as_bytes().to_vec(),
            5 => {
                let other = pick(rng);
                let from = rng.below(other.len() as u64 + 1) as usize;
                let to = from + rng.below((other.len() - from) as u64 + 1) as usize;
                other[from..to].to_vec()
            }
            _ => out[at..end].iter().map(|byte| byte ^ 1 << rng.below(8)).collect(),
        };
        // Replace the old bytes, or insert before them.
        let until = if rng.below(2) == 0 { end } else { at };
        out.splice(at..until, new);
    }
    out.truncate(MAX_LENGTH);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_depend_on_the_seed_only() {
        let made = |seed| -> Vec<Vec<u8>> {
            let mut rng = Rng::stream(seed, "tc");
            (0..100).map(|_| mutated(&[b"red limit 160kb".to_vec()], &["min "], &mut rng)).collect()
        };
        assert_eq!(made(1), made(1));
        assert_ne!(made(1), made(2));
    }

    #[test]
    fn input_that_takes_too_long_is_found() {
        let tried = (Instant::now(), b"red".to_vec());
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(overdue(Some(&tried), Duration::from_millis(1)), Some(b"red".to_vec()));
        assert_eq!(overdue(Some(&tried), Duration::from_secs(3600)), None);
        assert_eq!(overdue(None, Duration::ZERO), None);
    }
}
