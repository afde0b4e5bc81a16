//! The canonical text of a scenario: every default written out, in the same shape as the file.

use forebay_aqm::base::text::{show_depth, show_limit, show_rate, show_span};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;
use forebay_sim::loss::LossModel;
use forebay_sim::network::Conditions;
use forebay_sim::schedule::Schedule;

use super::chain::show as show_matrix;
use super::files::show as show_amount;
use super::lines::{Text, list, quote};
use super::model::{Begin, Class, Direction, Files, FlowGroup, FlowKind, Frames, Scenario, TcpOptions};
use super::net::{Access, Egress, Ends, Graph, Link, Topology};
use super::sctp::write_sctp;
use super::values::Uniform;

impl Scenario {
    /// The scenario as a file that reads back as an equal scenario.
    pub fn to_toml(&self) -> String {
        let mut out = Text::default();
        out.set("version", 1);
        out.text("title", &self.title);
        out.text("duration", &show_span(self.duration));
        out.text("warmup", &show_span(self.warmup));
        out.set("packet", self.packet);
        write_topology(&mut out, &self.topology);
        for group in &self.flows {
            write_flows(&mut out, group, &self.topology);
        }
        let specs: Vec<String> = self.compare.iter().map(|c| c.spec.canonical()).collect();
        out.line("\n[compare]");
        out.texts("aqm", specs.iter().map(String::as_str));
        out.texts("labels", self.compare.iter().map(|c| c.label.as_str()));
        out.texts("links", self.compared.iter().map(String::as_str));
        out.line("\n[report]");
        out.texts("series", self.report.series.iter().map(String::as_str));
        if let Some(depth) = self.report.reference {
            out.text("reference", &show_depth(depth));
        }
        if !self.report.theory.is_empty() {
            out.texts("theory", self.report.theory.iter().map(|model| model.word()));
        }
        out.0
    }
}

fn write_topology(out: &mut Text, net: &Topology) {
    out.line("\n[topology]");
    match net {
        Topology::Dumbbell(bell) => {
            out.text("kind", "dumbbell");
            write_link(out, "[topology.bottleneck]", |_| (), &bell.bottleneck);
            write_link(out, "[topology.bottleneck.reverse]", |_| (), &bell.reverse);
            write_hosts(out, &bell.access, &bell.egress);
        }
        Topology::ParkingLot(lot) => {
            out.text("kind", "parking-lot");
            for b in &lot.bottlenecks {
                write_link(out, "[[topology.bottlenecks]]", |out| out.text("name", &b.name), &b.forward);
                write_link(out, "[topology.bottlenecks.reverse]", |_| (), &b.reverse);
            }
            write_hosts(out, &lot.access, &lot.egress);
        }
        Topology::Graph(graph) => write_graph(out, graph),
    }
}

fn write_graph(out: &mut Text, graph: &Graph) {
    out.text("kind", "graph");
    out.texts("nodes", graph.nodes.iter().map(String::as_str));
    out.text("jitter", &show_span(graph.jitter));
    for edge in &graph.links {
        let ends = |out: &mut Text| {
            out.text("name", &edge.name);
            out.text("from", &graph.nodes[edge.from]);
            out.text("to", &graph.nodes[edge.to]);
            out.set("weight", edge.weight);
            out.set("one_way", edge.reverse.is_none());
        };
        write_link(out, "[[topology.links]]", ends, &edge.link);
        if let Some(reverse) = &edge.reverse {
            write_link(out, "[topology.links.reverse]", |_| (), reverse);
        }
    }
}

fn write_link(out: &mut Text, header: &str, first: impl FnOnce(&mut Text), link: &Link) {
    out.line(&format!("\n{header}"));
    first(out);
    out.text("rate", &show_rate(link.rate));
    out.text("delay", &show_span(link.delay));
    out.text("queue", &show_limit(link.queue));
    out.text("aqm", &link.aqm.canonical());
    write_wire(out, &link.wire);
    out.set("study", link.study);
}

