//! Reads and sets up interfaces, addresses and routes of the current network namespace.

use std::ffi::{CStr, CString};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::netlink::{Message, Netlink, find, word};

/// `VETH_INFO_PEER` in linux/veth.h.
const VETH_INFO_PEER: u16 = 1;

/// A hardware address.
pub type Mac = [u8; 6];

/// One end of a veth pair.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// Interface name.
    pub name: &'a str,
    /// Hardware address.
    pub mac: Mac,
    /// MTU; `None`: the kernel's default.
    pub mtu: Option<u32>,
    /// Network namespace; `None`: the current one.
    pub namespace: Option<BorrowedFd<'a>>,
}

/// Drop counters of an interface since its creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Drops {
    /// Packets that the interface dropped in the receiving direction (`rx_dropped` of the kernel).
    pub received: u64,
    /// Packets that the interface dropped in the sending direction, before transmission (`tx_dropped`).
    pub sent: u64,
}

/// Properties of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interface {
    /// MTU, bytes, without the link-layer header.
    pub mtu: u32,
    /// Link-layer header, bytes. Qdiscs count it, nftables rules do not.
    pub header: u32,
}

/// Ethernet header without VLAN tag, bytes.
const ETHERNET: u32 = 14;

/// The bytes of a `struct ifinfomsg`, with which each message about interfaces begins.
fn fixed(index: u32, flags: u32) -> [u8; 16] {
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
    /// Creates a veth pair.
    pub fn pair(&self, ends: [End<'_>; 2]) -> io::Result<()> {
        let mut message = Message::new(libc::RTM_NEWLINK, CREATE, &fixed(0, 0));
        let describe = |message: &mut Message, end: &End<'_>| {
            message.attribute(libc::IFLA_IFNAME, &text(end.name));
            message.attribute(libc::IFLA_ADDRESS, &end.mac);
            if let Some(mtu) = end.mtu {
                message.attribute(libc::IFLA_MTU, &mtu.to_ne_bytes());
            }
            if let Some(namespace) = end.namespace {
                message.attribute(libc::IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes());
            }
        };
        describe(&mut message, &ends[0]);
        message.nest(libc::IFLA_LINKINFO, |message| {
            message.attribute(libc::IFLA_INFO_KIND, b"veth\0");
            message.nest(libc::IFLA_INFO_DATA, |message| {
                message.nest(VETH_INFO_PEER, |message| {
                    message.bytes(&fixed(0, 0));
                    describe(message, &ends[1]);
                });
            });
        });
        self.tell(message)
    }

    /// Sets an interface up.
    pub fn up(&self, index: u32) -> io::Result<()> {
        self.tell(Message::new(libc::RTM_NEWLINK, 0, &fixed(index, libc::IFF_UP as u32)))
    }

    /// Adds an address with a prefix of `prefix` bits.
    pub fn address(&self, index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        let mut fixed = [libc::AF_INET as u8, prefix, 0, 0, 0, 0, 0, 0];
        fixed[4..].copy_from_slice(&index.to_ne_bytes());
        let mut message = Message::new(libc::RTM_NEWADDR, CREATE, &fixed);
        message.attribute(libc::IFA_LOCAL, &address.octets());
        message.attribute(libc::IFA_ADDRESS, &address.octets());
        self.tell(message)
    }

    /// Sets the default route, through `gateway`.
    pub fn default_route(&self, gateway: Ipv4Addr) -> io::Result<()> {
        self.route(Ipv4Addr::UNSPECIFIED, 0, gateway)
    }

    /// Adds a route to a network with a prefix of `prefix` bits.
    pub fn route(&self, network: Ipv4Addr, prefix: u8, gateway: Ipv4Addr) -> io::Result<()> {
        let (table, protocol) = (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC);
        let (kind, scope) = (libc::RTN_UNICAST, libc::RT_SCOPE_UNIVERSE);
        let fixed = [libc::AF_INET as u8, prefix, 0, 0, table, protocol, scope, kind, 0, 0, 0, 0];
        let mut message = Message::new(libc::RTM_NEWROUTE, CREATE, &fixed);
        if prefix > 0 {
            message.attribute(libc::RTA_DST, &network.octets());
        }
        message.attribute(libc::RTA_GATEWAY, &gateway.octets());
        self.tell(message)
    }

    /// Adds a permanent neighbour entry, so that no ARP is needed.
    pub fn neighbour(&self, index: u32, address: Ipv4Addr, mac: Mac) -> io::Result<()> {
        let mut fixed = [0; 12];
        fixed[0] = libc::AF_INET as u8;
        fixed[4..8].copy_from_slice(&index.to_ne_bytes());
        fixed[8..10].copy_from_slice(&libc::NUD_PERMANENT.to_ne_bytes());
        let mut message = Message::new(libc::RTM_NEWNEIGH, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &fixed);
        message.attribute(libc::NDA_DST, &address.octets());
        message.attribute(libc::NDA_LLADDR, &mac);
        self.tell(message)
    }

    /// Index of the interface with this alternative name, which may be longer than a primary name.
    fn of_alternative(&self, name: &CStr) -> io::Result<u32> {
        let mut message = Message::new(libc::RTM_GETLINK, 0, &fixed(0, 0));
        message.attribute(libc::IFLA_ALT_IFNAME, name.to_bytes_with_nul());
        self.ask(message).map(|answer| word(&answer, 4, 4) as u32)
    }

    /// Drop counters of an interface; `ENODEV` if it does not exist.
    pub fn drops(&self, index: u32) -> io::Result<Drops> {
        let answer = self.ask(Message::new(libc::RTM_GETLINK, 0, &fixed(index, 0)))?;
        let attributes = answer.get(fixed(0, 0).len()..).unwrap_or_default();
        // Fields 7 and 8 of `struct rtnl_link_stats64`.
        let counters = find(attributes, libc::IFLA_STATS64).unwrap_or_default();
        Ok(Drops { received: word(counters, 48, 8), sent: word(counters, 56, 8) })
    }

    /// Properties of an interface; `ENODEV` if it does not exist.
    pub fn interface(&self, index: u32) -> io::Result<Interface> {
        let answer = self.ask(Message::new(libc::RTM_GETLINK, 0, &fixed(index, 0)))?;
        let attributes = answer.get(fixed(0, 0).len()..).unwrap_or_default();
        let kind = word(&answer, 2, 2) as u16;
        Ok(Interface {
            mtu: find(attributes, libc::IFLA_MTU).map_or(0, |value| word(value, 0, 4) as u32),
            header: if matches!(kind, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK) { ETHERNET } else { 0 },
        })
    }
}

/// Index of the interface with this name or alternative name in the current network namespace.
pub fn index(name: &str) -> io::Result<u32> {
    let long = name.len() >= libc::IF_NAMESIZE;
    let name = CString::new(name)?;
    if long {
        return Netlink::open()?.of_alternative(&name);
    }
    // SAFETY: libc reads a NUL-terminated string that outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Current name of the interface with this index; `None` if it does not exist.
pub fn name(index: u32) -> Option<String> {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: libc writes at most `IF_NAMESIZE` bytes, NUL-terminated.
    let found = unsafe { libc::if_indextoname(index, name.as_mut_ptr()) };
    // SAFETY: the buffer holds a NUL-terminated string and is not modified meanwhile.
    (!found.is_null()).then(|| unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_index_and_name_identify_each_other() {
        let lo = index("lo").unwrap();
        assert_eq!(name(lo).as_deref(), Some("lo"));
        assert!(index("no such device").is_err() && name(0x7fff_fff0).is_none());
        let netlink = Netlink::open().unwrap();
        let found = netlink.interface(lo).unwrap();
        assert!(found.mtu >= 1280 && found.header == ETHERNET);
        assert_eq!(netlink.interface(0x7fff_fff0).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
