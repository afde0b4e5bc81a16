//! Messages with descriptors over Unix sockets, waiting for several of them, and the thread that does so.

use std::io::{self, Error};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use super::check;

/// Maximum number of descriptors of a message.
const MOST: usize = 8;
/// Maximum number of descriptors to wait for.
const MOST_WAITED: usize = 16;

/// Bytes of control data with that many descriptors; its header takes 16.
const CONTROL: usize = 16 + MOST * size_of::<RawFd>();

/// Space for the control data of a message with descriptors.
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Receives bytes and descriptors. No bytes: the other end has closed the socket.
pub(crate) fn receive(socket: BorrowedFd<'_>, to: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut control = Control([0; CONTROL]);
    let mut part = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    // SAFETY: zero is a valid value of every field.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: buffer and control data are valid for their lengths until the call returns.
    let got = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    if got < 0 {
        return Err(Error::last_os_error());
    }
    let mut descriptors = Vec::new();
    // SAFETY: the kernel has filled the control data and its length.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    while !header.is_null() {
        // SAFETY: the header is within the control data.
        let (level, kind, len) = unsafe { ((*header).cmsg_level, (*header).cmsg_type, (*header).cmsg_len as usize) };
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            // SAFETY: no memory is read.
            let empty = unsafe { libc::CMSG_LEN(0) } as usize;
            for number in 0..(len - empty) / size_of::<RawFd>() {
                // SAFETY: the data has this many descriptors, each of which is new and has no other owner.
                let fd = unsafe {
                    OwnedFd::from_raw_fd(ptr::read_unaligned(libc::CMSG_DATA(header).cast::<RawFd>().add(number)))
                };
                descriptors.push(fd);
            }
        }
        // SAFETY: message and header are those of the received message.
        header = unsafe { libc::CMSG_NXTHDR(&raw const message, header) };
    }
    Ok((got as usize, descriptors))
}

/// Sends bytes with descriptors, at most [`MOST`].
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut control = Control([0; CONTROL]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: zero is a valid value of every field.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if !descriptors.is_empty() {
        let raw: Vec<RawFd> = descriptors.iter().take(MOST).map(AsRawFd::as_raw_fd).collect();
        let len = (raw.len() * size_of::<RawFd>()) as u32;
        message.msg_control = (&raw mut control).cast();
        // SAFETY: the space for control data has room for MOST descriptors.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(len) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(len) as _;
            ptr::copy_nonoverlapping(raw.as_ptr().cast(), libc::CMSG_DATA(header), len as usize);
        }
    }
    // SAFETY: buffer and control data are valid for their lengths until the call returns.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    match sent {
        sent if sent < 0 => Err(Error::last_os_error()),
        sent if sent as usize == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Waits at most `milliseconds` until a descriptor has something to read or is closed. Returns a bit for each
/// descriptor, the first the lowest; 0 after this time.
pub(crate) fn wait(descriptors: &[BorrowedFd<'_>], milliseconds: i32) -> io::Result<u32> {
    let mut polls = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; MOST_WAITED];
    for (poll, fd) in polls.iter_mut().zip(descriptors) {
        poll.fd = fd.as_raw_fd();
    }
    let count = descriptors.len().min(MOST_WAITED);
    // SAFETY: the structures are passed with their number.
    match check(unsafe { libc::poll(polls.as_mut_ptr(), count as libc::nfds_t, milliseconds) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        Err(error) => Err(error),
        Ok(_) => {
            let ready = polls[..count].iter().enumerate().filter(|(_, poll)| poll.revents != 0);
            Ok(ready.fold(0, |bits, (at, _)| bits | 1 << at))
        }
    }
}

/// Lets this thread run on one core only. Without the permission it may run on any.
pub(crate) fn pin(core: usize) {
    // SAFETY: zero is a valid value of the set, which is valid for its size.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// CPU seconds of this thread.
pub(crate) fn thread_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the write.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn descriptors_arrive_with_their_bytes() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        assert_eq!(wait(&[ours.as_fd(), theirs.as_fd()], 0).unwrap(), 0);
        let file = File::open("/proc/self/stat").unwrap();
        send(ours.as_fd(), b"here", &[file.as_fd()]).unwrap();
        assert_eq!(wait(&[ours.as_fd(), theirs.as_fd()], 1000).unwrap(), 0b10);
        let mut bytes = [0; 16];
        let (got, mut descriptors) = receive(theirs.as_fd(), &mut bytes).unwrap();
        assert_eq!((&bytes[..got], descriptors.len()), (&b"here"[..], 1));
        let mut text = String::new();
        File::from(descriptors.remove(0)).read_to_string(&mut text).unwrap();
        assert!(text.starts_with(&std::process::id().to_string()));
        drop(ours);
        assert_eq!(receive(theirs.as_fd(), &mut bytes).unwrap().0, 0);
    }
}
