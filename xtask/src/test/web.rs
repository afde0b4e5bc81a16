//! The page of the laboratory in headless Chromium, driven as a person does: with the engine in WebAssembly from one file
//! and from a web server, and with `forebay studio`. The engine has the fingerprints of the native one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use forebay_aqm::ENTRIES;
use forebay_lab::estimate::Budget;
use forebay_lab::scenario::TcpVariant;
use forebay_lab::studio::{self, Limits, library};
use forebay_sim::tcp::Transport;
use serde_json::{Value, json};

use super::chrome::{Page, Seen, View};
use crate::base::program::{self, at};
use crate::base::tally::Tally;
use crate::web::{self, Build, Site};

/// Longest wait for a picture.
const LIMIT: Duration = Duration::from_secs(30);
const DESKTOP: View = View { width: 1280, height: 900, is_dark: false };
const PHONE: View = View { width: 390, height: 844, is_dark: true };
/// Number of pictures of new results so far.
const SHOWN: &str = "Number(document.documentElement.dataset.shown || 0)";
/// Fingerprints of the runs that are shown.
const PRINTS: &str = "document.documentElement.dataset.fingerprints";
const TEXT: &str = "document.getElementById('text').value";
const RATE: &str = "[id='adjustable-topology.bottleneck.rate']";

/// The checks; a skip without a browser or the target of the engine.
pub(super) fn check(names: &[&str], scratch: &Path, tally: &mut Tally) {
    let Some(browser) = program::find(names) else {
        return tally.skip("no browser to open the page with: install the package chromium");
    };
    if let Err(why) = web::has_target() {
        return tally.skip(why);
    }
    let site = match web::build(Build::Quick) {
        Ok(site) => site,
        Err(why) => return tally.fail(why),
    };
    let pictures = program::build_dir().join("web-pictures");
    if let Err(why) = program::empty(&pictures) {
        return tally.fail(why);
    }
    let house = House { browser, scratch: scratch.to_path_buf(), site, pictures };
    type Check = fn(&House) -> Result<(), String>;
    let checks: [(&str, Check); 14] = [
        ("the first picture comes from one file, without requests", first),
        ("dragging a slider changes text, runs and address", drag),
        ("a parameter is dragged to its end, and what is open stays", parameter),
        ("a slider's invalid value is refused and can be corrected", refused),
        ("Back, Forward and quick choices leave a working page", back),
        ("arrow keys move sliders, and every control has a name", keys),
        ("Play moves packets and the mark in the figures", play),
        ("an invalid text keeps the figures and names the line", invalid),
        ("a link opens the same runs; a hostile one runs no script", links),
        ("too large a scenario is refused with its estimate", large),
        ("the download has the files of the run directory", download),
        ("at the width of a phone nothing is cut off", phone),
        ("every experiment of the book has its sliders and figures", experiments),
        ("every discipline and sender has its native fingerprint", fingerprints),
    ];
    for (name, check) in checks {
        tally.check(name, check(&house));
    }
    tally.check("forebay studio serves the page to its owner only", served(&house));
}

/// What the checks use.
struct House {
    browser: PathBuf,
    scratch: PathBuf,
    site: Site,
    /// Folder for pictures of the page, for people to look at.
    pictures: PathBuf,
}

impl House {
    /// Opens an address and waits for the first results.
    fn visit(&self, name: &str, address: &str, view: View) -> Result<Page, String> {
        visit(&self.browser, &self.scratch.join(format!("web-{name}")), address, view)
    }

    /// The address of the page in one file.
    fn file(&self) -> String {
        format!("file://{}", self.site.file.display())
    }
}

/// Opens an address in a new browser, whose profile is in `scratch`, and waits for the first results.
pub(super) fn visit(browser: &Path, scratch: &Path, address: &str, view: View) -> Result<Page, String> {
    let page = Page::open(browser, scratch, address, view)?;
    page.wait(&format!("{SHOWN} > 0"), LIMIT)?;
    Ok(page)
}

