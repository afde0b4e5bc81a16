//! The flows of a network as real TCP connections and UDP datagrams, with the times and sizes of a simulation.
//!
//! All flows send their data from the client namespace to the server namespace. Each flow has its own port, by which
//! the emulated network finds the route of its packets. Each flow has one thread at each end.

mod receive;
mod send;

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use forebay_aqm::base::packet::Ecn;
use forebay_sim::app::{Files, Work};
use forebay_sim::network::{DATAGRAM_HEADERS, FlowSpec, Network, SEGMENT_HEADERS, Traffic};
use forebay_sim::tcp::{AccEcn, TcpOptions};

use crate::namespaces::TcpEcn;
use crate::sys::clock;
use crate::sys::socket::SocketOptions;

/// Port of the first flow.
const PORTS: u16 = 10_000;
/// Maximum number of flows; each needs a port.
pub const MAX_FLOWS: usize = 50_000;
/// Maximum frame length, bytes.
const MAX_FRAME: u16 = 1514;
/// Receive windows of at least this many bytes count as unlimited: they are not set on the socket.
const UNLIMITED_WINDOW: u64 = 1 << 22;
/// Minimum frame length of segments, bytes. The kernel rejects a `TCP_MAXSEG` below 88 bytes.
const MIN_FRAME: u32 = SEGMENT_HEADERS + 76;
/// Reported for a congestion control that no kernel has.
const NO_COUNTERPART: &str = "has no counterpart in the kernel; supported: reno, cubic, bbr, dctcp, prague";
/// How often a waiting thread checks for the end of the run.
const LOOK: Duration = Duration::from_millis(50);

/// The flow with these ports; `None` if it is not one of `count` flows.
pub fn flow_of(ports: [u16; 2], count: usize) -> Option<usize> {
    let flow = |port: u16| port.checked_sub(PORTS).map(usize::from).filter(|flow| *flow < count);
    ports.into_iter().find_map(flow)
}

const fn port(flow: usize) -> u16 {
    PORTS + flow as u16
}

/// Why real endpoints cannot run this network's flows; `None` if they can.
pub fn obstacle(net: &Network, controls: &[String]) -> Option<String> {
    if net.flows.len() > MAX_FLOWS {
        return Some(format!("{} flows; the maximum is {MAX_FLOWS} (one port each)", net.flows.len()));
    }
    net.flows.iter().find_map(|flow| {
        let name = &flow.name;
        if flow.packet > MAX_FRAME {
            return Some(format!("{name}: packets of {} bytes; the maximum is {MAX_FRAME}", flow.packet));
        }
        match &flow.traffic {
            Traffic::Rtp(_) => Some(format!("{name}: RTP video is not supported on the kernel")),
            Traffic::Application(_, Work::Page(_)) => {
                Some(format!("{name}: pages of several objects are not supported on the kernel"))
            }
            Traffic::Application(_, Work::Video(_)) => {
                Some(format!("{name}: adaptive video is not supported on the kernel"))
            }
            Traffic::Datagrams(_) if u32::from(flow.packet) <= DATAGRAM_HEADERS => {
                Some(format!("{name}: packets of {} bytes; the headers alone need {DATAGRAM_HEADERS}", flow.packet))
            }
            Traffic::Datagrams(pattern) if pattern.longest(flow.packet) > MAX_FRAME.into() => {
                let longest = pattern.longest(flow.packet);
                Some(format!("{name}: packets of up to {longest} bytes; the maximum is {MAX_FRAME}"))
            }
            Traffic::Datagrams(_) => None,
            Traffic::Tcp(options) | Traffic::Application(options, _) => {
                let Some(control) = options.kernel() else {
                    return Some(format!("{name}: {} {NO_COUNTERPART}", options.variant.word()));
                };
                if !controls.iter().any(|known| known == control) {
                    return Some(format!("{name}: no {control} in this kernel; available: {}", controls.join(", ")));
                }
                if flow.traffic.opens_as_ns2() {
                    return Some(format!("{name}: handshake = \"ns2\"; the kernel has only the handshake of TCP"));
                }
                if options.amends() {
                    return Some(format!("{name}: the kernel has no {}", options.amending_keys().join(", ")));
                }
                if let Some(key) = only_simulated(options) {
                    return Some(format!("{name}: {key} has no counterpart in the kernel"));
                }
                if options.accurate() != AccEcn::Off && !has_accecn() {
                    return Some(format!("{name}: no AccECN in this kernel (net.ipv4.tcp_ecn_option is missing)"));
                }
                if flow.ecn == Ecn::Ect1 && !options.variant.profile().sends_ect1 {
                    return Some(format!("{name}: ECT(1) over TCP; {control} of the kernel sends ECT(0)"));
                }
                let small = u32::from(flow.packet) < MIN_FRAME;
                small.then(|| {
                    format!("{name}: packets of {} bytes; the minimum of kernel TCP is {MIN_FRAME}", flow.packet)
                })
            }
        }
    })
}

