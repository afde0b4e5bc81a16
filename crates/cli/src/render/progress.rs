//! Progress of a batch of simulations: a bar with the remaining time on a terminal, else a line every 10 s.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use forebay_lab::commands::host;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Interval between two lines of progress if stderr is not a terminal.
const EVERY: Duration = Duration::from_secs(10);
/// Units of the bar per simulated second: it counts simulated milliseconds.
const TICKS_PER_S: f64 = 1e3;

enum Shown {
    Nothing,
    Bar(ProgressBar),
    /// Progress as lines of text: the time of the last line, and the simulated seconds done by then.
    Lines(Mutex<(Instant, f64)>),
}

/// Progress towards a known number of simulated seconds, shared by all threads.
pub(crate) struct Progress {
    total_s: f64,
    done_us: AtomicU64,
    shown: Shown,
}

impl Progress {
    /// Starts at 0 of `total_s` simulated seconds. With `quiet`, nothing is shown.
    pub(crate) fn new(quiet: bool, total_s: f64) -> Self {
        let shown = match (quiet, io::stderr().is_terminal()) {
            (true, _) => Shown::Nothing,
            (false, true) => Shown::Bar(bar(total_s)),
            (false, false) => Shown::Lines(Mutex::new((Instant::now(), 0.0))),
        };
        Self { total_s, done_us: AtomicU64::new(0), shown }
    }

    fn line(&self, last: &Mutex<(Instant, f64)>, done_s: f64) {
        // If another thread holds the lock, that thread writes the line.
        let Ok(mut last) = last.try_lock() else { return };
        let (since, before_s) = *last;
        if since.elapsed() < EVERY {
            return;
        }
        let speed = (done_s - before_s) / since.elapsed().as_secs_f64();
        *last = (Instant::now(), done_s);
        let share = (100.0 * done_s / self.total_s).min(100.0);
        let left = rough_time((self.total_s - done_s) / speed);
        let _ = writeln!(io::stderr(), "{share:>3.0} % done, about {left} left");
    }
}

impl host::Progress for Progress {
    fn advance(&self, simulated_s: f64) {
        let more = (simulated_s * 1e6) as u64;
        let done_s = (self.done_us.fetch_add(more, Ordering::Relaxed) + more) as f64 * 1e-6;
        match &self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => bar.set_position((done_s * TICKS_PER_S) as u64),
            Shown::Lines(last) => self.line(last, done_s),
        }
    }
}

impl Drop for Progress {
    /// Removes the bar.
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

fn bar(total_s: f64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some((total_s * TICKS_PER_S) as u64), ProgressDrawTarget::stderr());
    let left = |state: &ProgressState, out: &mut dyn fmt::Write| {
        // There is no estimate at the start. If the write fails, the bar only lacks the remaining time.
        let left = if state.pos() == 0 { "..".to_string() } else { rough_time(state.eta().as_secs_f64()) };
        let _ = write!(out, "{left}");
    };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3} %  {left} left") {
        bar.set_style(style.with_key("left", left).progress_chars("━━╌"));
    }
    // Draws the bar between the reports of slow runs too, so that the remaining time advances.
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// A duration as text, such as `45 s`, `12 min` or `3.5 h`.
fn rough_time(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
