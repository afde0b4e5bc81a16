//! `forebay completions` and `forebay man`: both are generated from the argument definitions.

use std::fs;

use clap::CommandFactory;
use forebay_lab::store::StoreError;
use serde_json::json;

use crate::args::{CompletionsArgs, ManArgs};
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Prints a completion script.
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

/// Prints the main manual page, or writes all pages to a directory.
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
        ui.print(&format!("{}: forebay.1 and one page per command", dir.display()))?;
    }
    Ok(Exit::Done)
}
