//! Our reader of tc commands compared with tc: both refuse the same arguments, and both set the same parameters.
//!
//! tc parses its arguments before it asks the kernel, so the test also works where the kernel lacks the discipline. The
//! parameters are read from its system call. It runs in a separate network namespace, on an unused loopback device.

use std::collections::BTreeMap;
use std::process::Command;

use crate::skips::skip;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::tc::{self, Form, Tail, Tc};
use forebay_aqm::{ENTRIES, Spec};

/// Number of random lines for each discipline.
const LINES: u64 = 60;

/// Reaction of tc to a line.
enum Answer {
    /// Refused, with the message.
    Refused(String),
    /// The attributes sent, by number; those of a plain structure have number 0.
    Sent(BTreeMap<u16, Vec<u8>>),
}

/// tc under strace.
struct Oracle;

impl Oracle {
    /// Why tc cannot be used on this machine, if so.
    fn new() -> Result<Self, String> {
        let tried = Command::new("unshare").args(["-rn", "strace", "-V"]).output();
        let tried = tried.map_err(|_| "no unshare(1)".to_string())?;
        if !tried.status.success() {
            return Err(format!("strace in a network namespace: {}", String::from_utf8_lossy(&tried.stderr).trim()));
        }
        Command::new("tc").arg("-V").output().map_err(|_| "tc is not installed: iproute2".to_string())?;
        match Self.ask("pfifo limit 1") {
            Ok(Answer::Sent(_)) => Ok(Self),
            Ok(Answer::Refused(said)) => Err(format!("tc refuses pfifo: {said}")),
            Err(lacking) => Err(lacking),
        }
    }

    /// Reaction of tc to these arguments; `None` if it does not know the discipline.
    fn ask(&self, line: &str) -> Result<Answer, String> {
        let mut tc = Command::new("unshare");
        tc.args([
            "-rn",
            "strace",
            "-qq",
            "-e",
            "trace=sendmsg",
            "-e",
            "write=all",
            "tc",
            "qdisc",
            "add",
            "dev",
            "lo",
            "root",
        ]);
        let out = tc.args(line.split_whitespace()).output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&out.stderr);
        if said.contains("Unknown qdisc") {
            return Err("this tc does not have it".to_string());
        }
        // Exit status 2 is the kernel's refusal: this kernel lacks most disciplines.
        match (out.status.code(), options(&said)) {
            (Some(0 | 2), Some(sent)) => Ok(Answer::Sent(sent)),
            (Some(0 | 2), None) => Err(format!("strace shows no message: {said}")),
            _ => Ok(Answer::Refused(said.lines().next().unwrap_or_default().to_string())),
        }
    }
}

