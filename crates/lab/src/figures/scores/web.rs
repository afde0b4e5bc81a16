//! The load time of a web page: what an idle line allows, and how far a measured load time is from it.
//!
//! The client resolves the name, opens a connection, fetches the document and then the objects of the page over
//! parallel connections, one request at a time on each (RFC 7928, section 7.2: six connections). The model is ours.

/// Initial window of a connection in segments (RFC 6928), and the length of a segment in bytes.
const INITIAL_WINDOW: f64 = 10.0;
const SEGMENT_BYTES: f64 = 1460.0;

/// A page.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Page {
    /// Bytes of the document and all objects.
    pub bytes: f64,
    /// Number of requests, that of the document included.
    pub requests: u32,
}

/// How a client loads pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Client {
    /// Number of parallel connections, above 0.
    pub connections: u32,
    /// Round trips before the requests for objects.
    pub setup_round_trips: u32,
}

/// A line without other traffic.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Line {
    /// Round-trip time in s, 0 or more.
    pub rtt_s: f64,
    /// Rate in bit/s, above 0.
    pub rate_bps: f64,
}

impl Page {
    /// The large page of the literature on bufferbloat.
    pub const LARGE: Self = Self { bytes: 3e6, requests: 110 };
    /// The small page of the literature on bufferbloat.
    pub const SMALL: Self = Self { bytes: 56e3, requests: 3 };
}

impl Client {
    /// A browser with six connections and four round trips before the objects: name, TCP, TLS 1.3, document.
    pub const BROWSER: Self = Self { connections: 6, setup_round_trips: 4 };

    /// Bytes that all connections together send in their first round trip.
    fn first_flight(self) -> f64 {
        f64::from(self.connections) * INITIAL_WINDOW * SEGMENT_BYTES
    }
}

impl Line {
    /// Time in s to transmit `bytes`.
    fn transmission_s(self, bytes: f64) -> f64 {
        8.0 * bytes / self.rate_bps
    }
}

/// An estimate of the load time on an idle line, in s: (setup round trips + rounds) R + 8 bytes / C.
///
/// The rounds are those of slow start: in n rounds, connections with a first flight of F bytes send (2^n - 1) F bytes,
/// so n = ceil(log2(bytes / F + 1)). Two errors compensate in part: the line also transmits during the rounds, so that
/// the sum is too large; a connection waits a round trip for each of its requests, which the sum omits. `None` if an
/// argument is out of range.
pub fn idle_estimate_s(page: Page, client: Client, line: Line) -> Option<f64> {
    let rounds = libm::ceil(libm::log2(page.bytes / client.first_flight() + 1.0));
    let round_trips = f64::from(client.setup_round_trips) + rounds;
    checked(page, client, line, round_trips * line.rtt_s + line.transmission_s(page.bytes))
}

/// A lower bound of the load time on an idle line, in s. `None` if an argument is out of range.
///
/// It is the setup, and the larger of two bounds for the objects:
///
/// - requests: (requests - 1) / connections round trips, rounded up;
/// - bytes: a round trip for each flight of slow start that leaves the line idle, then one round trip, and the time
///   that the line needs for the remaining bytes.
///
/// The bound neglects the bytes of the document that arrive before the requests for objects.
pub fn idle_floor_s(page: Page, client: Client, line: Line) -> Option<f64> {
    let waves = page.requests.saturating_sub(1).div_ceil(client.connections.max(1));
    let objects_s = transfer_s(page, client, line).max(f64::from(waves) * line.rtt_s);
    checked(page, client, line, f64::from(client.setup_round_trips) * line.rtt_s + objects_s)
}

/// Time in s from the requests to the last byte, limited by slow start and by the rate of the line.
fn transfer_s(page: Page, client: Client, line: Line) -> f64 {
    let (mut flight, mut left, mut passed_s) = (client.first_flight(), page.bytes, 0.0);
    // Without connections the flights are empty, and the loop would not end.
    while flight > 0.0 && flight < left && line.transmission_s(flight) < line.rtt_s {
        left -= flight;
        flight *= 2.0;
        passed_s += line.rtt_s;
    }
    passed_s + line.rtt_s + line.transmission_s(left)
}

/// `time_s` if it is finite and the arguments are in their ranges.
fn checked(page: Page, client: Client, line: Line, time_s: f64) -> Option<f64> {
    let is_valid = page.bytes >= 0.0 && client.connections > 0 && line.rtt_s >= 0.0 && line.rate_bps > 0.0;
    (is_valid && time_s.is_finite()).then_some(time_s)
}

