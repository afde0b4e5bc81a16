//! Packet sockets: frames of an interface in a ring that the kernel fills (AF_PACKET, TPACKET_V2), and sending many at once.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{check, owned, set_option};

/// Room for a frame with its header, in bytes.
const FRAME: usize = 2048;
/// Frames in the ring: 0.1 s at 500 Mb/s of full packets.
pub const FRAMES: usize = 4096;
const BLOCK: usize = 1 << 16;
/// What a frame of the ring begins with.
type Header = libc::tpacket2_hdr;
/// Frames that one call sends at most.
pub const BATCH: usize = 64;

/// A socket on one interface: what comes in lies in a ring, stamped by the kernel; what is sent leaves at once.
pub struct RingSocket {
    socket: OwnedFd,
    ring: Ring,
    /// The frame to look at next.
    at: usize,
    dropped: u64,
}

/// Memory shared with the kernel.
struct Ring(*mut u8);

impl Ring {
    const LEN: usize = FRAMES * FRAME;

    fn new(socket: &OwnedFd) -> io::Result<Self> {
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (Self::LEN / BLOCK) as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: FRAMES as u32,
        };
        set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let (access, fd) = (libc::PROT_READ | libc::PROT_WRITE, socket.as_raw_fd());
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours; the socket has a ring of
        // just this size.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), Self::LEN, access, libc::MAP_SHARED, fd, 0) };
        if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self(at.cast())) }
    }

    /// The state of a frame, which says whose it is.
    fn status(&self, frame: usize) -> &AtomicU32 {
        // SAFETY: each frame begins with a header whose first field is this word, aligned as the frames are, within the
        // mapping, which lives as long as `self`. The kernel changes it too, hence atomic.
        unsafe { AtomicU32::from_ptr(self.0.add(frame * FRAME).cast()) }
    }

    /// The frame, for the time that it is ours, and when it came, in nanoseconds since 1970.
    fn frame(&self, frame: usize) -> (&[u8], u64) {
        // SAFETY: the status said that the frame is ours; until it is given back the kernel leaves header and bytes alone.
        // Offset and length are the kernel's own, within the frame; they are bounded here all the same.
        unsafe {
            let start = self.0.add(frame * FRAME);
            let header = start.cast::<Header>().read();
            let from = usize::from(header.tp_mac).min(FRAME);
            let len = (header.tp_snaplen as usize).min(FRAME - from);
            let stamp = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
            (std::slice::from_raw_parts(start.add(from), len), stamp)
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.0.cast(), Self::LEN) };
    }
}

impl RingSocket {
    /// Listens on the interface of that number. Needs CAP_NET_RAW in the namespace.
    pub fn open(interface: u32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: plain numbers. With protocol 0 nothing comes in before the ring is there.
        let socket = owned(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &libc::tpacket_versions::TPACKET_V2)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)?;
        let ring = Ring::new(&socket)?;
        // SAFETY: a plain structure of numbers, for which zeros are values.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = interface as i32;
        let len = size_of::<libc::sockaddr_ll>() as u32;
        // SAFETY: the kernel reads `len` bytes of `address`, which is that long.
        check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
        Ok(Self { socket, ring, at: 0, dropped: 0 })
    }

    /// When the next frame that waits came, in nanoseconds since 1970; none if none waits.
    pub fn head(&self) -> Option<u64> {
        let waits = self.ring.status(self.at).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0;
        waits.then(|| self.ring.frame(self.at).1)
    }

    /// Hands the next frame to `take`, if one waits, and gives its place back.
    pub fn receive(&mut self, take: impl FnOnce(&[u8])) {
        if self.head().is_some() {
            take(self.ring.frame(self.at).0);
            self.ring.status(self.at).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.at = (self.at + 1) % FRAMES;
        }
    }

    /// Sends these frames, at most [`BATCH`]; how many the interface took.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        // SAFETY: structures of numbers and pointers, for which zeros are values: no address, no control data.
        let (mut parts, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) = unsafe { std::mem::zeroed() };
        let mut count = 0;
        for (frame, part) in frames.zip(&mut parts) {
            *part = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            messages[count].msg_hdr.msg_iov = part;
            messages[count].msg_hdr.msg_iovlen = 1;
            count += 1;
        }
        // SAFETY: `count` messages were filled in, each with one part that points to a live frame; the kernel only reads.
        let sent = unsafe { libc::sendmmsg(self.socket.as_raw_fd(), messages.as_mut_ptr(), count as u32, 0) };
        check(sent).map(|sent| sent as usize)
    }

    /// Frames for which the ring had no room, so far.
    pub fn dropped(&mut self) -> u64 {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let (fd, level, name) = (self.socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // SAFETY: the kernel writes at most `len` bytes to `stats`, which is that long.
        let asked = unsafe { libc::getsockopt(fd, level, name, (&raw mut stats).cast(), &raw mut len) };
        if asked == 0 {
            // Asking sets the kernel's counter to 0.
            self.dropped += u64::from(stats.tp_drops);
        }
        self.dropped
    }
}

impl AsFd for RingSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
