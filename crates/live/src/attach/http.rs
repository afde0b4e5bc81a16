//! Answers questions of HTTP/1.x, each on a connection of its own, in one thread that no client can hold.
//!
//! A client has [`WITHIN`] from the connection to the last byte of its answer. At most [`MOST`] connections are open: one more
//! closes the oldest. Only questions for a name of this machine are answered: a page from elsewhere that a browser shows can
//! have its own name point here (DNS rebinding), but it cannot have the browser say another name.

use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use crate::sys::process::wait_for_any;

/// How long a connection may last.
const WITHIN: Duration = Duration::from_secs(2);
/// How many connections may be open.
const MOST: usize = 64;
/// The longest question that is read, in bytes.
const LONGEST: usize = 8192;
/// How often it is looked whether it is over, and how long is waited for descriptors where there are none left.
const LOOK: Duration = Duration::from_millis(100);

/// A status, and the text that goes with it.
pub(super) type Answer = (&'static str, String);

/// Answers with `page` what asks for it, until `is_over`. `listener` is one that does not block.
pub(super) fn serve(listener: &TcpListener, page: &dyn Fn() -> Answer, is_over: &dyn Fn() -> bool) {
    let mut clients: Vec<Client> = Vec::new();
    while !is_over() {
        let all = clients.iter().map(|client| (client.stream.as_fd(), client.writes()));
        // Where it cannot wait it looks less often.
        if wait_for_any([(listener.as_fd(), false)].into_iter().chain(all), LOOK).is_err() {
            std::thread::sleep(LOOK);
        }
        accept(listener, &mut clients);
        let now = Instant::now();
        clients.retain_mut(|client| now < client.until && client.goes_on(page));
    }
}

/// Takes the connections that wait; no more at once than may be open, so that those which are have their turn.
fn accept(listener: &TcpListener, clients: &mut Vec<Client>) {
    for _ in 0..MOST {
        match listener.accept() {
            // One that cannot be made not to block is closed.
            Ok((stream, _)) => clients.extend(Client::new(stream)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // It may be the descriptors of this process that are used up.
            Err(_) => {
                std::thread::sleep(LOOK);
                break;
            }
        }
    }
    clients.drain(..clients.len().saturating_sub(MOST));
}

/// What a client is at.
enum State {
    /// It asks; what has come so far.
    Asks(Vec<u8>),
    /// It is answered; what is still to be sent.
    Hears(Vec<u8>),
    /// It has the answer and may close: were it done here, what it still sends would take its answer from it.
    Leaves,
}

struct Client {
    stream: TcpStream,
    until: Instant,
    state: State,
}

impl Client {
    fn new(stream: TcpStream) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        Some(Self { stream, until: Instant::now() + WITHIN, state: State::Asks(Vec::new()) })
    }

    /// Does it wait for room to write, instead of something to read?
    const fn writes(&self) -> bool {
        matches!(self.state, State::Hears(_))
    }

    /// Does what can be done without waiting; false once the connection is to be closed.
    fn goes_on(&mut self, page: &dyn Fn() -> Answer) -> bool {
        loop {
            let step = match &mut self.state {
                State::Asks(asked) => read(&mut self.stream, asked).map(|()| answer(asked, page).map(State::Hears)),
                State::Hears(rest) => self.stream.write(rest).map(|count| {
                    rest.drain(..count);
                    rest.is_empty().then_some(State::Leaves)
                }),
                // A part at a time: whoever never stops sending has no more than its turn.
                State::Leaves => {
                    return read(&mut self.stream, &mut Vec::new()).map_or_else(|error| waits(&error), |()| true);
                }
            };
            match step {
                Ok(Some(State::Leaves)) => {
                    self.state = State::Leaves;
                    // Where it has gone that is found next.
                    let _ = self.stream.shutdown(Shutdown::Write);
                }
                Ok(Some(next)) => self.state = next,
                Ok(None) => {}
                Err(error) => return waits(&error),
            }
        }
    }
}

/// Is it only that there is nothing now?
fn waits(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Reads on; an error where the other end has nothing more to say.
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

/// The answer to what has come; none where the question is not at its end.
fn answer(asked: &[u8], page: &dyn Fn() -> Answer) -> Option<Vec<u8>> {
    let end = asked.windows(4).position(|end| end == b"\r\n\r\n");
    let (status, body) = match end {
        Some(end) if end <= LONGEST => {
            judge(&String::from_utf8_lossy(&asked[..end])).map_or_else(|refusal| refusal, |()| page())
        }
        None if asked.len() <= LONGEST => return None,
        _ => ("431 Request Header Fields Too Large", format!("more than {LONGEST} bytes\n")),
    };
    let (kind, length) = ("text/plain; version=0.0.4; charset=utf-8", body.len());
    Some(
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes(),
    )
}

/// Is it to be answered with the page? Else with what (RFC 9110 sections 15.5, 7.4; RFC 9112 section 3.2).
fn judge(head: &str) -> Result<(), Answer> {
    let refused = |status, why: &str| Err((status, format!("{why}\n")));
    let mut lines = head.split("\r\n");
    let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version @ ("HTTP/1.0" | "HTTP/1.1")] = line[..] else {
        return refused("400 Bad Request", "no request line of HTTP/1.x");
    };
    let fields = lines.filter_map(|line| line.split_once(':'));
    let hosts: Vec<&str> =
        fields.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, value)| value.trim()).collect();
    match hosts[..] {
        // Clients of HTTP/1.0 need not say it; no browser is one.
        [] if version == "HTTP/1.0" => {}
        [host] if is_here(host) => {}
        [_] => return refused("421 Misdirected Request", "only names and addresses of loopback are answered"),
        _ => return refused("400 Bad Request", "not one field Host"),
    }
    match (method, target) {
        ("GET", "/metrics" | "/") => Ok(()),
        ("GET", _) => refused("404 Not Found", "there is /metrics"),
        _ => refused("405 Method Not Allowed\r\nAllow: GET", "GET only"),
    }
}

/// Is this host, perhaps with a port, this machine for itself alone? The port may be that of a tunnel.
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
