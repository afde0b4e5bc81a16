//! Arguments in scripts, which test one end of a TCP connection: times, packet numbers, options.

use forebay_aqm::base::text;
use forebay_aqm::base::time::Span;
use forebay_sim::tcp::reports::Block;
use forebay_sim::tcp::{AccEcn, Stack, TcpOptions, Variant};

pub(crate) fn span(word: &str) -> Result<Span, String> {
    text::span(word).map_err(|_| format!("not a time: {word}"))
}

pub(crate) fn number(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("not a packet number or count: {word}"))
}

/// Reads `7` or `7-9`.
pub(crate) fn range(word: &str) -> Result<Block, String> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Ok(Block { start: number(first)?, end: number(last)? + 1 })
}

/// Writes a range as [`range`] reads it.
pub(crate) fn show_range(block: Block) -> String {
    if block.end - block.start == 1 { block.start.to_string() } else { format!("{}-{}", block.start, block.end - 1) }
}

/// Splits `KEY=VALUE`.
pub(crate) fn setting(word: &str) -> Result<(&str, &str), String> {
    word.split_once('=').ok_or_else(|| format!("neither an option nor a word known here: {word}"))
}

fn flag(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("neither on nor off: {value}")),
    }
}

fn accecn(value: &str) -> Result<AccEcn, String> {
    match value {
        "off" => Ok(AccEcn::Off),
        "field" => Ok(AccEcn::Field),
        "option" => Ok(AccEcn::Option),
        _ => Err(format!("neither off, field nor option: {value}")),
    }
}

fn stack(value: &str) -> Result<Stack, String> {
    match value {
        "rfc" => Ok(Stack::Rfc),
        "linux" => Ok(Stack::Linux),
        _ => Err(format!("neither rfc nor linux: {value}")),
    }
}

/// Reads the congestion control and options of `sender` and `receiver`.
pub(crate) fn options(words: &[&str]) -> Result<TcpOptions, String> {
    let (&variant, settings) = words.split_first().ok_or("which TCP?")?;
    let variant = Variant::parse(variant).ok_or_else(|| format!("no such TCP: {variant}"))?;
    let mut options = TcpOptions { variant, limited_transmit: false, ..TcpOptions::default() };
    for word in settings {
        let (key, value) = setting(word)?;
        match key {
            "stack" => options.stack = Some(stack(value)?),
            "initial_rto" => options.initial_rto = Some(span(value)?),
            "initial_window" => options.initial_window = number(value)?,
            "window" => options.window = Some(number(value)?),
            "delayed_ack" => options.delayed_ack = flag(value)?,
            "limited_transmit" => options.limited_transmit = flag(value)?,
            "min_rto" => options.min_rto = span(value)?,
            "max_rto" => options.max_rto = span(value)?,
            "tick" => options.tick = span(value)?,
            "ecn" => options.ecn = flag(value)?,
            "ect_retransmissions" => options.ect_retransmissions = Some(flag(value)?),
            "accecn" => options.accecn = accecn(value)?,
            "pacing" => options.pacing = flag(value)?,
            "idle_restart" => options.idle_restart = flag(value)?,
            "ecn_beta" => options.ecn_beta = Some(value.parse().map_err(|_| format!("not a number: {value}"))?),
            "byte_counting" => options.byte_counting = Some(number(value)?),
            "hystart" => options.hystart = flag(value)?,
            "pipe_ack" => options.pipe_ack = flag(value)?,
            "target" => options.target = span(value)?,
            "gain" => options.gain = value.parse().map_err(|_| format!("not a number: {value}"))?,
            "low_rate" => options.low_rate = flag(value)?,
            "virtual_rtt" => options.virtual_rtt = span(value)?,
            "l4s" => options.l4s = flag(value)?,
            "ns2_cwr" => options.ns2.cwr = flag(value)?,
            "ns2_sack1" => options.ns2.sack1 = flag(value)?,
            _ => return Err(format!("no such option: {key}")),
        }
    }
    Ok(options)
}
