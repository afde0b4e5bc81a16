//! The root qdisc of a device: `forebay attach` replaces it by tc(8)'s `tbf`, and `forebay detach` restores it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use forebay_aqm::base::units::Rate;
use serde_json::{Value, json};

use super::fault::Fault;
use crate::sys::interfaces::name;
use crate::sys::netlink::Netlink;
use crate::sys::qdisc_list::Qdisc;

/// The handle of our `tbf`.
const HANDLE: &str = "fb:";
/// The handle `fb:` as the kernel represents it.
const OURS: u32 = 0x00fb_0000;
/// Qdiscs that can be restored: the classless ones whose options the kernel accepts in the form in which it dumps them.
const KEPT: [&str; 10] = ["pfifo", "bfifo", "fq", "fq_codel", "codel", "sfq", "pie", "fq_pie", "tbf", "cake"];
/// Maximum buffer and burst of tbf, bytes.
pub(in crate::attach) const MAX_BYTES: u64 = u32::MAX as u64;
/// Ethernet header without VLAN tag, bytes.
const ETHERNET: u32 = 14;

/// The root qdisc that a device had before `forebay attach`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Before {
    kind: String,
    handle: u32,
    options: Vec<u8>,
}

impl Before {
    /// Kind and handle, as tc prints them.
    pub fn words(&self) -> String {
        format!("{} {:x}:", self.kind, self.handle >> 16)
    }

    /// The options without those that some kernels dump but refuse.
    fn accepted(&self) -> Vec<u8> {
        /// `TCA_CAKE_NAT`. A kernel without connection tracking refuses even the value 0, which is the default.
        const CAKE_NAT: u16 = 11;
        match self.kind.as_str() {
            "cake" => without_zero(&self.options, CAKE_NAT),
            _ => self.options.clone(),
        }
    }

    /// The qdisc as JSON for the state file.
    pub(in crate::attach) fn json(&self) -> Value {
        let options: String = self.options.iter().map(|byte| format!("{byte:02x}")).collect();
        json!({ "kind": self.kind, "handle": self.handle, "options": options })
    }

    pub(in crate::attach) fn read(value: &Value) -> Option<Self> {
        let digits = value["options"].as_str()?.as_bytes();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        Some(Self {
            kind: value["kind"].as_str()?.to_string(),
            handle: u32::try_from(value["handle"].as_u64()?).ok()?,
            options: digits.chunks(2).map(byte).collect::<Option<_>>()?,
        })
    }
}

/// A list of netlink attributes without those of a kind whose value is 0.
fn without_zero(mut attributes: &[u8], kind: u16) -> Vec<u8> {
    let mut left = Vec::new();
    while let Some(head) = attributes.first_chunk::<4>() {
        let [len, found] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_ne_bytes);
        let len = usize::from(len).max(4).next_multiple_of(4).min(attributes.len());
        let (attribute, rest) = attributes.split_at(len);
        if found != kind || attribute[4..].iter().any(|byte| *byte != 0) {
            left.extend_from_slice(attribute);
        }
        attributes = rest;
    }
    left.extend_from_slice(attributes);
    left
}

/// Burst of `tbf` in bytes: one millisecond at the rate, so that a late timer loses no throughput, plus two packets.
pub(in crate::attach) fn burst(rate: Rate, mtu: u32) -> u64 {
    (rate.0 / 8 / 1000 + 2 * u64::from(mtu + ETHERNET)).min(MAX_BYTES)
}

/// Is this root qdisc one that `forebay attach` installed? It has our handle.
pub(in crate::attach) fn is_ours(root: &Qdisc) -> bool {
    root.kind == "tbf" && root.handle == OURS
}

/// The root qdisc of a device; `None` for the kernel's default. Fails if [`restore`] could not restore this qdisc.
pub(in crate::attach) fn before(netlink: &Netlink, device: &str, number: u32) -> Result<Option<Before>, Fault> {
    let failed = |error: io::Error| gone(device, "the qdiscs", &error);
    let all = netlink.qdiscs(number).map_err(failed)?;
    let found = judge(&all).map_err(|what| {
        let accepts = format!("a device whose root qdisc can be restored: the default or {}", KEPT.join(", "));
        Fault::input("DEV", format!("{device} with {what}"), accepts)
    })?;
    let Some(root) = found else { return Ok(None) };
    if netlink.filters(number, root.handle).map_err(failed)? > 0 {
        let what = format!("{device} with filters at its root qdisc {}", root.words());
        return Err(Fault::input("DEV", what, "a device without filters (they would be lost)"));
    }
    Ok(Some(root))
}