/// The load time of a page relative to that on an idle line, both in s: 1 is best.
///
/// The best reference is the measured load time of the same page on the idle line. A computed reference is
/// [`idle_floor_s`]. `None` if the reference is not above 0, or if the ratio is negative or not finite.
pub fn ratio(load_s: f64, idle_s: f64) -> Option<f64> {
    let ratio = load_s / idle_s;
    (idle_s > 0.0 && ratio >= 0.0 && ratio.is_finite()).then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, proptest};

    const FLIGHT: f64 = 87_600.0;

    fn line(rtt_ms: f64, rate_mbps: f64) -> Line {
        Line { rtt_s: rtt_ms / 1e3, rate_bps: rate_mbps * 1e6 }
    }

    #[track_caller]
    fn close(got: Option<f64>, want: f64) {
        assert!(got.is_some_and(|got| (got - want).abs() < 1e-9), "{got:?}, not {want}");
    }

    #[test]
    fn estimate_counts_rounds_of_slow_start() {
        // In 1, 2 and 3 rounds, slow start sends 1, 3 and 7 flights. 1e9 Mbit/s: transmission takes no time.
        for (bytes, rounds) in [(0.0, 0.0), (1.0, 1.0), (FLIGHT, 1.0), (FLIGHT + 1.0, 2.0), (3.0 * FLIGHT, 2.0)] {
            let found = idle_estimate_s(Page { bytes, requests: 1 }, Client::BROWSER, line(1000.0, 1e9));
            assert!((found.unwrap() - 4.0 - rounds).abs() < 1e-6, "{bytes}: {found:?}");
        }
    }

    #[test]
    fn estimate_of_both_pages_matches_hand_calculation() {
        // 3 MB are 34.2 flights: 6 rounds; (4 + 6) x 20 ms + 2.4 s. 56 KB: 1 round; 5 x 20 ms + 44.8 ms.
        close(idle_estimate_s(Page::LARGE, Client::BROWSER, line(20.0, 10.0)), 2.6);
        close(idle_estimate_s(Page::SMALL, Client::BROWSER, line(20.0, 10.0)), 0.1448);
    }

    #[test]
    fn floor_of_slow_lines_is_transmission() {
        // A flight takes 70 ms, longer than the round trip: 5 x 20 ms + 2.4 s.
        close(idle_floor_s(Page::LARGE, Client::BROWSER, line(20.0, 10.0)), 2.5);
        close(idle_floor_s(Page::SMALL, Client::BROWSER, line(20.0, 10.0)), 0.1448);
    }

    #[test]
    fn floor_of_fast_lines_is_requests() {
        // 109 objects over 6 connections: 19 round trips, after 4.
        close(idle_floor_s(Page::LARGE, Client::BROWSER, line(20.0, 1000.0)), 23.0 * 0.02);
    }

    #[test]
    fn floor_includes_flights_below_the_rate() {
        // 100 Mbit/s, 20 ms: flights of 7.0 and 14.0 ms leave the line idle, the third takes 28.0 ms. (4 + 2 + 1) x 20
        // ms, then 3 MB less 3 flights: 2 737 200 bytes. One request: no waves.
        let page = Page { requests: 1, ..Page::LARGE };
        close(idle_floor_s(page, Client::BROWSER, line(20.0, 100.0)), 0.14 + 0.218976);
    }

    #[test]
    fn arguments_out_of_range_give_none() {
        let (page, client, good) = (Page::SMALL, Client::BROWSER, line(20.0, 10.0));
        let lines = [(-1.0, 1.0), (f64::NAN, 1.0), (1.0, 0.0), (1.0, -1.0), (1.0, f64::NAN), (f64::INFINITY, 1.0)];
        for function in [idle_estimate_s, idle_floor_s] {
            for (rtt, rate) in lines {
                assert_eq!(function(page, client, line(rtt, rate)), None, "{rtt} {rate}");
            }
            for bytes in [-1e9, f64::NAN, f64::INFINITY] {
                assert_eq!(function(Page { bytes, ..page }, client, good), None, "{bytes}");
            }
            assert_eq!(function(page, Client { connections: 0, ..client }, good), None);
        }
    }

    #[test]
    fn ratio_of_idle_time_is_one() {
        assert_eq!(ratio(2.5, 2.5), Some(1.0));
        assert_eq!(ratio(5.0, 2.5), Some(2.0));
        for (load, idle) in [(1.0, 0.0), (-1.0, 1.0), (f64::NAN, 1.0), (1.0, f64::NAN), (1.0, -1.0), (f64::MAX, 0.1)] {
            assert_eq!(ratio(load, idle), None);
        }
    }

    proptest! {
        #[test]
        fn floor_without_waves_is_below_estimate(
            bytes in 1.0..1e8,
            rtt in 0.1..500.0,
            rate in 0.1..10_000.0,
            connections in 1..20u32,
        ) {
            let (page, client) = (Page { bytes, requests: 1 }, Client { connections, setup_round_trips: 4 });
            let floor = idle_floor_s(page, client, line(rtt, rate)).unwrap();
            prop_assert!(floor <= idle_estimate_s(page, client, line(rtt, rate)).unwrap() * (1.0 + 1e-9));
        }

        #[test]
        fn any_argument_gives_finite_time_or_none(
            bytes in any::<f64>(),
            rtt_s in any::<f64>(),
            rate_bps in any::<f64>(),
            requests in any::<u32>(),
            connections in any::<u32>(),
        ) {
            let (page, client) = (Page { bytes, requests }, Client { connections, setup_round_trips: u32::MAX });
            let line = Line { rtt_s, rate_bps };
            for function in [idle_estimate_s, idle_floor_s] {
                prop_assert!(function(page, client, line).is_none_or(f64::is_finite));
            }
        }
    }
}