/// Netlink attributes: each begins with its length and number, and is padded to a multiple of four bytes.
fn attributes(mut bytes: &[u8]) -> BTreeMap<u16, Vec<u8>> {
    let mut found = BTreeMap::new();
    while let [a, b, c, d, ..] = *bytes {
        let len = usize::from(u16::from_le_bytes([a, b]));
        if !(4..=bytes.len()).contains(&len) {
            break;
        }
        found.insert(u16::from_le_bytes([c, d]) & 0x3fff, bytes[4..len].to_vec());
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

/// The discipline's attributes in tc's request for a new qdisc (`RTM_NEWQDISC`), as dumped by strace.
fn options(dump: &str) -> Option<BTreeMap<u16, Vec<u8>>> {
    /// `RTM_NEWQDISC`; the lengths of nlmsghdr and tcmsg; `TCA_KIND` and `TCA_OPTIONS`.
    const NEWQDISC: u8 = 36;
    const BEFORE: usize = 16 + 20;
    const KIND: u16 = 1;
    const OPTIONS: u16 = 2;
    let mut messages: Vec<Vec<u8>> = Vec::new();
    for line in dump.lines() {
        let Some(row) = line.trim_start().strip_prefix("| ") else { continue };
        let (place, row) = row.split_once("  ")?;
        if place.trim_start_matches('0').is_empty() {
            messages.push(Vec::new());
        }
        let digits = row.get(..49).unwrap_or(row);
        messages.last_mut()?.extend(digits.split_whitespace().filter_map(|digits| u8::from_str_radix(digits, 16).ok()));
    }
    let message = messages.into_iter().find(|message| message.get(4) == Some(&NEWQDISC))?;
    let outer = attributes(message.get(BEFORE..)?);
    let kind = String::from_utf8_lossy(outer.get(&KIND)?).trim_end_matches('\0').to_string();
    let own = outer.get(&OPTIONS).cloned().unwrap_or_default();
    let plain = ["pfifo", "bfifo", "pfifo_head_drop"].contains(&kind.as_str());
    Some(if plain && !own.is_empty() { BTreeMap::from([(0, own)]) } else { attributes(&own) })
}

/// How tc sends a value: attribute, offset and length in bytes; the parameter; its unit, or the number of parts of
/// one.
type Field = (u16, usize, usize, &'static str, &'static str, f64);

const fn u32_at(attribute: u16, key: &'static str, unit: &'static str) -> Field {
    (attribute, 0, 4, key, unit, 1.0)
}

const RED: &[Field] = &[
    (1, 0, 4, "hard_limit", "b", 1.0),
    (1, 4, 4, "min_th", "b", 1.0),
    (1, 8, 4, "max_th", "b", 1.0),
    (3, 0, 4, "max_p", "", 4_294_967_296.0),
];

/// The first parameters of CoDel and FQ-CoDel, with their units.
const CODEL: [(&str, &str); 4] = [("target", "us"), ("hard_limit", "p"), ("interval", "us"), ("ecn", "bool")];

/// Parameters in the attributes 1, 2, ...
fn numbered(lists: &[&[(&'static str, &'static str)]]) -> Vec<Field> {
    (1..).zip(lists.concat()).map(|(attribute, (key, unit))| u32_at(attribute, key, unit)).collect()
}

/// The fields that tc sends for each discipline.
fn fields(name: &str) -> Vec<Field> {
    match name {
        "codel" => numbered(&[&CODEL[..], &[("ce_threshold", "us")]]),
        "fq_codel" => {
            let of_flows = [("flows", ""), ("quantum", "b"), ("ce_threshold", "us")];
            numbered(&[&CODEL, &of_flows, &[("drop_batch", ""), ("memory_limit", "b")]])
        }
        "pie" => vec![
            u32_at(1, "target", "us"),
            u32_at(2, "hard_limit", "p"),
            u32_at(3, "tupdate", "us"),
            (4, 0, 4, "alpha", "", 16.0),
            (5, 0, 4, "beta", "", 16.0),
            u32_at(6, "ecn", "bool"),
            u32_at(7, "bytes", "bool"),
        ],
        "fq_pie" => vec![
            u32_at(1, "hard_limit", "p"),
            u32_at(2, "flows", ""),
            u32_at(3, "target", "us"),
            u32_at(4, "tupdate", "us"),
            (5, 0, 4, "alpha", "", 16.0),
            (6, 0, 4, "beta", "", 16.0),
            u32_at(7, "quantum", "b"),
            (9, 0, 4, "ecn_cut", "", 100.0),
            u32_at(10, "ecn", "bool"),
            u32_at(11, "bytes", "bool"),
        ],
        "red" | "ared" => RED.to_vec(),
        "choke" => vec![
            (1, 0, 4, "hard_limit", "p", 1.0),
            (1, 4, 4, "min_th", "p", 1.0),
            (1, 8, 4, "max_th", "p", 1.0),
            (3, 0, 4, "max_p", "", 4_294_967_296.0),
        ],
        "sfb" => vec![
            (1, 0, 4, "rehash", "ms", 1.0),
            (1, 4, 4, "db", "ms", 1.0),
            (1, 8, 4, "max", "", 1.0),
            (1, 12, 4, "target", "", 1.0),
            (1, 16, 4, "increment", "", 65_535.0),
            (1, 20, 4, "decrement", "", 65_535.0),
            (1, 24, 4, "hard_limit", "p", 1.0),
            (1, 28, 4, "penalty_rate", "", 1.0),
            (1, 32, 4, "penalty_burst", "", 1.0),
        ],
        "dualpi2" => vec![
            u32_at(1, "hard_limit", "p"),
            u32_at(3, "target", "us"),
            u32_at(4, "tupdate", "us"),
            (5, 0, 4, "alpha", "", 256.0),
            (6, 0, 4, "beta", "", 256.0),
            u32_at(8, "min_th", "us"),
            u32_at(9, "th_len", ""),
            (10, 0, 1, "k", "", 1.0),
            (13, 0, 1, "weight", "", 100.0),
        ],
        "cake" => vec![
            (2, 0, 8, "bandwidth", "bit", 0.125),
            u32_at(3, "tins", "word"),
            u32_at(5, "flows", "word"),
            u32_at(7, "rtt", "us"),
            u32_at(9, "autorate", "bool"),
            u32_at(10, "memlimit", "b"),
            u32_at(13, "wash", "bool"),
            u32_at(14, "mpu", "b"),
            u32_at(15, "ingress", "bool"),
            u32_at(16, "ack_filter", "word"),
        ],
        "pfifo" | "pfifo_head_drop" | "droptail" => vec![u32_at(0, "hard_limit", "p")],
        "bfifo" => vec![u32_at(0, "hard_limit", "b")],
        _ => panic!("tc sends nothing of {name} that this test knows"),
    }
}

/// CAKE's parameters whose values are words, in the order of the kernel's numbers.
const WORDS: [(&str, &[&str]); 3] = [
    ("tins", &["diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence"]),
    ("flows", &["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"]),
    ("ack_filter", &["off", "on", "aggressive"]),
];

/// A number as a value of the parameter; `None` if the discipline does not accept it.
fn parameter(name: &str, key: &str, number: f64, unit: &str) -> Option<String> {
    let value = match (unit, key) {
        ("bool", _) => if number > 0.0 { "on" } else { "off" }.to_string(),
        ("word", key) => WORDS.iter().find(|(name, _)| *name == key)?.1.get(number as usize)?.to_string(),
        ("bit", "bandwidth") if number == 0.0 => "unlimited".to_string(),
        // The kernel raises it.
        ("b", "quantum") if name == "fq_codel" => format!("{}b", number.max(256.0)),
        (unit, _) => format!("{number}{unit}"),
    };
    Spec::parse(&format!("{name} {key}={value}")).ok()?.get(key)
}

/// Whether two values are equal up to tc's resolution.
fn same(ours: &str, sent: &str, parts: f64) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    let near = |(a, b): (f64, f64)| (a - b).abs() <= 1.0 / parts;
    ours == sent || (parts > 1.0 && number(ours).zip(number(sent)).is_some_and(near))
}

/// Whether a line that both accept sets the same parameters; otherwise the difference.
fn compare(name: &str, spec: &Spec, defaults: &str, sent: &BTreeMap<u16, Vec<u8>>) -> Result<(), String> {
    let ours_name = spec.name();
    let plain = Spec::parse(&format!("{ours_name} {defaults}")).unwrap();
    for &(attribute, at, len, key, unit, parts) in &fields(name) {
        let bytes = sent.get(&attribute).and_then(|bytes| bytes.get(at..at + len));
        let number = bytes.map(|bytes| bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)) as f64);
        let ours = spec.get(key).unwrap_or_default();
        // A probability of 1 is 2^32 parts, which do not fit into 32 bits.
        let number = number.map(|number| if key == "max_p" && number == 0.0 && ours == "1" { parts } else { number });
        let said = match number {
            Some(number) => parameter(ours_name, key, number / parts, unit),
            None => plain.get(key),
        };
        // tc computes these values too, in integers; with a round trip they are set differently.
        let is_auto = ours == "auto" || (name == "dualpi2" && spec.get("alpha").as_deref() == Some("auto"));
        // Packet sizes for which tc's step is 0, and a limit of 0, which means the device's.
        let is_zero = (name == "sfb" && key == "hard_limit" || name == "dualpi2" && key == "min_th")
            && number.unwrap_or(0.0) == 0.0;
        let steps = name == "dualpi2" && key == "th_len" && sent.contains_key(&7);
        if !is_auto && !is_zero && !steps && !said.as_ref().is_some_and(|said| same(&ours, said, parts)) {
            return Err(format!("{key} is {ours} here, {said:?} ({number:?}) to tc"));
        }
    }
    Ok(())
}

