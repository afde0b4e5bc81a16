//! The command-line arguments. Other files of this folder have the arguments that several commands share, and those of
//! commands with many arguments.

mod attach;
pub(crate) mod batch;
pub(crate) mod link;
mod packetdrill;
mod shell;
pub(crate) mod theory;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, value_parser};
use forebay_aqm::base::nearest::nearest;
use forebay_lab::bench;
use forebay_lab::commands::advise::DECIDING_SEED;
use forebay_lab::commands::list::Topic;
use forebay_lab::render::look::Look;

pub(crate) use attach::{AttachArgs, DetachArgs, TopArgs};
use batch::{BatchArgs, GridArgs, Jobs};
use link::LinkArgs;
pub(crate) use packetdrill::PacketdrillArgs;
pub(crate) use shell::{CompletionsArgs, ManArgs};
use theory::TheoryArgs;

use crate::failure::Exit;

use crate::program::Program;
use crate::render::output::{Ui, columns};

/// A laboratory for Active Queue Management.
#[derive(Parser, Debug)]
#[command(name = "forebay", version = env!("FOREBAY_VERSION"), arg_required_else_help = true)]
#[command(after_help = "Examples:
  forebay list                                 disciplines, traffic, papers, ...
  forebay explain raqm                         rule, parameters, probes, presets
  forebay run scenario.toml                    simulate, compare, report
  forebay sweep case.toml --vary q=20..60/5    run over a range of values
  forebay reproduce raqm --quick               check the claims of a paper

Exit codes: 0 done; 1 a run failed; 2 wrong input; 3 a claim did not hold (--strict); \
4 not possible on this machine; 130 interrupted, finished results are kept.")]
pub(crate) struct Cli {
    /// Print one JSON document on stdout and nothing else.
    #[arg(long, global = true, display_order = 900)]
    pub(crate) json: bool,
    /// Print only results and errors, no progress or notes.
    #[arg(short, long, global = true, display_order = 901)]
    pub(crate) quiet: bool,
    /// The command to run.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands of `forebay`.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// List disciplines, congestion controls, traffic, topologies, scenario files, and papers that can be reproduced.
    List(ListArgs),
    /// Explain a queue discipline, a marker (it marks or colours packets, e.g. a token bucket), a congestion control or
    /// a kind of traffic.
    Explain(ExplainArgs),
    /// Run a scenario: all its disciplines, with the same seeds.
    Run(RunArgs),
    /// Run a scenario with each combination of values of the keys that vary; print one table, a row per combination.
    Sweep(SweepArgs),
    /// Find out which discipline of Linux suits a line, and print the tc commands.
    Advise(AdviseArgs),
    /// Run a suite of experiments, such as those of RFC 7928, and check its claims.
    Evaluate(EvaluateArgs),
    /// Register the claims of a suite before its runs.
    Claims(ClaimsArgs),
    /// Reproduce a paper's experiments and check its claims.
    Reproduce(ReproduceArgs),
    /// Try values for the settings that a paper does not state; report under which of them its claims hold.
    Readings(ReadingsArgs),
    /// Evaluate analytical models of a scenario (no packets are simulated).
    Theory(TheoryArgs),
    /// Find parameters of a discipline with which the fluid model meets aims (bounds on the queue or on the delay, gain
    /// and phase margins), then check them in simulation.
    Tune(TuneArgs),
    /// Rebuild DIR/report.html from the results in DIR.
    Report(ReportArgs),
    /// Write one figure of the results in DIR as a picture for a paper; without --figure list the figures.
    Plot(PlotArgs),
    /// Change a scenario in a browser with sliders, and see its simulation at once.
    Studio(StudioArgs),
    /// Join the results of `run` or `sweep` with --shard: every run that one of the directories has.
    Merge(MergeArgs),
    /// Compare the results of several directories in one table.
    Compare(CompareArgs),
    /// Run packetdrill scripts on the simulator's TCP sender and receiver, and compare packet by packet.
    Packetdrill(PacketdrillArgs),
    /// Measure the speed of the simulator with fixed benchmark scenarios.
    Bench(BenchArgs),
    /// Run a command behind an emulated link: its real packets pass the same disciplines as in the simulator.
    Link(Box<LinkArgs>),
    /// Check what this machine supports, and how to add what is missing.
    #[command(after_help = "Examples:\n  forebay doctor\n  forebay doctor --json | jq .link")]
    Doctor,
    /// Run an AQM control law on a network device (root qdisc + BPF program that marks or drops).
    Attach(AttachArgs),
    /// Undo attach: restore the device's previous qdisc.
    Detach(DetachArgs),
    /// Show the current state of the devices on which `forebay attach` runs a control law.
    Top(TopArgs),
    /// Print a script with which a shell completes the arguments of forebay.
    Completions(CompletionsArgs),
    /// Print the manual page, or write one page per command.
    Man(ManArgs),
}

