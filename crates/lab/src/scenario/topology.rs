//! `[topology]`: the network.

use forebay_aqm::Spec;
use forebay_aqm::base::text::BadValue;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Limit;

use super::doc::{Node, Value};
use super::error::{Found, InputError};
use super::model::{Access, Bottleneck, Dumbbell, Egress, Reverse, Topology};
use super::shape::{Kind, Shape, may, need};
use super::table::{Table, quantity};
use super::values::{link_rate, queue, spec, time};

/// A dumbbell.
pub(crate) static DUMBBELL: Shape = Shape {
    doc: "Hosts on either side of one bottleneck.",
    tag: Some("dumbbell"),
    groups: &[&[
        need("bottleneck", Kind::Table(&BOTTLENECK), "The link under study."),
        need("access", Kind::Table(&ACCESS), "The senders' links."),
        need("egress", Kind::Table(&EGRESS), "The receivers' links, one per host."),
    ]],
    later: &["bottlenecks", "nodes", "links"],
};

static BOTTLENECK: Shape = Shape {
    doc: "The link under study.",
    tag: None,
    groups: &[&[
        need("rate", Kind::Quantity, "Capacity, such as 10mbit; at most 100gbit."),
        need("delay", Kind::Quantity, "One-way propagation delay, such as 10ms."),
        need("queue", Kind::Quantity, "Buffer, such as 100p or 160kb; in bytes it holds the largest packet."),
        may("aqm", Kind::Text, "Discipline, such as raqm q0=50; default droptail."),
        may("reverse", Kind::Table(&REVERSE), "The other direction of the link."),
    ]],
    later: FAULTS,
};

static REVERSE: Shape = Shape {
    doc: "The other direction of the bottleneck: same rate and delay.",
    tag: None,
    groups: &[&[
        may("queue", Kind::Quantity, "Buffer; default that of the bottleneck."),
        may("aqm", Kind::Text, "Discipline; default droptail."),
    ]],
    later: FAULTS,
};

static ACCESS: Shape = Shape {
    doc: "The senders' links.",
    tag: None,
    groups: &[&[
        may("hosts", HOSTS, "Hosts on either side; default as many as there are delays."),
        need("rate", Kind::Quantity, "Capacity of each link; at most 100gbit."),
        need("delays", Kind::Quantities, "One-way delays: host h has delays[h mod n]."),
        may("queue", Kind::Quantity, "Buffer of each link; default 10000p."),
        may("jitter", Kind::Quantity, "Processing time of a packet, uniform from 0 to this; default 10us."),
    ]],
    later: FAULTS,
};

static EGRESS: Shape = Shape {
    doc: "The receivers' links, one per host.",
    tag: None,
    groups: &[&[
        may("rate", Kind::Quantity, "Capacity of each link; default that of the access links."),
        need("delay", Kind::Quantity, "One-way delay."),
    ]],
    later: FAULTS,
};

/// What a link may suffer one day.
const FAULTS: &[&str] = &["loss", "rate_trace"];

/// The most hosts on a side.
const MOST_HOSTS: u32 = 10_000;
const HOSTS: Kind = Kind::Whole(1, MOST_HOSTS);

/// Reads `[topology]`.
pub(crate) fn topology(node: &Node) -> Result<Topology, InputError> {
    let table = Table::bare(node, "topology")?;
    table.word("kind", None, &[("dumbbell", ())], &["parking-lot", "graph"])?;
    table.expect(&DUMBBELL)?;
    let (bottleneck, reverse) = bottleneck(table.node("bottleneck", "a table with rate, delay and queue")?)?;
    let access = access(table.node("access", "a table with rate and delays")?)?;
    let egress = egress(table.node("egress", "a table with delay")?, &access)?;
    table.done(&DUMBBELL);
    Ok(Topology::Dumbbell(Dumbbell { bottleneck, reverse, access, egress }))
}

fn bottleneck(node: &Node) -> Result<(Bottleneck, Reverse), InputError> {
    let table = Table::open(node, "topology.bottleneck", &BOTTLENECK)?;
    let link = Bottleneck {
        rate: table.need("rate", link_rate)?,
        delay: table.need("delay", time)?,
        queue: table.need("queue", queue)?,
        aqm: discipline(&table)?,
    };
    let reverse = match table.get("reverse") {
        None => Reverse { queue: link.queue, aqm: droptail()? },
        Some(node) => {
            let table = Table::open(node, &table.path_of("reverse"), &REVERSE)?;
            let reverse = Reverse { queue: table.or("queue", link.queue, queue)?, aqm: discipline(&table)? };
            table.done(&REVERSE);
            reverse
        }
    };
    table.done(&BOTTLENECK);
    Ok((link, reverse))
}

fn discipline(table: &Table<'_>) -> Result<Spec, InputError> {
    table.get("aqm").map_or_else(droptail, |node| spec(node, &table.path_of("aqm")))
}

fn droptail() -> Result<Spec, InputError> {
    Spec::parse("droptail")
        .map_err(|bad| InputError::new("the default discipline", bad.key, Found::text(&bad.found), bad.accepts))
}

fn access(node: &Node) -> Result<Access, InputError> {
    if let Value::List(_) = node.value {
        let hint = "named access groups are not supported yet".to_string();
        return Err(node.error("topology.access", "one table with rate and delays").hint(hint));
    }
    let table = Table::open(node, "topology.access", &ACCESS)?;
    let rate = table.need("rate", link_rate)?;
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
        hosts,
        rate,
        delays,
        queue: table.or("queue", Limit::Packets(10_000), queue)?,
        jitter: table.or("jitter", Span::from_micros(10), time)?,
    };
    table.done(&ACCESS);
    Ok(access)
}

fn egress(node: &Node, access: &Access) -> Result<Egress, InputError> {
    let table = Table::open(node, "topology.egress", &EGRESS)?;
    let egress = Egress { rate: table.or("rate", access.rate, link_rate)?, delay: table.need("delay", time)? };
    table.done(&EGRESS);
    Ok(egress)
}
