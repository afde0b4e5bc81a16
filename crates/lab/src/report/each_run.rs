//! Reads the runs of one scenario from disk for the report: by case, contender and link. A case is a combination of the
//! values of the axes (keys that vary), a contender a compared discipline. A link under study is one whose results are
//! recorded. A dumbbell is the topology with one bottleneck.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::results::meta::RunMeta;
use crate::results::named::Axes;
use crate::results::record::{self, LinkRecord, RunRecord, SeriesRecord};
use crate::run::compare::Group;
use crate::run::store::{self, StoreError};
use crate::scenario::{Case, Contender, Overlay};
use crate::theory::fluid::{self, Trajectory};
use crate::theory::markov::{self, Ask};
use crate::theory::{mmpp, setting};

/// With more cases than this, curves over time are shown only for the first, the middle and the last.
pub(crate) const CASES_OVER_TIME: usize = 3;

/// Largest number of values of an axis that are listed one by one.
const MAX_VALUES: usize = 8;

/// Name of the bottleneck link of every dumbbell.
const LINK_OF_A_DUMBBELL: &str = "bottleneck";

/// The runs of one contender in one case, with all seeds.
pub(super) struct Entry {
    pub(super) case: usize,
    pub(super) contender: usize,
    pub(super) runs: Vec<RunRecord>,
}

impl Entry {
    /// The runs in the form that functions which compare contenders take.
    pub(super) fn group(&self) -> Group<'_> {
        let label = self.runs[0].summary.label.clone();
        Group { label, case: self.case, contender: self.contender, runs: self.runs.iter().collect() }
    }
}

/// The results of all runs of a directory at one link under study.
pub(super) struct Runs {
    pub(super) entries: Vec<Entry>,
    /// Name of the link in the report; `None` if it is a dumbbell's bottleneck and the only link under study.
    pub(super) link: Option<String>,
    /// Names of the recorded columns, apart from the queue, of which the scenario requests curves.
    pub(super) series: Vec<String>,
    /// Cases with curves over time. For other cases only summaries are kept in memory.
    pub(super) over_time: Vec<usize>,
    /// Results of models by case and contender, if the scenario requests them.
    pub(super) theory: BTreeMap<(usize, usize), Answers>,
}

/// Results of models for a contender.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) fluid: Option<Trajectory>,
    /// For each model, by name: the queue's distribution as pairs of the length in packets and the fraction of time at
    /// or below it.
    pub(super) shares: Vec<(&'static str, Vec<[f64; 2]>)>,
}

impl Runs {
    /// Reads every finished run of a directory. Returns the results for each link under study, in the order of the
    /// links. Calls `look` with each complete run and the index of its case; afterwards data that the report does not
    /// show are freed.
    pub(super) fn read(
        dir: &Path,
        meta: &RunMeta,
        mut look: impl FnMut(usize, &RunRecord),
    ) -> Result<Vec<Self>, StoreError> {
        let jobs = store::jobs_on_disk(dir, meta)?;
        let mut over_time: Vec<usize> = jobs.iter().map(|job| job.case).collect();
        over_time.dedup();
        if over_time.len() > CASES_OVER_TIME {
            over_time = vec![over_time[0], over_time[over_time.len() / 2], over_time[over_time.len() - 1]];
        }
        let mut entries: Vec<Entry> = Vec::new();
        for job in jobs {
            let Some(record) = store::read_run(dir, meta, job)? else { continue };
            look(job.case, &record);
            let record = if over_time.contains(&job.case) { record } else { record.slim() };
            match entries.last_mut().filter(|e| (e.case, e.contender) == (job.case, job.contender)) {
                Some(entry) => entry.runs.push(without_series(record)),
                None => entries.push(Entry { case: job.case, contender: job.contender, runs: vec![record] }),
            }
        }
        if entries.is_empty() {
            let path: PathBuf = dir.join("runs");
            return Err(StoreError::Damaged { path, reason: "no finished run".to_string() });
        }
        over_time.retain(|case| entries.iter().any(|e| e.case == *case));
        let series = meta.provenance.facts.series.clone().unwrap_or_default();
        let answers = |&case: &usize| Ok(store::read_case(dir, case)?.map_or_else(Vec::new, |it| answers(&it, case)));
        let theory: Vec<Vec<_>> = over_time.iter().map(answers).collect::<Result<_, StoreError>>()?;
        let theory = theory.into_iter().flatten().collect();
        Ok(Self { entries, link: None, series, over_time, theory }.by_link())
    }

