//! Reads the scenario in an address of the page. After `#s=` the address has a JSON text, compressed with DEFLATE (RFC 1951)
//! and encoded with base64url (RFC 4648) without padding.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::read::DeflateDecoder;
use serde::Deserialize;

/// What precedes the scenario.
pub(super) const BEGIN: &str = "#s=";
/// Largest size of the JSON text.
const LARGEST: u64 = 1 << 20;

/// The scenario.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(super) struct State {
    /// Name of its file, for messages.
    pub(super) file: String,
    pub(super) text: String,
    pub(super) seed: Option<u64>,
    /// Index of the case.
    #[serde(default)]
    pub(super) case: usize,
}

/// Reads what follows [`BEGIN`]; the error says what is wrong.
pub(super) fn read(fragment: &str) -> Result<State, String> {
    let packed = URL_SAFE_NO_PAD.decode(fragment.trim()).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = DeflateDecoder::new(packed.as_slice()).take(LARGEST + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() as u64 > LARGEST {
        return Err("more than 1 MiB of text".to_string());
    }
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    fn link(text: &str) -> String {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
        packed.write_all(text.as_bytes()).unwrap();
        URL_SAFE_NO_PAD.encode(packed.finish().unwrap())
    }

    #[test]
    fn scenario_of_a_link_is_read() {
        let state = read(&link(r#"{"file":"a.toml","text":"version = 1","seed":3,"case":0}"#)).unwrap();
        assert_eq!(
            state,
            State { file: "a.toml".to_string(), text: "version = 1".to_string(), seed: Some(3), case: 0 }
        );
    }

    #[test]
    fn bad_links_are_errors() {
        for bad in ["%%%", "AAAA", "", &link("{}"), &link("[1")] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let bomb = link(&format!(r#"{{"file":"a","text":"{}"}}"#, " ".repeat(2 << 20)));
        assert_eq!(read(&bomb).unwrap_err(), "more than 1 MiB of text");
    }
}
