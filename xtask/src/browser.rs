//! Opens a report in headless Chromium at the width of a desktop and of a phone.
//!
//! The report stands in a frame of exact width, so that its own script, its counts of errors and charts, and
//! whether it scrolls sideways can be read from the page around it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::program;
use crate::tally::Tally;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const WIDTHS: [u32; 2] = [1280, 390];
/// A reproduction of a paper has at least so many charts.
const CHARTS: u32 = 20;
const LIMIT: Duration = Duration::from_secs(120);
/// Nothing is fetched, remembered or shown.
const FLAGS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    // The page around the report may look into it.
    "--allow-file-access-from-files",
    "--virtual-time-budget=10000",
    "--dump-dom",
];

/// Each width is one check; without a browser one skip.
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
}

/// What the browser makes of the page around `report`.
fn look(browser: &Path, report: &Path, scratch: &Path, width: u32) -> Result<String, String> {
    let report = fs::canonicalize(report).map_err(|error| format!("{}: {error}", report.display()))?;
    let frame = scratch.join(format!("frame-{width}.html"));
    fs::write(&frame, page(&report, width)).map_err(|error| format!("{}: {error}", frame.display()))?;
    let mut command = Command::new(browser);
    command.args(FLAGS);
    command.arg(format!("--user-data-dir={}", scratch.join(format!("profile-{width}")).display()));
    command.arg(format!("file://{}", frame.display()));
    let dom = program::output_within(command, LIMIT)?;
    dom.lines().find(|line| line.starts_with("<html")).map(str::to_string).ok_or_else(|| "an empty page".to_string())
}

/// A page with `report` in a frame; what is to be known about it becomes attributes of its first element.
fn page(report: &Path, width: u32) -> String {
    format!(
        r#"<!DOCTYPE html>
<html><body><script>
addEventListener("load", () => {{
  const inside = document.querySelector("iframe").contentDocument.documentElement;
  Object.assign(document.documentElement.dataset, {{
    errors: inside.dataset.errors, charts: inside.dataset.charts,
    lines: inside.querySelectorAll("svg.chart path").length,
    beyond: inside.scrollWidth - inside.clientWidth,
  }});
}});
</script><iframe src="file://{}" style="width:{width}px;height:800px;border:0"></iframe></body></html>
"#,
        report.display()
    )
}

/// Errors, charts, lines and overhang, from the page's first line.
fn judge(html: &str) -> Result<(), String> {
    let number = |name: &str| -> Result<u32, String> {
        let rest = html.split_once(&format!("data-{name}=\"")).and_then(|(_, rest)| rest.split_once('"'));
        rest.and_then(|(number, _)| number.parse().ok())
            .ok_or_else(|| format!("the report says nothing of {name}: {html}"))
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

    fn html(errors: u32, charts: u32, lines: u32, beyond: u32) -> String {
        format!(
            "<html data-errors=\"{errors}\" data-charts=\"{charts}\" data-lines=\"{lines}\" data-beyond=\"{beyond}\"><head>"
        )
    }

    #[test]
    fn finds_what_is_wrong_with_a_page() {
        assert_eq!(judge(&html(0, 51, 900, 0)), Ok(()));
        for (page, want) in [
            (html(1, 51, 900, 0), "1 script errors"),
            (html(0, 19, 900, 0), "19 charts"),
            (html(0, 51, 50, 0), "only 50 lines"),
            (html(0, 51, 900, 12), "12 pixels wider"),
            ("<html><head>".to_string(), "nothing of errors"),
        ] {
            assert!(judge(&page).is_err_and(|what| what.contains(want)), "{page}");
        }
    }
}
