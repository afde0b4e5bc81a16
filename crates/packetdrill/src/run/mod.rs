//! Runs a script: events in order, each at its time, on a connection in simulated time.

mod calls;
mod expect;
mod handshake;

use std::collections::BTreeMap;

use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::tcp::{TcpOptions, Transport, Variant};

use crate::code::{Statement, evaluate, statements};
use crate::connection::{Connection, INFINITE_SSTHRESH, Negotiated};
use crate::report::{Mismatch, Reason, Report, Verdict};
use crate::script::{Action, Event, Options as PacketOptions, Packet, Script, When};
use crate::settings::Settings;
use crate::{Options, SyntaxError};
use handshake::Handshake;

/// Largest segment on a network with packets of 1500 bytes.
const ETHERNET_MSS: u32 = 1460;
/// Headers of IPv4 and TCP.
const HEADERS: u32 = 40;

/// Runs the script `file`, which is already read.
pub(crate) fn run(file: &str, script: &Script, options: &Options) -> Result<Report, SyntaxError> {
    let mut runner = Runner::new(file, script, options)?;
    let mut events = without_reset(&script.events).iter();
    for event in events.by_ref() {
        if let Err(what) = runner.event(event) {
            runner.report.reasons.push(Reason { line: event.line, what });
            break;
        }
    }
    // What follows cannot run. Name what can be seen without running it.
    for event in events {
        if let Some(what) = inexpressible(event)
            && runner.report.reasons.iter().all(|reason| reason.what != what)
        {
            runner.report.reasons.push(Reason { line: event.line, what });
        }
    }
    if runner.report.verdict() == Verdict::Pass && runner.report.compared == 0 {
        let what = "nothing in it is about a sender or receiver of data".to_string();
        runner.report.reasons.push(Reason { line: 1, what });
    }
    Ok(runner.report)
}

/// The events without the RST of the peer that ends the script, and without what follows it.
fn without_reset(events: &[Event]) -> &[Event] {
    let is_idle = |event: &Event| match &event.action {
        Action::Shell(_) => true,
        Action::Call(call) => call.name == "close",
        Action::Packet(_) | Action::Code(_) | Action::Foreign(_) => false,
    };
    match events.iter().rposition(|event| !is_idle(event)) {
        Some(last) if matches!(&events[last].action, Action::Packet(packet) if packet.flags.rst && !packet.is_expected) => {
            &events[..last]
        }
        _ => events,
    }
}

/// Something in a packet that cannot be expressed, whatever happened before.
fn beyond(packet: &Packet) -> Option<String> {
    let of_options = packet.options.as_ref().and_then(|options| options.beyond);
    let what = packet.flags.beyond.or(of_options).or(packet.flags.rst.then_some("RST"));
    what.map(str::to_string)
}

/// Why an event cannot be expressed, as far as it can be seen without running the script.
fn inexpressible(event: &Event) -> Option<String> {
    match &event.action {
        Action::Foreign(what) => Some((*what).to_string()),
        Action::Packet(packet) => beyond(packet),
        Action::Call(_) | Action::Shell(_) | Action::Code(_) => None,
    }
}

/// State of a script that runs.
struct Runner<'a> {
    options: &'a Options,
    report: Report,
    settings: Settings,
    now: Instant,
    /// Largest segment that this end may send.
    most: u32,
    /// Bounds of the segments that the script injects.
    edges: Vec<u32>,
    listener: Option<i64>,
    handshake: Handshake,
    connection: Option<Connection>,
    /// The acknowledgement of the SYN-ACK is not compared.
    ends_handshake: bool,
    is_closing: bool,
    /// The values of timestamps are compared (`--tcp_ts_tick_usecs`).
    compares_stamps: bool,
    tolerance: Tolerance,
    variables: BTreeMap<String, f64>,
}

/// How far a packet may be from its time: the larger of the two.
#[derive(Clone, Copy, Debug)]
struct Tolerance {
    span: Span,
    /// Percent of the time since the event before.
    percent: f64,
}

