//! Fuzz targets for Forebay's parsers of files and texts: scenarios, disciplines, recordings, delivery traces, claims,
//! packetdrill scripts.

use forebay_aqm::base::text;
use forebay_aqm::{ENTRIES, Spec};
use forebay_lab::load;
use forebay_lab::scenario::{Case, Overrides};
use forebay_lab::{claim_file, traces};
use forebay_sim::schedule::Trace;

/// A scenario must be refused or read. It must be equal after writing and reading it, with each combination of the
/// values of its keys that vary.
pub(crate) fn scenario(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(cases) = load::parse("fuzzed.toml", text, &Overrides::default()) else { return };
    read_back(&cases);
}

/// A scenario whose keys `--set` and `--vary` change in fuzz inputs.
const EXAMPLE: &str = include_str!("../../cli/tests/data/short.toml");

/// Each line is an argument of `--set`. They must be refused, or give a scenario that reads back equal.
pub(crate) fn set(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let overrides = Overrides { sets: text.lines().map(str::to_string).collect(), ..Overrides::default() };
    if let Ok(cases) = load::parse("fuzzed.toml", EXAMPLE, &overrides) {
        read_back(&cases);
    }
}

/// Each line is an argument of `--vary`. They must be refused, or give at most 10,000 cases that read back equal.
pub(crate) fn vary(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let overrides = Overrides { vary: text.lines().map(str::to_string).collect(), ..Overrides::default() };
    if let Ok(cases) = load::parse("fuzzed.toml", EXAMPLE, &overrides) {
        assert!(cases.len() <= 10_000, "{} cases", cases.len());
        read_back(&cases);
    }
}

/// Writes the first cases and reads them again.
fn read_back(cases: &[Case]) {
    // A small file can have 10,000 cases.
    for case in cases.iter().take(100) {
        let written = case.scenario.to_toml();
        match load::parse("written.toml", &written, &Overrides::default()).as_deref() {
            Ok([again]) => assert!(again.scenario == case.scenario, "reads back as another:\n{written}"),
            Ok(more) => panic!("reads back as {} scenarios:\n{written}", more.len()),
            Err(error) => panic!("{error}:\n{written}"),
        }
    }
}

/// A discipline in tc(8)'s or Forebay's syntax. Its canonical text must read back equal.
pub(crate) fn tc(bytes: &[u8]) {
    let Ok(line) = std::str::from_utf8(bytes) else { return };
    if let Ok(spec) = Spec::parse(line) {
        let written = spec.canonical();
        let again = Spec::parse(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!(again.canonical(), written);
    }
}

/// Reads a text as every kind of quantity. Then its first character selects a discipline, and the rest is read as a
/// value of every parameter of this discipline. A value that is read must read back equal.
pub(crate) fn params(bytes: &[u8]) {
    let Ok(value) = std::str::from_utf8(bytes) else { return };
    let _ = (text::rate(value), text::span(value), text::bytes(value), text::depth(value));
    let _ = (text::number(value), text::limit(value));
    let (which, value) = value.split_at(value.chars().next().map_or(0, char::len_utf8));
    let entry = &ENTRIES[which.chars().next().map_or(0, |c| c as usize) % ENTRIES.len()];
    let names = entry.params.iter().map(|spec| spec.name).chain(["ecn", "th", "hard_limit", "preset"]);
    for name in names {
        tc(format!("{} {name}={value}", entry.name).as_bytes());
    }
}

/// Reads the input as a recording of packets, as one of video frames, and as a trace of the times at which a link can
/// send a packet.
pub(crate) fn traces(bytes: &[u8]) {
    for recorded in traces::read_all(bytes).into_iter().flatten() {
        assert!(recorded.items.is_sorted_by_key(|item| item.at), "items out of order");
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Trace::parse(text);
    }
}

/// A claim file (`claims.toml`: the claims of a paper, with the checks that decide them). It must be refused or read.
pub(crate) fn claims(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = claim_file::parse(text);
}

/// A packetdrill script must be refused, or run to a verdict.
pub(crate) fn packetdrill(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = forebay_packetdrill::check("fuzzed.pkt", text, &forebay_packetdrill::Options::default());
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The inputs of a target in the repository.
    fn corpus(name: &str) -> Vec<Vec<u8>> {
        let folder = format!("{}/../../fuzz/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        files.filter_map(|file| fs::read(file.path()).ok()).collect()
    }

    fn texts(name: &str) -> Vec<String> {
        corpus(name).into_iter().filter_map(|bytes| String::from_utf8(bytes).ok()).collect()
    }

    // Mutations of inputs that are not accepted mostly test refusals.
    #[test]
    fn corpora_have_accepted_inputs_for_every_reader() {
        let cases = texts("scenario")
            .into_iter()
            .filter_map(|text| load::parse("fuzzed.toml", &text, &Overrides::default()).ok().map(|cases| cases.len()));
        assert!(cases.max() > Some(1), "no scenario with keys that vary");
        let with = |overrides: Overrides| load::parse("fuzzed.toml", EXAMPLE, &overrides);
        let lines = |text: &String| text.lines().map(str::to_string).collect::<Vec<_>>();
        let sets = texts("set")
            .iter()
            .map(lines)
            .filter(|sets| !sets.is_empty() && with(Overrides { sets: sets.clone(), ..Overrides::default() }).is_ok())
            .count();
        assert!(sets > 1, "{sets} inputs of --set");
        let varies = texts("vary");
        let varies = varies.iter().map(lines);
        let cases = varies.filter_map(|vary| Some(with(Overrides { vary, ..Overrides::default() }).ok()?.len()));
        assert!(cases.max() > Some(5), "no axis of --vary");
        assert!(texts("tc").iter().any(|line| Spec::parse(line).is_ok()), "no discipline");
        let claims: Vec<_> = texts("claims").iter().filter_map(|text| claim_file::parse(text).ok()).collect();
        assert!(claims.iter().flat_map(|file| &file.claims).any(|claim| !claim.checks.is_empty()), "no check");
        assert!(claims.iter().any(|file| !file.figures.is_empty()), "no figure");
        assert!(claims.iter().any(|file| !file.tables.is_empty()), "no table");
        let report = |text: &String| forebay_packetdrill::check("", text, &forebay_packetdrill::Options::default());
        let verdicts: Vec<_> =
            texts("packetdrill").iter().filter_map(|text| report(text).ok().map(|report| report.verdict())).collect();
        assert!(forebay_packetdrill::Verdict::ALL.iter().all(|verdict| verdicts.contains(verdict)), "{verdicts:?}");
        for kind in 0..4 {
            let reads = |bytes: &Vec<u8>| traces::read_all(bytes)[kind].is_ok();
            assert!(corpus("traces").iter().any(reads), "no recording of kind {kind}");
        }
        assert!(texts("traces").iter().any(|text| Trace::parse(text).is_ok()), "no delivery opportunities");
    }
}