/// An error unless `holds`.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// Errors of the page's scripts.
fn errors(page: &Page) -> Result<(), String> {
    let counted = page.text("document.documentElement.dataset.errors")?;
    let seen: Vec<Seen> = page.seen.borrow().iter().filter(|one| matches!(one, Seen::Error(_))).cloned().collect();
    ensure(counted == "0" && seen.is_empty(), || format!("{counted} errors: {seen:?}"))
}

/// Waits for results that follow the picture number `before`.
fn next(page: &Page, before: u64) -> Result<(), String> {
    page.wait(&format!("{SHOWN} > {before} && document.documentElement.dataset.busy === '0'"), LIMIT)
}

fn shown(page: &Page) -> Result<u64, String> {
    page.eval(SHOWN)?.as_f64().map(|n| n as u64).ok_or_else(|| "no number of pictures".to_string())
}

fn first(house: &House) -> Result<(), String> {
    let page = house.visit("first", &house.file(), DESKTOP)?;
    errors(&page)?;
    let outside: Vec<Seen> = page
        .seen
        .borrow()
        .iter()
        .filter(|one| matches!(one, Seen::Request(at) if !at.starts_with("file:") && !at.starts_with("blob:")))
        .cloned()
        .collect();
    ensure(outside.is_empty(), || format!("{outside:?}"))?;
    let lines = page.eval("document.querySelectorAll('.chart .stroke').length")?.as_f64().unwrap_or(0.0);
    ensure(lines >= 8.0, || format!("{lines} lines in the figures"))?;
    let offered = page.eval("document.querySelectorAll('#scenario option').length")?.as_f64().unwrap_or(0.0);
    ensure(offered > library::all().len() as f64, || format!("{offered} scenarios offered"))
}

fn drag(house: &House) -> Result<(), String> {
    let page = house.visit("drag", &house.file(), DESKTOP)?;
    let (before, prints, address) = (shown(&page)?, page.text(PRINTS)?, page.text("location.hash")?);
    page.drag(RATE, (0.5, 0.3), 10)?;
    next(&page, before)?;
    page.wait(&format!("location.hash !== {address:?}"), LIMIT)?;
    ensure(page.text(PRINTS)? != prints, || "the runs are the same".to_string())?;
    let text = page.text(TEXT)?;
    let changed = text.lines().find(|line| line.starts_with("bottleneck")).unwrap_or_default();
    ensure(!changed.contains("\"20mbit\"") && changed.contains("mbit\""), || changed.to_string())?;
    ensure(text.starts_with("# Bufferbloat"), || "the comments are gone".to_string())?;
    // A choice of several disciplines, and a sender.
    let before = shown(&page)?;
    page.eval("document.querySelectorAll('#adjustables details').forEach((one) => { one.open = true; })")?;
    page.click("#adjustables input[value=pie]")?;
    next(&page, before)?;
    ensure(page.text(TEXT)?.contains("\"pie\""), || "pie was not added".to_string())?;
    let runs = page.text(PRINTS)?.split(' ').count();
    ensure(runs == 3, || format!("{runs} runs"))?;
    errors(&page)
}

/// Opens all lists and details of the values.
fn unfold(page: &Page) -> Result<(), String> {
    let all = "document.querySelectorAll('#adjustables details').forEach((one) => { one.open = true; })";
    page.eval(all).map(drop)
}

fn parameter(house: &House) -> Result<(), String> {
    let page = house.visit("parameter", &house.file(), DESKTOP)?;
    unfold(&page)?;
    let target = "[id='adjustable-compare.aqm.1-target']";
    page.eval(&format!("(() => {{ const one = document.querySelector(\"{target}\"); one.scrollIntoView({{ block: 'center' }}); globalThis.kept = one; }})()"))?;
    let before = shown(&page)?;
    page.drag(target, (0.5, 0.8), 20)?;
    next(&page, before)?;
    let text = page.text(TEXT)?;
    ensure(text.contains("fq_codel target="), || text.clone())?;
    let place =
        page.eval("kept.isConnected && kept.closest('details').open && Number(kept.value) / Number(kept.max)")?;
    ensure(place.as_f64().is_some_and(|place| (0.75..0.85).contains(&place)), || format!("the slider is at {place}"))?;
    errors(&page)
}

