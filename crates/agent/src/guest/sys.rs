//! System calls of the agent.

#![expect(unsafe_code, reason = "system calls; each block states why it is sound")]

use std::ffi::CString;
use std::io::{self, Error};
use std::mem::{size_of, size_of_val, zeroed};
use std::ptr;

/// A descriptor.
pub(super) type Descriptor = i32;

/// The error of a system call that returned a negative number.
fn check(result: i64) -> io::Result<i64> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}

fn text(path: &str) -> CString {
    CString::new(path).unwrap_or_default()
}

/// Mounts the file system of processes.
pub(super) fn mount_proc() -> io::Result<()> {
    let (kind, at) = (text("proc"), text("/proc"));
    // SAFETY: the texts end with zero and live until the call returns.
    check(unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, ptr::null()) }.into()).map(drop)
}

/// Sets the maximum number of descriptors of this process.
pub(super) fn raise_descriptors(most: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: most as libc::rlim_t, rlim_max: most as libc::rlim_t };
    // SAFETY: the limit is valid for the read.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }.into()).map(drop)
}

/// Stops the guest.
pub(super) fn halt() -> ! {
    // SAFETY: no memory is passed.
    unsafe {
        libc::reboot(libc::RB_POWER_OFF);
    }
    loop {
        std::thread::park();
    }
}

/// Time on the monotonic clock, ns.
pub(super) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the write.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps until a time on the monotonic clock.
pub(super) fn sleep_until(at: u64) {
    let time = libc::timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: (at % 1_000_000_000) as i64 };
    // SAFETY: `time` is valid, and no remaining time is asked for.
    while unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const time, ptr::null_mut()) }
        == libc::EINTR
    {}
}

/// Opens the present network namespace of this thread.
pub(super) fn own_namespace() -> io::Result<Descriptor> {
    let path = text("/proc/thread-self/ns/net");
    // SAFETY: the path ends with zero.
    check(unsafe { libc::open(path.as_ptr(), libc::O_RDONLY) }.into()).map(|fd| fd as Descriptor)
}

/// Moves this thread into a new network namespace.
pub(super) fn new_namespace() -> io::Result<()> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }.into()).map(drop)
}

/// Moves this thread into a network namespace.
pub(super) fn enter(namespace: Descriptor) -> io::Result<()> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::setns(namespace, libc::CLONE_NEWNET) }.into()).map(drop)
}

/// Makes `to` another number for the descriptor `from`.
pub(super) fn duplicate(from: Descriptor, to: Descriptor) -> io::Result<()> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::dup2(from, to) }.into()).map(drop)
}

pub(super) fn close(fd: Descriptor) {
    // SAFETY: no memory is passed; the caller does not use the descriptor again.
    unsafe { libc::close(fd) };
}

/// A socket for netlink messages in this thread's network namespace.
pub(super) fn netlink() -> io::Result<Descriptor> {
    // SAFETY: no memory is passed.
    let fd = check(unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE) }.into())?;
    set(fd as i32, libc::SOL_SOCKET, libc::SO_RCVBUF, &(4 << 20))?;
    Ok(fd as Descriptor)
}

pub(super) fn send(fd: Descriptor, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the bytes are valid for their length.
    check(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) } as i64)
        .map(|sent| sent as usize)
}

pub(super) fn receive(fd: Descriptor, to: &mut [u8]) -> io::Result<usize> {
    // SAFETY: `to` is valid for its length.
    check(unsafe { libc::recv(fd, to.as_mut_ptr().cast(), to.len(), 0) } as i64).map(|got| got as usize)
}

/// As [`discard`], with the receive window limited to `window` bytes; 0: not limited. Sets the limit again after each window of
/// data, because the kernel replaces it when a packet has another length than those before (`tcp_measure_rcv_mss`).
pub(super) fn discard_within(fd: Descriptor, window: u32, len: u64) -> io::Result<u64> {
    if window == 0 {
        return discard(fd, len);
    }
    let mut got = 0;
    while got < len {
        let more = discard(fd, u64::from(window).min(len - got))?;
        if more == 0 {
            break;
        }
        got += more;
        set(fd, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &(window as i32))?;
    }
    Ok(got)
}

/// Receives `len` bytes and discards them in the kernel. Returns fewer at the end of the stream.
pub(super) fn discard(fd: Descriptor, len: u64) -> io::Result<u64> {
    let mut nothing = [0u8; 16];
    let len = len.min(1 << 30) as usize;
    let flags = libc::MSG_TRUNC | libc::MSG_WAITALL;
    // SAFETY: with MSG_TRUNC a TCP socket writes nothing to the buffer.
    check(unsafe { libc::recv(fd, nothing.as_mut_ptr().cast(), len, flags) } as i64).map(|got| got as u64)
}

fn set<T>(fd: Descriptor, level: i32, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: `value` is valid for its size.
    let done = unsafe {
        libc::setsockopt(fd, level, name, ptr::from_ref(value).cast(), size_of_val(value) as libc::socklen_t)
    };
    check(done.into()).map(drop)
}

