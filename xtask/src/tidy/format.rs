//! rustfmt on every file by name: it does not visit the modules that the registry's macro declares.

use crate::base::program::{self, works};
use crate::base::tally::Tally;
use crate::base::tree::Tree;

/// Each file that rustfmt would write otherwise is a failure.
pub(super) fn check(tree: &Tree, tally: &mut Tally) {
    let mut version = program::at_root("rustfmt");
    version.arg("--version");
    if !works(version) {
        return tally.skip("rustfmt is not installed: rustup component add rustfmt");
    }
    let mut rustfmt = program::at_root("rustfmt");
    rustfmt.args(["--check", "--files-with-diff", "--edition", "2024"]);
    rustfmt.args(tree.rust().map(|file| &file.path));
    match program::output(rustfmt) {
        Err(what) => tally.fail(what),
        Ok((status, out)) => {
            // A file that another one declares is visited twice.
            let root = program::root();
            let mut files: Vec<&str> = out.lines().collect();
            files.sort_unstable();
            files.dedup();
            let name = |file: &str| {
                let path = std::path::Path::new(file);
                path.strip_prefix(&root).unwrap_or(path).display().to_string()
            };
            files.iter().for_each(|file| tally.fail(format!("{} is not as rustfmt writes it", name(file))));
            match (status.success(), files.is_empty()) {
                (true, _) => tally.pass(),
                (false, true) => tally.fail(format!("rustfmt: {status}")),
                (false, false) => {}
            }
        }
    }
}
