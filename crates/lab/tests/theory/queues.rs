//! One link with Poisson or evenly spaced arrivals is M/M/1/K, M/D/1, M/D/1/K or D/D/1; FOREBAY_BLESS=1 rewrites
//! `docs/queues.md`.

use std::path::Path;

use crate::theory::queueing::page::{Row, error_each, figures, page};
use crate::theory::queueing::system::{Kind, System, run};

const fn system(kind: Kind, rho: f64, room: Option<usize>, services: u64) -> System {
    System { kind, rho, room, services }
}

/// Run lengths follow from the half-widths at 50,000 services, which fall with the square root.
const SYSTEMS: [System; 14] = [
    system(Kind::Mm, 0.5, Some(4), 200_000),
    system(Kind::Mm, 0.8, Some(8), 200_000),
    system(Kind::Mm, 0.95, Some(20), 250_000),
    system(Kind::Mm, 1.2, Some(20), 50_000),
    system(Kind::Md, 0.5, None, 100_000),
    system(Kind::Md, 0.8, None, 100_000),
    system(Kind::Md, 0.95, None, 400_000),
    system(Kind::Md, 0.5, Some(4), 150_000),
    system(Kind::Md, 0.8, Some(8), 300_000),
    system(Kind::Md, 0.95, Some(10), 150_000),
    system(Kind::Md, 1.2, Some(20), 50_000),
    system(Kind::Dd, 0.8, None, 100_000),
    system(Kind::Dd, 0.95, None, 100_000),
    // The interval is 833,333 ns, so after as many services every phase has occurred once.
    system(Kind::Dd, 1.2, Some(20), 925_926),
];

/// `docs/queues.md` states the tolerance.
#[test]
fn every_simulated_queue_agrees_with_queueing_theory() {
    let rows = SYSTEMS.map(Row::new);
    let error = error_each(&rows);
    for (row, name, cell) in figures(&rows) {
        let at = format!("{} at {}, {name}", row.system.name(), row.system.rho);
        assert!(cell.measured.half <= 0.02 * cell.exact, "{at}: ± {} of {}", cell.measured.half, cell.exact);
        assert!(cell.miss(error) < 1.0, "{at}: {:?} against {}", cell.measured, cell.exact);
    }
    for row in &rows {
        let at = format!("{} at {}", row.system.name(), row.system.rho);
        let clockwork = row.system.kind == Kind::Dd;
        assert!(clockwork || row.worst(error).is_some_and(|(_, miss)| miss < 1.0), "{at}: {:?}", row.worst(error));
        for cell in row.cells.iter().filter(|cell| clockwork || !cell.random()) {
            assert!((cell.measured.mean - cell.exact).abs() <= 1e-4 * cell.exact, "{at}: {:?}", cell.measured);
        }
    }
    let (path, current) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/queues.md"), page(&rows));
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == current, "docs/queues.md is stale: cargo xtask queues");
}

/// A drop-tail link computed directly on arrival and a link with the discipline drop-tail give the same results.
#[test]
fn direct_drop_tail_equals_drop_tail_discipline() {
    for system in SYSTEMS {
        let short = System { services: 20_000, ..system };
        for seed in [1, 2] {
            let fast = run(&short.network(false), seed);
            let mut slow = run(&short.network(true), seed);
            slow.events = fast.events;
            assert!(fast == slow, "{} at {}, seed {seed}", system.name(), system.rho);
        }
    }
}
