//! What rtnetlink says of a device and of its root qdisc: two short questions, some microseconds each.
//!
//! The daemon asks every few milliseconds: starting tc(8) for that would take longer than the answer lasts.

#![expect(unsafe_code, reason = "a netlink socket is a system call")]

use std::ffi::CString;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A netlink header, then `struct tcmsg`.
const TCMSG: usize = 20;
/// A netlink header, then `struct ifinfomsg`.
const IFINFO: usize = 16;
const HEADER: usize = size_of::<libc::nlmsghdr>();
/// From `linux/rtnetlink.h` and `linux/pkt_sched.h`: what libc has not, or has by another type.
const TC_H_ROOT: u32 = u32::MAX;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;
const IFLA_MTU: u16 = 4;
/// The bits of an attribute's type that are no part of it.
const KIND: u16 = 0x3fff;

/// A root qdisc and what it has counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Root {
    /// `tbf`, `fq_codel` and so on.
    pub kind: String,
    /// Major number in the upper half.
    pub handle: u32,
    /// Packets sent.
    pub sent_pkts: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets waiting.
    pub qlen: u64,
    /// Bytes waiting.
    pub backlog: u64,
    /// Packets dropped, of whatever length.
    pub drops: u64,
}

/// A socket for such questions.
pub struct Route {
    fd: OwnedFd,
}

