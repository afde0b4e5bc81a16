//! The canonical text of a scenario: every default written out, in the same shape as the file.

use std::fmt::Display;

use forebay_aqm::base::text::{show_depth, show_limit, show_rate, show_span};
use forebay_aqm::base::units::Rate;

use super::model::{Class, Direction, Dumbbell, FlowGroup, FlowKind, Scenario, TcpOptions, Topology, Uniform};

/// Lines being gathered.
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// `key = value`, the value as it stands.
    fn set(&mut self, key: &str, value: impl Display) {
        self.line(&format!("{key} = {value}"));
    }

    /// `key = "value"`.
    fn text(&mut self, key: &str, value: &str) {
        self.set(key, quote(value));
    }

    fn texts<'a>(&mut self, key: &str, values: impl IntoIterator<Item = &'a str>) {
        self.set(key, list(values.into_iter().map(quote)));
    }
}

impl Scenario {
    /// The scenario as a file that reads back as an equal scenario.
    pub fn to_toml(&self) -> String {
        let mut out = Text(String::new());
        out.set("version", 1);
        out.text("title", &self.title);
        out.text("duration", &show_span(self.duration));
        out.text("warmup", &show_span(self.warmup));
        out.set("packet", self.packet);
        let Topology::Dumbbell(dumbbell) = &self.topology;
        write_dumbbell(&mut out, dumbbell);
        for group in &self.flows {
            write_flows(&mut out, group);
        }
        let specs: Vec<String> = self.compare.iter().map(|c| c.spec.canonical()).collect();
        out.line("\n[compare]");
        out.texts("aqm", specs.iter().map(String::as_str));
        out.texts("labels", self.compare.iter().map(|c| c.label.as_str()));
        out.line("\n[report]");
        out.texts("series", self.report.series.iter().map(String::as_str));
        if let Some(depth) = self.report.reference {
            out.text("reference", &show_depth(depth));
        }
        out.0
    }
}

fn write_dumbbell(out: &mut Text, net: &Dumbbell) {
    out.line("\n[topology]");
    out.text("kind", "dumbbell");
    out.line("\n[topology.bottleneck]");
    out.text("rate", &show_rate(net.bottleneck.rate));
    out.text("delay", &show_span(net.bottleneck.delay));
    out.text("queue", &show_limit(net.bottleneck.queue));
    out.text("aqm", &net.bottleneck.aqm.canonical());
    out.line("\n[topology.bottleneck.reverse]");
    out.text("queue", &show_limit(net.reverse.queue));
    out.text("aqm", &net.reverse.aqm.canonical());
    out.line("\n[topology.access]");
    out.set("hosts", net.access.hosts);
    out.text("rate", &show_rate(net.access.rate));
    out.set("delays", list(net.access.delays.iter().map(|d| quote(&show_span(*d)))));
    out.text("queue", &show_limit(net.access.queue));
    out.text("jitter", &show_span(net.access.jitter));
    out.line("\n[topology.egress]");
    out.text("rate", &show_rate(net.egress.rate));
    out.text("delay", &show_span(net.egress.delay));
}

fn write_flows(out: &mut Text, group: &FlowGroup) {
    out.line("\n[[flows]]");
    out.text("name", &group.name);
    let kind = match group.kind {
        FlowKind::Ftp => "ftp",
        FlowKind::ShortTcp => "short-tcp",
        FlowKind::Cbr { .. } | FlowKind::Poisson { .. } => "cbr",
        FlowKind::OnOff { .. } => "onoff",
    };
    out.text("kind", kind);
    out.set("count", group.count);
    out.text("direction", if group.direction == Direction::Reverse { "reverse" } else { "forward" });
    if matches!(group.kind, FlowKind::Ftp | FlowKind::ShortTcp) {
        out.set("ecn", group.ecn);
    }
    match group.class {
        Class::Fixed(class) => out.set("class", class),
        Class::Host => out.text("class", "host"),
    }
    if group.kind != FlowKind::ShortTcp {
        out.set("start", uniform(group.start));
    }
    let end = |end: Option<_>| end.map_or("end".to_string(), show_span);
    out.set("active", list(group.active.iter().map(|w| list([quote(&show_span(w.0)), quote(&end(w.1))]))));
    if let Some(rate) = group.arrivals {
        out.text("arrivals", &format!("{rate}/s"));
    }
    if let Some(lifetime) = group.lifetime {
        out.set("lifetime", uniform(lifetime));
    }
    match group.kind {
        FlowKind::Ftp | FlowKind::ShortTcp => write_tcp(out, &group.transport),
        FlowKind::Cbr { rate, packet } => write_spaced(out, rate, packet, "constant", "constant"),
        FlowKind::Poisson { rate, packet, exponential } => {
            write_spaced(out, rate, packet, "poisson", if exponential { "exponential" } else { "constant" });
        }
        FlowKind::OnOff { rate, on, off, packet } => {
            out.text("rate", &show_rate(rate));
            out.text("on", &show_span(on));
            out.text("off", &show_span(off));
            out.set("packet", packet);
        }
    }
}

fn write_spaced(out: &mut Text, rate: Rate, packet: u32, spacing: &str, sizes: &str) {
    out.text("rate", &show_rate(rate));
    out.set("packet", packet);
    out.text("spacing", spacing);
    out.text("sizes", sizes);
}

fn write_tcp(out: &mut Text, tcp: &TcpOptions) {
    out.text("tcp", tcp.variant.word());
    out.set("initial_window", tcp.initial_window);
    out.set("delayed_ack", tcp.delayed_ack);
    out.text("min_rto", &show_span(tcp.min_rto));
    out.text("max_rto", &show_span(tcp.max_rto));
    out.text("tick", &show_span(tcp.tick));
    out.set("ack", tcp.ack);
    match tcp.window {
        Some(window) => out.set("window", window),
        None => out.text("window", "unlimited"),
    }
    out.set("limited_transmit", tcp.limited_transmit);
    out.set("pacing", tcp.pacing);
}

fn uniform(range: Uniform) -> String {
    format!("{{ uniform = {} }}", list([range.lo, range.hi].map(|t| quote(&show_span(t)))))
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}

/// A TOML basic string.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}