impl<'a> Runner<'a> {
    fn new(file: &str, script: &Script, options: &'a Options) -> Result<Self, SyntaxError> {
        let mut tolerance = Tolerance { span: Span::from_micros(4000), percent: 12.5 };
        let mut most = ETHERNET_MSS;
        for (name, value, line) in &script.flags {
            let number = |accepts: &str, range: std::ops::RangeInclusive<f64>| {
                let found = value.parse::<f64>().ok().filter(|number| range.contains(number));
                found.ok_or_else(|| SyntaxError {
                    file: file.to_string(),
                    line: *line,
                    found: format!("--{name}={value}"),
                    accepts: accepts.to_string(),
                })
            };
            match name.as_str() {
                "tolerance_usecs" => {
                    tolerance.span = Span::from_micros(number("microseconds, from 1 to 1e9", 1.0..=1e9)? as u64);
                }
                "tolerance_percent" => tolerance.percent = number("percent, from 0 to 100", 0.0..=100.0)?,
                "mtu" => most = number("bytes, from 88 to 65535", 88.0..=65535.0)? as u32 - HEADERS,
                _ => {}
            }
        }
        tolerance.span = options.tolerance.unwrap_or(tolerance.span);
        Ok(Self {
            options,
            report: Report::new(file, options.tcp.unwrap_or_else(default_tcp)),
            settings: Settings::default(),
            now: Instant::ZERO,
            most,
            edges: edges(script, most),
            listener: None,
            handshake: Handshake::default(),
            connection: None,
            ends_handshake: false,
            is_closing: false,
            compares_stamps: script.flags.iter().any(|(name, ..)| name == "tcp_ts_tick_usecs"),
            tolerance,
            variables: BTreeMap::new(),
        })
    }

    /// The earliest and the latest time of an event.
    fn times(&self, when: When) -> (Instant, Instant) {
        match when {
            When::Untimed | When::Any => (self.now, self.now),
            When::At(from, to) => (Instant::ZERO + from, Instant::ZERO + to),
            When::After(from, to) => (self.now + from, self.now + to),
        }
    }

