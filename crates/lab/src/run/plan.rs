//! A plan: the product of cases, contenders and seeds, in a fixed order. A case is a combination of the values of the
//! keys that vary; a contender is a compared discipline.

use std::collections::BTreeSet;
use std::path::Path;

use forebay_aqm::base::time::Instant;
use forebay_sim::network::{BadNetwork, Network, Traffic};
use forebay_sim::outcome::FlowOutcome;
use forebay_sim::world::{Observer, World};
use sha2::{Digest, Sha256};

use crate::build::lower;
use crate::linux;
use crate::results::meta::{Facts, Part};
use crate::results::record::{self, RunRecord};
use crate::results::summary::Shown;
use crate::run::build_id;
use crate::scenario::{Case, Found, InputError};
use crate::traces::capture::{self, Place};

/// The runs that a command asked for: every case of a scenario file (combination of values of the keys that vary) with
/// every contender (compared discipline) and seed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Cases; at least one.
    pub cases: Vec<Case>,
    /// Seeds of every contender.
    pub seeds: Vec<u64>,
    /// Build of the program, if known; results of another build are not reused.
    pub revision: String,
    /// What the guest kernel of the runs on Linux was built from; `None` without such runs.
    pub guest: Option<Vec<String>>,
    /// The part of the runs that this process does; `None`: all.
    pub part: Option<Part>,
    /// Does the goodput of simulated runs exclude the headers of real packets, not those of the simulator's? For tables
    /// with runs of real hosts.
    pub real_headers: bool,
}

/// One of the runs that a command asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Job {
    /// Index of the case.
    pub case: usize,
    /// Index of the contender within the case.
    pub contender: usize,
    /// Seed of the run.
    pub seed: u64,
}

impl Plan {
    /// A plan with `runs` seeds, starting at `first`.
    pub fn new(cases: Vec<Case>, first: u64, runs: u64) -> Self {
        Self {
            cases,
            seeds: (first..first.saturating_add(runs)).collect(),
            revision: String::new(),
            guest: None,
            part: None,
            real_headers: false,
        }
    }

    /// Sets the build of the program.
    pub fn with_revision(mut self, revision: &str) -> Self {
        self.revision = revision.to_string();
        self
    }

    /// Sets what the guest kernel was built from: its version, and a checksum for each part.
    pub fn with_guest(mut self, parts: Vec<String>) -> Self {
        self.guest = Some(parts);
        self
    }

    /// Restricts the runs to a part of them.
    pub fn with_part(self, part: Option<Part>) -> Self {
        Self { part, ..self }
    }

    /// Excludes the headers of real packets from the goodput of simulated runs.
    pub const fn with_real_headers(mut self) -> Self {
        self.real_headers = true;
        self
    }

    /// Version of the library, and revision of the program if known.
    pub fn engine(&self) -> String {
        engine(&self.revision)
    }

    /// The first label that two contenders share, and the case of the second contender; `None` if all labels differ, as
    /// [`Plan::check`] requires.
    pub fn repeated(&self) -> Option<(String, &Case)> {
        let mut seen = BTreeSet::new();
        let all = self.cases.iter().flat_map(|case| case.scenario.compare.iter().map(move |c| (c, case)));
        let mut labels = all.map(|(contender, case)| (record::label(contender, case), case));
        labels.find(|(label, _)| !seen.insert(label.clone()))
    }

    /// Refuses networks that cannot run, and identical contenders, whose runs would count twice. `file` is
    /// used in messages.
    pub fn check(&self, file: &str) -> Result<(), InputError> {
        if let Some((label, case)) = self.repeated() {
            let key = match case.axes.as_slice() {
                [] => "compare.aqm".to_string(),
                [(axis, _)] => format!("vary.{axis}"),
                _ => "vary".to_string(),
            };
            let found = Found::thing(format!("'{label}' twice"));
            return Err(InputError::new(file, key, found, "every value and discipline once"));
        }
        let seed = self.seeds.first().copied().unwrap_or(1);
        for case in &self.cases {
            for contender in &case.scenario.compare {
                lower::network(&case.scenario, &contender.spec, seed).check().map_err(|error| {
                    let found = Found::thing(format!("a network that cannot run: {error}"));
                    InputError::new(file, "", found, "a network that can run")
                })?;
            }
        }
        Ok(())
    }

