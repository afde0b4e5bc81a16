//! Searches the readings of a paper. A reading is a combination of values for the settings (dimensions) that the paper
//! does not state. Its score says which claims hold under it.
//!
//! A reading is plausible if no value differs from what the paper prints.
//!
//! 1. A Latin hypercube sample of the plausible readings, in which values are as frequent as `readings.toml` declares
//!    them plausible. Four readings in succession differ only in settings of single disciplines, so that they share the
//!    runs of the other disciplines. How often a claim holds is computed from this sample alone.
//! 2. Generations of plausible readings near those whose results are nearest to the claims. Parents are the tenth of
//!    all readings so far with the smallest distance; a child differs from its parent in few dimensions. A generation
//!    begins with the readings that differ in one dimension from one of the three with the smallest distance
//!    (coordinate search). Generations of the nearest are those of ABC-SMC (Toni, Welch, Strelkowa, Ipsen and Stumpf
//!    2009), without its weights: they look for readings, not for a posterior distribution. Gradients need dimensions
//!    with an order, which most lack, and a full grid has millions of readings.
//! 3. A tenth as many readings with at least one value that differs from what the paper prints, found in the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use forebay_aqm::base::rng::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bench::{Bench, ClaimScore};
use super::confirm::Confirmed;
use super::space::Reading;

/// Fraction of the tried readings that the first step, the Latin hypercube sample, has.
const SAMPLE: f64 = 0.6;
/// Number of readings in succession, in the sample, that have the same values of the settings that all disciplines use.
const GROUP: usize = 4;
/// Number of readings that are tried together: children of those whose results are nearest to the claims so far.
const GENERATION: usize = 64;
/// Number of readings, those with results nearest to the claims, of which all neighbours (readings that differ in one
/// dimension) are tried.
const LEADERS: usize = 3;
/// Fraction of all readings so far, those with results nearest to the claims, that are parents of the next readings.
const PARENTS: f64 = 0.1;
/// Number of readings that differ from what the paper prints, relative to the number of plausible readings.
const DIFFERING: f64 = 0.1;
/// Mean number of dimensions whose value a child draws again, in addition to one that it always draws again.
const CHANGES: f64 = 1.0;

/// Settings of a search.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Seed of the random numbers of the search itself.
    pub seed: u64,
    /// How many plausible readings are tried, the first one included. Those that differ from what the paper prints are
    /// tried in addition ([`Settings::most`]).
    pub readings: usize,
    /// Number of seeds with which each reading is simulated. The seeds are 1, 2, and so on.
    pub seeds: u64,
    /// No reading is begun after this time.
    pub until: Option<Instant>,
}

impl Settings {
    /// Largest number of readings that are tried, those that differ from what the paper prints included.
    pub fn most(&self, bench: &Bench) -> usize {
        let can_differ = bench.space.dimensions.iter().any(|dimension| !dimension.differs.is_empty());
        self.readings + if can_differ { (DIFFERING * self.readings as f64).ceil() as usize } else { 0 }
    }

    /// Whether the time limit has passed.
    pub fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// A reading with its results.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// The reading.
    pub reading: Reading,
    /// Whether the reading belongs to the Latin hypercube sample.
    pub is_sampled: bool,
    /// Results of the claims in the order of [`Bench::claims`].
    pub scores: Vec<ClaimScore>,
    /// CPU time of the simulations, s.
    pub cpu_s: f64,
    /// Distance of the results from the claims, 0 to 1: the mean of [`ClaimScore::miss`] over the claims that runs can
    /// decide ([`Bench::is_decidable`]).
    pub distance: f64,
    /// Number of claims that hold, of those that runs can decide.
    pub held: usize,
}

impl Trial {
    fn new(bench: &Bench, reading: Reading, is_sampled: bool, scored: Scored) -> Self {
        let Scored { scores, cpu_s } = scored;
        let decided = || scores.iter().enumerate().filter(|(claim, _)| bench.is_decidable(*claim)).map(|it| it.1);
        let miss = decided().map(|score| score.miss).sum::<f64>() / decided().count() as f64;
        let distance = if miss.is_nan() { 1.0 } else { miss };
        let held = decided().filter(|score| score.holds()).count();
        Self { reading, is_sampled, scores, cpu_s, distance, held }
    }