/// Valid and invalid values for arguments of any form.
const VALUES: [&str; 44] = [
    "0",
    "1",
    "7",
    "10",
    "100",
    "1000",
    "5000",
    "60000",
    "400000",
    "010",
    "08",
    "0x10",
    "0X1F",
    "0x",
    "+3",
    "-1",
    "-0",
    "2.5",
    ".5",
    "1e3",
    "5ms",
    "5MS",
    "0.5s",
    "1e3us",
    "0.9us",
    "5ns",
    "20msec",
    "2Secs",
    "0x10ms",
    "x",
    "10k",
    "10Kb",
    "1.5m",
    "64kbit",
    "2MBIT",
    "160kb",
    "30kB",
    "10mbit",
    "8Kibit",
    "1.25MBps",
    "40gbit",
    "10mm",
    "4294967296",
    "1000b",
];

/// Numbers; some versions of tc read only the beginning of an invalid one.
const REALS: [&str; 14] =
    ["0.02", ".5", "1", "0", "0x.8", "1e-3", "5E-1", "+0.1", "-0.1", "2", "x", "0.16", "3.2", "-"];

/// Percentages.
const PERCENT: [&str; 8] = ["10", "10%", "12.5%", "101", "-1%", "0", "x%", "1e1%"];

/// One argument of tc with its value.
fn word(rng: &mut Rng, (word, tail): &(&str, Tail)) -> Option<String> {
    let form = match tail {
        Tail::Refused(_) => return None,
        Tail::Flag(_) | Tail::Keyword | Tail::Moot(_) => return Some(word.to_string()),
        Tail::Sets(sets) => sets.form(),
        Tail::Late(form) | Tail::Ignored(form, _) => *form,
    };
    let values = match form {
        Form::Real | Form::Probability | Form::Gain => &REALS[..],
        Form::Percent => &PERCENT,
        Form::TimeOrPackets => &["5p", "1ms", "800", "0", "5pkts", "7packets", "5cows", "0p"],
        _ => &VALUES,
    };
    Some(format!("{word} {}", values[rng.below(values.len() as u64) as usize]))
}

