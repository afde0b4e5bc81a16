//! The comparison of all pairs, as the page `docs/validation-linux.md` and as recorded digests.

use std::fmt::Write as _;

use super::arrivals::{Arrivals, Pattern};
use super::pairs::{Contrast, PAIRS, Pair};
use super::{Fate, compare, differences, digest};
use crate::machine::Fault;
use crate::place::Kernel;

/// The page, below the checkout.
pub const PAGE: &str = "docs/validation-linux.md";
/// The recorded digests, below the checkout.
pub const DIGESTS: &str = "crates/linux/tests/data/oracle.txt";
/// Packets of each pattern for which digests are recorded.
pub const RECORDED: usize = 10_000;
/// Seed of the recorded digests, and of the first run of each pattern.
pub const SEED: u64 = 1;
/// Most packets in a run.
const RUN: usize = 100_000;
/// Packets of a contrast.
const CONTRASTED: usize = 20_000;

/// Differences of two traces.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Differences {
    /// Packets with another verdict.
    pub verdicts: usize,
    /// Packets that the line took at another time.
    pub times: usize,
    /// Largest difference of these times, ns.
    pub largest: u64,
}

impl Differences {
    fn add(&mut self, one: &[Fate], other: &[Fate]) {
        let (verdicts, times, largest) = differences(one, other);
        self.verdicts += verdicts;
        self.times += times;
        self.largest = self.largest.max(largest);
    }
}

/// The comparison of a pair.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Row {
    /// Packets.
    pub packets: usize,
    /// Packets that Linux dropped.
    pub drops: usize,
    /// Packets with a CE mark that Linux's line took, CE at their arrival included.
    pub marks: usize,
    /// Linux against ours in the kernel.
    pub kernel: Differences,
    /// Linux against ours in user space.
    pub simulated: Differences,
}

impl Row {
    fn add(&mut self, fates: &super::Fates) {
        self.packets += fates.linux.len();
        self.drops += drops(&fates.linux);
        self.marks += marks(&fates.linux);
        self.kernel.add(&fates.linux, &fates.ours);
        self.simulated.add(&fates.linux, &fates.simulated);
    }

    /// Whether every packet had the same fate.
    pub fn is_equal(&self) -> bool {
        [self.kernel, self.simulated] == [Differences::default(); 2]
    }
}

fn drops(fates: &[Fate]) -> usize {
    fates.iter().filter(|fate| fate.departed.is_none()).count()
}

fn marks(fates: &[Fate]) -> usize {
    fates.iter().filter(|fate| fate.departed.is_some_and(|(_, marked)| marked)).count()
}

/// Compares a pair with `packets` packets, a fifth of each pattern.
///
/// # Errors
/// The kernel cannot run it.
pub fn row(kernel: &Kernel, pair: &Pair, packets: usize) -> Result<Row, Fault> {
    let mut row = Row::default();
    for pattern in Pattern::ALL {
        let (mut left, mut seed) = (packets / Pattern::ALL.len(), SEED);
        while left > 0 {
            let count = left.min(RUN);
            row.add(&compare(kernel, pair, &Arrivals::new(pattern, seed, count), seed)?);
            (left, seed) = (left - count, seed + 1);
        }
    }
    Ok(row)
}

/// The difference that a condition prevents, with the arrivals of many flows.
///
/// # Errors
/// The kernel cannot run it.
pub fn contrast(kernel: &Kernel, contrast: &Contrast) -> Result<Row, Fault> {
    let mut row = Row::default();
    row.add(&compare(kernel, &contrast.pair, &Arrivals::new(Pattern::Flows, SEED, CONTRASTED), SEED)?);
    Ok(row)
}

/// A line of the recorded digests.
pub fn line(pair: &Pair, pattern: Pattern, fates: &[Fate]) -> String {
    let (drops, marks, digest) = (drops(fates), marks(fates), digest(fates));
    format!("{} {} {} {drops} {marks} {digest}", pair.name, pattern.name(), fates.len())
}

/// The recorded digests: what Linux did.
///
/// # Errors
/// The kernel cannot run a pair.
pub fn digests(kernel: &Kernel) -> Result<String, Fault> {
    let mut text = "# What Linux did with the arrivals of cargo xtask validate-linux, which writes this file: pair, \
                    arrivals, packets,\n# drops, marks, SHA-256 of all verdicts and times.\n"
        .to_string();
    for pair in &PAIRS {
        for pattern in Pattern::ALL {
            let fates = compare(kernel, pair, &Arrivals::new(pattern, SEED, RECORDED), SEED)?;
            text += &line(pair, pattern, &fates.linux);
            text.push('\n');
        }
    }
    Ok(text)
}

/// Differences as cells of a table.
fn cells(of: &Differences) -> String {
    format!("{} | {} | {} ns", of.verdicts, of.times, of.largest)
}

const HEAD: &str = include_str!("page-head.txt");
const MIDDLE: &str = include_str!("page-middle.txt");

/// The page.
pub fn page(version: &str, rows: &[(Pair, Row)], contrasts: &[(Contrast, Row)]) -> String {
    let mut text = HEAD.replace("VERSION", version);
    for (pair, row) in rows {
        let Row { packets, drops, marks, kernel, simulated } = row;
        let (kernel, simulated) = (cells(kernel), cells(simulated));
        let _ = writeln!(text, "| {} | {packets} | {drops} | {marks} | {kernel} | {simulated} |", pair.name);
    }
    text += "\n| name | Linux, in the words of tc(8) | ours |\n|---|---|---|\n";
    for (pair, _) in rows {
        let _ = writeln!(text, "| {} | `{}` | `{}` |", pair.name, pair.linux, pair.ours);
    }
    text += MIDDLE;
    for (contrast, row) in contrasts {
        let Differences { verdicts, times, .. } = row.kernel;
        let (name, packets) = (contrast.pair.name, row.packets);
        let _ = writeln!(text, "| {} | {name} | {packets} | {verdicts} | {times} |", contrast.about);
    }
    text
}
