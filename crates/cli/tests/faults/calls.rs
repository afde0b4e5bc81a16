//! Each system call on the files of a command fails once.

use std::fs;

use super::trace::{Call, calls};
use super::{HALF, REPORT, RUN, copy, sample, strace};
use crate::common::{Ended, Place, temporaries};
use crate::kills::results;
use crate::skips::skip;

/// The calls that can fail, with the errors that they can have. The standard library ignores errors of `close`.
const ERRORS: [(&str, &[&str]); 13] = [
    ("openat", &["EACCES", "EIO", "EMFILE"]),
    ("read", &["EIO"]),
    ("write", &["ENOSPC", "EIO", "EDQUOT"]),
    ("fsync", &["EIO"]),
    ("fdatasync", &["EIO", "ENOSPC"]),
    ("rename", &["ENOSPC", "EACCES", "EXDEV"]),
    ("mkdir", &["EDQUOT", "EACCES"]),
    ("unlink", &["EACCES", "EIO"]),
    ("getdents64", &["EIO"]),
    ("statx", &["EIO", "EACCES"]),
    ("ftruncate", &["EIO"]),
    ("flock", &["EIO", "ENOLCK"]),
    ("lseek", &["EIO"]),
];
/// Faults that a quick test tries per command.
const QUICK: usize = 20;

/// The command in which a call fails.
struct Attack {
    name: &'static str,
    /// Commands that come before it, without faults.
    before: &'static [&'static [&'static str]],
    words: &'static [&'static str],
}

const ATTACKS: [Attack; 3] = [
    Attack { name: "run", before: &[], words: &RUN },
    Attack { name: "resume", before: &[&HALF], words: &RUN },
    Attack { name: "report", before: &[&RUN], words: &REPORT },
];

/// The faults of a command: the call and the error. Only calls on files of the test's folder count.
fn faults(place: &Place, words: &[&str]) -> Result<Vec<(Call, &'static str)>, String> {
    let names: Vec<&str> = ERRORS.iter().map(|(name, _)| *name).collect();
    strace(place, &["-y", "-o", "calls", "-e", &format!("trace={}", names.join(","))], words)?;
    let log = fs::read_to_string(place.dir.join("calls")).unwrap();
    let here = place.dir.canonicalize().unwrap().display().to_string();
    let ours = |call: &Call| {
        let text = format!("{} {}", call.arguments, call.result);
        text.contains(&format!("<{here}")) && !text.contains(&format!("AT_FDCWD<{here}>, \"/"))
    };
    let with_errors = |call: Call| {
        let errors = ERRORS.iter().find(|(name, _)| *name == call.name).map_or(&[][..], |(_, errors)| errors);
        errors.iter().map(move |error| (call.clone(), *error)).collect::<Vec<_>>()
    };
    // strace counts the calls of each thread: a call of the same number in another thread fails too.
    let all = calls(&log);
    let others: Vec<(&str, usize)> =
        all.iter().filter(|call| !ours(call)).map(|call| (call.name.as_str(), call.number)).collect();
    let is_alone = |call: &&Call| !others.contains(&(call.name.as_str(), call.number));
    Ok(all.iter().filter(|call| ours(call)).filter(is_alone).cloned().flat_map(with_errors).collect())
}

#[test]
fn every_failed_call_is_reported_or_harmless() {
    let reference = Place::new("reference");
    reference.run(&RUN).good();
    let expected = results(&reference.dir.join("out"));
    reference.run(&REPORT).good();
    let page = fs::read(reference.dir.join("out/report.html")).unwrap();
    let (mut tried, mut reported) = (0, 0);
    for Attack { name, before, words } in ATTACKS {
        let start = Place::new(&format!("{name}-start"));
        before.iter().for_each(|words| drop(start.run(words).good()));
        let place = Place::new(name);
        let out = place.dir.join("out");
        let begin = || {
            let _ = fs::remove_dir_all(&out);
            if start.dir.join("out").exists() {
                copy(&start.dir.join("out"), &out);
            }
        };
        begin();
        let all = match faults(&place, words) {
            Ok(all) => all,
            Err(why) => return skip(why),
        };
        assert!(all.len() > 40, "{name}: {} faults", all.len());
        for (call, error) in sample(all, QUICK) {
            begin();
            let what = format!("{name}: {} number {} ({}) fails with {error}", call.name, call.number, call.arguments);
            let inject = format!("inject={}:error={error}:when={}", call.name, call.number);
            let trace = format!("trace={}", call.name);
            let ended = strace(&place, &["-o", "injected", "-e", &trace, "-e", &inject], words).unwrap();
            let ended = Ended::new(ended);
            // The call that prints the error may have failed too.
            let log = fs::read_to_string(place.dir.join("injected")).unwrap();
            let is_only = log.matches("(INJECTED)").count() == 1;
            tried += 1;
            match ended.code {
                Some(0) => {
                    assert!(results(&out) == expected, "{what}: other results without an error");
                    assert!(
                        words != REPORT || fs::read(out.join("report.html")).unwrap() == page,
                        "{what}: other page"
                    );
                }
                Some(1 | 2 | 4) => {
                    reported += 1;
                    assert!(
                        !is_only || ["out", "short.toml"].iter().any(|file| ended.stderr.contains(file)),
                        "{what}: the error names no file: {ended:?}"
                    );
                }
                _ => panic!("{what}: {ended:?}"),
            }
            let resumed = place.run(words);
            assert_eq!(resumed.code, Some(0), "{what}: {ended:?}, then {resumed:?}");
            assert!(results(&out) == expected, "{what}: other results after a repetition");
            let left = temporaries(&out);
            assert!(left.is_empty() && !out.join(".lock").exists(), "{what}: {left:?}");
        }
    }
    println!("{tried} faults, {reported} of them reported");
    assert!(reported * 4 > tried, "{reported} of {tried}");
}

/// With each limit on the size of a file, a write is cut short and the next one fails.
#[test]
fn file_size_limits_lose_nothing() {
    let reference = Place::new("limits-reference");
    reference.run(&RUN).good();
    let expected = results(&reference.dir.join("out"));
    let place = Place::new("limits");
    let out = place.dir.join("out");
    let program = place.command(&RUN);
    let mut failed = 0;
    for blocks in sample((0..64).chain((64..1024).step_by(64)).collect(), 12) {
        let _ = fs::remove_dir_all(&out);
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", "ulimit -f \"$1\"; shift; exec \"$@\"", "sh", &blocks.to_string()]);
        limited.arg(program.get_program()).args(program.get_args()).current_dir(&place.dir);
        let ended = Ended::new(limited.output().unwrap());
        match ended.code {
            Some(0) => assert!(results(&out) == expected, "{blocks} blocks"),
            Some(1 | 4) => {
                failed += 1;
                assert!(ended.stderr.contains("out"), "{blocks} blocks: {ended:?}");
            }
            _ => panic!("{blocks} blocks: {ended:?}"),
        }
        place.run(&RUN).good();
        assert!(results(&out) == expected && temporaries(&out).is_empty(), "{blocks} blocks");
    }
    assert!(failed > 3, "{failed}");
}