/// The congestion controls available in this kernel.
pub fn controls() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    text.split_whitespace().map(str::to_string).collect()
}

/// Does this kernel have accurate ECN feedback (RFC 9768)?
fn has_accecn() -> bool {
    std::path::Path::new("/proc/sys/net/ipv4/tcp_ecn_option").exists()
}

/// A key of the sender, or its value, that only the simulator has.
fn only_simulated(options: &TcpOptions) -> Option<&'static str> {
    if options.virtual_rtt != TcpOptions::default().virtual_rtt {
        Some("virtual_rtt")
    } else if options.low_rate {
        Some("low_rate")
    } else if options.accecn == AccEcn::Field {
        Some("accecn = \"field\"")
    } else {
        None
    }
}

/// The ECN that the flows need: accurate if one of them has accurate feedback.
pub fn ecn(net: &Network) -> TcpEcn {
    let tcp = || net.flows.iter().filter_map(|flow| flow.traffic.tcp());
    if tcp().any(|options| options.accurate() != AccEcn::Off) {
        TcpEcn::Accurate
    } else if tcp().any(|options| options.ecn_capable()) {
        TcpEcn::Classic
    } else {
        TcpEcn::Default
    }
}

/// Start of the run, end of its warm-up, and its end; in ns on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Start of the run.
    pub start: u64,
    /// End of its warm-up.
    pub warm: u64,
    /// End of the run.
    pub end: u64,
}

/// The context shared by all flows at one end.
struct Stage<'a> {
    flows: &'a [FlowSpec],
    seed: u64,
    server: Ipv4Addr,
    client: Ipv4Addr,
    times: Times,
    results: Results,
}

impl Stage<'_> {
    fn is_over(&self) -> bool {
        clock::monotonic() >= self.times.end
    }

    /// Sleeps until `at`, at most until the end. Returns whether the run is over.
    fn sleep_until(&self, at: u64) -> bool {
        let now = clock::monotonic();
        std::thread::sleep(Duration::from_nanos(at.min(self.times.end).saturating_sub(now)));
        self.is_over()
    }

    /// Start and stop of a flow, ns on the monotonic clock.
    fn life(&self, flow: &FlowSpec) -> (u64, u64) {
        let stop = flow.stop.map_or(self.times.end, |stop| self.times.start + stop.nanos());
        (self.times.start + flow.start.nanos(), stop.min(self.times.end))
    }
}

/// Data bytes per TCP segment of a flow.
fn data(flow: &FlowSpec) -> u64 {
    u64::from(u32::from(flow.packet).saturating_sub(SEGMENT_HEADERS).max(1))
}

/// Socket options of a flow's connections.
fn socket_options(flow: &FlowSpec) -> SocketOptions {
    let Some(options) = flow.traffic.tcp() else { return SocketOptions::default() };
    let control = options.kernel().unwrap_or_default().to_string();
    // Do not set a window so large that it never limits; this leaves the kernel's autotuning on.
    let window = options.window.map(|packets| u64::from(packets).saturating_mul(data(flow)));
    let window = window.filter(|bytes| *bytes < UNLIMITED_WINDOW).unwrap_or(0) as u32;
    // TCP_MAXSEG includes TCP options.
    SocketOptions { control, segment: u32::from(flow.packet) - 14 - 40, window, paced: options.pacing, dscp: flow.dscp }
}

/// The file transfers of a flow, if it has any.
fn files(flow: &FlowSpec) -> Option<&Files> {
    match &flow.traffic {
        Traffic::Application(_, Work::Files(files)) if *files != Files::ENDLESS => Some(files),
        _ => None,
    }
}

/// The file to which both ends write their results.
struct Results(Mutex<File>);

