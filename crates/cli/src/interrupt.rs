//! Ctrl-C and SIGTERM: the first one asks the runs to stop, a second one ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of an interrupted command.
pub(crate) const CODE: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);
static PATIENT: AtomicBool = AtomicBool::new(false);

/// The flag that an interruption sets, once [`watch`] has been called.
pub(crate) fn flag() -> &'static AtomicBool {
    &STOP
}

/// From now on an interruption sets the flag that this gives.
pub(crate) fn watch() -> &'static AtomicBool {
    // Under nohup a lost terminal must not stop the batch, and all signals share one handler: without
    // it they end the process at once, and finished runs are kept all the same.
    if !hangup_ignored() {
        handle();
    }
    &STOP
}

/// The same, but a second interruption ends nothing, and there is one under nohup too: for what has to put things back
/// before it may end.
#[cfg(target_os = "linux")]
pub(crate) fn watch_patiently() -> &'static AtomicBool {
    PATIENT.store(true, Ordering::SeqCst);
    let ignored = hangup_ignored();
    handle();
    if ignored {
        forebay_live::attach::ignore_hangup();
    }
    &STOP
}

fn handle() {
    // It fails only if a handler is there already, and then it is this one.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) && !PATIENT.load(Ordering::SeqCst) {
            std::process::exit(i32::from(CODE));
        }
    });
}

/// Was this process started to survive its terminal?
fn hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
