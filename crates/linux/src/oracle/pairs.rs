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

/// Start of a run during which CoDel's clock of 32 bits returns to 0, at 4398.046511104 s.
const ZERO_OF_WRAP: u64 = 4_396_000_000_000;

const fn pair(name: &'static str, linux: &'static str, ours: &'static str) -> Pair {
    Pair { name, linux, ours, classes: None, zero: ZERO, same_random: true }
}

const FQ_CODEL: Pair = Pair {
    classes: Some(Classes::FromOne),
    ..pair("fq_codel", "fq_codel limit 200", "fq_codel preset=linux hard_limit=200p hash=exact")
};
const PIE: Pair = Pair {
    zero: ZERO_OF_PIE,
    ..pair("pie", "pie limit 200 ecn", "pie preset=linux hard_limit=200p ecn=on tupdate=16ms")
};
const FQ_PIE: Pair = Pair {
    classes: Some(Classes::Hash(1024)),
    zero: ZERO_OF_PIE,
    ..pair("fq_pie", "fq_pie limit 200 ecn", "fq_pie preset=linux hard_limit=200p ecn=on hash=exact tupdate=16ms")
};
const RED_WORDS: &str =
    "red limit 200000 min 15000 max 45000 avpkt 1000 burst 25 bandwidth 10Mbit probability 0.05 ecn";
const RED: Pair = pair("red", RED_WORDS, RED_WORDS);
const NODROP_WORDS: &str = "red limit 200000 min 15000 max 45000 avpkt 1000 burst 25 bandwidth 10Mbit probability 0.05 \
                            ecn harddrop nodrop";
const CHOKE_WORDS: &str = "choke limit 200 min 15 max 45 avpkt 1000 burst 25 bandwidth 10Mbit probability 0.05 ecn";
const SFB: Pair = Pair {
    classes: Some(Classes::FromZero),
    ..pair("sfb", "sfb limit 200 rehash 0ms db 0ms", "sfb preset=linux hard_limit=200p rehash=0s db=0s hz=1000")
};
const SFB_FAST: Pair = Pair {
    name: "sfb-fast",
    linux: "sfb limit 200 rehash 0ms db 0ms increment 0.05 decrement 0.0005 target 5 max 20 \
            penalty_rate 50 penalty_burst 5",
    ours: "sfb preset=linux hard_limit=200p rehash=0s db=0s hz=1000 increment=0.05 decrement=0.0005 target=5 max=20 \
           penalty_rate=50 penalty_burst=5",
    ..SFB
};

/// The shaper adds 80 bytes to a packet, so that its times are on the grid of the arrivals.
const CAKE: Pair = pair(
    "cake",
    "cake unlimited besteffort flows memlimit 64mb",
    "cake bandwidth=unlimited tins=besteffort flows=flows memlimit=67108864b hash=exact",
);

/// A memory limit that CAKE often reaches.
const CAKE_MEMORY: Pair = Pair {
    name: "cake-memory",
    linux: "cake unlimited besteffort flows memlimit 100kb",
    ours: "cake bandwidth=unlimited tins=besteffort flows=flows memlimit=102400b hash=exact",
    classes: Some(Classes::FromOne),
    ..CAKE
};

