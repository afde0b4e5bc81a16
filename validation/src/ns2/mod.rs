//! `cargo xtask validate-ns2`: compares our simulator with ns-2 on the same networks, and writes `docs/validation.md`.
//! A row of the comparison is one network, discipline, TCP and number of flows.
//!
//! With ns-2 installed, `validation/ns2/case.tcl` measures its figures again; otherwise the committed figures
//! are used. These commands always run our simulator and record its figures. The test reads the record and simulates one
//! seed of each row again.

mod grid;
mod ours;
mod page;
mod reasons;
mod record;
mod theirs;

use forebay_sim::tcp::Ns2Rules;

use grid::Row;
use ours::Wanted;
use record::Record;

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

/// Runs our simulator; writes the record of its runs, and the page from the committed figures of ns-2.
///
/// # Errors
/// As [`run`].
pub fn page() -> Result<(), String> {
    let mut record = Record::default();
    let rows = compare(|wanted| {
        let runs = ours::run(wanted)?;
        record.add(wanted, &runs);
        Ok(runs)
    })?;
    record.write()?;
    program::write(page::FILE, &page::page(&rows)?)?;
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

/// Returns our runs of the wanted rows, in their order.
type Ours<'a> = &'a mut dyn FnMut(&[Wanted]) -> Result<Vec<Runs>, String>;

/// Every row: ns-2's committed figures, and runs of ours.
fn compare(mut ours: impl FnMut(&[Wanted]) -> Result<Vec<Runs>, String>) -> Result<Vec<Comparison>, String> {
    let ns2 = theirs::Figures::read()?;
    let wanted = grid::rows().into_iter().zip(&ns2.jittered).map(|(row, runs)| Wanted::plain(row, runs.0.len()));
    let plain = ours(&wanted.collect::<Vec<_>>())?;
    let runs = grid::rows().into_iter().zip(plain).zip(ns2.jittered).zip(ns2.plain);
    let row = |(((row, ours), jittered), plain)| {
        let by_rules = Vec::new();
        Comparison { row, ours, by_rules, jittered, plain, faster: None }
    };
    let mut rows: Vec<Comparison> = runs.map(row).collect();
    run_by_rules(&mut rows, &mut ours)?;
    run_with_faster_lines(&mut rows, &mut ours)?;
    Ok(rows)
}

/// Makes the page from the record of our runs and compares it with the committed page. Simulates one seed of each row of
/// the record again. It takes a minute of CPU time.
///
/// # Errors
/// The page or the record is stale.
pub fn check() -> Result<(), String> {
    let stale = |what: String| format!("{what}: cargo xtask validate-ns2 page");
    let record = Record::read().map_err(stale)?;
    let mut wanted = Vec::new();
    let rows = compare(|more| {
        wanted.extend_from_slice(more);
        record.runs(more).map_err(stale)
    })?;
    record.verify(&wanted).map_err(stale)?;
    let is_current = program::read(page::FILE)? == page::page(&rows)?;
    if is_current { Ok(()) } else { Err(stale(format!("{} is stale", page::FILE))) }
}

fn run_with_faster_lines(rows: &mut [Comparison], ours: Ours) -> Result<(), String> {
    let fast = grid::with_faster_lines();
    let mut by = |rules: fn(&Row) -> Ns2Rules| {
        let wanted = |row: &Row| Wanted { row: *row, seeds: SEEDS[1], rules: rules(row), lines: ours::FASTER };
        ours(&fast.iter().map(wanted).collect::<Vec<_>>())
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
fn run_by_rules(rows: &mut [Comparison], ours: Ours) -> Result<(), String> {
    let mut wanted = Vec::new();
    for (at, Comparison { row, ours, jittered, plain, .. }) in rows.iter().enumerate() {
        if ![jittered, plain].iter().all(|ns2| ns2.outside(ours).is_empty()) {
            let plain = Wanted::plain(*row, ours.0.len());
            wanted.extend(row.rules().into_iter().map(|rules| (at, Wanted { rules, ..plain })));
        }
    }
    let runs = ours(&wanted.iter().map(|(_, wanted)| *wanted).collect::<Vec<_>>())?;
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
