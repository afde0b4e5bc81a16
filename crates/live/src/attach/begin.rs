//! `forebay attach`: attaches a control law to a network device, with an actuator that marks and drops packets and a
//! qdisc that shapes.

use std::fs;
use std::net::SocketAddr;

use forebay_aqm::base::design::{DisciplineKind, Entry};
use forebay_aqm::base::discipline::BareLaw;
use forebay_aqm::base::text::show_rate;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::{ENTRIES, Spec};

use super::kernel::actuator::Actuator;
use super::kernel::fault::Fault;
use super::kernel::kind::Kind;
use super::kernel::place::{self, Lock};
use super::kernel::qdisc;
use super::kernel::rights::permitted;
use super::kernel::state::{State, started};
use super::metrics::Metrics;
use super::serve::Attachment;
use super::undo;
use crate::sys::interfaces;
use crate::sys::netlink::Netlink;

/// Minimum shaping rate, bit/s. Below it one packet takes seconds.
const MIN_RATE: Rate = Rate(8_000);
/// Default buffer: the bytes that the shaping rate sends in 1/BUFFER_PARTS s, but at least MIN_PACKETS packets.
const BUFFER_PARTS: u64 = 5;
const MIN_PACKETS: u64 = 30;
/// Range of packet sizes, bytes: the Ethernet minimum to the largest packet that a kernel sends.
const PACKET_SIZES: std::ops::RangeInclusive<u32> = 64..=65_535;

/// The arguments of `forebay attach`: what to attach, to which device, and how.
#[derive(Clone, Debug)]
pub struct Order {
    /// Name of the network device.
    pub device: String,
    /// Shaping rate.
    pub rate: Rate,
    /// Buffer; `None`: 200 ms at the rate.
    pub limit: Option<Limit>,
    /// Typical packet size in bytes, link-layer header included.
    pub packet: u32,
    /// The control law; `droptail`: none.
    pub spec: Spec,
    /// The actuator; `None`: the first that works.
    pub actuator: Option<Kind>,
    /// Address at which an HTTP server offers metrics; `None`: no server.
    pub metrics: Option<SocketAddr>,
}

impl Order {
    /// The link as the control law sees it: rate, buffer, mean packet size.
    fn link(&self) -> Link {
        let fifth = (self.rate.0 / 8 / BUFFER_PARTS).max(MIN_PACKETS * u64::from(self.packet)).min(qdisc::MAX_BYTES);
        let limit = self.limit.unwrap_or(Limit::Bytes(fifth));
        self.spec.link(&Link { rate: self.rate, limit, mean_packet: Bytes(u64::from(self.packet)) })
    }

