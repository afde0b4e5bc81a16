//! The program: everything is in the library beside it.

use std::process::ExitCode;

use forebay::program::Program;

fn main() -> ExitCode {
    forebay::main(Program::own()).into()
}
