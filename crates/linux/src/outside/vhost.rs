//! A network device of the guest, whose other side is this process: the protocol vhost-user, as far as the driver
//! virtio_uml uses it. The guest sends one request at a time and waits for its answer.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::ring::{Memory, Region, Ring};
use crate::sys::memory::Shared;
use crate::sys::socket;

/// Queues of a network device: to the guest, and from it.
const TO_GUEST: usize = 0;
const FROM_GUEST: usize = 1;

/// Features of the device: checksums that the guest leaves open, checksums that are not to be verified, the extension
/// of the protocol, and version 1 of virtio.
const FEATURES: u64 = 1 | 1 << 1 | 1 << 30 | 1 << 32;
/// Extensions of the protocol: answers to all requests, requests to the guest, notifications as messages.
const EXTENSIONS: u64 = 1 << 3 | 1 << 5 | 1 << 14;
/// Header of a frame in the queues (`struct virtio_net_hdr_v1`). To the guest: "the checksum is valid", one buffer.
const HEADER: usize = 12;
const VALID: [u8; HEADER] = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
/// Longest frame, bytes.
const MOST: usize = 2048;
/// Header of a message: kind, flags, length of what follows. Flags: version, "an answer", "wants an answer".
const MESSAGE: usize = 12;
/// Longest content of a message, bytes: the parts of the guest's memory.
const MOST_CONTENT: usize = 8 + 8 * 32;
const VERSION: u32 = 1;
const ANSWER: u32 = 1 << 2;
const WANTS_ANSWER: u32 = 1 << 3;
const PAGE: u64 = 4096;

/// How long to wait for an answer to a call before looking at the guest.
const ANSWERED_WITHIN: Duration = Duration::from_millis(100);

fn failed(error: io::Error) -> String {
    format!("cannot read from a device of the guest: {error}")
}

/// Kinds of messages of the guest.
mod kind {
    pub(super) const GET_FEATURES: u32 = 1;
    pub(super) const SET_FEATURES: u32 = 2;
    pub(super) const SET_OWNER: u32 = 3;
    pub(super) const SET_MEMORY: u32 = 5;
    pub(super) const SET_SIZE: u32 = 8;
    pub(super) const SET_ADDRESSES: u32 = 9;
    pub(super) const SET_BASE: u32 = 10;
    pub(super) const GET_EXTENSIONS: u32 = 15;
    pub(super) const SET_EXTENSIONS: u32 = 16;
    pub(super) const SWITCH: u32 = 18;
    pub(super) const SET_REQUESTS: u32 = 21;
    pub(super) const KICK: u32 = 35;
    /// To the guest: the device has used buffers of a queue.
    pub(super) const CALL: u32 = 4;
}

/// A vhost-user message and the file descriptors that came with it.
struct Message {
    kind: u32,
    flags: u32,
    content: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl Message {
    /// Reads a message; `None`: the guest has closed the socket.
    fn read(from: BorrowedFd<'_>) -> Result<Option<Self>, String> {
        let (mut bytes, mut got, mut whole) = ([0; MESSAGE + MOST_CONTENT], 0, MESSAGE);
        let mut descriptors = Vec::new();
        let word = |bytes: &[u8], at: usize| bytes[at..at + 4].try_into().map_or(0, u32::from_le_bytes);
        while got < whole {
            let (more, came) = match socket::receive(from, &mut bytes[got..whole]) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                received => received.map_err(failed)?,
            };
            if more == 0 {
                return Ok(None);
            }
            got += more;
            descriptors.extend(came);
            if got == MESSAGE {
                whole = MESSAGE + word(&bytes, 8) as usize;
                if whole > bytes.len() {
                    return Err("a device of the guest sent a message that is too long".to_string());
                }
            }
        }
        let content = bytes[MESSAGE..whole].to_vec();
        Ok(Some(Self { kind: word(&bytes, 0), flags: word(&bytes, 4), content, descriptors }))
    }

    /// Reads a message with eight bytes of content and without descriptors, as kicks and answers are; `None`: the guest
    /// has closed the socket. With a timeout of the socket also the error `WouldBlock`.
    fn read_short(mut from: &UnixStream) -> io::Result<Option<Self>> {
        let mut bytes = [0; MESSAGE + 8];
        match from.read(&mut bytes) {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Ok(got) if got == bytes.len() => {}
            Ok(got) => from.read_exact(&mut bytes[got..])?,
            Err(error) => return Err(error),
        }
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let content = bytes[MESSAGE..].to_vec();
        Ok(Some(Self { kind: word(0), flags: word(4), content, descriptors: Vec::new() }))
    }

    fn long(&self, at: usize) -> Result<u64, String> {
        let bytes = self.content.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u64::from_le_bytes).ok_or_else(|| format!("a request {} of the guest is too short", self.kind))
    }

    /// The two numbers of a request about a queue: its index and a value.
    fn pair(&self) -> Result<(usize, u32), String> {
        self.long(0).map(|both| (both as u32 as usize, (both >> 32) as u32))
    }
}

