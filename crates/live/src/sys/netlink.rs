//! Interfaces, addresses and routes of the present network namespace (rtnetlink(7)).

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::{check, owned};

/// `VETH_INFO_PEER` of linux/veth.h.
const VETH_INFO_PEER: u16 = 1;
/// The most that the kernel answers to a request of ours.
const ANSWER: usize = 8192;

/// A hardware address.
pub type Mac = [u8; 6];

/// One end of a pair of interfaces that are wired to each other.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its hardware address.
    pub mac: Mac,
    /// The namespace that it is to be in; none is the present one.
    pub namespace: Option<BorrowedFd<'a>>,
}

/// A socket to the kernel, in the network namespace in which it was opened.
pub struct Netlink {
    socket: OwnedFd,
    number: u32,
}

/// A request while it is written: lengths are filled in as its parts end.
struct Message(Vec<u8>);

/// Bytes of the header of a message.
const HEADER: usize = 16;

impl Message {
    /// `fixed` is the structure that the kind of message begins with.
    fn new(kind: u16, flags: i32, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        let flags = flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK;
        bytes[6..8].copy_from_slice(&(flags as u16).to_ne_bytes());
        bytes.extend_from_slice(fixed);
        Self(bytes)
    }

    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |message| message.0.extend_from_slice(value));
    }

    /// An attribute that `fill` writes.
    fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        self.pad();
        let at = self.0.len();
        self.0.extend_from_slice(&[0; 2]);
        self.0.extend_from_slice(&kind.to_ne_bytes());
        fill(self);
        let len = (self.0.len() - at) as u16;
        self.0[at..at + 2].copy_from_slice(&len.to_ne_bytes());
    }

    fn end(&mut self, number: u32) -> &[u8] {
        self.pad();
        let len = self.0.len() as u32;
        self.0[..4].copy_from_slice(&len.to_ne_bytes());
        self.0[8..12].copy_from_slice(&number.to_ne_bytes());
        &self.0
    }
}

/// `struct ifinfomsg`.
fn interface(index: u32, flags: u32) -> [u8; 16] {
    let mut fixed = [0; 16];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    fixed[8..12].copy_from_slice(&flags.to_ne_bytes());
    fixed[12..16].copy_from_slice(&flags.to_ne_bytes());
    fixed
}

fn text(name: &str) -> Vec<u8> {
    name.bytes().chain([0]).collect()
}

const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;

impl Netlink {
    /// Opens one.
    pub fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: plain numbers.
        let socket = owned(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) })?;
        Ok(Self { socket, number: 0 })
    }

    /// Sends a request and reads what the kernel says to it.
    fn ask(&mut self, mut message: Message) -> io::Result<()> {
        self.number += 1;
        let bytes = message.end(self.number);
        let fd = self.socket.as_raw_fd();
        // SAFETY: the kernel reads `bytes`, which live until the call returns.
        check(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), 0) } as i32)?;
        let mut answer = [0_u8; ANSWER];
        // SAFETY: the kernel writes at most as many bytes as `answer` has.
        let len = check(unsafe { libc::recv(fd, answer.as_mut_ptr().cast(), answer.len(), 0) } as i32)? as usize;
        let word = |at: usize| answer.get(at..at + 4).and_then(|word| Some(i32::from_ne_bytes(word.try_into().ok()?)));
        // The only answer to these requests is an error, which may be 0.
        match word(HEADER).filter(|_| len >= HEADER + 4) {
            Some(0) => Ok(()),
            Some(error) => Err(io::Error::from_raw_os_error(-error)),
            None => Err(io::Error::other("the kernel's answer is too short")),
        }
    }

    /// A pair of interfaces that are wired to each other.
    pub fn pair(&mut self, ends: [End<'_>; 2]) -> io::Result<()> {
        let mut message = Message::new(libc::RTM_NEWLINK, CREATE, &interface(0, 0));
        let describe = |message: &mut Message, end: &End<'_>| {
            message.attribute(libc::IFLA_IFNAME, &text(end.name));
            message.attribute(libc::IFLA_ADDRESS, &end.mac);
            if let Some(namespace) = end.namespace {
                message.attribute(libc::IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes());
            }
        };
        describe(&mut message, &ends[0]);
        message.nest(libc::IFLA_LINKINFO, |message| {
            message.attribute(libc::IFLA_INFO_KIND, b"veth\0");
            message.nest(libc::IFLA_INFO_DATA, |message| {
                message.nest(VETH_INFO_PEER, |message| {
                    message.0.extend_from_slice(&interface(0, 0));
                    describe(message, &ends[1]);
                });
            });
        });
        self.ask(message)
    }

    /// Switches an interface on.
    pub fn up(&mut self, index: u32) -> io::Result<()> {
        self.ask(Message::new(libc::RTM_NEWLINK, 0, &interface(index, libc::IFF_UP as u32)))
    }

    /// Gives an interface an address in a network of `prefix` bits.
    pub fn address(&mut self, index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        let mut fixed = [libc::AF_INET as u8, prefix, 0, 0, 0, 0, 0, 0];
        fixed[4..].copy_from_slice(&index.to_ne_bytes());
        let mut message = Message::new(libc::RTM_NEWADDR, CREATE, &fixed);
        message.attribute(libc::IFA_LOCAL, &address.octets());
        message.attribute(libc::IFA_ADDRESS, &address.octets());
        self.ask(message)
    }

    /// Everything that has no other route goes to `gateway`.
    pub fn default_route(&mut self, gateway: Ipv4Addr) -> io::Result<()> {
        self.route(Ipv4Addr::UNSPECIFIED, 0, gateway)
    }

    /// What is for this network of `prefix` bits goes to `gateway`.
    pub fn route(&mut self, network: Ipv4Addr, prefix: u8, gateway: Ipv4Addr) -> io::Result<()> {
        let (table, protocol) = (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC);
        let (kind, scope) = (libc::RTN_UNICAST, libc::RT_SCOPE_UNIVERSE);
        let fixed = [libc::AF_INET as u8, prefix, 0, 0, table, protocol, scope, kind, 0, 0, 0, 0];
        let mut message = Message::new(libc::RTM_NEWROUTE, CREATE, &fixed);
        if prefix > 0 {
            message.attribute(libc::RTA_DST, &network.octets());
        }
        message.attribute(libc::RTA_GATEWAY, &gateway.octets());
        self.ask(message)
    }

    /// Who has `address` behind an interface is known once and for all: nobody need ask.
    pub fn neighbour(&mut self, index: u32, address: Ipv4Addr, mac: Mac) -> io::Result<()> {
        let mut fixed = [0; 12];
        fixed[0] = libc::AF_INET as u8;
        fixed[4..8].copy_from_slice(&index.to_ne_bytes());
        fixed[8..10].copy_from_slice(&libc::NUD_PERMANENT.to_ne_bytes());
        let mut message = Message::new(libc::RTM_NEWNEIGH, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &fixed);
        message.attribute(libc::NDA_DST, &address.octets());
        message.attribute(libc::NDA_LLADDR, &mac);
        self.ask(message)
    }
}

/// The number of the interface of this name in the present network namespace.
pub fn index(name: &str) -> io::Result<u32> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: the kernel's library reads a string that ends with 0 and lives until the call returns.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}
