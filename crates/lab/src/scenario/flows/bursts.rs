//! Flows of kinds `onoff` and `pareto`: a constant rate while on, nothing while off.

use forebay_aqm::base::text::{self, BadValue};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;
use forebay_sim::app::Work;
use forebay_sim::network::Traffic;
use forebay_sim::source::Pattern;
use forebay_sim::tcp::TcpOptions;

use super::cbr::{PACKET, spaced};
use super::ecn::ECN;
use super::group::START;
use super::{Part, Source};
use crate::declare::{Key, Number, Parsed, RATE, STATE_TIME, Table, may, schema, table};
use crate::input::InputError;

const MEAN_RATE: Key =
    may("mean_rate", schema::quantity, "Mean rate of each flow over on and off times; in place of rate.");
const TRANSPORT: Key = may(
    "transport",
    || schema::word(&["udp", "tcp"]),
    "Transport: udp, or tcp with its keys, which sends when its window allows. Default udp.",
);

table! {
    /// A constant rate while on, nothing while off; on and off times are exponential.
    pub struct OnOff {
        + START;
        /// Rate and size of packets while on, and mean on and off times.
        ..bursts: Bursts;
        + TRANSPORT;
        + ECN;
        /// The TCP connection; `None` for UDP.
        ..tcp: Option<TcpOptions>;
    }
}

table! {
    /// A constant rate while on, nothing while off; on and off times are Pareto. Many flows together are
    /// self-similar.
    pub struct Pareto {
        + START;
        /// Rate and size of packets while on, and mean on and off times.
        ..bursts: Bursts;
        + TRANSPORT;
        /// Tail index of both times, from 1.05 to 100; default 1.5. For an index of at most 2, the Hurst parameter of
        /// many flows together is (3 - shape)/2.
        shape: f64 = Number(tail_index), or 1.5;
        + ECN;
        /// The TCP connection; `None` for UDP.
        ..tcp: Option<TcpOptions>;
    }
}

table! {
    /// Packets and times of an on-off flow.
    pub struct Bursts {
        /// Rate of each flow while on, at most one packet per microsecond. Give either rate or mean_rate.
        rate: Rate = RATE, or Rate(0);
        + MEAN_RATE;
        /// Mean on time.
        on: Span = STATE_TIME;
        /// Mean off time.
        off: Span = STATE_TIME;
        /// Packet size in bytes on the wire; default the scenario's packet.
        packet: u32 = PACKET, or_else |table| Ok(table.setting.packet);
    }
    finish with_rate;
}

/// Range of the tail index (key `shape`). Close to 1, nearly all times are far shorter than the mean.
const SHAPES: core::ops::RangeInclusive<f64> = 1.05..=100.0;

/// Reads the tail index of a Pareto distribution.
fn tail_index(words: &str) -> Parsed<f64> {
    let index = text::number(words).ok().filter(|x| SHAPES.contains(x));
    index.ok_or_else(|| BadValue::new("a tail index from 1.05 to 100, such as 1.5"))
}

fn with_rate(bursts: Bursts, table: &Table<'_>) -> Result<Bursts, InputError> {
    let Bursts { rate, on, off, packet } = bursts;
    let mean = table.given(MEAN_RATE.name, &RATE)?;
    match (table.get("rate"), mean) {
        (Some(_), None) => spaced(table, "rate", "", rate, packet).map(|()| bursts),
        (None, Some(mean)) => {
            let rate = Rate((mean.0 as f64 * ((on + off).secs() / on.secs())).round() as u64);
            spaced(table, MEAN_RATE.name, "while on ", rate, packet).map(|()| Bursts { rate, ..bursts })
        }
        (None, None) => Err(table.missing("rate", "rate (while on) or mean_rate, such as 40kbit")),
        (Some(_), Some(_)) => Err(table.bad(MEAN_RATE.name, BadValue::new("rate or mean_rate, not both"))),
    }
}

/// Traffic with this pattern: over the TCP connection `tcp`, or over UDP if it is `None`.
fn carried(pattern: Pattern, tcp: Option<TcpOptions>, ecn: bool) -> Vec<Part> {
    match tcp {
        Some(tcp) => Part::only(Traffic::Application(TcpOptions { ecn, ..tcp }, Work::Written(pattern))),
        None => Part::datagrams(pattern),
    }
}

impl Source for OnOff {
    fn tcp(&self) -> Option<TcpOptions> {
        self.tcp
    }
    fn packet(&self, _: u32) -> u32 {
        self.bursts.packet
    }
    fn parts(&self, ecn: bool) -> Vec<Part> {
        let Bursts { rate, on, off, packet } = self.bursts;
        carried(Pattern::OnOff { every: rate.time_for(packet), on, off }, self.tcp, ecn)
    }
}

impl Source for Pareto {
    fn tcp(&self) -> Option<TcpOptions> {
        self.tcp
    }
    fn packet(&self, _: u32) -> u32 {
        self.bursts.packet
    }
    fn parts(&self, ecn: bool) -> Vec<Part> {
        let Bursts { rate, on, off, packet } = self.bursts;
        carried(Pattern::Pareto { every: rate.time_for(packet), on, off, shape: self.shape }, self.tcp, ecn)
    }
}
