//! `cargo xtask bless`: records the current results as those that tests expect. Review the diff.

use super::verdicts;
use crate::base::program;

/// Files with expected results, which this task may change.
const BLESSED: [&str; 10] = [
    "crates/aqm/golden",
    "crates/cli/tests/golden",
    "crates/sim/tests/fingerprints.txt",
    "docs/scenario.schema.json",
    QUEUES.files[0],
    THROUGHPUT.files[0],
    THROUGHPUT.files[1],
    FLUID.files[0],
    "docs/readings.md",
    verdicts::EXPECTED,
];
/// Tests that write the files with their expected results: package, module.
const WRITERS: [[&str; 2]; 8] = [
    ["forebay-aqm", "golden::"],
    ["forebay", "verdict::"],
    ["forebay-sim", "fingerprints::"],
    ["forebay-lab", "published_schema::"],
    ["forebay-lab", QUEUES.test],
    ["forebay-lab", THROUGHPUT.test],
    ["forebay-lab", FLUID.test],
    ["forebay-lab", "readings_page::"],
];
/// The page that compares the simulator with queueing theory.
pub(crate) const QUEUES: Page = Page { test: "queues::", files: &["docs/queues.md"] };
/// The page that compares the fluid model with simulated packets.
pub(crate) const FLUID: Page = Page { test: "fluid::", files: &["docs/fluid.md"] };
/// The page that compares the simulator with the formulas of TCP's send rate.
pub(crate) const THROUGHPUT: Page =
    Page { test: "throughput::", files: &["docs/throughput.md", "docs/pictures/throughput.svg"] };

/// A page that a test of the crate `lab` writes, with its chart if it has one.
pub(crate) struct Page {
    test: &'static str,
    files: &'static [&'static str],
}

/// Rewrites golden traces and tables, fingerprints, schema, pages and quick verdicts, and shows the changed files.
pub(crate) fn run() -> Result<(), String> {
    for writer in WRITERS {
        write(writer)?;
    }
    println!("quick verdicts");
    let scratch = program::scratch("bless")?;
    for paper in verdicts::papers()? {
        verdicts::record(&paper, &verdicts::reproduce(&paper, &scratch.join(&paper))?)?;
    }
    program::at(&scratch, std::fs::remove_dir_all(&scratch))?;
    let mut diff = program::at_root("git");
    diff.args(["--no-pager", "diff", "--stat", "--"]).args(BLESSED);
    println!("changed:");
    program::shown(diff)
}

/// Rewrites one page.
pub(crate) fn page(page: &Page) -> Result<(), String> {
    write(["forebay-lab", page.test])?;
    println!("{}", page.files.join("\n"));
    Ok(())
}

fn write([package, module]: [&str; 2]) -> Result<(), String> {
    let mut writer = program::cargo(&["test", "-p", package, "--test", "all", "--", module]);
    writer.env("FOREBAY_BLESS", "1");
    program::shown(writer)
}
