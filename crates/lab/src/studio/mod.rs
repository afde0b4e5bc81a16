//! The laboratory behind the page of `forebay studio`: answers the page's requests. In a browser it runs in a Web Worker,
//! else in the program; the page is the same. A case is a combination of the values of the keys that a scenario varies,
//! a contender a compared discipline.

mod adjustables;
mod edit;
pub mod library;
mod packets;
pub mod page;
mod theory;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use forebay_aqm::base::time::{Instant, Span};
use serde::{Deserialize, Serialize};

use crate::build::description::description;
use crate::commands::failure::Failure;
use crate::disk::lock::Wait;
use crate::estimate::{Budget, over_budget};
use crate::input::{Found, InputError};
use crate::report::live::{Live, live};
use crate::results::meta::{Meta, Origin};
use crate::results::record::RunRecord;
use crate::run::batch::{self, BatchError, Control};
use crate::run::plan::{Job, Plan};
use crate::run::store::Store;
use crate::scenario::{Case, Contender, Overrides};
use crate::{disk, load, report};

use adjustables::{Adjustable, Setting};
use theory::Theory;

/// The limits of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Memory and CPU time of the runs of one request.
    pub budget: Budget,
    /// Number of runs at a time.
    pub jobs: usize,
}

/// A request of the page.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
enum Request {
    /// Reads a scenario and runs one case of it, with one seed. Answered by [`Shown`].
    Run(Asked),
    /// Events at the link of a contender between two times in seconds. Answered by [`packets::Packets`].
    Packets {
        /// The run.
        run: Asked,
        /// Index of the contender.
        contender: usize,
        /// Begin of the time.
        from_s: f64,
        /// End of the time.
        until_s: f64,
    },
    /// Provides a file that scenarios refer to; only in a browser, where there are no others.
    File {
        /// Its path.
        path: String,
        /// Its content.
        text: String,
    },
    /// Runs all cases and returns the files of the run directory. Answered by [`Files`].
    Files {
        /// The scenario and the first seed.
        run: Asked,
        /// Number of seeds.
        runs: u64,
    },
}

/// A scenario and what to run of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// Name of the file, for messages.
    file: String,
    /// The scenario.
    text: String,
    /// Index of the case.
    #[serde(default)]
    case: usize,
    /// Seed of the runs.
    #[serde(default = "first_seed")]
    seed: u64,
    /// Changes of the text before it is read.
    #[serde(default)]
    changes: Vec<Change>,
}

const fn first_seed() -> u64 {
    1
}

/// A new value of an adjustable value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    /// Id of the adjustable value.
    adjustable: String,
    /// The value.
    value: Setting,
}

/// A scenario and its results.
#[derive(Clone, Debug, Default, Serialize)]
struct Shown {
    /// The text of the scenario, with the change.
    text: String,
    /// What is wrong with the text; then the rest is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Wrong>,
    /// Title of the scenario.
    title: String,
    /// Links, traffic and duration in a few sentences.
    about: String,
    /// Simulated seconds.
    duration_s: f64,
    /// Values of the keys that vary, by case; one empty text if none varies.
    cases: Vec<String>,
    /// Index of the case that is shown.
    case: usize,
    /// Values that can be changed.
    adjustables: Vec<Adjustable>,
    /// Each contender's run.
    runs: Vec<Run>,
    /// Figures and table of the runs.
    results: Live,
    /// What models say.
    theory: Theory,
}

/// An error in a scenario text.
#[derive(Clone, Debug, Serialize)]
struct Wrong {
    /// The message, as on the command line.
    message: String,
    /// Line, from 1.
    line: Option<usize>,
    /// Column in that line, from 1.
    column: Option<usize>,
}

impl From<InputError> for Wrong {
    fn from(error: InputError) -> Self {
        Self { message: error.to_string(), line: error.line, column: error.column }
    }
}

/// A run.
#[derive(Clone, Debug, Serialize)]
struct Run {
    /// Label of the contender.
    label: String,
    /// Hash of all packet events.
    fingerprint: String,
    /// Packets served at the link.
    packets: u64,
    /// Mean queue.
    queue_pkts: f64,
}

