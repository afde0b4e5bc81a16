//! `cargo xtask docs`: what is generated from the code. Here the table of disciplines in README.md; the book and the
//! list of RFC requirements have modules of their own.

use std::fmt::Write;

use forebay_aqm::ENTRIES;
use forebay_aqm::base::design::{Entry, Rung};

use super::{book, coverage, scenario_page};
use crate::base::program;
use crate::supply::licences;

pub(crate) const README: &str = "README.md";
/// What stands before and after the table.
pub(crate) const BEGIN: &str = "<!-- disciplines: written by `cargo xtask docs` -->";
pub(crate) const END: &str = "<!-- /disciplines -->";

/// Writes the table anew.
pub(crate) fn run() -> Result<(), String> {
    let old = program::read(README)?;
    let new = renewed(&old)?;
    if new != old {
        program::write(README, &new)?;
    }
    println!("{README}: {} disciplines", ENTRIES.len());
    coverage::write()?;
    licences::write()?;
    scenario_page::write()?;
    book::write()
}

/// `readme` with the table as the registry has it now.
pub(crate) fn renewed(readme: &str) -> Result<String, String> {
    let missing = |marker: &str| format!("{README}: no line '{marker}'");
    let (before, rest) = readme.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
    Ok(format!("{before}{BEGIN}\n{}{END}{after}", table(ENTRIES)))
}

fn table(entries: &[Entry]) -> String {
    let mut out = String::from("| name | what it does | from | written as |\n|---|---|---|---|\n");
    for entry in entries {
        let (about, rung) = match entry.variant_of {
            Some((base, _)) => (entry.summary(), format!("variant of `{base}`")),
            None => (entry.summary(), word(entry.rung).to_string()),
        };
        let source = match entry.variant_of {
            Some((_, preset)) => entry.presets.iter().find(|p| p.name == preset).map_or("", |p| p.source),
            None => entry.about.source,
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| `{}` | {} | {} | {rung} |", entry.name, cell(&about), cell(source));
    }
    out
}

/// The trait of a rung.
const fn word(rung: Rung) -> &'static str {
    match rung {
        Rung::Law => "`Law`",
        Rung::Aqm => "`Aqm`",
        Rung::Queue => "`Discipline`",
    }
}

/// `text` within a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renewal_keeps_what_is_around_the_table_and_is_stable() {
        let page = format!("above\n{BEGIN}\nold\n{END}\nbelow\n");
        let new = renewed(&page).unwrap();
        assert!(new.starts_with("above\n") && new.ends_with("\nbelow\n") && !new.contains("old\n"));
        assert_eq!(renewed(&new).unwrap(), new);
        for entry in ENTRIES {
            assert!(new.contains(&format!("\n| `{}` | ", entry.name)), "{}", entry.name);
        }
    }
}
