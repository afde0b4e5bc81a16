//! Three network namespaces in a row (client, router, server) with TCP through them. The test program is also client
//! and server, started with a role in its environment.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The device under test: the router's, towards the server.
pub(crate) const DEVICE: &str = "out";
const SERVER: &str = "10.98.2.2:5201";
const ROLE: &str = "FOREBAY_TEST_ROLE";

/// One rig at a time, as rigs share the processors.
static ONE: Mutex<()> = Mutex::new(());

/// The namespaces, removed on drop.
pub(crate) struct Rig {
    names: [String; 3],
    _one: MutexGuard<'static, ()>,
}

/// Runs a program. An error is its output.
pub(crate) fn run(words: &str) -> Result<String, String> {
    let mut split = words.split(' ');
    let program = split.next().unwrap_or_default();
    let out = Command::new(program).args(split).stdin(Stdio::null()).output().map_err(|e| format!("{program}: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    if out.status.success() { Ok(text(&out.stdout)) } else { Err(format!("{words}: {}", text(&out.stderr))) }
}

impl Rig {
    /// The namespaces, or what is missing for them.
    pub(crate) fn new() -> Result<Self, String> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
        if !status.lines().any(|line| line.starts_with("Uid:\t0\t0")) {
            return Err("it takes root".to_string());
        }
        for tool in ["bpftool", "ethtool", "nft", "nsenter", "setpriv", "tc"] {
            run(&format!("{tool} --version"))
                .or_else(|_| run(&format!("{tool} -V")))
                .map_err(|_| format!("{tool} is not installed"))?;
        }
        let names = ["c", "r", "s"].map(|role| format!("fb{}{role}", std::process::id()));
        let rig = Self { names, _one: one };
        // A kernel without namespaces or veth is a skip; any other error is a failure.
        match rig.build() {
            Err(lacking) if lacking.starts_with("ip netns add") || lacking.starts_with("ip link add") => Err(lacking),
            Err(fault) => panic!("{fault}"),
            Ok(()) => Ok(rig),
        }
    }

    fn build(&self) -> Result<(), String> {
        let [c, r, s] = &self.names;
        for name in &self.names {
            run(&format!("ip netns add {name}"))?;
            run(&format!("ip -n {name} link set lo up"))?;
        }
        run(&format!("ip link add eth netns {c} type veth peer name in netns {r}"))?;
        run(&format!("ip link add {DEVICE} netns {r} type veth peer name eth netns {s}"))?;
        for (name, device, address) in [
            (c, "eth", "10.98.1.1/24"),
            (r, "in", "10.98.1.2/24"),
            (r, DEVICE, "10.98.2.1/24"),
            (s, "eth", "10.98.2.2/24"),
        ] {
            run(&format!("ip -n {name} addr add {address} dev {device}"))?;
            run(&format!("ip -n {name} link set {device} up"))?;
            // Without GSO, a packet of the kernel is a packet on the wire.
            run(&format!("nsenter --net=/run/netns/{name} ethtool -K {device} tso off gso off gro off"))?;
        }
        run(&format!("ip -n {c} route add default via 10.98.1.2"))?;
        run(&format!("ip -n {s} route add default via 10.98.2.1"))?;
        self.set(r, "ip_forward", "1")?;
        for name in [c, s] {
            self.set(name, "tcp_ecn", "1")?;
            self.set(name, "tcp_congestion_control", "reno")?;
            // A tail loss probe would retransmit packets that were not lost.
            self.set(name, "tcp_early_retrans", "0")?;
        }
        Ok(())
    }

    fn set(&self, name: &str, key: &str, value: &str) -> Result<(), String> {
        let file = format!("of=/proc/sys/net/ipv4/{key}");
        let mut child = Command::new("nsenter")
            .args([&format!("--net=/run/netns/{name}"), "dd", "status=none", &file])
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        child.stdin.take().map(|mut stdin| stdin.write_all(value.as_bytes()));
        child
            .wait()
            .map_err(|error| error.to_string())
            .and_then(|status| if status.success() { Ok(()) } else { Err(format!("{key}={value}")) })
    }

    /// A program in a namespace: 0 is the client's, 1 the router's, 2 the server's.
    pub(crate) fn within(&self, place: usize, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.names[place])).arg(program.as_ref()).stdin(Stdio::null());
        command
    }

    /// `forebay` in the router's namespace.
    pub(crate) fn forebay(&self, words: &[&str]) -> Command {
        let mut command = self.within(1, env!("CARGO_BIN_EXE_forebay"));
        command.args(words);
        command
    }

    /// As `forebay`; waits until it has ended.
    pub(crate) fn ended(&self, words: &[&str]) -> Output {
        self.forebay(words).output().unwrap()
    }

    /// The JSON document that it prints.
    pub(crate) fn document(&self, words: &[&str]) -> Value {
        let out = self.ended(&[words, &["--json"]].concat());
        serde_json::from_slice(&out.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}: {out:?}"))
    }

    /// A counter of the kernel in a namespace: `netstat IpExt InCEPkts`.
    pub(crate) fn counter(&self, place: usize, file: &str, group: &str, name: &str) -> u64 {
        let out = self.within(place, "cat").arg(format!("/proc/net/{file}")).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let mut lines = text.lines().filter(|line| line.split(':').next() == Some(group));
        let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let at = names.split(' ').position(|word| word == name);
        at.and_then(|at| values.split(' ').nth(at)?.parse().ok()).unwrap_or_else(|| panic!("no {group} {name}"))
    }

    /// Output of tc(8) about the device.
    pub(crate) fn qdisc(&self) -> String {
        let out = self.within(1, "tc").args(["qdisc", "show", "dev", DEVICE]).output().unwrap();
        String::from_utf8_lossy(&out.stdout).trim().to_string()
    }

    /// Filters at the device's egress, by tc(8).
    pub(crate) fn filters(&self) -> String {
        let out = self.within(1, "tc").args(["filter", "show", "dev", DEVICE, "egress"]).output().unwrap();
        String::from_utf8_lossy(&out.stdout).trim().to_string()
    }

    /// Starts a server and `flows` long transfers to it.
    pub(crate) fn load(&self, flows: usize, secs: u64) -> Load {
        let role = |place: usize, role: String| {
            let mut command = self.within(place, std::env::current_exe().unwrap());
            command
                .args(["--exact", "kernel_device::plays_a_child_process", "--nocapture"])
                .env(ROLE, role)
                .stdout(Stdio::null());
            command.spawn().unwrap()
        };
        let server = role(2, format!("server {flows}"));
        Load { ends: vec![role(0, format!("client {flows} {secs}")), server] }
    }

    /// Remains of attachments to this rig's devices, as text.
    pub(crate) fn left(&self) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let left = self.left_now();
            // The kernel frees unreferenced objects a little later.
            if left.is_empty() || begun.elapsed() > Duration::from_secs(2) {
                return left;
            }
            sleep(Duration::from_millis(50));
        }
    }

    fn left_now(&self) -> Vec<String> {
        let mut left = Vec::new();
        // Other network namespaces do not count.
        let netns = fs::metadata(format!("/run/netns/{}", self.names[1])).map(|found| found.ino()).unwrap_or_default();
        let (mut ours, mut others) = (0, 0);
        for entry in
            ["/run/forebay", "/sys/fs/bpf/forebay"].iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten()
        {
            let name = entry.map(|entry| entry.file_name().to_string_lossy().into_owned()).unwrap_or_default();
            // The lock and the note about the file system belong to no attachment.
            if !name.contains('@') {
                continue;
            }
            *(if name.contains(&format!("@{netns}")) { &mut ours } else { &mut others }) += 1;
        }
        if others == 0 && Path::new("/run/forebay").exists() {
            left.push("/run/forebay".to_string());
        }
        if ours > 0 {
            left.push(format!("{ours} state files and pins"));
        }
        let shows = |program: &str, words: &[&str]| {
            let out = self.within(1, program).args(words).output();
            out.map_or_else(|_| String::new(), |out| String::from_utf8_lossy(&out.stdout).trim().to_string())
        };
        for (program, words) in [
            ("tc", vec!["filter", "show", "dev", DEVICE, "egress"]),
            ("nft", vec!["list", "tables"]),
            ("bpftool", vec!["prog", "show", "name", "forebay"]),
            ("bpftool", vec!["map", "show", "name", "tallies"]),
        ] {
            let shown = shows(program, &words);
            if !shown.is_empty() && (program != "bpftool" || others == 0) {
                left.push(format!("{program}: {shown}"));
            }
        }
        let qdisc = self.qdisc();
        if qdisc.contains(" fb: ") || qdisc.contains("clsact") {
            left.push(qdisc);
        }
        left
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // After a test that failed; the test itself checks that nothing is left.
        let _ = self.forebay(&["detach", DEVICE]).output();
        for name in &self.names {
            let _ = run(&format!("ip netns del {name}"));
        }
    }
}

