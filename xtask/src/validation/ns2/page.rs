//! `docs/validation.md`.

use std::fmt::Write;

use super::grid::CASES;
use super::reasons::{self, Reason, words};
use super::sides::{SIDES, Side};
use super::{Comparison, SEEDS};
use crate::validation::figures::{COUNT, QUANTITIES, Runs};

pub(super) const FILE: &str = "docs/validation.md";

/// Decimals of each quantity.
const DIGITS: [usize; COUNT] = [1, 5, 5, 4, 4];

pub(super) fn page(rows: &[Comparison]) -> String {
    let mut out = String::from(HEAD);
    out.push_str(&summary(rows));
    // Writing to a string cannot fail.
    for case in CASES {
        let _ = write!(out, "\n## Case {}, base round trip {}\n\n{COLUMNS}", case.number, case.round_trips);
        for row in rows.iter().filter(|row| row.row.case == case) {
            let cells: Vec<String> = (0..COUNT).map(|quantity| cell(row, quantity)).collect();
            let verdicts = SIDES.map(|side| verdict(&side, row));
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                row.row.cells(),
                row.ours.0.len(),
                cells.join(" | "),
                verdicts.join(" | ")
            );
        }
    }
    let explained = OPEN.replace("{LINES}", &faster_lines(rows));
    out + REASONS + &evidence(rows) + &explained + &open(rows) + JITTER
}

/// Ours, ns-2's with jitter, plain ns-2's.
fn cell(row: &Comparison, quantity: usize) -> String {
    if QUANTITIES[quantity].column == "mark_ratio" && !row.row.ecn {
        return "-".to_string();
    }
    [&row.ours, &row.jittered, &row.plain].map(|runs| figure(runs, quantity)).join(" / ")
}

fn figure(runs: &Runs, quantity: usize) -> String {
    format!("{:.*}", DIGITS[quantity], runs.mean(quantity))
}

fn verdict(side: &Side, row: &Comparison) -> String {
    let parts = side.outside(row).into_iter().map(|(q, why)| format!("{} ({})", QUANTITIES[q].name, words(&why)));
    match parts.collect::<Vec<_>>().join(", ") {
        parts if parts.is_empty() => "within".to_string(),
        parts => format!("outside: {parts}"),
    }
}

/// How many rows lie within, and how many outside for each reason.
fn summary(rows: &[Comparison]) -> String {
    let words = Reason::ALL.map(Reason::word).join(" | ");
    let mut out = format!("| against | rows | within | {words} |\n|---|---|---|---|---|---|---|---|---|\n");
    for side in SIDES {
        let why: Vec<Vec<Reason>> =
            rows.iter().map(|row| side.outside(row).into_iter().flat_map(|(_, reasons)| reasons).collect()).collect();
        let within = why.iter().filter(|reasons| reasons.is_empty()).count();
        let outside = Reason::ALL.map(|reason| why.iter().filter(|all| all.contains(&reason)).count().to_string());
        let _ = writeln!(out, "| {} | {} | {within} | {} |", side.name, rows.len(), outside.join(" | "));
    }
    let more = rows.iter().filter(|row| row.ours.0.len() == SEEDS[1]).count();
    let _ = writeln!(
        out,
        "\nA row that is outside for several reasons counts under each. {more} rows have {} seeds, the others {}.",
        SEEDS[1], SEEDS[0]
    );
    out
}

/// Everything that is outside for rules of ns-2, on either side, with our figures by these rules.
fn evidence(rows: &[Comparison]) -> String {
    let mut out = String::from(
        "| row | | rules | ours | ours by them | ns-2 with jitter | plain ns-2 |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let found = SIDES.map(|side| side.outside(row));
        for (quantity, about) in QUANTITIES.iter().enumerate() {
            let mut reasons = found.iter().flatten().filter(|(other, _)| *other == quantity).map(|(_, why)| why);
            let Some((why, runs)) = reasons.find_map(|why| Some((why, reasons::by_rules(row, why)?))) else { continue };
            let rules: Vec<Reason> = why.iter().copied().filter(|reason| *reason != Reason::Ties).collect();
            let figures = [&row.ours, runs, &row.jittered, &row.plain].map(|runs| figure(runs, quantity));
            let _ = writeln!(out, "| {} | {} | {} | {} |", row.row, about.name, words(&rules), figures.join(" | "));
        }
    }
    out
}