    /// The first qdisc of Linux in the plan, in the words of tc(8). It cannot be simulated. `None` if there is none.
    pub fn linux_qdisc(&self) -> Option<String> {
        let seed = self.seeds.first().copied().unwrap_or(1);
        let all = self.cases.iter().flat_map(|case| case.scenario.compare.iter().map(move |one| (case, one)));
        let mut networks = all.map(|(case, one)| lower::network(&case.scenario, &one.spec, seed));
        networks.find_map(|net| net.links.iter().find_map(|link| linux::words(&link.lane.discipline)))
    }

    /// Title of the scenario in reports.
    pub fn title(&self) -> &str {
        self.cases.first().map_or("", |c| c.scenario.title.as_str())
    }

    /// What tables of results show.
    pub fn shown(&self) -> Shown {
        self.cases.first().map_or_else(Shown::default, |case| Shown::of(&case.scenario))
    }

    /// All runs of the part, ordered by seed, case and contender. After an interruption, all contenders thus have nearly the same
    /// number of runs.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for &seed in &self.seeds {
            for (case, it) in self.cases.iter().enumerate() {
                jobs.extend((0..it.scenario.compare.len()).map(|contender| Job { case, contender, seed }));
            }
        }
        let Some(part) = self.part else { return jobs };
        jobs.into_iter().enumerate().filter(|(at, _)| part.has(*at)).map(|(_, job)| job).collect()
    }

    /// Simulated seconds of all runs of the part.
    pub fn simulated_s(&self) -> f64 {
        self.jobs().iter().map(|job| self.cases[job.case].scenario.duration.secs()).sum()
    }

    /// Properties of the runs that reports show, taken from the first case.
    pub fn facts(&self) -> Facts {
        let Some(Case { scenario, .. }) = self.cases.first() else { return Facts::default() };
        Facts {
            duration_s: Some(scenario.duration.secs()),
            warmup_s: Some(scenario.warmup.secs()),
            jitter_us: Some(scenario.topology.jitter().nanos() as f64 / 1e3),
            series: Some(scenario.report.series.clone()),
            figures: scenario.figures.clone(),
            guest: self.guest.clone(),
        }
    }

    /// Hash of the cases with all defaults written out, which identifies an experiment. It excludes the seeds, so that
    /// a directory can be continued with more of them.
    pub fn hash(&self) -> String {
        let text: Vec<String> =
            self.cases.iter().map(|c| format!("{:?}\n{}", c.axes, c.scenario.runs_to_toml())).collect();
        hex_hash(text.join("\n"))
    }

    /// Identifies one run of this plan on disk.
    pub fn key(&self, job: Job) -> String {
        let case = &self.cases[job.case];
        let contender = &case.scenario.compare[job.contender];
        hex_hash(format!(
            "{}\n{}\n{}\n{}\n{}",
            self.engine(),
            case.scenario.runs_to_toml(),
            record::label(contender, case),
            contender.spec.canonical(),
            job.seed
        ))
    }

    /// The network of a run.
    pub fn network(&self, job: Job) -> Network {
        let scenario = &self.cases[job.case].scenario;
        lower::network(scenario, &scenario.compare[job.contender].spec, job.seed)
    }

    /// Runs one job; `None` if the observer stopped it.
    pub fn run(&self, job: Job, observer: &mut dyn Observer) -> Result<Option<RunRecord>, BadNetwork> {
        let case = &self.cases[job.case];
        let contender = &case.scenario.compare[job.contender];
        let before = thread_cpu_seconds();
        let net = self.network(job);
        let mut outcome = World::new(&net, job.seed)?.run(observer);
        let cpu = thread_cpu_seconds() - before;
        if let Some(outcome) = outcome.as_mut().filter(|_| self.real_headers) {
            let flows = outcome.flows.iter_mut().zip(&net.flows);
            flows.for_each(|(flow, spec)| flow.goodput_bytes = real_goodput(flow, &spec.traffic));
        }
        Ok(outcome.map(|outcome| record::record(case, contender, job.seed, &net, &outcome, cpu)))
    }
}

