//! `forebay list`.

use serde_json::{Map, Value, json};

use crate::args::{ListArgs, Topic};
use crate::catalogue::{self, Named};
use crate::digits::short;
use crate::failure::{Exit, Failure};
use crate::output::{Tone, Ui};
use crate::table::Table;

const TOPICS: [(Topic, &str); 7] = [
    (Topic::Disciplines, "disciplines"),
    (Topic::Markers, "markers"),
    (Topic::Congestion, "congestion"),
    (Topic::Traffic, "traffic"),
    (Topic::Topologies, "topologies"),
    (Topic::Papers, "papers"),
    (Topic::Scenarios, "scenarios"),
];

/// Lists one topic or all.
pub(crate) fn command(args: &ListArgs, ui: &Ui) -> Result<Exit, Failure> {
    let chosen = TOPICS.into_iter().filter(|(topic, _)| args.topic.is_none_or(|only| only == *topic));
    if ui.json() {
        let mut document = Map::from_iter([("version".to_string(), json!(1))]);
        document.extend(chosen.map(|(topic, name)| (name.to_string(), document_of(topic))));
        ui.print_json(&Value::Object(document))?;
        return Ok(Exit::Done);
    }
    let sections: Vec<String> = chosen.map(|(topic, name)| section(ui, topic, name)).collect();
    ui.print(&sections.join("\n"))?;
    Ok(Exit::Done)
}

fn named(topic: Topic) -> Vec<Named> {
    match topic {
        Topic::Disciplines => catalogue::disciplines(),
        Topic::Markers => catalogue::markers(),
        Topic::Congestion => catalogue::congestion(),
        Topic::Traffic => catalogue::traffic(),
        Topic::Topologies => catalogue::topologies(),
        Topic::Papers => catalogue::papers(),
        Topic::Scenarios => Vec::new(),
    }
}

fn document_of(topic: Topic) -> Value {
    if topic != Topic::Scenarios {
        return named(topic).iter().map(Named::json).collect();
    }
    let files = catalogue::scenarios();
    let files = files.iter().map(|file| {
        json!({
            "path": file.path.display().to_string(),
            "title": file.title,
            "runs_per_seed": file.runs,
            "duration_s": file.duration_s,
        })
    });
    files.collect()
}

fn section(ui: &Ui, topic: Topic, name: &str) -> String {
    let mut table = Table::of_words(2);
    for item in named(topic) {
        table.row(vec![item.name, item.summary]);
    }
    if topic == Topic::Scenarios {
        for file in catalogue::scenarios() {
            let runs = if file.runs == 1 { "1 run".to_string() } else { format!("{} runs", file.runs) };
            let length = short(file.duration_s);
            table.row(vec![file.path.display().to_string(), format!("{}: {runs} of {length} s a seed", file.title)]);
        }
    }
    let body = if table.is_empty() { "  none here\n".to_string() } else { table.render(ui, "  ") };
    format!("{}\n{body}", ui.tone(Tone::Strong, name))
}
