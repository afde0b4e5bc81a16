//! `forebay`: the laboratory from the command line. Everything but words and tables is in the libraries.

mod args;
mod bench;
mod catalogue;
mod chart;
mod digits;
mod explain;
mod failure;
mod interrupt;
mod links;
mod list;
mod map;
mod markov;
mod mmpp;
mod output;
mod progress;
mod report;
mod reproduce;
mod run;
mod summary;
mod sweep;
mod table;
mod text;
mod theory;
mod tune;

use std::process::ExitCode;

use args::{Cli, Command};
use failure::{Exit, Failure};
use output::Ui;

fn main() -> ExitCode {
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(exit) => return exit.into(),
    };
    let ui = Ui::new(cli.json, cli.quiet);
    match command(&cli, &ui) {
        Ok(exit) => exit,
        Err(failure) => {
            ui.fail(&failure);
            failure.exit()
        }
    }
    .into()
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
    }
}
