//! The packets that arrived at an emulated link, each with its verdict (sent, marked, dropped or lost), as CSV. The
//! first columns, `time_s,size_bytes,class`, are those of a packet trace that a scenario can replay (`kind = "trace"`).

use std::fmt::Write as _;
use std::path::Path;

use forebay_aqm::base::packet::{Ack, Colour, Ecn, Hosts, Proto};
use forebay_aqm::base::time::Span;
use forebay_lab::disk;
use forebay_lab::store::StoreError;
use forebay_live::frame::About;
use forebay_live::journal::{Arrival, Journal, Verdict};

const HEAD: &str = "time_s,size_bytes,class,colour,flow,pair,source,destination,protocol,dscp,ack,ecn,verdict";
const COLOURS: [(&str, Colour); 2] = [("in", Colour::In), ("out", Colour::Out)];
const PROTOCOLS: [(&str, Proto); 2] = [("tcp", Proto::Tcp), ("udp", Proto::Udp)];
const FIELDS: [(&str, Ecn); 4] = [("not-ect", Ecn::NotEct), ("ect1", Ecn::Ect1), ("ect0", Ecn::Ect0), ("ce", Ecn::Ce)];
const VERDICTS: [(&str, Option<Verdict>); 5] = [
    ("sent", Some(Verdict::Sent { marked: false })),
    ("marked", Some(Verdict::Sent { marked: true })),
    ("dropped", Some(Verdict::Dropped)),
    ("lost", Some(Verdict::Lost)),
    ("waiting", None),
];

fn word<T: PartialEq>(words: &[(&'static str, T)], of: &T) -> &'static str {
    words.iter().find(|(_, value)| value == of).map_or("other", |(word, _)| word)
}

fn meaning<T: Copy>(words: &[(&str, T)], of: &str) -> Option<T> {
    words.iter().find(|(word, _)| *word == of).map(|(_, value)| *value)
}

/// Writes the arrivals and verdicts of `journal` as CSV.
pub(crate) fn write(path: &Path, journal: &Journal) -> Result<(), StoreError> {
    let mut out = format!("{HEAD}\n");
    for (arrival, verdict) in journal.arrivals.iter().zip(&journal.verdicts) {
        let About { flow, pair, ecn, class, colour, proto, hosts, dscp, ack } = arrival.about;
        let (seconds, nanos) = (arrival.at / 1_000_000_000, arrival.at % 1_000_000_000);
        let (colour, proto) = (word(&COLOURS, &colour), word(&PROTOCOLS, &proto));
        let (ecn, verdict) = (word(&FIELDS, &ecn), word(&VERDICTS, verdict));
        let _ = writeln!(
            out,
            "{seconds}.{nanos:09},{},{class},{colour},{flow},{pair},{},{},{proto},{dscp},{},{ecn},{verdict}",
            arrival.len,
            hosts.source,
            hosts.destination,
            ack.bits(),
        );
    }
    disk::write_whole(path, out.as_bytes())
}

/// Arrivals later than this after the end of the run are refused: the link would process the time until then.
const LATE: Span = Span::from_millis(1000);

/// Reads the CSV that [`write()`] wrote, of a run that ended at `end`.
pub(crate) fn read(path: &Path, end: Span) -> Result<Journal, StoreError> {
    let text = disk::read_text(path)?;
    let mut journal = Journal::default();
    let because = |line: usize, what: &str| StoreError::Damaged {
        path: path.to_path_buf(),
        reason: format!("line {line} is {what}"),
    };
    let damaged = |line: usize| because(line, "invalid");
    let last = end.nanos().saturating_add(LATE.nanos());
    let mut lines = text.lines().enumerate();
    if lines.next().is_none_or(|(_, head)| head != HEAD) {
        return Err(damaged(1));
    }
    for (at, line) in lines {
        let (arrival, verdict) = entry(line).ok_or_else(|| damaged(at + 1))?;
        if arrival.at > last {
            return Err(because(at + 1, "later than the end of the run"));
        }
        journal.arrivals.push(arrival);
        journal.verdicts.push(verdict);
    }
    Ok(journal)
}

fn entry(line: &str) -> Option<(Arrival, Option<Verdict>)> {
    let fields: Vec<&str> = line.split(',').collect();
    let [time, len, class, colour, flow, pair, source, destination, proto, dscp, ack, ecn, verdict] = fields.as_slice()
    else {
        return None;
    };
    let (seconds, nanos) = time.split_once('.').filter(|(_, nanos)| nanos.len() == 9)?;
    let at = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos.parse().ok()?)?;
    let about = About {
        flow: flow.parse().ok()?,
        pair: pair.parse().ok()?,
        ecn: meaning(&FIELDS, ecn)?,
        class: class.parse().ok()?,
        colour: meaning(&COLOURS, colour)?,
        proto: meaning(&PROTOCOLS, proto)?,
        hosts: Hosts { source: source.parse().ok()?, destination: destination.parse().ok()? },
        dscp: dscp.parse().ok()?,
        ack: Ack::from_bits(ack.parse().ok()?),
    };
    Some((Arrival { at, len: len.parse().ok()?, about }, meaning(&VERDICTS, verdict)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_and_verdicts_round_trip_through_csv() {
        let line = "1.000000042,1514,3,out,7,8,1,2,tcp,26,2147483653,ect0,marked";
        let (arrival, verdict) = entry(line).unwrap();
        assert_eq!((arrival.at, arrival.len, verdict), (1_000_000_042, 1514, Some(Verdict::Sent { marked: true })));
        let dir = std::env::temp_dir().join(format!("forebay-journal-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let journal = Journal { arrivals: vec![arrival; 2], verdicts: vec![verdict, None] };
        write(&dir.join("up.csv"), &journal).unwrap();
        let end = Span::from_millis(2000);
        let again = read(&dir.join("up.csv"), end).unwrap();
        assert_eq!((again.arrivals, again.verdicts), (journal.arrivals, journal.verdicts));
        std::fs::write(dir.join("up.csv"), format!("{HEAD}\n{line}\n1,2,3\n")).unwrap();
        assert!(read(&dir.join("up.csv"), end).unwrap_err().to_string().contains("line 3 is invalid"));
        let late = line.replacen('1', "3000000", 1);
        std::fs::write(dir.join("up.csv"), format!("{HEAD}\n{line}\n{late}\n")).unwrap();
        let error = read(&dir.join("up.csv"), end).unwrap_err().to_string();
        assert!(error.contains("line 3 is later than the end of the run"), "{error}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
