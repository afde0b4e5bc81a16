//! Tests of the readers of recorded traffic: CSV, pcap, pcapng and lists of video frames.

use super::*;
use proptest::prelude::*;
use proptest::sample::{Index, select};

fn packets_of(bytes: &[u8]) -> Read<Recorded> {
    packets_in(&mut Bytes::new(bytes))
}

fn frames_of(text: &str) -> Read<Recorded> {
    super::frames::read(&mut Bytes::new(text.as_bytes()))
}

/// The time in nanoseconds and the size in bytes of each item.
fn shown(recorded: &Recorded) -> Vec<(u64, u32)> {
    recorded.items.iter().map(|item| (item.at.nanos(), item.size)).collect()
}

/// Appends integers to `out`, big-endian if `big`, else little-endian.
struct Writer {
    out: Vec<u8>,
    big: bool,
}

impl Writer {
    fn new(big: bool) -> Self {
        Self { out: Vec::new(), big }
    }

    fn u16(&mut self, x: u16) -> &mut Self {
        self.out.extend(if self.big { x.to_be_bytes() } else { x.to_le_bytes() });
        self
    }

    fn u32(&mut self, x: u32) -> &mut Self {
        self.out.extend(if self.big { x.to_be_bytes() } else { x.to_le_bytes() });
        self
    }

    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Self)) -> &mut Self {
        let mut inner = Self::new(self.big);
        body(&mut inner);
        inner.out.resize(inner.out.len().next_multiple_of(4), 0);
        let total = inner.out.len() as u32 + 12;
        self.u32(kind).u32(total).out.extend(inner.out);
        self.u32(total)
    }
}

/// A pcap file with three packets of 60, 1514 and 9000 bytes, of which at most 96 bytes are stored, at 0, 1 and
/// 2.000002 s. The file has the third packet before the second.
fn pcap(big: bool, nanos: bool) -> Vec<u8> {
    let mut out = Writer::new(big);
    out.u32(if nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }).u16(2).u16(4).u32(0).u32(0).u32(96).u32(1);
    let unit = if nanos { 1000 } else { 1 };
    for (seconds, micros, length) in [(1_700_000_000, 5, 60u32), (1_700_000_002, 7, 9000), (1_700_000_001, 5, 1514)] {
        let kept = length.min(96);
        out.u32(seconds).u32(micros * unit).u32(kept).u32(length).out.extend(vec![0xab; kept as usize]);
    }
    out.out
}

fn section(out: &mut Writer) {
    out.block(0x0a0d_0d0a, |body| {
        body.u32(0x1a2b_3c4d).u16(1).u16(0).u32(u32::MAX).u32(u32::MAX);
    });
}

/// Writes an interface description block. `resolution` is the option `if_tsresol` (`None`: microseconds), `offset`
/// the option `if_tsoffset` in seconds.
fn interface(out: &mut Writer, resolution: Option<u8>, offset: u32) {
    out.block(1, |body| {
        body.u16(1).u16(0).u32(0);
        body.u16(2).u16(4).out.extend(b"eth0");
        if let Some(resolution) = resolution {
            body.u16(9).u16(1).out.extend([resolution, 0, 0, 0]);
        }
        if offset > 0 {
            body.u16(14).u16(8);
            let (high, low) = if body.big { (0, offset) } else { (offset, 0) };
            body.u32(high).u32(low);
        }
        body.u16(0).u16(0);
    });
}

fn enhanced(out: &mut Writer, interface: u32, stamp: u64, length: u32) {
    let kept = length.min(61);
    out.block(6, |body| {
        body.u32(interface).u32((stamp >> 32) as u32).u32(stamp as u32).u32(kept).u32(length);
        body.out.extend(vec![0xcd; kept as usize]);
    });
}

