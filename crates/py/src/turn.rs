//! Objects that one call at a time may use: another call waits for its turn without the interpreter's lock.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors;
use crate::watch::Call;

/// How long is waited between two looks at whether it is free.
const WAIT: Duration = Duration::from_millis(1);

/// What is said to a call that could wait for ever.
const WITHIN: &str = "it is in use: while a discipline's own code runs for it, and in a signal handler that interrupts a \
                      call to it, it takes no other call";

/// The state of an object, used by one call at a time.
pub(crate) struct Turn<T> {
    state: Mutex<T>,
    /// The thread whose turn it is; 0 if it is nobody's.
    holder: AtomicU64,
    /// What the threads of its calls share.
    pub(crate) call: Arc<Call>,
}

/// The state during a call.
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

/// A number of this thread, from 1.
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

    /// The state, once no other call uses it.
    ///
    /// # Errors
    /// It would wait for a call of this very thread, or for one whose own code runs and may wait for this call in turn. Ctrl-C,
    /// while it waits.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Held<'_, T>> {
        loop {
            match self.state.try_lock() {
                Ok(state) => {
                    self.holder.store(me(), Ordering::SeqCst);
                    return Ok(Held { state, holder: &self.holder });
                }
                // A fault of ours has left it half-way.
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
