//! `forebay studio`: serves the page of the laboratory on this machine, and answers its requests.

mod link;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
#[cfg(unix)]
use std::{net::TcpStream, os::fd::OwnedFd};

use forebay_lab::disk;
use forebay_lab::estimate::Budget;
use forebay_lab::load;
use forebay_lab::scenario::{Found, InputError, Overrides};
use forebay_lab::studio::library::Offered;
use forebay_lab::studio::page::{self, Engine};
use forebay_lab::studio::{self, Limits};
use percent_encoding::percent_decode_str;
use tiny_http::{Header, Method, Request, Response, Server};

use crate::args::StudioArgs;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::render::output::Ui;

/// Largest request.
const LARGEST: u64 = 4 << 20;
/// Time between two looks at the flag of Ctrl-C.
const PAUSE: Duration = Duration::from_millis(100);
/// Largest estimated time of the runs of a request, in seconds.
const SECONDS: f64 = 600.0;
/// Most scenarios of run directories that the page lists.
const MOST_RUNS: usize = 200;
/// Depth of the folders that are searched below [`RUNS`]. `DIR/PAPER/SCENARIO`, of `reproduce`, has depth 3.
const DEEPEST: usize = 3;
/// File name of a report.
const REPORT: &str = "report.html";
/// Beginning of the addresses of reports.
const REPORTS: &str = "/report/";
/// Content security policy of the page. It adds to the policy in the page, where `frame-ancestors` has no effect.
const PAGE_POLICY: &str = "frame-ancestors 'none'";
/// Content security policy of a report. The sandbox gives it another origin: a report that somebody else made cannot send
/// requests of the page.
const REPORT_POLICY: &str = "sandbox allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox \
                             allow-top-navigation-by-user-activation; frame-ancestors 'none'";
/// The request that ends all runs.
const STOP: &str = "stop";
/// Folder with the run directories.
const RUNS: &str = "runs";

/// Serves until Ctrl-C.
pub(crate) fn command(args: &StudioArgs, ui: &Ui) -> Result<Exit, Failure> {
    let first = args.scenario.as_deref().map(first).transpose()?;
    let cannot =
        |error: String| Failure::unavailable(format!("cannot listen on port {} of 127.0.0.1: {error}", args.port));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(|error| cannot(error.to_string()))?;
    let server = Server::from_listener(at_once(listener), None).map_err(|error| cannot(error.to_string()))?;
    let port = server.server_addr().to_ip().map_or(args.port, |at| at.port());
    let desk = Arc::new(Desk { port, token: token()?, first, running: Mutex::default() });
    let address = format!("http://127.0.0.1:{port}/?token={}", desk.token);
    if ui.json() {
        ui.print_json(&serde_json::json!({ "version": 1, "address": address }))?;
    } else {
        ui.print(&format!("{address}\nOpen this address in a browser on this machine. Ctrl-C ends the server."))?;
    }
    let stop = interrupt::watch();
    while !stop.load(Ordering::SeqCst) {
        match server.recv_timeout(PAUSE) {
            Ok(Some(request)) => {
                let desk = desk.clone();
                // A run may take long; the page can stop it with another request.
                thread::spawn(move || desk.serve(request));
            }
            Ok(None) => {}
            Err(error) => return Err(Failure::unavailable(format!("the server failed: {error}"))),
        }
    }
    desk.stop_runs();
    Ok(Exit::Done)
}

/// Sets TCP_NODELAY, which Linux copies from a listener to its connections. Without it the last segment of each answer
/// waits 40 ms for a delayed acknowledgement.
fn at_once(listener: TcpListener) -> TcpListener {
    #[cfg(unix)]
    {
        let socket = TcpStream::from(OwnedFd::from(listener));
        // An error only makes answers slower.
        let _ = socket.set_nodelay(true);
        TcpListener::from(OwnedFd::from(socket))
    }
    #[cfg(not(unix))]
    listener
}

/// Reads the scenario that the user named: a link that the page copied, a file or a run directory.
fn first(named: &Path) -> Result<Offered, InputError> {
    let link = named.to_str().and_then(|text| Some(text.split_once(link::BEGIN)?.1));
    let Some(fragment) = link else { return given(named) };
    let wrong = |found: String| InputError::new("the link", "", Found::thing(found), "what the page has copied");
    let state = link::read(fragment).map_err(wrong)?;
    Ok(Offered {
        group: "This session".to_string(),
        title: "The scenario of the link".to_string(),
        file: state.file,
        text: state.text.into(),
        report: None,
        seed: state.seed,
        case: state.case,
    })
}