fn refused(house: &House) -> Result<(), String> {
    let page = house.visit("refused", &house.file(), DESKTOP)?;
    let (before, text) = (shown(&page)?, page.text(TEXT)?);
    let text = text.replace("aqm = [\"droptail\", \"fq_codel\"]", "aqm = [\"red min_th=10 max_th=40\"]");
    page.write("#text", &text)?;
    next(&page, before)?;
    let slider = "document.querySelector(\"[id='adjustable-compare.aqm.0-min_th']\")";
    let put = |place: &str| {
        page.eval(&format!("(() => {{ const one = {slider}; one.value = {place}; one.dispatchEvent(new Event('input')); one.dispatchEvent(new Event('change')); }})()"))
    };
    let old = page.text(&format!("{slider}.value"))?;
    put(&format!("{slider}.max"))?;
    page.wait("document.documentElement.dataset.error && document.documentElement.dataset.busy === '0'", LIMIT)?;
    let [now, value] = [TEXT.to_string(), format!("{slider}.value")].map(|what| page.text(&what));
    ensure(now? == text, || "the invalid text was taken over".to_string())?;
    ensure(value? == old, || "the slider does not show the value of the text".to_string())?;
    let before = shown(&page)?;
    put(&format!("{slider}.min"))?;
    next(&page, before)?;
    ensure(page.text("document.documentElement.dataset.error")?.is_empty(), || "the error stays".to_string())?;
    errors(&page)
}

fn back(house: &House) -> Result<(), String> {
    let page = house.visit("back", &house.file(), DESKTOP)?;
    let prints = page.text(PRINTS)?;
    page.wait("location.hash.startsWith('#s=')", LIMIT)?;
    std::thread::sleep(Duration::from_millis(1600));
    let (before, address) = (shown(&page)?, page.text("location.hash")?);
    page.drag(RATE, (0.5, 0.7), 5)?;
    next(&page, before)?;
    page.wait(&format!("location.hash !== {address:?}"), LIMIT)?;
    page.eval("history.back()")?;
    page.wait(&format!("{PRINTS} === {prints:?} && document.documentElement.dataset.busy === '0'"), LIMIT)?;
    ensure(page.text("location.hash")? == address, || "another address".to_string())?;
    page.eval("history.forward()")?;
    page.wait(&format!("{PRINTS} !== {prints:?} && document.documentElement.dataset.busy === '0'"), LIMIT)?;
    // After scenarios with other figures in quick succession, the page shows the last one and follows a slider.
    let choose = |n: usize| {
        format!(
            "(() => {{ const all = document.getElementById('scenario'); all.value = '{n}'; all.dispatchEvent(new Event('change')); }})()"
        )
    };
    for n in [2, 1, 2, 0] {
        page.eval(&choose(n))?;
        std::thread::sleep(Duration::from_millis(150));
    }
    page.wait(&format!("{PRINTS} === {prints:?} && document.documentElement.dataset.busy === '0'"), LIMIT)?;
    let before = shown(&page)?;
    let path = "document.querySelector('.chart .stroke').getAttribute('d')";
    let old = page.text(path)?;
    page.drag(RATE, (0.5, 0.7), 5)?;
    next(&page, before)?;
    page.wait(&format!("{path} !== {old:?}"), LIMIT)?;
    errors(&page)
}

