//! A run of the kernel: starts it, reads its records, and ends it in every case.

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use forebay_agent::Orders;

use crate::initramfs;
use crate::place::Kernel;
use crate::records::{Parser, Record};
use crate::sys;

/// Memory of a guest with up to [`FEW_FLOWS`] flows, MiB. The host provides it only as the guest uses it.
const MEMORY: usize = 256;
/// Number of flows for which [`MEMORY`] is enough, and memory of each further flow, KiB.
const FEW_FLOWS: usize = 200;
const MEMORY_OF_FLOW: usize = 256;
/// The kernel cannot create a file with its process number in this folder. It continues without the file.
const NO_FOLDER: &str = "uml_dir=/proc/";
/// CPU seconds in which the guest may write nothing; it writes at least every 64 KiB of records, and at its end.
pub const SILENT_CPU_S: f64 = 120.0;
/// The kernel's messages that are kept, bytes.
const CONSOLE: usize = 64 << 10;

/// Why a run has no results.
#[derive(Debug)]
pub enum Fault {
    /// Stopped on request.
    Stopped,
    /// The guest or the kernel reported this.
    Failed(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stopped => f.write_str("stopped"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Fault {}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Failed(format!("cannot run the kernel: {error}"))
    }
}

/// The kernel's process with its children.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        sys::kill_group(self.0.id());
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// CPU seconds of the kernel and its programs.
    pub cpu_seconds: f64,
    /// Seconds by the clock on the wall.
    pub wall_seconds: f64,
}

/// How the kernel is started.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Seed of the kernel's random numbers.
    pub seed: u64,
    /// The core on which it runs; `None`: any.
    pub core: Option<usize>,
    /// CPU seconds after which a guest that writes nothing is ended; [`SILENT_CPU_S`] suits every run.
    pub silent_cpu_s: f64,
}

/// Arguments of a kernel that has its own time: it advances when the kernel is idle.
const ALONE: [&str; 1] = ["time-travel=inf-cpu"];

/// Runs `orders` in the kernel. Calls `each` for every record in order. `stop` ends the run soon after it is set.
///
/// # Errors
/// The kernel cannot be started, its agent or a discipline reports a fault, it writes nothing for a long time, or the
/// run was stopped.
pub fn run(
    kernel: &Kernel,
    orders: &Orders,
    start: Start,
    stop: &AtomicBool,
    each: impl FnMut(Record),
) -> Result<Cost, Fault> {
    run_with_files(kernel, (orders, &[]), start, stop, each)
}

/// A file for the guest: path without the first `/`, and content. It is executable. A path that ends with `/`: a folder.
pub type GuestFile = (String, Vec<u8>);

/// As [`run`], with files in the guest.
///
/// # Errors
/// As for [`run`].
pub fn run_with_files(
    kernel: &Kernel,
    content: (&Orders, &[GuestFile]),
    start: Start,
    stop: &AtomicBool,
    mut each: impl FnMut(Record),
) -> Result<Cost, Fault> {
    let mut machine = Machine::start(kernel, content, start, &[], &ALONE)?;
    let watched = machine.watch(stop, &mut each);
    machine.end(watched, 0.0)
}

/// A kernel that runs.
pub(crate) struct Machine {
    guest: Guest,
    records: io::PipeReader,
    console: fs::File,
    begun: Instant,
    parser: Parser,
    fault: Option<String>,
    ended: bool,
    /// CPU seconds at the last look.
    cpu: f64,
    silent_cpu_s: f64,
    buffer: Vec<u8>,
}

/// The argument with the memory of a guest.
fn memory(flows: usize) -> String {
    format!("mem={}M", MEMORY + flows.saturating_sub(FEW_FLOWS) * MEMORY_OF_FLOW / 1024)
}

impl Machine {
    /// Starts the kernel. `doors`: descriptors of sockets to which it connects. `arguments`: those that say who has its
    /// time, and its devices.
    pub(crate) fn start(
        kernel: &Kernel,
        (orders, files): (&Orders, &[GuestFile]),
        start: Start,
        doors: &[fs::File],
        arguments: &[&str],
    ) -> Result<Self, Fault> {
        let begun = Instant::now();
        // Files in memory: nothing is left on a disk, whatever ends this process.
        let mut archive = sys::memory_file(c"archive")?;
        archive.write_all(&initramfs::archive(&fs::read(&kernel.agent)?, &orders.to_bytes(), files))?;
        let console = sys::memory_file(c"console")?;
        let (records, theirs) = io::pipe()?;
        let mut command = Command::new(&kernel.program);
        // Constant, because the kernel mixes its arguments into its random numbers.
        command
            .args([memory(orders.flows.len()).as_str(), sys::ARCHIVE_PATH])
            .args(arguments)
            .args(["time-travel-start=1000000000", "con=null", "con0=fd:0,fd:1", NO_FOLDER, "umid=guest", "panic=1"])
            .env_clear()
            .env("FOREBAY_SEED", format!("{:016x}", start.seed))
            .env("HOME", "/")
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(console.try_clone()?)
            .stderr(console.try_clone()?);
        let theirs = theirs.into();
        sys::prepare(&mut command, (&theirs, &archive), doors, start.core);
        let failed = |error| Fault::Failed(format!("cannot start {}: {error}", kernel.program.display()));
        let guest = Guest(command.spawn().map_err(failed)?);
        Ok(Self {
            guest,
            records,
            console,
            begun,
            parser: Parser::default(),
            fault: None,
            ended: false,
            cpu: 0.0,
            silent_cpu_s: start.silent_cpu_s,
            buffer: vec![0; 256 << 10],
        })
    }

