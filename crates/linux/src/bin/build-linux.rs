//! Builds the kernel of `forebay run --on linux`: `cargo xtask linux`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use forebay_linux::build::{BuildError, build, sources};

    let Some(root) = sources::checkout() else {
        eprintln!("error: this program is not in a checkout of forebay");
        return ExitCode::FAILURE;
    };
    // The program is in a folder of the target folder.
    let program = std::env::current_exe().unwrap_or_default();
    let Some(target) = program.ancestors().nth(2) else {
        eprintln!("error: no target folder");
        return ExitCode::FAILURE;
    };
    match build(&root, target, &|step| eprintln!("{step}")) {
        Ok(folder) => {
            println!("{}", folder.display());
            ExitCode::SUCCESS
        }
        Err(BuildError::Missing(what)) => {
            eprintln!("error: {what}");
            ExitCode::from(4)
        }
        Err(BuildError::Failed(why)) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("error: it needs Linux");
    ExitCode::from(4)
}
