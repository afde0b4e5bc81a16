//! `forebay attach` and `forebay detach`: a device of this machine under a law.

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

    /// Needs Linux.
    pub(crate) fn attach(_: &AttachArgs, _: &Ui) -> Result<Exit, Failure> {
        Err(Failure::unavailable("forebay attach needs Linux".into()))
    }

    /// Needs Linux.
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

    /// What a daemon in the background says when it stands.
    const STANDS: &str = "attached";

    /// What it says then.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(default)]
    struct Standing {
        /// The attachment as the device's file has it.
        attached: Value,
        /// Where its metrics are.
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

    /// What a daemon says that does not stand.
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Said {
        error: Error,
    }

    /// Its error.
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

    /// Puts a device under a law.
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
        // Those of a daemon are for whoever started it to tell.
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

    /// Takes an attachment down.
    pub(crate) fn detach(args: &DetachArgs, ui: &Ui) -> Result<Exit, Failure> {
        let (state, after) = attach::detach(&args.device).map_err(|fault| failure("detach", fault))?;
        let device = &args.device;
        let before = state.before.as_ref().map_or_else(|| "its default queue".to_string(), |before| before.words());
        let now = match after {
            After::Back(words) => format!("it has {words} again"),
            After::Other(words) => format!("it has {words}, which somebody else has put there"),
            After::Gone => "it is gone itself".to_string(),
            After::Lost => {
                let what = format!("{device}: detached, but {before} is not back: it has its default queue");
                return Err(Failure::run(what));
            }
            After::Ours => return Err(Failure::run(format!("{device}: its queue is still that of the attachment"))),
        };
        if ui.json() {
            ui.print_json(&json!({ "version": 1, "detached": state.json(), "now": now }))?;
        } else {
            ui.print(&format!("{device}: detached; {now}"))?;
        }
        Ok(Exit::Done)
    }

    /// What the words ask for.
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

    /// The exit code of a fault.
    pub(crate) fn failure(command: &str, fault: Fault) -> Failure {
        match fault {
            Fault::Input { key, found, accepts } => InputError::new(command, key, Found::text(&found), accepts).into(),
            Fault::Unavailable(what) => Failure::unavailable(what),
            Fault::Failed(what) => Failure::run(what),
        }
    }

    /// Tells whoever waits for it, if they still do.
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
        ui.note(&stands(attachment.state()));
        if let Some(address) = attachment.metrics() {
            ui.note(&format!("metrics: http://{address}/metrics"));
        }
    }

    fn stands(state: &State) -> String {
        let State { device, aqm, actuator, pid, .. } = state;
        let rate = show_rate(forebay_aqm::base::units::Rate(state.rate));
        let actuator = actuator.map_or("nothing", Kind::word);
        format!("{device}: {rate} under {aqm}, by {actuator}, daemon {pid}; forebay detach {device} ends it")
    }

    /// The same command as a process of its own, and what became of it until it stood.
    fn background(args: &AttachArgs, ui: &Ui) -> Result<Exit, Failure> {
        let unknown = || Failure::unavailable("--background: it is not known how this program is started".into());
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
                ui.note(&format!("{}: attached, daemon {pid}; forebay detach {0} ends it", args.device));
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
            None => Failure::run(format!("--background: the daemon ended at once: {status}")),
        })
    }

    /// What is left to say at the end.
    fn summary(live: &Live, kept: bool) -> String {
        let counters = &live.counters;
        let end = if kept { "its queue stays, without early drops" } else { "everything is as it was" };
        format!(
            "{}: {} packets offered, {} marked, {} dropped early, {} without room; {end}",
            live.state.device, counters.offered.pkts, counters.marked.pkts, counters.dropped.pkts, live.overflow_pkts
        )
    }
}
