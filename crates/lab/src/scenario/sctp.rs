//! `[[flows]]` of kind `sctp`.

use forebay_aqm::base::text::{BadValue, show_span};
use forebay_aqm::base::time::Span;

use super::error::InputError;
use super::flow_keys::{COMMON, START, WIDEST};
use super::lines::Text;
use super::model::{TcpOptions, TcpVariant};
use super::shape::{Key, Kind, Shape, may};
use super::table::Table;
use super::values::duration;

const KEYS: &[Key] = &[
    may(
        "initial_window",
        Kind::WholeOr(1, WIDEST, RFC),
        "First window in packets; default 2. rfc9260: what section 7.2.1 says.",
    ),
    may("delayed_ack", Kind::Flag, "Acknowledge every second packet only, within 200ms? Default true."),
    may("min_rto", Kind::Quantity, "Smallest retransmission timeout (RTO.Min); default 1s."),
    may("max_rto", Kind::Quantity, "Largest one, backoff included (RTO.Max), at least min_rto; default 60s."),
    may("tick", Kind::Quantity, "Granularity of the retransmission clock; default 10ms."),
    may("ack", Kind::Whole(1, 65_535), "An acknowledgement in bytes on the wire; default 48."),
    may("window", Kind::WholeOr(1, WIDEST, "unlimited"), "Receiver's window in packets; default unlimited."),
];

pub(crate) static SCTP: Shape = Shape {
    doc: "SCTP with always more to send (RFC 9260): one stream of chunks as large as the packets, one address.",
    tag: Some("sctp"),
    groups: &[COMMON, &[START], KEYS],
    later: &[],
};

const RFC: &str = "rfc9260";

/// RFC 9260 section 7.2.1: min(4 PMDCS, max(2 PMDCS, 4404 bytes)), in packets; a part of one lets it leave. The PMDCS is
/// what headers of 20 and 12 bytes leave of a packet.
fn rfc_window(packet: u32) -> u32 {
    4404u32.div_ceil(packet - 32).clamp(2, 4)
}

/// Reads the keys of SCTP, for packets of so many bytes. Defaults: RFC 9260 section 16; ns-2's window of two packets; an
/// acknowledgement is an IP header, SCTP's and a SACK chunk without blocks.
pub(crate) fn sctp(table: &Table<'_>, packet: u32) -> Result<TcpOptions, InputError> {
    let default = TcpOptions { variant: TcpVariant::SCTP, delayed_ack: true, ack: 48, ..TcpOptions::default() };
    let min_rto = table.or("min_rto", Span::from_millis(1000), duration)?;
    let max_rto = table.or("max_rto", default.max_rto.max(min_rto), duration)?;
    if max_rto < min_rto {
        return Err(table.bad("max_rto", BadValue::new("a time no shorter than min_rto")));
    }
    let initial = table.whole_or("initial_window", Some(default.initial_window), 1..=WIDEST, RFC)?;
    Ok(TcpOptions {
        initial_window: initial.unwrap_or_else(|| rfc_window(packet)),
        delayed_ack: table.flag("delayed_ack", default.delayed_ack)?,
        min_rto,
        max_rto,
        tick: table.or("tick", default.tick, duration)?,
        ack: table.whole("ack", u32::from(default.ack), 1..=65_535)? as u16,
        window: table.whole_or("window", default.window, 1..=WIDEST, "unlimited")?,
        ..default
    })
}

/// Writes them.
pub(crate) fn write_sctp(out: &mut Text, sctp: &TcpOptions) {
    out.set("initial_window", sctp.initial_window);
    out.set("delayed_ack", sctp.delayed_ack);
    out.text("min_rto", &show_span(sctp.min_rto));
    out.text("max_rto", &show_span(sctp.max_rto));
    out.text("tick", &show_span(sctp.tick));
    out.set("ack", sctp.ack);
    match sctp.window {
        Some(window) => out.set("window", window),
        None => out.text("window", "unlimited"),
    }
}

#[cfg(test)]
mod tests {
    use super::rfc_window;

    /// 4404 bytes are exactly three chunks of packets of 1500 bytes.
    #[test]
    fn the_first_window_of_the_rfc() {
        for (packet, window) in [(500, 4), (1282, 4), (1499, 4), (1500, 3), (2234, 2), (9000, 2)] {
            assert_eq!(rfc_window(packet), window, "{packet}");
        }
    }
}
