//! Reads scenario files, with changes from the command line, and checks complete scenarios. The keys in `[vary]` are
//! the axes; each combination of their values is a case.
//!
//! ```
//! use forebay_lab::load::{self, Overrides};
//!
//! let text = r#"
//!     version = 1
//!     duration = "20s"
//!     [topology]
//!     kind = "dumbbell"
//!     bottleneck = { rate = "10mbit", delay = "10ms", queue = "100p", aqm = "raqm q0={q}" }
//!     access = { rate = "10mbit", delays = ["10ms"] }
//!     egress = { delay = "10ms" }
//!     [[flows]]
//!     kind = "ftp"
//!     [vary]
//!     q = [20, 50]
//! "#;
//! let cases = load::parse("two.toml", text, &Overrides::default())?;
//! assert_eq!(cases[1].axes, [("q".to_string(), "50".to_string())]);
//! assert_eq!(cases[1].scenario.compare[0].spec.get("q0").as_deref(), Some("50p"));
//! # Ok::<(), forebay_lab::input::InputError>(())
//! ```
//!
//! [`parse`] has four steps: it reads the text as a tree whose values have their positions in the file, applies
//! `--set`, `--vary` and `--aqm`, forms the cases, and reads each case as a typed scenario. An error at any step is one
//! [`InputError`].

use std::path::Path;

use crate::build::{buffers, limits};
use crate::document::{self, Entry, Node, Place, Source, Value, points, set, vary};
use crate::input::InputError;
use crate::scenario::{Case, cases, own_figures, read};

pub use crate::document::Overrides;

/// Reads the cases of a scenario file, or of standard input if the path is `-`.
pub fn file(path: &Path, overrides: &Overrides) -> Result<Vec<Case>, InputError> {
    parse(&document::file::name(path), &text(path)?, overrides)
}

/// The text of a scenario file, for [`parse`].
pub fn text(path: &Path) -> Result<String, InputError> {
    document::file::text(path)
}

/// Reads the cases of a scenario text. `file_name` is used in messages; its stem is the default title of
/// the scenario.
pub fn parse(file_name: &str, text: &str, overrides: &Overrides) -> Result<Vec<Case>, InputError> {
    let mut root = document::parse(&Source::file(file_name, text))?;
    let mut axes = vary::take(&mut root)?;
    for argument in &overrides.sets {
        set::set(&mut root, &mut axes, argument)?;
    }
    points::vary(&root, &mut axes, overrides)?;
    let mut figures = own_figures::take(&mut root, &axes)?;
    if !overrides.aqm.is_empty() {
        points::leave_aqm_alone(&mut axes, overrides)?;
        replace_compare(&mut root, &overrides.aqm);
    }
    let stem = Path::new(file_name).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    // Braces in a title would be read as an axis when the canonical text is read.
    let stem = stem.replace(|c: char| matches!(c, '{' | '}') || c.is_control(), "_");
    let mut cases: Vec<Case> = vary::expand(&root, &axes)?
        .into_iter()
        .map(|(axes, mut node)| {
            buffers::resolve(&mut node, &stem)?;
            let mut scenario = read::scenario(&node, &stem)?;
            if overrides.both_directions {
                scenario.compare_both_directions()?;
            }
            limits::check(&node, &scenario)?;
            Ok(Case { axes, scenario })
        })
        .collect::<Result<_, InputError>>()?;
    cases::check(&root, &axes, &cases)?;
    if !overrides.aqm.is_empty() {
        figures.keep_known(&cases);
    }
    figures.give(&mut cases)?;
    Ok(cases)
}

/// Replaces the disciplines of `[compare]` and removes their labels. The key `compare.links` stays.
fn replace_compare(root: &mut Node, aqm: &[String]) {
    let place = |text: &str| Place::whole(&Source::argument("--aqm", text));
    let all = place(&aqm.join(" "));
    let items = aqm.iter().map(|text| Node { value: Value::Text(text.clone()), place: place(text) }).collect();
    let list = Node { value: Value::List(items), place: all.clone() };
    let Value::Table(entries) = &mut root.value else { return };
    let at = entries.iter().position(|e| e.key == "compare").unwrap_or_else(|| {
        let node = Node { value: Value::Table(Vec::new()), place: all.clone() };
        entries.push(Entry { key: "compare".to_string(), place: all.clone(), node });
        entries.len() - 1
    });
    // If it is not a table, reading refuses it later.
    if let Value::Table(compare) = &mut entries[at].node.value {
        compare.retain(|e| !document::points::REPLACED.contains(&e.key.as_str()));
        compare.push(Entry { key: "aqm".to_string(), place: all, node: list });
    }
}
