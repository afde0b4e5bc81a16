//! Writes messages of rtnetlink(7), tc(8)'s part of it included, as bytes. The guest agent sends them.

use std::collections::BTreeMap;

use forebay_agent::Message;

const ACKNOWLEDGED: u16 = 1 | 4;
const CREATE: u16 = 0x400 | 0x200;
const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
const NEW_CLASS: u16 = 40;
const NEW_FILTER: u16 = 44;
/// Flag of an attribute that contains attributes.
const NESTED: u16 = 0x8000;
/// `TCA_OPTIONS`.
const OPTIONS: u16 = 2;

/// Parent of the first qdisc of a device.
pub(crate) const ROOT: u32 = 0xffff_ffff;
/// Parent of the qdisc for arriving packets; its handle is [`INGRESS_HANDLE`].
const INGRESS: u32 = 0xffff_fff1;
const INGRESS_HANDLE: u32 = 0xffff_0000;

/// A handle or class, as tc(8) writes it: `major:minor`.
pub(crate) const fn handle(major: u16, minor: u16) -> u32 {
    (major as u32) << 16 | minor as u32
}

/// A message under construction.
pub(crate) struct Request(Vec<u8>);

impl Request {
    fn new(kind: u16, flags: u16, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; 16];
        bytes[4..6].copy_from_slice(&kind.to_le_bytes());
        bytes[6..8].copy_from_slice(&(flags | ACKNOWLEDGED).to_le_bytes());
        bytes.extend(fixed);
        Self(bytes)
    }

    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// Appends an attribute.
    pub(crate) fn put(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |inner| inner.0.extend(value));
    }

    /// Appends an attribute whose value `fill` writes.
    pub(crate) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        self.pad();
        let at = self.0.len();
        self.0.extend([0, 0]);
        self.0.extend(kind.to_le_bytes());
        fill(self);
        let len = (self.0.len() - at) as u16;
        self.0[at..at + 2].copy_from_slice(&len.to_le_bytes());
    }

    /// Appends bytes.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    fn end(mut self, namespace: u64, purpose: String) -> Message {
        self.pad();
        let len = self.0.len() as u32;
        self.0[..4].copy_from_slice(&len.to_le_bytes());
        Message { namespace, purpose, bytes: self.0 }
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn name(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

/// The address of every device: a packet is for the device at which it arrives, without address resolution.
const HARDWARE: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// A device: its namespace, its index and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    /// Its namespace.
    pub(crate) namespace: u64,
    /// Its index, which is unique in all namespaces.
    pub(crate) index: u32,
    /// Its name.
    pub(crate) name: String,
}

/// Flags of a device: switched on, without ARP.
const UP: u32 = 1;
const WITHOUT_ARP: u32 = 0x80;

fn device_info(device: &Device, flags: u32) -> Vec<u8> {
    words(&[0, device.index, flags, flags])
}

/// Creates two connected devices and switches them on. The first is in the namespace of the clients. `servers`: the
/// descriptor of the namespace of the second, if that is another.
pub(crate) fn pair(first: &Device, second: &Device, servers: Option<u32>) -> [Message; 2] {
    let about = |to: &mut Request, device: &Device| {
        to.put(3, &name(&device.name));
        to.put(1, &HARDWARE);
    };
    // A device can be switched on when its peer exists: the first at once, the second afterwards.
    let mut request = Request::new(NEW_LINK, CREATE, &device_info(first, UP | WITHOUT_ARP));
    about(&mut request, first);
    request.nest(18, |request| {
        request.put(1, b"veth");
        request.nest(2, |request| {
            request.nest(1, |request| {
                request.raw(&device_info(second, WITHOUT_ARP));
                about(request, second);
                if let Some(descriptor) = servers {
                    request.put(28, &words(&[descriptor]));
                }
            });
        });
    });
    let create = request.end(first.namespace, format!("create the devices {} and {}", first.name, second.name));
    let on = Request::new(NEW_LINK, 0, &device_info(second, UP));
    [create, on.end(second.namespace, format!("switch {} on", second.name))]
}

/// Creates a device of a link and switches it on. What its queue sends goes where [`forward`] says.
pub(crate) fn link(device: &Device) -> Message {
    let mut request = Request::new(NEW_LINK, CREATE, &device_info(device, UP | WITHOUT_ARP));
    request.put(3, &name(&device.name));
    request.put(1, &HARDWARE);
    request.nest(18, |request| request.put(1, b"forebay"));
    request.end(device.namespace, format!("create the device {}", device.name))
}

/// Switches on a device that the kernel has by itself. Fails if the device with this index has another name. `servers`:
/// the descriptor of the namespace to which the device is moved.
pub(crate) fn switch_on(device: &Device, servers: Option<u32>) -> [Message; 2] {
    // An existing name of another device is refused.
    let mut request = Request::new(NEW_LINK, 0, &device_info(device, WITHOUT_ARP));
    request.put(3, &name(&device.name));
    request.put(1, &HARDWARE);
    let named = request
        .end(device.namespace, format!("set up the device {} (a kernel of an earlier version lacks it)", device.name));
    let mut request = Request::new(NEW_LINK, 0, &device_info(device, UP));
    let on = format!("switch {} on", device.name);
    if let Some(descriptor) = servers {
        request.put(28, &words(&[descriptor]));
    }
    [named, request.end(device.namespace, on)]
}