/// All pairs.
pub const PAIRS: [Pair; 18] = [
    pair("pfifo", "pfifo limit 100", "droptail hard_limit=100p"),
    pair("codel", "codel limit 200", "codel preset=linux hard_limit=200p"),
    pair("codel-ecn", "codel limit 200 ecn", "codel preset=linux hard_limit=200p ecn=on"),
    Pair {
        zero: ZERO_OF_WRAP,
        ..pair("codel-wrap", "codel limit 200 ecn", "codel preset=linux hard_limit=200p ecn=on")
    },
    FQ_CODEL,
    PIE,
    Pair {
        zero: ZERO_OF_PIE,
        ..pair(
            "pie-rate",
            "pie limit 200 bytemode dq_rate_estimator",
            "pie preset=linux hard_limit=200p bytes=on latency=rate tupdate=16ms",
        )
    },
    FQ_PIE,
    RED,
    pair("red-nodrop", NODROP_WORDS, NODROP_WORDS),
    pair("choke", CHOKE_WORDS, CHOKE_WORDS),
    SFB,
    SFB_FAST,
    Pair { classes: Some(Classes::Drr), ..pair("drr", "drr", "drr preset=linux limit=20") },
    CAKE,
    Pair {
        name: "cake-tins",
        linux: "cake unlimited diffserv4 memlimit 64mb",
        ours: "cake bandwidth=unlimited tins=diffserv4 memlimit=67108864b hash=exact",
        ..CAKE
    },
    Pair {
        name: "cake-shaper",
        linux: "cake bandwidth 10mbit besteffort flows memlimit 64mb overhead 94",
        ours: "cake bandwidth=10mbit tins=besteffort flows=flows memlimit=67108864b hash=exact overhead=94 header=14b",
        ..CAKE
    },
    CAKE_MEMORY,
];

/// A pair with one condition of the comparison changed: the difference that this condition prevents.
#[derive(Clone, Copy, Debug)]
pub struct Contrast {
    /// The condition, what the kernel does without it, and the change.
    pub about: &'static str,
    /// The pair with the changed condition.
    pub pair: Pair,
}

/// One for each condition.
pub const CONTRASTS: [Contrast; 8] = [
    Contrast {
        about: "PIE updates p every 16 ms in both. Linux has tupdate 15 ms, but its timer expires a tick of 1 ms \
                later. Here ours has 15 ms",
        pair: Pair { ours: "pie preset=linux hard_limit=200p ecn=on", ..PIE },
    },
    Contrast {
        about: "PIE updates p at the same times in both. Here ours updates 4 ms earlier",
        pair: Pair { zero: ZERO, ..PIE },
    },
    Contrast {
        about: "A filter gives each flow its own queue in fq_codel. Here Linux hashes addresses and ports with a \
                random key: some flows share a queue",
        pair: Pair { classes: None, ..FQ_CODEL },
    },
    Contrast {
        about: "The hash of a packet gives each flow its own queue in fq_pie, to which Linux 6.12 cannot attach a \
                filter. Here Linux hashes",
        pair: Pair { classes: None, ..FQ_PIE },
    },
    Contrast {
        about: "Both draw the same random numbers. Here Linux draws its own",
        pair: Pair { same_random: false, ..RED },
    },
    Contrast {
        about: "A jiffy of SFB, the unit of its times, is 1 ms in both. Here that of ours is 4 ms",
        pair: Pair {
            ours: "sfb preset=linux hard_limit=200p rehash=0s db=0s hz=250 increment=0.05 decrement=0.0005 target=5 \
                   max=20 penalty_rate=50 penalty_burst=5",
            ..SFB_FAST
        },
    },
    Contrast {
        about: "SFB never changes its hash. Here it does every 2 s. In the second before, Linux selects the bins of \
                the next hash by addresses and ports, ours by the number of the flow",
        pair: Pair {
            linux: "sfb limit 200 rehash 2s db 1s increment 0.05 decrement 0.0005 target 5 max 20 \
            penalty_rate 50 penalty_burst 5",
            ours: "sfb preset=linux hard_limit=200p rehash=2s db=1s hz=1000 increment=0.05 decrement=0.0005 target=5 \
                   max=20 penalty_rate=50 penalty_burst=5",
            ..SFB_FAST
        },
    },
    Contrast {
        about: "A filter gives each flow of `cake-memory` the queue with its number. Here Linux hashes addresses and \
                ports with a random key: the queues have other places in the heap that selects the queue to drop from",
        pair: Pair { classes: None, ..CAKE_MEMORY },
    },
];