    /// The control law to attach; `None` for droptail. Checks the arguments and changes nothing.
    fn law(&self) -> Result<Option<Box<dyn BareLaw>>, Fault> {
        let entry = self.spec.entry();
        let is = |entry: &Entry, name| entry.name == name || entry.variant_of.is_some_and(|(base, _)| base == name);
        if !self.spec.common().th.is_off() {
            return Err(Fault::input("--aqm", self.spec.canonical(), "th=off: attach has no threshold marker"));
        }
        match entry.kind {
            DisciplineKind::Law => match self.spec.fluid(&self.link()) {
                None => Err(Fault::input("--aqm", self.spec.canonical(), "phi=off: attach has no classes")),
                law => Ok(law),
            },
            _ if is(entry, "droptail") => Ok(None),
            _ => {
                let laws: Vec<&str> =
                    ENTRIES.iter().filter(|entry| entry.kind == DisciplineKind::Law).map(|entry| entry.name).collect();
                let accepts = format!("a control law ({}) or droptail", laws.join(", "));
                Err(Fault::input("--aqm", entry.name, accepts))
            }
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.rate < MIN_RATE {
            return Err(Fault::input("--rate", show_rate(self.rate), format!("at least {}", show_rate(MIN_RATE))));
        }
        if !PACKET_SIZES.contains(&self.packet) {
            let accepts = format!("from {} to {} bytes", PACKET_SIZES.start(), PACKET_SIZES.end());
            return Err(Fault::input("--packet", self.packet.to_string(), accepts));
        }
        if self.link().limit_bytes() < f64::from(self.packet) {
            return Err(Fault::input("--limit", "less than a packet", "room for at least one"));
        }
        if self.link().limit_bytes() > qdisc::MAX_BYTES as f64 {
            return Err(Fault::input(
                "--limit",
                "more than tbf can hold",
                format!("at most {} bytes", qdisc::MAX_BYTES),
            ));
        }
        Ok(())
    }
}

/// Checks the arguments and the permissions of `forebay attach`, without changing anything.
pub fn check(order: &Order) -> Result<(), Fault> {
    order.check()?;
    order.law()?;
    let (device, _) = find(&order.device)?;
    permitted("attach")?;
    match State::of(&device)? {
        Some(state) if state.is_served() => Err(taken(&device)),
        _ => Ok(()),
    }
}

/// Finds a device by its name or an alternative name. Returns its current name and its index.
fn find(device: &str) -> Result<(String, u32), Fault> {
    let number = interfaces::index(device).ok();
    number.and_then(|number| Some((interfaces::name(number)?, number))).ok_or_else(|| {
        let accepts = format!("a network device of this network namespace: {}", devices().join(", "));
        Fault::input("DEV", device, accepts)
    })
}

/// Attaches the law to the device. `note` receives messages for the user: that leftovers of an earlier attachment were
/// removed, or that an actuator did not work.
pub fn begin(order: &Order, note: &mut dyn FnMut(&str)) -> Result<Attachment, Fault> {
    check(order)?;
    let law = order.law()?;
    let metrics = order.metrics.map(Metrics::offer).transpose()?;
    let netlink = Netlink::open().map_err(|error| Fault::system("netlink", &error))?;
    let lock = place::lock()?;
    let (device, number) = find(&order.device)?;
    match State::of(&device)? {
        Some(state) if state.is_served() => return Err(taken(&device)),
        Some(state) => {
            note(&format!("{device}: the daemon of the previous attachment is dead; removing its leftovers first"));
            undo::undo(&state, &lock)?;
        }
        None => {}
    }
    let mut state = planned(order, device, number, &netlink)?;
    state.write(&lock)?;
    let placed = place_all(order, &netlink, &mut state, &lock, note);
    match placed {
        Ok(actuator) => Ok(Attachment::new(state, order.link(), netlink, actuator, law, metrics)),
        Err(fault) => Err(match undo::undo(&state, &lock) {
            Ok(()) if state.name().is_none() => undo::gone(&state.device),
            Ok(()) => fault,
            Err(also) => Fault::Failed(format!("{fault}; {also}")),
        }),
    }
}

/// The content of the state file before anything is changed on the machine.
fn planned(order: &Order, device: String, number: u32, netlink: &Netlink) -> Result<State, Fault> {
    let pid = std::process::id();
    Ok(State {
        before: qdisc::before(netlink, &device, number)?,
        device,
        index: number,
        netns: place::netns()?,
        cookie: place::cookie()?,
        pid,
        started: started(pid).unwrap_or_default(),
        rate: order.rate.0,
        limit: order.link().limit_bytes() as u64,
        packet: u64::from(order.packet),
        aqm: order.spec.canonical(),
        ecn: order.spec.ecn(),
        actuator: None,
        made_clsact: false,
        filter: None,
    })
}

/// Installs the first actuator that works, then the qdisc. If no actuator works, the device is unchanged.
fn place_all(
    order: &Order,
    netlink: &Netlink,
    state: &mut State,
    lock: &Lock,
    note: &mut dyn FnMut(&str),
) -> Result<Actuator, Fault> {
    let device = netlink.interface(state.index).map_err(|error| qdisc::gone(&state.device, "MTU", &error))?;
    let kinds = order.actuator.map_or(Kind::ALL.to_vec(), |kind| vec![kind]);
    let mut refusals: Vec<String> = Vec::new();
    for kind in kinds {
        match Actuator::put(kind, state, lock) {
            Ok(actuator) => {
                qdisc::put(&state.device, order.rate, qdisc::burst(order.rate, device.mtu), state.limit)?;
                refusals.iter().for_each(|refusal| note(refusal));
                if !refusals.is_empty() {
                    note(&format!("using actuator {}", kind.word()));
                }
                return Ok(actuator);
            }
            // If a failed actuator could not be removed, do not try the next.
            Err(fault) if state.actuator.is_some() => return Err(fault),
            Err(fault) => refusals.push(format!("{}: {fault}", kind.word())),
        }
    }
    Err(Fault::Unavailable(refusals.join("; ")))
}

fn taken(device: &str) -> Fault {
    Fault::input("DEV", device, format!("a device that is not attached (detach it first: forebay detach {device})"))
}

/// The devices of this network namespace.
fn devices() -> Vec<String> {
    let shown = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    shown.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(aqm: &str) -> Order {
        Order {
            device: "no-such-device".to_string(),
            rate: Rate(45_000_000),
            limit: None,
            packet: 1514,
            spec: Spec::parse(aqm).unwrap(),
            actuator: None,
            metrics: None,
        }
    }

    fn refused(order: &Order) -> String {
        match begin(order, &mut |_| ()) {
            Ok(_) => panic!("{order:?} is attached"),
            Err(fault @ Fault::Input { .. }) => fault.to_string(),
            Err(fault) => panic!("{fault}"),
        }
    }

    #[test]
    fn every_law_attaches_and_droptail_means_no_law() {
        for entry in ENTRIES.iter().filter(|entry| entry.kind == DisciplineKind::Law) {
            assert!(order(entry.name).law().unwrap().is_some(), "{}", entry.name);
        }
        for name in ["droptail", "pfifo"] {
            assert!(order(name).law().unwrap().is_none(), "{name}");
        }
    }

    #[test]
    fn invalid_arguments_are_refused_before_any_change() {
        let codel = refused(&order("codel"));
        assert!(
            codel.starts_with("--aqm: found 'codel', expected a control law")
                && codel.contains("pi")
                && codel.contains("raqm")
        );
        assert!(refused(&order("pi th=0.9")).contains("no threshold marker"));
        assert!(refused(&order("raqm phi=0.4/0.6")).contains("no classes"));
        let slow = Order { rate: Rate(1), ..order("pi") };
        assert_eq!(refused(&slow), "--rate: found '1bit', expected at least 8kbit");
        let small = Order { limit: Some(Limit::Bytes(100)), ..order("pi") };
        assert!(refused(&small).starts_with("--limit: found"));
        assert!(refused(&Order { packet: 20, ..order("pi") }).starts_with("--packet: found '20'"));
        let nowhere = refused(&order("pi"));
        assert!(nowhere.starts_with("DEV: found 'no-such-device', expected") && nowhere.contains("lo"), "{nowhere}");
    }

    /// The buffer without `--limit`: the parameter `hard_limit` of the discipline if it is given, otherwise 200 ms at
    /// the rate, at least 30 packets.
    #[test]
    fn buffer_defaults_to_hard_limit_or_200_ms() {
        assert_eq!(order("pi").link().limit_bytes(), 45e6 / 8.0 / 5.0);
        assert_eq!(order("pi hard_limit=10p").link().limit_bytes(), 15_140.0);
        assert_eq!(Order { rate: Rate(8_000), ..order("pi") }.link().limit_bytes(), 30.0 * 1514.0);
    }
}
