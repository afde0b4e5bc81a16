//! The state file of an attachment, a control law that a daemon of `forebay attach` runs on a network device: what the
//! attachment changed, so that any later process can undo it.

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

/// An attachment and what it changed on the machine.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// The device's name when it was attached.
    pub device: String,
    /// Interface index.
    pub index: u32,
    /// Inode number of the device's network namespace.
    pub netns: u64,
    /// Cookie of the device's network namespace, unique unlike the inode number; 0 before Linux 5.14.
    pub cookie: u64,
    /// Process id of the daemon.
    pub pid: u32,
    /// Start time of the daemon in clock ticks; identifies the daemon, because process ids are reused.
    pub started: u64,
    /// Shaping rate, bit/s.
    pub rate: u64,
    /// Buffer of the shaping qdisc, bytes.
    pub limit: u64,
    /// Typical packet size, bytes.
    pub packet: u64,
    /// The control law with all its parameters, as on the command line.
    pub aqm: String,
    /// Are ECT packets marked instead of dropped?
    pub ecn: bool,
    /// What marks and drops packets in the kernel (actuator), recorded before it is installed; `None`: none installed.
    pub actuator: Option<Kind>,
    /// Did the attachment create the clsact qdisc?
    pub made_clsact: bool,
    /// Program id of the BPF filter at the clsact qdisc; `None`: there is none.
    pub filter: Option<u32>,
    /// The device's root qdisc before the attachment; `None`: the kernel's default.
    pub before: Option<Before>,
}

impl State {
    /// Identifies the attachment: device index and namespace.
    pub fn key(&self) -> String {
        place::key(self.index, self.netns)
    }

    /// Path of the state file of the attachment with this key.
    fn file(key: &str) -> PathBuf {
        Path::new(RUN).join(format!("{key}.json"))
    }

    /// The attachment of a device of this network namespace. `device` is its present name or, if it is gone, its
    /// name when attached.
    pub fn of(device: &str) -> Result<Option<Self>, Fault> {
        let number = interfaces::index(device).ok();
        let all = Self::all()?;
        let same = all.iter().find(|state| Some(state.index) == number);
        let gone = |state: &&Self| state.device == device && state.name().is_none();
        Ok(same.or_else(|| all.iter().find(gone)).cloned())
    }

    /// The present content of this attachment's state file, if readable.
    pub(in crate::attach) fn filed(&self) -> Option<Self> {
        Self::read(&Self::file(&self.key())).ok().flatten()
    }

    /// The present name of the device; `None` if it no longer exists.
    pub fn name(&self) -> Option<String> {
        interfaces::name(self.index)
    }

    /// The present name of the device or, if it no longer exists, its name when attached.
    pub fn called(&self) -> String {
        self.name().unwrap_or_else(|| self.device.clone())
    }

    /// All attachments of this network namespace, sorted by the device's name.
    pub fn all() -> Result<Vec<Self>, Fault> {
        let folder = Path::new(RUN);
        let failed = |error: io::Error| Fault::system(RUN, &error);
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        // Ignore the files of other namespaces, damaged or not.
        let ending = format!("@{}.json", place::netns()?);
        let names = entries.flatten().map(|entry| entry.path());
        let files: Vec<PathBuf> = names.filter(|path| path.to_string_lossy().ends_with(&ending)).collect();
        match place::is_ours_alone(folder) {
            Ok(false) if !files.is_empty() => {
                let what = format!("{RUN}: other users can write there, so nothing in it is trusted");
                return Err(Fault::Unavailable(what));
            }
            // The last process has just removed the directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            found => found.map_err(failed)?,
        };
        // A file may disappear meanwhile.
        let mut all =
            files.iter().filter_map(|file| Self::read(file).transpose()).collect::<Result<Vec<Self>, Fault>>()?;
        // A namespace number may be reused after its namespace was deleted.
        let cookie = place::cookie()?;
        all.retain(|state| state.cookie == cookie);
        all.sort_by(|a, b| a.device.cmp(&b.device));
        Ok(all)
    }

    /// The attachment in a file; `None` if the file does not exist.
    fn read(file: &Path) -> Result<Option<Self>, Fault> {
        match fs::read(file) {
            Ok(text) => Self::parse(file, &String::from_utf8_lossy(&text)).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Fault::system(file.display(), &error)),
        }
    }

    /// Writes the state file. Needs the lock on attachments.
    pub(in crate::attach) fn write(&self, _: &Lock) -> Result<(), Fault> {
        let file = Self::file(&self.key());
        let draft = Path::new(RUN).join(format!(".{}", self.key()));
        let write = || -> io::Result<()> {
            // A killed process may have left it.
            let _ = fs::remove_file(&draft);
            let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&draft)?;
            out.write_all(format!("{:#}\n", self.json()).as_bytes())?;
            // Rename is atomic: readers never see a partial file.
            fs::rename(&draft, &file)
        };
        write().map_err(|error| {
            // It may not exist.
            let _ = fs::remove_file(&draft);
            Fault::system(file.display(), &error)
        })
    }

    /// Removes the state file. Needs the lock on attachments.
    pub(in crate::attach) fn remove(&self, _: &Lock) -> Result<(), Fault> {
        let file = Self::file(&self.key());
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Fault::system(file.display(), &error)),
            _ => Ok(()),
        }
    }

    /// Is `other` the same attachment? Only device and daemon are compared; the recorded changes may differ.
    pub fn is(&self, other: &Self) -> bool {
        (self.index, self.pid, self.started) == (other.index, other.pid, other.started)
    }

    /// Is the daemon running?
    pub fn is_served(&self) -> bool {
        started(self.pid) == Some(self.started)
    }

    /// The content of the state file.
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
        let damaged = || Fault::Failed(format!("{}: not a valid state file; remove it", file.display()));
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

/// Start time of a process in clock ticks; `None` if it does not exist or is a zombie.
pub(in crate::attach) fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program name is in parentheses and can contain any character.
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
    fn attachment_state_round_trips_through_json() {
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
            assert!(State::parse(file, text).unwrap_err().to_string().starts_with("x.json: not a valid state file"));
        }
    }

    #[test]
    fn start_time_identifies_a_process() {
        let own = started(std::process::id());
        assert!(own.is_some_and(|ticks| ticks > 0));
        assert_eq!(started(u32::MAX), None);
    }
}
