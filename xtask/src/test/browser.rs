//! Opens a report in headless Chromium at the width of a desktop and of a phone.
//!
//! The report is in a frame of exact width. A page around it reads the errors and charts that the report's script
//! counts, and whether the report scrolls sideways.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::chrome;
use crate::base::program;
use crate::base::tally::Tally;
use pages::page;

pub(super) const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const WIDTHS: [u32; 2] = [1280, 390];
/// Smallest number of charts in a reproduction of a paper.
const CHARTS: u32 = 20;
const LIMIT: Duration = Duration::from_secs(120);
/// A page of invented results, and what must and must not be in it once it is drawn.
const DRAWING: &str = include_str!("drawing.json");
/// Flags of Chromium in addition to those that every test has: it prints the page after its script has run.
const FLAGS: [&str; 3] = [
    // The page around the report may read it.
    "--allow-file-access-from-files",
    "--virtual-time-budget=10000",
    "--dump-dom",
];

/// One check per width; one skip without a browser.
pub(crate) fn check(report: &Path, scratch: &Path, tally: &mut Tally) {
    let Some(browser) = program::find(&NAMES) else {
        return tally.skip("no browser to open the report with: install the package chromium");
    };
    if !report.is_file() {
        return tally.fail(format!("there is no report: {}", report.display()));
    }
    for width in WIDTHS {
        let seen = look(&browser, report, scratch, width);
        tally.check(&format!("at {width} pixels"), seen.and_then(|page| judge(&page)));
    }
    tally.check("ticks, whiskers, columns and empty data of made-up figures", drawing(&browser, scratch));
}

/// Draws the invented page and searches for what must be in it.
fn drawing(browser: &Path, scratch: &Path) -> Result<(), String> {
    let data: Value = serde_json::from_str(DRAWING).map_err(|error| format!("drawing.json: {error}"))?;
    let path = scratch.join("drawing.html");
    let page = forebay_lab::report::draw(data["title"].as_str().unwrap_or_default(), &data)?;
    program::at(&path, fs::write(&path, page))?;
    let dom = dump(browser, &path, &scratch.join("profile-drawing"))?;
    let texts = |key: &str| data[key].as_array().into_iter().flatten().filter_map(Value::as_str);
    // The data of the page are in it too.
    let (before, after) = dom.split_once("id=\"forebay-data\"").ok_or("an empty page")?;
    let drawn = [before, after.split_once("</script>").map_or("", |(_, rest)| rest)].concat();
    if let Some(lost) = texts("must").find(|what| !drawn.contains(what)) {
        return Err(format!("{lost} is not drawn: see {}", path.display()));
    }
    match texts("must_not").find(|what| drawn.contains(what)) {
        Some(wrong) => Err(format!("{wrong} is drawn: see {}", path.display())),
        None => Ok(()),
    }
}

/// The page after its script has run.
fn dump(browser: &Path, page: &Path, profile: &Path) -> Result<String, String> {
    let page = program::at(page, fs::canonicalize(page))?;
    let mut command = Command::new(browser);
    command
        .args(chrome::FLAGS)
        .args(FLAGS)
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()));
    program::output_within(command, LIMIT)
}

/// The browser's result for the page around `report`, in the attributes of its first element.
fn look(browser: &Path, report: &Path, scratch: &Path, width: u32) -> Result<String, String> {
    let frame = scratch.join(format!("frame-{width}.html"));
    let report = program::at(report, fs::canonicalize(report))?;
    let page = page!("frame.html.jinja", json!({ "report": report.display().to_string(), "width": width }))?;
    program::at(&frame, fs::write(&frame, page))?;
    let dom = dump(browser, &frame, &scratch.join(format!("profile-{width}")))?;
    dom.lines().find(|line| line.starts_with("<html")).map(str::to_string).ok_or_else(|| "an empty page".to_string())
}

/// Checks the numbers of errors, charts, chart lines and excess pixels of width, from the page's first line.
fn judge(html: &str) -> Result<(), String> {
    let number = |name: &str| -> Result<u32, String> {
        let rest = html.split_once(&format!("data-{name}=\"")).and_then(|(_, rest)| rest.split_once('"'));
        rest.and_then(|(number, _)| number.parse().ok()).ok_or_else(|| format!("no data-{name} in the report: {html}"))
    };
    let (errors, charts, lines, beyond) = (number("errors")?, number("charts")?, number("lines")?, number("beyond")?);
    match () {
        () if errors > 0 => Err(format!("{errors} script errors")),
        () if charts < CHARTS => Err(format!("{charts} charts drawn, not {CHARTS}")),
        () if lines < charts => Err(format!("{charts} charts, but only {lines} lines in them")),
        () if beyond > 0 => Err(format!("the page is {beyond} pixels wider than its window")),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_script_errors_missing_charts_and_horizontal_overflow() {
        for (errors, charts, lines, beyond, want) in [
            (0, 51, 900, 0, ""),
            (1, 51, 900, 0, "1 script errors"),
            (0, 19, 900, 0, "19 charts"),
            (0, 51, 50, 0, "only 50 lines"),
            (0, 51, 900, 12, "12 pixels wider"),
        ] {
            let [errors, charts] =
                [("errors", errors), ("charts", charts)].map(|(name, n)| format!("data-{name}=\"{n}\""));
            let page = format!("<html {errors} {charts} data-lines=\"{lines}\" data-beyond=\"{beyond}\"><head>");
            let found = judge(&page).err().unwrap_or_default();
            assert!(found.contains(want) && found.is_empty() == want.is_empty(), "{page}: {found}");
        }
        assert!(judge("<html><head>").is_err_and(|what| what.contains("no data-errors")));
    }
}
