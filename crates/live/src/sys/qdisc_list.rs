//! Reads and replaces the qdiscs of a device over netlink.
//!
//! The daemon of `forebay attach` reads the qdiscs every few milliseconds. A request takes some microseconds; starting
//! tc(8) would take too long.

use std::io;

use super::netlink::{Message, Netlink, find, word};

/// Size of `struct tcmsg`, bytes.
const TCMSG: usize = 20;
/// From linux/rtnetlink.h and linux/pkt_sched.h: constants that libc lacks or has with another type.
const TC_H_ROOT: u32 = u32::MAX;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
/// `NLA_F_NESTED`: the attribute has attributes.
const NESTED: u16 = 0x8000;
const TCA_STATS2: u16 = 7;
const TCA_STAB: u16 = 8;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_RATE_EST: u16 = 2;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;

/// A qdisc with its counters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Qdisc {
    /// Kind, such as `tbf` or `fq_codel`.
    pub kind: String,
    /// Handle with the major number in the upper 16 bits; 0 for a default created by the kernel.
    pub handle: u32,
    /// Is it the device's root qdisc?
    pub root: bool,
    /// Options in the kernel's binary format, which can be passed back to it.
    pub options: Vec<u8>,
    /// A property that [`Netlink::put_root`] could not restore, because it is not part of `options`.
    pub extra: Option<&'static str>,
    /// Packets sent.
    pub sent_pkts: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Backlog, packets.
    pub qlen: u64,
    /// Backlog, bytes.
    pub backlog: u64,
    /// Packets dropped.
    pub drops: u64,
}

/// The bytes of a `struct tcmsg`, with which each message about qdiscs begins.
fn fixed(device: u32, handle: u32, parent: u32) -> [u8; TCMSG] {
    let mut fixed = [0; TCMSG];
    fixed[4..8].copy_from_slice(&device.to_ne_bytes());
    fixed[8..12].copy_from_slice(&handle.to_ne_bytes());
    fixed[12..16].copy_from_slice(&parent.to_ne_bytes());
    fixed
}

impl Netlink {
    /// The root qdisc of a device. Fails with `NotFound` if the kernel hides the qdisc, as it does with noqueue. Fails
    /// with `ENODEV` if the device does not exist.
    pub fn root(&self, device: u32) -> io::Result<Qdisc> {
        match self.ask(Message::new(libc::RTM_GETQDISC, 0, &fixed(device, 0, TC_H_ROOT))) {
            Ok(answer) => Ok(qdisc(&answer)),
            // The kernel's error codes for a hidden root qdisc.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => {
                Err(io::ErrorKind::NotFound.into())
            }
            Err(error) => Err(error),
        }
    }

    /// All visible qdiscs of a device.
    pub fn qdiscs(&self, device: u32) -> io::Result<Vec<Qdisc>> {
        // The kernel returns the qdiscs of all devices.
        let all = self.list(Message::new(libc::RTM_GETQDISC, 0, &fixed(device, 0, 0)))?;
        Ok(all.iter().filter(|answer| word(answer, 4, 4) as u32 == device).map(|answer| qdisc(answer)).collect())
    }

    /// Number of filters at the qdisc with this handle.
    pub fn filters(&self, device: u32, handle: u32) -> io::Result<usize> {
        self.list(Message::new(libc::RTM_GETTFILTER, 0, &fixed(device, 0, handle))).map(|all| all.len())
    }

    /// Replaces the root qdisc of a device.
    pub fn put_root(&self, device: u32, kind: &str, handle: u32, options: &[u8]) -> io::Result<()> {
        let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        let mut message = Message::new(libc::RTM_NEWQDISC, flags, &fixed(device, handle, TC_H_ROOT));
        message.attribute(TCA_KIND, &[kind.as_bytes(), &[0]].concat());
        // fq_pie refuses options without the flag; the others accept both.
        message.attribute(TCA_OPTIONS | NESTED, options);
        self.tell(message)
    }

    /// Removes the root qdisc with this handle; the kernel's default takes its place.
    pub fn remove_root(&self, device: u32, handle: u32) -> io::Result<()> {
        self.tell(Message::new(libc::RTM_DELQDISC, 0, &fixed(device, handle, TC_H_ROOT)))
    }
}

/// Parses a qdisc message.
fn qdisc(message: &[u8]) -> Qdisc {
    let attributes = message.get(TCMSG..).unwrap_or_default();
    let stats = find(attributes, TCA_STATS2).unwrap_or_default();
    let basic = find(stats, TCA_STATS_BASIC).unwrap_or_default();
    let queue = find(stats, TCA_STATS_QUEUE).unwrap_or_default();
    let kind = find(attributes, TCA_KIND).unwrap_or_default();
    let kind: Vec<u8> = kind.iter().copied().take_while(|c| *c != 0).collect();
    // The basic packet counter has 32 bits; newer kernels add a 64-bit counter where needed.
    let packets = find(stats, TCA_STATS_PKT64).map_or_else(|| word(basic, 8, 4), |value| word(value, 0, 8));
    Qdisc {
        kind: String::from_utf8_lossy(&kind).into_owned(),
        handle: word(message, 8, 4) as u32,
        root: word(message, 12, 4) as u32 == TC_H_ROOT,
        options: find(attributes, TCA_OPTIONS).unwrap_or_default().to_vec(),
        extra: match (find(attributes, TCA_STAB), find(stats, TCA_STATS_RATE_EST)) {
            (Some(_), _) => Some("a size table"),
            (_, Some(_)) => Some("a rate estimator"),
            (None, None) => None,
        },
        sent_pkts: packets,
        sent_bytes: word(basic, 0, 8),
        qlen: word(queue, 0, 4),
        backlog: word(queue, 4, 4),
        drops: word(queue, 8, 4),
    }
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
    fn qdisc_is_parsed_from_its_netlink_message() {
        let mut basic = 123_456_789_012u64.to_ne_bytes().to_vec();
        basic.extend(words(&[77, 0]));
        let mut stats = attribute(TCA_STATS_BASIC, &basic);
        stats.extend(attribute(TCA_STATS_QUEUE, &words(&[3, 4542, 9, 0, 0])));
        let mut message = fixed(5, 0x00fb_0000, TC_H_ROOT).to_vec();
        message.extend(attribute(TCA_KIND, b"tbf\0"));
        message.extend(attribute(TCA_OPTIONS, b"words"));
        message.extend(attribute(TCA_STATS2 | 0x8000, &stats));
        let found = qdisc(&message);
        assert_eq!((found.kind.as_str(), found.handle, found.root), ("tbf", 0x00fb_0000, true));
        assert_eq!((found.options.as_slice(), found.extra), (&b"words"[..], None));
        assert_eq!((found.sent_pkts, found.sent_bytes), (77, 123_456_789_012));
        assert_eq!((found.qlen, found.backlog, found.drops), (3, 4542, 9));
        assert_eq!(qdisc(&[]), Qdisc::default());
    }
}