/// A pcapng file with the three packets of the pcap file that [`pcap`] writes. Each is from an interface with a
/// different unit of time: microseconds, nanoseconds, 1/1024 s. The third packet is in a second section with the
/// opposite byte order. One block has a type that the reader ignores.
fn pcapng(big: bool) -> Vec<u8> {
    let mut out = Writer::new(big);
    section(&mut out);
    interface(&mut out, None, 0);
    interface(&mut out, Some(9), 1_700_000_000);
    out.block(5, |body| {
        body.u32(0).u32(1).u32(2);
    });
    enhanced(&mut out, 0, 1_700_000_000_000_005, 60);
    enhanced(&mut out, 1, 2_000_007_000, 9000);
    let mut other = Writer::new(!big);
    section(&mut other);
    interface(&mut other, Some(0x80 | 10), 0);
    // 1.000005 s after the epoch of the others, to the nearest 1/1024.
    other.block(2, |body| {
        let stamp = 1_700_000_001u64 << 10;
        body.u16(0).u16(u16::MAX).u32((stamp >> 32) as u32).u32(stamp as u32).u32(0).u32(1514);
    });
    out.out.extend(other.out);
    out.out
}

const CSV: &str = "time_s,size_bytes\n# a remark\n1700000000.000005,60\n\n1700000001.000005, 1500\n1700000001.5,1\n";
const FRAMES: &str = "# No. type time length\n1 I 0 5312\n2\tP\t120\t1542 37.1\n3 B 40 134 36.9\n4 B 80 0 35\n";

#[test]
fn pcap_byte_orders_and_time_units_are_read() {
    for (big, nanos) in [(false, false), (false, true), (true, false), (true, true)] {
        let recorded = packets_of(&pcap(big, nanos)).unwrap();
        assert_eq!(shown(&recorded), [(0, 60), (1_000_000_000, 1514), (2_000_002_000, 9000)], "{big} {nanos}");
    }
}

#[test]
fn pcapng_clock_units_and_byte_orders_are_read() {
    for big in [false, true] {
        let recorded = packets_of(&pcapng(big)).unwrap();
        assert_eq!(shown(&recorded), [(0, 60), (999_995_000, 1514), (2_000_002_000, 9000)], "{big}");
    }
}

#[test]
fn csv_times_are_exact_to_nanoseconds() {
    let recorded = packets_of(CSV.as_bytes()).unwrap();
    assert_eq!(shown(&recorded), [(0, 60), (1_000_000_000, 1500), (1_499_995_000, 1)]);
    assert!(!recorded.has_classes);
    let classes = packets_of(b"\xef\xbb\xbf0,100,3\r\n1e-3,200,255\r\n").unwrap();
    let tags: Vec<u8> = classes.items.iter().map(|item| item.tag).collect();
    assert_eq!((tags, classes.has_classes, classes.items[1].at.nanos()), (vec![3, 255], true, 1_000_000));
}

#[test]
fn frame_lists_of_both_column_orders_are_read() {
    let recorded = frames_of(FRAMES).unwrap();
    assert_eq!(shown(&recorded), [(0, 5312), (40_000_000, 134), (80_000_000, 0), (120_000_000, 1542)]);
    let types: Vec<u8> = recorded.items.iter().map(|item| item.tag).collect();
    assert_eq!(types, b"IBBP");
    let short = frames_of("0 IDR 5312\n33.366 p 1542\n").unwrap();
    assert_eq!(shown(&short), [(0, 5312), (33_366_000, 1542)]);
}

