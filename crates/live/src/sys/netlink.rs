//! rtnetlink(7): writes requests and reads responses. The requests themselves are in
//! [`interfaces`](super::interfaces) and `qdisc_list`.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{check, owned, set_option};

/// Receive timeout, s. The kernel answers at once or never.
const TIMEOUT_S: i64 = 2;
/// Length of the message header, bytes.
const HEADER: usize = size_of::<libc::nlmsghdr>();
/// Maximum number of attempts to dump a list that changes during the dump.
#[cfg(feature = "attach")]
const TRIES: u32 = 10;
/// Mask of an attribute's type without flag bits.
const KIND: u16 = 0x3fff;

/// An rtnetlink socket, in the network namespace in which it was opened.
pub struct Netlink {
    socket: OwnedFd,
    /// Sequence number of the last request; responses carry it too.
    number: Cell<u32>,
}

/// A request under construction. Lengths are filled in when its parts end.
pub(super) struct Message {
    bytes: Vec<u8>,
    /// Is an attribute longer than its 16-bit length field allows? Then the message is not sent.
    too_long: bool,
}

impl Message {
    /// Starts a message of type `kind`. `fixed` is the structure that follows the netlink header in this type.
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

    /// Appends an attribute. `fill` writes its value.
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

    /// Appends raw bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Fills in the length, adds `flags`, sets the sequence number and returns the message. May be called again with
    /// another number. Fails with `InvalidInput` if an attribute is too long.
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
    /// Opens an rtnetlink socket in the current network namespace.
    pub fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: integer arguments only.
        let socket = owned(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) })?;
        let timeout = libc::timeval { tv_sec: TIMEOUT_S, tv_usec: 0 };
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &timeout)?;
        Ok(Self { socket, number: Cell::new(0) })
    }

    /// Sends a request that returns nothing.
    pub(super) fn tell(&self, mut message: Message) -> io::Result<()> {
        self.exchange(&mut message, libc::NLM_F_ACK).map(|_| ())
    }

    /// Sends a request and returns the payload of the first response; `NotFound` if there is only an
    /// acknowledgement.
    pub(super) fn ask(&self, mut message: Message) -> io::Result<Vec<u8>> {
        // Without ECHO the kernel sends a qdisc only to multicast listeners; without ACK there is no response for
        // a hidden qdisc.
        let (answers, _) = self.exchange(&mut message, libc::NLM_F_ECHO | libc::NLM_F_ACK)?;
        answers.into_iter().next().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Dumps a list. If the list changed during the dump, entries may be missing; then repeats the dump, up to `TRIES`
    /// attempts in all.
    #[cfg(feature = "attach")]
    pub(super) fn list(&self, mut message: Message) -> io::Result<Vec<Vec<u8>>> {
        for _ in 0..TRIES {
            let (answers, is_interrupted) = self.exchange(&mut message, libc::NLM_F_DUMP)?;
            if !is_interrupted {
                return Ok(answers);
            }
        }
        Err(io::Error::other(format!("the kernel's list changed during each of {TRIES} dumps")))
    }

    /// Sends a request and reads all responses. Also returns whether the kernel reports that the dump is inconsistent.
    fn exchange(&self, message: &mut Message, flags: i32) -> io::Result<(Vec<Vec<u8>>, bool)> {
        let own = self.number.get().wrapping_add(1);
        self.number.set(own);
        let bytes = message.end(libc::NLM_F_REQUEST | flags, own)?;
        let fd = self.socket.as_raw_fd();
        // SAFETY: the kernel reads `bytes`, which outlive the call.
        check(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), 0) } as i32)?;
        let (mut answers, mut is_interrupted) = (Vec::new(), false);
        loop {
            // Skip late responses to an earlier request.
            for part in parts(&self.receive()?)?.iter().filter(|part| part.number == own) {
                is_interrupted |= i32::from(part.flags) & libc::NLM_F_DUMP_INTR != 0;
                match i32::from(part.kind) {
                    libc::NLMSG_NOOP => {}
                    libc::NLMSG_OVERRUN => return Err(io::Error::other("a part of the kernel's response was lost")),
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

    /// Reads one datagram completely: peeks at its length first.
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

    /// Receives one datagram and returns its length. With `MSG_TRUNC` this is the full length, even if `buffer` is
    /// shorter.
    fn receive_into(&self, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
        loop {
            let fd = self.socket.as_raw_fd();
            // SAFETY: the kernel writes at most `buffer.len()` bytes.
            let got = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), flags) };
            match check(got as i32) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                got => return got.map(|got| got as usize),
            }
        }
    }
}

/// The error for a response that ends before the end of a message.
fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the kernel's response is truncated")
}

/// A message from the kernel.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    kind: u16,
    flags: u16,
    /// Sequence number of the request.
    number: u32,
    /// The payload after the header.
    body: &'a [u8],
}

/// The messages in a datagram; an error if one is incomplete.
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

/// The value of the attribute of this type.
pub(super) fn find(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    while attributes.len() >= 4 {
        let len = word(attributes, 0, 2) as usize;
        if len < 4 || len > attributes.len() {
            return None;
        }
        if word(attributes, 2, 2) as u16 & KIND == kind {
            return Some(&attributes[4..len]);
        }
        // Attributes are aligned to four bytes.
        attributes = attributes.get(len.next_multiple_of(4)..)?;
    }
    None
}

