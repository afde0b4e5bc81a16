//! Programs that run in the guest at prescribed times, one after the other.

use std::io;
use std::process::{Command, Output, Stdio};

use forebay_agent::orders::{Orders, Program, SERVERS, SERVERS_DESCRIPTOR};

use super::Report;
use super::sys::{self, Descriptor};

/// Where programs find others.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs the programs. Reports for each its exit status, and what it has written to both outputs.
pub(super) fn run(orders: &Orders, report: &Report) {
    for (number, program) in orders.programs.iter().enumerate() {
        sys::sleep_until(orders.zero + program.at);
        let (status, text) = match output(program) {
            Ok(out) => {
                let status = out.status.code().map_or_else(|| out.status.to_string(), |code| code.to_string());
                (status, String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
            }
            Err(error) => ("not started".to_string(), error.to_string()),
        };
        report.line(&format!("program {number} {}\n{text}", status.replace(' ', "-")));
    }
}

fn output(program: &Program) -> io::Result<Output> {
    let clients = sys::own_namespace()?;
    if program.namespace == SERVERS {
        sys::enter(SERVERS_DESCRIPTOR as Descriptor)?;
    }
    let (name, arguments) = program.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    // The new process is in the namespace of this thread.
    let out = Command::new(name).args(arguments).env_clear().env("PATH", PATH).stdin(Stdio::null()).output();
    sys::enter(clients)?;
    sys::close(clients);
    out
}
