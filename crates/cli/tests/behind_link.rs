//! Shared by the tests of `forebay link` and `run --on kernel`: starts the program, as an ordinary user if possible, and
//! has the client and server processes behind a link.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use crate::skips::skip;
use forebay_live::sys::ethtool::{self, Switch};
use serde_json::Value;

const FAR: &str = "100.64.0.1";

/// The name of [`place`] without the process id.
const PLACE_NAME: &str = "forebay-live-";

/// Removes the directories of processes that have ended, and that of an earlier process with this id.
fn remove_old_places() {
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let Some(id) = name.strip_prefix(PLACE_NAME).and_then(|id| id.parse::<u32>().ok()) else { continue };
        if id == std::process::id() || !Path::new("/proc").join(id.to_string()).exists() {
            // Another user's directory stays.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A directory that every user can write to, with the program in it.
pub(crate) fn place() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let place = std::env::temp_dir().join(format!("{PLACE_NAME}{}", std::process::id()));
        remove_old_places();
        fs::create_dir_all(&place).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o1777)).unwrap();
        for (from, name) in
            [(PathBuf::from(env!("CARGO_BIN_EXE_forebay")), "forebay"), (std::env::current_exe().unwrap(), "roles")]
        {
            fs::copy(from, place.join(name)).unwrap();
            fs::set_permissions(place.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        place
    })
}

/// A command as an ordinary user, if this process is root.
pub(crate) fn as_user(program: &Path) -> Command {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let is_root = status.lines().any(|line| line.starts_with("Uid:\t0\t"));
    let mut command = if is_root {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir(place()).env("HOME", place()).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").stdin(Stdio::null());
    command
}

pub(crate) fn forebay(words: &[&str]) -> Output {
    as_user(&place().join("forebay")).args(words).output().unwrap()
}

/// The command that plays one of the roles below behind a link.
pub(crate) fn role(name: &str) -> String {
    format!("env ROLE={name} {}/roles --exact behind_link::plays_a_child_process --nocapture", place().display())
}

/// Counts do not depend on timing: late packets only come in bursts.
pub(crate) const ANY_TIME: [&str; 2] = ["--late", "500ms"];

/// The document of `link --json` and the output of the role; repeated if the timing was invalid. `None`: it always
/// was.
pub(crate) fn link(words: &[&str], server: &str, client: &str) -> Option<(Value, String)> {
    let (server, client) = (role(server), role(client));
    let all: Vec<&str> = [&["link", "--json"][..], words, &["--server", &server, "--"]].concat();
    for attempt in 1.. {
        let out = as_user(&place().join("forebay")).args(&all).args(client.split(' ')).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let document: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{said}"));
        if document["timing"]["valid"] == true {
            return Some((document, said));
        }
        if attempt == 3 {
            skip(&document["timing"]["faults"]);
            return None;
        }
    }
    unreachable!("the loop returns")
}

/// The runs of `forebay run --on kernel --json` by label. `None`: the timing was invalid in every attempt.
pub(crate) fn on_kernel(scenario: &str, name: &str) -> Option<Vec<Value>> {
    let file = place().join(format!("{name}.toml"));
    fs::write(&file, scenario).unwrap();
    let dir = place().join(name);
    let words = [
        "run",
        file.to_str().unwrap(),
        "--on",
        "kernel",
        "--runs",
        "1",
        "--quiet",
        "--json",
        "-o",
        dir.to_str().unwrap(),
    ];
    let out = forebay(&words);
    let read = |name: &str| -> Value {
        let said = || format!("{}{}", String::from_utf8_lossy(&out.stderr), String::from_utf8_lossy(&out.stdout));
        let text = fs::read_to_string(dir.join(name)).unwrap_or_else(|_| panic!("{}", said()));
        serde_json::from_str(&text).unwrap()
    };
    let (summary, timing) = (read("summary.json"), read("timing.json"));
    if let Some(late) = timing.as_array().unwrap().iter().find(|run| run["timing"]["valid"] != true) {
        assert_eq!(out.status.code(), Some(1), "a run whose timing was bad is said to be so");
        skip(&late["timing"]["faults"]);
        return None;
    }
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(summary["runs"].as_array().unwrap().clone())
}

pub(crate) fn scenario(rate: &str, delay_ms: f64, queue: &str, flows: u32, aqm: &str, seconds: u32) -> String {
    format!(
        "version = 1\nduration = \"{seconds}s\"\nwarmup = \"4s\"\npacket = 1514\n[topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"{rate}\", delay = \"{}ms\", queue = \"{queue}\" }}\n\
         access = {{ hosts = {flows}, rate = \"1gbit\", delays = [\"1ms\"], queue = \"10000p\" }}\n\
         egress = {{ rate = \"1gbit\", delay = \"1ms\" }}\n[[flows]]\nname = \"bulk\"\nkind = \"ftp\"\ntcp = \"cubic\"\n\
         count = {flows}\n[compare]\naqm = [{aqm}]\n",
        delay_ms / 2.0 - 2.0
    )
}

pub(crate) fn number(of: &Value, path: &str) -> f64 {
    of.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} of {of}"))
}