/// The rows that were run with faster lines.
fn faster_lines(rows: &[Comparison]) -> String {
    let mut out = String::from(
        "| row | | ours | ns-2 with jitter | ours, 20 Mb/s | by ns-2's rules | ns-2 with jitter, 20 Mb/s |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let Some(faster) = &row.faster else { continue };
        for (quantity, _) in SIDES[0].outside(row) {
            let all = [&row.ours, &row.jittered, &faster.ours, &faster.by_rules, &faster.ns2];
            let figures = all.map(|runs| figure(runs, quantity)).join(" | ");
            let _ = writeln!(out, "| {} | {} | {figures} |", row.row, QUANTITIES[quantity].name);
        }
    }
    out
}

/// Everything that is outside and not explained, with our figures by each of ns-2's rules there are for the row.
fn open(rows: &[Comparison]) -> String {
    let mut out = String::from(
        "| row | | against | ours | ours by ns-2's rules | ns-2 with jitter | plain ns-2 | half the interval |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        for side in SIDES {
            for (quantity, _) in side.outside(row).into_iter().filter(|(_, why)| why.contains(&Reason::Open)) {
                let by_rules =
                    reasons::all_by_rules(row).map(|(why, runs)| format!("{why} {}", figure(runs, quantity)));
                let half = (side.ns2)(row).uncertainty(&row.ours, quantity);
                let _ = writeln!(
                    out,
                    "| {} | {} | {} | {} | {} | {} | {} | {half:.*} |",
                    row.row,
                    QUANTITIES[quantity].name,
                    side.name,
                    figure(&row.ours, quantity),
                    by_rules.collect::<Vec<_>>().join("; "),
                    figure(&row.jittered, quantity),
                    figure(&row.plain, quantity),
                    DIGITS[quantity]
                );
            }
        }
    }
    out
}

const HEAD: &str = "# Validation against ns-2

Generated by `cargo xtask validate-ns2` from the scenario and the ns-2.35 driver under `validation/`; do not edit.

RAQM's cases: 10 Mb/s everywhere, 500-byte packets, 100-packet bottleneck (99 where ns-2 holds one less), initial
window 2, no delayed ACK, minimum timeout 200 ms on a 10 ms clock, 200 s of which the first 20 s are discarded. Means
over seeds. `+ecn`: the flows are ECN-capable and the discipline marks.

Each cell: **ours / ns-2 with the same processing jitter / plain ns-2**. Our hosts take a random 0 to 10 us to
process a packet; the middle figure is ns-2 with the same, the like-for-like comparison. The tolerance, fixed
beforehand: mean queue within 5 % or 2 packets, drop ratio and mark ratio within 10 %, utilisation within 0.5 points.
What lies outside has its reason in brackets. The program gives it from the runs, by the rules below the tables; where
they bear out none it says `open`. A test holds this page to be what today's code makes of the committed figures.

With 40 flows there are ten seeds. With 400 there are three, or ten where three of ns-2's own runs cannot tell whether
an equal simulator would keep the tolerances: half the 95 % interval of the difference of two such means is wider. One
row, case 2 with ARED, ECN and Newreno, has ten because three of ours differed too much among themselves.

";
const COLUMNS: &str = "\
| AQM | TCP | flows | seeds | mean queue | drop ratio | mark ratio | utilisation | goodput | ours against ns-2 with jitter | against plain ns-2 |
|---|---|---|---|---|---|---|---|---|---|---|
";
const REASONS: &str = "
## Reasons

Two means are *apart* if the 95 % interval of their difference over the seeds leaves out nought. A reason stands only if
these runs bear it out:

| reason | borne out if |
|---|---|
| noise | ten seeds do not tell ours and ns-2 apart |
| SACK, CWR | our sender, with that rule of ns-2's in place of the RFC's, comes within the tolerance, and is apart from what it was. Each rule alone is tried before both |
| ties | plain ns-2 only: ours is within the tolerance around ns-2 with jitter, and jitter moves ns-2's own mean towards ours, apart, by more than the tolerance or at least half of the way |
| lines | ns-2 with jitter only: with the clients' lines at twice the bottleneck's rate in both, ours is within the tolerance, if need be by the rules named before it. Tried where nothing else explains a row |
| two, the second ties | as ties, with ours by ns-2's rules in place of ours, or with ours not apart from ns-2 with jitter in ten seeds |
| open | nothing of this |

### SACK

Ours follows RFC 6675, ns-2's `Sack1` (`tcp-sack1.cc`) is older. After a timeout `Sack1` clears its scoreboard, ignores
blocks until the next new acknowledgement, clears it again with each of those, and goes back to the first hole,
sending in order what the window holds counted from there. RFC 6675 keeps learning from blocks, skips what has
arrived, and counts only what is in flight against the window: the same window sends more, and nothing twice. In
recovery `Sack1` takes a lost packet for one in flight until its retransmission is acknowledged. With 400 flows most
windows end in a timeout, so that ours drops more there and has one to two points more goodput. Our sender with these
rules is `crates/sim/src/tcp/sender/ns2.rs`, what it does is in `crates/sim/tests/scripts/ns2-sack1.txt`.

