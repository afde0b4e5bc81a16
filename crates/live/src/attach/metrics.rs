//! Serves the state of an attachment, a control law that `forebay attach` runs on a network device, in Prometheus text
//! format at a loopback address.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use super::http;
use super::kernel::fault::Fault;
use super::look::Live;

/// Parses a loopback address with port.
pub fn address(text: &str) -> Result<SocketAddr, Fault> {
    let found: Option<SocketAddr> = text.parse().ok();
    let accepts = "a loopback address and port such as 127.0.0.1:9550";
    found.filter(|address| address.ip().is_loopback()).ok_or_else(|| Fault::input("--metrics", text, accepts))
}

/// The metrics server.
pub(super) struct Metrics {
    live: Arc<Mutex<Option<Live>>>,
    /// The bound address; the user may have asked for port 0, which stands for any free port.
    pub(super) address: SocketAddr,
}

impl Metrics {
    /// Starts serving at `address`, in a thread that ends when this value is dropped.
    pub(super) fn offer(address: SocketAddr) -> Result<Self, Fault> {
        let failed = |error: std::io::Error| Fault::Unavailable(format!("metrics at {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let live = Arc::new(Mutex::new(None));
        let seen = Arc::downgrade(&live);
        std::thread::spawn(move || {
            let page = || {
                let live = seen.upgrade().and_then(|live| live.lock().unwrap_or_else(PoisonError::into_inner).clone());
                let nothing = || ("503 Service Unavailable", "not attached yet\n".to_string());
                live.map_or_else(nothing, |live| ("200 OK", text(&live)))
            };
            http::serve(&listener, &page, &|| seen.strong_count() == 0);
        });
        Ok(Self { live, address })
    }

    /// Replaces the snapshot that the server sends.
    pub(super) fn show(&self, live: Live) {
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(live);
    }
}

/// A snapshot in Prometheus text format.
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
    metric("backlog_bytes", "gauge", "Backlog in bytes.", live.backlog_bytes as f64);
    metric("backlog_packets", "gauge", "Backlog in packets.", live.backlog_pkts as f64);
    metric("sent_bytes_total", "counter", "Bytes sent by the qdisc.", live.sent_bytes as f64);
    metric("sent_packets_total", "counter", "Packets sent by the qdisc.", live.sent_pkts as f64);
    for (name, what, count) in [
        ("offered", "offered", counters.offered),
        ("passed", "passed", counters.passed),
        ("marked", "marked CE", counters.marked),
        ("dropped_early", "dropped early", counters.dropped),
    ] {
        metric(&format!("{name}_packets_total"), "counter", &format!("Packets {what}."), count.pkts as f64);
        metric(&format!("{name}_bytes_total"), "counter", &format!("Bytes {what}."), count.bytes as f64);
    }
    metric("dropped_overflow_packets_total", "counter", "Packets dropped by overflow.", live.overflow_pkts as f64);
    metric("unruled_packets_total", "counter", "Packets passed with expired settings.", counters.unruled as f64);
    out
}

/// Escapes a label value.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_accepted() {
        assert!(address("127.0.0.1:9550").is_ok() && address("[::1]:9550").is_ok());
        for other in ["0.0.0.0:9550", "192.0.2.1:80", "[::]:80", "localhost", "9550", ""] {
            assert!(address(other).unwrap_err().to_string().starts_with("--metrics: found"), "{other}");
        }
    }

    #[test]
    fn prometheus_labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }

    /// Tests over real connections.
    mod over_a_connection {
        use std::io::{Read, Write};
        use std::net::TcpStream;
        use std::time::{Duration, Instant};

        use super::*;

        fn offered() -> Metrics {
            Metrics::offer("127.0.0.1:0".parse().unwrap()).unwrap()
        }

        /// The response to a request, until the connection ends.
        fn ask(metrics: &Metrics, words: &str) -> String {
            let mut client = TcpStream::connect(metrics.address).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            client.write_all(words.as_bytes()).unwrap();
            let mut said = String::new();
            client.read_to_string(&mut said).unwrap();
            said
        }

        /// Duration of a scrape with Prometheus' request.
        fn scrape(metrics: &Metrics) -> Duration {
            let begun = Instant::now();
            let said = ask(metrics, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9550\r\n\r\n");
            assert!(said.starts_with("HTTP/1.1 503 "), "{said}");
            begun.elapsed()
        }

        #[test]
        fn invalid_http_requests_get_their_error_status() {
            let metrics = offered();
            let ask = |line: &str, host: &str| ask(&metrics, &format!("{line}\r\n{host}\r\n"));
            let here = "Host: localhost\r\n";
            for (line, host, status) in [
                ("GET /metrics HTTP/1.1", here, 503),
                ("GET / HTTP/1.0", "", 503),
                ("POST /metrics HTTP/1.1", here, 405),
                ("GET /other HTTP/1.1", here, 404),
                ("GET /metrics HTTP/1.1", "", 400),
                ("GET /metrics HTTP/1.1", "Host: localhost\r\nhost: localhost\r\n", 400),
                ("GET /metrics", here, 400),
                ("nonsense", here, 400),
            ] {
                let said = ask(line, host);
                assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{line} {host}: {said}");
            }
            assert!(TcpListener::bind(metrics.address).is_err());
        }

        #[test]
        fn only_loopback_names_in_host_header_are_served() {
            let metrics = offered();
            for (host, status) in [
                ("127.0.0.1:9550", 503),
                ("127.8.9.1", 503),
                ("LOCALHOST:1", 503),
                ("[::1]:9550", 503),
                ("[::1]", 503),
                ("evil.example", 421),
                ("evil.example:9550", 421),
                ("localhost.evil.example", 421),
                ("127.0.0.1.evil.example", 421),
                ("192.0.2.1:9550", 421),
                ("[2001:db8::1]:9550", 421),
                ("0.0.0.0", 421),
                ("[::1]evil", 421),
                ("localhost:evil", 421),
                ("::1", 421),
                ("", 421),
            ] {
                let said = ask(&metrics, &format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"));
                assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {said}");
            }
        }

        #[test]
        fn slow_http_client_does_not_block_others() {
            let metrics = offered();
            let mut slow = TcpStream::connect(metrics.address).unwrap();
            let dripping = std::thread::spawn(move || {
                let begun = Instant::now();
                // Until the connection is cut, at most 6 s.
                while slow.write_all(b"x").is_ok() && begun.elapsed() < Duration::from_secs(6) {
                    std::thread::sleep(Duration::from_millis(100));
                }
                begun.elapsed()
            });
            std::thread::sleep(Duration::from_millis(300));
            let took = scrape(&metrics);
            assert!(took < Duration::from_secs(1), "a scrape took {took:?}");
            let held = dripping.join().unwrap();
            assert!(held < Duration::from_secs(4), "it was cut after {held:?}");
        }

        #[test]
        fn many_slow_clients_do_not_starve_a_scrape() {
            let metrics = offered();
            let mut slow: Vec<TcpStream> = Vec::new();
            for round in 0..4 {
                // More than the connection limit: half have sent part of a request, half nothing.
                slow.extend((0..150).map(|number| {
                    let mut client = TcpStream::connect(metrics.address).unwrap();
                    if number % 2 == 0 {
                        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: local").unwrap();
                    }
                    client
                }));
                let took = scrape(&metrics);
                assert!(took < Duration::from_secs(1), "round {round}: a scrape took {took:?}");
            }
        }

        #[test]
        fn oversized_request_header_is_refused() {
            let metrics = offered();
            let mut client = TcpStream::connect(metrics.address).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            // Slightly more bytes than are read: the response comes before the end of the request.
            client.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ").unwrap();
            client.write_all(&[b'x'; 9000]).unwrap();
            let mut said = [0; 12];
            client.read_exact(&mut said).unwrap();
            assert_eq!(&said, b"HTTP/1.1 431");
        }
    }
}
