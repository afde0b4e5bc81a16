//! No artefact speaks of the machine that built it.

use std::fs;
use std::path::{Path, PathBuf};

/// A shorter path is a word like others.
const SHORTEST: usize = 3;

/// Fails with every file below `place` that has one of `folders` in its bytes.
pub(super) fn absent(place: &Path, folders: &[PathBuf]) -> Result<(), String> {
    let mut files = Vec::new();
    walk(place, &mut files)?;
    let words = words(folders);
    let mut found = Vec::new();
    for file in &files {
        let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        found.extend(words.iter().filter_map(|word| Some((word, line(&bytes, word)?))).map(|(word, line)| {
            let word = word.trim_end_matches('/');
            format!("{} speaks of {word}: {line}", file.strip_prefix(place).unwrap_or(file).display())
        }));
    }
    match (found.is_empty(), files.is_empty()) {
        (true, false) => Ok(()),
        (true, true) => Err(format!("{}: nothing to look at", place.display())),
        (false, _) => Err(found.join("\n")),
    }
}

/// What to look for: each folder as the beginning of a path.
fn words(folders: &[PathBuf]) -> Vec<String> {
    let paths = folders.iter().map(|folder| folder.to_string_lossy().trim_end_matches('/').to_string());
    let mut words: Vec<String> = paths.filter(|path| path.len() >= SHORTEST).map(|path| path + "/").collect();
    words.sort();
    words.dedup();
    words
}

/// The text around the first place where `word` stands.
fn line(bytes: &[u8], word: &str) -> Option<String> {
    let at = bytes.windows(word.len()).position(|window| window == word.as_bytes())?;
    let end = bytes.len().min(at + word.len() + 80);
    let text = String::from_utf8_lossy(&bytes[at..end]);
    Some(text.split(|c: char| c.is_control()).next().unwrap_or_default().to_string())
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?.flatten() {
        if entry.path().is_dir() {
            walk(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::program;

    #[test]
    fn a_path_in_any_file_is_found_and_named() {
        let place = program::scratch("paths").unwrap();
        let folders = [PathBuf::from("/some/body"), PathBuf::from("/")];
        assert!(absent(&place, &folders).is_err(), "nothing was looked at");
        fs::create_dir(place.join("bin")).unwrap();
        let write = |bytes: &[u8]| fs::write(place.join("bin").join("x"), bytes).unwrap();
        write(b"\x00/some/bodyguard\x00/other/");
        assert_eq!(absent(&place, &folders), Ok(()));
        write(b"\xff\x00/some/body/src/a.rs\x00more");
        assert_eq!(absent(&place, &folders), Err("bin/x speaks of /some/body: /some/body/src/a.rs".to_string()));
        fs::remove_dir_all(place).unwrap();
    }
}
