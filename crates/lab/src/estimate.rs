//! What runs will take, before they begin: a guess from above, for the refusal of what nobody means.

use crate::lower;
use crate::plan::Plan;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Limit;
use forebay_sim::network::{FlowSpec, LinkSpec, Network, Traffic};
use forebay_sim::source::Pattern;

/// What may be taken without being asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Budget {
    /// Bytes of memory.
    pub bytes: f64,
    /// Seconds.
    pub seconds: f64,
}

impl Budget {
    /// Half of this machine's memory, or 4 GiB where that is not known, and a day.
    pub fn of_this_machine() -> Self {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        // What a container may have of it.
        let share = std::fs::read_to_string("/sys/fs/cgroup/memory.max").unwrap_or_default();
        let share = share.trim().parse::<f64>().unwrap_or(f64::INFINITY);
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB"));
        let total =
            total.and_then(|number| number.trim().parse::<f64>().ok()).map_or(UNKNOWN, |kib| kib * 1024.0).min(share);
        Self { bytes: total / 2.0, seconds: 86_400.0 }
    }
}

/// Memory of a machine that does not say.
const UNKNOWN: f64 = 8.0 * 1024.0 * 1024.0 * 1024.0;
/// Bytes of a program without flows, of a flow (docs/performance.md: 0.9 KB), of a packet under way or in a queue, and of a
/// number in a series.
const PROGRAM: f64 = 6e6;
const FLOW: f64 = 2_000.0;
const PACKET: f64 = 64.0;
const NUMBER: f64 = 8.0;
/// Numbers in a row of the series at a link under study, probes included; a class has three more.
const COLUMNS: f64 = 16.0;
/// Seconds of a packet through a link under study, with its acknowledgement and everything on the way (docs/performance.md: 0.1
/// to 1.3 us for up to 100,000 flows).
const EVENT: f64 = 0.5e-6;

/// What runs take, if the links that matter are always busy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Bytes of memory.
    pub bytes: f64,
    /// Seconds of a processor.
    pub seconds: f64,
}

/// The run of this network.
fn of(net: &Network) -> Estimate {
    let shortest = net.flows.iter().map(|flow| f64::from(flow.packet)).fold(1500.0, f64::min).max(1.0);
    let (mut waiting, mut passed) = (0.0, 0.0);
    for link in &net.links {
        let most = most_rate(link) / 8.0 / shortest;
        let room = match link.limit {
            Limit::Packets(n) => f64::from(n),
            Limit::Bytes(bytes) => bytes as f64 / shortest,
        };
        let sent = most * net.duration.secs();
        if link.study || link.discipline.is_some() {
            // No queue holds more than what could ever come.
            waiting += PACKET * (most * link.delay.secs() + room.min(sent));
            passed += sent;
        } else {
            // Other lines are as a rule idle, and keep a number for each packet under way.
            waiting += NUMBER * most * link.delay.secs();
        }
    }
    // What nobody controls comes also where the link has no room for it.
    passed += net.flows.iter().map(|flow| datagrams(flow, net.duration.secs())).sum::<f64>();
    let studied = net.links.iter().filter(|link| link.study).count() as f64;
    let rows = net.duration.nanos() as f64 / net.sample.nanos().max(1) as f64;
    let series = rows * studied * (COLUMNS + 3.0 * net.classes.len() as f64) * NUMBER;
    Estimate {
        bytes: PROGRAM + FLOW * net.flows.len() as f64 + waiting + series,
        seconds: EVENT * passed + 1e-6 * net.flows.len() as f64,
    }
}

