//! The program. Everything is in the library.

use std::process::ExitCode;

use forebay::program::Program;

fn main() -> ExitCode {
    forebay::main(Program::own()).into()
}
