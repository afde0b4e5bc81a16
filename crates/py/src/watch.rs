//! Work without the GIL, while the calling thread handles Ctrl-C and shows progress. The work may call user code, which
//! is a custom discipline written in Python.

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

/// Polling interval of the calling thread.
const EVERY: Duration = Duration::from_millis(50);

/// How long user code may continue after Ctrl-C. Then KeyboardInterrupt is raised in it.
const GRACE: Duration = Duration::from_secs(1);

/// A call from Python: the state shared by the threads that do its work.
#[derive(Default)]
pub(crate) struct Call {
    /// Set to stop the work.
    pub(crate) stop: AtomicBool,
    done_us: AtomicU64,
    total_us: AtomicU64,
    error: Mutex<Option<PyErr>>,
    /// Python thread ids of the threads that run user code for this call.
    threads: Mutex<BTreeSet<u64>>,
    /// Number of threads that are in user code now.
    inside: AtomicUsize,
    /// Is it a call of one of Forebay's commands, such as `forebay.reproduce()`? A command cannot be called within
    /// another one.
    is_command: bool,
}

thread_local! {
    /// The call that this thread works for.
    static MINE: RefCell<Option<Arc<Call>>> = const { RefCell::new(None) };
    /// Python's id of this thread.
    static NUMBER: Cell<Option<u64>> = const { Cell::new(None) };
}

impl Call {
    /// The state of a new Python call of one of Forebay's commands, such as `forebay.reproduce()`.
    pub(crate) fn command() -> Self {
        Self { is_command: true, ..Self::default() }
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Starts a batch of simulations with this total simulated duration.
    pub(crate) fn begin(&self, simulated_s: f64) {
        self.done_us.store(0, Ordering::Relaxed);
        self.total_us.store((simulated_s * 1e6) as u64, Ordering::Relaxed);
    }

    /// Total simulated duration of the current batch of simulations, s.
    pub(crate) fn total_s(&self) -> f64 {
        self.total_us.load(Ordering::Relaxed) as f64 * 1e-6
    }

    /// Adds simulated seconds to those done in the current batch of simulations.
    pub(crate) fn advance(&self, simulated_s: f64) {
        self.done_us.fetch_add((simulated_s * 1e6) as u64, Ordering::Relaxed);
    }

    /// Records the first exception of user code and stops the call.
    fn fail(&self, error: PyErr) {
        self.stop();
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Runs `work` in this thread on behalf of this call.
    pub(crate) fn here<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        let before = MINE.replace(Some(self.clone()));
        let done = work();
        MINE.set(before);
        done
    }

    /// Raises KeyboardInterrupt in user code that does not end by itself.
    fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        let (ctypes, raised) = (py.import("ctypes")?, py.get_type::<PyKeyboardInterrupt>());
        let raise = ctypes.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?;
        // Release the lock first: Python may switch to a thread that holds the GIL and waits for this lock.
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for thread in threads {
            let thread = ctypes.getattr("c_ulong")?.call1((thread,))?;
            // A thread that is not running Python is not found; then nothing happens.
            raise.call1((thread, ctypes.getattr("py_object")?.call1((&raised,))?))?;
        }
        Ok(())
    }

    /// Returns the recorded exception and resets it for the next call.
    pub(crate) fn raised(&self) -> PyResult<()> {
        match self.error.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Ok(()),
            Some(error) => {
                self.stop.store(false, Ordering::SeqCst);
                Err(error)
            }
        }
    }

    /// Is user code running for this call now?
    pub(crate) fn is_inside(&self) -> bool {
        self.inside.load(Ordering::SeqCst) > 0
    }
}

/// While it exists, this thread runs user code.
#[must_use]
pub(crate) struct Working(Option<Arc<Call>>);

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(call) = &self.0 {
            call.inside.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// To be called before user code runs in this thread. The result must exist as long as the code runs.
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

/// Does this thread work for a Python call of one of Forebay's commands, such as `forebay.reproduce()`?
pub(crate) fn is_within_command() -> bool {
    MINE.with_borrow(|mine| mine.as_ref().is_some_and(|call| call.is_command))
}

/// Handles an exception of user code in a worker thread: ends its call.
pub(crate) fn raise(error: PyErr) {
    MINE.with_borrow(|mine| match mine {
        Some(call) => call.fail(error),
        // Without a call, nobody would receive it: print it.
        None => Python::attach(|py| error.print(py)),
    });
}

/// A thread pool that works for `call`; default: one thread per core.
pub(crate) fn pool(jobs: Option<usize>, call: &Arc<Call>) -> PyResult<ThreadPool> {
    let call = call.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(jobs.unwrap_or(0))
        .start_handler(move |_| MINE.set(Some(call.clone())))
        .build();
    pool.map_err(|error| errors::run(&format!("cannot start threads: {error}")))
}

/// Does `work` in another thread. Meanwhile calls `progress` with the simulated seconds done. Ctrl-C, or an exception
/// in `progress` or in user code, stops the work. The exception is raised when the work has ended.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    call: &Arc<Call>,
    progress: Option<&dyn Fn(f64) -> PyResult<()>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    let (mut raised, mut deadline) = (None, None);
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let done = call.here(work);
            // The receiver outlives this thread.
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
                    deadline = Some(Instant::now() + GRACE);
                }
            }
            if deadline.is_some_and(|until| Instant::now() > until) {
                // Without ctypes user code cannot be interrupted; wait for it.
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