/// The client or server process behind a link. A link starts this test program again, with the role in the variable ROLE.
/// Without ROLE this test does nothing.
#[test]
fn plays_a_child_process() {
    match std::env::var("ROLE").as_deref() {
        Ok("sink") => sink(),
        Ok("source") => source(6 << 20),
        Ok("echo") => echo(),
        Ok("probe") => probe(),
        Ok("flood") => flood(),
        Ok("drip") => drip(),
        Ok("source-without-checksums") => {
            ethtool::turn("eth0", &[Switch::ChecksumsOut], true).unwrap();
            source(2 << 20);
        }
        Ok("source-without-segments") => {
            ethtool::turn("eth0", &SEGMENTS, true).unwrap();
            source(2 << 20);
        }
        Ok("tunnel") => {
            ethtool::turn("eth0", &SEGMENTS, true).unwrap();
            let mut stream = TcpStream::connect("10.64.0.1:5001").unwrap();
            stream.set_nonblocking(true).unwrap();
            let _ = stream.write(&[0; 200_000]);
            std::thread::sleep(Duration::from_millis(500));
        }
        Ok("long") => probes(5, Duration::from_millis(10), 8000),
        Ok("hang") => std::thread::sleep(Duration::from_secs(600)),
        _ => {}
    }
}

/// Offloads of segmentation and checksums.
const SEGMENTS: [Switch; 4] = [Switch::ChecksumsOut, Switch::Pieces, Switch::TcpSegments, Switch::Segments];

/// Accepts connections until each has ended; then prints the number of packets received with CE.
fn sink() {
    let listener = TcpListener::bind("0.0.0.0:5001").unwrap();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        // This output must come before the connection is closed, which ends the other process.
        eprintln!("InCEPkts {}", netstat("IpExt", "InCEPkts"));
        let _ = stream.write_all(b"!");
    }
}

fn netstat(group: &str, name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/net/netstat").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with(&format!("{group}:")));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.split(' ').position(|word| word == name).unwrap();
    values.split(' ').nth(at).unwrap().parse().unwrap()
}

fn source(bytes: usize) {
    let far = (FAR.parse::<std::net::Ipv4Addr>().unwrap(), 5001).into();
    let mut stream = TcpStream::connect_timeout(&far, Duration::from_secs(10)).unwrap();
    stream.write_all(&vec![0; bytes]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 1, "the other end has had it all");
}

/// Prints the one-way delay of each probe, which contains its sending time.
fn echo() {
    let socket = UdpSocket::bind("0.0.0.0:5001").unwrap();
    let mut took = Vec::new();
    let mut buffer = [0; 9000];
    loop {
        let (len, from) = socket.recv_from(&mut buffer).unwrap();
        let now = now_us();
        let stamp = u64::from_le_bytes(buffer[..8].try_into().unwrap());
        if stamp > 0 {
            took.push(now - stamp);
            continue;
        }
        took.sort_unstable();
        eprintln!("probes {} median {} received {len}", took.len(), took.get(took.len() / 2).unwrap_or(&0));
        socket.send_to(b"!", from).unwrap();
    }
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros() as u64
}

fn probes(count: u32, every: Duration, len: usize) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect((FAR, 5001)).unwrap();
    let mut packet = vec![0; len];
    for _ in 0..count {
        packet[..8].copy_from_slice(&now_us().to_le_bytes());
        socket.send(&packet).unwrap();
        std::thread::sleep(every);
    }
    packet[..8].fill(0);
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    // The last packet may be lost too.
    for _ in 0..20 {
        socket.send(&packet).unwrap();
        if socket.recv(&mut [0; 8]).is_ok() {
            return;
        }
    }
}

fn probe() {
    probes(600, Duration::from_millis(5), 200);
}

fn flood() {
    probes(20_000, Duration::from_micros(100), 200);
}

/// A packet every 10 ms for 6 s to a port that nobody listens on.
fn drip() {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    for _ in 0..600 {
        let _ = socket.send_to(&[0; 200], (FAR, 5001));
        std::thread::sleep(Duration::from_millis(10));
    }
}
