//! Upper estimate of memory and time of runs, made before they start, to refuse runs that are far too large. A case is
//! a combination of the values of the keys that vary; each runs with every compared discipline. A link under study is a
//! link whose results are recorded. On the fast path for drop-tail, a link computes a packet's departure at its
//! arrival.

use std::collections::BTreeSet;

use forebay_sim::app::Work;
use forebay_sim::network::{FlowSpec, Network, Traffic};

use crate::build::backlog::{self, Backlog};
use crate::run::plan::Plan;
use crate::scenario::Case;
use crate::{build::lower, report};

/// The largest memory and time of runs without `--force`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Budget {
    /// Bytes of memory.
    pub bytes: f64,
    /// Seconds until all runs end.
    pub seconds: f64,
}

impl Budget {
    /// Half of this machine's memory (4 GiB if unknown) and one day.
    pub fn of_this_machine() -> Self {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        // Memory limit of a container.
        let share = std::fs::read_to_string("/sys/fs/cgroup/memory.max").unwrap_or_default();
        let share = share.trim().parse::<f64>().unwrap_or(f64::INFINITY);
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB"));
        let total =
            total.and_then(|number| number.trim().parse::<f64>().ok()).map_or(UNKNOWN, |kib| kib * 1024.0).min(share);
        Self { bytes: total / 2.0, seconds: 86_400.0 }
    }
}

/// Assumed memory of a machine that does not report it, in bytes.
const UNKNOWN: f64 = 8.0 * 1024.0 * 1024.0 * 1024.0;
/// Bytes of the program's memory without flows, with its tables and its report. Measured: 12 to 24 MB.
const PROGRAM: f64 = 25e6;
/// Bytes per flow. Measured: 0.9 KB (docs/performance.md).
const FLOW: f64 = 2_000.0;
/// Bytes per queued packet: descriptor and segment, in buffers that double their capacity when they are full.
const WAITING: f64 = 136.0;
/// Bytes per packet in propagation.
const TRAVELLING: f64 = 64.0;
/// Bytes per number in a time series.
const NUMBER: f64 = 8.0;
/// Bytes per possible length of the queue of a link under study, during the run and in its stored results.
const LENGTH: f64 = 64.0;
/// Bytes per possible length of the queue of a link under study, while a report with the queue's distribution is built.
const SHOWN: f64 = 450.0;
/// Numbers per row of the time series of a link under study, those of the discipline's internal variables (probes)
/// included. Each requested service class adds three numbers, each class of traffic two, each requested series of
/// flows eight.
const COLUMNS: f64 = 16.0;
/// Bytes per completed file or segment of a video, in the simulator and in the stored results of the run together.
const COMPLETION: f64 = 64.0;
/// Bytes of the histograms of a class of traffic: sojourn times at each link by colour (IN or OUT of profile), one-way
/// delays, round-trip times, completion times of files.
const HISTOGRAMS: f64 = 60_000.0;
/// CPU seconds per packet at a link under study or without the drop-tail fast path, with its acknowledgement and all
/// other events. Measured: 0.1 to 1.3 us for up to 100,000 flows (docs/performance.md).
const EVENT: f64 = 0.5e-6;

/// Memory and time of runs, if each link under study or without the drop-tail fast path is always busy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Bytes of memory.
    pub bytes: f64,
    /// CPU time in seconds, of all threads together.
    pub seconds: f64,
}

/// The estimate of one run, and the bytes of memory of its part of a report.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Run {
    takes: Estimate,
    shown: f64,
}

