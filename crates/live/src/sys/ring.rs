//! Packet sockets: frames of an interface in a ring that the kernel fills (AF_PACKET, TPACKET_V2), and sending many at once.
//!
//! Each frame comes with a `struct virtio_net_hdr` (linux/virtio_net.h), which says what its sender left to hardware, and goes
//! with an empty one. What is longer than its place in the ring lies in the socket's queue as well.

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
/// Bytes of `struct virtio_net_hdr`.
const VIRTIO: usize = 10;
/// That of a frame of which nothing is left to do.
static COMPLETE: [u8; VIRTIO] = [0; VIRTIO];
/// The longest packet with a header of Ethernet and a tag.
const LONGEST: usize = 65_535 + 18;
/// Room in the socket's queue for those that are longer than their place in the ring, in bytes; root alone gets all of it.
const QUEUE: i32 = 8 << 20;

/// How a frame is to be cut into segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Segments {
    /// TCP over IPv4.
    TcpV4,
    /// TCP over IPv6.
    TcpV6,
    /// Datagrams of UDP.
    Udp,
    /// In a way that this file does not know.
    Other,
}

/// What the sender of a frame left to hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Left {
    /// Where the bytes begin that the checksum is to cover, and how far behind that its field is.
    pub checksum: Option<(usize, usize)>,
    /// The segments that it stands for, and how many bytes of data each has but the last.
    pub segments: Option<(Segments, u16)>,
}

impl Left {
    /// From the header, whose numbers are in the order of this machine.
    fn read(header: [u8; VIRTIO]) -> Self {
        const NEEDS_CHECKSUM: u8 = 1;
        const HAS_ECN: u8 = 0x80;
        let [flags, kind, ..] = header;
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let kind = match kind & !HAS_ECN {
            0 => None,
            1 => Some(Segments::TcpV4),
            4 => Some(Segments::TcpV6),
            5 => Some(Segments::Udp),
            _ => Some(Segments::Other),
        };
        let checksum = (usize::from(word(6)), usize::from(word(8)));
        Self { checksum: (flags & NEEDS_CHECKSUM != 0).then_some(checksum), segments: kind.map(|kind| (kind, word(4))) }
    }
}

/// A frame as it came.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// From the header of Ethernet on.
    pub bytes: &'a [u8],
    /// The tag of a VLAN, which the kernel has taken out from behind the addresses.
    pub tag: Option<[u8; 4]>,
    /// What is still to be done.
    pub left: Left,
    /// Are all bytes there?
    pub is_whole: bool,
}

impl<'a> Frame<'a> {
    /// One of which nothing is left to do.
    pub const fn complete(bytes: &'a [u8]) -> Self {
        Self { bytes, tag: None, left: Left { checksum: None, segments: None }, is_whole: true }
    }
}

/// A socket on one interface: what comes in lies in a ring, stamped by the kernel; what is sent leaves at once.
pub struct RingSocket {
    socket: OwnedFd,
    ring: Ring,
    /// The frame to look at next.
    at: usize,
    dropped: u64,
    /// What the socket's queue had of a frame that is longer than its place in the ring.
    long: Vec<u8>,
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

    /// What the kernel says of a frame, for the time that it is ours.
    fn header(&self, frame: usize) -> Header {
        // SAFETY: the status said that the frame is ours; until it is given back the kernel leaves the header alone, with
        // which each frame begins.
        unsafe { self.0.add(frame * FRAME).cast::<Header>().read() }
    }