    /// Number of checks that hold, over all claims.
    pub fn checks(&self) -> usize {
        self.scores.iter().map(|score| score.checks.held).sum()
    }
}

/// A line of the log file, which has one reading and its results.
#[derive(Serialize, Deserialize)]
struct Line {
    reading: BTreeMap<String, String>,
    claims: BTreeMap<String, ClaimScore>,
    cpu_s: f64,
}

/// Results of a reading.
#[derive(Clone)]
struct Scored {
    /// Results of the claims in the order of [`Bench::claims`].
    scores: Vec<ClaimScore>,
    /// CPU time of the simulations, s.
    cpu_s: f64,
}

impl Line {
    fn read(text: &str, bench: &Bench) -> Option<(Reading, Scored)> {
        let Self { reading, claims, cpu_s } = serde_json::from_str(text).ok()?;
        let scores: Option<Vec<ClaimScore>> = bench.claims.iter().map(|claim| claims.get(&claim.id).copied()).collect();
        Some((bench.space.reading(&reading)?, Scored { scores: scores?, cpu_s }))
    }
}

/// Simulates a reading with seeds 1 to `seeds`. Returns the line of the log with its results.
///
/// # Errors
/// The reading makes a scenario invalid.
pub fn scored(bench: &Bench, reading: &Reading, seeds: u64) -> Result<String, String> {
    let (scores, cpu_s) =
        bench.score(reading, 1, seeds).map_err(|error| format!("{error}: {}", bench.space.short(reading)))?;
    let words = bench.space.words(reading).map(|(name, value)| (name.to_string(), value.to_string()));
    let claims = bench.claims.iter().zip(scores).map(|(claim, score)| (claim.id.clone(), score));
    let line = Line { reading: words.collect(), claims: claims.collect(), cpu_s };
    serde_json::to_string(&line).map_err(|error| error.to_string())
}

/// Why a search ended before all readings were tried.
#[derive(Debug)]
pub enum SearchError {
    /// The log cannot be read or written.
    Log(io::Error),
    /// The log has results of another build of the program, of other files of the paper or with another number of
    /// seeds.
    Foreign(String),
    /// The search was interrupted. The log has the results of the readings tried so far.
    Interrupted,
    /// These readings have to be simulated first.
    Unknown(Vec<Reading>),
    /// A reading makes a scenario invalid.
    Invalid(String),
}

impl std::fmt::Display for SearchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Log(error) => write!(f, "the log of the search: {error}"),
            Self::Foreign(what) => write!(f, "the log of the search has results of {what}"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Invalid(error) => f.write_str(error),
            Self::Unknown(readings) => write!(f, "{} readings have no results", readings.len()),
        }
    }
}

/// A line of the log file with the verdicts of a reading under other seeds.
#[derive(Serialize, Deserialize)]
struct ConfirmedLine {
    reading: BTreeMap<String, String>,
    confirmed: Confirmed,
}

/// The results of earlier searches, and the log file to which further ones are appended.
pub struct Log {
    known: BTreeMap<Reading, Scored>,
    confirmed: BTreeMap<(Reading, u64), Confirmed>,
    file: Option<Mutex<File>>,
}

impl Log {
    /// A log in memory only, without a file.
    pub const fn none() -> Self {
        Self { known: BTreeMap::new(), confirmed: BTreeMap::new(), file: None }
    }

    /// Opens or creates a log. `about` identifies the program, the files of the paper and the number of seeds; results
    /// are reused only if it is the same. A line that was cut off by a crash is ignored.
    pub fn open(path: &Path, about: &str, bench: &Bench) -> Result<Self, SearchError> {
        let (mut known, mut confirmed) = (BTreeMap::new(), BTreeMap::new());
        let is_new = !path.exists();
        let mut file = OpenOptions::new().create(true).append(true).read(true).open(path).map_err(SearchError::Log)?;
        if is_new {
            writeln!(file, "{}", serde_json::json!({ "version": 1, "about": about })).map_err(SearchError::Log)?;
        } else {
            let mut lines = BufReader::new(File::open(path).map_err(SearchError::Log)?).lines();
            let head = lines.next().and_then(Result::ok).unwrap_or_default();
            let head: serde_json::Value = serde_json::from_str(&head).unwrap_or_default();
            if head["about"] != about {
                return Err(SearchError::Foreign(format!("{}, not {about}", head["about"])));
            }
            for line in lines.map_while(Result::ok) {
                if let Some((reading, scored)) = Line::read(&line, bench) {
                    known.insert(reading, scored);
                } else if let Ok(ConfirmedLine { reading, confirmed: verdicts }) = serde_json::from_str(&line) {
                    let reading = bench.space.reading(&reading);
                    confirmed.extend(reading.map(|reading| ((reading, verdicts.seeds), verdicts)));
                }
            }
        }
        Ok(Self { known, confirmed, file: Some(Mutex::new(file)) })
    }

