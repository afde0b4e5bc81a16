//! A run whose links are outside of the kernel. The guest has the ends of the flows; the links are those of the simulator,
//! in this process. Packets cross between the guest's devices and the links by the protocol vhost-user. A calendar
//! (external time travel of User Mode Linux) keeps the clocks of both equal.
//!
//! The guest and the links take turns. The guest runs until the time of the next event of the links, then the links
//! process it. A frame enters the links in the moment in which the guest sends it, and the guest receives a frame in the
//! moment in which it leaves them. Only one of the two acts at a time, so a run is a function of network and seed.

mod calendar;
mod orders;
mod ring;
mod vhost;
mod wire;

use std::cell::RefCell;
use std::env::temp_dir;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use forebay_live::fabric::{FAR, NEAR};
use forebay_sim::network::Network;

pub use orders::{obstacle, orders};

use crate::capture::{self, Capture};
use crate::machine::{Fault, Machine, SILENT_CPU_S, Start};
use crate::place::Kernel;
use crate::run::Finished;
use crate::sys;
use crate::sys::socket::{self, thread_seconds};
use calendar::{Calendar, NEVER};
use vhost::{Device, Done};
use wire::{GRACE, Wire};

/// How long to wait for a message before looking at the guest and at requests to stop, ms.
const LOOK: i32 = 100;
/// Number of messages between two looks at the guest's CPU time.
const OFTEN: u32 = 1 << 16;

/// Runs `net` with this seed. `worker`: runs with different numbers use different cores, if there are enough. `stop`
/// ends the run soon after it is set.
///
/// # Errors
/// The guest cannot have these flows, the kernel fails or breaks a protocol, or the run was stopped.
pub fn run(kernel: &Kernel, net: &Network, seed: u64, worker: usize, stop: &AtomicBool) -> Result<Finished, Fault> {
    run_with(kernel, net, (seed, worker, stop), None)
}

/// As [`run`], with a capture of its packets.
///
/// # Errors
/// As for [`run`].
pub fn run_with(
    kernel: &Kernel,
    net: &Network,
    (seed, worker, stop): (u64, usize, &AtomicBool),
    capture: Option<Capture>,
) -> Result<Finished, Fault> {
    let cores = sys::cores();
    let core = cores.get(worker % cores.len().max(1)).copied();
    run_started(kernel, net, Start { seed, core, silent_cpu_s: SILENT_CPU_S }, stop, capture)
}

