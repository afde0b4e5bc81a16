//! The `forebay` command line as a library, used by the program and by the Python wheel. Arguments, tables and
//! exit codes are here; the commands themselves are in `forebay_lab::commands`.

mod args;
mod commands;
mod failure;
mod interrupt;
mod live;
pub mod program;
mod render;
mod studio;
mod theory;

use args::{Cli, Command};
use commands::claims::{evaluate, readings, register, reproduce};
#[cfg(target_os = "linux")]
use commands::doctor;
use commands::{advise, bench, compare, explain, list, merge, packetdrill, plot, report, run, shell, sweep, tune};
use failure::{Exit, Failure};
#[cfg(target_os = "linux")]
use live::link;
use live::{attach, top};
use program::Program;
use render::output::Ui;

/// Runs the command line and returns the exit code.
pub fn main(program: Program) -> u8 {
    #[cfg(target_os = "linux")]
    forebay_live::sys::process::ignore_file_size_signal();
    let exit = args::parse(program.words()).and_then(|cli| {
        let ui = Ui::new(cli.json, cli.quiet, program.clone());
        command(&cli, &ui).map_err(|failure| {
            ui.fail(&failure);
            failure.exit()
        })
    });
    exit.unwrap_or_else(|exit| exit).code()
}

fn command(cli: &Cli, ui: &Ui) -> Result<Exit, Failure> {
    match &cli.command {
        Command::List(args) => list::command(args, ui),
        Command::Explain(args) => explain::command(args, ui),
        Command::Run(args) => run::command(args, ui),
        Command::Sweep(args) => sweep::command(args, ui),
        Command::Advise(args) => advise::command(args, ui),
        Command::Evaluate(args) => evaluate::command(args, ui),
        Command::Claims(args) => register::command(args, ui),
        Command::Reproduce(args) => reproduce::command(args, ui),
        Command::Readings(args) => readings::command(args, ui),
        Command::Theory(args) => theory::command(args, ui),
        Command::Tune(args) => tune::command(args, ui),
        Command::Report(args) => report::command(args, ui),
        Command::Plot(args) => plot::command(args, ui),
        Command::Studio(args) => studio::command(args, ui),
        Command::Merge(args) => merge::command(args, ui),
        Command::Compare(args) => compare::command(args, ui),
        Command::Packetdrill(args) => packetdrill::command(args, ui),
        Command::Bench(args) => bench::command(args, ui),
        #[cfg(target_os = "linux")]
        Command::Link(args) => link::command(args, ui),
        #[cfg(target_os = "linux")]
        Command::Doctor => doctor::command(ui),
        #[cfg(not(target_os = "linux"))]
        Command::Link(_) | Command::Doctor => Err(Failure::unavailable("this command needs Linux".to_string())),
        Command::Attach(args) => attach::attach(args, ui),
        Command::Detach(args) => attach::detach(args, ui),
        Command::Completions(args) => shell::completions::<Cli>(args, ui),
        Command::Man(args) => shell::man::<Cli>(args, ui),
        Command::Top(args) => top::command(args, ui),
    }
}
