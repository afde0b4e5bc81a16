//! The functions that JavaScript calls.
// JavaScript is what reaches them.
#![allow(unsafe_code, unreachable_pub)]

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use forebay_lab::estimate::Budget;
use forebay_lab::studio::{self, Limits};

/// Memory of the runs of a request: a tab of a browser can have 4 GiB, of which a result has several copies.
const BYTES: f64 = 1e9;
/// CPU time of the runs of a request, as estimated for a machine without a browser.
const SECONDS: f64 = 20.0;

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

#[cfg(target_family = "wasm")]
#[link(wasm_import_module = "forebay")]
unsafe extern "C" {
    /// Receives the message of a panic, before the module traps.
    fn panicked(text: *const u8, length: usize);
}

/// Address of a buffer of `length` bytes for the next request.
#[unsafe(no_mangle)]
pub extern "C" fn request(length: usize) -> *mut u8 {
    let mut request = REQUEST.lock().unwrap_or_else(PoisonError::into_inner);
    request.clear();
    request.resize(length, 0);
    request.as_mut_ptr()
}

/// Answers the request; returns the length of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        // SAFETY: the function reads the bytes of `text`, which lives until it returns.
        unsafe { panicked(text.as_ptr(), text.len()) };
    }));
    let request = std::mem::take(&mut *REQUEST.lock().unwrap_or_else(PoisonError::into_inner));
    let limits = Limits { budget: Budget { bytes: BYTES, seconds: SECONDS }, jobs: 1 };
    let text = studio::answer(&String::from_utf8_lossy(&request), limits, &AtomicBool::new(false)).into_bytes();
    let length = text.len();
    *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = text;
    length
}

/// Address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answered() -> *const u8 {
    ANSWER.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}
