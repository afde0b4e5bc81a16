//! `forebay studio`: serves the page of the laboratory on this machine, and answers its requests.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use forebay_lab::disk;
use forebay_lab::estimate::Budget;
use forebay_lab::load;
use forebay_lab::scenario::{InputError, Overrides};
use forebay_lab::studio::library::Offered;
use forebay_lab::studio::page::{self, Engine};
use forebay_lab::studio::{self, Limits};
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
/// Most run directories that the page lists.
const MOST_RUNS: usize = 100;
/// The request that ends all runs.
const STOP: &str = "stop";
/// Folder with the run directories.
const RUNS: &str = "runs";

/// Serves until Ctrl-C.
pub(crate) fn command(args: &StudioArgs, ui: &Ui) -> Result<Exit, Failure> {
    let first = args.scenario.as_deref().map(given).transpose()?;
    let server = Server::http((Ipv4Addr::LOCALHOST, args.port))
        .map_err(|error| Failure::unavailable(format!("cannot listen on port {} of 127.0.0.1: {error}", args.port)))?;
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

/// The scenario that the user named: a file, or that of a run directory.
fn given(path: &Path) -> Result<Offered, InputError> {
    let file = if path.is_dir() { path.join("scenario.toml") } else { path.to_path_buf() };
    let text = load::text(&file)?;
    let name = file.display().to_string();
    let cases = load::parse(&name, &text, &Overrides::default())?;
    let title = cases.first().map_or_else(|| name.clone(), |case| case.scenario.title.clone());
    Ok(Offered { group: "This session".to_string(), title, file: name, text: text.into() })
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
    /// By kind of request: the stop flag of the latest one.
    running: Mutex<BTreeMap<String, Arc<AtomicBool>>>,
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
        let headers = [
            ("Content-Type", kind),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
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
            (Method::Get, path) if let Some(name) = path.strip_prefix("/report/") => report(name),
            (Method::Post, "/ask") => self.ask(request),
            (Method::Get | Method::Post, _) => Answer::refused(404, "there is no such page"),
            _ => Answer::refused(405, "GET and POST only"),
        }
    }

    /// Only the page that this server sent has the token. Host and Origin are checked too, so that another site whose
    /// name leads to 127.0.0.1 gets nothing.
    fn admit(&self, request: &Request) -> Result<(), Answer> {
        let header = |name: &'static str| {
            let found = request.headers().iter().find(|header| header.field.equiv(name));
            found.map(|header| header.value.as_str())
        };
        let names = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port));
        if !header("Host").is_some_and(|host| names.iter().any(|name| name == host)) {
            return Err(Answer::refused(403, "unknown Host"));
        }
        let is_ours = |origin: &str| names.iter().any(|name| origin.strip_prefix("http://") == Some(name));
        if header("Origin").is_some_and(|origin| !is_ours(origin)) {
            return Err(Answer::refused(403, "another Origin"));
        }
        let in_address = || {
            let query = request.url().split_once('?').map_or("", |(_, query)| query);
            query.split('&').find_map(|pair| pair.strip_prefix("token="))
        };
        let token = if *request.method() == Method::Post { header("X-Forebay-Token") } else { in_address() };
        match token {
            Some(token) if token == self.token => Ok(()),
            _ => Err(Answer::refused(403, "the address needs the token that forebay studio printed")),
        }
    }

    fn page(&self) -> Answer {
        let own: Vec<Offered> = self.first.iter().cloned().chain(run_directories(Path::new(RUNS))).collect();
        Answer::html(page::page(Engine::Program(&self.token), env!("CARGO_PKG_VERSION"), own))
    }

    /// Answers a request of the page. It ends the runs of an earlier request of the same kind: the page does not wait for
    /// them any more.
    fn ask(&self, request: &mut Request) -> Answer {
        let mut body = String::new();
        if request.as_reader().take(LARGEST).read_to_string(&mut body).is_err() || body.len() as u64 == LARGEST {
            return Answer::refused(413, "the request is not text, or larger than 4 MiB");
        }
        let read: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        let kind = read["ask"].as_str().unwrap_or_default();
        if kind == STOP {
            self.stop_runs();
            return Answer { status: 200, kind: "application/json", body: "{}".to_string() };
        }
        let stop = Arc::new(AtomicBool::new(false));
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earlier) = running.insert(kind.to_string(), stop.clone()) {
            earlier.store(true, Ordering::SeqCst);
        }
        drop(running);
        let jobs = thread::available_parallelism().map_or(1, usize::from);
        let limits = Limits { budget: Budget { seconds: SECONDS, ..Budget::of_this_machine() }, jobs };
        Answer { status: 200, kind: "application/json", body: studio::answer(&body, limits, &stop) }
    }

    fn stop_runs(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.values().for_each(|stop| stop.store(true, Ordering::SeqCst));
    }
}

/// The scenarios of the run directories below `folder`, newest first.
fn run_directories(folder: &Path) -> Vec<Offered> {
    let changed = |path: &PathBuf| fs::metadata(path).and_then(|known| known.modified()).ok();
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    all.sort_by_key(|path| std::cmp::Reverse(changed(path)));
    let offered = all.iter().filter_map(|path| {
        Some(Offered { group: "Run directories".to_string(), title: path.display().to_string(), ..given(path).ok()? })
    });
    offered.take(MOST_RUNS).collect()
}

/// The report of a run directory below [`RUNS`].
fn report(name: &str) -> Answer {
    let is_plain = !name.is_empty() && !name.contains(['/', '\\', '%']) && name != "..";
    let path = Path::new(RUNS).join(name).join("report.html");
    match is_plain.then(|| disk::read_text(&path).ok()).flatten() {
        Some(page) => Answer::html(page),
        None => Answer::refused(404, "there is no such report"),
    }
}
