//! Putting a device under a law.

use std::fs;
use std::net::SocketAddr;

use forebay_aqm::base::design::Entry;
use forebay_aqm::base::ladder::BareLaw;
use forebay_aqm::base::text::show_rate;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::{ENTRIES, Spec};

use super::actuator::{Actuator, Kind};
use super::fault::Fault;
use super::metrics::Metrics;
use super::qdisc;
use super::serve::Attachment;
use super::state::{State, started};
use super::{place, undo};
use crate::sys::attach_netlink::{Route, index};

/// The slowest link: below, one packet takes seconds.
const LEAST_RATE: Rate = Rate(8_000);
/// The buffer where none is asked for: so many parts of a second of the rate, but room for some packets.
const BUFFER_PARTS: u64 = 5;
const LEAST_PACKETS: u64 = 30;
/// Packets of an Ethernet: no link has smaller ones, and no kernel makes larger ones.
const PACKETS: std::ops::RangeInclusive<u32> = 64..=65_535;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Order {
    /// The device.
    pub device: String,
    /// Its rate from now on.
    pub rate: Rate,
    /// Its buffer; none: a fifth of a second.
    pub limit: Option<Limit>,
    /// Bytes of a typical packet, header of the link included.
    pub packet: u32,
    /// A law, or droptail for none.
    pub spec: Spec,
    /// What drops and marks; none: the first that works here.
    pub actuator: Option<Kind>,
    /// Where metrics are offered.
    pub metrics: Option<SocketAddr>,
}

impl Order {
    /// The link as the law knows it.
    fn link(&self) -> Link {
        let fifth = (self.rate.0 / 8 / BUFFER_PARTS).max(LEAST_PACKETS * u64::from(self.packet));
        let limit = self.limit.unwrap_or(Limit::Bytes(fifth));
        self.spec.link(&Link { rate: self.rate, limit, mean_packet: Bytes(u64::from(self.packet)) })
    }

