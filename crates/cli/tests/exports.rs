//! What `forebay report` writes for other programs: manifest, flent data files, CSV.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::common::{Place, SCENARIO, names};
use crate::skips::skip;

#[test]
fn manifest_lists_every_file_with_its_hash() {
    let place = Place::new("crate");
    place.run(&["run", "short.toml", "--runs", "1", "-o", "out"]).good();
    let made = place.run(&["report", "out", "--crate", "--json"]).good().json();
    assert_eq!(made["crate"], "out/ro-crate-metadata.json");
    let read = || fs::read(place.dir.join("out/ro-crate-metadata.json")).unwrap();
    let text = read();
    let json: Value = serde_json::from_slice(&text).unwrap();
    let graph = json["@graph"].as_array().unwrap();
    let entity = |id: &str| graph.iter().find(|one| one["@id"] == id).unwrap_or_else(|| panic!("{id}"));
    assert_eq!(entity("ro-crate-metadata.json")["conformsTo"]["@id"], "https://w3id.org/ro/crate/1.1");
    let root = entity("./");
    assert_eq!((root["@type"].as_str(), root["name"].as_str()), (Some("Dataset"), Some("Short")));
    assert_eq!(root["datePublished"].as_str().unwrap().len(), 10);
    assert_eq!(entity("#run")["object"][0]["@id"], "scenario.toml");
    let parts: Vec<&str> =
        root["hasPart"].as_array().unwrap().iter().map(|part| part["@id"].as_str().unwrap()).collect();
    let of = |folder: &str| {
        let within = names(&place.dir.join("out").join(folder));
        within.into_iter().map(|name| format!("{folder}{name}")).collect::<Vec<_>>()
    };
    for name in of("").into_iter().chain(of("runs/")).filter(|name| name != "ro-crate-metadata.json") {
        let path = place.dir.join("out").join(&name);
        if path.is_dir() {
            assert!(parts.contains(&format!("{name}/").as_str()), "{name}");
            continue;
        }
        // The lock file is not a result.
        if name.starts_with('.') {
            continue;
        }
        let bytes = fs::read(path).unwrap();
        let hash: String = <sha2::Sha256 as sha2::Digest>::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(entity(&name)["sha256"], hash.as_str(), "{name}");
        assert_eq!(entity(&name)["contentSize"], bytes.len().to_string().as_str(), "{name}");
    }
    place.run(&["report", "out", "--crate"]).good();
    assert_eq!(read(), text, "the same each time");
    let none = place.run(&["report", "nothing", "--crate"]);
    assert!(none.code == Some(2) && none.stderr.contains("no such directory"), "{none:?}");
}