/// The estimate of a run of this network.
fn of(net: &Network) -> Run {
    let secs = net.duration.secs();
    let shortest = net.flows.iter().map(|flow| f64::from(flow.packet)).fold(1500.0, f64::min).max(1.0);
    let (mut bytes, mut passed, mut lengths) = (0.0, 0.0, 0.0);
    for (link, Backlog { waiting, travelling }) in net.links.iter().zip(backlog::of(net)) {
        let mut held = WAITING * waiting;
        if link.lane.study {
            held += LENGTH * waiting;
            lengths += waiting;
        }
        if link.lane.study || !link.is_fast() {
            // The link is assumed to be busy all the time.
            let sent = link.lane.most_rate() / 8.0 / shortest * secs;
            passed += sent;
            held = held.max(TRAVELLING * backlog::room(link, 8.0 * shortest).min(sent));
        }
        bytes += held + TRAVELLING * travelling;
    }
    // Datagrams have no congestion control: they arrive even if the link cannot carry them.
    passed += net.flows.iter().map(|flow| datagrams(flow, secs)).sum::<f64>();
    let studied = net.links.iter().filter(|link| link.lane.study).count() as f64;
    let rows = net.duration.nanos() as f64 / net.sample.nanos().max(1) as f64;
    let bundles = net.flows.iter().map(|flow| flow.bundle).collect::<BTreeSet<u8>>().len() as f64;
    let columns = COLUMNS + 3.0 * net.classes.len() as f64 + 2.0 * (bundles + 1.0) + 8.0 * net.tracks.len() as f64;
    let series = rows * studied * columns * NUMBER;
    let files = net.flows.iter().map(|flow| files(flow, secs)).sum::<f64>().min(passed);
    let flows = net.flows.len() as f64;
    let bytes = FLOW * flows + bytes + series + COMPLETION * files + HISTOGRAMS * bundles;
    Run { takes: Estimate { bytes, seconds: EVENT * passed + 1e-6 * flows }, shown: SHOWN * lengths }
}

/// Number of files, or of segments of a video, that a flow completes in `secs` seconds if a transfer takes no time: only the
/// mean time between two files, or the playing time of a segment, counts.
fn files(flow: &FlowSpec, secs: f64) -> f64 {
    match &flow.traffic {
        Traffic::Application(_, Work::Files(files)) => {
            let most = files.count.map_or(f64::INFINITY, f64::from);
            most.min(secs / files.think.mean().max(1e-9))
        }
        Traffic::Application(_, Work::Page(page)) if page.number == 0 => {
            let most = page.files.count.map_or(f64::INFINITY, f64::from);
            most.min(secs / page.files.think.mean().max(1e-9))
        }
        Traffic::Application(_, Work::Video(video)) => secs / video.segment.secs().max(1e-9),
        _ => 0.0,
    }
}

/// Datagrams that a flow sends in `secs` seconds.
fn datagrams(flow: &FlowSpec, secs: f64) -> f64 {
    match &flow.traffic {
        Traffic::Datagrams(pattern) => pattern.mean_packets(secs),
        _ => 0.0,
    }
}

/// The estimate of all runs that a command asked for (a plan), `jobs` at a time: memory of the concurrent runs or of
/// their report, whichever is larger, and time until the last run ends.
pub fn estimate(plan: &Plan, jobs: usize) -> Estimate {
    let seed = plan.seeds.first().copied().unwrap_or(1);
    let of_case = |case: &Case| {
        // Costs of disciplines differ by far less than the error of this estimate, except for buffer sizes
        // (`hard_limit`).
        let mut buffers: Vec<(Option<String>, Run)> = Vec::new();
        let runs = case.scenario.compare.iter().map(|contender| {
            let buffer = contender.spec.get("hard_limit");
            if let Some((_, run)) = buffers.iter().find(|(known, _)| *known == buffer) {
                return *run;
            }
            let run = of(&lower::network(&case.scenario, &contender.spec, seed));
            buffers.push((buffer, run));
            run
        });
        runs.collect::<Vec<Run>>()
    };
    let cases: Vec<Vec<Run>> = plan.cases.iter().map(of_case).collect();
    let all = || cases.iter().flatten();
    let (seeds, largest) = (plan.seeds.len() as f64, all().map(|run| run.takes.bytes).fold(0.0, f64::max));
    let at_once = (jobs.max(1) as f64).min(all().count() as f64 * seeds);
    // After the runs, a report shows some cases, each with all its disciplines.
    let mut shown: Vec<f64> = cases.iter().map(|case| case.iter().map(|run| run.shown).sum()).collect();
    shown.sort_by(|a, b| b.total_cmp(a));
    Estimate {
        bytes: PROGRAM + (largest * at_once).max(shown.iter().take(report::CASES_OVER_TIME).sum::<f64>()),
        seconds: all().map(|run| run.takes.seconds).sum::<f64>() * seeds / at_once.max(1.0),
    }
}