#[test]
fn errors_in_text_recordings_name_line_and_cause() {
    let line = |n| Where::Line(n);
    for (text, at, found, words) in [
        ("", Where::File, "no packets", "one or more packets"),
        ("time_s,size_bytes\n", Where::File, "no packets", "one or more"),
        ("0,100\n1;200\n", line(2), "1;200", "time_s,size_bytes"),
        ("0,100\n1,200,3\n", line(2), "1,200,3", "as many columns"),
        ("0,100\n-1,200\n", line(2), "-1", "at least 0"),
        ("0,100\nnan,200\n", line(2), "nan", "a time in seconds"),
        ("1,100\n0.5,200\n", line(2), "0.5", "at or after"),
        ("0,1e3\n", line(1), "1e3", "a length in bytes"),
        ("0,0\n", line(1), "a packet of 0 bytes", "1 to 65535"),
        ("0,65536\n", line(1), "a packet of 65536 bytes", "without offloading"),
        ("0,100,256\n", line(1), "256", "a class from 0 to 255"),
        ("0,100\n1000000.1,100\n", Where::File, "a longer time between first and last", "1000000 s"),
    ] {
        let bad = packets_of(text.as_bytes()).unwrap_err();
        assert_eq!((bad.at, bad.found.as_str()), (at, found), "{text:?}");
        assert!(bad.accepts.contains(words), "{text:?}: {}", bad.accepts);
    }
    for (text, at, found, words) in [
        ("", Where::File, "no frames", "one or more frames"),
        ("0 I\n", line(1), "0 I", "time, type and length"),
        ("# x\n1 X 0 10\n", line(2), "X", "I, P or B"),
        ("1 I -4 10\n", line(1), "-4", "milliseconds"),
        ("1 I 0 16777217\n", line(1), "1 I 0 16777217", "at most 16777216"),
        ("1 I 0 10\n40 P 10\n", line(2), "40 P 10", "the columns of previous lines"),
    ] {
        let bad = frames_of(text).unwrap_err();
        assert_eq!((bad.at, bad.found.as_str()), (at, found), "{text:?}");
        assert!(bad.accepts.contains(words), "{text:?}: {}", bad.accepts);
    }
    let many = "0,100\n".repeat(MAX_ITEMS + 1);
    assert_eq!(packets_of(many.as_bytes()).unwrap_err().at, line(MAX_ITEMS + 1));
}

#[test]
fn errors_in_capture_files_name_byte_and_cause() {
    let change = |mut bytes: Vec<u8>, at: usize, to: &[u8]| {
        bytes[at..at + to.len()].copy_from_slice(to);
        packets_of(&bytes).unwrap_err()
    };
    let plain = || pcap(false, false);
    for (bad, at, found, accepts) in [
        (packets_of(&plain()[..23]).unwrap_err(), 23, "the end of the file", "1 more bytes of a header"),
        (packets_of(&plain()[..30]).unwrap_err(), 28, "the end of the file", "4 more bytes of a packet's header"),
        (packets_of(&plain()[..100 - 4]).unwrap_err(), 96, "the end of the file", "4 more bytes of a packet"),
        (change(plain(), 4, &[1, 0]), 4, "version 1", "version 2"),
        (change(plain(), 28, &[0x40, 0x42, 0x0f, 0]), 28, "a fraction of 1000000", "less than 1000000"),
        (change(plain(), 36, &[0; 4]), 36, "a packet of 0 bytes", "1 to 65535"),
        (change(plain(), 36, &[0, 0, 1, 0]), 36, "a packet of 65536 bytes", "1 to 65535"),
        (change(pcapng(false), 4, &[27]), 0, "a block of 27 bytes", "a multiple of 4"),
        (change(pcapng(false), 8, &[0]), 8, "[00, 3c, 2b, 1a]", "a byte order"),
        (change(pcapng(false), 24, &[32]), 24, "a length of 32", "the block's 28 again"),
        (change(pcapng(false), 28, &[3]), 28, "a simple packet block", "packets with their times"),
        (change(pcapng(false), 28, &[6]), 36, "a packet of interface 1", "one of the 0 described before"),
    ] {
        assert_eq!(bad.at, Where::Byte(at), "{bad:?}");
        assert!(bad.found.as_str().contains(found) && bad.accepts.contains(accepts), "{bad:?}");
    }
}

