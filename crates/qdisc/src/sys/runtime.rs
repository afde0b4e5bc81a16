//! What Rust needs in a kernel: memory, and the end of the run after a panic. The shim has the C functions.

#![expect(unsafe_code, reason = "the allocator, and functions of the shim")]

use core::alloc::{GlobalAlloc, Layout};
use core::fmt::Write;
use core::panic::PanicInfo;

unsafe extern "C" {
    fn forebay_alloc(size: usize, align: usize) -> *mut u8;
    fn forebay_free(at: *mut u8);
    fn forebay_fail(message: *const u8, len: usize) -> !;
}

struct KernelMemory;

// SAFETY: the shim returns memory of the requested size and alignment, or null.
unsafe impl GlobalAlloc for KernelMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: takes any size, and any alignment that is a power of two.
        unsafe { forebay_alloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, at: *mut u8, _: Layout) {
        // SAFETY: `at` is from `alloc`.
        unsafe { forebay_free(at) }
    }
}

#[global_allocator]
static MEMORY: KernelMemory = KernelMemory;

/// A text of limited length: a panic must not allocate.
struct Text {
    bytes: [u8; 512],
    len: usize,
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> core::fmt::Result {
        let room = &mut self.bytes[self.len..];
        let most = part.len().min(room.len());
        room[..most].copy_from_slice(&part.as_bytes()[..most]);
        self.len += most;
        Ok(())
    }
}

#[panic_handler]
fn panicked(info: &PanicInfo<'_>) -> ! {
    let mut text = Text { bytes: [0; 512], len: 0 };
    let _ = write!(text, "the discipline panicked: {info}");
    // SAFETY: the text is valid for its length.
    unsafe { forebay_fail(text.bytes.as_ptr(), text.len) }
}
