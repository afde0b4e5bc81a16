//! `forebay completions` and `forebay man`: what a shell and man(1) know of the program, from the words themselves.

use std::fs;

use clap::CommandFactory;
use forebay_lab::store::StoreError;
use serde_json::json;

use crate::args::{CompletionsArgs, ManArgs};
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Prints what a shell completes.
pub(crate) fn completions<C: CommandFactory>(args: &CompletionsArgs, ui: &Ui) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut C::command(), "forebay", &mut text);
    let text = String::from_utf8_lossy(&text);
    if ui.json() {
        ui.print_json(&json!({ "version": 1, "shell": args.shell.to_string(), "script": text }))?;
    } else {
        ui.print(&text)?;
    }
    Ok(Exit::Done)
}

/// Prints the manual, or writes all of its pages.
pub(crate) fn man<C: CommandFactory>(args: &ManArgs, ui: &Ui) -> Result<Exit, Failure> {
    let command = C::command();
    let Some(dir) = &args.dir else {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text).map_err(Failure::Stdout)?;
        let text = String::from_utf8_lossy(&text);
        if ui.json() {
            ui.print_json(&json!({ "version": 1, "page": text }))?;
        } else {
            ui.print(&text)?;
        }
        return Ok(Exit::Done);
    };
    let failed = |error| Failure::from(StoreError::Io { path: dir.clone(), error });
    fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(command, dir)).map_err(failed)?;
    if ui.json() {
        ui.print_json(&json!({ "version": 1, "directory": dir }))?;
    } else {
        ui.print(&format!("{}: forebay.1 and a page for each command", dir.display()))?;
    }
    Ok(Exit::Done)
}
