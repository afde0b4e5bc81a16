//! Objects that only one call at a time may use. Other calls wait, without the GIL.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors;
use crate::watch::Call;

/// Polling interval while waiting.
const WAIT: Duration = Duration::from_millis(1);

/// Error of a call that might wait for ever.
const WITHIN: &str = "object in use: it accepts no other call while a custom discipline runs for it, nor in a signal \
                      handler that interrupts a call to it";

/// A state that is used by one call at a time.
pub(crate) struct Turn<T> {
    state: Mutex<T>,
    /// Number of the thread that holds the state; 0: none.
    holder: AtomicU64,
    /// What the threads of a call share, such as the flag that stops it.
    pub(crate) call: Arc<Call>,
}

/// Access to the state during a call.
pub(crate) struct Held<'a, T> {
    state: MutexGuard<'a, T>,
    holder: &'a AtomicU64,
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.holder.store(0, Ordering::SeqCst);
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.state
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.state
    }
}

/// A number for this thread, from 1.
fn me() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static MINE: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    MINE.with(|number| *number)
}

impl<T> Turn<T> {
    pub(crate) const fn new(state: T, call: Arc<Call>) -> Self {
        Self { state: Mutex::new(state), holder: AtomicU64::new(0), call }
    }

    /// Waits until no other call uses the state.
    ///
    /// # Errors
    /// Fails if it would wait for a call of the same thread, or for a call that runs Python code of the user, which may
    /// wait for this call in turn. Fails on Ctrl-C while it waits.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Held<'_, T>> {
        loop {
            match self.state.try_lock() {
                Ok(state) => {
                    self.holder.store(me(), Ordering::SeqCst);
                    return Ok(Held { state, holder: &self.holder });
                }
                // A panic has left the state inconsistent.
                Err(TryLockError::Poisoned(_)) => return Err(errors::broken()),
                Err(TryLockError::WouldBlock) => {}
            }
            if self.holder.load(Ordering::SeqCst) == me() || self.call.is_inside() {
                return Err(PyRuntimeError::new_err(WITHIN));
            }
            py.detach(|| std::thread::sleep(WAIT));
            py.check_signals()?;
        }
    }
}