/// The datagrams that a flow sends in so many seconds.
fn datagrams(flow: &FlowSpec, secs: f64) -> f64 {
    let Traffic::Datagrams(pattern) = &flow.traffic else { return 0.0 };
    let of = |every: Span| secs / every.secs().max(1e-9);
    let share = |on: Span, off: Span| on.secs() / (on.secs() + off.secs()).max(1e-9);
    match pattern {
        Pattern::Constant { every } | Pattern::Poisson { every, .. } => of(*every),
        Pattern::OnOff { every, on, off } | Pattern::Pareto { every, on, off, .. } => of(*every) * share(*on, *off),
        Pattern::Chain { chain, .. } => secs * chain.most_per_second(),
        Pattern::Replay(replay) => {
            let items = replay.recording.items();
            let round = items.last().map_or(0.0, |(at, _)| at.secs()).max(1e-3);
            items.len() as f64 * if replay.repeat { (secs / round).max(1.0) } else { 1.0 }
        }
    }
}

/// The most that a link ever sends in a second, in bits.
fn most_rate(link: &LinkSpec) -> f64 {
    let own = link.rate.0 as f64;
    let drawn = link.conditions.levels.as_ref().map_or(0.0, |levels| levels.most().0 as f64);
    let second = Instant::from_nanos(1_000_000_000);
    let planned = link.conditions.schedule.as_ref().map_or(0.0, |schedule| schedule.bits(Instant::ZERO, second));
    own.max(drawn).max(planned)
}

/// What all runs of a plan take on `jobs` processors: memory of those that run at once, and time until the last has ended.
pub fn estimate(plan: &Plan, jobs: usize) -> Estimate {
    let seed = plan.seeds.first().copied().unwrap_or(1);
    let of_case = |case: &crate::scenario::Case| {
        // Disciplines differ in what they cost by far less than the estimate is wrong.
        let first = case.scenario.compare.first()?;
        let one = of(&lower::network(&case.scenario, &first.spec, seed));
        Some((one, case.scenario.compare.len() as f64))
    };
    let all: Vec<(Estimate, f64)> = plan.cases.iter().filter_map(of_case).collect();
    let at_once = jobs.max(1) as f64;
    let runs: f64 = all.iter().map(|(_, contenders)| contenders).sum::<f64>() * plan.seeds.len() as f64;
    Estimate {
        bytes: all.iter().map(|(one, _)| one.bytes).fold(0.0, f64::max) * at_once.min(runs),
        seconds: all.iter().map(|(one, contenders)| one.seconds * contenders).sum::<f64>() * plan.seeds.len() as f64
            / at_once.min(runs.max(1.0)),
    }
}

/// What is too much for this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excess {
    /// What the runs are, in words.
    pub runs: String,
    /// The most that may be without being asked for.
    pub most: String,
}

/// Would these runs, `jobs` at a time, be too much? `real_s` seconds pass besides on the machine's own clock. `finished` says
/// how many are there already, and need not be run again.
pub fn excess(plan: &Plan, jobs: usize, real_s: f64, finished: impl FnOnce() -> usize) -> Option<Excess> {
    let (takes, budget) = (estimate(plan, jobs), Budget::of_this_machine());
    over(Estimate { seconds: takes.seconds + real_s, ..takes }, budget, jobs, || {
        let all = plan.jobs().len().max(1);
        all.saturating_sub(finished()) as f64 / all as f64
    })
}