/// Why runs are refused as too large.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excess {
    /// Memory or time that the runs take, as text.
    pub runs: String,
    /// The limit without `--force`, as text.
    pub most: String,
}

/// How the runs of `plan`, `jobs` at a time, exceed the budget; `None` if they do not. `real_s`: seconds that runs in
/// real time take in addition to the CPU time. `finished` returns how many runs are finished already and need not run
/// again.
pub fn excess(plan: &Plan, jobs: usize, real_s: f64, finished: impl FnOnce() -> usize) -> Option<Excess> {
    let (takes, budget) = (estimate(plan, jobs), Budget::of_this_machine());
    over(Estimate { seconds: takes.seconds + real_s, ..takes }, budget, jobs, || {
        let all = plan.jobs().len().max(1);
        all.saturating_sub(finished()) as f64 / all as f64
    })
}

/// How the runs of `plan`, `jobs` at a time, exceed a budget other than this machine's; `None` if they do not.
pub(crate) fn over_budget(plan: &Plan, jobs: usize, budget: Budget) -> Option<Excess> {
    let takes = estimate(plan, jobs);
    if takes.bytes > budget.bytes {
        let mib = |bytes: f64| format!("{} MiB", (bytes / f64::from(1u32 << 20)).ceil());
        let runs = format!("runs that take up to {} of memory", mib(takes.bytes));
        return Some(Excess { runs, most: format!("at most {}", mib(budget.bytes)) });
    }
    let seconds = |seconds: f64| format!("{} s", seconds.ceil());
    (takes.seconds > budget.seconds).then(|| Excess {
        runs: format!("runs that take up to {}", seconds(takes.seconds)),
        most: format!("at most {}", seconds(budget.seconds)),
    })
}

