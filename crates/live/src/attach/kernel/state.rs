//! What an attachment changed, in a file: whoever takes it down, and whenever, finds there what to undo.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::fault::Fault;
use super::kind::Kind;
use super::place::{self, Lock, RUN};
use super::qdisc::Before;
use crate::sys::interfaces;

/// What an attachment is and changed.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// The device's name when it was attached.
    pub device: String,
    /// Its number in the kernel.
    pub index: u32,
    /// The network namespace that it is in.
    pub netns: u64,
    /// What tells that namespace from a later one with the same number; 0 before Linux 5.14.
    pub cookie: u64,
    /// The process of the daemon.
    pub pid: u32,
    /// When that process started, in the kernel's ticks: process numbers are used again.
    pub started: u64,
    /// Bits a second.
    pub rate: u64,
    /// Buffer in bytes.
    pub limit: u64,
    /// Bytes of a typical packet.
    pub packet: u64,
    /// The discipline with all its parameters.
    pub aqm: String,
    /// Are ECT packets marked?
    pub ecn: bool,
    /// What drops and marks, from when it begins to be put in place; none: there is nothing of it.
    pub actuator: Option<Kind>,
    /// Did the device have no clsact qdisc before?
    pub made_clsact: bool,
    /// The BPF program that is a filter of clsact, by number.
    pub filter: Option<u32>,
    /// The root qdisc that was there; none: the default.
    pub before: Option<Before>,
}

impl State {
    /// What tells it from other attachments.
    pub fn key(&self) -> String {
        place::key(self.index, self.netns)
    }

    /// The file of the attachment with this key.
    fn file(key: &str) -> PathBuf {
        Path::new(RUN).join(format!("{key}.json"))
    }

    /// The attachment of a device of this network namespace, by a name that it has, or had when it was attached.
    pub fn of(device: &str) -> Result<Option<Self>, Fault> {
        let number = interfaces::index(device).ok();
        let all = Self::all()?;
        let same = all.iter().find(|state| Some(state.index) == number);
        let gone = |state: &&Self| state.device == device && state.name().is_none();
        Ok(same.or_else(|| all.iter().find(gone)).cloned())
    }

    /// What stands in the file of this attachment now, if that can be read.
    pub(in crate::attach) fn filed(&self) -> Option<Self> {
        Self::read(&Self::file(&self.key())).ok().flatten()
    }

    /// The name that the device has now; none if it has gone.
    pub fn name(&self) -> Option<String> {
        interfaces::name(self.index)
    }

    /// The name that it has, or had.
    pub fn called(&self) -> String {
        self.name().unwrap_or_else(|| self.device.clone())
    }

    /// Every attachment of this network namespace, by name.
    pub fn all() -> Result<Vec<Self>, Fault> {
        let folder = Path::new(RUN);
        let failed = |error: io::Error| Fault::system(RUN, &error);
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        // Those of other namespaces are none of our business, damaged or not.
        let ending = format!("@{}.json", place::netns()?);
        let names = entries.flatten().map(|entry| entry.path());
        let files: Vec<PathBuf> = names.filter(|path| path.to_string_lossy().ends_with(&ending)).collect();
        match place::is_ours_alone(folder) {
            Ok(false) if !files.is_empty() => {
                let what = format!("{RUN}: others than this user may write there, so nothing in it is trusted");
                return Err(Fault::Unavailable(what));
            }
            // The last one out has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            found => found.map_err(failed)?,
        };
        // One may go while they are read.
        let mut all =
            files.iter().filter_map(|file| Self::read(file).transpose()).collect::<Result<Vec<Self>, Fault>>()?;
        // The number of a namespace that has gone is given to another.
        let cookie = place::cookie()?;
        all.retain(|state| state.cookie == cookie);
        all.sort_by(|a, b| a.device.cmp(&b.device));
        Ok(all)
    }

