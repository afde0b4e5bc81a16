//! `forebay doctor`: checks which commands of forebay this machine supports, by trying what they need. Each trial
//! cleans up after itself.

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::namespaces::{self, Site, SiteOptions};
use crate::sys::process::{self, Child, Ended};
use crate::sys::socket;
use crate::traffic;

/// The result of one trial.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Name of the trial.
    pub name: &'static str,
    /// The forebay commands that need what the trial checks.
    pub serves: &'static str,
    /// What was found, or what is missing.
    pub found: Result<String, String>,
    /// How to add what is missing.
    pub remedy: &'static str,
}

/// The forebay commands that need namespaces and packet sockets.
pub const LINKS: &str = "link, run --on kernel";
/// The forebay command that needs root.
pub const ATTACH: &str = "attach";

/// Runs all trials. This process must be single-threaded.
pub fn examine() -> Vec<Finding> {
    vec![
        Finding {
            name: "namespaces",
            serves: LINKS,
            found: in_copy(|| Site::new(SiteOptions::default()).map(drop).map_err(|failure| failure.cause()))
                .map(|()| "created and connected".to_string()),
            remedy: "as root: sysctl -w user.max_user_namespaces=15000; on Debian also \
                     kernel.unprivileged_userns_clone=1, on Ubuntu \
                     kernel.apparmor_restrict_unprivileged_userns=0; in a container, allow unshare(2); not possible in \
                     a chroot",
        },
        Finding {
            name: "congestion",
            serves: LINKS,
            found: congestion(),
            remedy: "as root: modprobe tcp_cubic (or the congestion control that the scenario uses)",
        },
        Finding {
            name: "processors",
            serves: LINKS,
            found: processors(),
            remedy: "sender, link and receiver share one CPU: use rates of a few Mb/s, or add a CPU",
        },
        Finding {
            name: "timers",
            serves: LINKS,
            found: timers(),
            remedy: "use a high-resolution timer kernel and an idle machine; with a free core: forebay link --spin",
        },
        Finding {
            name: "rights",
            serves: ATTACH,
            found: rights(),
            remedy: "run as root, or with CAP_NET_ADMIN and CAP_BPF",
        },
        Finding {
            name: "tc",
            serves: ATTACH,
            found: tries(&[
                "tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "8mbit", "burst", "2kb", "limit", "20kb",
            ]),
            remedy: "install iproute2; use a kernel with CONFIG_NET_SCH_TBF",
        },
        Finding {
            name: "clsact",
            serves: ATTACH,
            found: tries(&["tc", "qdisc", "add", "dev", "lo", "clsact"]),
            remedy: "use a kernel with CONFIG_NET_SCH_INGRESS and CONFIG_NET_CLS_ACT",
        },
        Finding {
            name: "bpf",
            serves: ATTACH,
            found: bpf(),
            remedy: "use a kernel with CONFIG_BPF_SYSCALL and CONFIG_DEBUG_INFO_BTF; otherwise attach uses nftables",
        },
        Finding {
            name: "nftables",
            serves: ATTACH,
            found: tries(&["nft", "add", "table", "inet", "forebay"]),
            remedy: "install nftables (only needed without eBPF)",
        },
    ]
}

/// Runs `what` in a forked process, which can change its namespaces.
fn in_copy(what: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot run the trial: {error}");
    let mut told = socket::memory_file().map_err(failed)?;
    let mut theirs = told.try_clone().map_err(failed)?;
    let child = process::fork(move || match what() {
        Ok(()) => 0,
        Err(why) => {
            let _ = theirs.write_all(why.as_bytes());
            1
        }
    });
    let ended = child.and_then(Child::wait).map_err(failed)?;
    let mut why = String::new();
    told.rewind().and_then(|()| told.read_to_string(&mut why)).map_err(failed)?;
    match ended {
        Ended::Code(0) => Ok(()),
        ended => Err(if why.is_empty() { format!("exit code {}", ended.code()) } else { why }),
    }
}

/// Runs a command in a new network namespace.
fn tries(words: &[&str]) -> Result<String, String> {
    in_copy(|| {
        namespaces::alone().map_err(|failure| failure.cause())?;
        let mut command = Command::new(words[0]);
        let out = command.args(&words[1..]).stdin(Stdio::null()).output();
        match out {
            Ok(out) if out.status.success() => Ok(()),
            Ok(out) => Err(String::from_utf8_lossy(&out.stderr).trim().to_string()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(format!("{} is not installed", words[0])),
            Err(error) => Err(error.to_string()),
        }
    })
    .map(|()| format!("{} works", words[0]))
}

fn congestion() -> Result<String, String> {
    let controls = traffic::controls();
    let all = controls.join(", ");
    if controls.iter().any(|control| control == "cubic") { Ok(all) } else { Err(format!("no cubic; available: {all}")) }
}

fn processors() -> Result<String, String> {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    if count > 1 { Ok(format!("{count}")) } else { Err("1".to_string()) }
}

/// Fails if the median sleep of 1 ms is 0.3 ms or more late.
fn timers() -> Result<String, String> {
    const SLEEP: Duration = Duration::from_millis(1);
    process::exact_timers();
    let mut late: Vec<u128> = (0..100)
        .map(|_| {
            let before = Instant::now();
            std::thread::sleep(SLEEP);
            before.elapsed().saturating_sub(SLEEP).as_micros()
        })
        .collect();
    late.sort_unstable();
    let words = format!("a sleep of 1 ms ends {} us late (median), {} us (maximum)", late[50], late[99]);
    if late[50] < 300 { Ok(words) } else { Err(words) }
}

/// Bits of `CapEff`, the effective capabilities, in `/proc/self/status`.
const CAP_NET_ADMIN: u64 = 1 << 12;
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_BPF: u64 = 1 << 39;

fn rights() -> Result<String, String> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    let has = |bit: u64| bits & bit != 0;
    match (has(CAP_NET_ADMIN), has(CAP_BPF) || has(CAP_SYS_ADMIN)) {
        (true, true) => Ok("CAP_NET_ADMIN and CAP_BPF available".to_string()),
        (true, false) => Err("no CAP_BPF".to_string()),
        (false, true) => Err("no CAP_NET_ADMIN".to_string()),
        (false, false) => Err("neither CAP_NET_ADMIN nor CAP_BPF".to_string()),
    }
}

fn bpf() -> Result<String, String> {
    let types = "/sys/kernel/btf/vmlinux";
    if fs::metadata(types).is_err() {
        return Err(format!("no {types}"));
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounted = mounts.lines().any(|line| line.split(' ').nth(2) == Some("bpf"));
    let pins = if mounted { "bpffs is mounted" } else { "bpffs is not mounted (attach mounts it)" };
    Ok(format!("the kernel has BTF; {pins}"))
}