/// Does it take more than it may, if this share of it is left?
fn over(takes: Estimate, budget: Budget, jobs: usize, left: impl FnOnce() -> f64) -> Option<Excess> {
    let left = if takes.bytes <= budget.bytes && takes.seconds <= budget.seconds { 0.0 } else { left() };
    if left == 0.0 {
        return None;
    }
    let seconds = takes.seconds * left;
    let gib = |bytes: f64| format!("{:.1} GiB", bytes / (1u64 << 30) as f64);
    // Rounded up: what is refused is more than what may be.
    let hours = |seconds: f64| format!("{} hours", (seconds / 3600.0).ceil());
    if takes.bytes > budget.bytes {
        let runs = format!("runs that take up to {} of memory, {jobs} at a time", gib(takes.bytes));
        return Some(Excess { runs, most: format!("at most {}, half of this machine's", gib(budget.bytes)) });
    }
    (seconds > budget.seconds).then(|| Excess {
        runs: format!("runs that take up to {}, {jobs} at a time", hours(seconds)),
        most: format!("at most {}", hours(budget.seconds)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{self, Overrides};

    fn of_text(sets: &[&str]) -> Estimate {
        let text = r#"
            version = 1
            duration = "100s"
            [topology]
            kind = "dumbbell"
            bottleneck = { rate = "10mbit", delay = "10ms", queue = "100p" }
            access = { hosts = 5, rate = "10mbit", delays = ["10ms"] }
            egress = { rate = "10mbit", delay = "10ms" }
            [[flows]]
            kind = "ftp"
            [compare]
            aqm = ["droptail", "pi"]
        "#;
        let sets = sets.iter().map(ToString::to_string).collect();
        let overrides = Overrides { sets, ..Overrides::default() };
        let cases = scenario::parse("x.toml", text, &overrides).unwrap();
        estimate(&Plan::new(cases, 1, 3), 2)
    }

    #[test]
    fn time_goes_by_packets_and_runs() {
        // 10 Mb/s of 1500 bytes are 83,333 packets in 100 s, once each way; six runs on two processors.
        let small = of_text(&[]);
        assert!(small.seconds > 0.02 && small.seconds < 1.0, "{small:?}");
        let fast = of_text(&["topology.bottleneck.rate=10gbit"]);
        assert!(fast.seconds > 100.0 * small.seconds, "{fast:?}");
    }

    #[test]
    fn what_finds_no_room_takes_time_too() {
        let flood = "topology.access.rate=10gbit";
        let calm = of_text(&[flood]);
        let text = ["flows.ftp.kind=cbr", "flows.cbr.rate=10gbit"];
        let loud = of_text(&[flood, text[0], text[1]]);
        assert!(loud.seconds > 100.0 * calm.seconds, "{calm:?} {loud:?}");
    }

    #[test]
    fn what_is_left_counts() {
        let budget = Budget { bytes: 1e9, seconds: 100.0 };
        let long = Estimate { bytes: 1e6, seconds: 1000.0 };
        assert_eq!(over(long, budget, 1, || 0.05), None);
        assert_eq!(over(long, budget, 1, || 0.0), None);
        assert!(over(long, budget, 1, || 0.5).is_some());
        // Memory is that of any one run.
        let large = Estimate { bytes: 1e10, seconds: 1.0 };
        let words = over(large, budget, 2, || 0.01).unwrap();
        assert_eq!(words.runs, "runs that take up to 9.3 GiB of memory, 2 at a time");
        assert_eq!(words.most, "at most 0.9 GiB, half of this machine's");
    }

    #[test]
    fn memory_goes_by_flows_and_buffers() {
        let (few, many) = (of_text(&[]), of_text(&["flows.ftp.count=1000000"]));
        assert!(few.bytes < 30e6 && many.bytes > 1e9, "{few:?} {many:?}");
        let deep = of_text(&["topology.bottleneck.queue=1000000000p", "topology.bottleneck.rate=10gbit"]);
        assert!(deep.bytes > 1e9 && deep.bytes < 1e12, "{deep:?}");
    }

    #[test]
    fn nothing_that_the_papers_run_is_refused() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folders = ["papers/msc", "papers/aaqm", "papers/raqm", "papers/red-tail", "papers/msvb", "examples"];
        let files = folders.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
        for file in files.map(|file| file.unwrap().path()) {
            let Ok(cases) = scenario::load(&file, &Overrides::default()) else { continue };
            let takes = estimate(&Plan::new(cases, 1, 1), 1);
            assert!(takes.bytes < 300e6 && takes.seconds < 3600.0, "{}: {takes:?}", file.display());
        }
    }

    #[test]
    fn this_machine_has_a_budget() {
        let budget = Budget::of_this_machine();
        assert!(budget.bytes > 1e8 && budget.seconds == 86_400.0);
    }
}
