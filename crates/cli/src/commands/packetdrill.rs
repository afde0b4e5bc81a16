//! `forebay packetdrill`: runs packetdrill scripts on the simulator's TCP sender and receiver.

use std::path::Path;

use forebay_aqm::base::time::Span;
use forebay_lab::input::{Found, InputError};
use forebay_lab::render::look::Tone;
use forebay_lab::render::text_table::Table;
use forebay_packetdrill::{Options, Report, Verdict, check};
use serde::Serialize;

use crate::args::PacketdrillArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Number of differences of a script that are printed in full.
const IN_FULL: usize = 5;

/// What `forebay packetdrill --json` prints.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    scripts: Vec<Script<'a>>,
    totals: Totals,
}

/// The result of a script.
#[derive(Serialize)]
struct Script<'a> {
    file: &'a str,
    verdict: &'static str,
    tcp: &'static str,
    /// Expected packets and assertions that were compared.
    compared: u32,
    /// Events that were read and not compared.
    skipped: u32,
    /// The first difference, or the first reason of `cannot express`, with its line.
    why: Option<String>,
    mismatches: Vec<Mismatch<'a>>,
    reasons: Vec<Reason<'a>>,
}

#[derive(Serialize)]
struct Mismatch<'a> {
    line: usize,
    expected: &'a str,
    came: &'a str,
}

#[derive(Serialize)]
struct Reason<'a> {
    line: usize,
    what: &'a str,
}

/// Number of scripts with each verdict.
#[derive(Serialize)]
struct Totals {
    scripts: usize,
    pass: usize,
    fail: usize,
    cannot_express: usize,
}

/// Reads all scripts, then runs them and prints their verdicts.
pub(crate) fn command(args: &PacketdrillArgs, ui: &Ui) -> Result<Exit, Failure> {
    let options = Options { tcp: args.tcp, tolerance: args.tolerance.map(Span::from_micros) };
    let reports: Vec<Report> = args.files.iter().map(|file| run(file, &options)).collect::<Result<_, _>>()?;
    let count = |verdict| reports.iter().filter(|report| report.verdict() == verdict).count();
    if ui.json() {
        let totals = Totals {
            scripts: reports.len(),
            pass: count(Verdict::Pass),
            fail: count(Verdict::Fail),
            cannot_express: count(Verdict::CannotExpress),
        };
        ui.print_json(&Document { version: 1, scripts: reports.iter().map(script).collect(), totals })?;
    } else {
        let mut table = Table::new(&["verdict", "scripts"]);
        for verdict in Verdict::ALL {
            table.row(vec![verdict.word().to_string(), count(verdict).to_string()]);
        }
        let shown: String = reports.iter().map(|report| show(ui, report)).collect();
        ui.print(&format!("{shown}\n{}", table.render(ui.look(), "")))?;
    }
    Ok(if count(Verdict::Pass) == reports.len() { Exit::Done } else { Exit::Failed })
}

fn run(path: &Path, options: &Options) -> Result<Report, InputError> {
    let name = path.display().to_string();
    let wrong = |found: Found| InputError::new(&name, "", found, "a packetdrill script");
    let bytes = std::fs::read(path).map_err(|error| wrong(Found::thing(error.to_string())))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong(Found::thing("bytes that are not UTF-8")))?;
    check(&name, &text, options).map_err(|error| {
        let fault = InputError::new(&name, "", Found::text(&error.found), error.accepts);
        fault.at(error.line, 1)
    })
}

fn script(report: &Report) -> Script<'_> {
    let mismatches = report.mismatches.iter();
    Script {
        file: &report.file,
        verdict: report.verdict().word(),
        tcp: report.tcp,
        compared: report.compared,
        skipped: report.skipped,
        why: report.why(),
        mismatches: mismatches.map(|it| Mismatch { line: it.line, expected: &it.expected, came: &it.came }).collect(),
        reasons: report.reasons.iter().map(|reason| Reason { line: reason.line, what: &reason.what }).collect(),
    }
}

/// A script with its verdict, and its differences or reasons with their lines.
fn show(ui: &Ui, report: &Report) -> String {
    let verdict = report.verdict();
    let tone = match verdict {
        Verdict::Pass => Tone::Strong,
        Verdict::Fail => Tone::Bad,
        Verdict::CannotExpress => Tone::Faint,
    };
    let (file, compared, differ) = (&report.file, report.compared, report.mismatches.len());
    let counts = match verdict {
        Verdict::Pass => format!("({}, {compared} compared)", report.tcp),
        Verdict::Fail => format!("({}, {differ} differ, {compared} compared)", report.tcp),
        Verdict::CannotExpress => String::new(),
    };
    let mut out = format!("{}  {file}  {counts}", ui.tone(tone, &format!("{:<14}", verdict.word())));
    out.truncate(out.trim_end().len());
    out.push('\n');
    let mut line = |text: &str| out.push_str(&ui.look().wrap_cell("  ", &format!("{file}:{text}")));
    report.mismatches.iter().take(IN_FULL).for_each(|mismatch| line(&mismatch.to_string()));
    report.reasons.iter().for_each(|reason| line(&format!("{}: cannot express {}", reason.line, reason.what)));
    let more: Vec<String> = report.mismatches.iter().skip(IN_FULL).map(|mismatch| mismatch.line.to_string()).collect();
    if !more.is_empty() {
        out.push_str(&ui.look().wrap_cell("  ", &format!("also differ: lines {}", more.join(", "))));
    }
    out
}
