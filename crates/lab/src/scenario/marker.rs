//! `marker` of `[[flows]]`: a token bucket at the edge that colours the packets of a group.

use forebay_aqm::base::markers::{BUCKET_KEYS, LARGEST_BURST};
use forebay_aqm::base::params::ParamSpec;
use forebay_aqm::base::text::{self, BadValue};
use forebay_aqm::base::units::{Bytes, Limit, Rate};

use super::doc::Node;
use super::error::InputError;
use super::shape::{Key, Kind, Shape, may, need};
use super::table::Table;

/// A token bucket: what exceeds it is OUT of its profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Committed information rate.
    pub cir: Rate,
    /// Committed burst size, in packets of the group or in bytes.
    pub cbs: Limit,
    /// Who has one.
    pub per: Per,
}

/// Who has a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Each host, for all flows of the group that it sends.
    Host,
    /// Each flow.
    Flow,
    /// Each host, for all flows that it sends of groups with this very marker.
    Edge,
}

/// The words for `per`.
const PER: [(&str, Per); 3] = [("host", Per::Host), ("flow", Per::Flow), ("edge", Per::Edge)];

impl Per {
    /// Its word.
    pub fn word(self) -> &'static str {
        PER.iter().find(|(_, per)| *per == self).map_or("", |(word, _)| word)
    }
}

impl Marker {
    /// The burst size, for packets of `packet` bytes.
    pub const fn burst(&self, packet: u32) -> Bytes {
        match self.cbs {
            Limit::Packets(n) => Bytes(n as u64 * packet as u64),
            Limit::Bytes(bytes) => Bytes(bytes),
        }
    }
}

/// Every kind of marker.
const SHAPES: &[&Shape] = &[&TOKEN_BUCKET];

pub(crate) const MARKER: Key = may("marker", Kind::OneOf(SHAPES), "What colours packets; default all are IN.");

/// What the library says of the keys.
const CIR: &ParamSpec = &BUCKET_KEYS[0];
const CBS: &ParamSpec = &BUCKET_KEYS[1];
const WHO: &ParamSpec = &BUCKET_KEYS[2];

static TOKEN_BUCKET: Shape = Shape {
    doc: "IN as long as there are tokens, which come at cir up to cbs; what is OUT takes none.",
    tag: Some("token-bucket"),
    groups: &[&[
        need(CIR.name, Kind::Quantity, CIR.doc),
        need(CBS.name, Kind::Quantity, CBS.doc),
        may(WHO.name, Kind::Word(&[PER[0].0, PER[1].0, PER[2].0]), WHO.doc),
    ]],
    later: &[],
};

/// Reads it, for packets of `packet` bytes.
pub(crate) fn marker(node: &Node, path: &str, packet: u32) -> Result<Marker, InputError> {
    let table = Table::open(node, path, &TOKEN_BUCKET)?;
    table.word("kind", None, &[("token-bucket", ())], &[])?;
    let marker = Marker {
        cir: table.need(CIR.name, text::rate)?,
        cbs: table.need(CBS.name, text::limit)?,
        per: table.word(WHO.name, Some(Per::Host), &PER, &[])?,
    };
    if !(u64::from(packet)..=LARGEST_BURST).contains(&marker.burst(packet).0) {
        let accepts = format!("at least a packet, {packet}b, and at most {LARGEST_BURST}b");
        return Err(table.bad(CBS.name, BadValue::new(accepts)));
    }
    table.done(&TOKEN_BUCKET);
    Ok(marker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_that_the_library_explains() {
        let words: Option<Vec<_>> = WHO.words().map(Iterator::collect);
        assert_eq!(words, Some(PER.map(|(word, _)| word).to_vec()));
        assert_eq!((WHO.default)(), Per::Host.word());
    }
}
