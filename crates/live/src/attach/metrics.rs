//! The state of an attachment in Prometheus' text format, at a loopback address.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::fault::Fault;
use super::look::Live;

/// How long a client may take to ask.
const ASKS_WITHIN: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(50);
/// The longest question that is read.
const LONGEST: usize = 8192;

/// An address of this machine for itself alone.
pub fn address(text: &str) -> Result<SocketAddr, Fault> {
    let found: Option<SocketAddr> = text.parse().ok();
    let accepts = "a loopback address and a port such as 127.0.0.1:9550: others would let strangers look";
    found.filter(|address| address.ip().is_loopback()).ok_or_else(|| Fault::input("--metrics", text, accepts))
}

/// What answers at the address.
pub(super) struct Metrics {
    live: Arc<Mutex<Option<Live>>>,
    /// Where it answers: the port was perhaps left open.
    pub(super) address: SocketAddr,
}

impl Metrics {
    /// Answers at `address` from now on, in a thread that ends with this value.
    pub(super) fn offer(address: SocketAddr) -> Result<Self, Fault> {
        let failed = |error: std::io::Error| Fault::Unavailable(format!("metrics at {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let live = Arc::new(Mutex::new(None));
        let seen = Arc::downgrade(&live);
        std::thread::spawn(move || {
            while let Some(live) = seen.upgrade() {
                match listener.accept() {
                    // A client that breaks off has no answer, and no one else is concerned.
                    Ok((client, _)) => drop(answer(client, &live)),
                    Err(_) => std::thread::sleep(LOOK),
                }
            }
        });
        Ok(Self { live, address })
    }

    /// What it answers from now on.
    pub(super) fn show(&self, live: Live) {
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(live);
    }
}

/// Reads one question and answers it.
fn answer(mut client: TcpStream, live: &Mutex<Option<Live>>) -> std::io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(ASKS_WITHIN))?;
    client.set_write_timeout(Some(ASKS_WITHIN))?;
    let mut asked = Vec::new();
    let mut part = [0u8; 1024];
    while !asked.windows(4).any(|end| end == b"\r\n\r\n") && asked.len() < LONGEST {
        match client.read(&mut part)? {
            0 => break,
            n => asked.extend_from_slice(&part[..n]),
        }
    }
    let found = asked.starts_with(b"GET /metrics ") || asked.starts_with(b"GET / ");
    let live = live.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (status, body) = match live {
        Some(live) if found => ("200 OK", text(&live)),
        None if found => ("503 Service Unavailable", "not attached yet\n".to_string()),
        _ => ("404 Not Found", "there is /metrics\n".to_string()),
    };
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let length = body.len();
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Prometheus' text format.
pub fn text(live: &Live) -> String {
    let mut out = String::new();
    let labels = format!("device=\"{}\"", escaped(&live.state.device));
    let mut metric = |name: &str, kind: &str, help: &str, value: f64| {
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "# HELP forebay_{name} {help}\n# TYPE forebay_{name} {kind}\nforebay_{name}{{{labels}}} {value}\n"
        );
    };
    let counters = &live.counters;
    metric("rate_bits_per_second", "gauge", "Rate of the shaper.", live.state.rate as f64);
    metric("signal_probability", "gauge", "Probability that a typical packet is marked or dropped now.", live.p);
    metric("backlog_bytes", "gauge", "Bytes waiting.", live.backlog_bytes as f64);
    metric("backlog_packets", "gauge", "Packets waiting.", live.backlog_pkts as f64);
    metric("sent_bytes_total", "counter", "Bytes that left.", live.sent_bytes as f64);
    metric("sent_packets_total", "counter", "Packets that left.", live.sent_pkts as f64);
    for (name, what, count) in [
        ("offered", "that came", counters.offered),
        ("passed", "let through", counters.passed),
        ("marked", "marked CE", counters.marked),
        ("dropped_early", "dropped by choice", counters.dropped),
    ] {
        metric(&format!("{name}_packets_total"), "counter", &format!("Packets {what}."), count.pkts as f64);
        metric(&format!("{name}_bytes_total"), "counter", &format!("Bytes {what}."), count.bytes as f64);
    }
    metric("dropped_overflow_packets_total", "counter", "Packets without room.", live.overflow_pkts as f64);
    metric("unruled_packets_total", "counter", "Packets let through without a daemon.", counters.unruled as f64);
    out
}

/// A value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_taken() {
        assert!(address("127.0.0.1:9550").is_ok() && address("[::1]:9550").is_ok());
        for other in ["0.0.0.0:9550", "192.0.2.1:80", "[::]:80", "localhost", "9550", ""] {
            assert!(address(other).unwrap_err().to_string().starts_with("--metrics: found"), "{other}");
        }
    }

    #[test]
    fn a_client_is_answered_and_an_odd_one_is_told() {
        let metrics = Metrics::offer("127.0.0.1:0".parse().unwrap()).unwrap();
        let ask = |words: &str| {
            let mut client = TcpStream::connect(metrics.address).unwrap();
            write!(client, "{words} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut said = String::new();
            client.read_to_string(&mut said).unwrap();
            said
        };
        assert!(ask("GET /metrics").starts_with("HTTP/1.1 503"));
        assert!(ask("POST /metrics").starts_with("HTTP/1.1 404"));
        assert!(TcpListener::bind(metrics.address).is_err());
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