fn keys(house: &House) -> Result<(), String> {
    let page = house.visit("keys", &house.file(), DESKTOP)?;
    let value = format!("document.querySelector(\"{RATE} + output\").textContent");
    let (before, old) = (shown(&page)?, page.text(&value)?);
    page.eval(&format!("document.querySelector(\"{RATE}\").focus()"))?;
    page.key("ArrowRight")?;
    next(&page, before)?;
    ensure(page.text(&value)? != old, || format!("the rate is still {old}"))?;
    let focused = page.text("document.activeElement.id")?;
    ensure(focused.ends_with("rate"), || format!("the focus moved to '{focused}'"))?;
    let tree = page.call("Accessibility.getFullAXTree", json!({}))?;
    let nodes = tree["nodes"].as_array().ok_or("no accessibility tree")?;
    let is_control = |node: &&Value| {
        let roles = ["button", "slider", "combobox", "textbox", "checkbox", "spinbutton"];
        node["ignored"] != true && node["role"]["value"].as_str().is_some_and(|role| roles.contains(&role))
    };
    let controls: Vec<&Value> = nodes.iter().filter(is_control).collect();
    ensure(controls.len() > 15, || format!("{} controls", controls.len()))?;
    match controls.iter().find(|node| node["name"]["value"].as_str().unwrap_or_default().trim().is_empty()) {
        Some(nameless) => Err(format!("a control without a name: {nameless}")),
        None => Ok(()),
    }
}

fn play(house: &House) -> Result<(), String> {
    let page = house.visit("play", &house.file(), DESKTOP)?;
    let time = ".player input[aria-label^=Time]";
    page.eval(&format!("(() => {{ const place = document.querySelector('{time}'); place.value = 600; place.dispatchEvent(new Event('input')); }})()"))?;
    page.click(".player .tool")?;
    let mark = "document.querySelector('.playhead').getAttribute('d')";
    page.wait(mark, LIMIT)?;
    let [place, sum] = [mark.to_string(), "(() => { const one = document.querySelector('canvas.queue'); const all = one.getContext('2d').getImageData(0, 0, one.width, one.height).data; let sum = 0; for (let k = 3; k < all.length; k += 4) sum += all[k] > 0; return sum; })()".to_string()];
    let old = page.text(&place)?;
    page.wait(&format!("{place} !== {old:?}"), LIMIT)?;
    let painted = page.eval(&sum)?.as_f64().unwrap_or(0.0);
    ensure(painted > 2000.0, || format!("{painted} painted pixels"))?;
    // The animation loads its events in parts. No packet is counted twice if it plays across the parts.
    page.eval("(() => { const pace = document.querySelector('.player input[aria-label^=Speed]'); pace.value = 0; pace.dispatchEvent(new Event('input')); })()")?;
    page.wait(&format!("Number(document.querySelector('{time}').value) > 800"), LIMIT)?;
    page.click(".player .tool")?;
    let said = page.text("document.querySelector('canvas.queue').getAttribute('aria-label')")?;
    let count = said.split(": ").nth(1).and_then(|rest| rest.split(' ').next()).and_then(|n| n.parse::<u32>().ok());
    ensure(count.is_some_and(|count| (100..=250).contains(&count)) && said.contains("of 250"), || said)?;
    page.picture(&house.pictures.join("play.png"))?;
    errors(&page)
}

fn invalid(house: &House) -> Result<(), String> {
    let page = house.visit("invalid", &house.file(), DESKTOP)?;
    let (prints, text) = (page.text(PRINTS)?, page.text(TEXT)?);
    let cases = [
        (text.replace("\"20mbit\"", "\"20 mbits\""), "topology.bottleneck.rate", "10"),
        (text.replace("kind       = \"dumbbell\"", "kind = \"dumbell\""), "dumbbell", "9"),
        (text.replace("[compare]", "[compare"), "compare", ""),
    ];
    for (wrong, what, line) in cases {
        page.write("#text", &wrong)?;
        page.wait("document.documentElement.dataset.error", LIMIT)?;
        page.wait(&format!("document.documentElement.dataset.error.includes({what:?})"), LIMIT)?;
        let marked = page.text("(document.querySelector('#lines .wrong') || {}).textContent || ''")?;
        ensure(line.is_empty() || marked == line, || format!("line {marked} is marked for {what}"))?;
        ensure(page.text(PRINTS)? == prints, || "the figures changed".to_string())?;
    }
    let before = shown(&page)?;
    page.write("#text", &text)?;
    next(&page, before)?;
    ensure(page.eval("document.getElementById('error').hidden")? == json!(true), || "the message stays".to_string())?;
    errors(&page)
}