/// A random line for `name`; most lines have the arguments that tc requires.
fn line(rng: &mut Rng, name: &str, tc: &Tc) -> String {
    let mut words = vec![name.to_string()];
    let needed = |need: &&str| match *need {
        "limit" => "limit 60000".to_string(),
        "avpkt" => "avpkt 1000".to_string(),
        other => format!("{other} 10mbit"),
    };
    words.extend(tc.needs.iter().filter(|_| rng.below(10) > 0).map(needed));
    for _ in 0..1 + rng.below(3) {
        let known: Vec<_> = tc.words().collect();
        let chosen = rng.below(known.len() as u64) as usize;
        words.extend(word(rng, known[chosen]));
    }
    words.join(" ")
}

/// Whether we may refuse what tc accepts: the kernel would refuse it, or the parameter has no such value here.
fn may_refuse(name: &str, line: &str, sent: &BTreeMap<u16, Vec<u8>>) -> bool {
    let nodrop = line.contains("nodrop") && !line.split_whitespace().any(|word| word == "ecn");
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)) as f64;
    let ours = if name == "bfifo" || name.starts_with("pfifo") { "droptail" } else { name };
    let beyond = fields(name).iter().any(|&(attribute, at, len, key, unit, parts)| {
        let value = sent.get(&attribute).and_then(|bytes| bytes.get(at..at + len)).map(|bytes| number(bytes) / parts);
        let small = |value: f64| unit == "b" && key == "hard_limit" && value < 576.0;
        let auto = name == "sfb" && key == "hard_limit";
        value.is_some_and(|value| !auto && (small(value) || parameter(ours, key, value, unit).is_none()))
    });
    // Equal thresholds of RED.
    let equal = ["red", "ared"].contains(&name) && sent.get(&1).is_some_and(|bytes| bytes[4..8] == bytes[8..12]);
    // Negative values, and values above 32 bits, wrap around in older versions.
    let wraps = line.contains(" -")
        || line.contains("4294967296")
        || line.contains("probability 2")
        || line.contains("probability 3.2");
    nodrop || beyond || equal || wraps
}

