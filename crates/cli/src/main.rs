//! The program `forebay`. It only calls the library of this crate.

use std::process::ExitCode;

use forebay::program::Program;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: forebay_live::sys::allocator::Allocator = forebay_live::sys::allocator::Allocator;

fn main() -> ExitCode {
    forebay::main(Program::own()).into()
}
