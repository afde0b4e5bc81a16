//! Packet sockets: receive through a ring that the kernel fills (AF_PACKET, TPACKET_V2), send in batches.
//!
//! Each received frame has a `struct virtio_net_hdr` (linux/virtio_net.h). It states which work the sender left to the
//! network hardware: the checksum, segmentation. In sent frames this header is all zeros. A frame longer than its ring
//! slot is truncated there; the socket buffer has it completely.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{check, owned, set_option};

/// Size of a ring slot with its header, bytes.
const FRAME: usize = 2048;
/// Slots in the ring: about 0.1 s at 500 Mb/s with full-size packets.
pub const FRAMES: usize = 4096;
const BLOCK: usize = 1 << 16;
/// Header of a ring slot.
type Header = libc::tpacket2_hdr;
/// Maximum number of frames per send call.
pub const BATCH: usize = 64;
/// Size of `struct virtio_net_hdr`, bytes.
const VIRTIO: usize = 10;
/// The virtio header of a complete frame.
static COMPLETE: [u8; VIRTIO] = [0; VIRTIO];
/// The longest packet with Ethernet header and VLAN tag, bytes.
const MAX_FRAME: usize = 65_535 + 18;
/// Socket buffer for frames longer than a slot, bytes. Only root gets the full size.
const QUEUE: i32 = 8 << 20;

/// Kind of segmentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Segments {
    /// TCP over IPv4.
    TcpV4,
    /// TCP over IPv6.
    TcpV6,
    /// UDP datagrams.
    Udp,
    /// A kind that is not supported here.
    Other,
}

/// The work on a frame that its sender left to the network hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Left {
    /// Offset of the first byte that the checksum covers, and offset of the checksum field from that byte.
    pub checksum: Option<(usize, usize)>,
    /// Kind of segmentation, and data bytes per segment (the last may be shorter).
    pub segments: Option<(Segments, u16)>,
}

impl Left {
    /// Reads the work that is left from the virtio header, in native byte order.
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

/// A received frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The frame from the Ethernet header on.
    pub bytes: &'a [u8],
    /// The VLAN tag, which the kernel has removed from the frame.
    pub tag: Option<[u8; 4]>,
    /// Work that the sender left to the hardware.
    pub left: Left,
    /// Is the frame complete (not truncated)?
    pub is_whole: bool,
}

impl<'a> Frame<'a> {
    /// A frame that needs neither a checksum nor segmentation.
    pub const fn complete(bytes: &'a [u8]) -> Self {
        Self { bytes, tag: None, left: Left { checksum: None, segments: None }, is_whole: true }
    }
}

/// A packet socket on one interface: received frames are in a ring, with kernel timestamps; sending is immediate.
pub struct RingSocket {
    socket: OwnedFd,
    ring: Ring,
    /// Index of the next slot to read.
    at: usize,
    dropped: u64,
    /// Copy of a frame that is longer than a slot, from the socket buffer.
    long: Vec<u8>,
}

/// The ring: memory shared with the kernel.
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
        // SAFETY: a new mapping at an address chosen by the kernel overlaps no memory of ours; the socket has a
        // ring of exactly this size.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), Self::LEN, access, libc::MAP_SHARED, fd, 0) };
        if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self(at.cast())) }
    }

    /// The status word of a slot, which states its owner.
    fn status(&self, frame: usize) -> &AtomicU32 {
        // SAFETY: each slot begins with a header whose first field is this word. It is aligned, and within the
        // mapping, which lives as long as `self`. The kernel writes to it concurrently, hence atomic.
        unsafe { AtomicU32::from_ptr(self.0.add(frame * FRAME).cast()) }
    }

    /// The kernel's header of a slot that we own.
    fn header(&self, frame: usize) -> Header {
        // SAFETY: the status says that we own the slot; until it is returned the kernel does not write to the
        // header, which is at the start of the slot.
        unsafe { self.0.add(frame * FRAME).cast::<Header>().read() }
    }

    /// The frame in a slot that we own, and the `struct virtio_net_hdr` before it.
    fn frame(&self, frame: usize) -> (&[u8], [u8; VIRTIO]) {
        let header = self.header(frame);
        // The kernel's values are within the slot; bound them anyway.
        let from = usize::from(header.tp_mac).clamp(VIRTIO, FRAME);
        let len = (header.tp_snaplen as usize).min(FRAME - from);
        // SAFETY: we own the slot as above; `from` and `len` are within it, with `VIRTIO` bytes before `from`.
        unsafe {
            let start = self.0.add(frame * FRAME + from);
            (std::slice::from_raw_parts(start, len), start.sub(VIRTIO).cast::<[u8; VIRTIO]>().read())
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was created by `new` with this length, and no reference to it remains.
        unsafe { libc::munmap(self.0.cast(), Self::LEN) };
    }
}