    /// The attachment in a file; none if there is no such file.
    fn read(file: &Path) -> Result<Option<Self>, Fault> {
        match fs::read(file) {
            Ok(text) => Self::parse(file, &String::from_utf8_lossy(&text)).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Fault::system(file.display(), &error)),
        }
    }

    /// Writes the file anew, by whoever holds the others off.
    pub(in crate::attach) fn write(&self, _: &Lock) -> Result<(), Fault> {
        let file = Self::file(&self.key());
        let draft = Path::new(RUN).join(format!(".{}", self.key()));
        let write = || -> io::Result<()> {
            // It may be left of one who was killed.
            let _ = fs::remove_file(&draft);
            let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&draft)?;
            out.write_all(format!("{:#}\n", self.json()).as_bytes())?;
            // Nobody ever reads half of it.
            fs::rename(&draft, &file)
        };
        write().map_err(|error| {
            // It may never have been made.
            let _ = fs::remove_file(&draft);
            Fault::system(file.display(), &error)
        })
    }

    /// Removes the file.
    pub(in crate::attach) fn remove(&self, _: &Lock) -> Result<(), Fault> {
        let file = Self::file(&self.key());
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Fault::system(file.display(), &error)),
            _ => Ok(()),
        }
    }

    /// Is it the same attachment, whatever has become of it since?
    pub fn is(&self, other: &Self) -> bool {
        (self.index, self.pid, self.started) == (other.index, other.pid, other.started)
    }

    /// Is the daemon there?
    pub fn is_served(&self) -> bool {
        started(self.pid) == Some(self.started)
    }

    /// As it stands in the file.
    pub fn json(&self) -> Value {
        json!({
            "version": 1,
            "device": self.device,
            "index": self.index,
            "netns": self.netns,
            "netns_cookie": self.cookie,
            "pid": self.pid,
            "started": self.started,
            "rate_bps": self.rate,
            "limit_bytes": self.limit,
            "packet_bytes": self.packet,
            "aqm": self.aqm,
            "ecn": self.ecn,
            "actuator": self.actuator.map(Kind::word),
            "made_clsact": self.made_clsact,
            "filter": self.filter,
            "root_before": self.before.as_ref().map(Before::json),
        })
    }

    fn parse(file: &Path, text: &str) -> Result<Self, Fault> {
        let damaged = || Fault::Failed(format!("{}: is no state of an attachment; remove it", file.display()));
        let value: Value = serde_json::from_str(text).map_err(|_| damaged())?;
        let text = |key: &str| value[key].as_str().map(str::to_string);
        let read = || {
            Some(Self {
                device: text("device")?,
                index: u32::try_from(value["index"].as_u64()?).ok()?,
                netns: value["netns"].as_u64()?,
                cookie: value["netns_cookie"].as_u64()?,
                pid: u32::try_from(value["pid"].as_u64()?).ok()?,
                started: value["started"].as_u64()?,
                rate: value["rate_bps"].as_u64()?,
                limit: value["limit_bytes"].as_u64()?,
                packet: value["packet_bytes"].as_u64()?,
                aqm: text("aqm")?,
                ecn: value["ecn"].as_bool()?,
                actuator: value["actuator"].as_str().map(|word| Kind::read(word).ok_or(())).transpose().ok()?,
                made_clsact: value["made_clsact"].as_bool()?,
                filter: value["filter"].as_u64().map(u32::try_from).transpose().ok()?,
                before: match &value["root_before"] {
                    Value::Null => None,
                    before => Some(Before::read(before)?),
                },
            })
        };
        read().ok_or_else(damaged)
    }
}

/// When a process started, in the kernel's ticks; none if there is no such process, or it has ended.
pub(in crate::attach) fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name stands in brackets and may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if fields.next() == Some("Z") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let state = State {
            device: "eth0".to_string(),
            index: 7,
            netns: 4_026_531_840,
            cookie: 5,
            pid: 99,
            started: 12345,
            rate: 45_000_000,
            limit: 1_125_000,
            packet: 1514,
            aqm: "pi q_ref=50p".to_string(),
            ecn: true,
            actuator: Some(Kind::Clsact),
            made_clsact: true,
            filter: Some(3),
            before: Before::read(&json!({ "kind": "fq_codel", "handle": 65536, "options": "0400ff" })),
        };
        assert!(state.before.is_some());
        let file = Path::new("x.json");
        assert_eq!(State::parse(file, &state.json().to_string()), Ok(state.clone()));
        let plain = State { before: None, actuator: None, filter: None, ..state };
        assert_eq!(State::parse(file, &plain.json().to_string()), Ok(plain));
        for text in ["", "{}", "[1]", "{\"device\": 3}"] {
            assert!(State::parse(file, text).unwrap_err().to_string().starts_with("x.json: is no state"));
        }
    }

    #[test]
    fn processes_are_told_apart_by_when_they_started() {
        let own = started(std::process::id());
        assert!(own.is_some_and(|ticks| ticks > 0));
        assert_eq!(started(u32::MAX), None);
    }
}
