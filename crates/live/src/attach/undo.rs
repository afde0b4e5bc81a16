//! Removes an attachment: a control law that a daemon of `forebay attach` runs on a network device.

use std::time::{Duration, Instant};

use super::kernel::actuator::Actuator;
use super::kernel::fault::Fault;
use super::kernel::place::{self, Lock};
use super::kernel::qdisc::{self, After};
use super::kernel::rights::permitted;
use super::kernel::state::State;
use crate::sys::attach_process::ask_to_end;

/// Maximum time for a daemon to exit: it checks every 0.1 s whether it must, and may have to wait for the lock on
/// attachments.
const DAEMON_ENDS: Duration = place::TIMEOUT.saturating_add(Duration::from_secs(5));
const LOOK: Duration = Duration::from_millis(20);

/// Undoes all changes that the attachment made to the machine and that still exist. Returns the first error.
pub(super) fn undo(state: &State, lock: &Lock) -> Result<(), Fault> {
    let removed = Actuator::remove(state);
    let restored = qdisc::restore(state.index, state.before.as_ref());
    // Keep the state file as long as anything is left.
    let over = qdisc::after(state.index, state.before.as_ref()).is_ok_and(|after| after != After::Ours);
    let forgotten = if removed.is_ok() && over { state.remove(lock) } else { Ok(()) };
    removed.and(restored).and(forgotten)
}

/// Undoes the changes of the daemon's own attachment ([`undo`]). Does nothing if another attachment has replaced it.
pub(super) fn undo_own(state: &State) -> Result<(), Fault> {
    let lock = place::lock()?;
    match state.filed() {
        Some(other) if !other.is(state) => Ok(()),
        _ => undo(state, &lock),
    }
}

/// Ends the attachment of a device, through its daemon if that runs. Returns the attachment and the qdisc that the
/// device has afterwards.
pub fn detach(device: &str) -> Result<(State, After), Fault> {
    let Some(state) = State::of(device)? else {
        let attached: Vec<String> = State::all()?.iter().map(State::called).collect();
        let accepts =
            if attached.is_empty() { "an attached device (none is attached)".to_string() } else { attached.join(", ") };
        return Err(Fault::input("DEV", device, accepts));
    };
    permitted("detach")?;
    if state.is_served() {
        let what = format!("end the daemon of {device}, process {}", state.pid);
        ask_to_end(state.pid).map_err(|error| Fault::system(what, &error))?;
        let begun = Instant::now();
        while state.is_served() {
            if begun.elapsed() > DAEMON_ENDS {
                let what = format!("{device}: the daemon, process {}, does not exit", state.pid);
                return Err(Fault::Failed(what));
            }
            std::thread::sleep(LOOK);
        }
    }
    // The daemon may have run with --keep, or have crashed.
    let lock = place::lock()?;
    match state.filed() {
        Some(left) if left.is(&state) => undo(&left, &lock)?,
        Some(_) => return Ok((state, After::Other("the qdisc of another attachment".to_string()))),
        None => {}
    }
    // The daemon may have failed to restore the device and had no way to report it.
    let now = qdisc::after(state.index, state.before.as_ref())?;
    Ok((state, now))
}

/// The fault for a device that no longer exists.
pub(super) fn gone(device: &str) -> Fault {
    Fault::Unavailable(format!("{device} no longer exists; the attachment is removed"))
}
