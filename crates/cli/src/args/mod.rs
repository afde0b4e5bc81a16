//! The words of the command line; those that several commands share, or that are many, have files of their own.

mod attach;
pub(crate) mod batch;
pub(crate) mod link;
mod shell;
pub(crate) mod theory;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use forebay_aqm::base::nearest::nearest;
use forebay_lab::bench;
use forebay_lab::commands::list::Topic;
use forebay_lab::render::look::Look;

pub(crate) use attach::{AttachArgs, DetachArgs, TopArgs};
use batch::{BatchArgs, GridArgs, Jobs};
use link::LinkArgs;
pub(crate) use shell::{CompletionsArgs, ManArgs};
use theory::TheoryArgs;

use crate::failure::Exit;

use crate::program::Program;
use crate::render::output::{Ui, columns};

/// A laboratory for Active Queue Management.
#[derive(Parser, Debug)]
#[command(name = "forebay", version = env!("FOREBAY_VERSION"), arg_required_else_help = true)]
#[command(after_help = "Examples:
  forebay list                                 what there is
  forebay explain raqm                         rule, parameters, probes, presets
  forebay run scenario.toml                    simulate, compare, report
  forebay sweep case.toml --vary q=20..60/5    the same over a range
  forebay reproduce raqm --quick               a paper's experiments and claims

Exit codes: 0 done; 1 a run failed; 2 wrong input; 3 a claim did not hold (--strict); \
4 not possible on this machine; 130 interrupted, results so far are kept.")]
pub(crate) struct Cli {
    /// Print one JSON document on stdout, and nothing else there.
    #[arg(long, global = true, display_order = 900)]
    pub(crate) json: bool,
    /// Print results and errors only: no progress, no notes.
    #[arg(short, long, global = true, display_order = 901)]
    pub(crate) quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// List what there is: disciplines, congestion control, traffic, topologies, papers, scenario files.
    List(ListArgs),
    /// Explain a discipline or a kind of traffic.
    Explain(ExplainArgs),
    /// Run a scenario: every discipline it compares, under the same seeds.
    Run(RunArgs),
    /// Run a scenario at every point of some axes: one table, a row for each.
    Sweep(SweepArgs),
    /// Reproduce a paper's experiments and check its claims.
    Reproduce(ReproduceArgs),
    /// What the models say about a scenario: no packet is simulated.
    Theory(TheoryArgs),
    /// Find parameters for an aim in the model, and try them in the simulation.
    Tune(TuneArgs),
    /// Build DIR/report.html again from the results in DIR.
    Report(ReportArgs),
    /// Measure the speed of this machine on the standard cases.
    Bench(BenchArgs),
    /// Run a command behind an emulated link: real TCP through the same disciplines.
    Link(Box<LinkArgs>),
    /// Say what this machine permits, and what to do about what is missing.
    #[command(after_help = "Examples:\n  forebay doctor\n  forebay doctor --json | jq .link")]
    Doctor,
    /// Put a network device of this machine under a law: one queue, marks and early drops in the kernel.
    Attach(AttachArgs),
    /// Put everything back that attach changed.
    Detach(DetachArgs),
    /// Show what attached devices do now.
    Top(TopArgs),
    /// Print what a shell needs to complete the words of this program.
    Completions(CompletionsArgs),
    /// Print the manual, or write a page for each command.
    Man(ManArgs),
}

/// What to list, by its word.
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
    /// Only this; else everything.
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
    /// A discipline, congestion control or kind of traffic that `forebay list` shows.
    pub(crate) name: String,
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

Finished runs are kept: after an interruption, or with more --runs, the same command goes on.")]
pub(crate) struct RunArgs {
    /// simulator, or kernel: on this machine's TCP, and simulated beside it.
    #[arg(long, value_enum, default_value_t = On::Simulator, hide_possible_values = true)]
    pub(crate) on: On,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
}

/// Where a scenario runs.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum On {
    /// In the simulator.
    Simulator,
    /// On this machine's kernel, and in the simulator: one report of both.
    Kernel,
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

VALUES are a,b,c, or LO..HI/N: N equally spaced values from LO to HI, both included; or both: 5,10..50/5,100. \
PATH is a key of the file as --set takes it (flows.*.count: of every group), or a name that stands as {name} in some \
text of the file or of --aqm.
Several --vary, and the axes of [vary] in the file, make every combination, the last varying fastest; a path that \
[vary] has takes the values of --vary instead.

