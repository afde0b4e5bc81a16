//! Taking an attachment down.

use std::time::{Duration, Instant};

use super::actuator::Actuator;
use super::fault::Fault;
use super::qdisc;
use super::state::State;
use crate::sys::attach_process::ask_to_end;

/// How long a daemon may take to end; it looks every tenth of a second.
const DAEMON_ENDS: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// Puts everything back that the attachment changed, as far as it is there; the first thing that could not be.
pub(super) fn undo(state: &State) -> Result<(), Fault> {
    let done = [Actuator::remove(state), qdisc::restore(&state.device, state.index, state.before.as_deref())];
    let fault = done.into_iter().find_map(Result::err);
    // What was not permitted is for somebody else to do, who needs the file.
    let kept = matches!(fault, Some(Fault::Unavailable(_)));
    let removed = if kept { Ok(()) } else { state.remove() };
    fault.map_or(removed, Err)
}

/// Ends the attachment of a device, by its daemon where there is one; what it was.
pub fn detach(device: &str) -> Result<State, Fault> {
    let Some(state) = State::of(device)? else {
        let attached: Vec<String> = State::all()?.into_iter().map(|state| state.device).collect();
        let accepts =
            if attached.is_empty() { "an attached device, and none is".to_string() } else { attached.join(", ") };
        return Err(Fault::input("DEV", device, accepts));
    };
    if state.is_served() {
        let what = format!("end the daemon of {device}, process {}", state.pid);
        ask_to_end(state.pid).map_err(|error| Fault::system(what, &error))?;
        let begun = Instant::now();
        while state.is_served() {
            if begun.elapsed() > DAEMON_ENDS {
                let what = format!("{device}: its daemon, process {}, was asked to end and does not", state.pid);
                return Err(Fault::Failed(what));
            }
            std::thread::sleep(LOOK);
        }
    }
    // It may have been told to leave all as it is, or have ended otherwise.
    if let Some(left) = State::of(device)?.filter(|left| left.pid == state.pid) {
        undo(&left)?;
    }
    Ok(state)
}

/// What is said of a device that has gone.
pub(super) fn gone(device: &str) -> Fault {
    Fault::Unavailable(format!("{device} is gone; nothing of the attachment is left"))
}