    /// The verdicts of a reading with this number of fresh seeds; `None` if they are not known.
    pub fn confirmed(&self, reading: &Reading, seeds: u64) -> Option<&Confirmed> {
        self.confirmed.get(&(reading.clone(), seeds))
    }

    /// Adds the verdicts of a reading with fresh seeds.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn confirm(&mut self, bench: &Bench, reading: &Reading, confirmed: Confirmed) -> io::Result<()> {
        let words = bench.space.words(reading).map(|(name, value)| (name.to_string(), value.to_string()));
        let line = ConfirmedLine { reading: words.collect(), confirmed };
        self.write(&serde_json::to_string(&line).map_err(io::Error::other)?)?;
        self.confirmed.insert((reading.clone(), line.confirmed.seeds), line.confirmed);
        Ok(())
    }

    /// Number of readings whose results are known.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether no results are known.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Adds the results of a reading: a line of the log, as [`scored`] returns it.
    ///
    /// # Errors
    /// `line` has no results of this paper, or the file cannot be written.
    pub fn add(&mut self, bench: &Bench, line: &str) -> io::Result<()> {
        let bad = || io::Error::other(format!("not the results of a reading: {line}"));
        let (reading, scored) = Line::read(line, bench).ok_or_else(bad)?;
        self.write(line)?;
        self.known.insert(reading, scored);
        Ok(())
    }

    fn write(&self, line: &str) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        // One call, so that a crash cuts off one line at most.
        file.lock().unwrap_or_else(PoisonError::into_inner).write_all(format!("{line}\n").as_bytes())
    }
}

/// A search in progress.
struct Search<'a> {
    bench: &'a Bench,
    settings: &'a Settings,
    log: &'a mut Log,
    stop: &'a AtomicBool,
    /// Called after each reading that was simulated; `None` if other processes simulate the readings.
    tried: Option<&'a (dyn Fn() + Sync)>,
    trials: Vec<Trial>,
}

/// Simulates readings and decides the claims under each; the first is that of the scenario files. The result depends
/// only on the files, the seed of the search and the numbers of readings and seeds, not on interruptions or the number
/// of threads. With a time limit there are fewer readings. `tried` is called after each reading that was simulated.
///
/// # Errors
/// The log cannot be written, or `stop` was set.
pub fn search(
    bench: &Bench,
    settings: &Settings,
    log: &mut Log,
    stop: &AtomicBool,
    tried: &(dyn Fn() + Sync),
) -> Result<Vec<Trial>, SearchError> {
    run(Search { bench, settings, log, stop, tried: Some(tried), trials: Vec::new() })
}

/// The readings that a search has to simulate next, given the results in the log. They can be simulated in any order
/// and on any machine. Empty if the search is complete.
pub fn unknown(bench: &Bench, settings: &Settings, log: &mut Log) -> Vec<Reading> {
    let stop = AtomicBool::new(false);
    match run(Search { bench, settings, log, stop: &stop, tried: None, trials: Vec::new() }) {
        Err(SearchError::Unknown(readings)) => readings,
        _ => Vec::new(),
    }
}

/// Adds to `trials` those of `readings` that it does not have. A reading is simulated if the log does not have its results.
/// The added readings do not belong to the sample.
///
/// # Errors
/// The log cannot be written, or `stop` was set.
pub fn add(
    bench: &Bench,
    settings: &Settings,
    log: &mut Log,
    stop: &AtomicBool,
    readings: Vec<Reading>,
    trials: &mut Vec<Trial>,
) -> Result<(), SearchError> {
    let mut search = Search { bench, settings, log, stop, tried: Some(&|| ()), trials: Vec::new() };
    for reading in readings {
        if trials.iter().all(|trial| trial.reading != reading) {
            search.try_all(vec![reading], false)?;
            trials.append(&mut search.trials);
        }
    }
    Ok(())
}

