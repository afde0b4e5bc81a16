//! `forebay attach` and `forebay detach`: run a control law on a network device.

use crate::args::{AttachArgs, DetachArgs};
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{attach, detach};
#[cfg(target_os = "linux")]
pub(crate) use here::{attach, detach, failure};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{AttachArgs, DetachArgs, Exit, Failure, Ui};

    /// Fails: attaching needs Linux.
    pub(crate) fn attach(_: &AttachArgs, _: &Ui) -> Result<Exit, Failure> {
        Err(Failure::unavailable("forebay attach needs Linux".into()))
    }

    /// Fails: detaching needs Linux.
    pub(crate) fn detach(_: &DetachArgs, _: &Ui) -> Result<Exit, Failure> {
        Err(Failure::unavailable("forebay detach needs Linux".into()))
    }
}

#[cfg(target_os = "linux")]
mod here {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::Stdio;

    use forebay_aqm::base::text::{self, BadValue, show_rate};
    use forebay_lab::own;
    use forebay_lab::scenario::{Found, InputError};
    use forebay_live::attach::{self, After, Attachment, Fault, Kind, Live, Order, State};
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    use super::{AttachArgs, DetachArgs, Exit, Failure, Ui};
    use crate::interrupt;

    /// First word of the line that the daemon prints once the control law is attached.
    const STANDS: &str = "attached";

    /// What follows the word [`STANDS`] in the line that the daemon prints, as JSON.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(default)]
    struct Standing {
        /// What is attached: device, control law, daemon, as in the state file in `/run/forebay`.
        attached: Value,
        /// URL at which the daemon serves Prometheus metrics.
        metrics: Option<String>,
        notes: Vec<String>,
    }

    /// What `forebay attach --background --json` prints.
    #[derive(Serialize)]
    struct Background {
        version: u32,
        #[serde(flatten)]
        standing: Standing,
    }

    /// The document that a daemon prints if it fails to attach.
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Said {
        error: Error,
    }

    /// The error in the document of a daemon that fails to attach.
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Error {
        kind: Option<String>,
        key: String,
        found: String,
        accepts: String,
        hint: Option<String>,
        message: String,
    }

    /// Attaches a control law to a device and updates it until interrupted.
    pub(crate) fn attach(args: &AttachArgs, ui: &Ui) -> Result<Exit, Failure> {
        let order = order(args)?;
        if args.background && !args.daemon {
            attach::check(&order).map_err(|fault| failure("attach", fault))?;
            return background(args, ui);
        }
        if args.daemon {
            attach::leave_terminal();
        }
        let stop = interrupt::watch_patiently();
        let mut notes = Vec::new();
        // The process that started the daemon prints its notes.
        let begun = attach::begin(&order, &mut |note| match args.daemon {
            true => notes.push(note.to_string()),
            false => ui.note(note),
        });
        let mut attachment = begun.map_err(|fault| failure("attach", fault))?;
        says_that_it_stands(args, &attachment, &notes, ui);
        let updates = match attachment.serve(stop) {
            Ok(updates) => updates,
            Err(fault) => return Err(failure("attach", attachment.give_up(fault))),
        };
        let live =
            if args.keep { attachment.leave() } else { attachment.end().map_err(|fault| failure("attach", fault))? };
        if args.daemon {
            return Ok(Exit::Done);
        }
        if ui.json() {
            let last = live.map_or(Value::Null, |live| live.json());
            ui.print_json(&json!({ "version": 1, "updates": updates, "kept": args.keep, "last": last }))?;
        } else if let Some(live) = live {
            ui.print(&summary(&live, args.keep))?;
        }
        Ok(Exit::Done)
    }

    /// Detaches the control law from a device and restores the device's previous qdisc.
    pub(crate) fn detach(args: &DetachArgs, ui: &Ui) -> Result<Exit, Failure> {
        let (state, after) = attach::detach(&args.device).map_err(|fault| failure("detach", fault))?;
        let device = &args.device;
        let before = state.before.as_ref().map_or_else(|| "its default qdisc".to_string(), |before| before.words());
        let now = match after {
            After::Back(words) => format!("{words} restored"),
            After::Other(words) => format!("{words}, installed by someone else, is kept"),
            After::Gone => "the device no longer exists".to_string(),
            After::Lost => {
                let what = format!("{device}: detached, but {before} is not restored: it has the default qdisc");
                return Err(Failure::run(what));
            }
            After::Ours => return Err(Failure::run(format!("{device}: the qdisc of the attachment is still there"))),
        };
        if ui.json() {
            ui.print_json(&json!({ "version": 1, "detached": state.json(), "now": now }))?;
        } else {
            ui.print(&format!("{device}: detached; {now}"))?;
        }
        Ok(Exit::Done)
    }