/// Transfers in progress.
pub(crate) struct Load {
    ends: Vec<Child>,
}

impl Load {
    /// Waits until every byte has been acknowledged.
    pub(crate) fn finish(mut self) {
        for end in &mut self.ends {
            assert!(end.wait().unwrap().success());
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for end in &mut self.ends {
            let _ = end.kill();
            let _ = end.wait();
        }
    }
}

/// The role of this program if it was started by [`Rig::load`]; otherwise it does nothing.
pub(crate) fn play() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = role.split(' ').collect();
    let number = |at: usize| words[at].parse::<u64>().unwrap();
    let threads: Vec<_> = match words[0] {
        "server" => {
            let listener = TcpListener::bind(SERVER).unwrap();
            (0..number(1))
                .map(|_| listener.accept().unwrap().0)
                .map(|client| std::thread::spawn(move || take(client)))
                .collect()
        }
        _ => {
            let secs = number(2);
            let open = || {
                (0..100).find_map(|_| {
                    TcpStream::connect(SERVER).ok().or_else(|| {
                        sleep(Duration::from_millis(50));
                        None
                    })
                })
            };
            (0..number(1))
                .map(|_| open().unwrap())
                .map(|server| std::thread::spawn(move || give(server, secs)))
                .collect()
        }
    };
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Sends for this time, then waits until the other end has received everything.
fn give(mut server: TcpStream, secs: u64) {
    let (begun, block) = (Instant::now(), [0u8; 16384]);
    while begun.elapsed() < Duration::from_secs(secs) {
        server.write_all(&block).unwrap();
    }
    server.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(server.read(&mut [0u8; 1]).unwrap(), 0);
}

fn take(mut client: TcpStream) {
    let mut block = vec![0u8; 1 << 16];
    while client.read(&mut block).unwrap() > 0 {}
}