/// Most packets of a capture.
pub const MOST_PACKETS: usize = 2_000_000;

/// The capture of the first link under study of a run.
pub struct Capture {
    /// The pcapng file.
    pub file: Vec<u8>,
    /// Fingerprint of the run.
    pub fingerprint: String,
    /// Whether the file has all packets: at most [`MOST_PACKETS`] are kept.
    pub is_complete: bool,
}

impl Plan {
    /// Runs one job again and captures the packets of its first link under study.
    ///
    /// # Errors
    /// The network cannot be simulated.
    pub fn capture(&self, job: Job) -> Result<Capture, BadNetwork> {
        let mut net = self.network(job);
        let link = net.links.iter().position(|link| link.lane.study).unwrap_or(0);
        let back = net.opposite(link);
        // With an event for each departure; the packets are the same.
        [Some(link), back].into_iter().flatten().for_each(|link| net.links[link].fast_path = false);
        let mut world = World::new(&net, job.seed)?;
        world.capture(link, back, MOST_PACKETS);
        world.run_until(Instant::ZERO + net.duration, &mut ());
        let discipline = net.links[link].lane.discipline.name().to_string();
        let place = Place { name: &net.links[link].name, discipline: &discipline };
        let packets = world.captured();
        let each = packets.iter().map(|packet| capture::ip_packet(&net.flows[packet.segment.flow as usize], packet));
        Ok(Capture {
            file: capture::pcapng(place, each),
            fingerprint: format!("{:016x}", world.fingerprint()),
            is_complete: packets.len() < MOST_PACKETS,
        })
    }
}

/// The goodput of a simulated flow if each packet had the headers of a real one, bytes.
fn real_goodput(flow: &FlowOutcome, traffic: &Traffic) -> u64 {
    let packets = flow.received_bytes.saturating_sub(flow.goodput_bytes) / u64::from(traffic.headers());
    flow.received_bytes.saturating_sub(packets * u64::from(traffic.real_headers()))
}

/// Version of this library, with the revision of the program if known.
pub fn engine(revision: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    if revision.is_empty() { version.to_string() } else { format!("{version}+{revision}") }
}

/// Identifier of a build of a program: the revision and the program's build ID, or a hash of its file. Uncommitted
/// changes change only the second.
pub fn build(revision: &str, file: Option<&Path>) -> String {
    let hash = |file: &Path| std::fs::read(file).ok().map(hex_hash);
    let own = file.and_then(|file| build_id::of(file).or_else(|| hash(file))).unwrap_or_default();
    [revision, &own].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".")
}

/// First twelve hex digits of the SHA-256.
pub fn hex_hash(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// CPU seconds of this thread, if the system reports them; else seconds since the first call; 0 in a browser, which gives
/// no clock to a program.
pub fn thread_cpu_seconds() -> f64 {
    if cfg!(target_family = "wasm") {
        return 0.0;
    }
    // Linux updates the counter at its ticks, milliseconds apart, and when a thread yields.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    match nanos {
        Some(nanos) => nanos as f64 * 1e-9,
        None => {
            static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
            START.get_or_init(std::time::Instant::now).elapsed().as_secs_f64()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::thread_cpu_seconds;

    /// Work of about 0.1 ms increases the CPU time, although Linux updates its counter at ticks milliseconds apart.
    #[test]
    fn cpu_time_increases_after_each_short_computation() {
        let work = || (0..300_000u64).fold(0, |sum, n| black_box(sum ^ n));
        let times: Vec<f64> = (0..30)
            .map(|_| {
                black_box(work());
                thread_cpu_seconds()
            })
            .collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    }
}
