//! A socket to the kernel's networking (rtnetlink(7)): requests are written, and answers read, here. What is asked for stands
//! in [`interfaces`](super::interfaces) and in `qdiscs`.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{check, owned, set_option};

/// How long an answer is waited for: the kernel has it at once, or never.
const PATIENCE_S: i64 = 2;
/// Bytes of the header of a message.
const HEADER: usize = size_of::<libc::nlmsghdr>();
/// How often a list is asked for that changes while the kernel tells it.
#[cfg(feature = "attach")]
const TRIES: u32 = 10;
/// The bits of an attribute's type that are no part of it.
const KIND: u16 = 0x3fff;

/// A socket to the kernel, in the network namespace in which it was opened.
pub struct Netlink {
    socket: OwnedFd,
    /// Of the last request; its answers have it too.
    number: Cell<u32>,
}

/// A request while it is written: lengths are filled in as its parts end.
pub(super) struct Message {
    bytes: Vec<u8>,
    /// Is an attribute longer than the 16 bits of its length can say? Then it is not sent.
    too_long: bool,
}

impl Message {
    /// `fixed` is the structure that the kind of message begins with.
    pub(super) fn new(kind: u16, flags: i32, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags as u16).to_ne_bytes());
        bytes.extend_from_slice(fixed);
        Self { bytes, too_long: false }
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub(super) fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |message| message.bytes(value));
    }

    /// An attribute that `fill` writes.
    pub(super) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        self.pad();
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        fill(self);
        match u16::try_from(self.bytes.len() - at) {
            Ok(len) => self.bytes[at..at + 2].copy_from_slice(&len.to_ne_bytes()),
            Err(_) => self.too_long = true,
        }
    }

    /// Whatever stands there.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// What is sent; it can be sent again under another number. `InvalidInput` if an attribute is too long.
    fn end(&mut self, flags: i32, number: u32) -> io::Result<&[u8]> {
        if self.too_long {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "longer than 65531 bytes"));
        }
        self.pad();
        let len = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&len.to_ne_bytes());
        let flags = self.bytes[6..8].iter_mut().zip((flags as u16).to_ne_bytes());
        flags.for_each(|(byte, more)| *byte |= more);
        self.bytes[8..12].copy_from_slice(&number.to_ne_bytes());
        Ok(&self.bytes)
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
    pub(super) fn tell(&self, mut message: Message) -> io::Result<()> {
        self.exchange(&mut message, libc::NLM_F_ACK).map(|_| ())
    }

    /// Asks for one thing, and gives what stands in the answer behind its header; `NotFound` if the kernel only says that it
    /// was asked.
    pub(super) fn ask(&self, mut message: Message) -> io::Result<Vec<u8>> {
        // Without ECHO a qdisc is told to listeners in general, not to us; without ACK a hidden one is met with silence.
        let (answers, _) = self.exchange(&mut message, libc::NLM_F_ECHO | libc::NLM_F_ACK)?;
        answers.into_iter().next().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Asks for all there is of something; once more where that changed meanwhile, for such a list may lack entries.
    #[cfg(feature = "attach")]
    pub(super) fn list(&self, mut message: Message) -> io::Result<Vec<Vec<u8>>> {
        for _ in 0..TRIES {
            let (answers, is_interrupted) = self.exchange(&mut message, libc::NLM_F_DUMP)?;
            if !is_interrupted {
                return Ok(answers);
            }
        }
        Err(io::Error::other(format!("the kernel's list changed each time it was read, {TRIES} times")))
    }

    /// Sends a request and reads all that the kernel says to it, up to its last word; and whether it says that this is not
    /// of one moment.
    fn exchange(&self, message: &mut Message, flags: i32) -> io::Result<(Vec<Vec<u8>>, bool)> {
        let own = self.number.get().wrapping_add(1);
        self.number.set(own);
        let bytes = message.end(libc::NLM_F_REQUEST | flags, own)?;
        let fd = self.socket.as_raw_fd();
        // SAFETY: the kernel reads `bytes`, which live until the call returns.
        check(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), 0) } as i32)?;
        let (mut answers, mut is_interrupted) = (Vec::new(), false);
        loop {
            // Others are of a request whose answer came too late.
            for part in parts(&self.receive()?)?.iter().filter(|part| part.number == own) {
                is_interrupted |= i32::from(part.flags) & libc::NLM_F_DUMP_INTR != 0;
                match i32::from(part.kind) {
                    libc::NLMSG_NOOP => {}
                    libc::NLMSG_OVERRUN => return Err(io::Error::other("a part of the kernel's answer was lost")),
                    libc::NLMSG_DONE | libc::NLMSG_ERROR => {
                        return match word(part.body, 0, 4) as u32 as i32 {
                            0 => Ok((answers, is_interrupted)),
                            code => Err(io::Error::from_raw_os_error(code.wrapping_neg())),
                        };
                    }
                    _ => answers.push(part.body.to_vec()),
                }
            }
        }
    }

    /// What the kernel sent at once, all of it: it is looked at first how long it is.
    fn receive(&self) -> io::Result<Vec<u8>> {
        let len = self.receive_into(&mut [], libc::MSG_PEEK | libc::MSG_TRUNC)?;
        let mut answer = vec![0; len];
        match self.receive_into(&mut answer, libc::MSG_TRUNC)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            got if got > len => Err(cut()),
            got => {
                answer.truncate(got);
                Ok(answer)
            }
        }
    }

    /// With `MSG_TRUNC` it gives how long the answer is, also where `buffer` is shorter.
    fn receive_into(&self, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
        loop {
            let fd = self.socket.as_raw_fd();
            // SAFETY: the kernel writes at most as many bytes as `buffer` has.
            let got = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), flags) };
            match check(got as i32) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                got => return got.map(|got| got as usize),
            }
        }
    }
}