    /// The results of one run of each contender of `case`, for each link under study.
    pub(super) fn of_case_in_memory(case: &Case, runs: Vec<(usize, RunRecord)>) -> Vec<Self> {
        let entry = |(contender, run)| Entry { case: 0, contender, runs: vec![run] };
        let (series, theory) = (case.scenario.report.series.clone(), answers(case, 0).into_iter().collect());
        let entries = runs.into_iter().map(entry).collect();
        Self { entries, link: None, series, over_time: vec![0], theory }.by_link()
    }

    /// The results separated by link under study. If a dumbbell's bottleneck is the only one, it has no name in the
    /// report.
    fn by_link(mut self) -> Vec<Self> {
        let mut further: Vec<Self> = Vec::new();
        for Entry { case, contender, runs } in &mut self.entries {
            for run in runs {
                for (i, link) in std::mem::take(&mut run.others).into_iter().enumerate() {
                    if i == further.len() {
                        let (series, over_time) = (self.series.clone(), self.over_time.clone());
                        further.push(Self {
                            entries: Vec::new(),
                            link: None,
                            series,
                            over_time,
                            theory: BTreeMap::new(),
                        });
                    }
                    let run = at_link(link, run.duration_s);
                    match further[i].entries.last_mut().filter(|e| (e.case, e.contender) == (*case, *contender)) {
                        Some(entry) => entry.runs.push(run),
                        None => further[i].entries.push(Entry { case: *case, contender: *contender, runs: vec![run] }),
                    }
                }
            }
        }
        let is_alone = further.is_empty();
        let mut links: Vec<Self> = [self].into_iter().chain(further).collect();
        for link in &mut links {
            let name = &link.entries[0].runs[0].summary.link;
            link.link = (!is_alone || name != LINK_OF_A_DUMBBELL).then(|| name.clone());
        }
        links
    }

    /// Name of the link in the report; `None` if it is a dumbbell's bottleneck and the only link under study.
    pub(super) fn link(&self) -> Option<&str> {
        self.link.as_deref()
    }

    /// Whether any contender has runs with several seeds, so that there are confidence intervals.
    pub(super) fn are_several(&self) -> bool {
        self.entries.iter().any(|entry| entry.runs.len() > 1)
    }

    /// Indices of the cases that have runs.
    pub(super) fn cases(&self) -> Vec<usize> {
        let mut cases: Vec<usize> = self.entries.iter().map(|e| e.case).collect();
        cases.dedup();
        cases
    }

    /// Text that says which cases have curves over time and distributions; `None` if all have.
    pub(super) fn curves_of_some_cases(&self) -> Option<String> {
        let all = self.cases().len();
        (self.over_time.len() < all).then(|| {
            format!("Curves against time and distributions are of the first, the middle and the last of {all} points.")
        })
    }