impl Route {
    /// In the network namespace of this thread.
    pub fn open() -> io::Result<Self> {
        // SAFETY: takes three numbers, and gives a descriptor or -1.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was opened just now and is nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let patience = libc::timeval { tv_sec: 2, tv_usec: 0 };
        // SAFETY: pointer and length are those of `patience`. Where it fails, an answer is waited for without end.
        unsafe {
            let (level, option) = (libc::SOL_SOCKET, libc::SO_RCVTIMEO);
            let length = size_of::<libc::timeval>() as libc::socklen_t;
            libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const patience).cast(), length);
        }
        Ok(Self { fd })
    }

    /// The root qdisc of a device; `NotFound` where it is one that the kernel does not show, such as that of a device
    /// without a queue; `ENODEV` if the device has gone.
    pub fn root(&self, device: u32) -> io::Result<Root> {
        let mut body = [0u8; TCMSG];
        body[4..8].copy_from_slice(&device.to_ne_bytes());
        body[12..16].copy_from_slice(&TC_H_ROOT.to_ne_bytes());
        match self.ask(libc::RTM_GETQDISC, &body) {
            Ok(answer) => Ok(root(answer.get(HEADER..).unwrap_or_default())),
            // The kernel's words for a root qdisc of its own.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => {
                Err(io::ErrorKind::NotFound.into())
            }
            Err(error) => Err(error),
        }
    }

    /// The largest packet that a device takes, without its link header.
    pub fn mtu(&self, device: u32) -> io::Result<u32> {
        let mut body = [0u8; IFINFO];
        body[4..8].copy_from_slice(&device.to_ne_bytes());
        let answer = self.ask(libc::RTM_GETLINK, &body)?;
        let attributes = answer.get(HEADER + IFINFO..).unwrap_or_default();
        Ok(find(attributes, IFLA_MTU).map_or(0, |value| number(value, 0, 4) as u32))
    }

    /// Sends one question and gives the message that answers it; `NotFound` if the kernel only says that it was one.
    fn ask(&self, kind: u16, body: &[u8]) -> io::Result<Vec<u8>> {
        // Without ECHO a qdisc is told to listeners in general, not to us; without ACK a hidden one is met with silence.
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_ECHO | libc::NLM_F_ACK;
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((flags as u16).to_ne_bytes());
        message.extend([0u8; 8]);
        message.extend(body);
        // SAFETY: pointer and length are those of `message`.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut found = None;
        loop {
            let answer = self.receive()?;
            if number(&answer, 4, 2) as i32 != libc::NLMSG_ERROR {
                found = Some(answer);
                continue;
            }
            // The last word: 0, or an error.
            let code = number(&answer, HEADER, 4) as u32 as i32;
            return match found {
                _ if code != 0 => Err(io::Error::from_raw_os_error(-code)),
                found => found.ok_or_else(|| io::ErrorKind::NotFound.into()),
            };
        }
    }

    fn receive(&self) -> io::Result<Vec<u8>> {
        let mut answer = vec![0u8; 16384];
        // SAFETY: pointer and length are those of `answer`.
        let got = unsafe { libc::recv(self.fd.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
        match got {
            ..0 => Err(io::Error::last_os_error()),
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => {
                answer.truncate(got as usize);
                Ok(answer)
            }
        }
    }
}

/// The number by which the kernel knows a device of this network namespace; none if there is no such device.
pub fn index(device: &str) -> Option<u32> {
    let name = CString::new(device).ok()?;
    // SAFETY: `name` ends with a zero.
    let found = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (found > 0).then_some(found)
}

/// A qdisc from its message, the netlink header left out.
fn root(message: &[u8]) -> Root {
    let attributes = message.get(TCMSG..).unwrap_or_default();
    let stats = find(attributes, TCA_STATS2).unwrap_or_default();
    let basic = find(stats, TCA_STATS_BASIC).unwrap_or_default();
    let queue = find(stats, TCA_STATS_QUEUE).unwrap_or_default();
    let kind = find(attributes, TCA_KIND).unwrap_or_default();
    let kind: Vec<u8> = kind.iter().copied().take_while(|c| *c != 0).collect();
    // The packets of the basic counters have 32 bits; newer kernels add all 64 where they are needed.
    let packets = find(stats, TCA_STATS_PKT64).map_or_else(|| number(basic, 8, 4), |value| number(value, 0, 8));
    Root {
        kind: String::from_utf8_lossy(&kind).into_owned(),
        handle: number(message, 8, 4) as u32,
        sent_pkts: packets,
        sent_bytes: number(basic, 0, 8),
        qlen: number(queue, 0, 4),
        backlog: number(queue, 4, 4),
        drops: number(queue, 8, 4),
    }
}

/// The value of the attribute of this kind.
fn find(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    while attributes.len() >= 4 {
        let len = number(attributes, 0, 2) as usize;
        if len < 4 || len > attributes.len() {
            return None;
        }
        if number(attributes, 2, 2) as u16 & KIND == kind {
            return Some(&attributes[4..len]);
        }
        // Attributes begin at multiples of four.
        attributes = attributes.get(len.next_multiple_of(4)..)?;
    }
    None
}

/// The number of `len` bytes at `at`, in the order of this machine; 0 where there is none.
fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
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

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(((4 + value.len()) as u16).to_ne_bytes());
        out.extend(kind.to_ne_bytes());
        out.extend(value);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn words(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn a_qdisc_is_read_from_its_message() {
        let mut basic = 123_456_789_012u64.to_ne_bytes().to_vec();
        basic.extend(words(&[77, 0]));
        let mut stats = attribute(TCA_STATS_BASIC, &basic);
        stats.extend(attribute(TCA_STATS_QUEUE, &words(&[3, 4542, 9, 0, 0])));
        let mut message = words(&[0, 5, 0x00fb_0000, TC_H_ROOT, 2]);
        message.extend(attribute(TCA_KIND, b"tbf\0"));
        message.extend(attribute(TCA_STATS2 | 0x8000, &stats));
        let found = root(&message);
        assert_eq!((found.kind.as_str(), found.handle), ("tbf", 0x00fb_0000));
        assert_eq!((found.sent_pkts, found.sent_bytes), (77, 123_456_789_012));
        assert_eq!((found.qlen, found.backlog, found.drops), (3, 4542, 9));
    }

    #[test]
    fn a_message_that_breaks_off_is_no_reason_to_panic() {
        let whole = [words(&[0; 5]), attribute(TCA_KIND, b"tbf\0"), attribute(TCA_STATS2, &[0; 40])].concat();
        for len in 0..whole.len() {
            root(&whole[..len]);
        }
        assert_eq!(find(&[3, 0, 0, 0], 1), None);
    }

    #[test]
    fn the_loopback_device_is_there_and_no_other_of_a_strange_name() {
        assert!(index("lo").is_some());
        assert_eq!(index("no such device"), None);
        let route = Route::open().unwrap();
        assert!(route.mtu(index("lo").unwrap()).unwrap() >= 1280);
        assert_eq!(route.mtu(0x7fff_fff0).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
