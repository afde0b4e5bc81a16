//! The only queue of a device: tc(8)'s `tbf`, and what was there before it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use forebay_aqm::base::units::Rate;

use super::fault::Fault;
use crate::sys::attach_netlink::{Root, Route, index};

/// The handle of our qdisc.
const HANDLE: &str = "fb:";
/// The same as the kernel has it.
const OURS: u32 = 0x00fb_0000;
/// Kinds that can be made again from the words in which tc(8) shows them.
const KEPT: [&str; 10] = ["pfifo", "bfifo", "fq", "fq_codel", "codel", "sfq", "pie", "fq_pie", "tbf", "cake"];
/// A link header without a VLAN's tag.
const ETHERNET: u32 = 14;

/// Bytes that may go at once: a millisecond of the rate, so that a timer that is late loses nothing, and two packets.
pub(super) fn burst(rate: Rate, mtu: u32) -> u64 {
    rate.0 / 8 / 1000 + 2 * u64::from(mtu + ETHERNET)
}

/// Is this root qdisc ours?
pub(super) fn is_ours(root: &Root) -> bool {
    root.kind == "tbf" && root.handle == OURS
}

/// The words that make the device's root qdisc again; none where it is the kernel's own choice for the device.
pub(super) fn before(device: &str) -> Result<Option<String>, Fault> {
    let shown = tc(&["qdisc", "show", "dev", device])?;
    let line = shown.lines().find(|line| line.split(' ').any(|word| word == "root"));
    line.map_or(Ok(None), |line| {
        words(line).map_err(|kind| {
            let accepts =
                format!("one with a root qdisc that can be put back afterwards: the default or {}", KEPT.join(", "));
            Fault::input("DEV", format!("{device} with root qdisc {kind}"), accepts)
        })
    })
}

/// The words after `root` that make a qdisc of tc's line about it; the kind, if they would not.
fn words(line: &str) -> Result<Option<String>, String> {
    let all: Vec<&str> = line.split_whitespace().collect();
    let [_, kind, handle, rest @ ..] = all.as_slice() else { return Ok(None) };
    if *handle == "0:" {
        return Ok(None);
    }
    if !KEPT.contains(kind) || line.contains('[') {
        return Err((*kind).to_string());
    }
    let mut out = vec!["handle", handle, kind];
    let mut rest = rest.iter();
    let mut before = "";
    while let Some(word) = rest.next() {
        match *word {
            "root" | "offloaded" => {}
            "dev" | "refcnt" => {
                rest.next();
            }
            // Shown as 1000p, read as 1000.
            _ if before == "limit" => out.push(word.strip_suffix('p').unwrap_or(word)),
            _ => out.push(word),
        }
        before = word;
    }
    Ok(Some(out.join(" ")))
}

/// Puts our queue in place of the root qdisc.
pub(super) fn put(device: &str, rate: Rate, burst: u64, limit: u64) -> Result<(), Fault> {
    let (rate, burst, limit) = (format!("{}bit", rate.0), format!("{burst}b"), format!("{limit}b"));
    let words = ["qdisc", "replace", "dev", device, "root", "handle", HANDLE, "tbf"];
    tc(&[&words[..], &["rate", &rate, "burst", &burst, "limit", &limit]].concat()).map(|_| ())
}

/// Puts back what [`before`] said, if the queue there is still ours; what could not be done.
pub(super) fn restore(device: &str, number: u32, before: Option<&str>) -> Result<(), Fault> {
    // Another device may have the name by now.
    if index(device) != Some(number) {
        return Ok(());
    }
    let root = Route::open().and_then(|route| route.root(number));
    if !root.as_ref().is_ok_and(is_ours) {
        return Ok(());
    }
    let outcome = match before {
        None => tc(&["qdisc", "del", "dev", device, "root"]),
        Some(words) => {
            let words: Vec<&str> = words.split(' ').collect();
            tc(&[&["qdisc", "replace", "dev", device, "root"], &words[..]].concat())
        }
    };
    match outcome {
        Ok(_) => Ok(()),
        // It went in the meantime, and its qdisc with it.
        Err(_) if index(device) != Some(number) => Ok(()),
        Err(fault) => match before {
            None => Err(fault),
            Some(words) => Err(Fault::Failed(format!("{device}: cannot put back the root qdisc '{words}': {fault}"))),
        },
    }
}