/// Accepts the name of a topic that `forebay list` can show.
fn topics() -> impl TypedValueParser<Value = Topic> {
    let words = Topic::ALL.map(|topic| PossibleValue::new(topic.word()).help(topic.summary()));
    PossibleValuesParser::new(words).try_map(|word| Topic::ALL.into_iter().find(|t| t.word() == word).ok_or("no topic"))
}

/// Arguments of `list`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay list
  forebay list disciplines
  forebay list scenarios --json")]
pub(crate) struct ListArgs {
    /// What to list (default: everything).
    #[arg(value_parser = topics())]
    pub(crate) topic: Option<Topic>,
}

/// Arguments of `explain`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay explain raqm
  forebay explain short-tcp
  forebay explain codel --json")]
pub(crate) struct ExplainArgs {
    /// Name of a discipline, marker (such as token-bucket), congestion control or kind of traffic, as `forebay list`
    /// prints it.
    #[arg(required_unless_present = "tc", conflicts_with = "tc")]
    pub(crate) name: Option<String>,
    /// Print the command of tc(8) that sets this discipline on a Linux box, and what differs there.
    #[arg(long, value_name = "SPEC")]
    pub(crate) tc: Option<String>,
}

/// Arguments of `run`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay run case1.toml
  forebay run case1.toml --aqm \"raqm q0=50\" --aqm \"pi preset=ns2 q_ref=50\" \\
      --aqm droptail
  forebay run case1.toml --set topology.bottleneck.rate=15mbit \\
      --set flows.ftp.count=400
  forebay run case1.toml --set 'vary.q=[20, 30, 40]' \\
      --aqm \"raqm q0={q}\" --runs 10
  forebay run case1.toml --seed 7 --runs 1 --json | \\
      jq '.runs[0].queue_pkts.mean'
  forebay run examples/real.toml --on kernel --runs 1
  forebay run examples/mobile.toml --on linux --link outside

Finished runs are kept. Repeat the command to resume after an interruption or to add seeds (larger --runs).")]
pub(crate) struct RunArgs {
    /// Backend: simulator, kernel (real TCP of this machine), or linux (a Linux kernel in virtual time). The last two
    /// also simulate, for comparison.
    #[arg(long, value_enum, default_value_t = On::Simulator, hide_possible_values = true)]
    pub(crate) on: On,
    /// With --on linux, where the links are: inside (qdiscs of the kernel) or outside (links of the simulator: also traces
    /// and radio links, ten times the CPU time). Default: inside.
    #[arg(long, value_enum, hide_possible_values = true)]
    pub(crate) link: Option<Links>,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
}

/// Where the links of a run on a Linux kernel in virtual time are.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Links {
    /// In the kernel: qdiscs.
    #[default]
    Inside,
    /// Outside of the kernel: the simulator's.
    Outside,
}

/// Where runs take place.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum On {
    /// Simulate.
    Simulator,
    /// Run on this machine's kernel, and simulate for comparison.
    Kernel,
    /// Run on a Linux kernel in virtual time, and simulate for comparison.
    Linux,
}

/// Arguments of `sweep`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay sweep case1.toml --vary flows.ftp.count=5,50,150
  forebay sweep case1.toml --vary topology.bottleneck.rate=10mbit..50mbit/5 \\
      --aqm \"raqm q0=50\" --aqm droptail
  forebay sweep case1.toml --vary q=20..60/5 --aqm \"raqm q0={q}\" --runs 10
  forebay sweep case1.toml --vary flows.ftp.count=5..150/30 --json | \\
      jq '.compare.cases[].contenders[0].mean'

