//! The hosts' links on both sides of a dumbbell or parking lot.

use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Limit, Rate};
use forebay_sim::network::{Conditions, Lane};
use serde_json::Value as Json;

use super::access_networks::{PRESET, Preset};
use super::{MOST_NODES, tables, wire};
use crate::declare::{
    BUFFER, Key, Keys, LINK_RATE, NAME, Quantities, Setting, TIME, Table, may, names, need, schema, table, table_of,
    whole_number,
};
use crate::document::{Node, Text, Value};
use crate::input::InputError;

/// The keys of both sides.
pub(super) const SIDES: &[Key] = &[
    need(
        "access",
        || schema::either(&[table_of::<Access>("The senders' links, equal both ways."), schema::many(named_access())]),
        "The senders' links, or a list of groups, each with a name.",
    ),
    may("egress", egress_table, "The receivers' links, one per host, of access groups without a key egress."),
];

/// Keys of a group of hosts, in addition to those of [`Access`].
const NAMED: &[Key] = &[
    need("name", schema::text, "Name of the group, for flows.hosts."),
    may("egress", egress_table, "The receivers' links of this group; default topology.egress."),
];

fn egress_table() -> Json {
    table_of::<Egress>("The receivers' links, one per host, equal in both directions.")
}

fn named_access() -> Json {
    let keys = [NAMED.to_vec(), Access::keys()].concat();
    schema::table("The links of a group of senders, equal in both directions.", None, &keys)
}

table! {
    /// The senders' links.
    pub struct Access {
        /// Name of the group, for `flows.hosts`; `None` only if there is one group.
        - name: Option<String> = |table: &Table<'_>| table.given("name", &NAME);
        /// Hosts on either side; default the number of delays.
        hosts: u32 = whole_number::<u32>(1, MOST_HOSTS), or_else |table| Ok(table.needed("delays", &DELAYS)?.len() as u32);
        /// Capacity, such as 10mbit; at most 100gbit. Needed without rate_trace.
        rate: Rate = LINK_RATE, or_else |table| wire::rate(table, None);
        /// One-way delays: host h has delays[h mod n].
        delays: Vec<Span> = DELAYS;
        /// Buffer of each link; default 10000p.
        queue: Limit = BUFFER, or Limit::Packets(10_000);
        /// Processing time of a packet, uniform from 0 to this; default 10us.
        jitter: Span = TIME, or JITTER;
        /// Losses and rate changes of each link, independent in each direction.
        ..wire: Conditions;
    }
}

table! {
    /// The receivers' links of an access group.
    pub struct Egress {
        + PRESET;
        /// Capacity of each link; default that of the (first) access links.
        rate: Rate = LINK_RATE, or_else |table| wire::rate(table, preset(table)?.map(|preset| preset.levels().mean()));
        /// One-way delay; needed without a preset.
        delay: Span = TIME, or_else |table| match preset(table)? {
            Some(preset) => Ok(preset.delay),
            None => table.needed("delay", &TIME),
        };
        /// Buffer of each link; default that of the access links.
        queue: Limit = BUFFER, or_else |table| match preset(table)? {
            Some(preset) => Ok(preset.queue),
            None => table.setting.like.map_or_else(|| table.needed("queue", &BUFFER), |like| Ok(like.limit)),
        };
        /// Losses and rate changes of each link, independent in each direction.
        ..wire: Conditions;
    }
    finish |egress: Egress, table: &Table<'_>| {
        let Some(preset) = preset(table)? else { return Ok(egress) };
        let mut wire = egress.wire.clone();
        if RATES.iter().all(|key| table.get(key).is_none()) {
            wire.levels = Some(preset.levels());
        }
        if table.get("loss").is_none() {
            wire.loss = Some(preset.losses());
        }
        Ok(Egress { wire, ..egress })
    };
}

const DELAYS: Quantities<Span> = Quantities(TIME, "a list of times, such as [\"10ms\", \"50ms\"]");

/// Default longest processing time of hosts.
pub(super) const JITTER: Span = Span::from_micros(10);