    /// The axes with their values as text: `a = 1, 2; b = 10mbit, 20mbit`. Empty if the scenario has no axes.
    pub(super) fn sweep(&self) -> String {
        let mut axes: Vec<(String, Vec<&str>)> = Vec::new();
        for (axis, value) in self.entries.iter().flat_map(|entry| entry.runs[0].summary.axes.words()) {
            let name = record::axis_name(axis);
            let at = axes.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                axes.push((name, Vec::new()));
                axes.len() - 1
            });
            if !axes[at].1.contains(&value) {
                axes[at].1.push(value);
            }
        }
        let axis = |(name, values): (String, Vec<&str>)| match values.len() {
            n if n > MAX_VALUES => format!("{name} = {} to {} ({n} values)", values[0], values[n - 1]),
            _ => format!("{name} = {}", values.join(", ")),
        };
        axes.into_iter().map(axis).collect::<Vec<_>>().join("; ")
    }

    pub(super) fn of_case(&self, case: usize) -> impl Iterator<Item = &Entry> {
        let first = self.entries.partition_point(|e| e.case < case);
        self.entries[first..].iter().take_while(move |e| e.case == case)
    }

    /// End of a figure's title with the name of the link, such as `: link west`; empty if the link has no name.
    pub(super) fn place(&self) -> String {
        self.link().map_or_else(String::new, |link| format!(": link {link}"))
    }

    /// End of a figure's title with the name of the link and the values of the axes, such as `: link west, n = 40`;
    /// without the name if the link has none, and without values if there are no axes.
    pub(super) fn suffix(&self, case: usize) -> String {
        let axes = self.of_case(case).next().map(|e| &e.runs[0].summary.axes);
        let point = axes.into_iter().flat_map(Axes::words);
        let point = record::point_name(point);
        self.place() + &if point.is_empty() { point } else { format!(", {point}") }
    }
}

/// Results of the models that the scenario requests, for each contender of the case `it`, number `case`. Models that
/// cannot be applied to the scenario are left out.
fn answers(it: &Case, case: usize) -> Vec<((usize, usize), Answers)> {
    let (scenario, asks) = (&it.scenario, |model| it.scenario.report.theory.contains(&model));
    let queues = if asks(Overlay::Mmpp) { mmpp::of(it).map_or(Vec::new(), |model| model.queues) } else { Vec::new() };
    let of = |(contender, one): (usize, &Contender)| {
        let spec = &one.spec;
        let mut found = Answers::default();
        if asks(Overlay::Fluid) || asks(Overlay::Markov) {
            let setting = setting::of(it, spec).ok();
            let trajectory = |setting| fluid::of(spec, setting, scenario.duration.secs(), scenario.warmup.secs()).ok();
            found.fluid = setting.as_ref().filter(|_| asks(Overlay::Fluid)).and_then(trajectory);
            let chain = |setting| markov::of(spec, setting, &Ask::default()).ok()?.distribution;
            if let Some(chain) = setting.as_ref().filter(|_| asks(Overlay::Markov)).and_then(chain) {
                found.shares.push((Overlay::Markov.word(), cumulative(chain.q_pkts.into_iter().zip(chain.share))));
            }
        }
        if let Some(queue) = queues.iter().find(|queue| queue.label == one.label) {
            let waiting = queue.waiting().into_iter().enumerate().map(|(q, share)| (q as f64, share));
            found.shares.push((Overlay::Mmpp.word(), cumulative(waiting)));
        }
        ((case, contender), found)
    };
    scenario.compare.iter().enumerate().map(of).collect()
}

fn cumulative(shares: impl Iterator<Item = (f64, f64)>) -> Vec<[f64; 2]> {
    let mut sum = 0.0;
    shares
        .map(|(q, share)| {
            sum += share;
            [q, f64::min(sum, 1.0)]
        })
        .collect()
}

/// The run without its curves over time, because the report shows those of the first seed only.
fn without_series(mut run: RunRecord) -> RunRecord {
    let others = run.others.iter_mut().map(|link| &mut link.series);
    others.chain([&mut run.series]).for_each(|series| *series = SeriesRecord::default());
    run
}

/// The record of a run that has the results at `link`, a link under study other than the first, in place of those at
/// the first.
pub(super) fn at_link(link: LinkRecord, duration_s: f64) -> RunRecord {
    let LinkRecord { summary, reference, queue_shares, waits, series } = link;
    RunRecord {
        summary,
        duration_s,
        reference,
        queue_shares,
        waits,
        series,
        flows: Vec::new(),
        completions: Vec::new(),
        others: Vec::new(),
    }
}
