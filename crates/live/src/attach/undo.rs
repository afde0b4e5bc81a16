//! Taking an attachment down.

use std::time::{Duration, Instant};

use super::kernel::actuator::Actuator;
use super::kernel::fault::Fault;
use super::kernel::place::{self, Lock};
use super::kernel::qdisc::{self, After};
use super::kernel::rights::permitted;
use super::kernel::state::State;
use crate::sys::attach_process::ask_to_end;

/// How long a daemon may take to end: it looks every tenth of a second, and may have to wait for others.
const DAEMON_ENDS: Duration = place::PATIENCE.saturating_add(Duration::from_secs(5));
const LOOK: Duration = Duration::from_millis(20);

/// Puts everything back that the attachment changed, as far as it is there; the first thing that could not be.
pub(super) fn undo(state: &State, lock: &Lock) -> Result<(), Fault> {
    let removed = Actuator::remove(state);
    let restored = qdisc::restore(state.index, state.before.as_ref());
    // While something stands, whoever comes next must know of it.
    let over = qdisc::after(state.index, state.before.as_ref()).is_ok_and(|after| after != After::Ours);
    let forgotten = if removed.is_ok() && over { state.remove(lock) } else { Ok(()) };
    removed.and(restored).and(forgotten)
}

/// The same for its daemon; nothing where somebody else has put an attachment of theirs in its place.
pub(super) fn undo_own(state: &State) -> Result<(), Fault> {
    let lock = place::lock()?;
    match state.filed() {
        Some(other) if !other.is(state) => Ok(()),
        _ => undo(state, &lock),
    }
}

/// Ends the attachment of a device, by its daemon where there is one; what it was, and what the device has now.
pub fn detach(device: &str) -> Result<(State, After), Fault> {
    let Some(state) = State::of(device)? else {
        let attached: Vec<String> = State::all()?.iter().map(State::called).collect();
        let accepts =
            if attached.is_empty() { "an attached device, and none is".to_string() } else { attached.join(", ") };
        return Err(Fault::input("DEV", device, accepts));
    };
    permitted("detach")?;
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
    let lock = place::lock()?;
    match state.filed() {
        Some(left) if left.is(&state) => undo(&left, &lock)?,
        Some(_) => return Ok((state, After::Other("the queue of another attachment".to_string()))),
        None => {}
    }
    // Its daemon may have failed to put things back, and have had nobody to tell.
    let now = qdisc::after(state.index, state.before.as_ref())?;
    Ok((state, now))
}

/// What is said of a device that has gone.
pub(super) fn gone(device: &str) -> Fault {
    Fault::Unavailable(format!("{device} is gone; nothing of the attachment is left"))
}
