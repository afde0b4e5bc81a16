//! The length of a packet on the wire below: overhead, minimum packet unit, ATM cells, PTM blocks.
//!
//! Linux: `cake_calc_overhead`. Keywords: iproute2, `tc/q_cake.c`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::base::nearest::nearest;
use crate::base::params::Value;
use crate::base::text::BadValue;

/// Smallest and largest overhead in bytes (tc).
const OVERHEADS: (i32, i32) = (-64, 256);

/// Most keywords of one value: ours.
const MAX_WORDS: usize = 16;

/// How packets are framed in cells or blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Framing {
    /// Not at all.
    Plain,
    /// ATM cells: 48 bytes of a packet in 53 bytes.
    Atm,
    /// PTM blocks: one byte more for each 64 bytes or part of them.
    Ptm,
}

/// What a keyword changes.
#[derive(Clone, Copy)]
struct Effect {
    framing: Option<Framing>,
    /// Bytes of overhead. `None`: the keyword says nothing about the overhead.
    bytes: Option<i32>,
    /// Whether `bytes` replace the overhead of earlier keywords. Otherwise they add to it.
    replaces: bool,
    mpu: Option<u32>,
}

const fn adds(framing: Option<Framing>, bytes: i32) -> Effect {
    Effect { framing, bytes: Some(bytes), replaces: false, mpu: None }
}

const fn frames(framing: Option<Framing>) -> Effect {
    Effect { framing, bytes: None, replaces: false, mpu: None }
}

const ATM: Option<Framing> = Some(Framing::Atm);
const PTM: Option<Framing> = Some(Framing::Ptm);
const PLAIN: Option<Framing> = Some(Framing::Plain);

/// The keyword that resets the overhead to 0 and takes the length with the link-layer header as base.
const RAW: &str = "raw";

/// The other keywords.
const KEYWORDS: [(&str, Effect); 18] = [
    ("conservative", Effect { framing: ATM, bytes: Some(48), replaces: true, mpu: None }),
    ("ipoa-vcmux", adds(ATM, 8)),
    ("ipoa-llcsnap", adds(ATM, 16)),
    ("bridged-vcmux", adds(ATM, 24)),
    ("bridged-llcsnap", adds(ATM, 32)),
    ("pppoa-vcmux", adds(ATM, 10)),
    ("pppoa-llc", adds(ATM, 14)),
    ("pppoe-vcmux", adds(ATM, 32)),
    ("pppoe-llcsnap", adds(ATM, 40)),
    ("pppoe-ptm", adds(PTM, 30)),
    ("bridged-ptm", adds(PTM, 22)),
    ("docsis", Effect { framing: PLAIN, bytes: Some(18), replaces: false, mpu: Some(64) }),
    ("ethernet", Effect { framing: None, bytes: Some(38), replaces: false, mpu: Some(84) }),
    ("ether-vlan", adds(None, 4)),
    ("via-ethernet", frames(None)),
    ("atm", frames(ATM)),
    ("ptm", frames(PTM)),
    ("noatm", frames(PLAIN)),
];

/// One word of an overhead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Raw,
    /// Index into [`KEYWORDS`].
    Keyword(usize),
    /// Bytes of overhead, which replace those of earlier words.
    Bytes(i32),
}

/// An overhead as the user gives it: keywords of tc and numbers of bytes, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overhead(Vec<Word>);

impl Default for Overhead {
    fn default() -> Self {
        Self(alloc::vec![Word::Raw])
    }
}

/// Length on the wire below, in bytes, of a packet of `len` bytes without link-layer header, for an overhead as tc-cake(8)
/// writes it, such as `docsis`.
///
/// # Errors
/// A keyword is unknown.
pub fn wire_length(words: &str, len: u32) -> Result<u32, BadValue> {
    let overhead = Overhead::parse(words)?;
    Ok(overhead.wire(0, overhead.mpu()).adjusted(len))
}

/// The same overhead for tc-stab(8) on an Ethernet device, whose lengths include the header of 14 bytes, such as
/// `linklayer ethernet overhead 4 mpu 64`. tc-stab has no PTM: the second value is the part of the rate that PTM leaves, else
/// 1.
///
/// # Errors
/// A keyword is unknown.
pub fn stab(words: &str) -> Result<(String, f64), BadValue> {
    const HEADER: u32 = 14;
    let overhead = Overhead::parse(words)?;
    let wire = overhead.wire(HEADER, overhead.mpu());
    let (layer, share) = match wire.framing {
        Framing::Plain => ("ethernet", 1.0),
        Framing::Atm => ("atm", 1.0),
        Framing::Ptm => ("ethernet", 64.0 / 65.0),
    };
    let mpu = if wire.mpu > 0 { alloc::format!(" mpu {}", wire.mpu) } else { String::new() };
    Ok((alloc::format!("linklayer {layer} overhead {}{mpu}", wire.overhead - wire.removed as i32), share))
}

