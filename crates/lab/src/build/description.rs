//! Describes a scenario in a few sentences: links whose results are recorded, traffic, duration.

use forebay_aqm::base::text::{show_limit, show_rate, show_span};
use forebay_aqm::base::time::Span;
use forebay_sim::network::LinkSpec;

use super::lower;
use crate::scenario::{FlowGroup, Scenario};

/// If there are more links or groups of flows than this, only their number is given.
const MAX_LISTED: usize = 6;

/// The sentences, such as `Link: 10mbit, buffer 250p. Traffic: 2 ftp, 1 cbr (voip). Each run 60s, measured after 10s.`
pub(crate) fn description(scenario: &Scenario) -> String {
    // The links are the same without flows, and a network without flows is built faster.
    let idle = Scenario { flows: Vec::new(), ..scenario.clone() };
    let links = lower::network(&idle, &scenario.compare[0].spec, 1).links;
    let studied: Vec<&LinkSpec> = links.iter().filter(|link| link.lane.study).collect();
    let link = |link: &&LinkSpec| {
        let name = if studied.len() > 1 { format!("{} ", link.name) } else { String::new() };
        let conditions = &link.lane.conditions;
        let is_fixed = conditions.levels.is_none() && conditions.schedule.is_none();
        let rate = if is_fixed { show_rate(link.lane.rate) } else { "variable rate".to_string() };
        format!("{name}{rate}, buffer {}", show_limit(link.lane.limit))
    };
    let group = |group: &FlowGroup| {
        let name = if group.name == group.kind.word() { String::new() } else { format!(" ({})", group.name) };
        format!("{} {}{name}", group.count, group.kind.word())
    };
    let links = listed(&studied, link, "links");
    let traffic = listed(&scenario.flows, group, "groups of flows");
    let word = if studied.len() > 1 { "Links" } else { "Link" };
    let run = show_span(scenario.duration);
    let measured = match scenario.warmup {
        Span::ZERO => String::new(),
        warmup => format!(", measured after {}", show_span(warmup)),
    };
    format!("{word}: {links}. Traffic: {traffic}. Each run {run}{measured}.")
}

fn listed<T>(all: &[T], text: impl Fn(&T) -> String, what: &str) -> String {
    if all.len() > MAX_LISTED {
        return format!("{} {what}", all.len());
    }
    all.iter().map(text).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Overrides;

    fn of(text: &str) -> String {
        description(&crate::load::parse("s.toml", text, &Overrides::default()).unwrap()[0].scenario)
    }

    #[test]
    fn description_names_link_traffic_and_duration() {
        let text = "version = 1\nduration = \"60s\"\nwarmup = \"10s\"\n\
            [topology]\nkind = \"dumbbell\"\nbottleneck = { rate = \"10mbit\", delay = \"5ms\", queue = \"250p\" }\n\
            access = { hosts = 3, rate = \"1gbit\", delays = [\"5ms\"] }\negress = { rate = \"1gbit\", delay = \"1ms\" }\n\
            [[flows]]\nkind = \"ftp\"\ncount = 2\n[[flows]]\nkind = \"cbr\"\nname = \"voip\"\nrate = \"64kbit\"\n";
        let want = "Link: 10mbit, buffer 250p. Traffic: 2 ftp; 1 cbr (voip). Each run 60s, measured after 10s.";
        assert_eq!(of(text), want);
    }
}
