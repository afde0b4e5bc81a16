//! What no key shows alone: how many flows there will be, whether buffers hold a packet, classes of hosts.

use forebay_aqm::base::units::Limit;

use super::doc::{Node, Value};
use super::error::{Found, InputError};
use super::model::{Class, Direction, Dumbbell, FlowGroup, FlowKind, Scenario, Topology};

/// The most flows of a scenario, as expected from the rates of arrival. Each takes memory from the start.
pub(crate) const MOST_FLOWS: u32 = 1_000_000;
/// A class is a byte, so that no more hosts have one of their own.
const MOST_CLASSES: u32 = 256;

/// Refuses a scenario, read from `root`, that is sound key by key but not as a whole.
pub(crate) fn check(root: &Node, scenario: &Scenario) -> Result<(), InputError> {
    let Topology::Dumbbell(bell) = &scenario.topology;
    buffers(root, scenario, bell)?;
    let mut total = 0.0;
    for (i, group) in scenario.flows.iter().enumerate() {
        classes(root, i, group, bell.access.hosts)?;
        total += expected(group, scenario);
        if total > f64::from(MOST_FLOWS) {
            let key = if group.kind == FlowKind::ShortTcp { "arrivals" } else { "count" };
            return Err(at_group(root, i, group, key, format!("at most {MOST_FLOWS} flows in all, not {total:.0}")));
        }
    }
    Ok(())
}

/// How many flows of this group to expect within the run.
fn expected(group: &FlowGroup, scenario: &Scenario) -> f64 {
    let per_stream: f64 = match group.arrivals {
        None => group.active.len() as f64,
        Some(rate) => group.active_within(scenario.duration).map(|(from, to)| rate * (to - from).secs()).sum(),
    };
    f64::from(group.count) * per_stream
}

fn classes(root: &Node, i: usize, group: &FlowGroup, hosts: u32) -> Result<(), InputError> {
    if group.class != Class::Host || hosts <= MOST_CLASSES {
        return Ok(());
    }
    let accepts = format!("a class from 0 to 255, or \"host\" with at most {MOST_CLASSES} hosts; there are {hosts}");
    Err(at_group(root, i, group, "class", accepts))
}

/// A buffer in bytes that the largest packet does not fit into would drop them all.
fn buffers(root: &Node, scenario: &Scenario, bell: &Dumbbell) -> Result<(), InputError> {
    let (ahead, back) = (largest(scenario, Direction::Forward), largest(scenario, Direction::Reverse));
    let reverse = ["topology", "bottleneck", "reverse", "queue"];
    let own = reverse.iter().try_fold(root, |node, key| node.get(key)).is_some();
    let needs: [(&[&str], Limit, u32); 3] = [
        (&["topology", "bottleneck", "queue"], bell.bottleneck.queue, if own { ahead } else { ahead.max(back) }),
        (&reverse, bell.reverse.queue, back),
        (&["topology", "access", "queue"], bell.access.queue, ahead.max(back)),
    ];
    for (path, limit, need) in needs {
        if matches!(limit, Limit::Bytes(bytes) if bytes < u64::from(need)) {
            return Err(at(root, path, &path.join("."), format!("at least {need}b, the largest packet it meets")));
        }
    }
    Ok(())
}

/// The largest packet that crosses the bottleneck in this direction; 0 if none does.
fn largest(scenario: &Scenario, direction: Direction) -> u32 {
    let sizes = scenario.flows.iter().filter(|group| group.count > 0).map(|group| {
        let (data, ack) = match group.kind {
            FlowKind::Ftp | FlowKind::ShortTcp => (scenario.packet, group.transport.ack),
            FlowKind::Cbr { packet, .. } | FlowKind::Poisson { packet, .. } | FlowKind::OnOff { packet, .. } => {
                (packet, 0)
            }
        };
        if group.direction == direction { data } else { ack }
    });
    sizes.max().unwrap_or(0)
}

/// An error about `key` of group number `i`.
fn at_group(root: &Node, i: usize, group: &FlowGroup, key: &str, accepts: String) -> InputError {
    let groups = root.get("flows").map(|node| &node.value);
    let node = match groups {
        Some(Value::List(items)) => items.get(i),
        _ => None,
    };
    at(node.unwrap_or(root), &[key], &format!("flows.{}.{key}", group.name), accepts)
}

/// An error at the end of `path`, or at the last table on it that is written.
fn at(from: &Node, path: &[&str], key: &str, accepts: String) -> InputError {
    let mut node = from;
    for step in path {
        match node.get(step) {
            Some(next) => node = next,
            None => return node.place.error(key, Found::thing("nothing"), accepts),
        }
    }
    node.error(key, accepts)
}