impl RingSocket {
    /// Binds to the interface with this index. Needs CAP_NET_RAW in the namespace.
    pub fn open(interface: u32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: integer arguments only. With protocol 0 nothing is received before the ring exists.
        let socket = owned(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &libc::tpacket_versions::TPACKET_V2)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &1_i32)?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &QUEUE)
            .or_else(|_| set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &QUEUE))?;
        let ring = Ring::new(&socket)?;
        // SAFETY: a struct of integers; all zeros are valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = interface as i32;
        let len = size_of::<libc::sockaddr_ll>() as u32;
        // SAFETY: the kernel reads `len` bytes of `address`, which has that size.
        check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
        Ok(Self { socket, ring, at: 0, dropped: 0, long: Vec::new() })
    }

    /// The status of the next frame; `None` if none waits.
    fn status(&self) -> Option<u32> {
        let status = self.ring.status(self.at).load(Ordering::Acquire);
        (status & libc::TP_STATUS_USER != 0).then_some(status)
    }

    /// Arrival time of the next frame, ns since 1970; `None` if none waits.
    pub fn head(&self) -> Option<u64> {
        self.status().map(|_| {
            let header = self.ring.header(self.at);
            u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec)
        })
    }

    /// Passes the next waiting frame to `take` and returns its slot to the kernel.
    pub fn receive(&mut self, take: impl FnOnce(Frame<'_>)) {
        let Some(status) = self.status() else { return };
        let has = |bit: u32| status & bit != 0;
        let header = self.ring.header(self.at);
        let copied = has(libc::TP_STATUS_COPY).then(|| self.receive_long());
        let (place, virtio) = self.ring.frame(self.at);
        // Older kernels do not give the tag's protocol.
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

    /// Moves the next frame from the socket buffer to `long`. Returns whether it fitted.
    fn receive_long(&mut self) -> io::Result<bool> {
        self.long.resize(VIRTIO + MAX_FRAME, 0);
        let (fd, flags) = (self.socket.as_raw_fd(), libc::MSG_TRUNC | libc::MSG_DONTWAIT);
        // SAFETY: the kernel writes at most `long.len()` bytes.
        let mut recv =
            || check(unsafe { libc::recv(fd, self.long.as_mut_ptr().cast(), self.long.len(), flags) } as i32);
        // The first call may return a pending socket error such as ENETDOWN and leave the frame in the buffer.
        let len = recv().or_else(|_| recv())? as usize;
        let is_whole = len <= self.long.len();
        self.long.truncate(len);
        self.long.drain(..VIRTIO.min(len));
        Ok(is_whole)
    }

    /// Sends at most [`BATCH`] frames. Returns how many the interface accepted.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let part = |bytes: &[u8]| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut parts = [[part(&COMPLETE); 2]; BATCH];
        // SAFETY: structs of integers and pointers; all zeros are valid: no address, no control data.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        let mut count = 0;
        for ((frame, parts), message) in frames.zip(&mut parts).zip(&mut messages) {
            parts[1] = part(frame);
            (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (parts.as_mut_ptr(), parts.len());
            count += 1;
        }
        // SAFETY: `count` messages are filled in, each with two parts that point to live bytes; the kernel only
        // reads.
        let sent = unsafe { libc::sendmmsg(self.socket.as_raw_fd(), messages.as_mut_ptr(), count as u32, 0) };
        check(sent).map(|sent| sent as usize)
    }

    /// Frames dropped because the ring was full, in total.
    pub fn dropped(&mut self) -> u64 {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let (fd, level, name) = (self.socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // SAFETY: the kernel writes at most `len` bytes to `stats`, which has that size.
        let asked = unsafe { libc::getsockopt(fd, level, name, (&raw mut stats).cast(), &raw mut len) };
        if asked == 0 {
            // Reading resets the kernel's counter.
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