/// An answer that ends within a message.
fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer is cut short")
}

/// A message of the kernel.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    kind: u16,
    flags: u16,
    /// Of the request that it answers.
    number: u32,
    /// What stands behind the header.
    body: &'a [u8],
}

/// The messages that were sent at once; an error if they are not whole.
fn parts(mut bytes: &[u8]) -> io::Result<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let len = word(bytes, 0, 4) as usize;
        let whole = bytes.get(..len).filter(|whole| whole.len() >= HEADER).ok_or_else(cut)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        let (kind, flags, number) = (word(whole, 4, 2) as u16, word(whole, 6, 2) as u16, word(whole, 8, 4) as u32);
        parts.push(Part { kind, flags, number, body: &whole[HEADER..] });
    }
    Ok(parts)
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

#[cfg(all(test, feature = "attach"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut message = Message::new(20, 0x400, &[9; 12]);
        message.attribute(3, b"abc");
        message.nest(5, |message| message.attribute(1, &7u32.to_ne_bytes()));
        let bytes = message.end(libc::NLM_F_REQUEST, 77).unwrap().to_vec();
        assert_eq!(word(&bytes, 6, 2), 0x401);
        let twice = [&bytes[..], &bytes[..]].concat();
        let read = parts(&twice).unwrap();
        assert_eq!(read.len(), 2);
        let Part { kind, flags, number, body } = read[1];
        assert_eq!((kind, flags, number, &body[..12]), (20, 0x401, 77, &[9; 12][..]));
        assert_eq!(find(&body[12..], 3), Some(&b"abc"[..]));
        assert_eq!(find(find(&body[12..], 5).unwrap(), 1), Some(&7u32.to_ne_bytes()[..]));
        assert_eq!(find(&body[12..], 4), None);
    }

    #[test]
    fn what_breaks_off_is_no_reason_to_panic() {
        let mut message = Message::new(20, 0, &[0; 12]);
        message.attribute(3, b"abcde");
        let whole = message.end(0, 1).unwrap().to_vec();
        for len in 1..whole.len() {
            assert!(parts(&whole[..len]).is_err());
            find(&whole[..len], 3);
        }
        assert_eq!(find(&[3, 0, 0, 0], 1), None);
        assert_eq!(word(&[1], 0, 4), 0);
    }

    /// With a test in the kernel's place.
    mod over_a_socket {
        use std::os::unix::net::UnixDatagram;
        use std::time::Duration;

        use super::*;

        /// A socket whose other end is a test instead of the kernel, and that end.
        fn pretended() -> (Netlink, UnixDatagram) {
            let (ours, kernel) = UnixDatagram::pair().unwrap();
            ours.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            (Netlink { socket: ours.into(), number: Cell::new(0) }, kernel)
        }

        /// A message as the kernel sends it in answer to request `number`.
        fn answer(kind: i32, flags: i32, number: u32, body: &[u8]) -> Vec<u8> {
            let mut message = Message::new(kind as u16, flags, body);
            message.end(0, number).unwrap().to_vec()
        }

        fn request() -> Message {
            Message::new(libc::RTM_GETQDISC, 0, &[0; 20])
        }

        #[test]
        fn long_answers_are_read_whole() {
            let (netlink, kernel) = pretended();
            let body = vec![7; 50_000];
            kernel.send(&[answer(16, 0, 1, &body), answer(libc::NLMSG_DONE, 0, 1, &[0; 4])].concat()).unwrap();
            assert_eq!(netlink.list(request()).unwrap(), [body]);
        }

        #[test]
        fn a_cut_answer_is_an_error() {
            let (netlink, kernel) = pretended();
            let whole = answer(16, 0, 1, &[7; 40]);
            kernel.send(&[&whole[..], &whole[..30]].concat()).unwrap();
            assert_eq!(netlink.list(request()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }

        #[test]
        fn interrupted_lists_are_asked_for_again() {
            let (netlink, kernel) = pretended();
            let done = |number| answer(libc::NLMSG_DONE, 0, number, &[0; 4]);
            kernel.send(&[answer(16, libc::NLM_F_DUMP_INTR, 1, b"half"), done(1)].concat()).unwrap();
            // The kernel may say it in its last word alone.
            let torn = answer(libc::NLMSG_DONE, libc::NLM_F_DUMP_INTR, 2, &[0; 4]);
            kernel.send(&[answer(16, 0, 2, b"part"), torn].concat()).unwrap();
            kernel.send(&[answer(16, 0, 3, b"full"), done(3)].concat()).unwrap();
            assert_eq!(netlink.list(request()).unwrap(), [b"full".to_vec()]);
        }

        #[test]
        fn lists_that_always_change_are_an_error() {
            let (netlink, kernel) = pretended();
            kernel.set_nonblocking(true).unwrap();
            for number in 1.. {
                let torn = answer(libc::NLMSG_DONE, libc::NLM_F_DUMP_INTR, number, &[0; 4]);
                if kernel.send(&torn).is_err() || number > 50 {
                    break;
                }
            }
            let refusal = netlink.list(request()).unwrap_err();
            assert!(refusal.to_string().contains("changed each time"), "{refusal}");
        }

        #[test]
        fn the_kernels_overrun_is_an_error() {
            let (netlink, kernel) = pretended();
            let all = [answer(libc::NLMSG_NOOP, 0, 1, &[]), answer(libc::NLMSG_OVERRUN, 0, 1, &[])].concat();
            kernel.send(&all).unwrap();
            let refusal = netlink.list(request()).unwrap_err();
            assert!(refusal.to_string().contains("lost"), "{refusal}");
        }

        #[test]
        fn lengths_that_would_wrap_are_refused() {
            let (netlink, kernel) = pretended();
            for len in [65_532, 65_536, 70_000, 200_000] {
                let mut message = request();
                message.attribute(1, &vec![1; len]);
                assert_eq!(netlink.tell(message).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{len}");
                let mut message = request();
                message.nest(1, |message| (0..2).for_each(|kind| message.attribute(kind, &vec![1; len / 2])));
                assert_eq!(netlink.tell(message).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{len} in two");
            }
            kernel.set_nonblocking(true).unwrap();
            assert!(kernel.recv(&mut [0; 16]).is_err(), "nothing was sent");
            let (netlink, kernel) = pretended();
            kernel.send(&answer(libc::NLMSG_ERROR, 0, 1, &[0; 4])).unwrap();
            let mut longest = request();
            longest.attribute(1, &[1; 65_531]);
            assert!(netlink.tell(longest).is_ok());
        }
    }
}
