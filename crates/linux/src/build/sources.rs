//! The files of a checkout from which a kernel is built, for a check whether a built kernel is older than they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::edits::EDITS;
use super::tools::checksum;

/// Folders with the disciplines, the qdisc and the agent.
const FOLDERS: [&str; 4] = ["crates/aqm/src", "crates/qdisc/src", "crates/qdisc/kernel", "crates/agent/src"];
/// A file that only a checkout has.
const MARK: &str = "crates/qdisc/kernel/sch_forebay.c";

/// The checkout that this program was built in, if it still is there: the one of cargo, or that around the program.
pub fn checkout() -> Option<PathBuf> {
    let own = std::env::current_exe().unwrap_or_default();
    let cargo = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    [cargo, own].iter().flat_map(|path| path.ancestors()).find(|root| root.join(MARK).is_file()).map(Path::to_path_buf)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { files(&path, found)? } else { found.push(path) }
    }
    Ok(())
}

/// SHA-256 of all that a kernel is built from, besides Linux and the compilers.
///
/// # Errors
/// A file cannot be read.
pub fn identity(root: &Path) -> io::Result<String> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        files(&root.join(folder), &mut all)?;
    }
    all.sort();
    let mut parts: Vec<String> = EDITS.iter().map(|edit| [edit.file, edit.from, edit.to].join("\n")).collect();
    parts.push(super::FRAGMENT.to_string());
    for path in all {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        parts.push(format!("{name} {}", checksum(&fs::read(&path)?)));
    }
    Ok(checksum(parts.join("\n").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_source_changes_the_identity() {
        let root = std::env::temp_dir().join(format!("forebay-sources-{}", std::process::id()));
        FOLDERS.iter().for_each(|folder| fs::create_dir_all(root.join(folder).join("deep")).unwrap());
        let write = |name: &str, text: &str| {
            fs::write(root.join(name), text).unwrap();
            identity(&root).unwrap()
        };
        let first = write("crates/aqm/src/deep/a.rs", "one");
        assert_eq!(identity(&root).unwrap(), first);
        assert_ne!(write("crates/aqm/src/deep/a.rs", "two"), first);
        assert_eq!(write("crates/aqm/src/deep/a.rs", "one"), first);
        assert_ne!(write("crates/agent/src/b.rs", "one"), first);
        fs::remove_dir_all(&root).unwrap();
    }
}
