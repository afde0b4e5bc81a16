//! Ten thousand random connections over a path with losses, marks, delays and reordering: requirements of the RFCs for
//! every sender.
//!
//! `FOREBAY_SEEDS=20000..90000 cargo test -p forebay-sim --test all connections` runs other seeds.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use forebay_sim::tcp::{Stack, Transport, Variant};

use crate::common::RECORDED;
use crate::connection::Connection;
use crate::connection::setting::Setting;

const SEEDS: Range<u64> = 0..10_000;

fn seeds() -> Range<u64> {
    let read = |text: String| {
        let (from, to) = text.split_once("..").expect("FOREBAY_SEEDS is FROM..TO");
        from.parse().unwrap()..to.parse().unwrap()
    };
    std::env::var("FOREBAY_SEEDS").map_or(SEEDS, read)
}

#[test]
fn random_connections_satisfy_rfc_requirements() {
    let fails =
        |&seed: &u64| catch_unwind(AssertUnwindSafe(|| Connection::new(Setting::new(seed), seed).run())).is_err();
    let failed: Vec<u64> = seeds().filter(fails).collect();
    if let Some(first) = failed.first() {
        let again = format!("FOREBAY_SEEDS={first}..{} cargo test -p forebay-sim --test all connections", first + 1);
        panic!(
            "{} seeds fail, the first is {first}; repeat it with\n    {again}\n{:#?}",
            failed.len(),
            Setting::new(*first)
        );
    }
}

/// Controls that are newer than the recorded seeds, and CUBIC and DCTCP with accurate feedback of marks.
#[test]
fn connections_of_newer_controls_satisfy_rfc_requirements() {
    let later = Variant::WORDS[RECORDED..].iter().map(|(_, variant)| *variant);
    later.chain([Variant::CUBIC, Variant::DCTCP]).for_each(|variant| check(variant, None));
}

#[test]
fn connections_of_the_linux_stack_satisfy_rfc_requirements() {
    let all = Variant::of(Transport::Tcp).into_iter().map(|(_, variant)| variant);
    // The stack does not report delays, so that scenarios cannot combine them.
    all.filter(|variant| !variant.profile().reports_delay).for_each(|variant| check(variant, Some(Stack::Linux)));
}

fn check(variant: Variant, stack: Option<Stack>) {
    let fails = |&seed: &u64| {
        let run = || Connection::new(Setting::of(variant, stack, seed), seed).run();
        catch_unwind(AssertUnwindSafe(run)).is_err()
    };
    let failed: Vec<u64> = (0..1000).filter(fails).collect();
    let first = failed.first().map(|&seed| Setting::of(variant, stack, seed));
    assert!(failed.is_empty(), "{variant:?}: {} seeds fail, the first: {} {first:#?}", failed.len(), failed[0]);
}