/// As [`run_with`], with a guest that is started in another way.
///
/// # Errors
/// As for [`run`].
pub fn run_started(
    kernel: &Kernel,
    net: &Network,
    start: Start,
    stop: &AtomicBool,
    capture: Option<Capture>,
) -> Result<Finished, Fault> {
    let whole = || {
        // The two processes take turns: on one core this is fastest.
        if let Some(core) = start.core {
            socket::pin(core);
        }
        let orders = orders(net, start.seed).map_err(Fault::Failed)?;
        let before = thread_seconds();
        let devices = if orders::has_datagrams(net) { 3 } else { 2 };
        // The calendar's, and one for each device.
        let (doors, paths) = doors(1 + devices)
            .map_err(|error| Fault::Failed(format!("cannot make sockets in {}: {error}", temp_dir().display())))?;
        let mut arguments = vec![format!("time-travel=ext:{}", sys::door_path(0))];
        arguments
            .extend((0..devices).map(|number| format!("virtio_uml.device={}:1:{number}", sys::door_path(number + 1))));
        // The device has sent a frame when the guest hands it over: nothing needs to wait for that.
        arguments.push("virtio_net.napi_tx=0".to_string());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let machine = Machine::start(kernel, (&orders, &[]), start, &paths, &arguments)?;
        drop(paths);
        let devices = (0..devices).map(|_| None).collect();
        let capture = capture.map(|capture| Rc::new(RefCell::new(capture)));
        let tap = capture.clone().map(|capture| capture::tap(capture, net));
        let wire = Wire::new(net, start.seed, tap);
        let mut joint = Joint { machine, wire, doors, calendar: None, devices, stop, watch: Watch::default() };
        let watched = joint.run();
        let Joint { machine, wire, .. } = joint;
        let cost = machine.end(watched, thread_seconds() - before)?;
        let faults = wire.faults();
        let outcome = wire.finish();
        let capture = capture.and_then(Rc::into_inner).map(RefCell::into_inner);
        Ok(Finished { outcome, cost, faults, stacks: Vec::new(), capture })
    };
    // In a thread, because the core is set for the thread.
    std::thread::scope(|scope| {
        let run = scope.spawn(whole).join();
        run.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A folder, removed at the end of its use.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = temp_dir().join(format!("forebay-linux-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Sockets, and for each a descriptor by which the guest's kernel can connect. Their files are removed at once: if this
/// process is killed later, nothing is left.
fn doors(count: usize) -> io::Result<(Vec<UnixListener>, Vec<fs::File>)> {
    let folder = Folder::new()?;
    let door = |number: usize| {
        let path = folder.0.join(number.to_string());
        let listener = UnixListener::bind(&path)?;
        Ok((listener, OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(&path)?))
    };
    (0..count).map(door).collect()
}

/// Looks at a guest from which nothing is heard.
#[derive(Default)]
struct Watch {
    /// Time and CPU seconds of the guest when its time last changed.
    time: u64,
    cpu: f64,
    /// CPU seconds at the last look, and looks since they changed.
    last_cpu: f64,
    idle: u32,
    messages: u32,
}

/// The guest, the links, and what joins them.
struct Joint<'a> {
    machine: Machine,
    wire: Wire<'a>,
    /// Where the guest connects to the calendar, and then its devices.
    doors: Vec<UnixListener>,
    calendar: Option<Calendar>,
    devices: Vec<Option<Device>>,
    stop: &'a AtomicBool,
    watch: Watch,
}

/// Whether the run goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    On,
    /// The agent has reported the end, or the guest has ended.
    Over,
}

impl Joint<'_> {
    /// Runs until the guest's end.
    fn run(&mut self) -> Result<(), Fault> {
        match self.take_turns() {
            // A guest that ended in the middle of an exchange has a better message.
            Err(Fault::Failed(why)) => {
                self.last_records()?;
                if self.machine.is_over() || self.machine.has_ended() { Ok(()) } else { Err(Fault::Failed(why)) }
            }
            Ok(()) if !self.machine.is_over() => self.last_records(),
            other => other,
        }
    }

    /// Reads the records of a guest that ends.
    fn last_records(&mut self) -> Result<(), Fault> {
        let Self { machine, wire, .. } = self;
        while !machine.is_over()
            && machine.read(10 * LOOK, &mut |record| wire.take(&record))?.is_some_and(|got| got > 0)
        {}
        Ok(())
    }

    fn take_turns(&mut self) -> Result<(), Fault> {
        loop {
            while !self.calendar.as_ref().is_some_and(Calendar::is_waiting) {
                if self.listen()? == Goes::Over {
                    return Ok(());
                }
            }
            if self.turn()? == Goes::Over {
                return Ok(());
            }
        }
    }

    /// Is there something for the guest at the present time?
    fn has_due(&self) -> Result<bool, Fault> {
        for (number, device) in self.devices.iter().enumerate() {
            let Some(device) = device else { continue };
            let has_frame = number <= FAR && self.wire.first(number).is_some();
            if device.owes_call() || (has_frame && device.has_room().map_err(Fault::Failed)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The guest waits: the links' turn, if they have something to do before the guest, else the guest's.
    fn turn(&mut self) -> Result<Goes, Fault> {
        let due = self.has_due()?;
        let Some(calendar) = &mut self.calendar else { return Ok(Goes::On) };
        let now = calendar.now();
        let own = if due { Some(now) } else { self.wire.next().map(|own| own.max(now)) };
        let wanted = calendar.wanted().filter(|wanted| *wanted < NEVER);
        let Some(time) = [own, wanted].into_iter().flatten().min() else { return self.listen() };
        if time > self.watch.time {
            (self.watch.time, self.watch.cpu) = (time, self.watch.last_cpu);
        }
        if own == Some(time) {
            calendar.act_at(time);
            self.wire.advance(time);
            return self.deliver(time);
        }
        if self.wire.is_after_end(time.saturating_sub(GRACE.nanos())) {
            return Err(Fault::Failed("the guest goes on after the end of the run".to_string()));
        }
        calendar.run(time, own.unwrap_or(NEVER)).map_err(Fault::Failed)?;
        Ok(Goes::On)
    }

    /// Takes the frames that the guest has sent, and lets it go on until something happens.
    fn kick(&mut self, number: usize) -> Result<(), Fault> {
        let Self { calendar, devices, wire, .. } = self;
        let (Some(calendar), Some(device)) = (calendar, &mut devices[number]) else { return Ok(()) };
        let now = calendar.now();
        let from = if number == FAR { FAR } else { NEAR };
        while let Some(frame) = device.receive().map_err(Fault::Failed)? {
            wire.enter(frame, from, now);
        }
        let due = self.has_due()?;
        let until = if due { now } else { self.wire.next().unwrap_or(NEVER) };
        let (Some(calendar), Some(device)) = (&self.calendar, &self.devices[number]) else { return Ok(()) };
        calendar.free_until(until);
        device.answer().map_err(Fault::Failed)
    }

    /// Waits for a message of the guest and follows it.
    fn listen(&mut self) -> Result<Goes, Fault> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Fault::Stopped);
        }
        let mut places: Vec<BorrowedFd<'_>> = vec![self.machine.records()];
        places.push(self.calendar.as_ref().map_or(self.doors[0].as_fd(), AsFd::as_fd));
        let doors = self.doors[1..].iter();
        places.extend(
            self.devices.iter().zip(doors).map(|(device, door)| device.as_ref().map_or(door.as_fd(), AsFd::as_fd)),
        );
        let ready = socket::wait(&places, LOOK)?;
        self.watch.messages = self.watch.messages.wrapping_add(1);
        if (ready == 0 || self.watch.messages.is_multiple_of(OFTEN)) && self.look()? == Goes::Over {
            return Ok(Goes::Over);
        }
        let mut goes = Goes::On;
        if ready & 1 != 0 {
            let Self { machine, wire, .. } = self;
            if machine.read(0, &mut |record| wire.take(&record))? == Some(0) || machine.is_over() {
                goes = Goes::Over;
            }
        }
        if ready & 2 != 0 && !self.time()? {
            goes = Goes::Over;
        }
        for number in 0..self.devices.len() {
            if ready >> (number + 2) & 1 != 0 && !self.device(number)? {
                goes = Goes::Over;
            }
        }
        Ok(goes)
    }

    /// The guest connects to the calendar or sends it a message. Returns false if the guest has ended.
    fn time(&mut self) -> Result<bool, Fault> {
        let Some(calendar) = &mut self.calendar else {
            self.calendar = Some(Calendar::new(self.doors[0].accept()?.0).map_err(Fault::Failed)?);
            return Ok(true);
        };
        calendar.read().map_err(Fault::Failed)
    }

    /// The guest connects a device, or sends it a message. Returns false if the guest has ended.
    fn device(&mut self, number: usize) -> Result<bool, Fault> {
        let Some(device) = &mut self.devices[number] else {
            self.devices[number] = Some(Device::new(self.doors[number + 1].accept()?.0));
            return Ok(true);
        };
        match device.read().map_err(Fault::Failed)? {
            Done::Closed => return Ok(false),
            Done::SetUp => {}
            Done::Kick => self.kick(number)?,
        }
        Ok(true)
    }

    /// Looks at a guest from which nothing comes, or only messages at one time.
    fn look(&mut self) -> Result<Goes, Fault> {
        let (cpu, watch) = (self.machine.cpu_seconds(), &mut self.watch);
        watch.idle = if cpu > watch.last_cpu { 0 } else { watch.idle + 1 };
        watch.last_cpu = cpu;
        let silent = self.machine.silent_cpu_s();
        if cpu - watch.cpu > silent {
            let why = format!("the guest's time has stood still for {silent} CPU seconds: an endless loop?");
            return Err(Fault::Failed(why));
        }
        // Its programs may run: their CPU time is not seen. 60 s with the usual limit.
        let idle = f64::from(watch.idle) * f64::from(LOOK) * 1e-3;
        if idle > silent / 2.0 {
            return Err(Fault::Failed(format!("the guest has neither run nor answered for {} s", silent / 2.0)));
        }
        Ok(if self.machine.has_ended() { Goes::Over } else { Goes::On })
    }

    /// Waits for the guest's answer to a call of a device.
    fn answer_of(&mut self, number: usize) -> Result<Goes, Fault> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Fault::Stopped);
            }
            let Some(device) = &self.devices[number] else { return Ok(Goes::On) };
            if let Some(answered) = device.called().map_err(Fault::Failed)? {
                return Ok(if answered { Goes::On } else { Goes::Over });
            }
            if self.look()? == Goes::Over {
                return Ok(Goes::Over);
            }
        }
    }

    /// Gives the waiting guest the frames that have left the links.
    fn deliver(&mut self, time: u64) -> Result<Goes, Fault> {
        for end in [NEAR, FAR] {
            let Some(device) = &mut self.devices[end] else { continue };
            let mut sent = false;
            while let Some(frame) = self.wire.first(end) {
                // Without a buffer the frame waits until the guest has left one.
                if !device.send(frame).map_err(Fault::Failed)? {
                    break;
                }
                self.wire.left(end, time);
                sent = true;
            }
            if sent && device.call().map_err(Fault::Failed)? && self.answer_of(end)? == Goes::Over {
                return Ok(Goes::Over);
            }
        }
        for number in 0..self.devices.len() {
            let Some(device) = &mut self.devices[number] else { continue };
            if device.call_for_taken().map_err(Fault::Failed)? && self.answer_of(number)? == Goes::Over {
                return Ok(Goes::Over);
            }
        }
        Ok(Goes::On)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn socket_without_a_file_takes_connections() {
        let (listeners, paths) = doors(2).unwrap();
        for (listener, path) in listeners.iter().zip(&paths) {
            let _client = UnixStream::connect(format!("/proc/self/fd/{}", path.as_raw_fd())).unwrap();
            listener.accept().unwrap();
            let own = listener.local_addr().unwrap();
            assert!(!own.as_pathname().unwrap().exists());
        }
    }
}