/// flent, if it is installed, draws them; and they are traffic of a scenario.
#[test]
fn flent_data_files_are_read_again() {
    let place = Place::new("flent");
    place.run(&["run", "short.toml", "--runs", "1", "-o", "out"]).good();
    let made = place.run(&["report", "out", "--flent", "--json"]).good().json();
    assert_eq!(made["flent"][0], "out/flent/case000-aqm00-seed1.flent.gz");
    let path = place.dir.join("out/flent/case000-aqm00-seed1.flent.gz");
    let bytes = fs::read(&path).unwrap();
    place.run(&["report", "out", "--flent"]).good();
    assert_eq!(fs::read(&path).unwrap(), bytes, "the same each time");
    let flows = "[[flows]]\nkind = \"trace\"\nfile = \"out/flent/case000-aqm00-seed1.flent.gz\"\n";
    let (head, tail) = SCENARIO.split_once("[[flows]]").unwrap();
    let (_, compare) = tail.split_once("[compare]").unwrap();
    place.write("again.toml", &format!("{head}{flows}\n[compare]{compare}"));
    let again = place.run(&["run", "again.toml", "--runs", "1", "--aqm", "droptail", "--json"]).good().json();
    let sent = again["runs"][0]["delivered_pkts"].as_u64().unwrap();
    assert!(sent > 100, "{sent}");
    let refused = place.run(&["report", "nothing", "--flent"]);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn flent_plots_our_data_files() {
    let has = Command::new("flent").arg("--version").output().is_ok_and(|out| out.status.success());
    if !has {
        return skip("flent: pip install flent matplotlib");
    }
    let place = Place::new("flent-plot");
    place.run(&["run", "short.toml", "--runs", "1", "-o", "out"]).good();
    place.run(&["report", "out", "--flent"]).good();
    let files = ["case000-aqm00-seed1", "case000-aqm01-seed1"].map(|name| format!("out/flent/{name}.flent.gz"));
    for plot in ["totals", "ping_cdf", "box_totals"] {
        let mut flent = Command::new("flent");
        flent.current_dir(&place.dir).args(["--plot", plot, "-o", "plot.png", "-i"]).args(&files);
        let out = flent.output().unwrap();
        assert!(out.status.success(), "{plot}: {out:?}");
        let picture = fs::metadata(place.dir.join("plot.png")).unwrap().len();
        assert!(picture > 5_000, "{plot}: {picture} bytes");
    }
}

#[test]
fn csv_tables_equal_the_parquet_tables() {
    let place = Place::new("csv");
    place.run(&["run", "short.toml", "--runs", "2", "-o", "out"]).good();
    let made = place.run(&["report", "out", "--csv", "--json"]).good().json();
    let paths: Vec<&str> = made["csv"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    assert_eq!(paths.len(), 5);
    for path in paths {
        let text = fs::read_to_string(place.dir.join(path)).unwrap();
        let parquet = path.replace("/csv/", "/").replace(".csv", ".parquet");
        let file = fs::File::open(place.dir.join(parquet)).unwrap();
        let rows = parquet::file::reader::SerializedFileReader::new(file).unwrap();
        let rows: Vec<_> = rows.into_iter().map(Result::unwrap).collect();
        assert_eq!(text.lines().count(), 1 + rows.len(), "{path}");
        let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        for (line, row) in text.lines().skip(1).zip(&rows) {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), names.len(), "{path}: no value here has a comma");
            for ((name, cell), (known, field)) in names.iter().zip(cells).zip(row.get_column_iter()) {
                use parquet::record::Field;
                let same = match field {
                    Field::Null => cell.is_empty(),
                    Field::Double(x) => cell.parse::<f64>().is_ok_and(|y| y.to_bits() == x.to_bits()),
                    Field::Long(n) => cell.parse::<i64>() == Ok(*n),
                    Field::Str(text) => cell == text,
                    other => panic!("{other}"),
                };
                assert!(*name == known && same, "{path}: {name}: {cell}, {field}");
            }
        }
    }
    let several = place.run(&["report", "nothing", "--csv"]);
    assert_eq!(several.code, Some(2));
}

/// The blocks of packets of a pcapng file: the kept bytes of each packet, its length, and its comment.
pub(crate) fn packets(file: &[u8]) -> Vec<(Vec<u8>, u32, Option<String>)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut out) = (0, Vec::new());
    while at < file.len() {
        let (kind, length) = (word(at), word(at + 4) as usize);
        assert_eq!(word(at + length - 4) as usize, length, "a block ends with its length");
        if kind == 6 {
            let (kept, whole) = (word(at + 20) as usize, word(at + 24));
            let options = at + 28 + kept.next_multiple_of(4);
            let comment = (options + 4 < at + length).then(|| {
                let (code, long) = (word(options) & 0xffff, (word(options) >> 16) as usize);
                assert_eq!(code, 1);
                String::from_utf8(file[options + 4..options + 4 + long].to_vec()).unwrap()
            });
            out.push((file[at + 28..at + 28 + kept].to_vec(), whole, comment));
        }
        at += length;
    }
    out
}

