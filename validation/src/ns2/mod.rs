//! `cargo xtask validate-ns2`: compares our simulator with ns-2 on the same networks, and writes `docs/validation.md`.
//! A row of the comparison is one network, discipline, TCP and number of flows.
//!
//! With ns-2 installed, `validation/ns2/case.tcl` measures its figures again; otherwise the committed figures
//! are used. Our simulator always runs.

mod grid;
mod ours;
mod page;
mod reasons;
mod theirs;

use forebay_sim::tcp::Ns2Rules;

use grid::Row;
use ours::Wanted;

use crate::figures::Runs;
use runner::program;

/// Number of seeds of a row: the usual one, and the one if that is too small; `theirs::Figures::seeds` decides.
const SEEDS: [usize; 2] = [3, 10];

/// Runs our simulator, and ns-2 if it is installed, and writes the page.
///
/// # Errors
/// A run fails, or a file cannot be read or written.
pub fn run() -> Result<(), String> {
    if theirs::is_installed() {
        theirs::renew()?;
    } else {
        println!("ns-2 is not installed (package ns2): its committed figures are used");
    }
    page()
}

/// Runs ns-2 only for the rows with faster links of the clients, in minutes instead of an hour, and writes the page.
///
/// # Errors
/// As [`run`].
pub fn lines() -> Result<(), String> {
    theirs::renew_faster()?;
    page()
}

/// Writes the page from the committed figures of ns-2.
///
/// # Errors
/// As [`run`].
pub fn page() -> Result<(), String> {
    program::write(page::FILE, &page::page(&compare()?)?)?;
    println!("{}", page::FILE);
    Ok(())
}

/// The runs of a row in both simulators.
struct Comparison {
    row: Row,
    ours: Runs,
    /// Our runs with rules of ns-2, if a quantity is outside its tolerance and the rules can affect the row.
    by_rules: Vec<(Ns2Rules, Runs)>,
    /// ns-2's runs with the processing jitter that our hosts have.
    jittered: Runs,
    /// ns-2's runs without jitter.
    plain: Runs,
    /// The runs with faster links of the clients; only some rows have them.
    faster: Option<Faster>,
}

/// The runs of a row if the clients' links have twice the rate of the bottleneck.
struct Faster {
    ours: Runs,
    /// Ours with all rules of ns-2 that can affect the row; equal to `ours` if there are none.
    by_rules: Runs,
    /// ns-2's runs with processing jitter.
    ns2: Runs,
}

/// Every row: ns-2's committed figures, and new runs of ours.
fn compare() -> Result<Vec<Comparison>, String> {
    let ns2 = theirs::Figures::read()?;
    let wanted = grid::rows().into_iter().zip(&ns2.jittered).map(|(row, runs)| Wanted::plain(row, runs.0.len()));
    let ours = ours::run(&wanted.collect::<Vec<_>>())?;
    let runs = grid::rows().into_iter().zip(ours).zip(ns2.jittered).zip(ns2.plain);
    let row = |(((row, ours), jittered), plain)| {
        let by_rules = Vec::new();
        Comparison { row, ours, by_rules, jittered, plain, faster: None }
    };
    let mut rows: Vec<Comparison> = runs.map(row).collect();
    run_by_rules(&mut rows)?;
    run_with_faster_lines(&mut rows)?;
    Ok(rows)
}

/// Compares the committed page with new runs of ours: minutes of CPU time.
///
/// # Errors
/// The page is stale: a row leaves or enters the tolerances, or has another reason.
pub fn check() -> Result<(), String> {
    let is_current = program::read(page::FILE)? == page::page(&compare()?)?;
    if is_current { Ok(()) } else { Err(format!("{} is stale: cargo xtask validate-ns2", page::FILE)) }
}

fn run_with_faster_lines(rows: &mut [Comparison]) -> Result<(), String> {
    let fast = grid::with_faster_lines();
    let by = |rules: fn(&Row) -> Ns2Rules| {
        let wanted = |row: &Row| Wanted { row: *row, seeds: SEEDS[1], rules: rules(row), lines: ours::FASTER };
        ours::run(&fast.iter().map(wanted).collect::<Vec<_>>())
    };
    let (plain, ruled) = (by(|_| Ns2Rules::default())?, by(|row| row.rules().pop().unwrap_or_default())?);
    let runs = plain.into_iter().zip(ruled).zip(theirs::read_faster()?);
    for (row, ((ours, by_rules), ns2)) in fast.iter().zip(runs) {
        if let Some(place) = rows.iter_mut().find(|other| other.row == *row) {
            place.faster = Some(Faster { ours, by_rules, ns2 });
        }
    }
    Ok(())
}

/// Runs the rows with a quantity outside its tolerance again, with the rules of ns-2 that could be the reason.
fn run_by_rules(rows: &mut [Comparison]) -> Result<(), String> {
    let mut wanted = Vec::new();
    for (at, Comparison { row, ours, jittered, plain, .. }) in rows.iter().enumerate() {
        if ![jittered, plain].iter().all(|ns2| ns2.outside(ours).is_empty()) {
            let plain = Wanted::plain(*row, ours.0.len());
            wanted.extend(row.rules().into_iter().map(|rules| (at, Wanted { rules, ..plain })));
        }
    }
    let runs = ours::run(&wanted.iter().map(|(_, wanted)| *wanted).collect::<Vec<_>>())?;
    for ((at, wanted), runs) in wanted.iter().zip(runs) {
        rows[*at].by_rules.push((wanted.rules, runs));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_rows_have_the_required_number_of_seeds() {
        let ns2 = theirs::Figures::read().unwrap();
        for (at, row) in grid::rows().iter().enumerate() {
            let seeds = [ns2.jittered[at].0.len(), ns2.plain[at].0.len()];
            assert_eq!(seeds, [ns2.seeds(at, row); 2], "{row}: cargo xtask validate-ns2 with ns-2 installed");
        }
    }
}