/// Files of a run directory.
#[derive(Clone, Debug, Serialize)]
struct Files {
    /// Path within the directory, and content in base64.
    files: Vec<(String, String)>,
}

/// The answer to a request, as JSON: a result, or `{"failed": "..."}`. `stop` is set to end its runs.
pub fn answer(request: &str, limits: Limits, stop: &AtomicBool) -> String {
    let answered = || -> Result<String, String> {
        let request: Request = serde_json::from_str(request).map_err(|error| error.to_string())?;
        let text = match request {
            Request::Run(asked) => serde_json::to_string(&shown(&asked, limits, stop)),
            Request::Packets { run, contender, from_s, until_s } => {
                serde_json::to_string(&events(&run, contender, (from_s, until_s), limits, stop)?)
            }
            Request::File { path, text } => {
                if !cfg!(target_family = "wasm") {
                    return Err("files are read from the disk here".to_string());
                }
                disk::write_whole(Path::new(&path), text.as_bytes()).map_err(|error| error.to_string())?;
                Ok("{}".to_string())
            }
            Request::Files { run, runs } => serde_json::to_string(&files(&run, runs, limits, stop)?),
        };
        text.map_err(|error| error.to_string())
    };
    answered().unwrap_or_else(|failed| serde_json::json!({ "failed": failed }).to_string())
}

/// Reads a scenario and runs the case. After an error the answer has the text, and the adjustable values if the text can be read.
fn shown(asked: &Asked, limits: Limits, stop: &AtomicBool) -> Shown {
    let mut shown = Shown { text: asked.text.clone(), ..Shown::default() };
    if let Err(error) = fill(&mut shown, asked, limits, stop) {
        shown.error = Some(error.into());
    }
    shown
}

fn fill(shown: &mut Shown, asked: &Asked, limits: Limits, stop: &AtomicBool) -> Result<(), InputError> {
    let read = |text: &str| load::parse(&asked.file, text, &Overrides::default());
    let chosen = |cases: &[Case]| asked.case.min(cases.len().saturating_sub(1));
    for Change { adjustable, value } in &asked.changes {
        let cases = read(&shown.text)?;
        shown.text = adjustables::change(&asked.file, &shown.text, &cases[chosen(&cases)], adjustable, value)?;
    }
    let cases = read(&shown.text)?;
    shown.case = chosen(&cases);
    let axes = |case: &Case| case.axes.iter().map(|(axis, value)| format!("{axis} = {value}")).collect::<Vec<_>>();
    shown.cases = cases.iter().map(|case| axes(case).join(", ")).collect();
    let mut case = cases[shown.case].clone();
    let scenario = &case.scenario;
    shown.title.clone_from(&scenario.title);
    shown.about = description(scenario);
    shown.duration_s = scenario.duration.secs();
    shown.adjustables = adjustables::adjustables(&asked.file, &shown.text, &case)?;
    add_curves(&mut case);
    case.axes.clear();
    let plan = Plan::new(vec![case], asked.seed, 1);
    afford(&plan, asked, limits)?;
    let records = run_all(&plan, stop)
        .map_err(|error| InputError::new(&asked.file, "", Found::thing(error.to_string()), "runs that end"))?;
    let run = |record: &RunRecord| Run {
        label: record.summary.contender().to_string(),
        fingerprint: record.summary.fingerprint.clone(),
        packets: record.summary.packets,
        queue_pkts: record.summary.queue_pkts.mean,
    };
    shown.runs = records.iter().map(run).collect();
    shown.results = live(&plan, records);
    shown.theory = theory::of(&plan.cases[0]);
    Ok(())
}

/// Refuses a network that cannot run, and one that is too large.
fn afford(plan: &Plan, asked: &Asked, limits: Limits) -> Result<(), InputError> {
    plan.check(&asked.file)?;
    if let Some(linux) = plan.linux_qdisc() {
        let found = Found::thing(format!("linux:{linux}"));
        return Err(InputError::new(&asked.file, "compare.aqm", found, "disciplines that can be simulated"));
    }
    let Some(excess) = over_budget(plan, limits.jobs, limits.budget) else { return Ok(()) };
    let error = InputError::new(&asked.file, "", Found::thing(excess.runs), excess.most);
    Err(error
        .hint("fewer flows, a lower rate or a shorter duration need less; forebay run has no such limit".to_string()))
}

