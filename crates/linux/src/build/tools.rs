//! Runs the programs that build a kernel.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

/// The programs that are needed, and the Debian packages that have them.
const NEEDED: [(&str, &str); 8] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("objcopy", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("xz", "xz-utils"),
];

/// The packages of programs that are missing.
pub(super) fn missing() -> Vec<&'static str> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let exists = |name: &str| std::env::split_paths(&paths).any(|folder| folder.join(name).is_file());
    let mut packages: Vec<&str> =
        NEEDED.iter().filter(|(name, _)| !exists(name)).map(|(_, package)| *package).collect();
    packages.dedup();
    packages
}

/// Runs a program in `folder`.
///
/// # Errors
/// It cannot be started, or fails: the text has the end of its messages.
pub(super) fn run<S: AsRef<OsStr>>(folder: &Path, words: &[S]) -> Result<String, String> {
    let Some((program, arguments)) = words.split_first() else { return Ok(String::new()) };
    let name = program.as_ref().to_string_lossy();
    let mut command = Command::new(program);
    // What the builder itself was started with must not reach make: it could ask for other output.
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    let out = command.output().map_err(|error| format!("cannot start {name}: {error}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let text = [out.stdout, out.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let end = lines[lines.len().saturating_sub(30)..].join("\n");
    Err(format!("{name} failed ({}):\n{end}", out.status))
}

/// SHA-256 of bytes, as hexadecimal digits.
pub(super) fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of a file.
///
/// # Errors
/// The file cannot be read.
pub(super) fn checksum_of(path: &Path) -> Result<String, String> {
    let mut file = fs::File::open(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let got = std::io::Read::read(&mut file, &mut buffer);
        match got.map_err(|error| format!("cannot read {}: {error}", path.display()))? {
            0 => return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            len => digest.update(&buffer[..len]),
        }
    }
}

/// Writes a file if its content differs, so that make does not build what depends on it again.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_changed(path: &Path, content: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|before| before == content) {
        return Ok(());
    }
    fs::write(path, content).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