    /// The law; none for droptail. Whether it makes sense is found out without touching anything.
    fn law(&self) -> Result<Option<Box<dyn BareLaw>>, Fault> {
        let entry = self.spec.entry();
        let is = |entry: &Entry, name| entry.name == name || entry.variant_of.is_some_and(|(base, _)| base == name);
        if self.spec.get("th").is_some_and(|th| th != "off") {
            return Err(Fault::input(
                "--aqm",
                self.spec.canonical(),
                "no threshold marker (th=off): there is none in the kernel",
            ));
        }
        match entry.rung {
            "law" => Ok(self.spec.fluid(&self.link())),
            _ if is(entry, "droptail") => Ok(None),
            _ => {
                let laws: Vec<&str> =
                    ENTRIES.iter().filter(|entry| entry.rung == "law").map(|entry| entry.name).collect();
                let accepts = format!("a law, which needs counters and no packets ({}), or droptail", laws.join(", "));
                Err(Fault::input("--aqm", entry.name, accepts))
            }
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.rate < LEAST_RATE {
            return Err(Fault::input("--rate", show_rate(self.rate), format!("at least {}", show_rate(LEAST_RATE))));
        }
        if !PACKETS.contains(&self.packet) {
            let accepts = format!("from {} to {} bytes", PACKETS.start(), PACKETS.end());
            return Err(Fault::input("--packet", self.packet.to_string(), accepts));
        }
        if self.link().limit_bytes() < f64::from(self.packet) {
            return Err(Fault::input("--limit", "less than a packet", "room for at least one"));
        }
        Ok(())
    }
}

/// Does it make sense, and would it be permitted? Nothing is touched; the number of the device.
pub fn check(order: &Order) -> Result<u32, Fault> {
    order.check()?;
    order.law()?;
    let Some(number) = index(&order.device) else {
        let accepts = format!("a network device of this network namespace: {}", devices().join(", "));
        return Err(Fault::input("DEV", &order.device, accepts));
    };
    permitted()?;
    match State::of(&order.device)? {
        Some(state) if state.is_served() => Err(taken(&order.device)),
        _ => Ok(number),
    }
}

/// Puts the device under the law; `note` hears what was done in another way than asked for.
pub fn begin(order: &Order, note: &mut dyn FnMut(&str)) -> Result<Attachment, Fault> {
    let number = check(order)?;
    let law = order.law()?;
    clear(&order.device, note)?;
    let metrics = order.metrics.map(Metrics::offer).transpose()?;
    let route = Route::open().map_err(|error| Fault::system("netlink", &error))?;
    let mut state = planned(order, number)?;
    if !state.write(false)? {
        return Err(taken(&order.device));
    }
    let placed = place_all(order, &route, &mut state, note);
    placed.map(|actuator| Attachment::new(state.clone(), order.link(), route, actuator, law, metrics)).map_err(
        |fault| {
            // What could be undone was; the reason for it all is what matters.
            let _ = undo::undo(&state);
            if index(&state.device) == Some(state.index) { fault } else { undo::gone(&state.device) }
        },
    )
}

/// What will be changed.
fn planned(order: &Order, number: u32) -> Result<State, Fault> {
    let pid = std::process::id();
    Ok(State {
        device: order.device.clone(),
        index: number,
        netns: place::netns()?,
        pid,
        started: started(pid).unwrap_or_default(),
        rate: order.rate.0,
        limit: order.link().limit_bytes() as u64,
        packet: u64::from(order.packet),
        aqm: order.spec.canonical(),
        ecn: order.spec.ecn(),
        actuator: order.actuator.unwrap_or(Kind::ALL[0]),
        made_clsact: false,
        before: qdisc::before(&order.device)?,
    })
}

/// The queue, and the first actuator that works.
fn place_all(order: &Order, route: &Route, state: &mut State, note: &mut dyn FnMut(&str)) -> Result<Actuator, Fault> {
    let mtu = route.mtu(state.index).map_err(|error| qdisc::gone(&state.device, "MTU", &error))?;
    qdisc::put(&state.device, order.rate, qdisc::burst(order.rate, mtu), state.limit)?;
    let kinds = order.actuator.map_or(Kind::ALL.to_vec(), |kind| vec![kind]);
    let mut refusals: Vec<String> = Vec::new();
    for kind in kinds {
        state.actuator = kind;
        state.write(true)?;
        match Actuator::put(state) {
            Ok(actuator) => {
                refusals.iter().for_each(|refusal| note(refusal));
                if !refusals.is_empty() {
                    note(&format!("the actuator is {}", kind.word()));
                }
                return Ok(actuator);
            }
            Err(fault) => {
                // The next one must find nothing of it.
                let _ = Actuator::remove(state);
                refusals.push(format!("{}: {fault}", kind.word()));
            }
        }
    }
    Err(Fault::Unavailable(refusals.join("; ")))
}

/// Takes down an attachment whose daemon is gone.
fn clear(device: &str, note: &mut dyn FnMut(&str)) -> Result<(), Fault> {
    let Some(state) = State::of(device)? else { return Ok(()) };
    note(&format!("{device}: the daemon of its last attachment is gone; that is taken down first"));
    undo::undo(&state)
}

fn taken(device: &str) -> Fault {
    Fault::input("DEV", device, format!("a device that is not attached; forebay detach {device} ends what there is"))
}

/// May this process change queues?
fn permitted() -> Result<(), Fault> {
    /// `CAP_NET_ADMIN`, by its number.
    const NET_ADMIN: u64 = 12;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    if mask.is_none_or(|mask| mask >> NET_ADMIN & 1 == 1) {
        return Ok(());
    }
    Err(Fault::Unavailable("attach changes the queue of a device: that takes CAP_NET_ADMIN, which root has".into()))
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
    fn every_law_can_be_asked_and_droptail_needs_none() {
        for entry in ENTRIES.iter().filter(|entry| entry.rung == "law") {
            assert!(order(entry.name).law().unwrap().is_some(), "{}", entry.name);
        }
        for name in ["droptail", "pfifo"] {
            assert!(order(name).law().unwrap().is_none(), "{name}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_said_before_anything_is_touched() {
        let codel = refused(&order("codel"));
        assert!(
            codel.starts_with("--aqm: found 'codel', expected a law") && codel.contains("pi") && codel.contains("raqm")
        );
        assert!(refused(&order("pi th=0.9")).contains("no threshold marker"));
        let slow = Order { rate: Rate(1), ..order("pi") };
        assert_eq!(refused(&slow), "--rate: found '1bit', expected at least 8kbit");
        let small = Order { limit: Some(Limit::Bytes(100)), ..order("pi") };
        assert!(refused(&small).starts_with("--limit: found"));
        assert!(refused(&Order { packet: 20, ..order("pi") }).starts_with("--packet: found '20'"));
        let nowhere = refused(&order("pi"));
        assert!(nowhere.starts_with("DEV: found 'no-such-device', expected") && nowhere.contains("lo"), "{nowhere}");
    }

    #[test]
    fn the_buffer_is_a_fifth_of_a_second_or_the_disciplines_own() {
        assert_eq!(order("pi").link().limit_bytes(), 45e6 / 8.0 / 5.0);
        assert_eq!(order("pi hard_limit=10p").link().limit_bytes(), 15_140.0);
        assert_eq!(Order { rate: Rate(8_000), ..order("pi") }.link().limit_bytes(), 30.0 * 1514.0);
    }
}