### CWR

RFC 3168 section 6.1.2 puts CWR on the first new packet after a reduction. ns-2's default puts it on a retransmission
too; the driver turns that off (`SetCWRonRetransmit_`). What is left is `is_retransmit = (seqno < maxseq_)` in `tcp.cc`:
`maxseq_` is the highest packet sent, so its retransmission passes for new. With windows of one or two packets that is
most retransmissions; the receiver stops echoing a mark earlier, and the sender reduces less often. Ours does so in
`crates/sim/tests/scripts/ns2-cwr.txt`.

The effect on RED with ECN, on the network of `papers/msvb` (10 Mb/s, 120 ms, 1000-byte packets, a buffer of 100, thresholds 20 and
40, w_q 0.002), three seeds, 20 to 120 s. Each cell: mean queue, its deviation, packets dropped. ns-2's are of
`validation/ns2/red-ecn.tcl`; a test holds ours by the rule to ns-2 without the switch (`crates/lab/tests/ns2_ecn.rs`).

| | gentle, 300 flows | gentle off, 50 flows |
|---|---|---|
| ns-2, `SetCWRonRetransmit_` on, its default | 62.6, 25.6, 4752 | 32.6, 19.3, 8872 |
| ns-2, off | 56.0, 34.5, 8415 | 21.6, 21.3, 651 |
| ours by the rule | 55.5, 35.2, 8390 | 21.5, 21.2, 416 |
| ours | 53.0, 37.5, 5967 | 21.6, 21.2, 442 |

### The evidence for both

Everything outside for one of the two on either side, with our runs by these rules. `cargo xtask validate-ns2 page` makes
them anew, without ns-2; no scenario can choose them (`Ns2Rules` of `crates/sim/src/tcp/mod.rs`).

";
const OPEN: &str = "
### Ties

Plain ns-2 has no processing jitter. With equal link rates its packets arrive at the bottleneck in ties that
the rounding of a floating-point clock decides: a phase effect. Drop-tail shows it most: in case 1 with 40 NewReno
flows plain ns-2 has a mean queue of 73 packets, and the same ns-2 with 10 us of jitter has 82, which is what we
have. In plain ns-2 a third of the seeds even begin with a lock-out in which a single flow takes 40 % of the link.
In case 2 plain ns-2 leaves up to four points of the link idle that ns-2 with jitter uses; in case 3 with 40 flows
its drop ratio is a third of what it is with jitter.

With 400 flows the same effect lowers the drop ratio under drop-tail and PI, in case 1 by a tenth, in case 3 by half
and more; RED, which decides by lot, shows it least. In case 1 with NewReno neither ns-2's figures nor ours depend on
the size of the jitter between 1 us and 100 us; the test
`results_do_not_depend_on_the_jitter_but_on_there_being_some` of `crates/sim` shows it for ours, and that an exact
clock without jitter gives one host the whole link.

### Noise

Most are ratios of a few packets in ten thousand. In drop-tail with 40 SACK flows ns-2 with jitter has one seed, of
ten, that is locked out for good (drop ratio 0.011 in place of 0.034).

### Lines

The clients' lines run at the rate of the bottleneck. A client whose packets queue at its own line sends at just the
bottleneck's rate, and where acceptance is no lottery it can keep the others out for the whole run. AVQ's virtual queue
is the extreme: in case 1 with 400 NewReno flows one of the five clients has half of the link or more in three of ns-2's
ten seeds (drop ratio 0.12 to 0.14) and a quarter in the others (0.18); of ours it has that in nine. Which way a seed goes
is decided by how packets leave a busy line, one after the other exactly in ns-2, with a wander in ours (below). With lines
of 20 Mb/s nothing of this is left:

{LINES}
## Open

What the runs do not explain, by the rules above. Against ns-2 with jitter these are drop ratios of a few packets in ten
thousand. Plain ns-2 also has its ties, which rows outside for two reasons at once do not show:

";
const JITTER: &str = "
## What the jitter is

Before its queue a host takes 0 to 10 us for each packet; that breaks ties between hosts. Packets that have to
queue at the host would still leave exactly one packet time apart, in step with a bottleneck of the same rate, and
with diverse round trips one host then takes the whole link (drop-tail with 40 flows: mean queue 100, drop ratio
0.0003). So our host's line wanders by as much, without drift. ns-2's rounding does the like by accident.
The rows of case 3 show the agreement; the test
`a_backlogged_host_does_not_lock_the_others_out` of `crates/sim` guards it.
";