/// Gives a device an IPv4 address.
pub(crate) fn address(device: &Device, ip: u32) -> Message {
    let mut fixed = vec![2, 32, 0, 0];
    fixed.extend(device.index.to_le_bytes());
    let mut request = Request::new(NEW_ADDRESS, CREATE, &fixed);
    request.put(2, &ip.to_be_bytes());
    request.put(1, &ip.to_be_bytes());
    request.end(device.namespace, format!("give {} an address", device.name))
}

/// Metrics of a route (ip-route(8)): settings of the connections that use it, in place of those of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Metrics {
    /// Ask for ECN.
    pub(crate) ecn: bool,
    /// Initial window in packets.
    pub(crate) initial_window: Option<u32>,
    /// Acknowledge every packet at once.
    pub(crate) quick_ack: bool,
    /// Smallest retransmission timeout, ms.
    pub(crate) rto_min: Option<u32>,
}

impl Metrics {
    /// Numbers and values of the attributes, `RTAX_*` of `linux/rtnetlink.h`.
    fn attributes(self) -> Vec<(u16, u32)> {
        // A metric that is locked applies in place of the kernel's own setting.
        let lock = self.rto_min.map(|_| (1, 1 << 13));
        let all = [
            lock,
            self.initial_window.map(|packets| (11, packets)),
            self.ecn.then_some((12, 1)),
            self.rto_min.map(|ms| (13, ms)),
            self.quick_ack.then_some((15, 1)),
        ];
        all.into_iter().flatten().collect()
    }
}

/// Sends packets for `ip`/`prefix` through a device. Routes with a lower `priority` are preferred.
pub(crate) fn route(device: &Device, (ip, prefix): (u32, u8), priority: u32, metrics: Metrics) -> Message {
    // IPv4, main table, protocol "boot", scope "link", unicast.
    let mut fixed = vec![2, prefix, 0, 0, 254, 3, 253, 1];
    fixed.extend([0; 4]);
    let mut request = Request::new(NEW_ROUTE, 0x400, &fixed);
    request.put(1, &ip.to_be_bytes());
    request.put(4, &words(&[device.index]));
    request.put(6, &words(&[priority]));
    let attributes = metrics.attributes();
    if !attributes.is_empty() {
        request.nest(8 | NESTED, |request| {
            attributes.iter().for_each(|(number, value)| request.put(*number, &words(&[*value])));
        });
    }
    request.end(device.namespace, format!("add a route through {}", device.name))
}

/// A qdisc: where it is, and its kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    /// The device.
    pub(crate) device: &'a Device,
    /// [`ROOT`], or a class of the parent.
    pub(crate) parent: u32,
    /// Its own handle.
    pub(crate) handle: u32,
}

fn traffic_control(kind: u16, flags: u16, (device, handle, parent, info): (&Device, u32, u32, u32)) -> Request {
    Request::new(kind, flags, &words(&[0, device.index, handle, parent, info]))
}

/// Adds a qdisc with options that `fill` writes.
pub(crate) fn qdisc(at: At<'_>, kind: &str, fill: impl FnOnce(&mut Request)) -> Message {
    one_qdisc(at, kind, CREATE, fill)
}

/// Changes the options of a qdisc.
pub(crate) fn change(at: At<'_>, kind: &str, fill: impl FnOnce(&mut Request)) -> Message {
    one_qdisc(at, kind, 0, fill)
}

fn one_qdisc(at: At<'_>, kind: &str, flags: u16, fill: impl FnOnce(&mut Request)) -> Message {
    let mut request = traffic_control(NEW_QDISC, flags, (at.device, at.handle, at.parent, 0));
    request.put(1, &name(kind));
    request.nest(OPTIONS | NESTED, fill);
    request.end(at.device.namespace, format!("set up the qdisc {kind} of {}", at.device.name))
}

/// Asks for the counters of a qdisc. The answer is the qdisc, without an acknowledgement.
pub(crate) fn counters(at: At<'_>) -> Message {
    let mut request = traffic_control(GET_QDISC, 0, (at.device, at.handle, at.parent, 0));
    // A request, whose answer the sender gets ("echo").
    request.0[6..8].copy_from_slice(&9u16.to_le_bytes());
    request.end(at.device.namespace, format!("read the counters of a qdisc of {}", at.device.name))
}

