//! The program `forebay`. It only calls the library of this crate.

use std::process::ExitCode;

use forebay::program::Program;

fn main() -> ExitCode {
    forebay::main(Program::own()).into()
}