    fn advance(&mut self, to: Instant) -> Result<(), String> {
        if let Some(connection) = &mut self.connection {
            connection.advance(to)?;
        }
        self.now = self.now.max(to);
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<(), String> {
        if let Some(what) = inexpressible(event) {
            return Err(what);
        }
        if let Action::Packet(packet) = &event.action
            && packet.is_expected
        {
            return self.expect(event, packet);
        }
        self.advance(self.times(event.when).0)?;
        match &event.action {
            Action::Packet(packet) => self.inject(event.line, packet),
            Action::Call(call) => self.call(call),
            Action::Shell(command) => self.shell(command),
            Action::Code(code) => self.code(event.line, code),
            Action::Foreign(_) => Ok(()),
        }
    }

    fn shell(&mut self, command: &str) -> Result<(), String> {
        let before = self.settings.clone();
        self.settings.run(command);
        if let Some(what) = self.settings.beyond.take() {
            return Err(what);
        }
        if let Some(connection) = &mut self.connection {
            connection.is_blocked = self.settings.blocked;
            if self.settings != (Settings { blocked: self.settings.blocked, ..before }) {
                return Err("settings that change during a connection".to_string());
            }
        }
        Ok(())
    }

    /// A packet of the peer arrives.
    fn inject(&mut self, line: usize, packet: &Packet) -> Result<(), String> {
        if packet.flags.syn {
            if self.handshake.syn(self.now, packet)? {
                self.ends_handshake = true;
                self.establish()?;
            }
            return Ok(());
        }
        if self.connection.is_none() && self.handshake.is_active {
            return Err("a packet before the handshake".to_string());
        }
        if self.connection.is_none() {
            self.establish()?;
        }
        let Some(connection) = &mut self.connection else { return Ok(()) };
        if let Some(next) = connection.receive(packet)? {
            self.report.compared += 1;
            let acknowledged = packet.ack.unwrap_or_default();
            let expected = format!("data up to {acknowledged}, which this packet acknowledges");
            self.report.mismatches.push(Mismatch { line, expected, came: format!("data up to {next}") });
        }
        Ok(())
    }

    /// The application closes its end of the connection: a FIN follows the data.
    fn close(&mut self) -> Result<(), String> {
        self.is_closing = true;
        match &mut self.connection {
            Some(connection) => connection.close(),
            None => Err("a connection that is closed during the handshake".to_string()),
        }
    }

    /// The handshake has ended.
    fn establish(&mut self) -> Result<(), String> {
        let agreed = self.handshake.agreed(self.most)?;
        let variant = self.variant()?;
        self.report.tcp = variant.word();
        let options = TcpOptions {
            variant,
            initial_window: self.settings.initial_window,
            delayed_ack: true,
            initial_rto: Some(self.settings.initial_rto),
            min_rto: self.settings.min_rto,
            max_rto: Span::from_millis(120_000),
            tick: Span::from_millis(1),
            ecn: agreed.ecn,
            pacing: self.settings.pacing,
            idle_restart: self.settings.idle_restart,
            ..TcpOptions::default()
        };
        let negotiated = Negotiated {
            mss: agreed.mss,
            sack: agreed.sack && self.settings.sack,
            ecn: agreed.ecn,
            scale: agreed.scale,
            window: agreed.window,
            announced: self.most,
            opened: agreed.opened,
            edges: self.edges.clone(),
        };
        let mut connection = Connection::new(self.now, options, negotiated)?;
        connection.stream.no_delay = self.settings.no_delay;
        connection.is_blocked = self.settings.blocked;
        self.connection = Some(connection);
        Ok(())
    }

    /// The sender: `--tcp`, else the one with the congestion control that the script sets, else the default.
    fn variant(&self) -> Result<Variant, String> {
        let default = default_tcp();
        match (self.options.tcp, &self.settings.congestion) {
            (Some(tcp), _) => Ok(tcp),
            (None, Some(name)) if default.profile().kernel != Some(name) => {
                let mut all = Variant::of(Transport::Tcp).into_iter().map(|(_, variant)| variant);
                let fits = |variant: &Variant| {
                    let profile = variant.profile();
                    profile.kernel == Some(name) && profile.recovery.is_selective()
                };
                all.find(fits).ok_or_else(|| format!("the congestion control `{name}`"))
            }
            (None, _) => Ok(default),
        }
    }

    /// Python code: assertions about the sender.
    fn code(&mut self, line: usize, code: &str) -> Result<(), String> {
        for statement in statements(code)? {
            let mut used = BTreeMap::new();
            let names = |name: &str| match name {
                "TCP_CA_Open" | "False" => Some(0.0),
                "TCP_CA_Disorder" | "True" => Some(1.0),
                "TCP_CA_CWR" => Some(2.0),
                "TCP_CA_Recovery" => Some(3.0),
                "TCP_CA_Loss" => Some(4.0),
                "TCP_INFINITE_SSTHRESH" => Some(INFINITE_SSTHRESH),
                _ => {
                    let variable = self.variables.get(name).copied();
                    variable.or_else(|| self.connection.as_ref().and_then(|connection| connection.info(name)))
                }
            };
            match statement {
                Statement::Set(name, text) => {
                    let value = evaluate(&text, &names, &mut used)?;
                    self.variables.insert(name, value);
                }
                Statement::Assert(text) => {
                    let holds = evaluate(&text, &names, &mut used)? != 0.0;
                    self.report.compared += 1;
                    if !holds {
                        let shown = used.iter().filter(|(name, _)| !name.starts_with("TCP_"));
                        let shown: Vec<String> = shown.map(|(name, value)| format!("{name} = {value}")).collect();
                        let came = if shown.is_empty() { "False".to_string() } else { shown.join(", ") };
                        self.report.mismatches.push(Mismatch { line, expected: format!("assert {text}"), came });
                    }
                }
            }
        }
        Ok(())
    }
}

/// The sender with which a script runs if neither the user nor the script names one: Linux's, if there is one.
fn default_tcp() -> Variant {
    Variant::parse("linux").unwrap_or(Variant::CUBIC)
}

/// Bounds of the segments that the script injects. A segment of more than `most` bytes counts as several.
fn edges(script: &Script, most: u32) -> Vec<u32> {
    let mut edges = vec![1];
    for event in &script.events {
        if let Action::Packet(packet) = &event.action
            && !packet.is_expected
            && packet.len > 0
            && packet.seq > 0
        {
            edges.extend((packet.seq..packet.seq + packet.len).step_by(most.max(1) as usize));
            edges.push(packet.seq + packet.len);
        }
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The selective blocks of a packet of the script.
fn blocks(options: Option<&PacketOptions>) -> &[(u32, u32)] {
    options.map_or(&[], |options| &options.sack)
}
