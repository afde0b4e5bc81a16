//! `forebay merge`: joins the results of several processes that each did a part of the runs of a scenario.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::host::Host;
use crate::results::meta::{Machine, Meta, Part, RunMeta};
use crate::results::record::RunRecord;
use crate::results::summary::Summary;
use crate::run::plan::{Job, Plan};
use crate::run::store::{self, Store, StoreError};
use crate::scenario::{Found, InputError};

/// Joined results.
pub struct Merged {
    /// The summary of all runs that were found.
    pub summary: Summary,
    /// Their directory, still locked.
    pub store: Store,
    /// What is missing, in words; `None`: nothing.
    pub missing: Option<String>,
}

/// Joins the results in `dirs` in the directory `output`, which is created if missing. Every run that is in one of the
/// directories is in the result. Default of `output`: the name of the first directory without `-2-of-8`, or
/// `runs/merged-HASH`.
///
/// # Errors
/// The directories are of different scenarios or builds, two results of one run differ, or a file cannot be read or
/// written.
pub fn merge(dirs: &[PathBuf], output: Option<&Path>, host: &Host<'_>) -> Result<Merged, Failure> {
    let metas: Vec<RunMeta> = dirs.iter().map(|dir| read(dir)).collect::<Result<_, _>>()?;
    let [first, ..] = metas.as_slice() else {
        return Err(InputError::new("merge", "DIR", Found::thing("nothing"), "directories of results").into());
    };
    for (dir, meta) in dirs.iter().zip(&metas) {
        check(meta, first, (dir, &dirs[0]))?;
    }
    let mut plan = store::plan_of(&dirs[0], first)?;
    plan.seeds = metas.iter().flat_map(|meta| &meta.seeds).copied().collect();
    plan.seeds.sort_unstable();
    plan.seeds.dedup();
    let output = output.map_or_else(|| directory(&dirs[0], first), Path::to_path_buf);
    let store = host.waiting(|wait| Store::open_as(&output, &plan, meta(&metas, &plan, host), wait))?;
    let mut lost: Vec<Job> = Vec::new();
    let mut found: Vec<(Job, RunRecord)> = Vec::new();
    for job in plan.jobs() {
        for dir in dirs {
            store.copy(&plan, job, dir)?;
        }
        match store.load(&plan, job)? {
            Some(record) => found.push((job, record.slim())),
            None => lost.push(job),
        }
    }
    let (jobs, records): (Vec<Job>, Vec<RunRecord>) = found.into_iter().unzip();
    let summary = store.summarise(&plan, &jobs, &records)?;
    let parts: Vec<Option<Part>> = metas.iter().map(|meta| meta.shard).collect();
    Ok(Merged { summary, store, missing: missing(&plan, &lost, &parts) })
}

/// The default directory of the joined results.
fn directory(first: &Path, meta: &RunMeta) -> PathBuf {
    let end = meta.shard.map(|part| format!("-{}-of-{}", part.index, part.of));
    let whole = end.and_then(|end| Some(first.file_name()?.to_str()?.strip_suffix(&end)?.to_string()));
    let own = || Path::new("runs").join(format!("merged-{}", meta.hash));
    whole.filter(|name| !name.is_empty()).map_or_else(own, |name| first.with_file_name(name))
}

fn read(dir: &Path) -> Result<RunMeta, Failure> {
    match Meta::read(dir)? {
        Meta::Run(meta) if meta.kind.is_none() => Ok(*meta),
        _ => {
            let reason = "is not of forebay run or sweep".to_string();
            Err(StoreError::Damaged { path: dir.join("meta.json"), reason }.into())
        }
    }
}

/// Refuses results of another scenario or build than the first.
fn check(meta: &RunMeta, first: &RunMeta, (dir, other): (&Path, &Path)) -> Result<(), InputError> {
    let [dir, other] = [dir, other].map(|dir| dir.display().to_string());
    let refuse = |found: String, accepts: String| Err(InputError::new(dir.clone(), "", Found::thing(found), accepts));
    if meta.hash != first.hash {
        let found = format!("results of another scenario ({}, {})", meta.title, meta.hash);
        return refuse(found, format!("those of {other} ({}, {})", first.title, first.hash));
    }
    if meta.engine != first.engine {
        let found = format!("results of another build ({})", meta.engine);
        return refuse(found, format!("that of {other} ({}): run the shards with one program", first.engine));
    }
    Ok(())
}

/// `meta.json` of the joined results: that of the first directory, with all seeds and machines.
fn meta(metas: &[RunMeta], plan: &Plan, host: &Host<'_>) -> RunMeta {
    let mut meta = metas.first().cloned().unwrap_or_default();
    let machines = metas.iter().map(|meta| &meta.provenance.machine);
    meta.provenance.machine = machines.skip(1).fold(meta.provenance.machine.clone(), joined);
    meta.provenance.origin = host.origin.clone();
    RunMeta { seeds: plan.seeds.clone(), shard: None, ..meta }
}

/// Two machines in one: different values are listed, and the larger number of threads counts.
fn joined(all: Machine, one: &Machine) -> Machine {
    let join = |all: String, one: &String| {
        if all.split(", ").any(|known| known == one) { all } else { format!("{all}, {one}") }
    };
    let cpu = match (all.cpu, &one.cpu) {
        (Some(all), Some(one)) => Some(join(all, one)),
        (all, one) => all.or_else(|| one.clone()),
    };
    Machine {
        os: join(all.os, &one.os),
        arch: join(all.arch, &one.arch),
        kernel: join(all.kernel, &one.kernel),
        cpu,
        threads: all.threads.max(one.threads),
    }
}

/// The number of runs that no directory has, and the shards to which they belong.
fn missing(plan: &Plan, lost: &[Job], parts: &[Option<Part>]) -> Option<String> {
    if lost.is_empty() {
        return None;
    }
    let all = plan.jobs();
    let text = format!("{} of {} runs are missing", lost.len(), all.len());
    let counts: Vec<u32> = parts.iter().flatten().map(|part| part.of).collect();
    let shards = match counts.first() {
        Some(of) if counts.len() == parts.len() && counts.iter().all(|count| count == of) => {
            let parts = (1..=*of).map(|index| Part { index, of: *of });
            let lacks = |part: &Part| all.iter().enumerate().any(|(at, job)| part.has(at) && lost.contains(job));
            let names: Vec<String> = parts.filter(lacks).map(|part| part.to_string()).collect();
            format!(": repeat --shard {}", names.join(", "))
        }
        _ => String::new(),
    };
    Some(format!("{text}{shards}; the others are joined"))
}