fn samples() -> Vec<Vec<u8>> {
    let captures = [(false, false), (false, true), (true, false), (true, true)].map(|(big, nanos)| pcap(big, nanos));
    let texts = [CSV, FRAMES].map(|text| text.as_bytes().to_vec());
    captures.into_iter().chain([pcapng(false), pcapng(true)]).chain(texts).collect()
}

/// Checks that the readers of packets and of frames either refuse the bytes or return sorted times that start at 0, and
/// lengths within the limits. The reader of CSV files with one column of times must refuse the bytes, or return at
/// least one time, in the order of the lines.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    for recorded in [packets_of(bytes), super::frames::read(&mut Bytes::new(bytes))].into_iter().flatten() {
        prop_assert!(recorded.items[0].at == Span::ZERO && recorded.items.len() <= MAX_ITEMS);
        prop_assert!(recorded.items.windows(2).all(|pair| pair[0].at <= pair[1].at && pair[1].at <= LONGEST));
    }
    let number = |words: &str| words.parse().map(Span::from_nanos).map_err(|_| "a number".to_string());
    if let Ok(times) = times::read(&mut Bytes::new(bytes), &number) {
        let lines = times.iter().map(|(at, _)| if let Where::Line(line) = at { *line } else { 0 });
        prop_assert!(times.len() <= MAX_ITEMS && lines.is_sorted() && !times.is_empty());
    }
    Ok(())
}

