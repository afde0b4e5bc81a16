//! `cargo xtask`: the project's chores, each one command; the list is [`USAGE`].

mod base;
mod generated;
mod mutants;
mod release;
mod supply;
mod test;
mod tidy;
mod validation;

use std::process::ExitCode;

use base::stages::STAGES;
use generated::{bless, book, bpf, docs, performance, verdict_page};
use test::{live, miri};
use validation::{ns2, ns3};

const USAGE: &str = "\
cargo xtask test           every test, lints and house rules among them; ends with `N passed, N failed, N skipped`
cargo xtask test STAGE     one of its stages
cargo xtask test NAME      the tests of one discipline, congestion control or paper
cargo xtask test --fast    format, lints, unit tests, golden traces, conformance
cargo xtask ci             the same
cargo xtask tidy           the house rules that no compiler checks, and rustfmt
cargo xtask mutants [NAME] deliberate faults in every discipline, and whether the tests find them
cargo xtask docs           writes what is generated: README's table, the book, docs/rfc-coverage.md
cargo xtask book           builds the book with mdBook
cargo xtask release        the program and the wheel as they are given away; `release twice`: built twice and compared
cargo xtask miri           tests beside the unsafe code under Miri, which finds undefined behaviour; needs nightly
cargo xtask bpf            compiles the BPF program of `forebay attach` into the repository
cargo xtask bless          renews golden traces, schema and quick verdicts; look at the diff
cargo xtask validate-ns2   renews docs/validation.md: our simulator beside ns-2; `validate-ns2 page`: without running ns-2
cargo xtask validate-ns3   renews docs/validation-ns3.md: PIE, CoDel and FQ-CoDel beside ns-3
cargo xtask queues         renews docs/queues.md: our simulator beside queueing theory
cargo xtask throughput     renews docs/throughput.md: our TCP beside the square-root law and PFTK
cargo xtask fluid          renews docs/fluid.md: the fluid model beside packets
cargo xtask verdicts [FILE] renews docs/verdicts.md from reproduce --full, half an hour; FILE: what that printed
cargo xtask sim-to-real    renews docs/sim-to-real.md: real TCP beside the simulator, 8 minutes on a quiet machine
cargo xtask performance    renews docs/performance.md: what a packet costs on this machine";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] | ["ci"] => return test::run(|_| true),
        ["test", "--fast"] => return test::fast(),
        ["test", name] if let Some(subject) = test::one::subject(name) => return test::named(name, subject),
        ["test", stage] if STAGES.contains(stage) => return test::run(|name| name == *stage),
        ["tidy"] => return tidy::run(),
        ["mutants", names @ ..] => return mutants::run(names),
        ["docs"] => docs::run(),
        ["book"] => book::whole::build().map(|index| println!("{}", index.display())),
        ["release"] => release::run(false),
        ["release", "twice"] => release::run(true),
        ["miri"] => return miri::run(),
        ["bpf"] => bpf::run(),
        ["bless"] => bless::run(),
        ["validate-ns2"] => ns2::run(),
        ["validate-ns2", "lines"] => ns2::lines(),
        ["validate-ns2", "page"] => ns2::page(),
        ["validate-ns3"] => ns3::run(),
        ["queues"] => bless::page(&bless::QUEUES),
        ["throughput"] => bless::page(&bless::THROUGHPUT),
        ["fluid"] => bless::page(&bless::FLUID),
        ["verdicts"] => verdict_page::run(None),
        ["verdicts", dir] => verdict_page::run(Some(dir)),
        ["sim-to-real"] => live::page(),
        ["performance"] => performance::run(),
        [] | ["help" | "-h" | "--help"] => {
            println!("{USAGE}");
            Ok(())
        }
        other => {
            eprintln!("error: no chore is called '{}'\n\n{USAGE}", other.join(" "));
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("error: {what}");
            ExitCode::FAILURE
        }
    }
}