fn links(house: &House) -> Result<(), String> {
    let page = house.visit("links", &house.file(), DESKTOP)?;
    let before = shown(&page)?;
    page.drag(RATE, (0.5, 0.7), 5)?;
    next(&page, before)?;
    let prints = page.text(PRINTS)?;
    page.click("#share")?;
    page.wait("document.getElementById('status').textContent.startsWith('The link')", LIMIT)?;
    let address = page.text("location.href")?;
    page.call("Page.reload", json!({}))?;
    page.wait(&format!("{PRINTS} === {prints:?}"), LIMIT)?;
    let other = house.visit("links-other", &address, DESKTOP)?;
    ensure(other.text(PRINTS)? == prints, || "another browser shows other runs".to_string())?;
    let attack =
        "\"><img src=x onerror=\\\"globalThis.attacked = 1\\\"></script><script>globalThis.attacked = 1</script>";
    let state = json!({ "file": attack, "text": format!("title = '''{attack}'''\nversion = 1\n[{attack}"), "seed": 1 });
    let make = format!(
        "(async () => {{ const packed = new Uint8Array(await new Response(new Blob([JSON.stringify({state})]).stream()
        .pipeThrough(new CompressionStream('deflate-raw'))).arrayBuffer()); return '#s=' + btoa(String.fromCharCode(...packed))
        .replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, ''); }})()"
    );
    let fragment = other.eval(&make)?.as_str().unwrap_or_default().to_string();
    for fragment in [fragment.as_str(), "#s=%%%", "#s=AAAA"] {
        other.eval(&format!("(() => {{ location.hash = {fragment:?}; }})()"))?;
        other.wait("document.documentElement.dataset.error || document.documentElement.dataset.notice", LIMIT)?;
        let attacked =
            other.eval("globalThis.attacked === undefined && document.querySelectorAll('img').length === 0")?;
        ensure(attacked == json!(true), || format!("{fragment} ran a script"))?;
        let before = shown(&other)?;
        other.eval("(() => { const all = document.getElementById('scenario'); all.value = '0'; all.dispatchEvent(new Event('change')); })()")?;
        next(&other, before)?;
    }
    errors(&other)?;
    // A page that is opened with a bad link shows the first scenario and a message, and keeps the address.
    let bad = house.visit("links-bad", &format!("{}#s=AAAA", house.file()), DESKTOP)?;
    std::thread::sleep(Duration::from_millis(400));
    let kept = bad.eval("location.hash === '#s=AAAA' && !document.getElementById('notice').hidden")?;
    ensure(kept == json!(true), || "the message about a bad link, or the link, is gone".to_string())?;
    errors(&bad)
}

fn large(house: &House) -> Result<(), String> {
    let page = house.visit("large", &house.file(), DESKTOP)?;
    let text = page.text(TEXT)?;
    page.write("#text", &text.replace("\"20s\"", "\"2000s\"").replace("\"20mbit\"", "\"1gbit\""))?;
    page.wait("document.documentElement.dataset.error.includes('at most')", LIMIT)?;
    let said = page.text("document.documentElement.dataset.error")?;
    ensure(said.contains("runs that take up to"), || said)?;
    errors(&page)
}