/// The native-endian integer of `len` bytes at `at`; 0 if out of range.
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
    fn written_netlink_messages_are_read_back() {
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
    fn truncated_messages_do_not_panic() {
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

    #[test]
    fn mutated_datagrams_are_read_or_refused() {
        let mut message = Message::new(20, 0, &[0; 12]);
        message.attribute(3, b"abcde");
        message.nest(5, |message| message.attribute(1, &7u32.to_ne_bytes()));
        let whole = message.end(0, 1).unwrap().to_vec();
        let mut rng = forebay_aqm::base::rng::Rng::stream(1, "netlink");
        let (mut read, mut refused) = (0, 0);
        for _ in 0..if cfg!(miri) { 100 } else { 200_000 } {
            let mut bytes = [&whole[..], &whole[..]].concat();
            for _ in 0..=rng.below(3) {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] = rng.below(256) as u8;
            }
            bytes.truncate(rng.below(2 * whole.len() as u64 + 1) as usize + whole.len());
            let Ok(parts) = parts(&bytes) else {
                refused += 1;
                continue;
            };
            read += 1;
            assert!(parts.iter().map(|part| part.body.len() + HEADER).sum::<usize>() <= bytes.len());
            for part in &parts {
                let attributes = part.body.get(12..).unwrap_or_default();
                let found = (0..8).filter_map(|kind| find(attributes, kind));
                assert!(found.map(|value| value.len() + 4).all(|len| len <= attributes.len()));
            }
        }
        assert!(cfg!(miri) || read > 1000 && refused > 1000, "{read} read, {refused} refused");
    }

    /// Tests over a socket whose other end is not the kernel, but the test.
    mod over_a_socket {
        use std::os::unix::net::UnixDatagram;
        use std::time::Duration;

        use super::*;

        /// A [`Netlink`] socket, and the socket at its other end, through which a test sends the kernel's messages.
        fn pretended() -> (Netlink, UnixDatagram) {
            let (ours, kernel) = UnixDatagram::pair().unwrap();
            ours.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            (Netlink { socket: ours.into(), number: Cell::new(0) }, kernel)
        }

        /// A kernel message in response to request `number`.
        fn answer(kind: i32, flags: i32, number: u32, body: &[u8]) -> Vec<u8> {
            let mut message = Message::new(kind as u16, flags, body);
            message.end(0, number).unwrap().to_vec()
        }

        fn request() -> Message {
            Message::new(libc::RTM_GETQDISC, 0, &[0; 20])
        }

        #[test]
        fn long_responses_are_read_completely() {
            let (netlink, kernel) = pretended();
            let body = vec![7; 50_000];
            kernel.send(&[answer(16, 0, 1, &body), answer(libc::NLMSG_DONE, 0, 1, &[0; 4])].concat()).unwrap();
            assert_eq!(netlink.list(request()).unwrap(), [body]);
        }

        #[test]
        fn truncated_response_is_an_error() {
            let (netlink, kernel) = pretended();
            let whole = answer(16, 0, 1, &[7; 40]);
            kernel.send(&[&whole[..], &whole[..30]].concat()).unwrap();
            assert_eq!(netlink.list(request()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }

        #[test]
        fn interrupted_dumps_are_repeated() {
            let (netlink, kernel) = pretended();
            let done = |number| answer(libc::NLMSG_DONE, 0, number, &[0; 4]);
            kernel.send(&[answer(16, libc::NLM_F_DUMP_INTR, 1, b"half"), done(1)].concat()).unwrap();
            // The flag may be set only in the last message.
            let torn = answer(libc::NLMSG_DONE, libc::NLM_F_DUMP_INTR, 2, &[0; 4]);
            kernel.send(&[answer(16, 0, 2, b"part"), torn].concat()).unwrap();
            kernel.send(&[answer(16, 0, 3, b"full"), done(3)].concat()).unwrap();
            assert_eq!(netlink.list(request()).unwrap(), [b"full".to_vec()]);
        }

        #[test]
        fn dumps_that_always_change_are_an_error() {
            let (netlink, kernel) = pretended();
            kernel.set_nonblocking(true).unwrap();
            for number in 1.. {
                let torn = answer(libc::NLMSG_DONE, libc::NLM_F_DUMP_INTR, number, &[0; 4]);
                if kernel.send(&torn).is_err() || number > 50 {
                    break;
                }
            }
            let refusal = netlink.list(request()).unwrap_err();
            assert!(refusal.to_string().contains("changed during each"), "{refusal}");
        }

        #[test]
        fn kernel_notice_of_lost_messages_is_an_error() {
            let (netlink, kernel) = pretended();
            let all = [answer(libc::NLMSG_NOOP, 0, 1, &[]), answer(libc::NLMSG_OVERRUN, 0, 1, &[])].concat();
            kernel.send(&all).unwrap();
            let refusal = netlink.list(request()).unwrap_err();
            assert!(refusal.to_string().contains("lost"), "{refusal}");
        }

        #[test]
        fn attributes_too_long_for_16_bits_are_refused() {
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
