//! The calendar: it owns the time of the guest, which runs only when the calendar lets it (`time-travel=ext:` of User
//! Mode Linux, `include/uapi/linux/um_timetravel.h`). Most of the exchange is in shared memory: the present time, the
//! time until which the guest may run freely, and the time at which it wants to run again.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use crate::sys::memory::Shared;
use crate::sys::socket;

/// Kinds of messages.
mod kind {
    pub(super) const ANSWER: u32 = 0;
    pub(super) const START: u32 = 1;
    pub(super) const WAIT: u32 = 3;
    pub(super) const RUN: u32 = 6;
    pub(super) const TIME_OF_DAY: u32 = 8;
}

/// Length of a message: kind, number, time.
const MESSAGE: usize = 16;
/// Version of the shared memory, its length, and where its fields are.
const VERSION: u32 = 2;
const CLIENTS: usize = 4096;
const CLIENT: usize = 128;
const LEN: usize = CLIENTS + 2 * CLIENT;
const FREE_UNTIL: usize = 8;
const NOW: usize = 16;
const RUNNING: usize = 24;
/// Fields of a client: what it can do ("share the memory"), flags ("wants to run"), and when it wants to run.
const CAN: usize = 0;
const FLAGS: usize = 4;
const WANTED: usize = 8;
const SHARES: u32 = 1;
const WANTS: u32 = 1;
/// Numbers of the clients.
const CALENDAR: u16 = 0;
const GUEST: u16 = 1;
/// A time that never comes.
pub(super) const NEVER: u64 = u64::MAX >> 1;

/// The calendar of a guest that is connected.
pub(super) struct Calendar {
    stream: UnixStream,
    memory: Shared,
    /// Does the guest wait until it may run?
    is_waiting: bool,
    /// Number of times at which the guest was let run.
    pub(super) runs: u64,
    number: u32,
}

/// The text of an error of this protocol.
fn failed(error: std::io::Error) -> String {
    format!("cannot exchange times with the guest: {error}")
}

impl Calendar {
    /// The calendar of a guest that has just connected, at time 0.
    pub(super) fn new(stream: UnixStream) -> Result<Self, String> {
        let (file, memory) = Shared::create(LEN).map_err(failed)?;
        let calendar = Self { stream, memory, is_waiting: false, runs: 0, number: 0 };
        calendar.put(0, VERSION);
        calendar.put(4, LEN as u32);
        calendar.put(RUNNING, u32::from(GUEST) | 2 << 16);
        calendar.put(CLIENTS + CLIENT * usize::from(CALENDAR) + CAN, SHARES);
        calendar.free_until(NEVER);
        let (kind, number, _) = calendar.message()?.ok_or("the guest ended before it started its clock")?;
        if kind != kind::START {
            return Err(format!("the guest's first message to the calendar is {kind}"));
        }
        // The second descriptor is for a log.
        let log = File::options().write(true).open("/dev/null").map_err(failed)?;
        let answer = message(kind::ANSWER, number, u64::from(GUEST));
        socket::send(calendar.stream.as_fd(), &answer, &[file.as_fd(), log.as_fd()]).map_err(failed)?;
        Ok(calendar)
    }

    fn put(&self, at: usize, value: u32) {
        let _ = self.memory.write(at, &value.to_le_bytes());
    }

