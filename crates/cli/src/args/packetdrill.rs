//! The arguments of `forebay packetdrill`.

use std::path::PathBuf;

use clap::{Args, value_parser};
use forebay_aqm::base::nearest::nearest;
use forebay_sim::tcp::{Transport, Variant};

/// Arguments of `packetdrill`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay packetdrill slow-start.pkt
  forebay packetdrill gtests/net/tcp/*/*.pkt
  forebay packetdrill --tcp newreno fr-4pkt.pkt
  forebay packetdrill --json tests/*.pkt | jq .totals

A script passes if everything agrees that was compared: packets with data, acknowledgements, and assertions about the \
sender. Handshake and end of a connection are not compared. A script that needs something else, such as partial \
segments, RST or Fast Open, gets the verdict 'cannot express'. The exit code is 0 if all scripts pass, 1 if one does \
not, 2 if one cannot be read.")]
pub(crate) struct PacketdrillArgs {
    /// Scripts of packetdrill.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Sender, as `forebay list congestion` names it (default: the one with the congestion control that the script sets,
    /// else linux if there is one, else cubic).
    #[arg(long, value_name = "NAME", value_parser = tcp)]
    pub(crate) tcp: Option<Variant>,
    /// How far a packet may be from its time, in microseconds (default: as the script says, else 4000). An eighth of the
    /// time since the event before is always allowed.
    #[arg(long = "tolerance_usecs", visible_alias = "tolerance-usecs", value_name = "N")]
    #[arg(value_parser = value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) tolerance: Option<u64>,
}

/// The sender with this name.
fn tcp(word: &str) -> Result<Variant, String> {
    let all = Variant::of(Transport::Tcp);
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let found = all.iter().find(|(name, _)| *name == word).map(|(_, variant)| *variant);
    found.ok_or_else(|| {
        let hint = nearest(word, names.iter().copied()).map(|near| format!("; did you mean {near}?"));
        format!("expected one of {}{}", names.join(", "), hint.unwrap_or_default())
    })
}
