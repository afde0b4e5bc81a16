//! `marker` of `[[flows]]`: a token bucket at the sending host that colours the packets of a group of flows IN or OUT
//! of profile.

use forebay_aqm::base::markers::{BUCKET_KEYS, LARGEST_BURST};
use forebay_aqm::base::params::ParamSpec;
use forebay_aqm::base::text::{self, BadValue, show_limit, show_rate};
use forebay_aqm::base::units::{Bytes, Limit, Rate};
use serde_json::json;

use crate::declare::{Custom, Form, Key, Keys, Quantity, Table, Words, inline, may, need, schema};
use crate::document::Text;
use crate::input::InputError;

/// A token bucket. Packets that exceed it are OUT of profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Committed information rate.
    pub cir: Rate,
    /// Committed burst size, in packets of the group or in bytes.
    pub cbs: Limit,
    /// Which flows share a bucket.
    pub per: Per,
}

/// Which flows share a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// One bucket per host, for all flows of the group that it sends.
    Host,
    /// One bucket per flow.
    Flow,
    /// One bucket per sending host and marker. It is shared by the host's flows of all groups with an equal marker.
    Edge,
}

/// Parameter of the crate `forebay-aqm` that gives the key `cir` its name and documentation.
const CIR: &ParamSpec = &BUCKET_KEYS[0];
const CBS: &ParamSpec = &BUCKET_KEYS[1];
const WHO: &ParamSpec = &BUCKET_KEYS[2];

const CIR_FORM: Quantity<Rate> = Quantity(text::rate, show_rate);
const CBS_FORM: Quantity<Limit> = Quantity(text::limit, show_limit);
const PER: Words<Per> = Words(&[("host", Per::Host), ("flow", Per::Flow), ("edge", Per::Edge)]);
const KIND: Words<()> = Words(&[("token-bucket", ())]);

impl Marker {
    /// The burst size, for packets of `packet` bytes.
    pub const fn burst(&self, packet: u32) -> Bytes {
        match self.cbs {
            Limit::Packets(n) => Bytes(n as u64 * packet as u64),
            Limit::Bytes(bytes) => Bytes(bytes),
        }
    }
}

impl Keys for Marker {
    fn keys() -> Vec<Key> {
        vec![
            need("kind", || json!({ "const": "token-bucket" }), ""),
            need(CIR.name, || CIR_FORM.schema(), CIR.doc),
            need(CBS.name, || CBS_FORM.schema(), CBS.doc),
            may(WHO.name, || PER.schema(), WHO.doc),
        ]
    }
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        table.needed("kind", &KIND)?;
        let (cir, cbs) = (table.needed(CIR.name, &CIR_FORM)?, table.needed(CBS.name, &CBS_FORM)?);
        Ok(Self { cir, cbs, per: table.given(WHO.name, &PER)?.unwrap_or(Per::Host) })
    }
    fn write(&self, out: &mut Text) {
        out.text("kind", "token-bucket");
        out.set(CIR.name, CIR_FORM.show(&self.cir));
        out.set(CBS.name, CBS_FORM.show(&self.cbs));
        out.set(WHO.name, PER.show(&self.per));
    }
}

/// The table of a token bucket.
pub(super) const TOKEN_BUCKET: Custom<Marker> = Custom {
    schema: || {
        let doc = "Packets are IN while there are tokens, which arrive at cir up to cbs; OUT packets take none.";
        schema::table(doc, Some("token-bucket"), &Marker::keys()[1..])
    },
    read: |table, node, path| Table::whole_of(node, path, table.setting),
    show: |marker| inline(marker),
    accepts: "",
};

/// Refuses a burst smaller than a packet of `packet` bytes or larger than [`LARGEST_BURST`].
pub(super) fn fits(marker: &Marker, packet: u32, group: &Table<'_>) -> Result<(), InputError> {
    if (u64::from(packet)..=LARGEST_BURST).contains(&marker.burst(packet).0) {
        return Ok(());
    }
    let Some(node) = group.get("marker") else { return Ok(()) };
    let accepts = format!("at least one packet, {packet}b, and at most {LARGEST_BURST}b");
    let bad = BadValue::new(accepts);
    Err(Table::bare(node, &group.path_of("marker"), group.setting)?.bad(CBS.name, bad))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_bucket_parameters_are_those_of_aqm_crate() {
        let words: Option<Vec<_>> = WHO.words().map(Iterator::collect);
        assert_eq!(words, Some(PER.0.iter().map(|(word, _)| *word).collect()));
        assert_eq!((WHO.default)(), PER.word(Per::Host));
    }
}
