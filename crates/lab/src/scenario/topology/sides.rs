//! The hosts' links on both sides of a dumbbell or parking lot.

use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Limit, Rate};
use forebay_sim::network::{Conditions, Lane};
use serde_json::Value as Json;

use super::access_networks::{PRESET, Preset};
use super::{MAX_NODES, wire};
use crate::declare::{
    BUFFER, Custom, Form, Key, Keys, LINK_RATE, NAME, Quantities, Section, Sections, Setting, TIME, Table, inline, may,
    schema, section, sections, table, table_of, whole_number,
};
use crate::document::{Node, Text, Value};
use crate::input::InputError;

table! {
    /// The senders' links, equal in both directions.
    pub struct Access {
        /// Hosts on either side; default the number of delays.
        hosts: u32 = whole_number::<u32>(1, MAX_HOSTS), or_else |table| Ok(table.needed("delays", &DELAYS)?.len() as u32);
        /// Capacity, such as 10mbit; at most 100gbit; default the mean of rate_trace or rate_levels.
        rate: Rate = LINK_RATE, or_else |table| wire::rate(table, None);
        /// One-way delays, n in number: host h has delays[h mod n].
        delays: Vec<Span> = DELAYS;
        /// Buffer of each link, with the units of a bottleneck; default 10000p.
        queue: Limit = BUFFER, or Limit::Packets(10_000);
        /// Random processing time of a packet at its host, uniform from 0 to this; default 10us.
        jitter: Span = TIME, or JITTER;
        /// Losses and rate changes of each link, independent in each direction.
        ..wire: Conditions;
    }
}