    /// The frame, for the time that it is ours, and the `struct virtio_net_hdr` before it.
    fn frame(&self, frame: usize) -> (&[u8], [u8; VIRTIO]) {
        let header = self.header(frame);
        // The kernel's own, within the frame; they are bounded here all the same.
        let from = usize::from(header.tp_mac).clamp(VIRTIO, FRAME);
        let len = (header.tp_snaplen as usize).min(FRAME - from);
        // SAFETY: the frame is ours as above; `from` and `len` lie within it, and `VIRTIO` bytes lie before `from`.
        unsafe {
            let start = self.0.add(frame * FRAME + from);
            (std::slice::from_raw_parts(start, len), start.sub(VIRTIO).cast::<[u8; VIRTIO]>().read())
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
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &1_i32)?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &QUEUE)
            .or_else(|_| set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &QUEUE))?;
        let ring = Ring::new(&socket)?;
        // SAFETY: a plain structure of numbers, for which zeros are values.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = interface as i32;
        let len = size_of::<libc::sockaddr_ll>() as u32;
        // SAFETY: the kernel reads `len` bytes of `address`, which is that long.
        check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
        Ok(Self { socket, ring, at: 0, dropped: 0, long: Vec::new() })
    }

    /// The status of the next frame, if one waits.
    fn status(&self) -> Option<u32> {
        let status = self.ring.status(self.at).load(Ordering::Acquire);
        (status & libc::TP_STATUS_USER != 0).then_some(status)
    }

    /// When the next frame that waits came, in nanoseconds since 1970; none if none waits.
    pub fn head(&self) -> Option<u64> {
        self.status().map(|_| {
            let header = self.ring.header(self.at);
            u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec)
        })
    }

    /// Hands the next frame to `take`, if one waits, and gives its place back.
    pub fn receive(&mut self, take: impl FnOnce(Frame<'_>)) {
        let Some(status) = self.status() else { return };
        let has = |bit: u32| status & bit != 0;
        let header = self.ring.header(self.at);
        let copied = has(libc::TP_STATUS_COPY).then(|| self.receive_long());
        let (place, virtio) = self.ring.frame(self.at);
        // Older kernels give the tag alone.
        let kind = if has(libc::TP_STATUS_VLAN_TPID_VALID) { header.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
        let tag = (u32::from(kind) << 16 | u32::from(header.tp_vlan_tci)).to_be_bytes();
        let (bytes, is_whole) = match copied {
            Some(Ok(is_whole)) => (self.long.as_slice(), is_whole),
            _ => (place, header.tp_snaplen == header.tp_len),
        };
        take(Frame { bytes, tag: has(libc::TP_STATUS_VLAN_VALID).then_some(tag), left: Left::read(virtio), is_whole });
        self.ring.status(self.at).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.at = (self.at + 1) % FRAMES;
    }

    /// Takes the next frame from the socket's queue into `long`; was there room for all of it?
    fn receive_long(&mut self) -> io::Result<bool> {
        self.long.resize(VIRTIO + LONGEST, 0);
        let (fd, flags) = (self.socket.as_raw_fd(), libc::MSG_TRUNC | libc::MSG_DONTWAIT);
        // SAFETY: the kernel writes at most as many bytes as `long` has.
        let mut recv =
            || check(unsafe { libc::recv(fd, self.long.as_mut_ptr().cast(), self.long.len(), flags) } as i32);
        // The first call may report an error of the socket, such as ENETDOWN, and leave the frame in the queue.
        let len = recv().or_else(|_| recv())? as usize;
        let is_whole = len <= self.long.len();
        self.long.truncate(len);
        self.long.drain(..VIRTIO.min(len));
        Ok(is_whole)
    }

    /// Sends these frames, at most [`BATCH`]; how many the interface took.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let part = |bytes: &[u8]| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut parts = [[part(&COMPLETE); 2]; BATCH];
        // SAFETY: structures of numbers and pointers, for which zeros are values: no address, no control data.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        let mut count = 0;
        for ((frame, parts), message) in frames.zip(&mut parts).zip(&mut messages) {
            parts[1] = part(frame);
            (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (parts.as_mut_ptr(), parts.len());
            count += 1;
        }
        // SAFETY: `count` messages were filled in, each with two parts that point to live bytes; the kernel only reads.
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