/// The scenario in a file or in a run directory.
fn given(path: &Path) -> Result<Offered, InputError> {
    let file = if path.is_dir() { path.join("scenario.toml") } else { path.to_path_buf() };
    let text = load::text(&file)?;
    let name = file.display().to_string();
    let cases = load::parse(&name, &text, &Overrides::default())?;
    let title = cases.first().map_or_else(|| name.clone(), |case| case.scenario.title.clone());
    Ok(Offered { group: "This session".to_string(), title, file: name, text: text.into(), ..Offered::default() })
}

/// A random text that nobody can guess: 128 bits.
fn token() -> Result<String, Failure> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| Failure::unavailable(format!("no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What the threads of the server share.
struct Desk {
    port: u16,
    token: String,
    first: Option<Offered>,
    /// Stop flag of the latest request, by page and kind of request.
    running: Mutex<BTreeMap<(String, String), Arc<AtomicBool>>>,
}

/// Status and text of an answer.
struct Answer {
    status: u16,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn refused(status: u16, why: &str) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: why.to_string() }
    }

    fn html(body: String) -> Self {
        Self { status: 200, kind: "text/html; charset=utf-8", body }
    }
}

impl Desk {
    fn serve(&self, mut request: Request) {
        let Answer { status, kind, body } = self.answer(&mut request);
        let policy = if is_report(request.url()) { REPORT_POLICY } else { PAGE_POLICY };
        let headers = [
            ("Content-Type", kind),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Content-Security-Policy", policy),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ];
        let mut response = Response::from_string(body).with_status_code(status);
        for (name, value) in headers {
            response.add_header(Header::from_bytes(name, value).unwrap_or_else(|()| unreachable!("a valid header")));
        }
        // The page may have gone meanwhile.
        let _ = request.respond(response);
    }

    fn answer(&self, request: &mut Request) -> Answer {
        if let Err(refused) = self.admit(request) {
            return refused;
        }
        let path = request.url().split('?').next().unwrap_or_default().to_string();
        match (request.method(), path.as_str()) {
            (Method::Get, "/") => self.page(),
            (Method::Get, path) if let Some(path) = self.in_reports(path) => report(path),
            (Method::Post, "/ask") => self.ask(request),
            (Method::Get | Method::Post, _) => Answer::refused(404, "there is no such page"),
            _ => Answer::refused(405, "GET and POST only"),
        }
    }

    /// Only the page that this server sent has the token. Host and Origin are checked too, so that another site whose
    /// name leads to 127.0.0.1 gets nothing.
    fn admit(&self, request: &Request) -> Result<(), Answer> {
        let header = |name| header(request, name);
        // Browsers leave out the usual port.
        let port = if self.port == 80 { String::new() } else { format!(":{}", self.port) };
        let names = ["127.0.0.1", "localhost"].map(|host| format!("{host}{port}"));
        if !header("Host").is_some_and(|host| names.iter().any(|name| name == host)) {
            return Err(Answer::refused(403, "the request has an unknown Host"));
        }
        let is_ours = |origin: &str| names.iter().any(|name| origin.strip_prefix("http://") == Some(name));
        if header("Origin").is_some_and(|origin| !is_ours(origin)) {
            return Err(Answer::refused(403, "the request comes from another Origin"));
        }
        let (path, query) = request.url().split_once('?').unwrap_or((request.url(), ""));
        let in_address = || query.split('&').find_map(|pair| pair.strip_prefix("token="));
        let token = if *request.method() == Method::Post { header("X-Forebay-Token") } else { in_address() };
        match token {
            Some(token) if token == self.token => Ok(()),
            _ if *request.method() == Method::Get && self.in_reports(path).is_some() => Ok(()),
            _ => Err(Answer::refused(403, "the address needs the token that forebay studio printed")),
        }
    }

    /// The path of a report in an address `/report/TOKEN/PATH`. The token is in the path so that relative links between
    /// reports keep it.
    fn in_reports<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(REPORTS)?.strip_prefix(self.token.as_str())?.strip_prefix('/')
    }