/// A trace is written out, so that what is on disk depends on its content and on no other file.
fn write_wire(out: &mut Text, wire: &Conditions) {
    match wire.loss {
        None => {}
        Some(LossModel::Bernoulli(p)) => out.set("loss", format!("{p:?}")),
        Some(LossModel::GilbertElliott { p, r, bad, good }) => {
            out.set("loss", format!("{{ p = {p:?}, r = {r:?}, 1-h = {bad:?}, 1-k = {good:?} }}"));
        }
    }
    if let Some(levels) = &wire.levels {
        let rates = list(levels.rates.iter().map(|rate| quote(&show_rate(*rate))));
        out.set("rate_levels", format!("{{ rates = {rates}, hold = \"{}\" }}", show_span(levels.hold)));
    }
    match wire.schedule.as_deref() {
        None => {}
        Some(Schedule::Steps(steps)) => {
            let rate = |rate: Rate| if rate.0 == 0 { "0bit".to_string() } else { show_rate(rate) };
            // The first is the link's rate.
            let steps = steps.iter().skip(1);
            let step = steps.map(|&(at, r)| list([quote(&show_span(Span::from_nanos(at.nanos()))), quote(&rate(r))]));
            out.set("rate_steps", list(step));
        }
        Some(Schedule::Trace(trace)) => out.set("rate_trace", list(trace.millis().iter().map(u32::to_string))),
    }
}

fn write_hosts(out: &mut Text, access: &[Access], egress: &[Egress]) {
    let is_shared = egress.windows(2).all(|pair| pair[0] == pair[1]);
    for (group, egress) in access.iter().zip(egress) {
        match &group.name {
            None => out.line("\n[topology.access]"),
            Some(name) => {
                out.line("\n[[topology.access]]");
                out.text("name", name);
            }
        }
        out.set("hosts", group.hosts);
        out.text("rate", &show_rate(group.rate));
        out.set("delays", list(group.delays.iter().map(|d| quote(&show_span(*d)))));
        out.text("queue", &show_limit(group.queue));
        out.text("jitter", &show_span(group.jitter));
        write_wire(out, &group.wire);
        if !is_shared {
            write_egress(out, "[topology.access.egress]", egress);
        }
    }
    if let Some(egress) = egress.first().filter(|_| is_shared) {
        write_egress(out, "[topology.egress]", egress);
    }
}

fn write_egress(out: &mut Text, header: &str, egress: &Egress) {
    out.line(&format!("\n{header}"));
    out.text("rate", &show_rate(egress.rate));
    out.text("delay", &show_span(egress.delay));
    out.text("queue", &show_limit(egress.queue));
    write_wire(out, &egress.wire);
}

fn write_ends(out: &mut Text, ends: Ends, net: &Topology) {
    match (ends, net) {
        (Ends::Nodes { from, to }, Topology::Graph(graph)) => {
            out.text("from", &graph.nodes[from]);
            out.text("to", &graph.nodes[to]);
        }
        (Ends::Pairs { access, enter, leave }, _) => {
            if let Some(name) = net.access().get(access).and_then(|group| group.name.as_ref()) {
                out.text("hosts", name);
            }
            if let Topology::ParkingLot(lot) = net {
                out.text("enter", &lot.bottlenecks[enter].name);
                out.text("leave", &lot.bottlenecks[leave].name);
            }
        }
        (Ends::Nodes { .. }, _) => {}
    }
}

const fn kind(group: &FlowGroup) -> &'static str {
    match group.kind {
        FlowKind::Ftp => "ftp",
        FlowKind::Files(files) if files.request.is_some() => "web",
        FlowKind::Files(_) => "file",
        FlowKind::Sctp => "sctp",
        FlowKind::ShortTcp => "short-tcp",
        FlowKind::Cbr { .. } | FlowKind::Poisson { .. } => "cbr",
        FlowKind::OnOff { .. } => "onoff",
        FlowKind::Pareto { .. } => "pareto",
        FlowKind::Voip { .. } => "voip",
        FlowKind::Mmpp { .. } => "mmpp",
        FlowKind::Map { .. } => "map",
        FlowKind::Trace { .. } => "trace",
        FlowKind::Rtp { .. } => "rtp",
    }
}

