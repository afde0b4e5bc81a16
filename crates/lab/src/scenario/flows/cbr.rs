//! Flows of kind `cbr`: packets at a constant mean rate, evenly spaced or Poisson.

use forebay_aqm::base::text::{BadValue, show_rate};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;
use forebay_sim::source::{Pattern, Sizes};

use super::ecn::ECN;
use super::group::START;
use super::{LARGEST_MEAN, Part, Source};
use crate::declare::{RATE, Table, Whole, Words, table, whole_number};
use crate::input::InputError;

table! {
    /// Packets at a constant mean rate, evenly spaced or as a Poisson process.
    pub struct Cbr {
        + ECN;
        + START;
        /// Rate of each flow, at most one packet per microsecond.
        rate: Rate = RATE;
        /// Packet size in bytes on the wire; default the scenario's packet.
        packet: u32 = PACKET, or_else |table| Ok(table.setting.packet);
        /// Distribution of the times between packets; default constant.
        spacing: Spacing = SPACING, or Spacing::Constant;
        /// Distribution of packet sizes; exponential, with packet as the mean, needs spacing poisson. Default constant.
        sizes: Sizes = SIZES, or Sizes::Constant;
    }
    finish sound;
}

/// Size of a datagram in bytes on the wire.
pub(super) const PACKET: Whole<u32> = whole_number(41, 65_535);

/// Distribution of the times between packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal times.
    Constant,
    /// Exponential times.
    Poisson,
}

const SPACING: Words<Spacing> = Words(&[("constant", Spacing::Constant), ("poisson", Spacing::Poisson)]);
const SIZES: Words<Sizes> = Words(&[("constant", Sizes::Constant), ("exponential", Sizes::Exponential)]);

/// Refuses more than one packet per microsecond, and exponential packet sizes without Poisson spacing or with a mean
/// that is not far below the largest packet.
fn sound(cbr: Cbr, table: &Table<'_>) -> Result<Cbr, InputError> {
    spaced(table, "rate", "", cbr.rate, cbr.packet)?;
    let exponential = cbr.sizes == Sizes::Exponential;
    if exponential && cbr.spacing != Spacing::Poisson {
        return Err(table.bad("sizes", BadValue::new("constant, or spacing = \"poisson\"")));
    }
    if exponential && cbr.packet > LARGEST_MEAN {
        return Err(table.bad("packet", BadValue::new(format!("at most {LARGEST_MEAN} with exponential sizes"))));
    }
    Ok(cbr)
}

/// The shortest time between two packets of a flow.
const SHORTEST_GAP: Span = Span::from_micros(1);

/// Refuses a rate of more than one packet of `packet` bytes per microsecond: simulated time has whole nanoseconds, so
/// rounding would distort shorter intervals.
pub(super) fn spaced(
    table: &Table<'_>,
    key: &'static str,
    when: &str,
    rate: Rate,
    packet: u32,
) -> Result<(), InputError> {
    if rate.time_for(packet) >= SHORTEST_GAP {
        return Ok(());
    }
    let most = show_rate(Rate(u64::from(packet) * 8_000_000));
    Err(table.bad(key, BadValue::new(format!("{when}at most one packet of {packet} bytes per microsecond: {most}"))))
}

impl Source for Cbr {
    fn packet(&self, _: u32) -> u32 {
        self.packet
    }
    fn parts(&self, _: bool) -> Vec<Part> {
        let every = self.rate.time_for(self.packet);
        Part::datagrams(match self.spacing {
            Spacing::Constant => Pattern::Constant { every },
            Spacing::Poisson => Pattern::Poisson { every, sizes: self.sizes },
        })
    }
}