    fn page(&self) -> Answer {
        let own: Vec<Offered> = self.first.iter().cloned().chain(self.run_directories()).collect();
        Answer::html(page::page(Engine::Program(&self.token), env!("CARGO_PKG_VERSION"), own))
    }

    /// Answers a request of the page. It ends the runs of an earlier request of the same page and kind: the page does not
    /// wait for them any more.
    fn ask(&self, request: &mut Request) -> Answer {
        let mut body = String::new();
        if request.as_reader().take(LARGEST).read_to_string(&mut body).is_err() || body.len() as u64 == LARGEST {
            return Answer::refused(413, "the request is not text, or larger than 4 MiB");
        }
        let read: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        let kind = read["ask"].as_str().unwrap_or_default();
        let page = header(request, "X-Forebay-Page").unwrap_or_default().to_string();
        if kind == STOP {
            self.stop_runs_of(|other| other == page);
            return Answer { status: 200, kind: "application/json", body: "{}".to_string() };
        }
        let stop = Arc::new(AtomicBool::new(false));
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earlier) = running.insert((page, kind.to_string()), stop.clone()) {
            earlier.store(true, Ordering::SeqCst);
        }
        drop(running);
        let jobs = thread::available_parallelism().map_or(1, usize::from);
        let limits = Limits { budget: Budget { seconds: SECONDS, ..Budget::of_this_machine() }, jobs };
        Answer { status: 200, kind: "application/json", body: studio::answer(&body, limits, &stop) }
    }

    /// The scenarios of the run directories below [`RUNS`], the newest directories first.
    fn run_directories(&self) -> Vec<Offered> {
        let changed = |path: &PathBuf| fs::metadata(path).and_then(|known| known.modified()).ok();
        let mut all = folders(Path::new(RUNS));
        all.sort_by_key(|path| std::cmp::Reverse(changed(path)));
        let mut offered = Vec::new();
        for folder in all {
            scenarios(&folder, DEEPEST, &mut offered);
        }
        offered
            .iter_mut()
            .for_each(|one| one.report = one.report.as_ref().map(|name| format!("report/{}/{name}", self.token)));
        offered
    }

    fn stop_runs(&self) {
        self.stop_runs_of(|_| true);
    }

    /// Stops the runs of the pages for which `is_asked` holds, and forgets them.
    fn stop_runs_of(&self, is_asked: impl Fn(&str) -> bool) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|(page, _), stop| {
            let is_asked = is_asked(page);
            stop.fetch_or(is_asked, Ordering::SeqCst);
            !is_asked
        });
    }
}

/// The value of a header of a request.
fn header<'a>(request: &'a Request, name: &'static str) -> Option<&'a str> {
    let found = request.headers().iter().find(|header| header.field.equiv(name));
    found.map(|header| header.value.as_str())
}

/// The folders in `folder`, by name.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut all: Vec<PathBuf> = entries.filter(is_folder).map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// Adds the scenario in `folder` and those in its subfolders, down to `deepest` levels. The report of a scenario is in its
/// folder, or else in the nearest folder above.
fn scenarios(folder: &Path, deepest: usize, offered: &mut Vec<Offered>) {
    if offered.len() >= MOST_RUNS {
        return;
    }
    if let Ok(mut one) = given(folder) {
        let reports = folder.ancestors().map(|above| above.join(REPORT));
        let report = reports.take_while(|path| path.starts_with(RUNS)).find(|path| path.is_file());
        one.report = report.and_then(|path| Some(path.strip_prefix(RUNS).ok()?.to_str()?.to_string()));
        one.group = "Run directories".to_string();
        one.title = folder.display().to_string();
        offered.push(one);
    }
    if deepest > 1 {
        folders(folder).iter().for_each(|below| scenarios(below, deepest - 1, offered));
    }
}

/// Whether an address is that of a report.
fn is_report(address: &str) -> bool {
    address.starts_with(REPORTS)
}

/// The report at a path below [`RUNS`].
fn report(path: &str) -> Answer {
    let path = percent_decode_str(path).decode_utf8_lossy();
    let is_below = Path::new(path.as_ref()).components().all(|part| matches!(part, Component::Normal(_)));
    let is_one = is_below && path.rsplit('/').next() == Some(REPORT);
    match is_one.then(|| disk::read_text(&Path::new(RUNS).join(path.as_ref())).ok()).flatten() {
        Some(page) => Answer::html(page),
        None => Answer::refused(404, "there is no such report"),
    }
}
