//! The comparison with ns-3 with TCP through a bottleneck: its rows (round trip, discipline, TCP, number of flows), our
//! scenario of each, and ns-3's results, which `validation/ns3/case.py` writes.

use std::fmt;

use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::scenario::Overrides;

use crate::figures::{self, Runs};
use runner::program;

pub(super) const FILE: &str = "validation/ns3/figures.csv";
/// The columns of the file with ns-3's results.
pub(super) const COLUMNS: &str = "base,aqm,ecn,tcp,flows,seed,mean_queue,utilisation,drop_ratio,mark_ratio,goodput";
pub(super) const SEEDS: u64 = 5;

/// An argument of `case.py`, and the corresponding value in our scenario.
type Pair = (&'static str, &'static str);

// `--aqm`. ns-3's sizes are without the 2 bytes of PPP: three packets are less than its MinBytes of 1500.
const RED: Pair = ("RED", "red preset=ns2 min_th=25 max_th=75 max_p=0.1 bytes=off");
const PIE: Pair = ("PIE", "pie max_burst=15ms min_backlog=2p cap=on");
const CODEL: Pair = ("CoDel", "codel mtu=1500b inv_sqrt=newton");
const FQ_CODEL: Pair = ("FqCoDel", "fq_codel quantum=1500b mtu=1500b inv_sqrt=newton hash=exact rules=rfc8290");
// `--tcp`.
const SACK: Pair = ("Sack", "sack");
const FLIGHT: Pair = ("Sack-flight", "sack");
const NEWRENO: Pair = ("Newreno", "newreno");
const EXACT: Pair = ("Sack-exact", "sack");
const EARLY: Pair = ("Sack-200ms", "sack");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Base round-trip time in ms.
    base: u32,
    aqm: Pair,
    ecn: bool,
    tcp: Pair,
    flows: u32,
}

/// Every row, in the order of `docs/validation-ns3.md`: the disciplines first, then rows that show why some of these
/// are outside the tolerances.
pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let both = |base, aqm| [10, 40].map(|flows| Row { base, aqm, ecn: false, tcp: SACK, flows });
    rows.extend([("DropTail", "droptail"), RED].into_iter().flat_map(|aqm| both(60, aqm)));
    for aqm in [PIE, CODEL, FQ_CODEL] {
        rows.extend([60, 240].into_iter().flat_map(|base| both(base, aqm)));
    }
    rows.extend([PIE, CODEL].map(|aqm| Row { base: 60, aqm, ecn: true, tcp: SACK, flows: 40 }));
    let spared = ("FqCoDel-1", FQ_CODEL.1);
    let reasons = [
        (60, spared, SACK, 40),
        (60, RED, FLIGHT, 40),
        (60, CODEL, FLIGHT, 40),
        (60, RED, NEWRENO, 40),
        (60, CODEL, NEWRENO, 40),
        (240, PIE, EXACT, 10),
        (240, PIE, EXACT, 40),
        (240, CODEL, EXACT, 10),
        (240, PIE, EARLY, 40),
        (240, CODEL, EARLY, 40),
    ];
    rows.extend(reasons.map(|(base, aqm, tcp, flows)| Row { base, aqm, ecn: false, tcp, flows }));
    rows
}

impl Row {
    /// The row in the first columns of the file with ns-3's results.
    fn columns(&self) -> String {
        let Self { base, aqm, ecn, tcp, flows } = self;
        format!("{base},{},{},{},{flows}", aqm.0, u8::from(*ecn), tcp.0)
    }

    /// The arguments of `case.py` for this row.
    pub(super) fn arguments(&self, seed: u64) -> Vec<String> {
        let options = ["--base", "--aqm", "--ecn", "--tcp", "--flows", "--seed"];
        figures::arguments(&options, &format!("{},{seed}", self.columns()))
    }

    pub(super) const fn has_ecn(&self) -> bool {
        self.ecn
    }

    /// The row in a table of the page: round-trip time, discipline, TCP, number of flows.
    pub(super) fn cells(&self) -> String {
        let ecn = if self.ecn { "+ecn" } else { "" };
        format!("{} ms | {}{ecn} | {} | {}", self.base, self.aqm.0, self.tcp.0, self.flows)
    }

    pub(super) fn ours(&self) -> Result<Runs, String> {
        let plan = self.plan()?;
        let mut runs = Runs::default();
        for job in plan.jobs() {
            let record = plan.run(job, &mut ()).map_err(|e| e.to_string())?.ok_or("stopped")?;
            runs.0.push(figures::of(&record)?);
        }
        Ok(runs)
    }

    /// Minimum retransmission timeout. In some rows it is below the round-trip time, to show the effect of that.
    fn min_rto(&self) -> &'static str {
        if self.base > 200 && self.tcp != EARLY { "1s" } else { "200ms" }
    }

    fn plan(&self) -> Result<Plan, String> {
        // The bottleneck and the servers have 20 ms in each direction.
        let sets = vec![
            format!("topology.access.delays=[\"{}ms\"]", (self.base - 40) / 2),
            format!("flows.ftp.tcp={}", self.tcp.1),
            format!("flows.ftp.count={}", self.flows),
            format!("flows.ftp.ecn={}", self.ecn),
            format!("flows.ftp.min_rto=\"{}\"", self.min_rto()),
        ];
        let aqm = format!("{} ecn={}", self.aqm.1, if self.ecn { "on" } else { "off" });
        let file = program::root().join("validation/ns3.toml");
        let cases = load::file(&file, &Overrides { sets, aqm: vec![aqm], ..Overrides::default() })
            .map_err(|e| e.to_string())?;
        Ok(Plan::new(cases, 1, SEEDS))
    }

    /// ns-3's runs of this row in the committed file with the content `text`, by seed from 1 on.
    pub(super) fn ns3(&self, text: &str) -> Result<Runs, String> {
        let name = self.columns();
        let run = |seed: u64| {
            let start = format!("{name},{seed},");
            let line = text.lines().find(|line| line.starts_with(&start)).ok_or(format!("{FILE}: no {start}"))?;
            figures::read(COLUMNS, line)
        };
        Ok(Runs((1..=SEEDS).map(run).collect::<Result<_, _>>()?))
    }
}

/// The row's name, such as `60 ms CoDel+ecn Sack 40`: round-trip time, discipline, TCP, number of flows.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.cells().replace(" |", ""))
    }
}