fn download(house: &House) -> Result<(), String> {
    let page = house.visit("download", &house.file(), DESKTOP)?;
    let folder = house.scratch.join("web-files");
    program::empty(&folder)?;
    page.call(
        "Browser.setDownloadBehavior",
        json!({ "behavior": "allow", "downloadPath": folder.display().to_string() }),
    )
    .or_else(|_| {
        page.call(
            "Page.setDownloadBehavior",
            json!({ "behavior": "allow", "downloadPath": folder.display().to_string() }),
        )
    })?;
    page.click("#save")?;
    page.wait("document.documentElement.dataset.saved", LIMIT)?;
    let file = folder.join("bufferbloat.zip");
    for _ in 0..200 {
        if file.is_file() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let script = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print('\\n'.join(z.namelist()))";
    let mut python = Command::new("python3");
    python.args(["-c", script]).arg(&file);
    let names = program::said(python)?;
    for name in
        ["meta.json", "summary.json", "scenario.toml", "report.html", "series.parquet", "runs/case000-aqm00-seed1.json"]
    {
        ensure(names.lines().any(|line| line == format!("bufferbloat/{name}")), || format!("no {name} in {names}"))?;
    }
    errors(&page)
}

fn phone(house: &House) -> Result<(), String> {
    for (name, view) in [
        ("phone", PHONE),
        ("desktop", DESKTOP),
        ("desktop-dark", View { is_dark: true, ..DESKTOP }),
        ("phone-light", View { is_dark: false, ..PHONE }),
    ] {
        let page = house.visit(name, &house.file(), view)?;
        let beyond = page.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth")?;
        ensure(beyond == json!(0), || format!("{name}: {beyond} pixels too wide"))?;
        page.picture(&house.pictures.join(format!("{name}.png")))?;
        errors(&page)?;
    }
    Ok(())
}

fn experiments(house: &House) -> Result<(), String> {
    let chapter = program::root().join("docs/experiments.md");
    let chapter = at(&chapter, std::fs::read_to_string(&chapter))?;
    for one in library::EXPERIMENTS {
        let frame = chapter.lines().find(|line| line.contains(&format!("#f={}\"", one.name))).unwrap_or_default();
        let room = frame.split_once("height=\"").and_then(|(_, rest)| rest.split('"').next()?.parse::<f64>().ok());
        let page =
            house.visit(one.name, &format!("{}#f={}", house.file(), one.name), View { width: 740, ..DESKTOP })?;
        let count = |what: &str| page.text(&format!("document.querySelectorAll('{what}').length"));
        let (sliders, figures) = (count("#adjustables input[type=range]")?, count("#figures figure")?);
        let wanted = one.figures.iter().filter(|title| **title != "Theory").count();
        ensure(sliders == one.sliders.len().to_string(), || format!("{}: {sliders} sliders", one.name))?;
        ensure(figures == wanted.to_string(), || format!("{}: {figures} figures", one.name))?;
        let height = page.eval("document.getElementById('page').getBoundingClientRect().height")?.as_f64();
        ensure(height < room, || format!("{}: {height:?} pixels in a frame of {room:?}", one.name))?;
        let (before, prints) = (shown(&page)?, page.text(PRINTS)?);
        page.drag("#adjustables input[type=range]", (0.4, 0.8), 3)?;
        next(&page, before)?;
        ensure(page.text(PRINTS)? != prints, || format!("{}: the runs are the same", one.name))?;
        page.picture(&house.pictures.join(format!("{}.png", one.name)))?;
        errors(&page)?;
    }
    Ok(())
}

/// Scenarios that together have every discipline and every congestion control.
fn everything() -> Vec<(String, String)> {
    let text = |kind: &str, sender: &str, aqm: &str| {
        format!(
            "version = 1\nduration = \"3s\"\n[topology]\nkind = \"dumbbell\"\n\
             bottleneck = {{ rate = \"10mbit\", delay = \"10ms\", queue = \"60p\" }}\n\
             access = {{ hosts = 3, rate = \"100mbit\", delays = [\"2ms\", \"8ms\"] }}\negress = {{ delay = \"1ms\" }}\n\
             [[flows]]\nkind = \"{kind}\"\ntcp = \"{sender}\"\ncount = 3\n[compare]\naqm = [{aqm}]\n"
        )
    };
    let disciplines: Vec<String> = ENTRIES.iter().map(|entry| format!("\"{}\"", entry.name)).collect();
    let two = "\"droptail\", \"codel\"";
    let senders =
        TcpVariant::of(Transport::Tcp).into_iter().map(|(name, _)| (name.to_string(), text("ftp", name, two)));
    let sctp = ("sctp".to_string(), text("sctp", "sctp", two).replace("tcp = \"sctp\"\n", ""));
    std::iter::once(("disciplines".to_string(), text("ftp", "sack", &disciplines.join(", "))))
        .chain(senders)
        .chain([sctp])
        .collect()
}

fn fingerprints(house: &House) -> Result<(), String> {
    let page = house.visit("fingerprints", &house.file(), DESKTOP)?;
    let both = prints_of_both(&page)?;
    match both.iter().find(|one| one.native != one.there) {
        Some(one) => Err(format!("{}: native {}, in the browser {}", one.run, one.native, one.there)),
        None => {
            // Two disciplines for each sender of TCP and that of SCTP.
            let wanted = ENTRIES.len() + 2 * (TcpVariant::of(Transport::Tcp).len() + 1);
            ensure(both.len() == wanted, || format!("{} runs, not {wanted}", both.len()))
        }
    }
}

/// The fingerprints of a run.
pub(super) struct Prints {
    /// Scenario and discipline.
    pub(super) run: String,
    pub(super) native: String,
    /// In the browser; empty if it has no such run.
    pub(super) there: String,
}

/// The fingerprints of all disciplines and senders, native and in the browser.
pub(super) fn prints_of_both(page: &Page) -> Result<Vec<Prints>, String> {
    let limits = Limits { budget: Budget { bytes: 4e9, seconds: 600.0 }, jobs: 1 };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let mut all = Vec::new();
    for (name, scenario) in everything() {
        let request = json!({ "ask": "run", "file": "all.toml", "text": scenario });
        let native: Value =
            serde_json::from_str(&studio::answer(&request.to_string(), limits, &AtomicBool::new(false)))
                .map_err(|error| error.to_string())?;
        let there = page.eval(&format!(
            "forebay.ask({request}).then(({{ runs, error, failed }}) => ({{ runs, error, failed }}))"
        ))?;
        let runs =
            native["runs"].as_array().filter(|runs| !runs.is_empty()).ok_or_else(|| format!("{name}: {native}"))?;
        all.extend(runs.iter().enumerate().map(|(n, run)| Prints {
            run: format!("{name}, {}", text(&run["label"])),
            native: text(&run["fingerprint"]),
            there: text(&there["runs"][n]["fingerprint"]),
        }));
    }
    Ok(all)
}

/// A running `forebay studio`, and its address.
pub(super) struct Served {
    child: Child,
    pub(super) address: String,
    /// Kept open: the program ends if nobody can read what it prints.
    _output: BufReader<ChildStdout>,
}

impl Served {
    /// Starts `forebay studio` and reads its address.
    pub(super) fn start(mut studio: Command) -> Result<Self, String> {
        let mut child = studio.stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut address = String::new();
        output.read_line(&mut address).map_err(|error| error.to_string())?;
        Ok(Self { child, address: address.trim_end().to_string(), _output: output })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The page has a link to the report of a run directory, and that report a link to the page. A report that is opened as a
/// file shows the command instead.
fn reports(page: &Page, other: &Page, report: &Path) -> Result<(), String> {
    let (old, scenario) = (page.text("location.href")?, "runs/one run/scenario.toml");
    let before = shown(page)?;
    page.eval(&format!("(() => {{ location.hash = '#o=' + encodeURIComponent({scenario:?}); }})()"))?;
    next(page, before)?;
    let link = page.text("document.getElementById('report').hidden ? '' : document.getElementById('report').href")?;
    page.eval(&format!("(() => {{ location.href = {link:?}; }})()"))?;
    let change = "(document.querySelector('#origin a[href*=\"#o=\"]') || {}).href";
    page.wait(change, LIMIT)?;
    let back = page.text(change)?;
    ensure(!back.is_empty() && back != old, || format!("'{back}' in {link}"))?;
    page.eval(&format!("(() => {{ location.href = {back:?}; }})()"))?;
    page.wait(&format!("{SHOWN} > 0"), LIMIT)?;
    let address = page.text("document.getElementById('report').href")?;
    ensure(address == link, || format!("the report of '{back}' is '{address}', not '{link}'"))?;
    other.eval(&format!("(() => {{ location.href = {:?}; }})()", format!("file://{}", report.display())))?;
    other.wait("document.querySelector('details.change code')", LIMIT)?;
    let command = other.text("document.querySelector('details.change code').textContent")?;
    let folder = report.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    ensure(command == format!("forebay studio '{folder}'"), || command)
}

fn served(house: &House) -> Result<(), String> {
    let (forebay, scenario) = (program::built("forebay")?, program::root().join("examples/bufferbloat.toml"));
    let folder = house.scratch.join("web-served");
    program::empty(&folder)?;
    let mut run = Command::new(&forebay);
    run.args(["run", "--quiet", "--runs", "1", "-o", "runs/one run"]).arg(&scenario).current_dir(&folder);
    program::said(run)?;
    let mut command = Command::new(&forebay);
    command.arg("studio").arg(&scenario).current_dir(&folder);
    let mut served = Served::start(command)?;
    let address = served.address.clone();
    let (host, token) = address
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once("/?token="))
        .ok_or_else(|| format!("no address: {address}"))?;
    let page = house.visit("served", &address, DESKTOP)?;
    let prints = page.text(PRINTS)?;
    let before = shown(&page)?;
    page.drag(RATE, (0.5, 0.3), 5)?;
    next(&page, before)?;
    ensure(page.text(PRINTS)? != prints, || "the runs are the same".to_string())?;
    errors(&page)?;
    let own = house.visit("served-file", &house.file(), DESKTOP)?;
    ensure(own.text(PRINTS)? == prints, || "the engines differ".to_string())?;
    // The page copies a command, whose link opens the same scenario.
    page.click("#share")?;
    let copied = "document.documentElement.dataset.copied";
    page.wait(copied, LIMIT)?;
    let copied = page.text(copied)?;
    let link = copied.strip_prefix("forebay studio '").and_then(|rest| rest.strip_suffix('\'')).unwrap_or_default();
    let mut again = Command::new(&forebay);
    again.args(["studio", link]).current_dir(&folder);
    let again = Served::start(again)?;
    let opened = house.visit("served-link", &again.address, DESKTOP)?.text(PRINTS)?;
    ensure(opened == page.text(PRINTS)?, || format!("'{copied}' opens another scenario"))?;
    reports(&page, &own, &folder.join("runs/one run/report.html"))?;
    let body = json!({ "ask": "run", "file": "x", "text": "" }).to_string();
    let ask = |host: &str, token: &str, more: &str| {
        format!(
            "POST /ask HTTP/1.1\r\nHost: {host}\r\nX-Forebay-Token: {token}\r\n{more}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let cases = [
        (ask(host, token, ""), "200"),
        (ask(host, token, &format!("Origin: http://{host}\r\n")), "200"),
        (ask(host, "0", ""), "403"),
        (ask(host, token, "Origin: http://example.org\r\n"), "403"),
        (ask("example.org", token, ""), "403"),
        (get("/"), "403"),
        (get(&format!("/?token={token}")), "200"),
        (get(&format!("/report/{token}/one%20run/report.html")), "200"),
        (get("/report/0/one%20run/report.html"), "403"),
        (get("/report/one%20run/report.html"), "403"),
        (get(&format!("/report/{token}/one%20run/meta.json")), "404"),
        (get(&format!("/report/{token}/../report.html")), "404"),
        (get(&format!("/report/{token}/%2e%2e/runs/one%20run/report.html")), "404"),
        (get(&format!("/report/{token}//etc/report.html")), "404"),
        (get("/report/"), "403"),
    ];
    let port: u16 = host.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).ok_or("no port")?;
    for (request, status) in cases {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(|error| error.to_string())?;
        stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(|error| error.to_string())?;
        let answer = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_string();
        ensure(answer.contains(&format!(" {status} ")), || format!("{answer} for {request}"))?;
    }
    let mut kill = Command::new("kill");
    kill.args(["-INT", &served.child.id().to_string()]);
    program::said(kill).or_else(|why| if why.is_empty() { Ok(String::new()) } else { Err(why) })?;
    for _ in 0..100 {
        if let Some(status) = served.child.try_wait().map_err(|error| error.to_string())? {
            return ensure(status.success(), || format!("Ctrl-C: {status}"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err("Ctrl-C does not end it".to_string())
}