/// The results of all flows.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Payload bytes read by the receiver (TCP: in order), per flow: `[after warm-up, total]`.
    pub arrived: Vec<[u64; 2]>,
    /// Retransmitted segments, per flow.
    pub again: Vec<u64>,
    /// Flow, start and duration of each file, ns.
    pub files: Vec<(usize, u64, u64)>,
    /// Errors that the threads of the flows reported, and missing reports.
    pub faults: Vec<String>,
}

impl Results {
    fn line(&self, words: &str) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One write per line: another process appends to the same file.
        let _ = file.write_all(format!("{words}\n").as_bytes());
    }

    fn fault(&self, flow: &FlowSpec, what: &str, error: &io::Error) {
        self.line(&format!("fault {}: {what}: {error}", flow.name));
    }
}

/// Runs one end of all flows: the client end sends, the server end receives. Returns the exit code for the process of
/// this end.
pub fn play(
    net: &Network,
    seed: u64,
    (client, server): (Ipv4Addr, Ipv4Addr),
    times: Times,
    results: File,
    sends: bool,
) -> i32 {
    let stage = Stage { flows: &net.flows, seed, server, client, times, results: Results(Mutex::new(results)) };
    std::thread::scope(|scope| {
        for number in 0..stage.flows.len() {
            let stage = &stage;
            let play = move || if sends { send::flow(stage, number) } else { receive::flow(stage, number) };
            // A small stack suffices: the buffers are in the kernel.
            let begun = std::thread::Builder::new().stack_size(128 << 10).spawn_scoped(scope, play);
            if let Err(error) = begun {
                stage.results.fault(&stage.flows[number], "cannot start a thread", &error);
            }
        }
    });
    0
}

/// Reads the results written by both ends.
pub fn found(mut results: File, count: usize) -> io::Result<Found> {
    let mut text = String::new();
    results.rewind()?;
    results.read_to_string(&mut text)?;
    let mut found = Found { arrived: vec![[0; 2]; count], again: vec![0; count], ..Found::default() };
    let mut heard = vec![false; count];
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        let flow = number(1) as usize;
        match words[0] {
            "arrived" if flow < count => {
                heard[flow] = true;
                found.arrived[flow][0] += number(2);
                found.arrived[flow][1] += number(3);
            }
            "again" if flow < count => found.again[flow] += number(2),
            "file" => found.files.push((flow, number(2), number(3))),
            _ => found.faults.push(line.strip_prefix("fault ").unwrap_or(line).to_string()),
        }
    }
    let silent = heard.iter().filter(|heard| !**heard).count();
    if silent > 0 {
        found.faults.push(format!("{silent} receivers reported nothing"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::sys::socket;

    const LINES: usize = 20_000;
    const WRITES: &str = "FOREBAY_TEST_WRITES";

    fn write(words: &str, file: File) {
        let results = Results(Mutex::new(file));
        (0..LINES).for_each(|n| results.line(&format!("{words} {n} 1 1")));
    }

    /// The second process of the test below; its stdin is a file of that test. Does nothing unless that test starts it.
    #[test]
    fn second_writer_appends_to_its_stdin() {
        if std::env::var_os(WRITES).is_some() {
            write("again", File::from(io::stdin().as_fd().try_clone_to_owned().unwrap()));
        }
    }

    #[test]
    fn two_processes_append_to_one_file_without_loss() {
        let file = socket::memory_file().unwrap();
        let (theirs, ours) = (file.try_clone().unwrap(), file.try_clone().unwrap());
        let mut second = Command::new(std::env::current_exe().unwrap());
        second
            .args(["--exact", "traffic::tests::second_writer_appends_to_its_stdin"])
            .env(WRITES, "1")
            .stdin(theirs)
            .stdout(Stdio::null());
        let mut second = second.spawn().unwrap();
        write("arrived", ours);
        assert!(second.wait().unwrap().success());
        let found = found(file, LINES).unwrap();
        assert_eq!((found.again.iter().sum::<u64>(), found.faults.len()), (LINES as u64, 0));
        assert!(found.arrived.iter().all(|arrived| *arrived == [1, 1]));
    }

    #[test]
    fn receiver_without_written_results_is_an_error() {
        let file = socket::memory_file().unwrap();
        Results(Mutex::new(file.try_clone().unwrap())).line("arrived 1 5 9");
        let found = found(file, 2).unwrap();
        assert_eq!(
            (found.arrived[1], found.faults.as_slice()),
            ([5, 9], &["1 receivers reported nothing".to_string()][..])
        );
    }
}
