//! The rows of the comparison with ns-2: each is one discipline, TCP and number of flows in one of three networks, with
//! its name in ns-2 and our scenario.

use std::fmt;

use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::scenario::Overrides;
use forebay_sim::tcp::Ns2Rules;

use crate::figures;
use runner::program;

/// A discipline in both simulators.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Discipline {
    /// The value of the option `-aqm` of `case.tcl`.
    ns2: &'static str,
    /// Our discipline with the same parameters.
    ours: &'static str,
    /// Packets that ns-2's queue holds if its limit is 100.
    holds: u32,
    /// Whether it can mark.
    marks: bool,
    /// Whether it is the discipline before it in the list, in other units. Then it runs with one TCP, and not in the
    /// network with diverse round trips.
    is_variant: bool,
}

/// To compare another discipline of `case.tcl`, add it here; `cargo xtask validate-ns2` then measures its figures.
const DISCIPLINES: [Discipline; 9] = [
    Discipline { marks: false, ..of("DropTail", "droptail", 99) },
    of("RED", "red preset=ns2 min_th=25 max_th=75 max_p=0.1 bytes=off", 100),
    of("ARED", "ared preset=ns2 min_th=25 max_th=75 max_p=0.1 bytes=off", 100),
    of("PI", "pi preset=ns2 q_ref=50", 100),
    of("REM", "rem preset=ns2 b=50 mean_packet=500", 99),
    variant("REM-1000", "rem preset=ns2 b=50", 99),
    variant("REM-bytes", "rem preset=ns2 b=50 mean_packet=500 bytes=on", 99),
    // Its limit in bytes is 100 packets of 1000 bytes.
    variant("REM-bytes-1000", "rem preset=ns2 b=50 bytes=on", 199),
    of("Vq", "avq preset=ns2 bytes=off", 100),
];

const fn of(ns2: &'static str, ours: &'static str, holds: u32) -> Discipline {
    Discipline { ns2, ours, holds, marks: true, is_variant: false }
}

const fn variant(ns2: &'static str, ours: &'static str, holds: u32) -> Discipline {
    Discipline { is_variant: true, ..of(ns2, ours, holds) }
}

/// Rows that also run with faster links of the clients, because nothing else explained a difference from ns-2 with
/// jitter.
const LINES: [&str; 11] = [
    "1 Vq Newreno 400",
    "1 Vq+ecn Newreno 400",
    "1 Vq+ecn Reno 400",
    "1 Vq+ecn Sack1 400",
    "2 RED+ecn Sack1 400",
    "2 ARED Newreno 40",
    "2 ARED+ecn Newreno 400",
    "2 ARED+ecn Reno 40",
    "2 Vq+ecn Newreno 400",
    "2 Vq+ecn Reno 400",
    "3 Vq Newreno 400",
];

/// The value of the option `-tcp` of `case.tcl`, and our congestion control.
const TCPS: [(&str, &str); 3] = [("Newreno", "newreno"), ("Reno", "reno"), ("Sack1", "sack")];
/// Numbers of flows: few and many.
const FLOWS: [u32; 2] = [40, 400];

/// The three networks of the paper on RAQM (its cases), which differ in the delays of the clients.
pub(super) const CASES: [Case; 3] = [
    Case { number: 1, delays: r#"["10ms"]"#, round_trips: "60 ms" },
    Case { number: 2, delays: r#"["100ms"]"#, round_trips: "240 ms" },
    Case { number: 3, delays: r#"["10ms", "50ms", "100ms", "150ms", "200ms"]"#, round_trips: "60 to 440 ms" },
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) number: u32,
    delays: &'static str,
    /// Base round-trip times.
    pub(super) round_trips: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) case: Case,
    discipline: Discipline,
    pub(super) ecn: bool,
    tcp: (&'static str, &'static str),
    flows: u32,
}

/// Every row, in the order of `docs/validation.md`.
pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for case in CASES {
        for discipline in DISCIPLINES {
            for ecn in [false, true] {
                for tcp in TCPS {
                    rows.extend(FLOWS.map(|flows| Row { case, discipline, ecn, tcp, flows }));
                }
            }
        }
    }
    rows.retain(Row::is_compared);
    rows
}

