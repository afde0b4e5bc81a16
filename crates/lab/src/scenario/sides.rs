//! The hosts' links on either side of a dumbbell or parking lot.

use forebay_aqm::base::text::BadValue;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Limit, Rate};
use forebay_sim::network::Conditions;

use super::access_networks::{Preset, WORDS};
use super::doc::{Node, Value};
use super::error::InputError;
use super::listed::{MOST_NODES, name, tables};
use super::net::{Access, Egress};
use super::shape::{Key, Kind, Shape, may, need};
use super::table::{Table, quantity};
use super::values::{queue, time};
use super::wire::{CAPACITY, WIRE, losses, rated};

pub(crate) const SIDES: &[Key] = &[
    need(
        "access",
        Kind::TableOrMany(&ACCESS, &NAMED_ACCESS),
        "The senders' links; a list of groups, each with a name.",
    ),
    may("egress", Kind::Table(&EGRESS), "The receivers' links, one per host; of access groups without their own."),
];

const HOST_LINKS: &[Key] = &[
    may("hosts", HOSTS, "Hosts on either side; default as many as there are delays."),
    CAPACITY,
    need("delays", Kind::Quantities, "One-way delays: host h has delays[h mod n]."),
    may("queue", Kind::Quantity, "Buffer of each link; default 10000p."),
    may("jitter", Kind::Quantity, "Processing time of a packet, uniform from 0 to this; default 10us."),
];

static ACCESS: Shape =
    Shape { doc: "The senders' links, either way alike.", tag: None, groups: &[HOST_LINKS, WIRE], later: &[] };

static NAMED_ACCESS: Shape = Shape {
    doc: "The links of a group of senders, either way alike.",
    tag: None,
    groups: &[
        &[
            need("name", Kind::Text, "What flows call the group."),
            may("egress", Kind::Table(&EGRESS), "The links of its receivers; default topology.egress."),
        ],
        HOST_LINKS,
        WIRE,
    ],
    later: &[],
};

static EGRESS: Shape = Shape {
    doc: "The receivers' links, one per host, either way alike.",
    tag: None,
    groups: &[
        &[
            may("preset", Kind::Word(WORDS), "An access network, whose figures hold where other keys do not say."),
            may("rate", Kind::Quantity, "Capacity of each link; default that of the (first) access links."),
            may("delay", Kind::Quantity, "One-way delay; needed without a preset."),
            may("queue", Kind::Quantity, "Buffer of each link; default that of the access links."),
        ],
        WIRE,
    ],
    later: &[],
};

/// The default processing time of hosts.
pub(crate) const JITTER: Span = Span::from_micros(10);

/// The most hosts on a side.
const MOST_HOSTS: u32 = 10_000;
const HOSTS: Kind = Kind::Whole(1, MOST_HOSTS);

/// Reads `access` and `egress`: the links of the senders and of the receivers, by access group.
pub(crate) fn sides(table: &Table<'_>) -> Result<(Vec<Access>, Vec<Egress>), InputError> {
    let groups = access(table)?;
    let shared = table.get("egress");
    let first = groups.first().map_or(Rate(0), |(group, _)| group.rate);
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for (group, own) in groups {
        // Also where no group needs it, what is written has to be sound.
        let path = table.path_of("egress");
        let of_all = shared.map(|node| egress(node, &path, first, group.queue)).transpose()?;
        let missing = || table.missing("egress", "a table with delay, or one of its own in each access group");
        receivers.push(own.or(of_all).ok_or_else(missing)?);
        senders.push(group);
    }
    Ok((senders, receivers))
}

fn access(table: &Table<'_>) -> Result<Vec<(Access, Option<Egress>)>, InputError> {
    let node = table.node("access", "a table with rate and delays")?;
    if !matches!(node.value, Value::List(_)) {
        return Ok(vec![access_group(node, "topology.access", &ACCESS)?]);
    }
    let mut out: Vec<(Access, Option<Egress>)> = Vec::new();
    for (item, path) in tables(table, "access", MOST_NODES)? {
        let group = access_group(item, &path, &NAMED_ACCESS)?;
        if out.iter().any(|(other, _)| other.name == group.0.name) {
            let at = item.get("name").unwrap_or(item);
            return Err(at.error(format!("{path}.name"), "a name that no other group has"));
        }
        out.push(group);
    }
    Ok(out)
}

/// A group, and the links of its receivers if it says what they are.
fn access_group(node: &Node, path: &str, shape: &Shape) -> Result<(Access, Option<Egress>), InputError> {
    let table = Table::open(node, path, shape)?;
    let is_named = shape.names().contains(&"name");
    let name = if is_named { name(&table)? } else { None };
    if is_named && name.is_none() {
        return Err(table.missing("name", "a name for the group, which flows call it by"));
    }
    let (rate, wire) = rated(&table, None)?;
    let accepts = "a list of times, such as [\"10ms\", \"50ms\"]";
    let delays = table
        .list("delays", accepts)?
        .into_iter()
        .map(|(item, path)| quantity(item, &path, time))
        .collect::<Result<Vec<_>, _>>()?;
    if delays.is_empty() {
        return Err(table.bad("delays", BadValue::new(accepts)));
    }
    let hosts = table.whole("hosts", delays.len() as u32, 1..=MOST_HOSTS)?;
    let access = Access {
        name,
        hosts,
        rate,
        delays,
        queue: table.or("queue", Limit::Packets(10_000), queue)?,
        jitter: table.or("jitter", JITTER, time)?,
        wire,
    };
    let own = if is_named { table.get("egress") } else { None };
    let own = own.map(|node| egress(node, &table.path_of("egress"), access.rate, access.queue)).transpose()?;
    table.done(shape);
    Ok((access, own))
}

/// What says how fast a link is; any of them takes the place of the preset's.
const RATES: [&str; 4] = ["rate", "rate_steps", "rate_trace", "rate_levels"];

/// One table `egress`; without a preset rate and buffer are these unless it says otherwise.
fn egress(node: &Node, path: &str, rate: Rate, limit: Limit) -> Result<Egress, InputError> {
    let table = Table::open(node, path, &EGRESS)?;
    let presets = Preset::all();
    let preset = match table.get("preset") {
        Some(_) => Some(table.word("preset", None, &presets, &[])?),
        None => None,
    };
    let has_rate = RATES.iter().any(|key| table.get(key).is_some());
    let (rate, mut wire) = match preset.map(Preset::levels) {
        Some(levels) if !has_rate => {
            (levels.mean(), Conditions { loss: losses(&table)?, levels: Some(levels), schedule: None })
        }
        Some(levels) => rated(&table, Some(levels.mean()))?,
        None => rated(&table, Some(rate))?,
    };
    if table.get("loss").is_none() {
        wire.loss = preset.map(Preset::losses);
    }
    let delay = match preset {
        Some(preset) => table.or("delay", preset.delay, time)?,
        None => table.need("delay", time)?,
    };
    let queue = table.or("queue", preset.map_or(limit, |preset| preset.queue), queue)?;
    table.done(&EGRESS);
    Ok(Egress { rate, delay, queue, wire })
}