/// How `takes` exceeds the budget; `None` if it does not. `left` returns the fraction of the runs that remains. Only
/// this fraction of the time counts, but all of the memory.
fn over(takes: Estimate, budget: Budget, jobs: usize, left: impl FnOnce() -> f64) -> Option<Excess> {
    let left = if takes.bytes <= budget.bytes && takes.seconds <= budget.seconds { 0.0 } else { left() };
    if left == 0.0 {
        return None;
    }
    let seconds = takes.seconds * left;
    let gib = |bytes: f64| format!("{:.1} GiB", bytes / (1u64 << 30) as f64);
    // Rounded up, so that the text exceeds the limit too.
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
    use crate::load;
    use crate::scenario::Overrides;

    fn of_text(sets: &[&str]) -> Estimate {
        let text = include_str!("../tests/data/ftp.toml");
        let sets = sets.iter().map(ToString::to_string).collect();
        let overrides = Overrides { sets, ..Overrides::default() };
        let cases = load::parse("x.toml", text, &overrides).unwrap();
        estimate(&Plan::new(cases, 1, 3), 2)
    }

    #[test]
    fn estimated_time_grows_with_packets_and_runs() {
        // 10 Mbit/s are 83,333 packets of 1500 bytes in 100 s, and as many ACKs; six runs, two at a time.
        let small = of_text(&[]);
        assert!(small.seconds > 0.02 && small.seconds < 1.0, "{small:?}");
        let fast = of_text(&["topology.bottleneck.rate=10gbit"]);
        assert!(fast.seconds > 100.0 * small.seconds, "{fast:?}");
    }

    #[test]
    fn estimated_time_includes_dropped_datagrams() {
        let flood = "topology.access.rate=10gbit";
        let calm = of_text(&[flood]);
        let text = ["flows.ftp.kind=cbr", "flows.cbr.rate=10gbit"];
        let loud = of_text(&[flood, text[0], text[1]]);
        assert!(loud.seconds > 100.0 * calm.seconds, "{calm:?} {loud:?}");
    }

    #[test]
    fn time_estimate_counts_only_remaining_runs() {
        let budget = Budget { bytes: 1e9, seconds: 100.0 };
        let long = Estimate { bytes: 1e6, seconds: 1000.0 };
        assert_eq!(over(long, budget, 1, || 0.05), None);
        assert_eq!(over(long, budget, 1, || 0.0), None);
        assert!(over(long, budget, 1, || 0.5).is_some());
        // Memory does not depend on how many runs are left.
        let large = Estimate { bytes: 1e10, seconds: 1.0 };
        let words = over(large, budget, 2, || 0.01).unwrap();
        assert_eq!(words.runs, "runs that take up to 9.3 GiB of memory, 2 at a time");
        assert_eq!(words.most, "at most 0.9 GiB, half of this machine's");
    }

    #[test]
    fn estimated_memory_grows_with_flows_and_buffers() {
        let (few, many) = (of_text(&[]), of_text(&["flows.ftp.count=1000000"]));
        assert!(few.bytes < PROGRAM + 24e6 && many.bytes > 1e9, "{few:?} {many:?}");
        let deep = of_text(&["topology.bottleneck.queue=1000000000p", "topology.bottleneck.rate=10gbit"]);
        assert!(deep.bytes > 1e9 && deep.bytes < 1e12, "{deep:?}");
    }

    #[test]
    fn estimated_memory_includes_records_of_completed_transfers() {
        let topology = "kind = \"dumbbell\"\nbottleneck = { rate = \"10gbit\", delay = \"1ms\", queue = \"100p\" }\n\
             access = { hosts = 5, rate = \"10gbit\", delays = [\"1ms\"] }\negress = { delay = \"1ms\" }\n";
        let web = |think: &str| {
            format!(
                "[[flows]]\nkind = \"web\"\ncount = 1000\nsize = \"500b\"\nthink = {{ exponential = \"{think}\" }}\n"
            )
        };
        let (often, seldom) = (bytes_of(topology, &web("1ms")), bytes_of(topology, &web("10s")));
        // A file per millisecond and flow in 20 s, at 64 bytes each.
        assert!(often - seldom > 0.9 * 64.0 * 20e6, "{often:e} {seldom:e}");
    }

    /// Estimated bytes of a run of 20 s on this topology with these flows.
    fn bytes_of(topology: &str, flows: &str) -> f64 {
        let text = format!("version = 1\nduration = \"20s\"\npacket = 500\n[topology]\n{topology}\n{flows}");
        let cases = load::parse("x.toml", &text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
        estimate(&Plan::new(cases, 1, 1), 1).bytes
    }

    const HUGE: &str = "queue = \"4000000000p\"";
    /// Ten sources of 41-byte packets at 300 Mbit/s: 9.1 million packets per second.
    const FLOOD: &str = "[[flows]]\nkind = \"cbr\"\nrate = \"300mbit\"\npacket = 41\ncount = 10\n";
    /// Lower bound of the estimate if all packets of [`FLOOD`] stay in a queue: 9 million per second for 20 s, each
    /// with 48 bytes of memory.
    const FLOODED: f64 = 48.0 * 9e6 * 20.0;

    #[test]
    fn estimated_memory_includes_datagrams_queued_at_any_link() {
        let bell = |bottleneck: &str, access: &str, egress: &str| {
            format!(
                "kind = \"dumbbell\"\nbottleneck = {{ rate = \"10mbit\", delay = \"10ms\", {bottleneck} }}\n\
                 access = {{ hosts = 5, delays = [\"10ms\"], {access} }}\negress = {{ delay = \"10ms\", {egress} }}\n"
            )
        };
        let (small, slow, fast) = ("queue = \"100p\"", "rate = \"10mbit\"", "rate = \"10gbit\"");
        let access = bell(small, &format!("{slow}, {HUGE}"), slow);
        assert!(bytes_of(&access, FLOOD) > FLOODED, "{:e}", bytes_of(&access, FLOOD));
        // The same sources over fast links into a small buffer need no memory.
        assert!(bytes_of(&bell(small, fast, slow), FLOOD) < PROGRAM + 24e6);
        let bottleneck = bell(HUGE, fast, slow);
        assert!(bytes_of(&bottleneck, FLOOD) > FLOODED, "{:e}", bytes_of(&bottleneck, FLOOD));
        let own = bell(&format!("{small}, aqm = \"droptail hard_limit=1000000000p\""), fast, slow);
        assert!(bytes_of(&own, FLOOD) > FLOODED, "{:e}", bytes_of(&own, FLOOD));
        // Behind a bottleneck of 10 Gbit/s: 5 links of 1 Mbit/s.
        let wide = bell(small, fast, &format!("rate = \"1mbit\", {HUGE}")).replace("10mbit", "10gbit");
        assert!(bytes_of(&wide, FLOOD) > FLOODED, "{:e}", bytes_of(&wide, FLOOD));
        let back = bell(&format!("{small}, reverse = {{ {HUGE} }}"), fast, fast);
        assert!(bytes_of(&back, FLOOD) < PROGRAM + 24e6, "nothing goes that way");
        let turned = FLOOD.replace("count = 10", "count = 10\ndirection = \"reverse\"");
        assert!(bytes_of(&back, &turned) > FLOODED, "{:e}", bytes_of(&back, &turned));
    }

    #[test]
    fn estimate_finds_backlog_in_parking_lots_and_graphs() {
        let lot = |middle: &str| {
            let one = |name: &str, more: &str| format!("{{ name = \"{name}\", delay = \"1ms\", {more} }}");
            let links = [one("a", "rate = \"10gbit\", queue = \"10p\""), one("b", middle)].join(", ");
            let ends = "access = { rate = \"10gbit\", delays = [\"1ms\"] }\negress = { delay = \"1ms\" }";
            format!("kind = \"parking-lot\"\nbottlenecks = [{links}]\n{ends}\n")
        };
        let middle = lot(&format!("rate = \"10mbit\", {HUGE}"));
        assert!(bytes_of(&middle, FLOOD) > FLOODED, "{:e}", bytes_of(&middle, FLOOD));
        // Overload before the bottleneck limits it: 10 Mbit/s let 30,000 packets per second through.
        let after = middle.replacen("10gbit", "10mbit", 1).replacen("10p", "20p", 1);
        let held = bytes_of(&after, FLOOD);
        assert!(held < 0.1 * FLOODED, "{held:e}");
        let graph = format!(
            "kind = \"graph\"\nnodes = [\"a\", \"b\", \"c\"]\n\
             [[topology.links]]\nname = \"in\"\nfrom = \"a\"\nto = \"b\"\nrate = \"10gbit\"\ndelay = \"1ms\"\nqueue = \"10p\"\nstudy = true\n\
             [[topology.links]]\nname = \"out\"\nfrom = \"b\"\nto = \"c\"\nrate = \"10mbit\"\ndelay = \"1ms\"\n{HUGE}\n"
        );
        let flows = FLOOD.replace("count = 10", "count = 10\nfrom = \"a\"\nto = \"c\"");
        assert!(bytes_of(&graph, &flows) > FLOODED, "{:e}", bytes_of(&graph, &flows));
    }

    #[test]
    fn estimate_fills_buffers_of_slow_or_stopped_links() {
        let bell = |wire: &str, access: &str| {
            format!(
                "kind = \"dumbbell\"\nbottleneck = {{ rate = \"10gbit\", delay = \"1ms\", queue = \"10p\" }}\n\
                 access = {{ hosts = 5, delays = [\"1ms\"], {access}{wire}, {HUGE} }}\negress = {{ delay = \"1ms\" }}\n"
            )
        };
        let rate = "rate = \"10gbit\"";
        assert!(bytes_of(&bell("", rate), FLOOD) < PROGRAM + 24e6);
        let down = bell(", rate_steps = [[\"5s\", 0]]", rate);
        assert!(bytes_of(&down, FLOOD) > 0.75 * FLOODED, "{:e}", bytes_of(&down, FLOOD));
        let levels = bell(", rate_levels = { rates = [\"1mbit\", \"10gbit\"], hold = \"20s\" }", rate);
        assert!(bytes_of(&levels, FLOOD) > FLOODED, "{:e}", bytes_of(&levels, FLOOD));
        // One packet per millisecond: 12 Mbit/s.
        let trace = bell("rate_trace = [1]", "");
        assert!(bytes_of(&trace, FLOOD) > 0.95 * FLOODED, "{:e}", bytes_of(&trace, FLOOD));
        // A link that becomes fast later delivers more to the next one.
        let later = bell(", rate_steps = [[\"5s\", \"10gbit\"]]", "rate = \"1mbit\"").replace(HUGE, "queue = \"10p\"");
        let later = later.replacen(
            "\"10gbit\", delay = \"1ms\", queue = \"10p\"",
            &format!("\"10mbit\", delay = \"1ms\", {HUGE}"),
            1,
        );
        assert!(bytes_of(&later, FLOOD) > 0.75 * FLOODED, "{:e}", bytes_of(&later, FLOOD));
    }

    #[test]
    fn estimated_memory_includes_tcp_windows_and_propagating_packets() {
        let bell = |delay: &str, access: &str| {
            format!(
                "kind = \"dumbbell\"\nbottleneck = {{ rate = \"100gbit\", delay = \"{delay}\", queue = \"100p\" }}\n\
                 access = {{ hosts = 5, delays = [\"1ms\"], {access} }}\negress = {{ rate = \"100gbit\", delay = \"1ms\" }}\n"
            )
        };
        let flows = "[[flows]]\nkind = \"ftp\"\ncount = 50\n";
        // Unlimited TCP windows and buffers: slow start sends one extra packet per packet delivered.
        let deep = bell("1ms", &format!("rate = \"10gbit\", {HUGE}"));
        let carried = 5.0 * 10e9 / 4000.0 * 20.0;
        assert!(bytes_of(&deep, flows) > 48.0 * carried, "{:e}", bytes_of(&deep, flows));
        let bounded = flows.replace("count = 50", "count = 50\nwindow = 64");
        assert!(bytes_of(&deep, &bounded) < 0.2 * bytes_of(&deep, flows), "{:e}", bytes_of(&deep, &bounded));
        // 20 Gbit/s over five seconds are 25 million packets in propagation.
        let long = bell("5s", "rate = \"10gbit\", queue = \"100p\"");
        let cbr = "[[flows]]\nkind = \"cbr\"\nrate = \"4gbit\"\npacket = 500\ncount = 5\n";
        assert!(bytes_of(&long, cbr) > 32.0 * 25e6, "{:e}", bytes_of(&long, cbr));
        let thin = cbr.replace("4gbit", "1mbit");
        assert!(bytes_of(&long, &thin) < 0.5 * bytes_of(&long, cbr), "{:e}", bytes_of(&long, &thin));
    }

    #[test]
    fn known_scenarios_need_little_memory_and_time() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folders = ["papers/msc", "papers/aaqm", "papers/raqm", "papers/red-tail", "papers/msvb", "examples"];
        let files = folders.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
        for file in files.map(|file| file.unwrap().path()) {
            let Ok(cases) = load::file(&file, &Overrides::default()) else { continue };
            let takes = estimate(&Plan::new(cases, 1, 1), 1);
            assert!(takes.bytes < 300e6 && takes.seconds < 3600.0, "{}: {takes:?}", file.display());
        }
    }

    /// Runs whose estimate exceeds the time or the memory of `Budget::of_this_machine` are refused.
    #[test]
    fn run_budget_has_day_and_100_megabytes() {
        let budget = Budget::of_this_machine();
        assert!(budget.bytes > 1e8 && budget.seconds == 86_400.0);
    }
}