/// The rows that also run with the clients' links at twice the bottleneck's rate.
pub(super) fn with_faster_lines() -> Vec<Row> {
    let mut rows = rows();
    rows.retain(|row| LINES.contains(&row.to_string().as_str()));
    rows
}

impl Row {
    /// Case 3, which is about diverse round trips, runs only without ECN and without SACK.
    fn is_compared(&self) -> bool {
        let Discipline { marks, is_variant, .. } = self.discipline;
        let diverse = self.case.number != 3 || !self.ecn && self.tcp.0 != "Sack1" && !is_variant;
        let varied = !is_variant || self.tcp == TCPS[0];
        diverse && varied && (marks || !self.ecn)
    }

    /// Whether it has few flows. These lose few packets, so one run gives less information.
    pub(super) const fn has_few_flows(&self) -> bool {
        self.flows == FLOWS[0]
    }

    /// Whether it needs more seeds because of our runs: in this row they differ from each other by more than the
    /// tolerance, so three seeds could not show whether ours differs from ns-2.
    pub(super) fn is_asked_again(&self) -> bool {
        self.columns() == "2,ARED,1,Newreno,400"
    }

    /// The row in the first columns of the files with ns-2's figures.
    pub(super) fn columns(&self) -> String {
        let Self { case, discipline, ecn, tcp, flows } = self;
        format!("{},{},{},{},{flows}", case.number, discipline.ns2, u8::from(*ecn), tcp.0)
    }

    /// The arguments of `case.tcl` for this row.
    pub(super) fn arguments(&self) -> Vec<String> {
        figures::arguments(&["-case", "-aqm", "-ecn", "-tcp", "-n"], &self.columns())
    }

    /// The rules of ns-2 that can affect this row: each alone, then all together.
    pub(super) fn rules(&self) -> Vec<Ns2Rules> {
        let (sack1, cwr) = (self.tcp.0 == "Sack1", self.ecn);
        let all = [(true, false), (false, true), (true, true)].map(|(sack1, cwr)| Ns2Rules { sack1, cwr });
        all.into_iter().filter(|rules| (sack1 || !rules.sack1) && (cwr || !rules.cwr)).collect()
    }

    /// Plans `runs` seeds of our scenario for this row. The clients' links have the rate `lines`.
    pub(super) fn plan(&self, runs: u64, lines: &str) -> Result<Plan, String> {
        let Self { case, discipline, ecn, tcp, flows } = self;
        let sets = vec![
            format!("topology.access.rate={lines}"),
            format!("topology.access.delays={}", case.delays),
            format!("topology.bottleneck.queue={}p", discipline.holds),
            format!("flows.ftp.tcp={}", tcp.1),
            format!("flows.ftp.count={flows}"),
            format!("flows.ftp.ecn={ecn}"),
            "flows.ftp.ect_retransmissions=true".to_string(),
        ];
        let aqm = vec![format!("{}{}", discipline.ours, if *ecn { " ecn=on" } else { "" })];
        let file = program::root().join("validation/case-1.toml");
        let cases = load::file(&file, &Overrides { sets, aqm, ..Overrides::default() }).map_err(|e| e.to_string())?;
        Ok(Plan::new(cases, 1, runs))
    }

    /// The row in a table of the page: discipline, TCP, number of flows.
    pub(super) fn cells(&self) -> String {
        format!("{}{} | {} | {}", self.discipline.ns2, if self.ecn { "+ecn" } else { "" }, self.tcp.0, self.flows)
    }
}

/// The row's name, such as `1 RED+ecn Sack1 400`: network, discipline, TCP, number of flows.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}", self.case.number, self.cells().replace(" |", ""))
    }
}
