//! `forebay top`: shows the current state of attached devices, which are those on which `forebay attach` runs a control
//! law.

use crate::args::TopArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

#[cfg(not(target_os = "linux"))]
pub(crate) fn command(_: &TopArgs, _: &Ui) -> Result<Exit, Failure> {
    Err(Failure::unavailable("forebay top needs Linux".into()))
}

#[cfg(target_os = "linux")]
pub(crate) use here::command;

#[cfg(target_os = "linux")]
mod here {
    use std::io::IsTerminal;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use forebay_aqm::base::text::show_rate;
    use forebay_aqm::base::units::Rate;
    use forebay_lab::scenario::{Found, InputError};
    use forebay_live::attach::{self, Fault, Live, State};
    use serde_json::{Value, json};

    use super::{Exit, Failure, TopArgs, Ui};
    use crate::interrupt;
    use crate::live::attach::failure;
    use forebay_lab::render::digits::significant;
    use forebay_lab::render::look::Tone;
    use forebay_lab::render::text_table::Table;

    /// Refresh interval, and the interval over which rates are averaged.
    const EVERY: Duration = Duration::from_secs(1);
    const POLL_INTERVAL: Duration = Duration::from_millis(50);
    /// How long reading an attached device without a daemon is repeated if it fails: `forebay detach` may be at work.
    const BRIEF: Duration = Duration::from_millis(300);
    /// How long reading a device is repeated at most: it may be in the process of being attached or detached.
    const TIMEOUT: Duration = Duration::from_secs(2);
    /// Index of the column with the control law, the only column of text.
    const LAW: usize = 10;
    /// ANSI control sequences: cursor home, clear screen.
    const CLEAR: &str = "\x1b[H\x1b[2J";

    /// Shows the attached devices, once or until interrupted.
    pub(crate) fn command(args: &TopArgs, ui: &Ui) -> Result<Exit, Failure> {
        let once = args.once || ui.json() || !std::io::stdout().is_terminal();
        let stop = interrupt::watch();
        let mut before = looks(args, stop)?;
        if let (Some(device), true) = (&args.device, before.is_empty()) {
            return Err(unknown(device)?);
        }
        loop {
            let begun = Instant::now();
            while begun.elapsed() < EVERY && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(POLL_INTERVAL);
            }
            let now = looks(args, stop);
            if stop.load(Ordering::Relaxed) {
                return Ok(Exit::Done);
            }
            let now = now?;
            let rows: Vec<Row> = now.iter().map(|live| Row::of(live, &before)).collect();
            let detached = args.device.as_ref().filter(|_| rows.is_empty());
            if ui.json() {
                let devices: Vec<Value> = rows.iter().map(Row::json).collect();
                ui.print_json(&json!({ "version": 1, "devices": devices }))?;
            } else if let Some(device) = detached {
                ui.note(&format!("{device}: detached"));
            } else {
                ui.print(&format!("{}{}", if once { "" } else { CLEAR }, table(ui, &rows)))?;
            }
            if once || detached.is_some() {
                return Ok(Exit::Done);
            }
            before = now;
        }
    }

    /// The error for a device that is not attached.
    fn unknown(device: &str) -> Result<Failure, Failure> {
        let all = State::all().map_err(|fault| failure("top", fault))?;
        let names: Vec<String> = all.iter().map(State::called).collect();
        let accepts = if names.is_empty() { "an attached device (none is attached)".into() } else { names.join(", ") };
        Ok(InputError::new("top", "DEV", Found::text(device), accepts).into())
    }

    /// The state files of the devices that the arguments select.
    fn wanted(args: &TopArgs) -> Result<Vec<State>, Failure> {
        let states = match &args.device {
            Some(device) => State::of(device).map(|state| state.into_iter().collect()),
            None => State::all(),
        };
        states.map_err(|fault| failure("top", fault))
    }

    /// Reads the selected devices. Skips those that cannot be read, unless none can.
    fn looks(args: &TopArgs, stop: &AtomicBool) -> Result<Vec<Live>, Failure> {
        let begun = Instant::now();
        loop {
            let states = wanted(args)?;
            let looked: Vec<Result<Live, Fault>> = states.iter().map(attach::look).collect();
            // A device that is just being attached or detached cannot be read for a short time.
            let passing = |(state, look): (&State, &Result<Live, Fault>)| {
                look.is_err() && state.name().is_some() && (state.is_served() || begun.elapsed() < BRIEF)
            };
            let waits = states.iter().zip(&looked).any(passing);
            if !waits || begun.elapsed() > TIMEOUT || stop.load(Ordering::Relaxed) {
                let some = looked.iter().any(Result::is_ok);
                let kept = looked.into_iter().filter(|look| !some || look.is_ok());
                return kept.map(|look| look.map_err(|fault| failure("top", fault))).collect();
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// A row of the table: a device with the growth rates of its counters, per second.
    struct Row<'a> {
        live: &'a Live,
        bits: f64,
        drops: f64,
        marks: f64,
        overflows: f64,
    }

    impl<'a> Row<'a> {
        fn of(live: &'a Live, all: &[Live]) -> Self {
            // A device seen for the first time has no rates yet.
            let before = all.iter().find(|before| before.state.is(&live.state)).unwrap_or(live);
            Self {
                live,
                bits: 8.0 * live.per_sec(before, |live| live.sent_bytes),
                drops: live.per_sec(before, |live| live.counters.dropped.pkts),
                marks: live.per_sec(before, |live| live.counters.marked.pkts),
                overflows: live.per_sec(before, |live| live.overflow_pkts),
            }
        }

        fn json(&self) -> Value {
            let mut value = self.live.json();
            value["per_second"] = json!({
                "sent_bits": self.bits,
                "dropped_early": self.drops,
                "marked": self.marks,
                "dropped_overflow": self.overflows,
            });
            value
        }
    }

    fn table(ui: &Ui, rows: &[Row<'_>]) -> String {
        if rows.is_empty() {
            return "no device is attached\n".to_string();
        }
        let heads =
            ["device", "rate", "sent", "backlog", "delay", "p", "marks/s", "drops/s", "overflows/s", "daemon", "law"];
        let mut table = Table::new(&heads).words(&[LAW]);
        for row in rows {
            let live = row.live;
            let rate = Rate(live.state.rate);
            table.row(vec![
                live.state.called(),
                show_rate(rate),
                format!("{} %", significant(100.0 * row.bits / live.state.rate as f64, 3)),
                format!("{} B", live.backlog_bytes),
                format!("{} ms", significant(1e3 * live.backlog_bytes as f64 / rate.bytes_per_sec(), 3)),
                significant(live.p, 3),
                significant(row.marks, 3),
                significant(row.drops, 3),
                significant(row.overflows, 3),
                if live.served { live.state.pid.to_string() } else { ui.tone(Tone::Bad, "dead") },
                live.state.aqm.clone(),
            ]);
        }
        table.render(ui.look(), "")
    }
}