    /// What to attach and how, read from the arguments.
    fn order(args: &AttachArgs) -> Result<Order, Failure> {
        let wrong = |key: &str, found: &str, bad: BadValue| {
            Failure::from(InputError::new("attach", key, Found::text(found), bad.accepts).hint(bad.hint))
        };
        let spec = own::parse(&args.aqm).map_err(|error| {
            let key = if error.key.is_empty() { "--aqm".to_string() } else { format!("--aqm {}", error.key) };
            InputError::new("attach", key, Found::text(&error.found), error.accepts).hint(error.hint)
        })?;
        let limit = args.limit.as_deref().map(|words| text::limit(words).map_err(|bad| wrong("--limit", words, bad)));
        let metrics = args.metrics.as_deref().map(attach::address).transpose();
        Ok(Order {
            device: args.device.clone(),
            rate: text::rate(&args.rate).map_err(|bad| wrong("--rate", &args.rate, bad))?,
            limit: limit.transpose()?,
            packet: args.packet,
            spec,
            actuator: args.actuator.as_deref().and_then(Kind::read),
            metrics: metrics.map_err(|fault| failure("attach", fault))?,
        })
    }

    /// Converts a fault of the command `command` (`attach`, `detach` or `top`) to a failure, which determines the exit
    /// code.
    pub(crate) fn failure(command: &str, fault: Fault) -> Failure {
        match fault {
            Fault::Input { key, found, accepts } => InputError::new(command, key, Found::text(&found), accepts).into(),
            Fault::Unavailable(what) => Failure::unavailable(what),
            Fault::Failed(what) => Failure::run(what),
        }
    }

    /// Reports that the law is attached. A daemon writes one line for its parent process; otherwise notes are printed.
    fn says_that_it_stands(args: &AttachArgs, attachment: &Attachment, notes: &[String], ui: &Ui) {
        if args.daemon {
            let mut out = std::io::stdout();
            let told = Standing {
                attached: attachment.state().json(),
                metrics: attachment.metrics().map(|address| format!("http://{address}/metrics")),
                notes: notes.to_vec(),
            };
            let _ = writeln!(out, "{STANDS} {}", json!(told)).and_then(|()| out.flush());
            return;
        }
        ui.note(&attached(attachment.state()));
        if let Some(address) = attachment.metrics() {
            ui.note(&format!("metrics: http://{address}/metrics"));
        }
    }

    fn attached(state: &State) -> String {
        let State { device, aqm, actuator, pid, .. } = state;
        let rate = show_rate(forebay_aqm::base::units::Rate(state.rate));
        let actuator = actuator.map_or("none", Kind::word);
        format!("{device}: {rate}, {aqm}, actuator {actuator}, daemon {pid}; stop with forebay detach {device}")
    }

    /// Starts this command again as a daemon. Waits until the daemon has attached the control law or has failed.
    fn background(args: &AttachArgs, ui: &Ui) -> Result<Exit, Failure> {
        let unknown = || Failure::unavailable("--background: the path of this program is unknown".into());
        let mut command = ui.program().again().ok_or_else(unknown)?;
        command.args(["--json", "attach", &args.device, "--rate", &args.rate, "--aqm", &args.aqm, "--daemon"]);
        command.args(["--packet", &args.packet.to_string()]);
        for (word, value) in [("--limit", &args.limit), ("--actuator", &args.actuator), ("--metrics", &args.metrics)] {
            command.args(value.iter().flat_map(|value| [word, value.as_str()]));
        }
        command.args(args.keep.then_some("--keep"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let failed = |error: std::io::Error| Failure::run(format!("--background: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let mut out = BufReader::new(child.stdout.take().ok_or_else(unknown)?);
        let mut said = String::new();
        out.read_line(&mut said).map_err(failed)?;
        if let Some(told) = said.strip_prefix(STANDS) {
            let standing: Standing = serde_json::from_str(told.trim()).unwrap_or_default();
            standing.notes.iter().for_each(|note| ui.note(note));
            if ui.json() {
                ui.print_json(&Background { version: 1, standing })?;
            } else {
                if let Some(address) = &standing.metrics {
                    ui.note(&format!("metrics: {address}"));
                }
                let pid = &standing.attached["pid"];
                ui.note(&format!("{}: attached, daemon {pid}; stop with forebay detach {0}", args.device));
            }
            return Ok(Exit::Done);
        }
        out.read_to_string(&mut said).map_err(failed)?;
        let status = child.wait().map_err(failed)?;
        let Said { error } = serde_json::from_str(&said).unwrap_or_default();
        Err(match error.kind.as_deref() {
            Some("input") => {
                InputError::new("attach", error.key, Found::text(&error.found), error.accepts).hint(error.hint).into()
            }
            Some("unavailable") => Failure::unavailable(error.message),
            Some(_) => Failure::run(error.message),
            None => Failure::run(format!("--background: the daemon exited immediately: {status}")),
        })
    }

    /// The last line that `forebay attach` prints: packet counters and the state in which the device is left.
    fn summary(live: &Live, kept: bool) -> String {
        let counters = &live.counters;
        let end = if kept { "the qdisc stays, without early drops" } else { "the device is restored" };
        format!(
            "{}: {} packets offered, {} marked, {} dropped early, {} dropped by overflow; {end}",
            live.state.device, counters.offered.pkts, counters.marked.pkts, counters.dropped.pkts, live.overflow_pkts
        )
    }
}