#[test]
fn capture_has_every_packet_mark_and_drop() {
    let place = Place::new("pcapng");
    let words = ["run", "short.toml", "--runs", "1", "--aqm", "codel", "--aqm", "droptail", "-o", "out", "--json"];
    let more = ["--set", "flows.ftp.ecn=true", "--set", "warmup=0s", "--set", "topology.bottleneck.queue=30p"];
    let json = place.run(&[&words[..], &more].concat()).good().json();
    let made = place.run(&["report", "out", "--pcapng", "--json"]).good().json();
    assert_eq!(made["pcapng"][0], "out/pcapng/case000-aqm00-seed1.pcapng");
    for (number, name) in ["codel", "droptail"].iter().enumerate() {
        let run = &json["runs"][number];
        let count = |key: &str| run[key].as_u64().unwrap() as usize;
        let file = fs::read(place.dir.join(format!("out/pcapng/case000-aqm0{number}-seed1.pcapng"))).unwrap();
        let all = packets(&file);
        // Data goes to port 5001.
        let is_data = |bytes: &[u8]| bytes[22..24] == 5001u16.to_be_bytes();
        let dropped = format!("dropped by {name} at bottleneck");
        let drops = all.iter().filter(|(.., comment)| comment.as_ref() == Some(&dropped)).count();
        let sent = all.iter().filter(|(bytes, _, comment)| is_data(bytes) && comment.is_none());
        let marked = sent.clone().filter(|(bytes, ..)| bytes[1] & 3 == 3).count();
        assert_eq!(sent.clone().count(), count("packets"), "{name}");
        let lost = (run["dropped"]["early"].as_u64().unwrap() + run["dropped"]["overflow"].as_u64().unwrap()) as usize;
        assert_eq!(drops, lost, "{name}");
        let ratio = run["mark_ratio"].as_f64().unwrap() * count("offered_pkts") as f64;
        assert_eq!(marked, ratio.round() as usize, "{name}");
        assert!(all.iter().any(|(bytes, ..)| !is_data(bytes)), "acknowledgements");
        assert!(all.iter().all(|(bytes, length, _)| u16::from_be_bytes([bytes[2], bytes[3]]) as u32 == *length));
    }
    // The capture is a recording that a source can replay.
    let flows = "[[flows]]\nkind = \"trace\"\nfile = \"out/pcapng/case000-aqm00-seed1.pcapng\"\n";
    let (head, tail) = SCENARIO.split_once("[[flows]]").unwrap();
    let (_, compare) = tail.split_once("[compare]").unwrap();
    place.write("again.toml", &format!("{head}{flows}\n[compare]{compare}"));
    place.run(&["run", "again.toml", "--runs", "1", "--aqm", "droptail"]).good();
    let runs = names(&place.dir.join("out/runs")).into_iter().map(|name| format!("out/runs/{name}"));
    let files: Vec<_> = runs.chain(["out/meta.json".to_string()]).map(|file| place.dir.join(file)).collect();
    let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let engine_now = texts[0].split("\"engine\":\"").nth(1).unwrap().split('"').next().unwrap();
    for (engine, why) in [("0.1.0+other.", "results of the build 0.1.0+other."), ("0.1.0+live.", "found real packets")]
    {
        for (file, text) in files.iter().zip(&texts) {
            fs::write(file, text.replace(engine_now, &format!("{engine}{engine_now}"))).unwrap();
        }
        let other = place.run(&["report", "out", "--pcapng"]);
        assert!(other.code == Some(2) && other.stderr.contains(why), "{other:?}");
    }
}

#[test]
fn wireshark_reads_our_captures() {
    let has = |name: &str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    if !has("tshark") || !has("capinfos") {
        return skip("tshark, capinfos: apt-get install tshark");
    }
    let place = Place::new("wireshark");
    let words = ["run", "short.toml", "--runs", "1", "--aqm", "codel", "-o", "out", "--set", "flows.ftp.ecn=true"];
    place.run(&words).good();
    place.run(&["report", "out", "--pcapng"]).good();
    let file = "out/pcapng/case000-aqm00-seed1.pcapng";
    let said = |name: &str, args: &[&str]| {
        let out = Command::new(name).args(args).current_dir(&place.dir).output().unwrap();
        assert!(out.status.success(), "{name}: {out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    let about = said("capinfos", &[file]);
    let wanted =
        ["pcapng", "nanoseconds (9)", "Strict time order:   True", "Name = bottleneck", "Capture application: forebay"];
    wanted.iter().for_each(|word| assert!(about.contains(word), "{word}: {about}"));
    let count =
        |filter: &str| said("tshark", &["-o", "ip.check_checksum:TRUE", "-r", file, "-Y", filter]).lines().count();
    assert!(count("ip.dsfield.ecn == 3 && tcp.len > 0") > 0, "marked data");
    assert!(count("tcp.flags.ece == 1 && tcp.len == 0") > 0, "echoed marks");
    assert_eq!(count("ip.checksum.status == 0 || _ws.malformed"), 0, "sound headers");
}

/// `report --csv` and `--flent` accept the directory of a reproduction, unless its claims need no runs.
#[test]
fn tables_of_every_scenario_are_written() {
    let place = Place::new("csv-several");
    place.run(&["reproduce", "MSC-E3c", "--quick", "-o", "out", "-q"]).good();
    let made = place.run(&["report", "out", "--csv", "--flent", "--json"]).good().json();
    let first = |key: &str| made[key][0].as_str().unwrap().to_string();
    assert_eq!(first("csv"), "out/eq-3/csv/summary.csv");
    assert_eq!(first("flent"), "out/eq-3/flent/case000-aqm00-seed1.flent.gz");
    assert!(place.dir.join(first("csv")).is_file() && place.dir.join(first("flent")).is_file());
    let refused = place.run(&["report", "out", "--pcapng"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("several scenarios"), "{refused:?}");
    place.run(&["reproduce", "RAQM-TH1", "-o", "theory", "-q"]).good();
    let refused = place.run(&["report", "theory", "--csv"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("results without runs"), "{refused:?}");
}
