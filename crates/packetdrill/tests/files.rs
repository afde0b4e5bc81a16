//! Runs the scripts of the folder `scripts`. The first line of each is the wanted verdict: `// pass N`, where N is the
//! number of comparisons, `// fail LINE...`, or `// cannot express LINE: REASON`. Those of `scripts/linux` run on `linux`,
//! the others on `cubic`.

use std::fs;

use forebay_packetdrill::{Options, Verdict, check};
use forebay_sim::tcp::Variant;

#[test]
fn every_script_gets_the_verdict_of_its_first_line() {
    check_folder("", Variant::CUBIC);
    check_folder("/linux", Variant::parse("linux").unwrap());
}

fn check_folder(folder: &str, tcp: Variant) {
    let folder = format!("{}/tests/scripts{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "pkt"));
    paths.sort();
    assert!(paths.len() >= 8);
    let mut wrong = Vec::new();
    let options = Options { tcp: Some(tcp), ..Options::default() };
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let wanted = text.lines().next().unwrap().trim_start_matches("// ");
        let report = check("s.pkt", &text, &options).unwrap();
        let lines: Vec<String> = report.mismatches.iter().map(|mismatch| mismatch.line.to_string()).collect();
        let found = match report.verdict() {
            Verdict::Pass => format!("pass {}", report.compared),
            Verdict::Fail => format!("fail {}", lines.join(" ")),
            Verdict::CannotExpress => format!("cannot express {}", report.why().unwrap()),
        };
        if found != wanted {
            wrong.push(format!("{}: {found}\n{:#?}", path.display(), report.mismatches));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