/// tc's disciplines: their name there, their name here, and tc's arguments.
fn disciplines() -> Vec<(&'static str, Tc)> {
    let own = ENTRIES.iter().filter(|entry| !["ared", "droptail"].contains(&entry.name));
    let own = own.filter_map(|entry| Some((entry.name, entry.tc?)));
    own.chain(tc::aliases().map(|(alias, _, tc)| (alias, tc))).collect()
}

#[test]
fn tc_reads_arguments_as_forebay_does() {
    let oracle = match Oracle::new() {
        Ok(oracle) => oracle,
        Err(lacking) => return skip(lacking),
    };
    let mut wrong = Vec::new();
    for (name, tc) in disciplines() {
        let mut rng = Rng::stream(1, &format!("tc/{name}"));
        let (mut taken, mut refused) = (0, 0);
        for _ in 0..LINES {
            let line = line(&mut rng, name, &tc);
            // A name without arguments is ours.
            if line == name {
                continue;
            }
            let answer = match oracle.ask(&line) {
                Ok(answer) => answer,
                // A discipline that this version of tc lacks: `tc_lacking_a_discipline_is_reported` reports it.
                Err(_) => break,
            };
            match (answer, Spec::parse(&line)) {
                (Answer::Refused(_), Err(_)) => refused += 1,
                (Answer::Refused(said), Ok(_)) => wrong.push(format!("{line}: taken here; tc: {said}")),
                (Answer::Sent(sent), Err(error)) if !may_refuse(name, &line, &sent) => {
                    wrong.push(format!("{line}: {error}; taken by tc"));
                }
                (Answer::Sent(_), Err(_)) => {}
                (Answer::Sent(sent), Ok(spec)) => {
                    taken += 1;
                    if let Err(what) = compare(name, &spec, tc.defaults, &sent) {
                        wrong.push(format!("{line}: {what}"));
                    }
                }
            }
        }
        println!("{name}: {taken} lines taken, {refused} refused");
    }
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
}

/// The page with the lines of tdc, the test suite of tc in the sources of Linux.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tc.md");

/// What `explain --tc` prints for these arguments of tc, without the place of the qdisc; or `refused`.
fn written(line: &str) -> String {
    match forebay_lab::commands::tc_line::line(&format!("tc qdisc add {line}")) {
        Ok(found) => format!("`{}`", found.command.trim_start_matches("tc qdisc replace dev DEV root ")),
        Err(_) => "refused".to_string(),
    }
}

/// Compares how tc and Forebay read a line; `None`: this tc lacks the discipline.
fn agrees(oracle: &Oracle, line: &str) -> Option<Result<(), String>> {
    let answer = oracle.ask(line).ok()?;
    let name = line.split(' ').next().unwrap_or_default();
    let (_, tc) = disciplines().into_iter().find(|(known, _)| *known == name)?;
    let ours = Spec::parse(&format!("tc qdisc add {line}"));
    Some(match (answer, ours) {
        (Answer::Refused(_), Err(_)) => Ok(()),
        (Answer::Refused(said), Ok(_)) => Err(format!("taken here; tc: {said}")),
        (Answer::Sent(sent), Err(error)) if !may_refuse(name, line, &sent) => Err(format!("{error}; taken by tc")),
        (Answer::Sent(_), Err(_)) => Ok(()),
        (Answer::Sent(sent), Ok(spec)) => compare(name, &spec, tc.defaults, &sent),
    })
}