fn set_text(fd: Descriptor, level: i32, name: i32, value: &str) -> io::Result<()> {
    // SAFETY: the text is valid for its length.
    let done = unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), value.len() as libc::socklen_t) };
    check(done.into()).map(drop)
}

fn address(ip: u32, port: u16) -> libc::sockaddr_in {
    // SAFETY: zero is a valid value of every field.
    let mut address: libc::sockaddr_in = unsafe { zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = ip.to_be();
    address
}

fn bind(fd: Descriptor, ip: u32, port: u16) -> io::Result<()> {
    let at = address(ip, port);
    // SAFETY: the address is valid for its size.
    check(unsafe { libc::bind(fd, (&raw const at).cast(), size_of::<libc::sockaddr_in>() as u32) }.into()).map(drop)
}

/// Smallest receive buffer that is asked for, bytes.
const MIN_BUFFER: u32 = 64 << 10;

/// What a flow's TCP sockets have in common.
pub(super) struct TcpOptions<'a> {
    pub(super) control: &'a str,
    pub(super) segment: u32,
    pub(super) window: u32,
    pub(super) paced: bool,
    pub(super) traffic_class: u8,
}

fn tcp(options: &TcpOptions<'_>) -> io::Result<Descriptor> {
    // SAFETY: no memory is passed.
    let fd = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) }.into())? as Descriptor;
    set(fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, &1i32)?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, &1i32)?;
    if options.segment > 0 {
        set(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG, &(options.segment as i32))?;
    }
    if !options.control.is_empty() {
        set_text(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, options.control)?;
    }
    if options.traffic_class >> 2 != 0 {
        // The kernel ignores its ECN bits: TCP sets them.
        set(fd, libc::IPPROTO_IP, libc::IP_TOS, &i32::from(options.traffic_class))?;
    }
    if options.paced {
        // Any maximum switches pacing on; this one is never reached.
        set(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &(u64::MAX >> 1))?;
    }
    if options.window > 0 {
        // A buffer of fixed size: if the kernel sizes the buffer, it raises the limit of the window too.
        set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &(2 * options.window.max(MIN_BUFFER) as i32))?;
        set(fd, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &(options.window as i32))?;
    }
    Ok(fd)
}

/// A socket that listens.
pub(super) fn listen(options: &TcpOptions<'_>, ip: u32, port: u16) -> io::Result<Descriptor> {
    let fd = tcp(options)?;
    bind(fd, ip, port)?;
    // SAFETY: no memory is passed.
    check(unsafe { libc::listen(fd, 1024) }.into())?;
    Ok(fd)
}

/// Waits for a connection.
pub(super) fn accept(fd: Descriptor) -> io::Result<Descriptor> {
    // SAFETY: no address is asked for.
    check(unsafe { libc::accept(fd, ptr::null_mut(), ptr::null_mut()) }.into()).map(|fd| fd as Descriptor)
}

/// A TCP socket with the address `ip`, not connected.
pub(super) fn socket(options: &TcpOptions<'_>, ip: u32) -> io::Result<Descriptor> {
    let fd = tcp(options)?;
    bind(fd, ip, 0)?;
    Ok(fd)
}

pub(super) fn connect(fd: Descriptor, ip: u32, port: u16) -> io::Result<()> {
    let to = address(ip, port);
    // SAFETY: the address is valid for its size.
    let done = unsafe { libc::connect(fd, (&raw const to).cast(), size_of::<libc::sockaddr_in>() as u32) };
    check(done.into()).map(drop)
}

/// Ends a connection at once. Calls of other threads on it return.
pub(super) fn disconnect(fd: Descriptor) {
    // SAFETY: zero is a valid value of every field.
    let mut nowhere: libc::sockaddr = unsafe { zeroed() };
    nowhere.sa_family = libc::AF_UNSPEC as libc::sa_family_t;
    // SAFETY: the address is valid for its size.
    unsafe { libc::connect(fd, &raw const nowhere, size_of::<libc::sockaddr>() as u32) };
}

/// A file in memory without content, 1 TiB long: reading it gives zeros.
pub(super) fn zeros() -> io::Result<Descriptor> {
    let name = text("zeros");
    // SAFETY: the name ends with zero.
    let fd = check(unsafe { libc::memfd_create(name.as_ptr(), 0) }.into())? as Descriptor;
    // SAFETY: no memory is passed.
    check(unsafe { libc::ftruncate(fd, 1 << 40) }.into())?;
    Ok(fd)
}

/// Sends at most `len` bytes of the file `from` in one call. Returns the number of bytes sent.
pub(super) fn send_file(to: Descriptor, from: Descriptor, len: u64) -> io::Result<u64> {
    let mut at: libc::off_t = 0;
    // SAFETY: the offset is valid for reads and writes.
    check(unsafe { libc::sendfile(to, from, &raw mut at, len.min(1 << 30) as usize) } as i64).map(|sent| sent as u64)
}