/// Most hosts on a side.
const MOST_HOSTS: u32 = 10_000;

/// Keys that set the rate of a link; each replaces the rates of the preset.
const RATES: [&str; 4] = ["rate", "rate_steps", "rate_trace", "rate_levels"];

fn preset(table: &Table<'_>) -> Result<Option<&'static Preset>, InputError> {
    table.get(PRESET.name).map(|_| table.word(PRESET.name, None, &Preset::all())).transpose()
}

impl Access {
    /// A link of the group, without its delay.
    pub fn lane(&self) -> Lane {
        Lane { conditions: self.wire.clone(), ..Lane::plain(self.rate, Span::ZERO, self.queue) }
    }
}

impl Egress {
    /// A link of the group.
    pub fn lane(&self) -> Lane {
        Lane { conditions: self.wire.clone(), ..Lane::plain(self.rate, self.delay, self.queue) }
    }
}

/// Reads `access` and `egress`: the senders' and the receivers' links, by access group.
pub(super) fn sides(table: &Table<'_>) -> Result<(Vec<Access>, Vec<Egress>), InputError> {
    let groups = access(table)?;
    let shared = table.get("egress");
    let first = groups.first().map_or(Rate(0), |(group, _)| group.rate);
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for (group, own) in groups {
        // Checked even if no group uses it.
        let like = Lane::plain(first, Span::ZERO, group.queue);
        let of_all = shared.map(|node| egress(node, &table.path_of("egress"), &like)).transpose()?;
        let missing = || table.missing("egress", "a table with delay, or a key egress in each access group");
        receivers.push(own.or(of_all).ok_or_else(missing)?);
        senders.push(group);
    }
    Ok((senders, receivers))
}

/// Reads a table `egress`; rate and buffer default to those of `like`.
fn egress(node: &Node, path: &str, like: &Lane) -> Result<Egress, InputError> {
    Table::whole_of(node, path, Setting { like: Some(like), ..Setting::default() })
}

fn access(table: &Table<'_>) -> Result<Vec<(Access, Option<Egress>)>, InputError> {
    let node = table.node("access", "a table with rate and delays")?;
    if !matches!(node.value, Value::List(_)) {
        return Ok(vec![(Table::whole_of(node, "topology.access", table.setting)?, None)]);
    }
    let mut out: Vec<(Access, Option<Egress>)> = Vec::new();
    for (item, path) in tables(table, "access", MOST_NODES)? {
        let group = named_group(item, &path)?;
        if out.iter().any(|(other, _)| other.name == group.0.name) {
            let at = item.get("name").unwrap_or(item);
            return Err(at.error(format!("{path}.name"), "a name unique among groups"));
        }
        out.push(group);
    }
    Ok(out)
}

/// A group, and the links of its receivers if given.
fn named_group(node: &Node, path: &str) -> Result<(Access, Option<Egress>), InputError> {
    let table = Table::bare(node, path, Setting::default())?;
    table.expect(&names(&[NAMED.to_vec(), Access::keys()].concat()), &[])?;
    table.node("name", "a name for the group, for flows.hosts")?;
    let access = Access::read(&table)?;
    let like = access.lane();
    let own = table.get("egress").map(|node| egress(node, &table.path_of("egress"), &like)).transpose()?;
    Ok((access, own))
}

/// Writes both sides: `egress` once if it is the same for all groups.
pub(super) fn write_sides(out: &mut Text, access: &[Access], egress: &[Egress]) {
    let is_shared = egress.windows(2).all(|pair| pair[0] == pair[1]);
    for (group, egress) in access.iter().zip(egress) {
        match &group.name {
            None => out.line("\n[topology.access]"),
            Some(name) => {
                out.line("\n[[topology.access]]");
                out.text("name", name);
            }
        }
        group.write(out);
        if !is_shared {
            out.line("\n[topology.access.egress]");
            egress.write(out);
        }
    }
    if let Some(egress) = egress.first().filter(|_| is_shared) {
        out.line("\n[topology.egress]");
        egress.write(out);
    }
}