/// The names of all keywords.
pub(super) fn keywords() -> impl Iterator<Item = &'static str> {
    core::iter::once(RAW).chain(KEYWORDS.iter().map(|(name, _)| *name))
}

impl Overhead {
    /// The minimum packet unit in bytes that the last keyword with one sets.
    pub(super) fn mpu(&self) -> u32 {
        let set = |word: &Word| if let Word::Keyword(at) = word { KEYWORDS[*at].1.mpu } else { None };
        self.0.iter().filter_map(set).next_back().unwrap_or(0)
    }

    /// The rule that these words describe together, for packet lengths with `header` bytes of the link layer.
    pub(super) fn wire(&self, header: u32, mpu: u32) -> Wire {
        let (mut raw, mut says, mut overhead, mut framing) = (false, false, 0, Framing::Plain);
        for word in &self.0 {
            match *word {
                Word::Raw => (raw, overhead, framing) = (true, 0, Framing::Plain),
                Word::Bytes(bytes) => (says, overhead) = (true, bytes),
                Word::Keyword(at) => {
                    let effect = KEYWORDS[at].1;
                    framing = effect.framing.unwrap_or(framing);
                    if let Some(bytes) = effect.bytes {
                        (says, overhead) = (true, if effect.replaces { bytes } else { overhead + bytes });
                    }
                }
            }
        }
        // A raw base stays, whatever follows.
        Wire { removed: if says && !raw { header } else { 0 }, overhead, mpu: mpu as i32, framing }
    }
}

impl Value for Overhead {
    const ACCEPTS: &'static str = "keywords and bytes (-64 to 256) joined by /, such as docsis, 44 or ethernet/ether-vlan; \
                                   keywords: raw, conservative, ipoa-vcmux, ipoa-llcsnap, bridged-vcmux, \
                                   bridged-llcsnap, pppoa-vcmux, pppoa-llc, pppoe-vcmux, pppoe-llcsnap, pppoe-ptm, \
                                   bridged-ptm, docsis, ethernet, ether-vlan, via-ethernet, atm, ptm, noatm";
    const UNIT: &'static str = "raw|conservative|ipoa-vcmux|ipoa-llcsnap|bridged-vcmux|bridged-llcsnap|pppoa-vcmux|\
                                pppoa-llc|pppoe-vcmux|pppoe-llcsnap|pppoe-ptm|bridged-ptm|docsis|ethernet|ether-vlan|\
                                via-ethernet|atm|ptm|noatm|BYTES";

    fn parse(text: &str) -> Result<Self, BadValue> {
        let word = |word: &str| {
            if word == RAW {
                return Ok(Word::Raw);
            }
            if let Some(at) = KEYWORDS.iter().position(|(name, _)| *name == word) {
                return Ok(Word::Keyword(at));
            }
            let bytes = word.parse().ok().filter(|bytes| (OVERHEADS.0..=OVERHEADS.1).contains(bytes));
            bytes.map(Word::Bytes).ok_or_else(|| {
                let bad = BadValue::new(Self::ACCEPTS);
                match nearest(word, keywords()) {
                    Some(near) => bad.hint(format!("did you mean {near}?")),
                    None => bad,
                }
            })
        };
        let words = text.trim().split('/').map(word).collect::<Result<Vec<_>, _>>()?;
        if words.len() > MAX_WORDS {
            return Err(BadValue::new(Self::ACCEPTS).hint(format!("at most {MAX_WORDS} of them")));
        }
        Ok(Self(words))
    }

    fn show(&self) -> String {
        let word = |word: &Word| match *word {
            Word::Raw => RAW.to_string(),
            Word::Keyword(at) => KEYWORDS[at].0.to_string(),
            Word::Bytes(bytes) => bytes.to_string(),
        };
        self.0.iter().map(word).collect::<Vec<_>>().join("/")
    }
}

/// The rule for the adjusted length of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wire {
    /// Bytes of the link-layer header that are removed first.
    removed: u32,
    overhead: i32,
    mpu: i32,
    framing: Framing,
}