/// Adds curves that the page shows in any case: the probability `p` of contenders that have one, and the congestion window
/// of each group of TCP flows. They do not change the runs.
fn add_curves(case: &mut Case) {
    let scenario = &mut case.scenario;
    let probe = |one: &Contender| {
        let probe = one.spec.probes().iter().find(|probe| probe.name == "p")?;
        Some(format!("{}.{}", one.spec.name(), probe.name))
    };
    let tcp = scenario.flows.iter().filter(|group| group.kind.tcp().is_some() && group.count > 0);
    let windows = tcp.map(|group| format!("{}.cwnd", group.name));
    let wanted: Vec<String> = scenario.compare.iter().filter_map(probe).chain(windows).collect();
    for name in wanted {
        if !scenario.report.series.contains(&name) {
            scenario.report.series.push(name);
        }
    }
}

/// The runs of a plan, in the order of its jobs.
fn run_all(plan: &Plan, stop: &AtomicBool) -> Result<Vec<RunRecord>, BatchError> {
    let done = batch::runs(plan, None, &Control::silent(stop))?;
    if done.len() < plan.jobs().len() {
        Err(BatchError::Interrupted)
    } else {
        Ok(done.into_iter().map(|(_, run)| run).collect())
    }
}

/// The plan of a scenario with its original curves.
fn plan(asked: &Asked, runs: u64) -> Result<Plan, InputError> {
    let cases = load::parse(&asked.file, &asked.text, &Overrides::default())?;
    Ok(Plan::new(cases, asked.seed, runs))
}

fn events(
    asked: &Asked,
    contender: usize,
    (from_s, until_s): (f64, f64),
    limits: Limits,
    stop: &AtomicBool,
) -> Result<packets::Packets, String> {
    let plan = plan(asked, 1).map_err(|error| error.to_string())?;
    let case = asked.case.min(plan.cases.len() - 1);
    let contender = contender.min(plan.cases[case].scenario.compare.len() - 1);
    afford(&Plan { cases: vec![plan.cases[case].clone()], ..plan.clone() }, asked, limits)
        .map_err(|error| error.to_string())?;
    let at = |secs: f64| Instant::ZERO + Span::from_secs(if secs.is_finite() { secs.clamp(0.0, 1e9) } else { 0.0 });
    packets::packets(&plan, Job { case, contender, seed: asked.seed }, (at(from_s), at(until_s)), stop)
}

fn files(asked: &Asked, runs: u64, limits: Limits, stop: &AtomicBool) -> Result<Files, String> {
    let plan = plan(asked, runs.clamp(1, 1000)).map_err(|error| error.to_string())?;
    afford(&plan, asked, limits).map_err(|error| error.to_string())?;
    directory(&plan, stop).map_err(|error| error.to_string())
}

/// The files of the run directory of a plan, with the report.
fn directory(plan: &Plan, stop: &AtomicBool) -> Result<Files, Failure> {
    let place = disk::Scratch::new()?;
    let store = Store::open(place.path(), plan, &Origin::default(), &Wait::NEVER)?;
    batch::run(plan, &store, &Control::silent(stop)).map_err(|error| Failure::Unavailable(error.to_string()))?;
    if let (Some(lock), Meta::Run(meta)) = (store.lock(), Meta::read(place.path())?) {
        report::build_run(lock, &meta)?;
    }
    drop(store);
    let (mut files, mut folders) = (Vec::new(), vec![place.path().to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for path in disk::entries(&folder).map_err(disk::io_error(&folder))? {
            match disk::read_regular(&path) {
                Ok(content) => {
                    let name = path.strip_prefix(place.path()).unwrap_or(&path).to_string_lossy().into_owned();
                    files.push((name, STANDARD.encode(content)));
                }
                Err(_) => folders.push(path),
            }
        }
    }
    files.sort();
    Ok(Files { files })
}