#[test]
fn lines_of_tdc_are_read_as_by_tc() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let row = |line: &str| {
        let mut cells = line.split(" | ");
        let (_, command, status) = (cells.next()?, cells.next()?.strip_prefix('`')?, cells.next()?.parse::<u8>().ok()?);
        Some((command.strip_suffix('`')?.to_string(), status))
    };
    let rows: Vec<(String, u8)> = page.lines().filter_map(row).collect();
    assert!(rows.len() > 60, "{}", rows.len());
    let current = page.lines().map(|line| match row(line) {
        Some((command, _)) => {
            let kept: Vec<&str> = line.splitn(4, " | ").take(3).collect();
            format!("{} | {} |", kept.join(" | "), written(&command))
        }
        None => line.to_string(),
    });
    let current = current.collect::<Vec<String>>().join("\n") + "\n";
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(PAGE, &current).unwrap();
    }
    assert!(page == current, "docs/tc.md is stale: FOREBAY_BLESS=1");
    let accepted = |(command, _): &&(String, u8)| Spec::parse(&format!("tc qdisc add {command}")).is_ok();
    // tc refuses what is not an argument; the kernel refuses `nodrop` without `ecn`.
    let refused: Vec<&str> = rows.iter().filter(|row| !accepted(row)).map(|(command, _)| command.as_str()).collect();
    let wrong: Vec<&(String, u8)> = rows.iter().filter(|row| row.1 == 1 && accepted(row)).collect();
    assert!(wrong.is_empty() && refused.len() < 6, "{wrong:?} {refused:?}");
    let oracle = match Oracle::new() {
        Ok(oracle) => oracle,
        Err(lacking) => return skip(lacking),
    };
    let differ = |(command, _): &(String, u8)| agrees(&oracle, command)?.err().map(|what| format!("{command}: {what}"));
    let differing: Vec<String> = rows.iter().filter_map(differ).collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn tc_lacking_a_discipline_is_reported() {
    let oracle = match Oracle::new() {
        Ok(oracle) => oracle,
        Err(lacking) => return skip(lacking),
    };
    let without =
        disciplines().into_iter().filter_map(|(name, _)| Some(format!("{name}: {}", oracle.ask(name).err()?)));
    let without: Vec<String> = without.collect();
    if !without.is_empty() {
        skip(without.join("; "));
    }
}

/// Our reader differs from tc in two cases: it accepts quantities that tc prints but does not read, and it refuses
/// arguments of which tc reads only a part.
#[test]
fn only_listed_differences_from_tc_exist() {
    let oracle = match Oracle::new() {
        Ok(oracle) => oracle,
        Err(lacking) => return skip(lacking),
    };
    for (line, ours) in [
        ("codel limit 1000p", true),
        ("sfb increment 0.5%", false),
        ("red limit 60000 avpkt 1000 probability 0.02x", false),
        ("codel target 5000s", false),
    ] {
        let Ok(answer) = oracle.ask(line) else { continue };
        let theirs = matches!(answer, Answer::Sent(_));
        assert_eq!((Spec::parse(line).is_ok(), theirs), (ours, !ours), "{line}");
    }
}

/// Checks that the parameters in tc's system call are found: without them the comparison with tc would always pass.
#[test]
fn netlink_messages_are_parsed() {
    let dump = " * 76 bytes in buffer 0\n\
         \u{20}| 00000  4c 00 00 00 24 00 05 06  0b 5e 04 6b 00 00 00 00  L...$....^.k.... |\n\
         \u{20}| 00010  00 00 00 00 01 00 00 00  00 00 00 00 ff ff ff ff  ................ |\n\
         \u{20}| 00020  00 00 00 00 0a 00 01 00  63 6f 64 65 6c 00 00 00  ........codel... |\n\
         \u{20}| 00030  1c 00 02 00 08 00 02 00  08 00 00 00 08 00 03 00  ................ |\n\
         \u{20}| 00040  80 3e 00 00 08 00 01 00  01 00 00 00              .>..........     |\n";
    let sent = options(dump).unwrap();
    assert_eq!(sent, BTreeMap::from([(1, vec![1, 0, 0, 0]), (2, vec![8, 0, 0, 0]), (3, vec![0x80, 0x3e, 0, 0])]));
    let spec = Spec::parse("codel target 1.7 interval 0x10ms limit 010").unwrap();
    // 16 ms are 0x3e80 us.
    assert_eq!(compare("codel", &spec, "preset=linux", &sent), Ok(()));
}