#[test]
fn truncated_recordings_give_first_items_or_error() {
    for bytes in samples() {
        for end in 0..bytes.len() {
            check(&bytes[..end]).unwrap();
        }
    }
    // Cut after a complete packet the file is valid; elsewhere it ends too early.
    let bytes = pcap(true, true);
    let whole: Vec<usize> = (0..bytes.len()).filter(|&end| packets_of(&bytes[..end]).is_ok()).collect();
    assert_eq!(whole, [24 + 16 + 60, 24 + 16 + 60 + 16 + 96]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn recording_readers_never_panic_on_random_bytes(
        start in select(samples()),
        keep in any::<Index>(),
        tail in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        check(&tail)?;
        check(&[&start[..keep.index(start.len() + 1)], &tail].concat())?;
    }

    #[test]
    fn recording_readers_never_panic_on_corrupted_files(
        start in select(samples()),
        changes in prop::collection::vec((any::<Index>(), select(vec![0u8, 1, 0x7f, 0x80, 0xff, b',', b'9'])), 1..8),
    ) {
        let mut bytes = start;
        for (at, to) in changes {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        check(&bytes)?;
    }
}

/// A compressed data file of flent with these times and series.
fn flent(times: &str, results: &str, metadata: &str) -> Vec<u8> {
    use std::io::Write as _;
    let text =
        format!(r#"{{"version":4,"x_values":{times},"results":{results},"metadata":{metadata},"raw_values":{{}}}}"#);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

/// 0.012 Mbit/s are one packet of 1500 bytes per second.
#[test]
fn flent_rates_become_packets() {
    let sums = r#"{"TCP download::1":[0,0.012,0.012],"TCP upload":[5,null,0.012],"TCP download sum":[9,9,9],"Ping (ms) ICMP":[1,1,1]}"#;
    let read = packets_of(&flent("[0,1,2]", sums, "{}")).unwrap();
    assert_eq!(shown(&read), [(0, 1500), (500_000_000, 1500), (1_000_000_000, 1500)]);
    // The half packet of the first second is sent in the second.
    let read = packets_of(&flent("[0,1,2]", r#"{"TCP download":[0,0.006,0.018]}"#, "{}")).unwrap();
    assert_eq!(shown(&read).len(), 2);
    let units = r#"{"SERIES_META":{"rate":{"UNITS":"Mbits/s"},"TCP delay":{"UNITS":"ms"}}}"#;
    let read = packets_of(&flent("[0,1]", r#"{"rate":[0,0.012],"TCP delay":[9,9]}"#, units)).unwrap();
    assert_eq!(shown(&read).len(), 1);
}

#[test]
fn bad_flent_files_are_errors() {
    let good = flent("[0,1]", r#"{"TCP download":[0,1]}"#, "{}");
    let text = |bytes: &[u8]| packets_of(bytes).unwrap_err().found.as_str().to_string();
    assert!(text(&good[..good.len() / 2]).contains("cannot be read"));
    assert!(text(&flent("[0,1]", r#"{"Ping (ms) ICMP":[1,1]}"#, "{}")).contains("no traffic in its series: Ping"));
    assert!(text(&flent("[1,0]", r#"{"TCP download":[1,1]}"#, "{}")).contains("times 1 and 0"));
    assert!(text(&flent("0", "{}", "{}")).contains("another compressed file"));
    let many = flent("[0,100]", r#"{"TCP download":[0,1000]}"#, "{}");
    assert!(text(&many).contains("more than 500000"));
    let huge = flent("[0,1]", r#"{"TCP download":[0,1e300]}"#, "{}");
    assert!(text(&huge).contains("more than 500000"));
}

#[test]
fn ns_2_traces_give_packets_at_their_sources() {
    // Two flows: from node 0 and from node 1, both over 2 to 3.
    let text = "+ 0.1 0 2 cbr 210 ------- 0 0.0 3.1 225 610\n- 0.1 0 2 cbr 210 ------- 0 0.0 3.1 225 610\n\
                h 0.1 0 2 cbr 210 ------- 0 0.0 3.1 225 610\n+ 0.15 1 2 tcp 1000 ------- 7 1.0 3.0 3 611\n\
                r 0.2 0 2 cbr 210 ------- 0 0.0 3.1 225 610\n+ 0.2 2 3 cbr 210 ------- 0 0.0 3.1 225 610\n\
                d 0.25 2 3 tcp 1000 ------- 7 1.0 3.0 3 611\n";
    let read = packets_of(text.as_bytes()).unwrap();
    assert_eq!(shown(&read), [(0, 210), (50_000_000, 1000)]);
    assert!(read.has_classes && read.items[1].tag == 7);
    let one = packets_of(text.replace(" 7 1.0", " 700 1.0").as_bytes()).unwrap();
    assert!(!one.has_classes && one.items[1].tag == 0, "a class is at most 255");
    let bad = |text: &str| packets_of(text.as_bytes()).unwrap_err();
    assert_eq!(bad("+ 0.1 0 2 cbr 210\n").at, Where::Line(1));
    assert_eq!(bad("+ x 0 2 cbr 210 ------- 0 0.0 3.1 225 610\n").at, Where::Line(1));
    assert_eq!(bad("+ 0.1 0 2 cbr 210 ------- 0 0.0 3.1 225 610\ns -t 0.2\n").at, Where::Line(2));
    assert!(bad("r 0.2 0 2 cbr 210 ------- 0 0.0 3.1 225 610\n").found.as_str().contains("no packets that enter"));
}

#[test]
fn ns_3_traces_give_packets_of_the_first_device() {
    let line = |event: &str, time: &str, node: u32, length: u32| {
        format!(
            "{event} {time} /NodeList/{node}/DeviceList/0/$ns3::PointToPointNetDevice/TxQueue/Enqueue ns3::PppHeader \
             (Point-to-Point Protocol: IP (0x0021)) ns3::Ipv4Header (tos 0x0 DSCP Default ECN Not-ECT ttl 64 id 0 \
             protocol 17 offset (bytes) 0 flags [none] length: {length} 10.1.1.1 > 10.1.1.2) ns3::UdpHeader (length: \
             {} 49153 > 9) Payload (size={})\n",
            length - 20,
            length - 28
        )
    };
    let text = [line("+", "2", 0, 1052), line("-", "2", 0, 1052), line("+", "2.25", 0, 540), line("+", "2.3", 1, 1052)];
    let read = packets_of(text.concat().as_bytes()).unwrap();
    assert_eq!(shown(&read), [(0, 1052), (250_000_000, 540)]);
}
