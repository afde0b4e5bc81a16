//! Work without the interpreter's lock, while the calling thread listens for Ctrl-C and shows how far it is.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors;

/// How often the calling thread looks.
const EVERY: Duration = Duration::from_millis(50);

/// How long a user's own code may go on after Ctrl-C before it is interrupted itself.
const GRACE: Duration = Duration::from_secs(1);

/// One call: what its threads share.
#[derive(Default)]
pub(crate) struct Call {
    /// Set to stop.
    pub(crate) stop: AtomicBool,
    done_us: AtomicU64,
    total_us: AtomicU64,
    error: Mutex<Option<PyErr>>,
    /// Python's numbers of the threads that run a user's own code for it.
    threads: Mutex<BTreeSet<u64>>,
    /// How many threads are in a user's own code at this moment.
    inside: AtomicUsize,
    /// Whether it is a command, within which no other may be asked for.
    is_command: bool,
}

thread_local! {
    /// The call that this thread works for.
    static MINE: RefCell<Option<Arc<Call>>> = const { RefCell::new(None) };
    /// Python's number of this thread.
    static NUMBER: Cell<Option<u64>> = const { Cell::new(None) };
}

impl Call {
    /// The call of a command.
    pub(crate) fn command() -> Self {
        Self { is_command: true, ..Self::default() }
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Begins a batch of so many simulated seconds.
    pub(crate) fn begin(&self, simulated_s: f64) {
        self.done_us.store(0, Ordering::Relaxed);
        self.total_us.store((simulated_s * 1e6) as u64, Ordering::Relaxed);
    }

    /// Simulated seconds of the batch.
    pub(crate) fn total_s(&self) -> f64 {
        self.total_us.load(Ordering::Relaxed) as f64 * 1e-6
    }

    /// Another `simulated_s` seconds are done.
    pub(crate) fn advance(&self, simulated_s: f64) {
        self.done_us.fetch_add((simulated_s * 1e6) as u64, Ordering::Relaxed);
    }

    /// What a user's own code raised, the first time: it ends the call.
    fn fail(&self, error: PyErr) {
        self.stop();
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Does this thread work for it until `work` has ended.
    pub(crate) fn here<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        let before = MINE.replace(Some(self.clone()));
        let done = work();
        MINE.set(before);
        done
    }

    /// Raises Ctrl-C in the user's own code, for what does not end by itself.
    fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        let (ctypes, raised) = (py.import("ctypes")?, py.get_type::<PyKeyboardInterrupt>());
        let raise = ctypes.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?;
        // Not under the lock: Python may let another thread go on, which would wait for it with the interpreter's in hand.
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for thread in threads {
            let thread = ctypes.getattr("c_ulong")?.call1((thread,))?;
            // A thread that runs no Python now is not found, and nothing happens.
            raise.call1((thread, ctypes.getattr("py_object")?.call1((&raised,))?))?;
        }
        Ok(())
    }

    /// What was raised; the next call goes on.
    pub(crate) fn raised(&self) -> PyResult<()> {
        match self.error.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Ok(()),
            Some(error) => {
                self.stop.store(false, Ordering::SeqCst);
                Err(error)
            }
        }
    }

    /// Does a user's own code run for it at this moment?
    pub(crate) fn is_inside(&self) -> bool {
        self.inside.load(Ordering::SeqCst) > 0
    }
}

/// A user's own code runs in this thread until this is dropped.
#[must_use]
pub(crate) struct Working(Option<Arc<Call>>);

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(call) = &self.0 {
            call.inside.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// This thread is about to run a user's own code.
pub(crate) fn working(py: Python<'_>) -> Working {
    let mine = MINE.with_borrow(Clone::clone);
    if let Some(call) = &mine {
        call.inside.fetch_add(1, Ordering::SeqCst);
        let ask = || py.import("threading").ok()?.call_method0("get_ident").ok()?.extract().ok();
        if let Some(number) = NUMBER.get().or_else(ask) {
            NUMBER.set(Some(number));
            call.threads.lock().unwrap_or_else(PoisonError::into_inner).insert(number);
        }
    }
    Working(mine)
}

/// Does this thread work for a command?
pub(crate) fn is_within_command() -> bool {
    MINE.with_borrow(|mine| mine.as_ref().is_some_and(|call| call.is_command))
}

/// A user's own code raised this in a thread of ours: its call ends with it.
pub(crate) fn raise(error: PyErr) {
    MINE.with_borrow(|mine| match mine {
        Some(call) => call.fail(error),
        // No call: nobody waits for it, and it must not be lost.
        None => Python::attach(|py| error.print(py)),
    });
}

/// Threads that work for `call`; by default as many as there are cores.
pub(crate) fn pool(jobs: Option<usize>, call: &Arc<Call>) -> PyResult<ThreadPool> {
    let call = call.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(jobs.unwrap_or(0))
        .start_handler(move |_| MINE.set(Some(call.clone())))
        .build();
    pool.map_err(|error| errors::run(&format!("cannot start threads: {error}")))
}

/// Does `work` in a thread of its own; `progress` is called with simulated seconds. What either raises, or Ctrl-C, stops
/// the work and is raised when it has ended.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    call: &Arc<Call>,
    progress: Option<&dyn Fn(f64) -> PyResult<()>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    let (mut raised, mut patience) = (None, None);
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let done = call.here(work);
            // The receiver lives until this thread is joined.
            let _ = send.send(());
            done
        });
        loop {
            let waited = py.detach(|| receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(EVERY));
            if raised.is_none() {
                let shown = || {
                    let done_s = call.done_us.load(Ordering::Relaxed) as f64 * 1e-6;
                    progress.map_or(Ok(()), |progress| progress(done_s))
                };
                raised = py.check_signals().and_then(|()| shown()).err();
                if raised.is_some() {
                    call.stop();
                    patience = Some(Instant::now() + GRACE);
                }
            }
            if patience.is_some_and(|until| Instant::now() > until) {
                // Without ctypes there is no means; then it is waited for.
                let _ = call.interrupt(py);
            }
            if waited != Err(RecvTimeoutError::Timeout) || worker.is_finished() {
                break;
            }
        }
        py.detach(|| worker.join())
    });
    match raised {
        Some(error) => Err(error),
        None => {
            call.raised()?;
            done.map_err(|_| errors::broken())
        }
    }
}
