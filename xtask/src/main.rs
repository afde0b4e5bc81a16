//! `cargo xtask`: the tasks of this repository, one command each; [`USAGE`] lists them.

mod base;
mod generated;
mod mutants;
mod prose;
mod release;
mod supply;
mod test;
mod tidy;
mod web;

use std::process::ExitCode;

use base::program::{cargo, shown};
use base::stages::STAGES;
use generated::{bless, book, bpf, docs, performance, verdict_page};
use test::{miri, python, speed};
use validation::{ns2, ns3, papers, real, statements};

const USAGE: &str = "\
cargo xtask test           every test; ends with `N passed, N failed, N skipped`
cargo xtask ci             clippy, then `cargo xtask test`
cargo xtask test STAGE     one stage of it
cargo xtask test NAME      the tests of one discipline, congestion control or paper (papers/raqm: raqm is a discipline)
cargo xtask test --fast    format, lints, unit tests, golden traces, conformance
cargo xtask tidy           rustfmt, and the rules of this repository that no compiler checks
cargo xtask mutants [NAME] puts faults into every discipline, or one, and checks that the tests find them
cargo xtask prose [SEED]   prints 60 passages drawn at random, for a reader who does not know the project
cargo xtask docs           writes the generated pages: README's list, the book, docs/rfc-coverage.md
cargo xtask book           builds the book with mdBook
cargo xtask web            builds the laboratory in a browser: a static site, and one HTML file that needs no server; `web speed`: measures it, and compares fingerprints
cargo xtask release        builds the archive and the wheel; `release twice`: builds both twice and compares
cargo xtask miri           runs the tests of unsafe code under Miri, which finds undefined behaviour; needs nightly
cargo xtask bpf            compiles the BPF program of `forebay attach` into the repository
cargo xtask linux          builds the kernel of `forebay run --on linux` below the target folder: some minutes at first
cargo xtask notebooks      executes examples/notebooks and writes their outputs into them; check the diff
cargo xtask bless          rewrites golden traces, schema and quick verdicts; check the diff
cargo xtask validate-ns2   rewrites docs/validation.md, a comparison with ns-2, and our figures in it; `validate-ns2 page`: without running ns-2
cargo xtask validate-ns3   rewrites docs/validation-ns3.md, a comparison of PIE, CoDel and FQ-CoDel with ns-3
cargo xtask validate-linux rewrites docs/validation-linux.md, a comparison with Linux; `--only codel`: prints it
cargo xtask ns2 PAPER      runs a paper's experiments in ns-2 too, with the disciplines it has; `--seeds N`: default 5
cargo xtask queues         rewrites docs/queues.md, a comparison with queueing theory
cargo xtask throughput     rewrites docs/throughput.md, a comparison with the square-root law and PFTK
cargo xtask fluid          rewrites docs/fluid.md, a comparison of the fluid model with packets
cargo xtask verdicts [FILE] rewrites docs/verdicts.md from reproduce --full (half an hour), or from its output in FILE
cargo xtask statements     rewrites docs/senders.md and docs/recommendations.md, statements that runs test
cargo xtask sim-to-real    rewrites docs/sim-to-real.md, a comparison with Linux's TCP; `sim-to-real page`: without new runs
cargo xtask performance    rewrites docs/performance.md, the CPU time per packet on this machine";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let linux = |words: &[&str]| shown(cargo(&[&["run", "-qpforebay-linux", "--bin"], words].concat()));
    let outcome = match words.as_slice() {
        ["test"] => return test::run(|name| name != "lints"),
        ["ci"] => return test::run(|_| true),
        ["test", "--fast"] => return test::fast(),
        ["test", name] if let Some(paper) = test::one::paper_of(name) => return test::paper(paper),
        ["test", stage] if STAGES.contains(stage) => return test::run(|name| name == *stage),
        ["tidy"] => return tidy::run(),
        ["mutants", names @ ..] => return mutants::run(names),
        ["prose"] => prose::run(1),
        ["prose", seed] if let Ok(seed) = seed.parse() => prose::run(seed),
        ["docs"] => docs::run(),
        ["book"] => book::whole::build().map(|index| println!("{}", index.display())),
        ["web"] => web::run(),
        ["web", "speed"] => speed::run(),
        ["release", twice @ ..] if [&[][..], &["twice"]].contains(&twice) => release::run(!twice.is_empty()),
        ["miri"] => return miri::run(),
        ["bpf"] => bpf::run(),
        ["linux"] => linux(&["build-linux"]),
        ["validate-linux", words @ ..] => linux(&[&["validate-linux", "--"], words].concat()),
        ["notebooks"] => python::notebooks(),
        ["bless"] => bless::run(),
        ["validate-ns2"] => ns2::run(),
        ["validate-ns2", "lines"] => ns2::lines(),
        ["validate-ns2", "page"] => ns2::page(),
        ["validate-ns3"] => ns3::run(),
        ["ns2", words @ ..] => papers::run(words),
        ["queues"] => bless::page(&bless::QUEUES),
        ["throughput"] => bless::page(&bless::THROUGHPUT),
        ["fluid"] => bless::page(&bless::FLUID),
        ["verdicts", dir @ ..] => verdict_page::run(dir.first().copied()),
        ["sim-to-real"] => real::run(),
        ["sim-to-real", "page"] => real::page(),
        ["statements", only @ ..] => statements::run(only.first().copied()),
        ["performance"] => performance::run(),
        [] | ["help" | "-h" | "--help"] => {
            println!("{USAGE}");
            Ok(())
        }
        other => {
            eprintln!("error: no task is called '{}'\n\n{USAGE}", other.join(" "));
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
