//! TCP sockets with options that must be set before connecting, UDP sockets, and files in memory.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use forebay_aqm::base::packet::Ecn;

use super::{check, owned, set_option};

/// Options of a connection.
#[derive(Clone, Debug, Default)]
pub struct SocketOptions {
    /// Congestion control by its kernel name; empty: the system's default.
    pub control: String,
    /// Maximum segment size, bytes, including TCP options; 0: the kernel's default.
    pub segment: u32,
    /// Maximum receive window, bytes; 0: the kernel's default.
    pub window: u32,
    /// Whether to pace packets, whatever the congestion control.
    pub paced: bool,
    /// DSCP of sent packets.
    pub dscp: u8,
}

/// The C structure of an IPv4 address and port.
fn address(host: Ipv4Addr, port: u16) -> libc::sockaddr_in {
    // SAFETY: a struct of integers; all zeros are valid.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as u16;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from(host).to_be();
    address
}

const ADDRESS: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;

fn stream(options: &SocketOptions) -> io::Result<OwnedFd> {
    // SAFETY: integer arguments only.
    let socket = owned(unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) })?;
    set_option(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, &1_i32)?;
    if !options.control.is_empty() {
        let name = CString::new(options.control.as_str())?;
        let (fd, len) = (socket.as_raw_fd(), name.as_bytes().len() as libc::socklen_t);
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
        // SAFETY: the kernel reads `len` bytes of `name`, which has that length.
        check(unsafe { libc::setsockopt(fd, level, option, name.as_ptr().cast(), len) })?;
    }
    if options.segment > 0 {
        set_option(&socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, &options.segment)?;
    }
    if options.dscp > 0 {
        // The DSCP is the upper six bits. The lower two are ECN, which TCP sets itself.
        set_option(&socket, libc::IPPROTO_IP, libc::IP_TOS, &i32::from(options.dscp << 2))?;
    }
    if options.paced {
        // Any maximum switches pacing on; this one is never reached.
        set_option(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &(u64::MAX >> 1))?;
    }
    if options.window > 0 {
        // Setting the buffer disables its autotuning, so that the clamp stays in force.
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &options.window)?;
        set_option(&socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &options.window)?;
    }
    Ok(socket)
}

/// Connects to `port` of `host`.
pub fn connect(host: Ipv4Addr, port: u16, options: &SocketOptions) -> io::Result<TcpStream> {
    let (socket, to) = (stream(options)?, address(host, port));
    // SAFETY: the kernel reads `ADDRESS` bytes of `to`, which has that size.
    check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const to).cast(), ADDRESS) })?;
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Listens on a port of all addresses; accepted connections inherit `options`.
pub fn listen(port: u16, options: &SocketOptions) -> io::Result<TcpListener> {
    let (socket, at) = (stream(options)?, address(Ipv4Addr::UNSPECIFIED, port));
    // SAFETY: the kernel reads `ADDRESS` bytes of `at`, which has that size.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const at).cast(), ADDRESS) })?;
    // SAFETY: integer arguments only.
    check(unsafe { libc::listen(socket.as_raw_fd(), 1024) })?;
    Ok(TcpListener::from(socket))
}

/// A UDP socket on a port, with a receive timeout.
pub fn datagrams(port: u16, timeout: Duration) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?;
    socket.set_read_timeout(Some(timeout))?;
    Ok(socket)
}

/// Sets DSCP and ECN codepoint of sent datagrams.
pub fn set_traffic_class(socket: &UdpSocket, dscp: u8, ecn: Ecn) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_TOS, &i32::from(dscp << 2 | ecn.bits()))
}

/// Number of retransmitted segments of this connection.
pub fn retransmitted(stream: &TcpStream) -> io::Result<u64> {
    // SAFETY: a struct of integers; all zeros are valid.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    let (fd, level, option) = (stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO);
    // SAFETY: the kernel writes at most `len` bytes to `info`, which has that size.
    check(unsafe { libc::getsockopt(fd, level, option, (&raw mut info).cast(), &raw mut len) })?;
    Ok(u64::from(info.tcpi_total_retrans))
}

/// Bytes not yet acknowledged by the peer.
pub fn on_the_way(stream: &TcpStream) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: for this request (SIOCOUTQ) the kernel writes one integer to `bytes`, which outlives the call.
    check(unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
    Ok(bytes.max(0) as u64)
}

/// An anonymous file in memory, in append mode: several processes can write to it without overwriting each other.
pub fn memory_file() -> io::Result<File> {
    // SAFETY: a static NUL-terminated string.
    let file = owned(unsafe { libc::memfd_create(c"forebay".as_ptr(), libc::MFD_CLOEXEC) })?;
    // SAFETY: integer arguments only.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_APPEND) })?;
    Ok(File::from(file))
}
