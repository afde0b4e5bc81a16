//! `forebay doctor`: what this machine supports, and how to add what is missing.

use forebay_linux::place::{self, Kernel};
use forebay_live::doctor::{self, Finding};
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use forebay_lab::render::look::Tone;

use crate::render::output::Ui;

/// Examines the machine and prints the findings.
pub(crate) fn command(ui: &Ui) -> Result<Exit, Failure> {
    let findings: Vec<Finding> = doctor::examine().into_iter().chain([linux()]).collect();
    let possible = |serves: &str| findings.iter().filter(|one| one.serves == serves).all(|one| one.found.is_ok());
    let (links, attach) = (possible(doctor::LINKS), possible(doctor::ATTACH));
    if ui.json() {
        let all: Vec<Value> = findings.iter().map(document).collect();
        ui.print_json(
            &json!({ "version": 1, "link": links, "attach": attach, "linux": possible(LINUX), "findings": all }),
        )?;
    } else {
        ui.print(&text(ui, &findings))?;
    }
    Ok(Exit::Done)
}

/// The command that needs a built kernel.
const LINUX: &str = "run --on linux";

fn linux() -> Finding {
    let built = |kernel: Kernel| format!("Linux {} in {}", kernel.version(), kernel.folder().display());
    let found = place::machine().and_then(|()| Kernel::find()).map(built);
    Finding { name: "kernel", serves: LINUX, found, remedy: place::REMEDY }
}

fn document(one: &Finding) -> Value {
    let (found, missing) = (one.found.as_ref().ok(), one.found.as_ref().err());
    let remedy = missing.map(|_| one.remedy);
    json!({ "name": one.name, "for": one.serves, "ok": missing.is_none(), "found": found, "missing": missing, "remedy": remedy })
}

fn text(ui: &Ui, findings: &[Finding]) -> String {
    let mut out = String::new();
    for serves in [doctor::LINKS, LINUX, doctor::ATTACH] {
        out += &format!("{}\n", ui.tone(Tone::Strong, serves));
        for one in findings.iter().filter(|one| one.serves == serves) {
            match &one.found {
                Ok(found) => out += &ui.look().wrap(&format!("  ok  {:<11} ", one.name), found),
                Err(missing) => {
                    let word = ui.tone(Tone::Bad, "no");
                    let line = ui.look().wrap(&format!("  no  {:<11} ", one.name), missing);
                    out += &line.replacen("no", &word, 1);
                    out += &ui.look().wrap(&" ".repeat(18), one.remedy);
                }
            }
        }
    }
    out
}
