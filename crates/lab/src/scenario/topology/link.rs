//! The keys of a link in a scenario file: those of its forward direction, and `reverse` with those of the other
//! direction.

use forebay_aqm::Spec;
use forebay_aqm::base::text::BadValue;
use forebay_sim::network::{Conditions, Lane};
use serde_json::Value as Json;

use super::wire;
use crate::declare::{AQM, BUFFER, Flag, Form, Key, Keys, LINK_RATE, Setting, TIME, Table, may, names, schema, table};
use crate::document::{Node, Text};
use crate::input::InputError;

table! {
    impl Lane {
        /// Capacity, such as 10mbit; at most 100gbit; default the mean of rate_trace or rate_levels.
        rate: Rate = LINK_RATE, or_else |table| wire::rate(table, None);
        /// One-way propagation delay, such as 10ms.
        delay: Span = TIME, or_like |link| link.delay;
        /// Buffer: packets (100p), bytes (160kb), a time at the link's rate (50ms) or a multiple of the bandwidth-delay
        /// product (1bdp): the rate times the mean base round trip of the flows that cross the link. If it is not in
        /// packets, it must hold the largest packet.
        limit as "queue": Limit = BUFFER, or_like |link| link.limit;
        /// Discipline, such as raqm q0=50; default droptail.
        discipline as "aqm": Spec = AQM, or Spec::default();
        + may("reverse", || REVERSE.schema(), "The reverse direction of the link; rate, delay and queue default to those of the forward direction.");
        /// Losses, rate changes and varying delays.
        ..conditions: Conditions;
        /// Record results for this link. Default: only for bottlenecks.
        study: bool = Flag, or_else |table| Ok(table.setting.studied);
    }
}

/// A link in both directions. `R` is `Lane`, or `Option<Lane>` if the link may be one-way.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoWay<R = Lane> {
    /// From senders to receivers; in a graph from `from` to `to`.
    pub forward: Lane,
    /// From receivers to senders; in a graph from `to` to `from`.
    pub reverse: R,
}

/// The keys of a bottleneck. Its `study` is true by default.
impl Keys for TwoWay {
    fn keys() -> Vec<Key> {
        Lane::keys()
    }
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        let forward = Lane::read(&table.within(Setting { studied: true, ..table.setting }))?;
        let reverse = reverse(table, &forward)?;
        Ok(Self { forward, reverse })
    }
    fn write(&self, out: &mut Text) {
        self.forward.write(out);
        REVERSE.write(out, REVERSE_KEY, &self.reverse);
    }
}

const ONE_WAY: &str = "one_way";

impl Keys for TwoWay<Option<Lane>> {
    fn keys() -> Vec<Key> {
        let one_way = may(ONE_WAY, schema::flag, "Whether the link has no reverse direction; default false.");
        [vec![one_way], Lane::keys()].concat()
    }
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        let forward = Lane::read(table)?;
        if !table.given(ONE_WAY, &Flag)?.unwrap_or(false) {
            let reverse = reverse(table, &forward)?;
            return Ok(Self { forward, reverse: Some(reverse) });
        }
        match table.get(REVERSE_KEY) {
            Some(_) => Err(table.bad(REVERSE_KEY, BadValue::new("no reverse with one_way = true"))),
            None => Ok(Self { forward, reverse: None }),
        }
    }
    fn write(&self, out: &mut Text) {
        out.set(ONE_WAY, self.reverse.is_none());
        self.forward.write(out);
        if let Some(reverse) = &self.reverse {
            REVERSE.write(out, REVERSE_KEY, reverse);
        }
    }
}

const REVERSE_KEY: &str = "reverse";
const REVERSE: Reverse = Reverse;

/// A reverse direction: the keys of a link, all optional, without a further `reverse`.
struct Reverse;

impl Reverse {
    fn keys() -> Vec<Key> {
        let keys = Lane::keys().into_iter().filter(|key| key.name != REVERSE_KEY);
        keys.map(|key| Key { is_needed: false, ..key }).collect()
    }
}

impl Form for Reverse {
    type Value = Lane;
    fn schema(&self) -> Json {
        schema::table("", None, &Self::keys())
    }
    fn read(&self, table: &Table<'_>, node: &Node, path: &str) -> Result<Lane, InputError> {
        let reverse = Table::bare(node, path, table.setting)?;
        reverse.expect(&names(&Self::keys()), &[])?;
        Lane::read(&reverse)
    }
    fn show(&self, lane: &Lane) -> String {
        crate::declare::inline(lane)
    }
    fn write(&self, out: &mut Text, key: &str, lane: &Lane) {
        out.table(key, |out| lane.write(out));
    }
}

/// Reads the reverse direction of a link. Without the key `reverse` it is a drop-tail queue with the rate, delay and
/// buffer of `forward`.
fn reverse(table: &Table<'_>, forward: &Lane) -> Result<Lane, InputError> {
    let setting = Setting { like: Some(forward), studied: false, ..table.setting };
    let given = table.within(setting).given(REVERSE_KEY, &REVERSE)?;
    Ok(given.unwrap_or_else(|| Lane::plain(forward.rate, forward.delay, forward.limit)))
}