fn run(mut search: Search<'_>) -> Result<Vec<Trial>, SearchError> {
    let Search { bench, settings, .. } = search;
    let mut rng = Rng::stream(settings.seed, "readings");
    let sampled = (settings.readings.saturating_sub(1) as f64 * SAMPLE).ceil() as usize;
    search.try_all(vec![bench.space.first()], false)?;
    search.try_all(bench.space.latin(sampled, GROUP, &mut rng), true)?;
    for (plausible, readings) in [(true, settings.readings), (false, settings.most(bench))] {
        while search.distinct().len() < readings && !settings.is_late() {
            let children = search.children(plausible, readings, &mut rng);
            if children.is_empty() {
                break;
            }
            search.try_all(children, false)?;
        }
    }
    Ok(search.trials)
}

impl Search<'_> {
    /// The readings tried so far. The sample can have a reading twice.
    fn distinct(&self) -> BTreeSet<&Reading> {
        self.trials.iter().map(|trial| &trial.reading).collect()
    }

    /// The next generation, up to `readings` tried readings in all: children of the readings whose results are nearest to
    /// the claims so far (field `distance` of [`Trial`]), either plausible ones or those that differ from what the paper
    /// prints. Empty if there are no further readings.
    fn children(&self, plausible: bool, readings: usize, rng: &mut Rng) -> Vec<Reading> {
        let mut order: Vec<&Trial> = self.trials.iter().collect();
        order.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        let space = &self.bench.space;
        let parents = ((self.trials.len() as f64 * PARENTS).ceil() as usize).min(order.len());
        let rate = CHANGES / space.dimensions.len() as f64;
        let near = order.iter().take(LEADERS).flat_map(|trial| space.neighbours(&trial.reading));
        // A space with few readings can be exhausted.
        let draws = if parents == 0 { 0 } else { GENERATION * 20 };
        let drawn = (0..draws).map(|_| {
            let parent = order[rng.below(parents as u64) as usize];
            space.neighbour(&parent.reading, rate, plausible, rng)
        });
        let known = self.distinct();
        let most = GENERATION.min(readings - known.len());
        let mut children: Vec<Reading> = Vec::new();
        for child in near.chain(drawn) {
            if children.len() == most {
                break;
            }
            if space.is_plausible(&child) == plausible && !known.contains(&child) && !children.contains(&child) {
                children.push(child);
            }
        }
        children
    }

    /// Simulates those of `readings` whose results the log does not have, and adds all of `readings` with their results
    /// to the trials.
    fn try_all(&mut self, readings: Vec<Reading>, is_sampled: bool) -> Result<(), SearchError> {
        let mut new: Vec<Reading> = Vec::new();
        for reading in &readings {
            if !self.log.known.contains_key(reading) && !new.contains(reading) {
                new.push(reading.clone());
            }
        }
        let Self { bench, settings, log, stop, tried, .. } = &*self;
        let Some(tried) = tried else {
            if new.is_empty() {
                self.conclude(readings, is_sampled);
                return Ok(());
            }
            return Err(SearchError::Unknown(new));
        };
        let failed: Mutex<Option<SearchError>> = Mutex::new(None);
        let score = |reading: Reading| {
            if stop.load(Ordering::Relaxed) || settings.is_late() {
                return None;
            }
            let line = scored(bench, &reading, settings.seeds).map_err(SearchError::Invalid);
            match line.and_then(|line| log.write(&line).map(|()| line).map_err(SearchError::Log)) {
                Ok(line) => {
                    tried();
                    Line::read(&line, bench)
                }
                Err(error) => {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    None
                }
            }
        };
        let done: Vec<(Reading, Scored)> = new.into_par_iter().filter_map(score).collect();
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        self.log.known.extend(done);
        if self.stop.load(Ordering::Relaxed) {
            return Err(SearchError::Interrupted);
        }
        self.conclude(readings, is_sampled);
        Ok(())
    }

    /// Adds those of `readings` whose results the log has to the trials.
    fn conclude(&mut self, readings: Vec<Reading>, is_sampled: bool) {
        let known = |reading: Reading| {
            let scored = self.log.known.get(&reading)?.clone();
            Some(Trial::new(self.bench, reading, is_sampled, scored))
        };
        self.trials.extend(readings.into_iter().filter_map(known));
    }
}