/// Bytes that the peer has not acknowledged.
pub(super) fn unacknowledged(fd: Descriptor) -> u64 {
    let mut bytes: i32 = 0;
    // SAFETY: the number is valid for the write.
    unsafe { libc::ioctl(fd, libc::TIOCOUTQ as _, &raw mut bytes) };
    bytes.max(0) as u64
}

/// The kernel's description of a connection (`struct tcp_info`); zeros after what the kernel knows.
pub(super) fn tcp_info(fd: Descriptor) -> io::Result<[u8; 248]> {
    let mut info = [0u8; 248];
    let mut len = info.len() as libc::socklen_t;
    // SAFETY: the buffer is valid for its length.
    let done =
        unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut len) };
    check(done.into()).map(|_| info)
}

/// The congestion control of a connection.
pub(super) fn control(fd: Descriptor) -> io::Result<String> {
    let mut name = [0u8; 16];
    let mut len = name.len() as libc::socklen_t;
    let (level, kind) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    // SAFETY: the buffer is valid for its length.
    check(unsafe { libc::getsockopt(fd, level, kind, name.as_mut_ptr().cast(), &raw mut len) }.into())?;
    Ok(name.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect())
}

/// Switches off what a device does with several packets at once: the segmentation of TCP packets, which happens before
/// the device then, and joining received ones. A device may lack either.
pub(super) fn no_offloads(fd: Descriptor, device: &str) -> io::Result<()> {
    const SET_TSO: u32 = 0x1f;
    const SET_GRO: u32 = 0x2c;
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    #[repr(C)]
    struct Request {
        name: [u8; 16],
        value: *mut Value,
        rest: [u8; 16],
    }
    for command in [SET_TSO, SET_GRO] {
        let mut value = Value { command, data: 0 };
        let mut request = Request { name: [0; 16], value: &raw mut value, rest: [0; 16] };
        let most = device.len().min(15);
        request.name[..most].copy_from_slice(&device.as_bytes()[..most]);
        // SAFETY: the request and its value are valid until the call returns.
        match check(unsafe { libc::ioctl(fd, libc::SIOCETHTOOL as _, &raw mut request) }.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EOPNOTSUPP) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// A socket for requests about devices.
pub(super) fn any_socket() -> io::Result<Descriptor> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0) }.into()).map(|fd| fd as Descriptor)
}

/// A UDP socket with an address, at a device if one is named.
pub(super) fn datagrams(ip: u32, port: u16, device: &str, traffic_class: u8) -> io::Result<Descriptor> {
    let fd = any_socket()?;
    if !device.is_empty() {
        set_text(fd, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, device)?;
        // The clock, and no flags.
        set(fd, libc::SOL_SOCKET, libc::SO_TXTIME, &[libc::CLOCK_MONOTONIC as u32, 0])?;
        set(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &(64i32 << 20))?;
    }
    set(fd, libc::IPPROTO_IP, libc::IP_TOS, &i32::from(traffic_class))?;
    bind(fd, ip, port)?;
    Ok(fd)
}

/// Sends datagrams of zeros from a connected socket: for each its time on the monotonic clock, and its length. The
/// device sends each at its time.
pub(super) fn send_at(fd: Descriptor, datagrams: &[(u64, u64)]) -> io::Result<()> {
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    #[repr(C, align(8))]
    struct Control {
        len: usize,
        level: i32,
        kind: i32,
        time: u64,
    }
    let control = |(time, _): &(u64, u64)| Control {
        len: size_of::<Control>(),
        level: libc::SOL_SOCKET,
        kind: libc::SO_TXTIME,
        time: *time,
    };
    let mut controls: Vec<Control> = datagrams.iter().map(control).collect();
    let part = |(_, len): &(u64, u64)| libc::iovec {
        iov_base: ZEROS.as_ptr().cast_mut().cast(),
        iov_len: (*len as usize).min(ZEROS.len()),
    };
    let mut parts: Vec<libc::iovec> = datagrams.iter().map(part).collect();
    let message = |(control, part): (&mut Control, &mut libc::iovec)| {
        // SAFETY: zero is a valid value of every field.
        let mut message: libc::mmsghdr = unsafe { zeroed() };
        message.msg_hdr.msg_iov = part;
        message.msg_hdr.msg_iovlen = 1;
        message.msg_hdr.msg_control = ptr::from_mut(control).cast();
        message.msg_hdr.msg_controllen = size_of::<Control>() as _;
        message
    };
    let mut messages: Vec<libc::mmsghdr> = controls.iter_mut().zip(&mut parts).map(message).collect();
    let mut done = 0;
    while done < messages.len() {
        let left = &mut messages[done..];
        // SAFETY: messages, parts and control data are valid until the call returns; the kernel only reads them.
        done += check(unsafe { libc::sendmmsg(fd, left.as_mut_ptr(), left.len() as u32, 0) }.into())?.max(1) as usize;
    }
    Ok(())
}