/// What the guest has done.
pub(super) enum Done {
    /// The guest has closed the connection: it has ended.
    Closed,
    /// A step of the set-up. It has an answer already.
    SetUp,
    /// There are frames from the guest, or buffers for it. The guest waits for [`Device::answer`].
    Kick,
}

/// A network device.
pub(super) struct Device {
    stream: UnixStream,
    /// Socket for requests to the guest.
    requests: Option<UnixStream>,
    memory: Memory,
    queues: [Ring; 2],
    /// The buffer of a received frame.
    frame: Vec<u8>,
    /// Does the guest await a call for its frames that were taken?
    owes_call: bool,
}

impl Device {
    /// A device to which the guest has connected.
    pub(super) fn new(stream: UnixStream) -> Self {
        let (memory, queues) = (Memory::default(), [Ring::default(), Ring::default()]);
        Self { stream, requests: None, memory, queues, frame: Vec::new(), owes_call: false }
    }

    fn reply(&self, kind: u32, value: u64) -> Result<(), String> {
        send(self.stream.as_fd(), kind, ANSWER, value)
    }

    /// Answers the kick for which the guest waits.
    pub(super) fn answer(&self) -> Result<(), String> {
        self.reply(kind::KICK, 0)
    }

    fn queue(&mut self, number: usize) -> Result<&mut Ring, String> {
        self.queues.get_mut(number).ok_or_else(|| format!("the guest's device has no queue {number}"))
    }

    /// Reads a request and follows it.
    pub(super) fn read(&mut self) -> Result<Done, String> {
        // Switching on the queue is the last step of the set-up.
        let message = if self.queues[FROM_GUEST].is_on {
            Message::read_short(&self.stream).map_err(failed)?
        } else {
            Message::read(self.stream.as_fd())?
        };
        let Some(message) = message else { return Ok(Done::Closed) };
        match message.kind {
            kind::GET_FEATURES => return self.reply(message.kind, FEATURES).map(|()| Done::SetUp),
            kind::GET_EXTENSIONS => return self.reply(message.kind, EXTENSIONS).map(|()| Done::SetUp),
            kind::KICK => return Ok(Done::Kick),
            kind::SET_FEATURES | kind::SET_OWNER | kind::SET_EXTENSIONS => {}
            kind::SET_MEMORY => self.memory = map(&message)?,
            kind::SET_SIZE => {
                let (queue, size) = message.pair()?;
                self.queue(queue)?.size = u16::try_from(size).unwrap_or(0);
            }
            kind::SET_BASE => {
                let (queue, base) = message.pair()?;
                let ring = self.queue(queue)?;
                (ring.taken, ring.given) = (base as u16, base as u16);
            }
            kind::SET_ADDRESSES => {
                let (queue, _) = message.pair()?;
                let place = |at: usize| self.memory.translate(message.long(at)?);
                let (descriptors, used, available) = (place(8)?, place(16)?, place(24)?);
                let ring = self.queue(queue)?;
                (ring.descriptors, ring.used, ring.available) = (descriptors, used, available);
            }
            kind::SWITCH => {
                let (queue, on) = message.pair()?;
                self.queue(queue)?.is_on = on != 0;
            }
            kind::SET_REQUESTS => {
                self.requests = message.descriptors.into_iter().next().map(UnixStream::from);
                if let Some(requests) = &self.requests {
                    requests.set_read_timeout(Some(ANSWERED_WITHIN)).map_err(failed)?;
                }
            }
            other => return Err(format!("the guest's device sent the unknown request {other}")),
        }
        if message.flags & WANTS_ANSWER != 0 {
            self.reply(message.kind, 0)?;
        }
        Ok(Done::SetUp)
    }

    /// Takes the next frame that the guest has sent.
    pub(super) fn receive(&mut self) -> Result<Option<&[u8]>, String> {
        let ring = &mut self.queues[FROM_GUEST];
        if !ring.receive(&self.memory, &mut self.frame, HEADER + MOST)? {
            return Ok(None);
        }
        self.owes_call |= ring.wants_call(&self.memory)?;
        let frame = self.frame.get(HEADER..);
        frame.map(Some).ok_or_else(|| "the guest sent a frame without its header".to_string())
    }

    /// Puts a frame into the next buffer of the guest. Returns false if there is none.
    pub(super) fn send(&mut self, frame: &[u8]) -> Result<bool, String> {
        self.frame.clear();
        self.frame.extend(VALID);
        self.frame.extend(frame);
        self.queues[TO_GUEST].send(&self.memory, &self.frame)
    }

    /// Has the guest left a buffer for a frame?
    pub(super) fn has_room(&self) -> Result<bool, String> {
        self.queues[TO_GUEST].has_buffer(&self.memory)
    }

    /// Does the guest await a call for its frames that were taken?
    pub(super) const fn owes_call(&self) -> bool {
        self.owes_call
    }

    /// Calls the guest after frames were put into its buffers, if it wants calls. Returns whether it will answer.
    pub(super) fn call(&mut self) -> Result<bool, String> {
        let wants = self.queues[TO_GUEST].wants_call(&self.memory)?;
        if wants { self.call_for(TO_GUEST) } else { Ok(false) }
    }

