//! `forebay`: the laboratory from the command line, as a library: for the program, and for the Python package, whose
//! `forebay` is the same. Everything but words and tables is in the crates below.

mod args;
mod attach;
mod batch_args;
mod bench;
mod catalogue;
mod chart;
mod digits;
#[cfg(target_os = "linux")]
mod doctor;
mod explain;
mod failure;
pub mod interrupt;
#[cfg(target_os = "linux")]
mod journal;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod link;
mod link_args;
mod links;
mod list;
mod map;
mod markov;
mod mmpp;
mod models;
mod output;
pub mod program;
mod progress;
mod report;
mod reproduce;
mod run;
mod shell;
mod summary;
mod sweep;
mod table;
mod text;
mod theory;
mod theory_args;
mod top;
mod tune;

use std::ffi::OsString;

use args::{Cli, Command};
use failure::{Exit, Failure};
use forebay_lab::results::summary::Summary;
use output::Ui;
use program::Program;
use serde_json::{Value, json};

/// Does what the words say; the exit code.
pub fn main(program: Program) -> u8 {
    let program = program::set(program);
    #[cfg(target_os = "linux")]
    forebay_live::sys::process::ignore_file_size_signal();
    let exit = args::parse(program.words()).and_then(|cli| {
        let ui = Ui::new(cli.json, cli.quiet);
        command(&cli, &ui).map_err(|failure| {
            ui.fail(&failure);
            failure.exit()
        })
    });
    exit.unwrap_or_else(|exit| exit).code()
}

/// The tables that `forebay run` prints of a summary, without colours; with axes those of `forebay sweep`.
pub fn tables(summary: &Summary) -> String {
    let table = if summary.compare.cases.len() > 1 { summary::by_point } else { summary::by_case };
    table(&Ui::plain(), summary)
}

/// Why there is no document.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The exit code that the program would have.
    pub exit: u8,
    /// What it would say.
    pub message: String,
    /// The `error` of its document.
    pub error: Value,
}

/// The JSON document of a command, its words without the program's name; notes go to stderr unless `quiet`. `scenario`, if
/// given, is read in place of the scenario file, which only says then beside which files it is.
pub fn document(
    words: impl IntoIterator<Item = OsString>,
    quiet: bool,
    scenario: Option<String>,
) -> Result<Value, Refusal> {
    let words: Vec<OsString> = std::iter::once(OsString::from("forebay")).chain(words).collect();
    let cli = args::understood(words.into_iter()).map_err(|error| {
        let message = args::one_line(&error.to_string());
        let error = json!({ "kind": "usage", "message": message });
        Refusal { exit: Exit::Input.code(), message, error }
    })?;
    Ui::catch(quiet, scenario, |ui| command(&cli, ui)).map_err(|failure| {
        let (exit, message, error) = (failure.exit().code(), failure.to_string(), failure.json());
        Refusal { exit, message, error }
    })
}

fn command(cli: &Cli, ui: &Ui) -> Result<Exit, Failure> {
    match &cli.command {
        Command::List(args) => list::command(args, ui),
        Command::Explain(args) => explain::command(args, ui),
        Command::Run(args) => run::command(args, ui),
        Command::Sweep(args) => sweep::command(args, ui),
        Command::Reproduce(args) => reproduce::command(args, ui),
        Command::Theory(args) => theory::command(args, ui),
        Command::Tune(args) => tune::command(args, ui),
        Command::Report(args) => report::command(args, ui),
        Command::Bench(args) => bench::command(args, ui),
        #[cfg(target_os = "linux")]
        Command::Link(args) => link::command(args, ui),
        #[cfg(target_os = "linux")]
        Command::Doctor => doctor::command(ui),
        #[cfg(not(target_os = "linux"))]
        Command::Link(_) | Command::Doctor => Err(Failure::Unavailable("real packets need Linux".to_string())),
        Command::Attach(args) => attach::attach(args, ui),
        Command::Detach(args) => attach::detach(args, ui),
        Command::Completions(args) => shell::completions::<Cli>(args, ui),
        Command::Man(args) => shell::man::<Cli>(args, ui),
        Command::Top(args) => top::command(args, ui),
    }
}