table! {
    /// The receivers' links of an access group.
    pub struct Egress {
        + PRESET;
        /// Capacity of each link; default that of the access links (topology.egress: of the first access group).
        rate: Rate = LINK_RATE, or_else |table| wire::rate(table, preset(table)?.map(|preset| preset.levels().mean()));
        /// One-way delay; needed without a preset.
        delay: Span = TIME, or_else |table| match preset(table)? {
            Some(preset) => Ok(preset.delay),
            None => table.needed("delay", &TIME),
        };
        /// Buffer of each link, with the units of a bottleneck; default that of the access links.
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

/// Default of the longest processing time of a packet at a host.
pub(super) const JITTER: Span = Span::from_micros(10);

/// Most hosts on a side.
const MAX_HOSTS: u32 = 10_000;

/// Keys that set the rate of a link; each replaces the rates of the named access network (key `preset`).
const RATES: [&str; 4] = ["rate", "rate_steps", "rate_trace", "rate_levels"];

fn preset(table: &Table<'_>) -> Result<Option<&'static Preset>, InputError> {
    table.get(PRESET.name).map(|_| table.word(PRESET.name, None, &Preset::all())).transpose()
}

impl Access {
    /// A link of one sender of the group, without its delay.
    pub fn lane(&self) -> Lane {
        Lane { conditions: self.wire.clone(), ..Lane::plain(self.rate, Span::ZERO, self.queue) }
    }
}

impl Egress {
    /// A link of one receiver of the group.
    pub fn lane(&self) -> Lane {
        Lane { conditions: self.wire.clone(), ..Lane::plain(self.rate, self.delay, self.queue) }
    }
}

/// A group of hosts on both sides of a dumbbell or parking lot.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    /// Name, by which the key `hosts` of `[[flows]]` selects the group; `None` only if there is one group.
    pub name: Option<String>,
    /// The senders' links; one per host.
    pub access: Access,
    /// The receivers' links; one per host.
    pub egress: Egress,
}

table! {
    /// The links of a group of senders, equal in both directions.
    struct Group {
        /// Name of the group, for flows.hosts.
        name: String = GROUP_NAME;
        /// The receivers' links of this group; default topology.egress.
        egress: Option<Egress> = OF_GROUP, optional;
        /// The senders' links.
        ..access: Access;
    }
}

const GROUP_NAME: Custom<String> = Custom { accepts: "a name for the group, for flows.hosts", ..NAME };
const ONE: Section<Access> = section("");
const GROUPS: Sections<Group> = sections(MAX_NODES, Group::DOC);
const OF_GROUP: OfGroup = OfGroup;

/// The key `egress` of the topology: the receivers' links of all groups that have no key `egress` themselves. This
/// constant has only its schema: its value is read and written with that of the key `access`, in [`HostsOf`].
pub(super) const EGRESS: Key =
    may("egress", || OF_GROUP.schema(), "The receivers' links, one per host, of access groups without a key egress.");

/// The receivers' links of a group; rate and buffer default to those of its senders.
struct OfGroup;

impl Form for OfGroup {
    type Value = Egress;
    fn schema(&self) -> Json {
        table_of::<Egress>("")
    }
    fn read(&self, table: &Table<'_>, node: &Node, path: &str) -> Result<Egress, InputError> {
        let like = Access::read(table)?.lane();
        egress(node, path, &like)
    }
    fn show(&self, egress: &Egress) -> String {
        inline(egress)
    }
    fn write(&self, out: &mut Text, key: &str, egress: &Egress) {
        out.table(key, |out| egress.write(out));
    }
}

/// Reads a table `egress`; rate and buffer default to those of `like`.
fn egress(node: &Node, path: &str, like: &Lane) -> Result<Egress, InputError> {
    Table::whole_of(node, path, Setting { like: Some(like), ..Setting::default() })
}

/// Format of the keys `access` and `egress` of a network: reads and writes both as one list of groups of hosts.
pub(super) struct HostsOf;
pub(super) const HOSTS: HostsOf = HostsOf;

impl Form for HostsOf {
    type Value = Vec<Hosts>;
    fn schema(&self) -> Json {
        schema::either(&[table_of::<Access>(Access::DOC), GROUPS.schema()])
    }
    fn read(&self, table: &Table<'_>, node: &Node, path: &str) -> Result<Vec<Hosts>, InputError> {
        let groups = groups(table, node, path)?;
        let first = groups.first().map_or(Rate(0), |(_, access, _)| access.rate);
        let shared = table.get(EGRESS.name);
        let hosts = |(name, access, own): (Option<String>, Access, Option<Egress>)| {
            // Checked even if no group uses it.
            let like = Lane::plain(first, Span::ZERO, access.queue);
            let of_all = shared.map(|node| egress(node, &table.path_of(EGRESS.name), &like)).transpose()?;
            let missing = || table.missing(EGRESS.name, "a table with delay, or a key egress in each access group");
            Ok(Hosts { name, access, egress: own.or(of_all).ok_or_else(missing)? })
        };
        groups.into_iter().map(hosts).collect()
    }
    fn show(&self, _: &Vec<Hosts>) -> String {
        String::new()
    }
    fn write(&self, out: &mut Text, key: &str, hosts: &Vec<Hosts>) {
        let shared = hosts.first().filter(|first| hosts.iter().all(|other| other.egress == first.egress));
        for Hosts { name, access, egress } in hosts {
            match name.clone() {
                None => ONE.write(out, key, access),
                Some(name) => {
                    let egress = shared.is_none().then(|| egress.clone());
                    out.item(key, |out| Group { name, egress, access: access.clone() }.write(out));
                }
            }
        }
        if let Some(Hosts { egress, .. }) = shared {
            OF_GROUP.write(out, EGRESS.name, egress);
        }
    }
    fn accepts(&self, _: &Table<'_>, _: &str) -> String {
        "a table with rate and delays".to_string()
    }
}

/// The groups in the key `access`: name, senders' links, and the receivers' links if the group has a key `egress`.
type Groups = Vec<(Option<String>, Access, Option<Egress>)>;

fn groups(table: &Table<'_>, node: &Node, path: &str) -> Result<Groups, InputError> {
    let Value::List(items) = &node.value else { return Ok(vec![(None, ONE.read(table, node, path)?, None)]) };
    let groups = GROUPS.read(table, node, path)?;
    let is_taken = |i: &usize| groups[..*i].iter().any(|other| other.name == groups[*i].name);
    if let Some(i) = (0..groups.len()).find(is_taken) {
        let at = items[i].get("name").unwrap_or(&items[i]);
        return Err(at.error(format!("{path}.{}.name", groups[i].name), "a name unique among groups"));
    }
    Ok(groups.into_iter().map(|Group { name, egress, access }| (Some(name), access, egress)).collect())
}
