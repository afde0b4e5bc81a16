//! The page of `forebay studio` as HTML.

use serde_json::json;

use super::library::{self, Offered};
use crate::report;

const TEMPLATE: &str = include_str!("../../assets/studio/studio.html.in");
const CSS: &str = concat!(include_str!("../../assets/report.css"), include_str!("../../assets/studio/studio.css"));
const JS: &str = concat!(
    include_str!("../../assets/base.js"),
    include_str!("../../assets/chart.js"),
    include_str!("../../assets/figure.js"),
    include_str!("../../assets/studio/engine.js"),
    include_str!("../../assets/studio/play.js"),
    include_str!("../../assets/studio/studio.js"),
);
const WORKER: &str = include_str!("../../assets/studio/worker.js");

/// Where the page finds the engine.
#[derive(Clone, Copy, Debug)]
pub enum Engine<'a> {
    /// In the page: the WebAssembly module, compressed with gzip, in base64.
    InPage(&'a str),
    /// In the file `engine.wasm.gz` next to the page.
    NextToPage,
    /// In the program that serves the page; requests have this token.
    Program(&'a str),
}

/// The page. `version` is that of the program; `own` are scenarios before those of the [library], of which the page opens
/// the first.
pub fn page(engine: Engine<'_>, version: &str, own: Vec<Offered>) -> String {
    let token = match engine {
        Engine::Program(token) => Some(token),
        Engine::InPage(_) | Engine::NextToPage => None,
    };
    let all: Vec<Offered> = own.into_iter().chain(library::all()).collect();
    let data = json!({
        "scenarios": all,
        "experiments": library::EXPERIMENTS,
        "files": library::FILES,
        "token": token,
    });
    let module = match engine {
        Engine::InPage(module) => format!("<script type=\"text/plain\" id=\"engine\">{module}</script>\n"),
        Engine::NextToPage | Engine::Program(_) => String::new(),
    };
    let connect = if module.is_empty() { "'self'" } else { "'none'" };
    let (css_hash, js_hash, data) = (report::hash(CSS), report::hash(JS), report::in_script(&data.to_string()));
    let version = format!("forebay {version}");
    let values: [(&str, &str); 9] = [
        ("css", CSS),
        ("js", JS),
        ("css_hash", &css_hash),
        ("js_hash", &js_hash),
        ("data", &data),
        ("worker", WORKER),
        ("engine", &module),
        ("connect", connect),
        ("version", &version),
    ];
    report::fill(TEMPLATE, &values)
}
