//! Flows of kinds `onoff` and `pareto`: a constant rate while on, nothing while off.

use forebay_aqm::base::text::{self, BadValue};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;

use super::ecn::ECN;
use super::error::InputError;
use super::flow_keys::{COMMON, START, TCP, UDP_PACKET};
use super::model::FlowKind;
use super::shape::{Key, Kind, Shape, may, need};
use super::table::{Parsed, Table};
use super::values::{peak, state_time};

/// The shortest time between two packets of a flow.
const SHORTEST_GAP: Span = Span::from_micros(1);

/// Tail indices: nearer to 1 nearly all states are far shorter than their mean.
const SHAPES: core::ops::RangeInclusive<f64> = 1.05..=100.0;
const DEFAULT_SHAPE: f64 = 1.5;

const BURSTS: &[Key] = &[
    START,
    may("rate", Kind::Quantity, "Rate of each flow while it is on, at most a packet a microsecond; or else mean_rate."),
    may("mean_rate", Kind::Quantity, "Mean rate of each flow over on and off times; or else rate."),
    need("on", Kind::Quantity, "Mean on time."),
    need("off", Kind::Quantity, "Mean off time."),
    UDP_PACKET,
    may(
        "transport",
        Kind::Word(&["udp", "tcp"]),
        "What carries the packets; over tcp, with its keys, they are sent when the connection may. Default udp.",
    ),
];

pub(crate) static ONOFF: Shape = Shape {
    doc: "A constant rate while on, nothing while off; both times exponential.",
    tag: Some("onoff"),
    groups: &[COMMON, BURSTS, ECN, TCP],
    later: &[],
};

pub(crate) static PARETO: Shape = Shape {
    doc: "A constant rate while on, nothing while off; both times Pareto. Many together are self-similar.",
    tag: Some("pareto"),
    groups: &[
        COMMON,
        BURSTS,
        &[may(
            "shape",
            Kind::Quantity,
            "Tail index of both times, from 1.05 to 100; up to 2 the Hurst parameter is (3 - shape)/2. Default 1.5.",
        )],
        ECN,
        TCP,
    ],
    later: &[],
};

/// Reads what flows of this shape send; `packet` is the scenario's.
pub(crate) fn bursts(table: &Table<'_>, shape: &Shape, packet: u32) -> Result<FlowKind, InputError> {
    let (on, off) = (table.need("on", state_time)?, table.need("off", state_time)?);
    let packet = table.whole("packet", packet, 41..=65_535)?;
    let rate = on_rate(table, on, off, packet)?;
    Ok(if shape.tag == PARETO.tag {
        FlowKind::Pareto { rate, on, off, packet, shape: table.or("shape", DEFAULT_SHAPE, tail_index)? }
    } else {
        FlowKind::OnOff { rate, on, off, packet }
    })
}

/// A Pareto distribution's tail index.
fn tail_index(words: &str) -> Parsed<f64> {
    let index = text::number(words).ok().filter(|x| SHAPES.contains(x));
    index.ok_or_else(|| BadValue::new("a tail index from 1.05 to 100, such as 1.5"))
}

/// Do packets go over a TCP connection? If not, the keys of TCP are strangers.
pub(crate) fn over_tcp(table: &Table<'_>) -> Result<bool, InputError> {
    let over_tcp = table.word("transport", Some(false), &[("udp", false), ("tcp", true)], &[])?;
    let written: Vec<&Key> = TCP.iter().filter(|key| table.get(key.name).is_some()).collect();
    match written.first() {
        Some(key) if !over_tcp => {
            Err(table.bad(key.name, BadValue::new(format!("no {}, or transport = \"tcp\" beside it", key.name))))
        }
        _ => Ok(over_tcp),
    }
}

/// Refuses a rate at which the time between packets is lost in the clock's nanoseconds, or as good as.
pub(crate) fn spaced(
    table: &Table<'_>,
    key: &'static str,
    when: &str,
    rate: Rate,
    packet: u32,
) -> Result<(), InputError> {
    if rate.time_for(packet) >= SHORTEST_GAP {
        return Ok(());
    }
    let most = text::show_rate(Rate(u64::from(packet) * 8_000_000));
    Err(table.bad(key, BadValue::new(format!("{when}at most a packet of {packet} bytes a microsecond: {most}"))))
}

fn on_rate(table: &Table<'_>, on: Span, off: Span, packet: u32) -> Result<Rate, InputError> {
    let given = table.maybe("rate", text::rate)?;
    let mean = table.maybe("mean_rate", text::rate)?;
    match (given, mean) {
        (Some(rate), None) => spaced(table, "rate", "", rate, packet).map(|()| rate),
        (None, Some(mean)) => {
            let rate = peak(mean, on, off);
            spaced(table, "mean_rate", "while on ", rate, packet).map(|()| rate)
        }
        (None, None) => Err(table.missing("rate", "rate (while on) or mean_rate, such as 40kbit")),
        (Some(_), Some(_)) => Err(table.bad("mean_rate", BadValue::new("rate or mean_rate, not both"))),
    }
}
