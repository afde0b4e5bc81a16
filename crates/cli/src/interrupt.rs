//! Handles Ctrl-C and SIGTERM: the first such signal asks the runs to stop, a second one ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of an interrupted command.
pub(crate) const CODE: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);
static PATIENT: AtomicBool = AtomicBool::new(false);

/// The flag that Ctrl-C or SIGTERM sets after [`watch`] was called.
pub(crate) fn flag() -> &'static AtomicBool {
    &STOP
}

/// Installs the handler for Ctrl-C and SIGTERM. Returns the flag that they set.
pub(crate) fn watch() -> &'static AtomicBool {
    // Under nohup the loss of the terminal must not stop the batch, but all signals share one handler. Without it
    // SIGINT and SIGTERM end the process at once; finished runs are kept.
    if !hangup_ignored() {
        handle();
    }
    &STOP
}

/// As [`watch`], but a second interruption does not end the process, and the handler is installed under nohup
/// too. For commands that must restore the system before they exit.
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
    // This fails only if our handler is already installed.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) && !PATIENT.load(Ordering::SeqCst) {
            std::process::exit(i32::from(CODE));
        }
    });
}

/// Is SIGHUP ignored (started under nohup)?
fn hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