    /// The descriptor of the records.
    pub(crate) fn records(&self) -> BorrowedFd<'_> {
        self.records.as_fd()
    }

    /// CPU seconds of the kernel and its programs so far.
    pub(crate) fn cpu_seconds(&mut self) -> f64 {
        self.cpu = sys::child_seconds(self.guest.0.id()).max(self.cpu);
        self.cpu
    }

    /// CPU seconds in which the guest may do nothing that is seen.
    pub(crate) const fn silent_cpu_s(&self) -> f64 {
        self.silent_cpu_s
    }

    /// Has the kernel's process ended?
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.guest.0.try_wait(), Ok(Some(_)))
    }

    /// Has the agent reported its end, or a fault?
    pub(crate) const fn is_over(&self) -> bool {
        self.ended || self.fault.is_some()
    }

    /// Reads records that come within this time. Returns their number of bytes: 0 if the guest has ended, `None` if
    /// nothing came.
    pub(crate) fn read(&mut self, milliseconds: i32, each: &mut impl FnMut(Record)) -> Result<Option<usize>, Fault> {
        let got = sys::read_within(&mut self.records, &mut self.buffer, milliseconds)?;
        let Self { parser, fault, ended, buffer, .. } = self;
        let take = |record: Record| {
            if let Record::Text(text) = &record {
                if let Some(why) = text.strip_prefix("fault ") {
                    fault.get_or_insert(why.trim_end().to_string());
                }
                *ended |= text.starts_with("end");
            }
            each(record);
        };
        parser.read(&buffer[..got.unwrap_or(0)], take).map_err(Fault::Failed)?;
        if self.is_over() {
            self.cpu_seconds();
        }
        Ok(got)
    }

    /// Reads records until the guest reports its end or a fault.
    fn watch(&mut self, stop: &AtomicBool, each: &mut impl FnMut(Record)) -> Result<(), Fault> {
        let mut quiet_since = 0.0;
        while !self.is_over() {
            if stop.load(Ordering::Relaxed) {
                return Err(Fault::Stopped);
            }
            match self.read(100, each)? {
                Some(0) => return Ok(()),
                Some(_) => quiet_since = -1.0,
                None => {
                    let cpu = self.cpu_seconds();
                    if quiet_since < 0.0 {
                        quiet_since = cpu;
                    }
                    if cpu - quiet_since > self.silent_cpu_s {
                        let seconds = self.silent_cpu_s;
                        let why = "CPU seconds: an endless loop in a discipline?";
                        return Err(Fault::Failed(format!("the guest has written nothing for {seconds} {why}")));
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends the kernel. `watched`: how watching it ended; `more`: CPU seconds that the run took besides the kernel's.
    pub(crate) fn end(mut self, watched: Result<(), Fault>, more: f64) -> Result<Cost, Fault> {
        let cpu_seconds = self.cpu_seconds() + more;
        let Self { guest, mut console, begun, fault, ended, .. } = self;
        drop(guest);
        watched?;
        match fault {
            Some(fault) => Err(Fault::Failed(fault)),
            None if !ended => Err(Fault::Failed(format!("the kernel ended early{}", last_words(&mut console)))),
            None => Ok(Cost { cpu_seconds, wall_seconds: begun.elapsed().as_secs_f64() }),
        }
    }
}

/// The end of the kernel's messages, for a message about its end.
fn last_words(console: &mut fs::File) -> String {
    let mut bytes = Vec::new();
    // Without them the message is only shorter.
    let _ = console.rewind().and_then(|()| console.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(CONSOLE)..]).into_owned();
    let lines = || text.lines().filter(|line| !line.trim().is_empty() && !line.contains("umid"));
    let is_cause =
        |line: &&str| ["panic - ", "error", "Error", "errno", "failed", "BUG"].iter().any(|word| line.contains(word));
    let cause = lines().find(is_cause).or_else(|| lines().next_back());
    cause.map_or_else(String::new, |line| format!(": {}", line.trim()))
}