    /// Calls the guest after its frames were taken, if it waits for that. Returns whether it will answer.
    pub(super) fn call_for_taken(&mut self) -> Result<bool, String> {
        if std::mem::take(&mut self.owes_call) { self.call_for(FROM_GUEST) } else { Ok(false) }
    }

    fn call_for(&self, queue: usize) -> Result<bool, String> {
        let Some(requests) = &self.requests else { return Ok(false) };
        send(requests.as_fd(), kind::CALL, WANTS_ANSWER, queue as u64).map(|()| true)
    }

    /// Waits for the guest to acknowledge a call: `Some(true)` if it did, `Some(false)` if it has closed the socket, `None`
    /// if nothing came within [`ANSWERED_WITHIN`].
    pub(super) fn called(&self) -> Result<Option<bool>, String> {
        let Some(requests) = &self.requests else { return Ok(Some(true)) };
        let answer = match Message::read_short(requests) {
            Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&error.kind()) => {
                return Ok(None);
            }
            answer => answer.map_err(failed)?,
        };
        let Some(answer) = answer else { return Ok(Some(false)) };
        match (answer.kind, answer.long(0)?) {
            (kind::CALL, 0) => Ok(Some(true)),
            (other, value) => Err(format!("the guest answered a call with {value} to {other}")),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn send(to: BorrowedFd<'_>, kind: u32, flags: u32, value: u64) -> Result<(), String> {
    let mut bytes = [0; MESSAGE + 8];
    for (at, word) in [kind, flags | VERSION, 8].into_iter().enumerate() {
        bytes[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
    }
    bytes[MESSAGE..].copy_from_slice(&value.to_le_bytes());
    socket::send(to, &bytes, &[]).map_err(|error| format!("cannot write to a device of the guest: {error}"))
}

/// Maps the guest's memory.
fn map(message: &Message) -> Result<Memory, String> {
    let count = message.long(0)? as u32 as usize;
    if count > message.descriptors.len() {
        return Err(format!("the guest named {count} parts of its memory without their descriptors"));
    }
    let region = |(number, file): (usize, &OwnedFd)| {
        let at = 8 + 32 * number;
        let [guest, len, user, offset] =
            [message.long(at)?, message.long(at + 8)?, message.long(at + 16)?, message.long(at + 24)?];
        let skip = offset % PAGE;
        let whole = usize::try_from(len).ok().and_then(|len| len.checked_add(skip as usize));
        let whole = whole.ok_or("the guest's memory is too large")?;
        let memory = Shared::map(file, whole, offset - skip);
        let memory = memory.map_err(|error| format!("cannot map the guest's memory: {error}"))?;
        Ok(Region { guest, user, len, memory, skip })
    };
    message.descriptors.iter().take(count).enumerate().map(region).collect::<Result<_, String>>().map(Memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn request(kind: u32, flags: u32, content: &[u8]) -> Vec<u8> {
        let head = [kind, flags | VERSION, content.len() as u32];
        [&head.map(u32::to_le_bytes).concat()[..], content].concat()
    }

    #[test]
    fn set_up_is_answered_and_wrong_requests_are_errors() {
        let (ours, mut guest) = UnixStream::pair().unwrap();
        let mut device = Device::new(ours);
        let mut answer = [0; 20];
        guest.write_all(&request(kind::GET_FEATURES, 0, &[])).unwrap();
        assert!(matches!(device.read(), Ok(Done::SetUp)));
        guest.read_exact(&mut answer).unwrap();
        assert_eq!((answer[0], answer[4], &answer[12..]), (1, 5, &FEATURES.to_le_bytes()[..]));
        guest.write_all(&request(kind::SET_SIZE, WANTS_ANSWER, &[1, 0, 0, 0, 0, 1, 0, 0])).unwrap();
        assert!(matches!(device.read(), Ok(Done::SetUp)));
        guest.read_exact(&mut answer).unwrap();
        assert_eq!((answer[0], device.queues[FROM_GUEST].size), (8, 256));
        for (kind, content) in [(99, &[][..]), (kind::SET_SIZE, &[7, 0, 0, 0, 0, 1, 0, 0]), (kind::SET_SIZE, &[1])] {
            guest.write_all(&request(kind, 0, content)).unwrap();
            assert!(device.read().is_err(), "{kind}");
        }
        guest.write_all(&request(kind::SET_OWNER, 0, &[0; 4096])).unwrap();
        assert!(device.read().is_err(), "too long");
        let (ours, mut guest) = UnixStream::pair().unwrap();
        let mut device = Device::new(ours);
        // The first request needs no answer: the second may already be there.
        guest.write_all(&[request(kind::SET_OWNER, 0, &[]), request(kind::GET_FEATURES, 0, &[])].concat()).unwrap();
        assert!(matches!([device.read(), device.read()], [Ok(Done::SetUp), Ok(Done::SetUp)]));
        drop(guest);
        assert!(matches!(device.read(), Ok(Done::Closed)));
    }
}
