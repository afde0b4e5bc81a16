//! `[[figure]]`: figures of a scenario, in the notation of the figures of papers (`docs/claims.md`). A line is a curve
//! of a figure. A contender is a compared discipline. An axis is a key that varies between runs; a case is a
//! combination of the values of all axes.

use serde_json::{Map, Value as Json};

use super::{Case, Scenario};
use crate::claims::exhibits::{Figure, Line};
use crate::document::vary::Axis;
use crate::document::{Node, Place, Value};
use crate::input::{Found, InputError, did_you_mean};

/// The figures of a scenario, each with its place in the file.
pub(crate) struct Figures(Vec<(Place, Figure)>);

/// Removes the figures from the document and reads them. Texts keep `{name}`, which stands for the value of the axis
/// `name`.
pub(crate) fn take(root: &mut Node, axes: &[Axis]) -> Result<Figures, InputError> {
    if let Some(axis) = axes.iter().find(|axis| axis.name.starts_with("figure.")) {
        return Err(axis.place.error(axis.key(), Found::text(&axis.name), "a key that changes the runs"));
    }
    let Value::Table(entries) = &mut root.value else { return Ok(Figures(Vec::new())) };
    let Some(index) = entries.iter().position(|entry| entry.key == "figure") else { return Ok(Figures(Vec::new())) };
    let node = entries.remove(index).node;
    let Value::List(items) = &node.value else { return Err(node.error("figure", "one or more [[figure]] tables")) };
    let mut all: Vec<(Place, Figure)> = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let key = format!("figure[{n}]");
        let Json::Object(mut object) = json(item) else { return Err(item.error(key, "a table")) };
        for of_paper in ["section", "claims"] {
            if object.contains_key(of_paper) {
                return Err(item.error(format!("{key}.{of_paper}"), "nothing: only figures of papers have it"));
            }
        }
        object.insert("section".to_string(), Json::String(String::new()));
        let figure: Figure = serde_json::from_value(Json::Object(object)).map_err(|error| {
            item.place.error(&key, Found::thing(error.to_string()), "a figure as docs/claims.md describes")
        })?;
        figure.check().map_err(|what| item.place.error(&key, Found::thing(what), "a complete figure"))?;
        if all.iter().any(|(_, other)| other.id == figure.id) {
            return Err(item.place.error(format!("{key}.id"), Found::text(&figure.id), "each id once"));
        }
        all.push((item.place.clone(), figure));
    }
    Ok(Figures(all))
}

impl Figures {
    /// Removes the lines of figures whose contender no case has: `--aqm` can replace the disciplines to which the
    /// file's figures refer.
    pub(crate) fn keep_known(&mut self, cases: &[Case]) {
        let known = contenders(cases);
        for (_, figure) in &mut self.0 {
            figure.lines.retain(|line| line.model.is_some() || known.iter().any(|known| is_of(line, known)));
        }
        self.0.retain(|(_, figure)| !figure.lines.is_empty());
    }

    /// Adds the figures to every case. Refuses a line whose contender no case has.
    pub(crate) fn give(self, cases: &mut [Case]) -> Result<(), InputError> {
        let known = contenders(cases);
        for (n, (place, figure)) in self.0.iter().enumerate() {
            for (k, line) in figure.lines.iter().enumerate().filter(|(_, line)| line.model.is_none()) {
                if !known.iter().any(|known| is_of(line, known)) {
                    let near = did_you_mean(&line.of, known.iter().map(|(label, _)| *label));
                    let accepts = "a discipline of [compare] as written, with {axis} for the value of an axis";
                    let key = format!("figure[{n}].lines[{k}].of");
                    return Err(place.error(key, Found::text(&line.of), accepts).hint(near));
                }
            }
        }
        let figures: Vec<Figure> = self.0.into_iter().map(|(_, figure)| figure).collect();
        cases.iter_mut().for_each(|case| case.scenario.figures.clone_from(&figures));
        Ok(())
    }
}

/// The label of each contender of each case.
fn contenders(cases: &[Case]) -> Vec<(&str, &Case)> {
    let all = cases.iter().flat_map(|case| case.scenario.compare.iter().map(move |contender| (contender, case)));
    all.map(|(contender, case)| (contender.label.as_str(), case)).collect()
}

/// Whether a line shows this contender of this case.
fn is_of(line: &Line, (label, case): &(&str, &Case)) -> bool {
    let axes = case.axes.iter();
    axes.fold(line.of.clone(), |of, (axis, value)| of.replace(&format!("{{{axis}}}"), value)) == *label
}

/// A node of the TOML document as JSON.
fn json(node: &Node) -> Json {
    match &node.value {
        Value::Table(entries) => {
            Json::Object(entries.iter().map(|entry| (entry.key.clone(), json(&entry.node))).collect::<Map<_, _>>())
        }
        Value::List(items) => items.iter().map(json).collect(),
        Value::Text(text) => Json::String(text.clone()),
        Value::Integer(n) => (*n).into(),
        Value::Float(x) => (*x).into(),
        Value::Flag(on) => (*on).into(),
    }
}

/// Keys of a figure whose texts have no default: they are written even if they are empty.
const NEEDED: [&str; 3] = ["id", "title", "label"];

/// Removes empty texts, lists and tables, which are the defaults.
fn strip(table: &mut toml::Table) {
    for (_, value) in table.iter_mut() {
        match value {
            toml::Value::Table(inner) => strip(inner),
            toml::Value::Array(items) => items.iter_mut().filter_map(toml::Value::as_table_mut).for_each(strip),
            _ => {}
        }
    }
    table.retain(|key, value| {
        NEEDED.contains(&key)
            || match value {
                toml::Value::Array(items) => !items.is_empty(),
                toml::Value::Table(inner) => !inner.is_empty(),
                toml::Value::String(text) => !text.is_empty(),
                _ => true,
            }
    });
}

/// The figures as TOML.
pub(super) fn text(scenario: &Scenario) -> String {
    let item = |figure: &Figure| {
        let mut table = toml::Table::try_from(figure).unwrap_or_default();
        table.remove("section");
        strip(&mut table);
        toml::Value::Table(table)
    };
    let all: Vec<toml::Value> = scenario.figures.iter().map(item).collect();
    if all.is_empty() {
        return String::new();
    }
    let document = toml::Table::from_iter([("figure".to_string(), toml::Value::Array(all))]);
    toml::to_string(&document).map_or_else(|_| String::new(), |text| format!("\n{text}"))
}