fn write_flows(out: &mut Text, group: &FlowGroup, net: &Topology) {
    out.line("\n[[flows]]");
    out.text("name", &group.name);
    out.text("kind", kind(group));
    out.set("count", group.count);
    write_ends(out, group.ends, net);
    out.text("direction", if group.direction == Direction::Reverse { "reverse" } else { "forward" });
    if let Some(rtt) = group.rtt {
        out.set("rtt", uniform(rtt));
    }
    if group.kind != FlowKind::Sctp {
        out.set("ecn", group.ecn.show());
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
    if let Some(marker) = &group.marker {
        let per = marker.per.word();
        let (cir, cbs) = (show_rate(marker.cir), show_limit(marker.cbs));
        let table = format!("{{ kind = \"token-bucket\", cir = \"{cir}\", cbs = \"{cbs}\", per = \"{per}\" }}");
        out.set("marker", table);
    }
    match group.kind {
        FlowKind::Ftp | FlowKind::ShortTcp => {}
        FlowKind::Files(files) => write_files(out, &files),
        FlowKind::Sctp => write_sctp(out, &group.transport),
        FlowKind::Cbr { rate, packet } => write_spaced(out, rate, packet, "constant", "constant"),
        FlowKind::Poisson { rate, packet, exponential } => {
            write_spaced(out, rate, packet, "poisson", if exponential { "exponential" } else { "constant" });
        }
        FlowKind::OnOff { rate, on, off, packet } => write_bursts(out, group, (rate, on, off, packet)),
        FlowKind::Pareto { rate, on, off, packet, shape } => {
            write_bursts(out, group, (rate, on, off, packet));
            out.set("shape", format!("{shape:?}"));
        }
        FlowKind::Voip { codec, talk, pause } => {
            out.text("codec", codec.word());
            out.text("talk", &show_span(talk));
            out.text("pause", &show_span(pause));
        }
        FlowKind::Mmpp { packet, phases } | FlowKind::Map { packet, phases } => write_chain(out, group, packet, phases),
        FlowKind::Trace { repeat, begin, .. } => write_play(out, group, "packets", (repeat, begin)),
        FlowKind::Rtp { packet, report, report_size, floor, frames } => {
            match frames {
                Frames::Recorded { repeat, begin } => write_play(out, group, "frames", (repeat, begin)),
                Frames::Synthetic { rate, fps, gop, sigma } => {
                    let rate = quote(&show_rate(rate));
                    out.set("synthetic", format!("{{ rate = {rate}, fps = {fps:?}, gop = {gop}, sigma = {sigma:?} }}"));
                }
            }
            out.set("packet", packet);
            out.text("report", &show_span(report));
            out.set("report_size", report_size);
            out.set("floor", format!("{floor:?}"));
        }
    }
    if group.over_tcp {
        write_tcp(out, &group.transport);
    }
}

/// A recording is written out, so that what is on disk depends on its content and on no other file.
fn write_play(out: &mut Text, group: &FlowGroup, key: &str, (repeat, begin): (bool, Begin)) {
    if let Some(recorded) = &group.recorded {
        out.text(key, &recorded.inline());
    }
    out.set("repeat", repeat);
    out.text("begin", begin.word());
}

fn write_chain(out: &mut Text, group: &FlowGroup, packet: u32, phases: Option<u8>) {
    out.set("packet", packet);
    if let Some(phases) = phases {
        out.set("erlang", phases);
    }
    let Some(chain) = &group.chain else { return };
    if matches!(group.kind, FlowKind::Map { .. }) {
        out.set("d0", show_matrix(&chain.without()));
        out.set("d1", show_matrix(&chain.with()));
    } else {
        let rates = chain.packets.iter().enumerate().map(|(i, row)| row[i]);
        out.set("rates", list(rates.map(|rate| quote(&format!("{rate}/s")))));
        out.set("generator", show_matrix(&chain.generator()));
    }
}

fn write_bursts(out: &mut Text, group: &FlowGroup, (rate, on, off, packet): (Rate, Span, Span, u32)) {
    out.text("rate", &show_rate(rate));
    out.text("on", &show_span(on));
    out.text("off", &show_span(off));
    out.set("packet", packet);
    out.text("transport", if group.over_tcp { "tcp" } else { "udp" });
}

fn write_spaced(out: &mut Text, rate: Rate, packet: u32, spacing: &str, sizes: &str) {
    out.text("rate", &show_rate(rate));
    out.set("packet", packet);
    out.text("spacing", spacing);
    out.text("sizes", sizes);
}

fn write_files(out: &mut Text, files: &Files) {
    out.set("size", show_amount(&files.size, |bytes| quote(&format!("{bytes}b"))));
    match files.count {
        Some(count) => out.set("repeat", count),
        None => out.text("repeat", "forever"),
    }
    out.set("think", show_amount(&files.think, |secs| quote(&show_span(Span::from_secs(secs)))));
    out.set("persistent", !files.fresh);
    out.set("handshake", files.handshake);
    if let Some(request) = files.request {
        out.set("request", request);
    }
}

fn write_tcp(out: &mut Text, tcp: &TcpOptions) {
    out.text("tcp", tcp.variant.word());
    if tcp.variant.profile().is_scalable {
        out.set("l4s", tcp.l4s);
    }
    out.set("initial_window", tcp.initial_window);
    out.set("delayed_ack", tcp.delayed_ack);
    if let Some(first) = tcp.initial_rto {
        out.text("initial_rto", &show_span(first));
    }
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