impl Wire {
    /// The adjusted length in bytes of a packet of `len` bytes.
    #[inline]
    pub(super) const fn adjusted(&self, len: u32) -> u32 {
        let with = len.saturating_sub(self.removed) as i32 + self.overhead;
        // A large negative overhead must not make a length negative: ours; Linux has mpu 0 there.
        let len = if with > self.mpu { with } else { self.mpu } as u32;
        match self.framing {
            Framing::Plain => len,
            Framing::Atm => len.div_ceil(48) * 53,
            Framing::Ptm => len + len.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The adjusted length of a frame of 1028 bytes of IP and 14 of Ethernet.
    fn of(words: &str, mpu: u32, len: u32) -> u32 {
        let overhead = Overhead::parse(words).unwrap();
        let mpu = if mpu > 0 { mpu } else { overhead.mpu() };
        overhead.wire(14, mpu).adjusted(len)
    }

    /// DOCSIS adds 18 bytes; a packet of 1500 bytes fills 32 cells of ATM.
    #[test]
    fn wire_length_has_overhead_and_framing() {
        for (words, length) in [("raw", 1500), ("docsis", 1518), ("atm", 1696), ("ethernet", 1538)] {
            assert_eq!(wire_length(words, 1500), Ok(length), "{words}");
        }
        assert!(wire_length("docsys", 1500).is_err());
    }

    /// tc-cake(8): docsis is 18 bytes on a packet of IP, which is 4 on one with its Ethernet header.
    #[test]
    fn stab_counts_from_the_ethernet_header() {
        for (words, table, share) in [
            ("docsis", "linklayer ethernet overhead 4 mpu 64", 1.0),
            ("ethernet", "linklayer ethernet overhead 24 mpu 84", 1.0),
            ("44", "linklayer ethernet overhead 30", 1.0),
            ("conservative", "linklayer atm overhead 34", 1.0),
            ("pppoa-llc", "linklayer atm overhead 0", 1.0),
            ("pppoe-ptm", "linklayer ethernet overhead 16", 64.0 / 65.0),
        ] {
            assert_eq!(stab(words), Ok((table.to_string(), share)), "{words}");
        }
    }

    #[test]
    fn adjusted_lengths_equal_the_hand_worked_ones() {
        assert_eq!(of("raw", 0, 1042), 1042);
        assert_eq!(of("0", 0, 1042), 1028);
        assert_eq!(of("atm/40", 0, 1042), 1219, "1068 bytes in 23 cells");
        assert_eq!(of("pppoe-ptm", 0, 1042), 1075, "1058 and 17");
        assert_eq!(of("ethernet", 0, 60), 84, "46 and 38 are the mpu");
        assert_eq!(of("docsis", 0, 60), 64);
        assert_eq!(of("raw", 100, 60), 100);
        assert_eq!(of("-64", 0, 60), 0);
    }

    /// iproute2 6.1.0 printed these.
    #[test]
    fn keywords_add_but_numbers_and_conservative_replace() {
        let wire = |words: &str| Overhead::parse(words).unwrap().wire(14, 0);
        let overhead = |words| wire(words).overhead;
        assert_eq!([overhead("ethernet/44"), overhead("44/ethernet")], [44, 82]);
        assert_eq!([overhead("ethernet/ether-vlan"), overhead("pppoe-ptm/ether-vlan")], [42, 34]);
        assert_eq!((overhead("pppoe-ptm/pppoe-vcmux"), wire("pppoe-ptm/pppoe-vcmux").framing), (62, Framing::Atm));
        assert_eq!([overhead("docsis/docsis"), overhead("docsis/conservative")], [36, 48]);
        assert_eq!((wire("raw/10").removed, overhead("raw/10")), (0, 10));
        assert_eq!((wire("10/raw").removed, overhead("10/raw")), (0, 0));
        assert_eq!((wire("raw/pppoe-ptm").removed, overhead("raw/pppoe-ptm")), (0, 30));
        assert_eq!((wire("noatm").removed, wire("atm").removed, wire("0").removed), (0, 0, 14));
    }

    #[test]
    fn unknown_keywords_are_refused_with_the_known_ones() {
        let bad = |text: &str| Overhead::parse(text).unwrap_err();
        assert_eq!(bad("docis").hint.as_deref(), Some("did you mean docsis?"));
        assert!(["", "257", "-65", "1k", "docsis/", "mpu"].iter().all(|text| Overhead::parse(text).is_err()));
        assert!(keywords().all(|word| Overhead::ACCEPTS.contains(word) && bad("x").accepts.contains(word)));
        assert!(keywords().all(|word| Overhead::UNIT.split('|').any(|unit| unit == word)));
        assert_eq!(Overhead::parse("ethernet/ether-vlan/-4").unwrap().show(), "ethernet/ether-vlan/-4");
    }
}
