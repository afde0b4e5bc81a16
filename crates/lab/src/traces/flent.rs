//! Reads the traffic of a data file of flent (`NAME.flent.gz`): packets of 1500 bytes at the recorded rates.

use std::io::{BufRead, Read as _};

use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::bytes::Bytes;
use super::{BadRecording, Raw, Read, Recorded, Where, gather, room};

/// First bytes of a compressed file.
pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Largest file in bytes, uncompressed.
const MOST: u64 = 256 << 20;
/// Bytes of a packet.
const PACKET: u32 = 1500;
/// Ends of the names of series that flent computes from others.
const DERIVED: [&str; 3] = [" avg", " sum", " fairness"];
const ACCEPTS: &str = "a data file of flent, with a series in Mbits/s";

/// The parts of a data file that are read.
#[derive(Deserialize)]
struct File {
    x_values: Vec<f64>,
    results: Map<String, Value>,
    #[serde(default)]
    metadata: Map<String, Value>,
}

impl File {
    /// Names of the series of rates that flent measured.
    fn rates(&self) -> Vec<&str> {
        let unit = |name: &str| self.metadata.get("SERIES_META")?.get(name)?.get("UNITS")?.as_str();
        let is_rate = |name: &&str| match unit(name) {
            Some(unit) => unit == "Mbits/s",
            // Old files have no units.
            None => name.starts_with("TCP ") || name.starts_with("UDP "),
        };
        let names = self.results.keys().map(String::as_str);
        names.filter(is_rate).filter(|name| !DERIVED.iter().any(|end| name.ends_with(end))).collect()
    }
}

/// Reads a compressed data file. The rates of all measured series are added.
pub(super) fn read<R: BufRead>(bytes: &mut Bytes<R>) -> Read<Recorded> {
    let bad = |found: String| BadRecording::new(Where::File, found, ACCEPTS);
    let mut text = String::new();
    let read = MultiGzDecoder::new(bytes.rest()).take(MOST + 1).read_to_string(&mut text);
    read.map_err(|error| bad(format!("a compressed file that cannot be read: {error}")))?;
    if text.len() as u64 > MOST {
        return Err(BadRecording::new(Where::File, "a larger file", format!("at most {} MiB of text", MOST >> 20)));
    }
    let file: File = serde_json::from_str(&text).map_err(|error| bad(format!("another compressed file ({error})")))?;
    let names = file.rates();
    let mut packets: Vec<Raw> = Vec::new();
    // Bytes that are due, but not yet a packet.
    let mut due = 0.0;
    for (at, span) in file.x_values.windows(2).enumerate() {
        let [from, to] = [span[0], span[1]];
        if !(from >= 0.0 && to > from && to <= super::LONGEST.secs()) {
            return Err(bad(format!("times {from} and {to}")));
        }
        let value = |name: &&str| file.results.get(*name)?.get(at + 1)?.as_f64();
        let mbps: f64 = names.iter().filter_map(value).filter(|mbps| *mbps > 0.0).sum();
        let bytes = mbps * 1e6 / 8.0 * (to - from);
        let count = ((due + bytes) / f64::from(PACKET)).floor();
        for packet in 0..count as u64 {
            room(&packets, Where::File)?;
            let part = ((packet + 1) as f64 * f64::from(PACKET) - due) / bytes;
            packets.push((((from + part * (to - from)) * 1e9).round() as i128, PACKET, 0));
        }
        due += bytes - count * f64::from(PACKET);
    }
    if packets.is_empty() {
        return Err(bad(format!(
            "no traffic in its series: {}",
            file.results.keys().cloned().collect::<Vec<_>>().join(", ")
        )));
    }
    gather(packets, false, "packets")
}