/// Finds among all qdiscs of a device the one that [`restore`] must restore (`None`: the kernel's default). Fails with
/// a description of what could not be restored.
fn judge(all: &[Qdisc]) -> Result<Option<Before>, String> {
    let queues = || all.iter().filter(|one| !matches!(one.kind.as_str(), "clsact" | "ingress"));
    let root = queues().find(|one| one.root);
    if let Some(root) = root.filter(|root| is_ours(root)) {
        return Err(format!("a qdisc of forebay without a state file (root qdisc {} {HANDLE})", root.kind));
    }
    // Children of a default root qdisc are created again by the kernel.
    if let Some(child) = queues().find(|one| !one.root && one.handle != 0) {
        return Err(format!("qdisc {} {:x}: below its root qdisc", child.kind, child.handle >> 16));
    }
    let Some(root) = root.filter(|root| root.handle != 0) else { return Ok(None) };
    if !KEPT.contains(&root.kind.as_str()) {
        return Err(format!("root qdisc {}", root.kind));
    }
    if let Some(extra) = root.extra {
        return Err(format!("{extra} at its root qdisc {}", root.kind));
    }
    Ok(Some(Before { kind: root.kind.clone(), handle: root.handle, options: root.options.clone() }))
}

/// Replaces the root qdisc of a device by our `tbf`.
pub(in crate::attach) fn put(device: &str, rate: Rate, burst: u64, limit: u64) -> Result<(), Fault> {
    let (rate, burst, limit) = (format!("{}bit", rate.0), format!("{burst}b"), format!("{limit}b"));
    let words = ["qdisc", "replace", "dev", device, "root", "handle", HANDLE, "tbf"];
    tc(&[&words[..], &["rate", &rate, "burst", &burst, "limit", &limit]].concat()).map(|_| ())
}

/// Restores the qdisc that [`before`] found, if the root qdisc is still ours. If that fails, returns an error and
/// leaves the kernel's default.
pub(in crate::attach) fn restore(number: u32, before: Option<&Before>) -> Result<(), Fault> {
    let Some(device) = name(number) else { return Ok(()) };
    let done = || -> io::Result<()> {
        let netlink = Netlink::open()?;
        match netlink.root(number) {
            Ok(root) if is_ours(&root) => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        let Some(before) = before else { return netlink.remove_root(number, OURS) };
        let put = netlink.put_root(number, &before.kind, before.handle, &before.accepted());
        // Without our qdisc the device has the kernel's default, which is better than keeping ours.
        put.inspect_err(|_| drop(netlink.remove_root(number, OURS)))
    };
    match done() {
        Ok(()) => Ok(()),
        // The device was deleted meanwhile, with its qdisc.
        Err(_) if name(number).is_none() => Ok(()),
        Err(error) => {
            let what = before.map_or_else(|| "its default qdisc".to_string(), Before::words);
            Err(Fault::system(format!("{device}: cannot restore {what}"), &error))
        }
    }
}

/// The qdisc of a device after detaching.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum After {
    /// The device no longer exists.
    Gone,
    /// The previous qdisc: kind and handle.
    Back(String),
    /// Another qdisc, installed by someone else: kind and handle.
    Other(String),
    /// The kernel's default instead of the previous qdisc.
    Lost,
    /// Still the qdisc that `forebay attach` installed.
    Ours,
}

/// Reads the present root qdisc, and compares it with the one from before `forebay attach`.
pub(in crate::attach) fn after(number: u32, before: Option<&Before>) -> Result<After, Fault> {
    let Some(device) = name(number) else { return Ok(After::Gone) };
    let root = match Netlink::open().and_then(|netlink| netlink.root(number)) {
        Ok(root) => Some(root).filter(|root| root.handle != 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) if name(number).is_none() => return Ok(After::Gone),
        Err(error) => return Err(gone(&device, "the qdisc", &error)),
    };
    Ok(match (root, before) {
        (Some(root), _) if is_ours(&root) => After::Ours,
        (Some(root), Some(before)) if (&root.kind, root.handle) == (&before.kind, before.handle) => {
            After::Back(before.words())
        }
        (Some(root), _) => After::Other(format!("{} {:x}:", root.kind, root.handle >> 16)),
        (None, None) => After::Back("its default qdisc".to_string()),
        (None, Some(_)) => After::Lost,
    })
}

/// Runs tc(8). Returns its output.
pub(in crate::attach) fn tc(words: &[&str]) -> Result<String, Fault> {
    let out = program("tc", "iproute2")?.args(words).stdin(Stdio::null()).output();
    let out = out.map_err(|error| Fault::system("tc", &error))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    Err(refused(&format!("tc {}", words.join(" ")), &out.stderr))
}