/// Sends packets that arrive at `from`, or leave it if it is that of a link, on through other devices by their IPv4
/// destination. All packets go to the same
/// device if there is only one. `copies`: a device that gets a copy of each packet first.
pub(crate) fn forward(from: &Device, to: &BTreeMap<u32, Device>, copies: Option<&Device>) -> Message {
    let at = At { device: from, parent: INGRESS, handle: INGRESS_HANDLE };
    let first = to.values().next().map_or(0, |device| device.index);
    let is_one = to.values().all(|device| device.index == first);
    let pairs: Vec<u32> = to.iter().flat_map(|(ip, device)| [*ip, device.index]).collect();
    qdisc(at, "forebay_route", |request| {
        if is_one {
            request.put(1, &words(&[first]))
        } else {
            request.put(2, &words(&pairs))
        }
        copies.into_iter().for_each(|device| request.put(3, &words(&[device.index])));
    })
}

/// Adds a class to a qdisc, with options that `fill` writes.
pub(crate) fn class(qdisc: At<'_>, minor: u16, kind: &str, fill: impl FnOnce(&mut Request)) -> Message {
    let own = qdisc.handle | u32::from(minor);
    let mut request = traffic_control(NEW_CLASS, CREATE, (qdisc.device, own, qdisc.handle, 0));
    request.put(1, &name(kind));
    request.nest(OPTIONS | NESTED, fill);
    request.end(qdisc.device.namespace, format!("add a class to {kind} of {}", qdisc.device.name))
}

/// The class of a packet in a qdisc is its destination port less `port`, plus `first` (0 or 1).
pub(crate) fn class_by_port(qdisc: At<'_>, port: u16, first: u32) -> Message {
    const ALL_PROTOCOLS: u16 = 3;
    const DESTINATION_PORT: u32 = 1 << 4;
    const MAP: u32 = 0;
    let info = 1 << 16 | u32::from(ALL_PROTOCOLS.to_be());
    let mut request = traffic_control(NEW_FILTER, CREATE & !0x200, (qdisc.device, 1, qdisc.handle, info));
    request.put(1, b"flow\0");
    request.nest(OPTIONS | NESTED, |request| {
        request.put(1, &words(&[DESTINATION_PORT]));
        request.put(2, &words(&[MAP]));
        // The kernel adds the smallest class, which cannot be 0.
        request.put(3, &words(&[qdisc.handle | 1]));
        request.put(5, &words(&[first.wrapping_sub(1).wrapping_sub(u32::from(port))]));
    });
    request.end(qdisc.device.namespace, format!("classify packets by port at {}", qdisc.device.name))
}

/// Options of tbf: rate in bytes/s, bucket in bytes.
pub(crate) fn tbf(request: &mut Request, rate: u64, bucket: u32) {
    // struct tc_tbf_qopt: rate and peak rate (linklayer "ethernet" in the second byte), limit, buffer, mtu.
    let mut parameters = vec![0, 1, 0, 0, 0, 0, 0, 0];
    parameters.extend(u32::try_from(rate).unwrap_or(u32::MAX).to_le_bytes());
    parameters.extend([0; 12]);
    parameters.extend(words(&[1 << 20, 0, 0]));
    request.put(1, &parameters);
    request.put(6, &words(&[bucket]));
    if u32::try_from(rate).is_err() {
        request.put(4, &rate.to_le_bytes());
    }
}

/// Losses of netem, as parts of 2^32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Loss {
    /// Each packet is lost with this probability, independently of the others.
    Plain(u32),
    /// Good to bad, bad to good, kept in the bad state, lost in the good state.
    GilbertElliott([u32; 4]),
}

/// Options of netem: delay in ns, rate in bytes/s (0: none), limit in packets, losses, seed.
pub(crate) fn netem(request: &mut Request, delay: u64, rate: u64, limit: u32, loss: Option<Loss>, seed: u64) {
    let plain = if let Some(Loss::Plain(share)) = loss { share } else { 0 };
    // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter.
    request.raw(&words(&[0, limit, plain, 0, 0, 0]));
    request.put(10, &delay.to_le_bytes());
    if rate > 0 {
        request.put(6, &words(&[u32::try_from(rate).unwrap_or(u32::MAX), 0, 0, 0]));
        if u32::try_from(rate).is_err() {
            request.put(8, &rate.to_le_bytes());
        }
    }
    if let Some(Loss::GilbertElliott(shares)) = loss {
        request.nest(5 | NESTED, |request| request.put(2, &words(&shares)));
    }
    request.put(14, &seed.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_nested_attributes_include_their_headers() {
        let mut request = Request::new(NEW_QDISC, 0, &[]);
        request.nest(OPTIONS, |request| {
            request.put(1, &[1, 2, 3]);
            request.put(2, &[4]);
        });
        let message = request.end(0, String::new());
        // Header 16, outer 4, first 4 + 3 + padding 1, second 4 + 1 + padding 3.
        assert_eq!(message.bytes.len(), 36);
        assert_eq!((message.bytes[0], message.bytes[16], message.bytes[20], message.bytes[28]), (36, 17, 7, 5));
    }

    #[test]
    fn rates_beyond_32_bits_have_their_own_attribute() {
        let len = |rate| {
            let mut request = Request::new(NEW_QDISC, 0, &[]);
            tbf(&mut request, rate, 1500);
            request.0.len()
        };
        assert_eq!(len(1 << 33) - len(1 << 20), 12);
    }
}
