//! What an attachment changed, in a file: whoever takes it down, and whenever, finds there what to undo.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::actuator::Kind;
use super::fault::Fault;
use super::place::{self, RUN};

/// What an attachment is and changed.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// The device's name.
    pub device: String,
    /// Its number in the kernel.
    pub index: u32,
    /// The network namespace that it is in.
    pub netns: u64,
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
    /// What drops and marks.
    pub actuator: Kind,
    /// Did the device have no clsact qdisc before?
    pub made_clsact: bool,
    /// The words of the root qdisc that was there; none: the default.
    pub before: Option<String>,
}

impl State {
    /// What tells it from other attachments.
    pub fn key(&self) -> String {
        place::key(&self.device, self.netns)
    }

    /// The file of the attachment with this key.
    fn file(key: &str) -> PathBuf {
        Path::new(RUN).join(format!("{key}.json"))
    }

    /// The attachment of a device of this network namespace.
    pub fn of(device: &str) -> Result<Option<Self>, Fault> {
        let file = Self::file(&place::key(device, place::netns()?));
        match fs::read_to_string(&file) {
            Ok(text) => Self::parse(&file, &text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Fault::system(file.display(), &error)),
        }
    }

    /// Every attachment of this network namespace, by name.
    pub fn all() -> Result<Vec<Self>, Fault> {
        let netns = place::netns()?;
        let entries = match fs::read_dir(RUN) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Fault::system(RUN, &error)),
        };
        let files =
            entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json"));
        // One may go while they are read.
        let read = |path: PathBuf| fs::read_to_string(&path).ok().map(|text| Self::parse(&path, &text));
        let mut all = files.filter_map(read).collect::<Result<Vec<Self>, Fault>>()?;
        all.retain(|state| state.netns == netns);
        all.sort_by(|a, b| a.device.cmp(&b.device));
        Ok(all)
    }

    /// Writes the file anew: false if it is there already and `anew` is not meant.
    pub fn write(&self, replace: bool) -> Result<bool, Fault> {
        let file = Self::file(&self.key());
        let draft = Path::new(RUN).join(format!(".{}.{}", self.key(), self.pid));
        let write = || -> io::Result<()> {
            fs::create_dir_all(RUN)?;
            fs::write(&draft, format!("{:#}\n", self.json()))?;
            // Nobody ever reads half of it, and of two that begin at once only one succeeds.
            if replace {
                fs::rename(&draft, &file)
            } else {
                fs::hard_link(&draft, &file).and_then(|()| fs::remove_file(&draft))
            }
        };
        write().map(|()| true).or_else(|error| {
            // It may never have been made.
            let _ = fs::remove_file(&draft);
            match error.kind() {
                io::ErrorKind::AlreadyExists if !replace => Ok(false),
                _ => Err(Fault::system(file.display(), &error)),
            }
        })
    }

    /// Removes the file, and the folder with the last of them.
    pub fn remove(&self) -> Result<(), Fault> {
        let file = Self::file(&self.key());
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Fault::system(file.display(), &error)),
            _ => {}
        }
        // It fails where other files are.
        let _ = fs::remove_dir(RUN);
        Ok(())
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
            "pid": self.pid,
            "started": self.started,
            "rate_bps": self.rate,
            "limit_bytes": self.limit,
            "packet_bytes": self.packet,
            "aqm": self.aqm,
            "ecn": self.ecn,
            "actuator": self.actuator.word(),
            "made_clsact": self.made_clsact,
            "root_before": self.before,
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
                pid: u32::try_from(value["pid"].as_u64()?).ok()?,
                started: value["started"].as_u64()?,
                rate: value["rate_bps"].as_u64()?,
                limit: value["limit_bytes"].as_u64()?,
                packet: value["packet_bytes"].as_u64()?,
                aqm: text("aqm")?,
                ecn: value["ecn"].as_bool()?,
                actuator: Kind::read(value["actuator"].as_str()?)?,
                made_clsact: value["made_clsact"].as_bool()?,
                before: text("root_before"),
            })
        };
        read().ok_or_else(damaged)
    }
}

/// When a process started, in the kernel's ticks; none if there is no such process, or it has ended.
pub(super) fn started(pid: u32) -> Option<u64> {
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
            pid: 99,
            started: 12345,
            rate: 45_000_000,
            limit: 1_125_000,
            packet: 1514,
            aqm: "pi q_ref=50p".to_string(),
            ecn: true,
            actuator: Kind::Clsact,
            made_clsact: true,
            before: Some("handle 1: fq_codel limit 10240".to_string()),
        };
        let file = Path::new("x.json");
        assert_eq!(State::parse(file, &state.json().to_string()), Ok(state.clone()));
        let plain = State { before: None, ..state };
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
