//! A socket to the kernel's networking (rtnetlink(7)): requests are written, and answers read, here. What is asked for stands
//! in [`interfaces`](super::interfaces) and in `qdiscs`.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{check, owned, set_option};

/// The most that the kernel sends at once.
const ANSWER: usize = 32768;
/// How long an answer is waited for: the kernel has it at once, or never.
const PATIENCE_S: i64 = 2;
/// Bytes of the header of a message.
const HEADER: usize = size_of::<libc::nlmsghdr>();
/// The bits of an attribute's type that are no part of it.
const KIND: u16 = 0x3fff;

/// A socket to the kernel, in the network namespace in which it was opened.
pub struct Netlink {
    socket: OwnedFd,
    /// Of the last request: an answer bears it too.
    number: Cell<u32>,
}

/// A request while it is written: lengths are filled in as its parts end.
pub(super) struct Message(Vec<u8>);

impl Message {
    /// `fixed` is the structure that the kind of message begins with.
    pub(super) fn new(kind: u16, flags: i32, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags as u16).to_ne_bytes());
        bytes.extend_from_slice(fixed);
        Self(bytes)
    }

    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    pub(super) fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |message| message.bytes(value));
    }

    /// An attribute that `fill` writes.
    pub(super) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        self.pad();
        let at = self.0.len();
        self.0.extend_from_slice(&[0; 2]);
        self.0.extend_from_slice(&kind.to_ne_bytes());
        fill(self);
        let len = (self.0.len() - at) as u16;
        self.0[at..at + 2].copy_from_slice(&len.to_ne_bytes());
    }

    /// Whatever stands there.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn end(&mut self, flags: i32, number: u32) -> &[u8] {
        self.pad();
        let len = self.0.len() as u32;
        self.0[..4].copy_from_slice(&len.to_ne_bytes());
        let flags = self.0[6..8].iter_mut().zip((flags as u16).to_ne_bytes());
        flags.for_each(|(byte, more)| *byte |= more);
        self.0[8..12].copy_from_slice(&number.to_ne_bytes());
        &self.0
    }
}

impl Netlink {
    /// Opens one.
    pub fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: plain numbers.
        let socket = owned(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) })?;
        let patience = libc::timeval { tv_sec: PATIENCE_S, tv_usec: 0 };
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &patience)?;
        Ok(Self { socket, number: Cell::new(0) })
    }

    /// Has the kernel do something.
    pub(super) fn tell(&self, message: Message) -> io::Result<()> {
        self.exchange(message, libc::NLM_F_ACK).map(|_| ())
    }

    /// Asks for one thing, and gives what stands in the answer behind its header; `NotFound` if the kernel only says that it
    /// was asked.
    pub(super) fn ask(&self, message: Message) -> io::Result<Vec<u8>> {
        // Without ECHO a qdisc is told to listeners in general, not to us; without ACK a hidden one is met with silence.
        let answers = self.exchange(message, libc::NLM_F_ECHO | libc::NLM_F_ACK)?;
        answers.into_iter().next().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Asks for all there is of something.
    #[cfg(feature = "attach")]
    pub(super) fn list(&self, message: Message) -> io::Result<Vec<Vec<u8>>> {
        self.exchange(message, libc::NLM_F_DUMP)
    }

    /// Sends a request and reads all that the kernel says to it, up to its last word.
    fn exchange(&self, mut message: Message, flags: i32) -> io::Result<Vec<Vec<u8>>> {
        let own = self.number.get().wrapping_add(1);
        self.number.set(own);
        let bytes = message.end(libc::NLM_F_REQUEST | flags, own);
        let fd = self.socket.as_raw_fd();
        // SAFETY: the kernel reads `bytes`, which live until the call returns.
        check(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), 0) } as i32)?;
        let mut answers = Vec::new();
        loop {
            for (kind, number, body) in messages(&self.receive()?) {
                match i32::from(kind) {
                    // Of a request whose answer came too late.
                    _ if number != own => {}
                    libc::NLMSG_DONE | libc::NLMSG_ERROR => {
                        return match word(body, 0, 4) as u32 as i32 {
                            0 => Ok(answers),
                            code => Err(io::Error::from_raw_os_error(-code)),
                        };
                    }
                    _ => answers.push(body.to_vec()),
                }
            }
        }
    }

    fn receive(&self) -> io::Result<Vec<u8>> {
        let mut answer = vec![0; ANSWER];
        loop {
            // SAFETY: the kernel writes at most as many bytes as `answer` has.
            let got = unsafe { libc::recv(self.socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
            match check(got as i32) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(len) => {
                    answer.truncate(len as usize);
                    return Ok(answer);
                }
            }
        }
    }
}

/// The messages that were sent at once: kind, number, and what stands behind the header.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, u32, &[u8])> {
    std::iter::from_fn(move || {
        let len = word(bytes, 0, 4) as usize;
        let whole = bytes.get(..len).filter(|whole| whole.len() >= HEADER)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((word(whole, 4, 2) as u16, word(whole, 8, 4) as u32, &whole[HEADER..]))
    })
}

/// The value of the attribute of this kind.
pub(super) fn find(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    while attributes.len() >= 4 {
        let len = word(attributes, 0, 2) as usize;
        if len < 4 || len > attributes.len() {
            return None;
        }
        if word(attributes, 2, 2) as u16 & KIND == kind {
            return Some(&attributes[4..len]);
        }
        // Attributes begin at multiples of four.
        attributes = attributes.get(len.next_multiple_of(4)..)?;
    }
    None
}

/// The number of `len` bytes at `at`, in the order of this machine; 0 where there is none.
pub(super) fn word(bytes: &[u8], at: usize, len: usize) -> u64 {
    let mut wide = [0u8; 8];
    match bytes.get(at..at + len) {
        None => return 0,
        Some(found) if cfg!(target_endian = "little") => wide[..len].copy_from_slice(found),
        Some(found) => wide[8 - len..].copy_from_slice(found),
    }
    u64::from_ne_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut message = Message::new(20, 0x400, &[9; 12]);
        message.attribute(3, b"abc");
        message.nest(5, |message| message.attribute(1, &7u32.to_ne_bytes()));
        let bytes = message.end(libc::NLM_F_REQUEST, 77).to_vec();
        assert_eq!(word(&bytes, 6, 2), 0x401);
        let twice = [&bytes[..], &bytes[..]].concat();
        let read: Vec<_> = messages(&twice).collect();
        assert_eq!(read.len(), 2);
        let (kind, number, body) = read[1];
        assert_eq!((kind, number, &body[..12]), (20, 77, &[9; 12][..]));
        assert_eq!(find(&body[12..], 3), Some(&b"abc"[..]));
        assert_eq!(find(find(&body[12..], 5).unwrap(), 1), Some(&7u32.to_ne_bytes()[..]));
        assert_eq!(find(&body[12..], 4), None);
    }

    #[test]
    fn what_breaks_off_is_no_reason_to_panic() {
        let mut message = Message::new(20, 0, &[0; 12]);
        message.attribute(3, b"abcde");
        let whole = message.end(0, 1).to_vec();
        for len in 0..whole.len() {
            assert_eq!(messages(&whole[..len]).count(), 0);
            find(&whole[..len], 3);
        }
        assert_eq!(find(&[3, 0, 0, 0], 1), None);
        assert_eq!(word(&[1], 0, 4), 0);
    }
}