    fn get(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        let _ = self.memory.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn get_time(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        let _ = self.memory.read(at, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn put_time(&self, at: usize, time: u64) {
        let _ = self.memory.write(at, &time.to_le_bytes());
    }

    /// The present, ns since the guest's start.
    pub(super) fn now(&self) -> u64 {
        self.get_time(NOW)
    }

    /// Lets the guest run by itself before this time.
    pub(super) fn free_until(&self, time: u64) {
        self.put_time(FREE_UNTIL, time);
    }

    /// Does the guest wait until it may run?
    pub(super) const fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// When the guest wants to run; `None`: only if something happens.
    pub(super) fn wanted(&self) -> Option<u64> {
        let at = CLIENTS + CLIENT * usize::from(GUEST);
        (self.get(at + FLAGS) & WANTS != 0).then(|| self.get_time(at + WANTED))
    }

    /// Sets the present, at which this process acts. The guest must be waiting. Time never goes back.
    pub(super) fn act_at(&self, time: u64) {
        self.put_time(NOW, time.max(self.now()));
        self.put(RUNNING, u32::from(CALENDAR) | 2 << 16);
    }

    /// Lets the waiting guest run at this time, or at the present if that is later, and by itself before `until`.
    pub(super) fn run(&mut self, time: u64, until: u64) -> Result<(), String> {
        let now = time.max(self.now());
        self.put_time(NOW, now);
        self.put(RUNNING, u32::from(GUEST) | 2 << 16);
        self.put(CLIENTS + CLIENT * usize::from(GUEST) + FLAGS, 0);
        self.free_until(until);
        self.is_waiting = false;
        self.runs += 1;
        self.number = self.number.wrapping_add(1);
        (&self.stream).write_all(&message(kind::RUN, self.number, now)).map_err(failed)
    }

    /// Reads a message; `None`: the guest has ended.
    fn message(&self) -> Result<Option<(u32, u32, u64)>, String> {
        let (mut bytes, mut got) = ([0; MESSAGE], 0);
        while got < MESSAGE {
            match (&self.stream).read(&mut bytes[got..]) {
                Ok(0) => return Ok(None),
                Ok(more) => got += more,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(failed(error)),
            }
        }
        let [a, b, c, d, e, f, g, h, time @ ..] = bytes;
        let (kind, number) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        Ok(Some((kind, number, u64::from_le_bytes(time))))
    }

    /// Reads the guest's message and follows it. Returns false if the guest has ended.
    pub(super) fn read(&mut self) -> Result<bool, String> {
        let Some((kind, number, _)) = self.message()? else { return Ok(false) };
        match kind {
            kind::WAIT if self.get(CLIENTS + CLIENT * usize::from(GUEST) + CAN) & SHARES == 0 => {
                return Err("this kernel cannot share memory with a calendar; Linux 6.12 can".to_string());
            }
            // It has no answer.
            kind::WAIT => self.is_waiting = true,
            kind::TIME_OF_DAY => {
                let answer = message(kind::ANSWER, number, 0);
                (&self.stream).write_all(&answer).map_err(failed)?;
            }
            other => return Err(format!("the guest sent the unexpected message {other} to the calendar")),
        }
        Ok(true)
    }
}

impl AsFd for Calendar {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn message(kind: u32, number: u32, time: u64) -> [u8; MESSAGE] {
    let mut bytes = [0; MESSAGE];
    bytes[..4].copy_from_slice(&kind.to_le_bytes());
    bytes[4..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..].copy_from_slice(&time.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guest_waits_wants_and_runs() {
        let (ours, mut guest) = UnixStream::pair().unwrap();
        guest.write_all(&message(kind::START, 1, u64::MAX)).unwrap();
        let mut calendar = Calendar::new(ours).unwrap();
        let mut bytes = [0; 64];
        let (got, descriptors) = socket::receive(guest.as_fd(), &mut bytes).unwrap();
        assert_eq!((got, bytes[4], bytes[8], descriptors.len()), (MESSAGE, 1, 1, 2));
        let memory = Shared::map(&descriptors[0], LEN, 0).unwrap();
        // The guest shares the memory, has run until 700, and wants to run at 900.
        let own = CLIENTS + CLIENT;
        memory.write(own + CAN, &SHARES.to_le_bytes()).unwrap();
        memory.write(NOW, &700u64.to_le_bytes()).unwrap();
        memory.write(own + WANTED, &900u64.to_le_bytes()).unwrap();
        memory.write(own + FLAGS, &WANTS.to_le_bytes()).unwrap();
        guest.write_all(&message(kind::WAIT, 2, 0)).unwrap();
        assert!(calendar.read().unwrap() && calendar.is_waiting());
        assert_eq!((calendar.now(), calendar.wanted()), (700, Some(900)));
        calendar.act_at(800);
        calendar.run(900, 1000).unwrap();
        let (_, _) = socket::receive(guest.as_fd(), &mut bytes).unwrap();
        assert_eq!((bytes[0], u64::from_le_bytes(bytes[8..16].try_into().unwrap())), (6, 900));
        assert_eq!((calendar.is_waiting(), calendar.wanted(), calendar.now()), (false, None, 900));
        drop(guest);
        assert!(!calendar.read().unwrap(), "the guest has ended");
    }

    #[test]
    fn foreign_messages_to_the_calendar_are_errors() {
        let (ours, mut guest) = UnixStream::pair().unwrap();
        guest.write_all(&message(kind::WAIT, 1, 0)).unwrap();
        assert!(Calendar::new(ours).err().unwrap().contains("first message"));
        let (ours, mut guest) = UnixStream::pair().unwrap();
        guest.write_all(&message(kind::START, 1, 0)).unwrap();
        let mut calendar = Calendar::new(ours).unwrap();
        guest.write_all(&message(kind::WAIT, 2, 0)).unwrap();
        assert!(calendar.read().unwrap_err().contains("share"));
        guest.write_all(&message(99, 3, 0)).unwrap();
        assert!(calendar.read().unwrap_err().contains("99"));
    }
}
