//! `forebay list`: names of disciplines, traffic, papers, scenario files and other topics, with a line about each.

use forebay_lab::commands::list::{Entries, Topic};
use forebay_lab::render::digits::short;
use forebay_lab::render::look::Tone;
use forebay_lab::render::text_table::Table;
use forebay_lab::results::named::Named;
use serde::Serialize;

use crate::args::ListArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// What `forebay list --json` prints.
#[derive(Serialize)]
struct Document {
    version: u32,
    #[serde(flatten)]
    topics: Named<Entries>,
}

/// Lists the entries of one topic, or of all.
pub(crate) fn command(args: &ListArgs, ui: &Ui) -> Result<Exit, Failure> {
    let chosen = Topic::ALL.into_iter().filter(|topic| args.topic.is_none_or(|only| only == *topic));
    let chosen = chosen.map(|topic| (topic.word(), topic.entries()));
    if ui.json() {
        ui.print_json(&Document { version: 1, topics: chosen.collect() })?;
        return Ok(Exit::Done);
    }
    let sections: Vec<String> = chosen.map(|(name, entries)| section(ui, name, entries)).collect();
    ui.print(&sections.join("\n"))?;
    Ok(Exit::Done)
}

fn section(ui: &Ui, name: &str, entries: Entries) -> String {
    let mut table = Table::of_words(2);
    match entries {
        Entries::Names(names) => names.into_iter().for_each(|item| table.row(vec![item.name, item.summary])),
        Entries::Files(files) => {
            for file in files {
                let runs =
                    if file.runs_per_seed == 1 { "1 run".to_string() } else { format!("{} runs", file.runs_per_seed) };
                let length = short(file.duration_s);
                table.row(vec![file.path, format!("{}: {runs} of {length} s per seed", file.title)]);
            }
        }
    }
    let body = if table.is_empty() { "  none here\n".to_string() } else { table.render(ui.look(), "  ") };
    format!("{}\n{body}", ui.tone(Tone::Strong, name))
}
