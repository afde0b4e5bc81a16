//! A small HTTP/1.x server, single-threaded, one request per connection. No client can block it.
//!
//! A connection is closed at the latest [`TIMEOUT`] after it was accepted. At most [`MAX_CONNECTIONS`] stay open: a
//! further one closes the oldest. The Host header (optional in HTTP/1.0) must be a loopback name or address. This
//! prevents DNS rebinding: a web page can resolve its own name to this machine, but the browser then sends that name.

use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use crate::sys::process::wait_for_any;

/// Lifetime of a connection.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum of open connections.
const MAX_CONNECTIONS: usize = 64;
/// Longest request header, bytes.
const MAX_HEADER: usize = 8192;
/// How often the server checks whether it must stop, and the pause when the process has no file descriptors left.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// HTTP status and body.
pub(super) type Answer = (&'static str, String);

/// Serves `page` until `is_over` returns true. `listener` is non-blocking.
pub(super) fn serve(listener: &TcpListener, page: &dyn Fn() -> Answer, is_over: &dyn Fn() -> bool) {
    let mut clients: Vec<Client> = Vec::new();
    while !is_over() {
        let all = clients.iter().map(|client| (client.stream.as_fd(), client.writes()));
        // If polling fails, fall back to a slower loop.
        if wait_for_any([(listener.as_fd(), false)].into_iter().chain(all), POLL_INTERVAL).is_err() {
            std::thread::sleep(POLL_INTERVAL);
        }
        accept(listener, &mut clients);
        let now = Instant::now();
        clients.retain_mut(|client| now < client.until && client.goes_on(page));
    }
}

/// Accepts pending connections, at most `MAX_CONNECTIONS` at once so that open ones are served too.
fn accept(listener: &TcpListener, clients: &mut Vec<Client>) {
    for _ in 0..MAX_CONNECTIONS {
        match listener.accept() {
            // A connection that cannot be made non-blocking is closed.
            Ok((stream, _)) => clients.extend(Client::new(stream)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // The process may have run out of file descriptors.
            Err(_) => {
                std::thread::sleep(POLL_INTERVAL);
                break;
            }
        }
    }
    clients.drain(..clients.len().saturating_sub(MAX_CONNECTIONS));
}

/// State of a connection.
enum State {
    /// Reading the request; the bytes so far.
    Reading(Vec<u8>),
    /// Writing the response; the bytes left.
    Writing(Vec<u8>),
    /// Response sent, waiting for the client to close. Closing first with unread data would reset the connection
    /// and lose the response.
    Closing,
}

struct Client {
    stream: TcpStream,
    until: Instant,
    state: State,
}

impl Client {
    fn new(stream: TcpStream) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        Some(Self { stream, until: Instant::now() + TIMEOUT, state: State::Reading(Vec::new()) })
    }

    /// Does the server wait to write to this client?
    const fn writes(&self) -> bool {
        matches!(self.state, State::Writing(_))
    }

    /// Reads and writes as far as possible without blocking. Returns false if the connection must be closed.
    fn goes_on(&mut self, page: &dyn Fn() -> Answer) -> bool {
        loop {
            let step = match &mut self.state {
                State::Reading(asked) => {
                    read(&mut self.stream, asked).map(|()| answer(asked, page).map(State::Writing))
                }
                State::Writing(rest) => self.stream.write(rest).map(|count| {
                    rest.drain(..count);
                    rest.is_empty().then_some(State::Closing)
                }),
                // One read per turn, so that an endless sender cannot hold the loop.
                State::Closing => {
                    return read(&mut self.stream, &mut Vec::new()).map_or_else(|error| waits(&error), |()| true);
                }
            };
            match step {
                Ok(Some(State::Closing)) => {
                    self.state = State::Closing;
                    // A connection that is gone shows at the next read.
                    let _ = self.stream.shutdown(Shutdown::Write);
                }
                Ok(Some(next)) => self.state = next,
                Ok(None) => {}
                Err(error) => return waits(&error),
            }
        }
    }
}

/// Is the error temporary: would the call block, or was it interrupted?
fn waits(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Reads more of the request. Fails with `UnexpectedEof` at the end of the stream.
fn read(stream: &mut TcpStream, asked: &mut Vec<u8>) -> io::Result<()> {
    let mut part = [0; 1024];
    match stream.read(&mut part)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        count => {
            asked.extend_from_slice(&part[..count]);
            Ok(())
        }
    }
}

/// The response to a complete request; `None` if the header is incomplete.
fn answer(asked: &[u8], page: &dyn Fn() -> Answer) -> Option<Vec<u8>> {
    let end = asked.windows(4).position(|end| end == b"\r\n\r\n");
    let (status, body) = match end {
        Some(end) if end <= MAX_HEADER => {
            judge(&String::from_utf8_lossy(&asked[..end])).map_or_else(|refusal| refusal, |()| page())
        }
        None if asked.len() <= MAX_HEADER => return None,
        _ => ("431 Request Header Fields Too Large", format!("more than {MAX_HEADER} bytes\n")),
    };
    let (kind, length) = ("text/plain; version=0.0.4; charset=utf-8", body.len());
    Some(
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes(),
    )
}

/// Checks whether the page may be sent; if not, returns the error response (RFC 9110 sections 15.5, 7.4; RFC 9112
/// section 3.2).
fn judge(head: &str) -> Result<(), Answer> {
    let refused = |status, why: &str| Err((status, format!("{why}\n")));
    let mut lines = head.split("\r\n");
    let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version @ ("HTTP/1.0" | "HTTP/1.1")] = line[..] else {
        return refused("400 Bad Request", "no HTTP/1.x request line");
    };
    let fields = lines.filter_map(|line| line.split_once(':'));
    let hosts: Vec<&str> =
        fields.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, value)| value.trim()).collect();
    match hosts[..] {
        // HTTP/1.0 clients need not send Host; no browser uses HTTP/1.0.
        [] if version == "HTTP/1.0" => {}
        [host] if is_here(host) => {}
        [_] => return refused("421 Misdirected Request", "Host must be a loopback name or address"),
        _ => return refused("400 Bad Request", "exactly one Host field is required"),
    }
    match (method, target) {
        ("GET", "/metrics" | "/") => Ok(()),
        ("GET", _) => refused("404 Not Found", "try /metrics"),
        _ => refused("405 Method Not Allowed\r\nAllow: GET", "GET only"),
    }
}

/// Is this Host (port optional) a loopback name or address? Any port is accepted, because of tunnels.
fn is_here(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            let six = address.parse().map(|six: Ipv6Addr| IpAddr::V6(six).to_canonical().is_loopback());
            return six == Ok(true) && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port));
        }
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    let four = name.parse().is_ok_and(|four: Ipv4Addr| four.is_loopback());
    (four || name.eq_ignore_ascii_case("localhost")) && port.is_none_or(is_port)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}
