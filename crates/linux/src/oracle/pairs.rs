//! The disciplines that are compared.

use crate::qdiscs::Classes;

/// A qdisc of Linux and a discipline of Forebay with the same parameters.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Name of the row.
    pub name: &'static str,
    /// The qdisc, in the words of tc(8).
    pub linux: &'static str,
    /// The discipline.
    pub ours: &'static str,
    /// Classes or queues of the flows in the qdisc; `None`: those of the qdisc itself.
    pub classes: Option<Classes>,
    /// Start of the run on the guest's clock, ns. CoDel's clock has steps of 1024 ns: for CoDel, the start is a
    /// multiple of them. PIE's timer runs every 16 ms; for PIE, it runs 500 ms after the start.
    pub zero: u64,
    /// Whether both draw the same random numbers.
    pub same_random: bool,
}

/// Start of most runs.
const ZERO: u64 = 2_000_000_000;
/// Start of runs with PIE.
const ZERO_OF_PIE: u64 = 2_004_000_000;

const fn pair(name: &'static str, linux: &'static str, ours: &'static str) -> Pair {
    Pair { name, linux, ours, classes: None, zero: ZERO, same_random: true }
}

/// All pairs.
pub const PAIRS: [Pair; 12] = [
    pair("pfifo", "pfifo limit 100", "droptail hard_limit=100p"),
    pair("codel", "codel limit 200", "codel preset=linux hard_limit=200p"),
    pair("codel-ecn", "codel limit 200 ecn", "codel preset=linux hard_limit=200p ecn=on"),
    Pair {
        classes: Some(Classes::FromOne),
        ..pair("fq_codel", "fq_codel limit 200", "fq_codel preset=linux hard_limit=200p hash=exact")
    },
    Pair {
        zero: ZERO_OF_PIE,
        ..pair("pie", "pie limit 200 ecn", "pie preset=linux hard_limit=200p ecn=on tupdate=16ms")
    },
    Pair {
        zero: ZERO_OF_PIE,
        ..pair(
            "pie-rate",
            "pie limit 200 bytemode dq_rate_estimator",
            "pie preset=linux hard_limit=200p bytes=on latency=rate tupdate=16ms",
        )
    },
    Pair {
        classes: Some(Classes::Hash(1024)),
        zero: ZERO_OF_PIE,
        ..pair(
            "fq_pie",
            "fq_pie limit 200 ecn",
            "fq_pie preset=linux hard_limit=200p ecn=on hash=exact tupdate=16ms",
        )
    },
    pair(
        "red",
        "red limit 200000 min 15000 max 45000 avpkt 1000 burst 25 bandwidth 10Mbit probability 0.05 ecn",
        "red limit 200000 min 15000 max 45000 avpkt 1000 burst 25 bandwidth 10Mbit probability 0.05 ecn",
    ),
    pair(
        "choke",
        "choke limit 200 min 15 max 45 avpkt 1000 burst 25 bandwidth 10Mbit probability 0.05 ecn",
        "choke limit 200 min 15 max 45 avpkt 1000 burst 25 bandwidth 10Mbit probability 0.05 ecn",
    ),
    Pair {
        classes: Some(Classes::FromZero),
        ..pair("sfb", "sfb limit 200 rehash 0ms db 0ms", "sfb preset=linux hard_limit=200p rehash=0s db=0s hz=1000")
    },
    Pair {
        classes: Some(Classes::FromZero),
        ..pair(
            "sfb-fast",
            "sfb limit 200 rehash 0ms db 0ms increment 0.01 decrement 0.001",
            "sfb preset=linux hard_limit=200p rehash=0s db=0s hz=1000 increment=0.01 decrement=0.001",
        )
    },
    Pair { classes: Some(Classes::Drr), ..pair("drr", "drr", "drr preset=linux") },
];

/// A pair of [`PAIRS`] with one condition of the comparison changed: the difference that this condition prevents.
#[derive(Clone, Copy, Debug)]
pub struct Contrast {
    /// The condition, and what the kernel does.
    pub about: &'static str,
    /// The pair with the changed condition.
    pub pair: Pair,
}

/// One for each condition.
pub const CONTRASTS: [Contrast; 6] = [
    Contrast {
        about: "PIE's update is every 16 ms in ours. Linux has 15 ms, but its timer waits for whole ticks of 1 ms after \
                the next tick. Here ours has 15 ms",
        pair: Pair { ours: "pie preset=linux hard_limit=200p ecn=on", ..PAIRS[4] },
    },
    Contrast {
        about: "The runs with PIE start so that both update at the same time. Here the start is 4 ms earlier",
        pair: Pair { zero: ZERO, ..PAIRS[4] },
    },
    Contrast {
        about: "CoDel's clock has steps of 1024 ns, and the runs start at a multiple of them. Here the start is 512 ns \
                later",
        pair: Pair { zero: ZERO + 512, ..PAIRS[1] },
    },
    Contrast {
        about: "A filter gives each flow its own queue in both. Here Linux hashes addresses and ports with a random key; \
                flows that share a queue differ",
        pair: Pair { classes: None, ..PAIRS[3] },
    },
    Contrast {
        about: "Both draw the same random numbers. Here Linux draws its own",
        pair: Pair { same_random: false, ..PAIRS[7] },
    },
    Contrast {
        about: "A jiffy of SFB is 1 ms in both. Here ours has 4 ms",
        pair: Pair {
            ours: "sfb preset=linux hard_limit=200p rehash=0s db=0s hz=250 increment=0.01 decrement=0.001",
            ..PAIRS[10]
        },
    },
];
