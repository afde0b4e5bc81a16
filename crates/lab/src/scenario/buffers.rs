//! Buffers given as time or as bandwidth-delay products: `queue = "50ms"`, `queue = "1bdp"`.
//!
//! [`resolve`] replaces them by bytes before a case is read. A time becomes the number of bytes that the link sends in
//! this time. A bandwidth-delay product becomes the number of bytes that the link sends in one base round trip. The
//! base round trip of a dumbbell is twice the sum of three delays: bottleneck, egress, and mean of the access links.

use forebay_aqm::base::text;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;

use crate::document::{Node, Value};
use crate::input::InputError;

const KEY: &str = "queue";
const NEEDS_RATE: &str = "a size such as 100p or 160kb; a time needs the link's rate";
const NEEDS_DUMBBELL: &str = "a size such as 100p, 160kb or 50ms; bdp is defined for a dumbbell";

/// A buffer relative to the rate of its link.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Relative {
    Time(Span),
    /// Multiple of the bandwidth-delay product.
    Bdp(f64),
}

fn relative(words: &str) -> Option<Relative> {
    if let Some(number) = words.trim().strip_suffix("bdp") {
        let number = text::number(number.trim()).ok().filter(|number| *number > 0.0 && *number <= 1e6);
        return number.map(Relative::Bdp);
    }
    text::span(words).ok().filter(|span| *span > Span::ZERO).map(Relative::Time)
}

/// Replaces every buffer of the topology that is a time or a bandwidth-delay product by its size in bytes.
///
/// # Errors
/// The link of such a buffer has no rate, or a bandwidth-delay product is in a topology other than a dumbbell.
pub(crate) fn resolve(root: &mut Node) -> Result<(), InputError> {
    let Value::Table(entries) = &mut root.value else { return Ok(()) };
    let Some(topology) = entries.iter_mut().find(|entry| entry.key == "topology") else { return Ok(()) };
    let round_trip = round_trip(&topology.node);
    in_table(&mut topology.node, "topology", None, round_trip)
}

/// Replaces the buffers in `node` and below it. `path`: the key of `node`. `above`: the rate of the enclosing table.
fn in_table(node: &mut Node, path: &str, above: Option<Rate>, round_trip: Option<Span>) -> Result<(), InputError> {
    let rate = node.get("rate").and_then(|rate| text::rate(rate.text()?).ok()).or(above);
    match &mut node.value {
        Value::Table(entries) => {
            for entry in entries {
                let path = format!("{path}.{}", entry.key);
                let buffer = entry.node.text().filter(|_| entry.key == KEY).and_then(relative);
                let Some(buffer) = buffer else {
                    in_table(&mut entry.node, &path, rate, round_trip)?;
                    continue;
                };
                let rate = rate.ok_or_else(|| entry.node.error(path.clone(), NEEDS_RATE))?;
                let seconds = match buffer {
                    Relative::Time(span) => span.secs(),
                    Relative::Bdp(times) => {
                        times * round_trip.ok_or_else(|| entry.node.error(path, NEEDS_DUMBBELL))?.secs()
                    }
                };
                entry.node.value = Value::Text(format!("{}b", (rate.0 as f64 * seconds / 8.0).round().max(1.0)));
            }
        }
        Value::List(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                in_table(item, &format!("{path}[{i}]"), rate, round_trip)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The base round trip of a dumbbell. The key `rtt` of flows has no effect on it.
fn round_trip(topology: &Node) -> Option<Span> {
    topology.get("kind").and_then(Node::text).filter(|kind| *kind == "dumbbell")?;
    let time = |node: &Node| text::span(node.text()?).ok();
    let delay = |key: &str| time(topology.get(key)?.get("delay")?);
    let access = topology.get("access")?;
    let groups: Vec<&Node> = match &access.value {
        Value::List(groups) => groups.iter().collect(),
        _ => vec![access],
    };
    let delays = groups.iter().filter_map(|group| group.get("delays")).filter_map(|delays| match &delays.value {
        Value::List(all) => all.iter().map(time).collect::<Option<Vec<Span>>>(),
        _ => None,
    });
    let delays: Vec<Span> = delays.flatten().collect();
    let mean = delays.iter().map(|delay| delay.nanos()).sum::<u64>().checked_div(delays.len() as u64)?;
    let one_way = delay("bottleneck")? + delay("egress").unwrap_or(Span::ZERO) + Span::from_nanos(mean);
    Some(one_way + one_way)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{self, Overrides};
    use forebay_aqm::base::units::Limit;

    const BELL: &str = "version = 1\nduration = \"20s\"\n[topology]\nkind = \"dumbbell\"\n\
        bottleneck = { rate = \"10mbit\", delay = \"10ms\", queue = \"50ms\" }\n\
        access = { rate = \"100mbit\", delays = [\"5ms\", \"15ms\"] }\negress = { delay = \"5ms\" }\n\
        [[flows]]\nkind = \"ftp\"\n";

    fn limits(sets: &[&str]) -> Result<Vec<Limit>, InputError> {
        let sets = sets.iter().map(|set| (*set).to_string()).collect();
        let cases = load::parse("a.toml", BELL, &Overrides { sets, ..Overrides::default() })?;
        Ok(cases[0].scenario.topology.links().iter().map(|link| link.link.limit).collect())
    }

    #[test]
    fn buffer_time_becomes_bytes_at_link_rate() {
        assert_eq!(limits(&[]).unwrap()[0], Limit::Bytes(62_500));
        assert_eq!(limits(&["topology.bottleneck.rate=20mbit"]).unwrap()[0], Limit::Bytes(125_000));
    }

    /// At 10 Mb/s, the round trip of 2 x (10 + 5 + 10) ms corresponds to 62,500 bytes.
    #[test]
    fn bdp_uses_the_base_round_trip() {
        assert_eq!(limits(&["topology.bottleneck.queue=1bdp"]).unwrap()[0], Limit::Bytes(62_500));
        assert_eq!(limits(&["topology.bottleneck.queue=0.5bdp"]).unwrap()[0], Limit::Bytes(31_250));
    }

    #[test]
    fn invalid_buffer_errors_state_their_location() {
        let error = limits(&["topology.bottleneck.queue=50mz"]).unwrap_err().to_string();
        assert!(error.contains("topology.bottleneck.queue") && error.contains("50ms"), "{error}");
        let graph = "version = 1\nduration = \"2s\"\n[topology]\nkind = \"graph\"\nnodes = [\"a\", \"b\"]\n\
            [[topology.links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\nqueue = \"1bdp\"\n";
        let error = load::parse("g.toml", graph, &Overrides::default()).unwrap_err().to_string();
        assert!(error.contains("bdp is defined for a dumbbell") && error.starts_with("g.toml:10"), "{error}");
    }
}