/// Runs tc(8) and gives what it printed.
pub(super) fn tc(words: &[&str]) -> Result<String, Fault> {
    let out = program("tc", "iproute2")?.args(words).stdin(Stdio::null()).output();
    let out = out.map_err(|error| Fault::system("tc", &error))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    Err(refused(&format!("tc {}", words.join(" ")), &out.stderr))
}

/// A program of the system, also where PATH has no folder for administrators.
pub(super) fn program(name: &str, package: &str) -> Result<Command, Fault> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin", "/usr/bin"].map(Into::into));
    let found = folders.into_iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    let missing = || Fault::Unavailable(format!("the program {name} is not installed: it comes with {package}"));
    let mut command = found.map(Command::new).ok_or_else(missing)?;
    // Ctrl-C is for the daemon, which has yet to put things back, not for what it has just started.
    command.process_group(0);
    Ok(command)
}

/// What a program of the system said when it refused.
pub(super) fn refused(what: &str, stderr: &[u8]) -> Fault {
    let said = String::from_utf8_lossy(stderr);
    let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = said.join(", ");
    let text = format!("{what}: {said}");
    let not_here =
        ["not permitted", "Permission denied", "Unknown qdisc", "not found", "No such device", "Cannot find device"];
    let not_here = not_here.iter().any(|words| said.contains(words));
    if not_here { Fault::Unavailable(text) } else { Fault::Failed(text) }
}

/// What a device that has gone is, in place of any error about it.
pub(super) fn gone(device: &str, what: &str, error: &io::Error) -> Fault {
    match error.raw_os_error() {
        Some(libc::ENODEV) => Fault::Unavailable(format!("{device} is gone")),
        _ => Fault::system(format!("{what} of {device}"), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qdisc_is_made_again_from_its_line() {
        let of = |line: &str| words(line).unwrap().unwrap_or_default();
        assert_eq!(
            of("qdisc fq_codel 8001: dev v0 root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms ecn "),
            "handle 8001: fq_codel limit 10240 flows 1024 quantum 1514 target 5ms ecn"
        );
        assert_eq!(
            of("qdisc tbf 1: root refcnt 2 rate 10Mbit burst 4Kb lat 50ms "),
            "handle 1: tbf rate 10Mbit burst 4Kb lat 50ms"
        );
        assert_eq!(of("qdisc bfifo 2: root refcnt 2 limit 60Kb"), "handle 2: bfifo limit 60Kb");
    }

    #[test]
    fn the_default_needs_no_words_and_classes_cannot_be_kept() {
        for line in
            ["qdisc noqueue 0: dev lo root refcnt 2 ", "qdisc mq 0: root ", "qdisc pfifo_fast 0: root refcnt 2 bands 3"]
        {
            assert_eq!(words(line), Ok(None), "{line}");
        }
        assert_eq!(words("qdisc htb 1: root refcnt 2 r2q 10 default 0x30"), Err("htb".to_string()));
        assert_eq!(words("qdisc codel 1: root refcnt 2 [cannot parse qdisc parameters]"), Err("codel".to_string()));
    }

    #[test]
    fn a_burst_is_a_millisecond_and_two_packets() {
        assert_eq!(burst(Rate(50_000_000), 1500), 6250 + 3028);
    }

    #[test]
    fn what_is_not_permitted_is_told_from_what_failed() {
        let of = |text: &str| refused("tc x", text.as_bytes());
        assert_eq!(
            of("RTNETLINK answers: Operation not permitted\n"),
            Fault::Unavailable("tc x: RTNETLINK answers: Operation not permitted".into())
        );
        assert_eq!(of("Error: bad\nusage\n"), Fault::Failed("tc x: Error: bad, usage".into()));
        assert!(matches!(program("no-such-program", "nothing"), Err(Fault::Unavailable(_))));
    }
}
