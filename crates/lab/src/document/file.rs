//! Reads the text of a scenario file; errors say what is wrong with the file.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use forebay_aqm::base::nearest::nearest;

use crate::input::{Found, InputError};

/// Largest scenario file in bytes. A larger file is probably not a scenario.
const MAX_BYTES: u64 = 16 << 20;

/// The path that stands for standard input.
const STDIN: &str = "-";

/// Name of the file in messages: `stdin` for standard input.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new(STDIN) { "stdin".to_string() } else { path.display().to_string() }
}

/// The text of the file, or of standard input.
pub(crate) fn text(path: &Path) -> Result<String, InputError> {
    let error = |found| InputError::new(name(path), "", found, "a scenario file");
    let unreadable = |e: std::io::Error| match e.kind() {
        ErrorKind::NotFound => error(Found::thing("no such file")).hint(neighbour(path)),
        ErrorKind::PermissionDenied => error(Found::thing("a file that may not be read")),
        _ => error(Found::thing(format!("a file that cannot be read: {e}"))),
    };
    if path.is_dir() {
        let hint = scenarios(path).first().map(|name| format!("it contains {name}"));
        return Err(error(Found::thing("a directory")).hint(hint));
    }
    let mut bytes = Vec::new();
    let read = match path == Path::new(STDIN) {
        true => io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)),
    };
    read.map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(error(Found::thing("a file of more than 16 MiB")));
    }
    String::from_utf8(bytes).map_err(|e| {
        let sound = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = sound.iter().filter(|b| **b == b'\n').count() + 1;
        let column = sound.iter().rev().take_while(|b| **b != b'\n').count() + 1;
        let found = Found::thing("bytes that are not UTF-8 text");
        InputError::new(name(path), "", found, "TOML in UTF-8").at(line, column)
    })
}

/// Hint for a path that does not exist: the missing directory, or the scenario file with the nearest name.
fn neighbour(path: &Path) -> Option<String> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Some(format!("there is no directory {}", folder.display()));
    }
    let names = scenarios(folder);
    let wanted = path.file_name()?.to_str()?;
    let near = nearest(wanted, names.iter().map(String::as_str))?;
    Some(format!("did you mean {}?", path.with_file_name(near).display()))
}

/// The names of the TOML files in a directory, sorted.
fn scenarios(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|e| e.file_name().into_string().ok()).filter(|name| name.ends_with(".toml")).collect();
    names.sort();
    names
}