Finished runs are kept: after an interruption, or with more --runs, the same command goes on.")]
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
    /// Papers or ids of claims; every paper if left out.
    #[arg(value_name = "PAPER|CLAIM")]
    pub(crate) names: Vec<String>,
    /// Few seeds, 3 unless the paper's file says otherwise; verdicts are provisional.
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Many seeds, 30 in place of 10 unless the paper's file says otherwise.
    #[arg(long)]
    pub(crate) full: bool,
    /// Where results go; those of several papers into a folder for each, with an index.html.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Exit with 3 if a claim does not hold.
    #[arg(long)]
    pub(crate) strict: bool,
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

Free is every parameter of the discipline that is a number and that --aqm does not set; pi begins with its design rule. \
With axes the aims are to be met at every point. A queue is checked in the simulation too, margins are the model's: \
what they mean shows in the standard deviation of the queue. Exit with 1 if an aim is not met.")]
pub(crate) struct TuneArgs {
    /// A wish: queue<=20ms or <=50p, delay-margin>=50ms, phase-margin>=45, gain-margin>=2; again for more.
    #[arg(long = "for", value_name = "AIM", required = true)]
    pub(crate) aims: Vec<String>,
    #[command(flatten)]
    pub(crate) grid: GridArgs,
}

/// Arguments of `report`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay report runs/case1-3b52b8bd5f5f")]
pub(crate) struct ReportArgs {
    /// A directory that `run` or `reproduce` made.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Arguments of `bench`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay bench
  forebay bench --case raqm-1-n40
  forebay bench --case disciplines --json
  forebay bench --scaling

Cases
  raqm-1-n40, raqm-1-n400, 1g-n1000, 10g-n1000: drop-tail, each in a process
  1g-n10 to 1g-n100000: what the number of flows costs on 1 Gb/s
  100m-n10 to 100m-n100000: the same on 100 Mb/s
  disciplines: each one alone, and each marker

Let nothing else run meanwhile.")]
pub(crate) struct BenchArgs {
    /// Only this case; again for more.
    #[arg(long = "case", value_name = "NAME", value_parser = bench_cases(), hide_possible_values = true)]
    pub(crate) cases: Vec<String>,
    /// Also 10 to 100,000 flows.
    #[arg(long)]
    pub(crate) scaling: bool,
    /// One case in this process: what `bench` starts.
    #[arg(long, hide = true, conflicts_with_all = ["cases", "scaling"])]
    pub(crate) child: Option<String>,
}

/// The name that stands for the disciplines alone.
pub(crate) const DISCIPLINES: &str = "disciplines";

fn bench_cases() -> clap::builder::PossibleValuesParser {
    let sims = bench::CASES.iter().chain(&bench::SCALING_CASES).map(|case| case.name);
    sims.chain([DISCIPLINES]).collect::<Vec<_>>().into()
}

/// What an error of the parser says, without the usage that follows it.
pub(crate) fn one_line(text: &str) -> String {
    let said = text.lines().take_while(|line| !["Usage:", "For more"].iter().any(|end| line.starts_with(end)));
    let parts: Vec<&str> = said.map(str::trim).filter(|line| !line.is_empty()).collect();
    parts.join(", ").trim_start_matches("error: ").replace(":, ", ": ")
}

/// The arguments, the first being the program; helps are as wide as running text.
pub(crate) fn understood(words: impl Iterator<Item = OsString> + Clone) -> Result<Cli, clap::Error> {
    let width = Look { colours: false, columns: columns() }.width();
    let command = || Cli::command().term_width(width);
    let found = command().try_get_matches_from(words.clone()).map_err(|error| advised(error, words))?;
    Cli::from_arg_matches(&found).map_err(|error| error.format(&mut command()))
}

/// The error with the nearest known word, found as everywhere in this program.
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
        // Not the advice to pass a mistyped flag as a value.
        error.remove(ContextKind::Suggested);
        error.insert(suggested, ContextValue::String(near));
    }
    error
}

/// The same; what help, version or a wrong word says is said here.
pub(crate) fn parse(words: impl Iterator<Item = OsString> + Clone) -> Result<Cli, Exit> {
    let error = match understood(words.clone()) {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if !asked && words.clone().any(|word| word == "--json") {
        Ui::new(true, true, Program::default()).fail_usage(&one_line(&error.to_string()));
    } else {
        // The reader may have gone: nobody is left to tell.
        let _ = error.print();
    }
    Err(if asked { Exit::Done } else { Exit::Input })
}