VALUES is a list a,b,c, a range LO..HI/N (N equally spaced values, both ends included), or both: 5,10..50/5,100. \
PATH is a key of the scenario as in --set (flows.*.count: in every group), or a name used as {name} in a string of \
the scenario or of --aqm.
Several --vary, and the keys in [vary] of the file, form a grid; the last key varies fastest. --vary replaces a key \
of [vary] with the same path.

Finished runs are kept. Repeat the command to resume after an interruption or to add seeds (larger --runs).")]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) grid: GridArgs,
}

/// Arguments of `reproduce`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay reproduce raqm
  forebay reproduce raqm --quick
  forebay reproduce -o results        every paper, and results/index.html
  forebay reproduce RAQM-1a RAQM-1b -o runs/case1
  forebay reproduce --quick --strict --json")]
pub(crate) struct ReproduceArgs {
    /// Papers as in `forebay list papers`, or ids of single claims of a paper, such as RAQM-1a (default: all papers).
    #[arg(value_name = "PAPER|CLAIM")]
    pub(crate) names: Vec<String>,
    /// Run 3 seeds instead of 10. Verdicts are then provisional. The paper's claims.toml can set another number for
    /// --quick.
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Run 30 seeds instead of 10. The paper's claims.toml can set another number for --full.
    #[arg(long)]
    pub(crate) full: bool,
    /// Output directory; with several papers it has a subdirectory for each, and an index.html.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Exit with 3 if a claim does not hold.
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

/// Arguments of `advise`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay advise --rate 100mbit --up 20mbit --rtts 20ms..80ms --overhead docsis
  forebay advise --rate 1gbit --rtts 5ms..40ms --profile office --device eth1
  forebay advise --rate 30mbit --up 10mbit --rtts rtts.txt --l4s --json

--rate and --up are the rates at which the box sends. If the queue is in a modem, give 95 % of the line's rates, so that \
the queue moves into the box.")]
pub(crate) struct AdviseArgs {
    /// Rate of the downlink, such as 100mbit.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: String,
    /// Rate of the uplink (default: that of the downlink).
    #[arg(long, value_name = "RATE")]
    pub(crate) up: Option<String>,
    /// Round-trip times of the traffic: two times such as 20ms..80ms, one time, or a file with one in each line.
    #[arg(long, value_name = "TIMES|FILE")]
    pub(crate) rtts: String,
    /// What the link adds to a packet, as tc-cake(8) writes it: docsis, ethernet, pppoe-ptm, 44, ...
    #[arg(long, value_name = "KEYWORDS")]
    pub(crate) overhead: Option<String>,
    /// Bulk flows that are active at once; a quarter of them go up (default: by the profile).
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=10_000))]
    pub(crate) flows: Option<u32>,
    /// Half of the downloads are TCP Prague; tries DualPI2 and FQ-CoDel with ce_threshold.
    #[arg(long)]
    pub(crate) l4s: bool,
    /// Who uses the line.
    #[arg(long, value_name = "PROFILE", default_value = "household", value_parser = ["household", "office", "uplink"])]
    pub(crate) profile: String,
    /// Simulate this scenario in place of that of the profile.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["profile", "flows"])]
    pub(crate) scenario: Option<PathBuf>,
    /// Name of the device in the commands.
    #[arg(long, value_name = "DEV", default_value = "eth0")]
    pub(crate) device: String,
    /// Number of seeds that decide (default: 10, on a fast line 6).
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(2..=1000))]
    pub(crate) runs: Option<u64>,
    /// First of the seeds that decide; another one repeats the ranking with other random numbers.
    #[arg(long, value_name = "SEED", default_value_t = DECIDING_SEED)]
    #[arg(value_parser = value_parser!(u64).range(1000..=1_000_000_000))]
    pub(crate) seed: u64,
    /// Output directory of the deciding runs (default: runs/advise-HASH).
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

/// Arguments of `evaluate`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay evaluate l4s --quick
  forebay evaluate rfc7928 --aqm fq_codel --aqm 'pie target=5ms'
  forebay evaluate l4s L4S-09 L4S-25 -o results
  forebay evaluate ./my-suite --full --strict --json