/// Finds a system program. Also searches the sbin directories, which an ordinary PATH lacks.
pub(in crate::attach) fn program(name: &str, package: &str) -> Result<Command, Fault> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin", "/usr/bin"].map(Into::into));
    let found = folders.into_iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    let missing = || Fault::Unavailable(format!("{name} is not installed: install the package {package}"));
    let mut command = found.map(Command::new).ok_or_else(missing)?;
    // Own process group: Ctrl-C must reach only the daemon, which still has to restore the device.
    command.process_group(0);
    Ok(command)
}

/// The fault for a system program that failed with this stderr.
pub(in crate::attach) fn refused(what: &str, stderr: &[u8]) -> Fault {
    let said = String::from_utf8_lossy(stderr);
    let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = said.join(", ");
    let text = format!("{what}: {said}");
    let not_here =
        ["not permitted", "Permission denied", "Unknown qdisc", "not found", "No such device", "Cannot find device"];
    let not_here = not_here.iter().any(|words| said.contains(words));
    if not_here { Fault::Unavailable(text) } else { Fault::Failed(text) }
}

/// A fault about a device; names the cause if the device no longer exists.
pub(in crate::attach) fn gone(device: &str, what: &str, error: &io::Error) -> Fault {
    match error.raw_os_error() {
        Some(libc::ENODEV) => Fault::Unavailable(format!("{device} no longer exists")),
        _ => Fault::system(format!("{what} of {device}"), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qdisc(kind: &str, handle: u32, root: bool) -> Qdisc {
        Qdisc { kind: kind.to_string(), handle: handle << 16, root, options: vec![1, 0xab], ..Qdisc::default() }
    }

    #[test]
    fn qdisc_options_round_trip_through_state_file() {
        let clsact = qdisc("clsact", 0xffff, false);
        let found = judge(&[qdisc("fq_codel", 0x8001, true), clsact]).unwrap().unwrap();
        assert_eq!((found.words().as_str(), found.options.as_slice()), ("fq_codel 8001:", &[1, 0xab][..]));
        assert_eq!(found.json()["options"], "01ab");
        assert_eq!(Before::read(&found.json()), Some(found));
        for wrong in ["", "{}", r#"{"kind":"fq","handle":1,"options":"0x"}"#] {
            assert_eq!(Before::read(&serde_json::from_str(wrong).unwrap_or_default()), None);
        }
    }

    #[test]
    fn option_that_kernels_without_conntrack_refuse_is_left_out() {
        let attribute =
            |kind: u16, value: u32| [&8u16.to_ne_bytes()[..], &kind.to_ne_bytes(), &value.to_ne_bytes()].concat();
        let cake = |nat: u32| Before {
            kind: "cake".into(),
            handle: 1 << 16,
            options: [attribute(10, 0), attribute(11, nat), attribute(13, 1)].concat(),
        };
        assert_eq!(cake(0).accepted(), [attribute(10, 0), attribute(13, 1)].concat());
        assert_eq!(cake(1).accepted(), cake(1).options);
        assert_eq!(Before { kind: "fq".into(), ..cake(0) }.accepted(), cake(0).options);
        assert_eq!(without_zero(&[8, 0, 11], 11), [8, 0, 11], "cut");
    }

    #[test]
    fn only_default_and_classless_root_qdiscs_are_accepted() {
        for all in [vec![], vec![qdisc("noqueue", 0, true)], vec![qdisc("mq", 0, true), qdisc("fq_codel", 0, false)]] {
            assert_eq!(judge(&all), Ok(None), "{all:?}");
        }
        assert_eq!(judge(&[qdisc("htb", 1, true)]), Err("root qdisc htb".to_string()));
        let below = [qdisc("mq", 0, true), qdisc("fq", 0x8002, false)];
        assert_eq!(judge(&below), Err("qdisc fq 8002: below its root qdisc".to_string()));
        assert!(judge(&[qdisc("tbf", 0xfb, true)]).unwrap_err().contains("without a state file"));
        let extra = Qdisc { extra: Some("an estimator"), ..qdisc("pfifo", 1, true) };
        assert_eq!(judge(&[extra]), Err("an estimator at its root qdisc pfifo".to_string()));
    }

    #[test]
    fn tbf_burst_is_one_millisecond_and_two_packets() {
        assert_eq!(burst(Rate(50_000_000), 1500), 6250 + 3028);
    }

    #[test]
    fn permission_errors_are_distinguished_from_other_tc_failures() {
        let of = |text: &str| refused("tc x", text.as_bytes());
        assert_eq!(
            of("RTNETLINK answers: Operation not permitted\n"),
            Fault::Unavailable("tc x: RTNETLINK answers: Operation not permitted".into())
        );
        assert_eq!(of("Error: bad\nusage\n"), Fault::Failed("tc x: Error: bad, usage".into()));
        assert!(matches!(program("no-such-program", "nothing"), Err(Fault::Unavailable(_))));
    }
}
