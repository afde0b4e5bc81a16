//! `cargo xtask web speed`: measures the page, for docs/studio.md. Both engines answer the same requests, each on one
//! processor.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::browser;
use super::chrome::{Page, View};
use super::web::{Served, prints_of_both, visit};
use crate::base::program::{self, at, cargo, shown};
use crate::web::{self, Build};

/// Measurements of each quantity; their median is printed.
const TIMES: usize = 9;
/// Scenarios from small to large.
const SCENARIOS: [&str; 4] =
    ["examples/bufferbloat.toml", "examples/l4s.toml", "examples/home.toml", "papers/raqm/case-1.toml"];
const VIEW: View = View { width: 1280, height: 900, is_dark: false };
/// Time from opening the page to its first figures, in milliseconds.
const FIRST: &str = "performance.getEntriesByName('figures')[0].startTime";
/// Moves the first slider in every frame for four seconds; gives the times between frames in milliseconds, and the number
/// of simulations.
const DRAG: &str = "(async () => {
    const slider = document.querySelector('#adjustables input[type=range]');
    const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const [begun, before, times] = [performance.now(), Number(document.documentElement.dataset.shown), []];
    let last = await next();
    while (last - begun < 4000) {
        slider.value = Number(slider.min) + (slider.max - slider.min) * (0.5 + 0.2 * Math.sin(last / 500));
        slider.dispatchEvent(new Event('input'));
        const now = await next();
        times.push(now - last);
        last = now;
    }
    return { times, runs: Number(document.documentElement.dataset.shown) - before };
})()";

/// Prints the figures, and the fingerprints of all disciplines and senders, as Markdown.
pub(crate) fn run() -> Result<(), String> {
    let browser = program::find(&browser::NAMES).ok_or("no browser: install the package chromium")?;
    let site = web::build(Build::Full)?;
    shown(cargo(&["build", "--quiet", "--release", "-p", "forebay"]))?;
    let scratch = program::build_dir().join("web-speed");
    program::empty(&scratch)?;
    let file = format!("file://{}", site.file.display());
    let open = |name: &str, address: &str| visit(&browser, &scratch.join(name), address, VIEW);

    let mut program = Command::new("taskset");
    program.args(["-c", "0"]).arg(program::build_dir().join("release/forebay"));
    program.arg("studio").arg(program::root().join(SCENARIOS[0])).current_dir(&scratch);
    let served = Served::start(program)?;
    let (native, there) = (open("native", &served.address)?, open("wasm", &file)?);
    println!("| scenario | runs | packets | `forebay studio` | in the browser | speed |\n|---|---|---|---|---|---|");
    for scenario in SCENARIOS {
        let (runs, packets, ours) = ask(&native, scenario)?;
        let (_, _, theirs) = ask(&there, scenario)?;
        let speed = 100.0 * ours / theirs;
        println!("| `{scenario}` | {runs} | {packets} | {ours:.0} ms | {theirs:.0} ms | {speed:.0} % |");
    }
    println!("\n| run | native | in the browser |\n|---|---|---|");
    for one in prints_of_both(&there)? {
        println!("| {} | `{}` | `{}` |", one.run, one.native, one.there);
    }
    drop((native, there));

    let (whole, compressed) = site.bytes;
    println!("\n- Size of the engine: {whole} bytes, {compressed} with gzip.");
    let mut first = Vec::new();
    for n in 0..TIMES {
        first.push(number(&open(&format!("first{n}"), &file)?.eval(FIRST)?)?);
    }
    let [middle, least, most] = spread(first, 1.0).map(|ms| ms / 1000.0);
    println!(
        "- From opening the HTML file to the first figures: {middle:.2} s (median of {TIMES}; {least:.2} to {most:.2} s)."
    );
    let dragged = open("drag", &file)?.eval(DRAG)?;
    let frames: Vec<f64> = dragged["times"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    let [middle, _, late] = spread(frames, 0.95);
    println!(
        "- The first slider of `{}` moved in every frame for 4 s: {} simulations; time between frames {middle:.1} ms (median), \
         {late:.1} ms (95th percentile).",
        SCENARIOS[0], dragged["runs"]
    );
    Ok(())
}

/// Number of runs, packets, and median time in milliseconds of the answers to a request for a scenario.
fn ask(page: &Page, scenario: &str) -> Result<(usize, u64, f64), String> {
    let path: PathBuf = program::root().join(scenario);
    let request = json!({ "ask": "run", "file": scenario, "text": at(&path, fs::read_to_string(&path))? });
    let mut times = Vec::new();
    let mut runs = Vec::new();
    // The browser optimises the engine while it runs, so the first answers take longer.
    for n in 0..TIMES + 2 {
        let answer =
            page.eval(&format!("forebay.ask({request}).then(({{ runs, tookMs }}) => ({{ runs, tookMs }}))"))?;
        runs = answer["runs"].as_array().cloned().unwrap_or_default();
        if n >= 2 {
            times.push(number(&answer["tookMs"])?);
        }
    }
    let packets = runs.iter().filter_map(|run| run["packets"].as_u64()).sum();
    Ok((runs.len(), packets, spread(times, 1.0)[0]))
}

fn number(value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| format!("{value} is not a number"))
}

/// The median, the minimum, and the quantile `high` of the values.
fn spread(mut all: Vec<f64>, high: f64) -> [f64; 3] {
    all.sort_by(f64::total_cmp);
    let at = |part: f64| all.get((part * (all.len().max(1) - 1) as f64).round() as usize).copied().unwrap_or(f64::NAN);
    [at(0.5), at(0.0), at(high)]
}