A suite is a folder with claims.toml and scenario files, in the format of docs/claims.md.")]
pub(crate) struct EvaluateArgs {
    /// Name of a suite as in `forebay list suites`, or the path of a folder.
    #[arg(value_name = "SUITE")]
    pub(crate) suite: String,
    /// Ids of claims or sections (default: all).
    #[arg(value_name = "CLAIM")]
    pub(crate) names: Vec<String>,
    /// Discipline to test, with its parameters; repeat it for several (default: those of the suite).
    #[arg(long, value_name = "AQM")]
    pub(crate) aqm: Vec<String>,
    /// Run fewer seeds, and leave out the sections that take long.
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Run more seeds.
    #[arg(long)]
    pub(crate) full: bool,
    /// Output directory (default: runs/evaluate-SUITE).
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Exit with 3 if a claim does not hold for a discipline.
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

/// Arguments of `readings`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay readings raqm
  forebay readings raqm --readings 200 --confirm 0
  forebay readings msc --budget 3600 --json

A reading is a combination of values for the settings that the paper does not state. papers/PAPER/readings.toml has \
these settings and their candidate values. Results are kept: repeat the command to resume after an interruption, or to \
try more readings (larger --readings).")]
pub(crate) struct ReadingsArgs {
    /// Name of a paper, as in `forebay list papers`.
    #[arg(value_name = "PAPER")]
    pub(crate) paper: String,
    /// Number of readings (combinations of values) to try.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = value_parser!(u64).range(1..=10_000_000))]
    pub(crate) readings: u64,
    /// Number of seeds with which each reading is simulated.
    #[arg(long, visible_alias = "runs", value_name = "N", default_value_t = 1)]
    #[arg(value_parser = value_parser!(u64).range(1..=1000))]
    pub(crate) seeds: u64,
    /// Number of further seeds with which the best readings (under which most claims hold) are simulated again; with 0
    /// they are not.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = value_parser!(u64).range(0..=10_000))]
    pub(crate) confirm: u64,
    /// Stop the search after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..))]
    pub(crate) budget: Option<u64>,
    /// Output directory (default: runs/readings-PAPER).
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

/// Arguments of `tune`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay tune case1.toml --aqm pi --for 'delay-margin>=50ms' \\
      --for 'queue<=20ms'
  forebay tune case1.toml --aqm \"red min_th=20p max_th=60p\" \\
      --for 'phase-margin>=30' --runs 10
  forebay tune case1.toml --aqm pi --for 'queue<=20ms' \\
      --vary flows.ftp.count=20,40,80 --json | jq -r .aqm

The search varies all numeric parameters of the discipline that --aqm does not set; for pi it starts at preset=tuned, \
its design rule. With --vary, the aims must hold at every combination of the values. A queue aim is also checked in \
simulation; margins are properties of the model only. If no parameters meet the aims in the model, nothing is \
simulated, and the exit code is 2.")]
pub(crate) struct TuneArgs {
    /// Aim: queue<=20ms or queue<=50p (packets), delay-margin>=50ms, phase-margin>=45 (degrees), gain-margin>=2
    /// (ratio); repeatable, and all must be met.
    #[arg(long = "for", value_name = "AIM", required = true)]
    pub(crate) aims: Vec<String>,
    #[command(flatten)]
    pub(crate) grid: GridArgs,
}

/// Arguments of `report`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay report runs/case1-3b52b8bd5f5f
  forebay report runs/case1-3b52b8bd5f5f --crate
  forebay report runs/case1-3b52b8bd5f5f --csv
  forebay report runs/case1-3b52b8bd5f5f --pcapng
  forebay report runs/case1-3b52b8bd5f5f --flent

To draw with flent: flent --plot totals -o a.png -i DIR/flent/*.flent.gz")]
pub(crate) struct ReportArgs {
    /// Directory of results that `forebay run` or `forebay reproduce` wrote.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Also write DIR/ro-crate-metadata.json, a manifest for archives such as Zenodo (RO-Crate 1.1): what each file is,
    /// its hash, and how the results were made.
    #[arg(long = "crate")]
    pub(crate) ro_crate: bool,
    /// Also write the tables as CSV: DIR/csv/summary.csv, traffic.csv, series.csv, flows.csv, completions.csv.
    #[arg(long)]
    pub(crate) csv: bool,
    /// Also write the packets at the first link under study of each run, DIR/pcapng/*.pcapng, for Wireshark: headers with
    /// ECN, in both directions; drops have comments. Repeats the runs, also those on Linux.
    #[arg(long)]
    pub(crate) pcapng: bool,
    /// Also write a flent data file for each run, DIR/flent/*.flent.gz: throughput of each class of traffic, and the
    /// queueing delay as its ping.
    #[arg(long)]
    pub(crate) flent: bool,
}

/// Arguments of `plot`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay plot runs/home
  forebay plot runs/home --figure queueing-delay -o delay.pdf
  forebay plot runs/raqm --figure fig-4-a --width 7in --height 3in -o fig4a.svg")]
pub(crate) struct PlotArgs {
    /// Directory of results that `forebay run`, `sweep`, `link` or `reproduce PAPER` wrote.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Name of the figure, or first letters that no other figure's name has.
    #[arg(long, value_name = "NAME", requires = "output")]
    pub(crate) figure: Option<String>,
    /// File to write; its ending selects the format: svg, pdf or png (600 dots per inch).
    #[arg(short, long, value_name = "FILE", requires = "figure")]
    pub(crate) output: Option<PathBuf>,
    /// Width of the picture, with its unit: in, mm, cm or pt. The default is a column of a two-column paper.
    #[arg(long, value_name = "LENGTH", default_value = "3.5in", value_parser = length)]
    pub(crate) width: f64,
    /// Height of the picture, with its unit as in --width (default: depends on the figure).
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    pub(crate) height: Option<f64>,
}

/// Arguments of `studio`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay studio
  forebay studio examples/home.toml
  forebay studio runs/home --port 8080

The server listens on 127.0.0.1 only, and the address that it prints has a secret. On another machine, forward the port: \
ssh -L 8080:127.0.0.1:8080 HOST.")]
pub(crate) struct StudioArgs {
    /// What the page opens: a scenario file, a run directory, or a link that the page has copied (default: an example).
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: Option<PathBuf>,
    /// Port to listen on (default: a free one).
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
}

/// Reads a length with its unit, from 0.5in to 40in; returns it in points.
fn length(text: &str) -> Result<f64, String> {
    let units = [("in", 72.0), ("mm", 72.0 / 25.4), ("cm", 72.0 / 2.54), ("pt", 1.0)];
    let read = |(unit, points): (&str, f64)| Some(text.strip_suffix(unit)?.trim().parse::<f64>().ok()? * points);
    let found = units.into_iter().find_map(read).filter(|points| (36.0..=2880.0).contains(points));
    found.ok_or_else(|| "expected a length from 0.5in to 40in, such as 3.5in or 88mm".to_string())
}

/// Arguments of `compare`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay compare runs/before runs/after
  forebay compare runs/codel runs/pie runs/fq_codel --json")]
pub(crate) struct CompareArgs {
    /// Directories of results that `forebay run`, `sweep` or `link` wrote; each is compared with the first.
    #[arg(value_name = "DIR", required = true, num_args = 2..)]
    pub(crate) dirs: Vec<PathBuf>,
}

/// Arguments of `merge`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay sweep case.toml --shard 1/2 -o part1    on one machine
  forebay sweep case.toml --shard 2/2 -o part2    on another
  forebay merge part1 part2 -o all

Files are those of one command without --shard. If runs are missing, the others are joined, and the exit code is 1.")]
pub(crate) struct MergeArgs {
    /// Directories of results of one scenario.
    #[arg(value_name = "DIR", required = true)]
    pub(crate) dirs: Vec<PathBuf>,
    /// Directory of the joined results (default: that of the command without --shard, or runs/merged-<hash of the
    /// scenario>).
    #[arg(short, long, visible_alias = "out", value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// Arguments of `claims`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay claims register ./my-suite")]
pub(crate) struct ClaimsArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: ClaimsCommand,
}

/// The subcommands of `claims`.
#[derive(Subcommand, Debug)]
pub(crate) enum ClaimsCommand {
    /// Write the hashes of the files of a suite to registration.json in its folder, and print the hash to publish.
    #[command(after_help = "Examples:
  forebay claims register ./my-suite
  forebay evaluate ./my-suite --full

Results say when the claims were registered, and which files changed since then. Runs from before the registration
count as not registered.")]
    Register {
        /// Folder with claims.toml and scenario files.
        #[arg(value_name = "SUITE")]
        suite: String,
    },
}

/// Arguments of `bench`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay bench
  forebay bench --case raqm-1-n40
  forebay bench --case disciplines --json
  forebay bench --scaling

Cases
  raqm-1-n40, raqm-1-n400, 1g-n1000, 10g-n1000: drop-tail, one process each
  sender-cubic to sender-l4s-linux: raqm-1-n40 with other senders than NewReno
  1g-n10 to 1g-n100000: cost of the number of flows at 1 Gb/s
  100m-n10 to 100m-n100000: cost of the number of flows at 100 Mb/s
  disciplines: each discipline and marker without a simulation

Run nothing else on the machine meanwhile.")]
pub(crate) struct BenchArgs {
    /// Run only this benchmark case; repeatable.
    #[arg(long = "case", value_name = "NAME", value_parser = bench_cases(), hide_possible_values = true)]
    pub(crate) cases: Vec<String>,
    /// Also run the benchmark cases with 10 to 100,000 flows, which show the cost of more flows.
    #[arg(long)]
    pub(crate) scaling: bool,
    /// Run one benchmark case in this process; `bench` starts itself with this argument.
    #[arg(long, hide = true, conflicts_with_all = ["cases", "scaling"])]
    pub(crate) child: Option<String>,
}

/// Name of the benchmark case that runs each discipline and marker without a simulation.
pub(crate) const DISCIPLINES: &str = "disciplines";

fn bench_cases() -> clap::builder::PossibleValuesParser {
    let sims = bench::cases().map(|case| case.name);
    sims.chain([DISCIPLINES]).collect::<Vec<_>>().into()
}

/// The message of a clap error on one line, without the usage text.
pub(crate) fn one_line(text: &str) -> String {
    let said = text.lines().take_while(|line| !["Usage:", "For more"].iter().any(|end| line.starts_with(end)));
    let parts: Vec<&str> = said.map(str::trim).filter(|line| !line.is_empty()).collect();
    parts.join(", ").trim_start_matches("error: ").replace(":, ", ": ")
}

/// Parses the arguments; the first is the program name. Help is wrapped at the width of the terminal, at most 100
/// columns.
pub(crate) fn understood(words: impl Iterator<Item = OsString> + Clone) -> Result<Cli, clap::Error> {
    let width = Look { colours: false, columns: columns() }.width();
    let command = || Cli::command().term_width(width);
    let found = command().try_get_matches_from(words.clone()).map_err(|error| advised(error, words))?;
    Cli::from_arg_matches(&found).map_err(|error| error.format(&mut command()))
}

/// Replaces clap's suggestion after a typing error by ours: the nearest known name, as in other errors of this program.
fn advised(mut error: clap::Error, mut words: impl Iterator<Item = OsString>) -> clap::Error {
    let mut root = Cli::command();
    root.build();
    let (wrong, suggested) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        ErrorKind::InvalidValue => (ContextKind::InvalidValue, ContextKind::SuggestedValue),
        _ => return error,
    };
    let known: Vec<String> = match (error.kind(), error.get(ContextKind::ValidValue)) {
        (ErrorKind::InvalidSubcommand, _) => root.get_subcommands().map(|sub| sub.get_name().to_string()).collect(),
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(values))) => values.clone(),
        _ => {
            let of = words.find_map(|word| root.find_subcommand(&word)).unwrap_or(&root);
            let flags = of.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(clap::Arg::get_long);
            flags.map(|flag| format!("--{flag}")).collect()
        }
    };
    let Some(ContextValue::String(word)) = error.get(wrong) else { return error };
    let near = nearest(word, known.iter().map(String::as_str)).map(str::to_string);
    error.remove(suggested);
    if let Some(near) = near {
        // Omit clap's advice to pass a mistyped flag as a value.
        error.remove(ContextKind::Suggested);
        error.insert(suggested, ContextValue::String(near));
    }
    error
}

/// Parses the arguments. Prints help, version and usage errors, which [`understood`] only returns.
pub(crate) fn parse(words: impl Iterator<Item = OsString> + Clone) -> Result<Cli, Exit> {
    let error = match understood(words.clone()) {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if !asked && words.clone().any(|word| word == "--json") {
        Ui::new(true, true, Program::default()).fail_usage(&one_line(&error.to_string()));
    } else {
        // If stdout or stderr is closed there is no one to report to.
        let _ = error.print();
    }
    Err(if asked { Exit::Done } else { Exit::Input })
}
