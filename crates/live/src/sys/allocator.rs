//! The system's allocator for a program. If there is no memory, the program ends with an error and exit code 1. Without
//! it the standard library aborts the program, which looks like a fault of the program.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// The allocator; a program names it as its `global_allocator`.
pub struct Allocator;

// SAFETY: every method passes its arguments to `System` unchanged, and returns what that returned.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        there(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        there(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`.
        there(unsafe { System.realloc(old, layout, size) }, size)
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(old, layout) }
    }
}

/// The address that the system returned for `size` bytes. Ends the program if it is null.
fn there(address: *mut u8, size: usize) -> *mut u8 {
    if address.is_null() {
        end(size);
    }
    address
}

/// Ends the program. Allocates nothing, and frees nothing: temporary files stay, which the next command removes.
#[cold]
fn end(size: usize) -> ! {
    let mut text = [0u8; 100];
    let mut rest = &mut text[..];
    let _ = writeln!(rest, "error: out of memory: {size} bytes are not available; finished results are kept");
    let unused = rest.len();
    let length = text.len() - unused;
    // SAFETY: the kernel reads `length` bytes of `text`. `_exit` does not return.
    unsafe {
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), length);
        libc::_exit(1)
    }
}
