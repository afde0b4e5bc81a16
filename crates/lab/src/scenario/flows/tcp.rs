//! Flows over TCP or SCTP that always have data to send, and the keys of a connection.

use forebay_aqm::base::text::{BadValue, show_span};
use forebay_aqm::base::time::Span;
use forebay_sim::app::{Files, Opening, Work};
use forebay_sim::network::Traffic;
use forebay_sim::tcp::congestion::EcnUse;
use forebay_sim::tcp::{AccEcn, Recovery, Stack, TcpOptions, Transport, Variant};

use super::cbr::PACKET;
use super::ecn::{ECN, Ect, ecn};
use super::files::HANDSHAKE;
use super::group::START;
use super::rtp::within;
use super::{Arrivals, Part, Source};
use crate::declare::{
    Custom, DURATION, Flag, Form, Key, Keys, Number, PER_SECOND, Parsed, Quantity, TIMES, Table, Uniform, WholeOr,
    Words, duration, names, quantity, schema, table, whole_number,
};
use crate::document::{Node, Text, Value, quote};
use crate::input::{InputError, no_such_word};

/// Largest window in packets.
const WIDEST: u32 = 1_000_000;

table! {
    impl TcpOptions [..Self::default()] {
        /// Congestion control; default newreno.
        variant as "tcp": Variant = CONTROL, or Variant::default();
        /// Loss recovery, timers, window growth and acknowledgements: rfc or linux. linux also changes the defaults of other
        /// keys to those of Linux. Default linux for the controls linux, l4s-linux and bbr3, which need it, else rfc.
        stack: Option<Stack> = STACK, optional;
        /// Congestion control on a real kernel (--on linux, --on kernel), such as vegas or westwood, by the kernel's name.
        /// The simulator uses that of tcp. Default: that of tcp.
        kernel_tcp: Option<&'static str> = KERNEL_TCP, optional;
        /// For dctcp: send ECT(1), the codepoint of L4S (RFC 9331), in place of ECT(0). Default false.
        l4s: bool = Flag, or false => |tcp: &Self| tcp.variant.profile().is_scalable;
        /// Accurate feedback of marks (RFC 9768): false, true, or field for the field ACE without the AccECN option.
        /// Default false; prague requires it.
        accecn: AccEcn = ACCECN, or AccEcn::Off => |tcp: &Self| tcp.accecn != AccEcn::Off;
        /// Whether retransmissions are ECN-capable if data is. Default false (RFC 3168); true with accecn and for dctcp, prague
        /// and l4s-linux, as in Linux. ns-2 has true.
        ect_retransmissions: Option<bool> = Flag, optional;
        /// Whether acknowledgements without data are ECN-capable if data is. Default false (RFC 3168); true with stack linux for
        /// dctcp, prague and l4s-linux, and with accecn, as in Linux.
        ect_acks: Option<bool> = Flag, optional;
        /// Initial window in packets; default 2, with stack linux 10.
        initial_window: u32 = whole_number::<u32>(1, WIDEST), or_else |table| Ok(of_stack(table)?.initial_window);
        /// Whether to delay acknowledgements: one for every second packet, or after 100ms. With stack linux the receiver delays
        /// them as Linux does: it acknowledges the first packets of a connection at once. Default false, with stack linux true.
        delayed_ack: bool = Flag, or_else |table| Ok(of_stack(table)?.delayed_ack);
        /// Retransmission timeout before the first measurement, at most max_rto; default 3s, with stack linux 1s.
        initial_rto: Option<Span> = DURATION, optional;
        /// Smallest retransmission timeout; with stack linux of its part that comes from the variation. Default 200ms.
        min_rto: Span = DURATION, or Self::default().min_rto;
        /// Largest retransmission timeout, backoff included, at least min_rto; default 60s, with stack linux 120s.
        max_rto: Span = DURATION, or_else |table| least_max(table, of_stack(table)?.max_rto);
        /// Granularity of the retransmission timer; default 10ms. With stack linux it is exact.
        tick: Span = DURATION, or Self::default().tick;
        /// Size of an acknowledgement in bytes on the wire; default 40.
        ack: u16 = whole_number::<u16>(1, 65_535), or Self::default().ack;
        /// Receiver's window in packets; default unlimited.
        window: Option<u32> = WINDOW, or None;
        /// Whether to send a new packet for each of the first two duplicate ACKs; default true. Linux always does.
        limited_transmit: bool = Flag, or true;
        /// Whether to spread packets over the round trip, as Linux does; default false. bbr always does.
        pacing: bool = Flag, or false;
        /// For prague: a flow with a shorter round trip grows, reduces and averages as if it had this one; 1us: by its own
        /// round trip. Default 25ms.
        virtual_rtt: Span = DURATION, or Self::default().virtual_rtt
            => |tcp: &Self| tcp.virtual_rtt != Self::default().virtual_rtt;
        /// For prague: control the rate at windows of up to four packets, so that less than two packets are sent per round trip;
        /// default false.
        low_rate: bool = Flag, or false => |tcp: &Self| tcp.low_rate;
        /// For ledbat: the queueing delay to cause (TARGET of RFC 6817), 1ms to 100ms. Default 100ms.
        target: Span = Quantity(target_delay, show_span), or Self::default().target => |tcp: &Self| tcp.target != Self::default().target;
        /// For ledbat: packets per round trip by which the window grows without queueing delay (GAIN). RFC 6817 allows at most
        /// 1, RFC 7928 section 5.4 has 10. Default 1.
        gain: f64 = Number(|words| within(words, 0.01..=100.0, "a number from 0.01 to 100")), or Self::default().gain
            => |tcp: &Self| tcp.gain != Self::default().gain;
        /// The part of the window that a mark leaves (ABE, RFC 8511), for a sender that reacts to marks as to losses. The RFC
        /// has 0.8 for Reno's window and 0.85 for cubic's. Needs ecn. Default: as much as a loss leaves.
        ecn_beta: Option<f64> = Number(|words| within(words, 0.5..=0.99, "a share from 0.5 to 0.99")), optional;
        /// Appropriate byte counting (RFC 3465) with this limit L in packets; the RFC has 1 and 2. For tahoe, reno, newreno and
        /// sack. Default: the window grows once per acknowledgement. With stack linux it always grows by packets.
        byte_counting: Option<u32> = whole_number::<u32>(1, 1000), optional;
        /// The first slow start: hystart++ (RFC 9406), or that of the control. Default control.
        hystart as "slow_start": bool = SLOW_START, or false => |tcp: &Self| tcp.hystart;
        /// When an unused window grows or shrinks: rfc7661, or by the rule of the stack. Default stack.
        pipe_ack as "window_validation": bool = VALIDATION, or false => |tcp: &Self| tcp.pipe_ack;
    }
    finish sound;
}

const WINDOW: WholeOr = WholeOr(1, WIDEST, "unlimited");

const ACCECN: Custom<AccEcn> = Custom {
    schema: || schema::flag_or(&["field"]),
    read: |_, node, path| match (&node.value, node.text()) {
        (Value::Flag(on), _) => Ok(if *on { AccEcn::Option } else { AccEcn::Off }),
        (_, Some("field")) => Ok(AccEcn::Field),
        _ => Err(node.error(path, "true, false or \"field\"")),
    },
    show: |accecn| match accecn {
        AccEcn::Off => "false".to_string(),
        AccEcn::Field => quote("field"),
        AccEcn::Option => "true".to_string(),
    },
    accepts: "",
};

/// LEDBAT's queueing delay; RFC 6817 section 2.5 allows at most 100 ms.
fn target_delay(words: &str) -> Parsed<Span> {
    match duration(words)? {
        target if (Span::from_millis(1)..=Span::from_millis(100)).contains(&target) => Ok(target),
        _ => Err(BadValue::new("a time from 1ms to 100ms")),
    }
}

/// The congestion controls of Linux 6.12.
const KERNEL_TCP: Words<&str> = Words(&[
    ("bbr", "bbr"),
    ("bic", "bic"),
    ("cdg", "cdg"),
    ("cubic", "cubic"),
    ("dctcp", "dctcp"),
    ("highspeed", "highspeed"),
    ("htcp", "htcp"),
    ("hybla", "hybla"),
    ("illinois", "illinois"),
    ("lp", "lp"),
    ("nv", "nv"),
    ("reno", "reno"),
    ("scalable", "scalable"),
    ("vegas", "vegas"),
    ("veno", "veno"),
    ("westwood", "westwood"),
    ("yeah", "yeah"),
]);
const SLOW_START: Words<bool> = Words(&[("control", false), ("hystart++", true)]);
const VALIDATION: Words<bool> = Words(&[("stack", false), ("rfc7661", true)]);
const STACK: Words<Stack> = Words(&[("rfc", Stack::Rfc), ("linux", Stack::Linux)]);

/// The options of the control and stack that the table names, without its other keys.
fn of_stack(table: &Table<'_>) -> Result<TcpOptions, InputError> {
    Ok(TcpOptions::of(table.given("tcp", &CONTROL)?.unwrap_or_default(), table.given("stack", &STACK)?))
}

/// Default of `max_rto`: `most`, or `min_rto` if that is longer.
fn least_max(table: &Table<'_>, most: Span) -> Result<Span, InputError> {
    Ok(table.given("min_rto", &DURATION)?.map_or(most, |min| most.max(min)))
}

fn in_order(min_rto: Span, max_rto: Span, table: &Table<'_>) -> Result<(), InputError> {
    if max_rto >= min_rto { Ok(()) } else { Err(table.bad("max_rto", BadValue::new("a time of at least min_rto"))) }
}

fn sound(tcp: TcpOptions, table: &Table<'_>) -> Result<TcpOptions, InputError> {
    fits_its_control(&tcp, table)?;
    in_order(tcp.min_rto, tcp.max_rto, table)?;
    if tcp.initial_rto.is_some_and(|first| first > tcp.max_rto) {
        return Err(table.bad("initial_rto", BadValue::new("a time of at most max_rto")));
    }
    if tcp.l4s && !tcp.variant.profile().is_scalable {
        let known = Variant::of(Transport::Tcp).into_iter().filter(|(_, variant)| variant.profile().is_scalable);
        let scalable = known.map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ");
        return Err(table.bad("l4s", BadValue::new(format!("false, or tcp = {scalable}"))));
    }
    if tcp.virtual_rtt != TcpOptions::default().virtual_rtt && !is_prague(&tcp) {
        return Err(table.bad("virtual_rtt", BadValue::new("no virtual_rtt, or tcp = \"prague\" or \"l4s-linux\"")));
    }
    amendments(&tcp, table)?;
    if tcp.accecn != AccEcn::Off && !tcp.is_selective() {
        let known =
            Variant::of(Transport::Tcp).into_iter().filter(|(_, variant)| variant.profile().recovery.is_selective());
        let words = known.map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        return Err(
            table.bad("accecn", BadValue::new(format!("false, or a sender with selective acknowledgements: {words}")))
        );
    }
    Ok(tcp)
}

/// Refuses a stack, ECN or accurate feedback that the congestion control cannot have.
fn fits_its_control(tcp: &TcpOptions, table: &Table<'_>) -> Result<(), InputError> {
    let (profile, word) = (tcp.variant.profile(), tcp.variant.name());
    let refused = |key, accepted: String| Err(table.bad(key, BadValue::new(accepted)));
    if profile.stack == Stack::Linux && tcp.stack() == Stack::Rfc {
        return refused("stack", format!("\"linux\", which {word} needs"));
    }
    if profile.transport == Transport::Tcp && profile.ecn == EcnUse::Never {
        if ecn(table)? != Ect::Off {
            return refused("ecn", format!("false: {word} does not use ECN"));
        }
        if tcp.accecn != AccEcn::Off {
            return refused("accecn", format!("false: {word} does not use ECN"));
        }
    }
    if profile.reports_delay {
        if tcp.stack() == Stack::Linux {
            return refused(
                "stack",
                format!("\"rfc\": {word} needs the one-way delay, which that stack does not report"),
            );
        }
        if tcp.accecn != AccEcn::Off {
            return refused("accecn", format!("false: {word} needs acknowledgements with the one-way delay instead"));
        }
    } else {
        let other = TcpOptions::default();
        let given = [("target", tcp.target != other.target), ("gain", tcp.gain != other.gain)];
        if let Some((key, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
            return refused(key, format!("no {key}, or tcp = \"ledbat\""));
        }
    }
    if is_prague(tcp) && table.given("accecn", &ACCECN)? == Some(AccEcn::Off) {
        return refused("accecn", format!("no accecn, true or \"field\": {word} requires it"));
    }
    Ok(())
}

/// Checks the keys of rules that amend a congestion control.
fn amendments(tcp: &TcpOptions, table: &Table<'_>) -> Result<(), InputError> {
    let profile = tcp.variant.profile();
    let fits = profile.ecn == EcnUse::OnRequest && profile.mark_is_loss && !profile.owns_window;
    if tcp.ecn_beta.is_some() && !fits {
        return Err(table.bad("ecn_beta", BadValue::new("no ecn_beta, or a sender that reacts to marks as to losses")));
    }
    if tcp.ecn_beta.is_some() && ecn(table)? == Ect::Off {
        return Err(table.bad("ecn_beta", BadValue::new("no ecn_beta, or ecn = true")));
    }
    if tcp.low_rate && !is_prague(tcp) {
        return Err(table.bad("low_rate", BadValue::new("false, or tcp = \"prague\" or \"l4s-linux\"")));
    }
    if tcp.byte_counting.is_some() && tcp.stack() == Stack::Linux {
        return Err(table.bad("byte_counting", BadValue::new("no byte_counting, or stack = \"rfc\"")));
    }
    if tcp.byte_counting.is_some() && !profile.is_aimd {
        let wanted = "no byte_counting, or tcp = \"tahoe\", \"reno\", \"newreno\" or \"sack\"";
        return Err(table.bad("byte_counting", BadValue::new(wanted)));
    }
    // A control that paces or sets its window has its own slow start, and no use for a rule about an unused window.
    let has_window = !profile.owns_window && !profile.paces;
    if tcp.hystart && !has_window {
        return Err(table.bad("slow_start", BadValue::new("\"control\", or a sender with the slow start of RFC 5681")));
    }
    if tcp.pipe_ack && !(has_window && profile.recovery != Recovery::GoBackN) {
        let wanted = "\"stack\", or a sender with the slow start and the fast recovery of RFC 5681";
        return Err(table.bad("window_validation", BadValue::new(wanted)));
    }
    Ok(())
}

fn is_prague(tcp: &TcpOptions) -> bool {
    tcp.variant == Variant::PRAGUE || tcp.variant == Variant::L4SLINUX
}

/// The value of the key `tcp`: the name of a congestion control.
const CONTROL: Custom<Variant> = Custom {
    schema: || {
        let tcps = Variant::WORDS.iter().filter(|(_, variant)| variant.profile().transport == Transport::Tcp);
        schema::word(&tcps.map(|(word, _)| *word).collect::<Vec<_>>())
    },
    read: |_, node, path| control(node, path),
    show: |variant| quote(variant.word()),
    accepts: "",
};

/// Reads the name of a congestion control. That of a registered one can have a version, which must be the current one.
fn control(node: &Node, path: &str) -> Result<Variant, InputError> {
    let choices = Variant::of(Transport::Tcp);
    quantity(node, path, |word| {
        let name = word.split_once('#').map_or(word, |(name, _)| name);
        let known = choices.iter().find(|(choice, _)| *choice == name).map(|(_, variant)| *variant);
        match known {
            Some(variant) if name == word || variant.word() == word => Ok(variant),
            Some(variant) => {
                Err(BadValue::new(format!("\"{}\": the code of {name} has changed since", variant.word())))
            }
            None => Err(no_such_word(word, &choices.iter().map(|(word, _)| *word).collect::<Vec<_>>())),
        }
    })
}

/// The key `transport`, and the keys of TCP. The keys of TCP are an error unless `transport = "tcp"`.
impl Keys for Option<TcpOptions> {
    fn keys() -> Vec<Key> {
        TcpOptions::keys()
    }
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        if table.word("transport", Some(false), &[("udp", false), ("tcp", true)])? {
            return TcpOptions::read(table).map(Some);
        }
        match names(&TcpOptions::keys()).into_iter().find(|key| table.get(key).is_some()) {
            Some(key) => Err(table.bad(key, BadValue::new(format!("no {key}, or transport = \"tcp\"")))),
            None => Ok(None),
        }
    }
    fn write(&self, out: &mut Text) {
        out.text("transport", if self.is_some() { "tcp" } else { "udp" });
        if let Some(tcp) = self {
            tcp.write(out);
        }
    }
}

table! {
    /// TCP that always has data to send.
    pub struct Ftp {
        + START;
        /// How the connection begins: false (established), true (SYN handshake) or "ns2" (as ns-2's Agent/TCP: the
        /// sender sends a SYN, and only it retransmits the SYN). Default false.
        handshake: Opening = HANDSHAKE, or Opening::Established;
        /// Packet size in bytes on the wire; default the scenario's packet.
        packet: Option<u32> = PACKET, optional;
        + ECN;
        /// The keys of the scenario file that set the flows' TCP options.
        ..tcp: TcpOptions;
    }
}

impl Source for Ftp {
    fn tcp(&self) -> Option<TcpOptions> {
        Some(self.tcp)
    }
    fn packet(&self, default: u32) -> u32 {
        self.packet.unwrap_or(default)
    }
    fn parts(&self, ecn: bool) -> Vec<Part> {
        let tcp = TcpOptions { ecn, ..self.tcp };
        Part::only(match self.handshake {
            Opening::Established => Traffic::Tcp(tcp),
            opening => Traffic::Application(tcp, Work::Files(Files { opening, ..Files::ENDLESS })),
        })
    }
}

table! {
    /// TCP flows that arrive at random, send greedily for their lifetime and leave.
    pub struct ShortTcp {
        /// New flows per second (Poisson), such as 10/s; at most 1000000 flows in all.
        arrivals: f64 = PER_SECOND;
        /// Lifetime of a flow.
        lifetime: Uniform = TIMES;
        /// Packet size in bytes on the wire; default the scenario's packet.
        packet: Option<u32> = PACKET, optional;
        + ECN;
        /// The keys of the scenario file that set the flows' TCP options.
        ..tcp: TcpOptions;
    }
    finish |short: ShortTcp, table: &Table<'_>| match short.lifetime.hi {
        Span::ZERO => Err(table.bad("lifetime", BadValue::new("a time above 0"))),
        _ => Ok(short),
    };
}

impl Source for ShortTcp {
    fn tcp(&self) -> Option<TcpOptions> {
        Some(self.tcp)
    }
    fn arrivals(&self) -> Option<Arrivals> {
        Some(Arrivals { rate: self.arrivals, lifetime: self.lifetime })
    }
    fn packet(&self, default: u32) -> u32 {
        self.packet.unwrap_or(default)
    }
    fn parts(&self, ecn: bool) -> Vec<Part> {
        Part::only(Traffic::Tcp(TcpOptions { ecn, ..self.tcp }))
    }
}

table! {
    /// SCTP that always has data to send (RFC 9260): one stream of chunks as large as the packets, one
    /// address.
    pub struct Sctp {
        + START;
        /// Initial window in packets, or rfc9260 for the window of RFC 9260 section 7.2.1; default 2.
        initial_window: u32 = FIRST_WINDOW, or TcpOptions::default().initial_window;
        /// Whether to acknowledge only every second packet, within 200ms; default true.
        delayed_ack: bool = Flag, or true;
        /// Smallest retransmission timeout (RTO.Min); default 1s.
        min_rto: Span = DURATION, or RTO_MIN;
        /// Largest retransmission timeout, backoff included (RTO.Max), at least min_rto; default 60s.
        max_rto: Span = DURATION, or_else |table| least_max(table, TcpOptions::default().max_rto);
        /// Granularity of the retransmission timer; default 10ms.
        tick: Span = DURATION, or TcpOptions::default().tick;
        /// Size of an acknowledgement in bytes on the wire; default 48.
        ack: u16 = whole_number::<u16>(1, 65_535), or SACK;
        /// Receiver's window in packets; default unlimited.
        window: Option<u32> = WINDOW, or None;
    }
    finish |sctp: Sctp, table: &Table<'_>| in_order(sctp.min_rto, sctp.max_rto, table).map(|()| sctp);
}

/// RTO.Min of RFC 9260 section 16.
const RTO_MIN: Span = Span::from_millis(1000);
/// Size of a SACK: IP header, SCTP header and a SACK chunk without blocks.
const SACK: u16 = 48;

impl Source for Sctp {
    fn tcp(&self) -> Option<TcpOptions> {
        let Self { initial_window, delayed_ack, min_rto, max_rto, tick, ack, window } = *self;
        let variant = Transport::Sctp.control();
        let default = TcpOptions::default();
        Some(TcpOptions { variant, initial_window, delayed_ack, min_rto, max_rto, tick, ack, window, ..default })
    }
    fn parts(&self, ecn: bool) -> Vec<Part> {
        self.tcp().map_or_else(Vec::new, |sctp| Part::only(Traffic::Tcp(TcpOptions { ecn, ..sctp })))
    }
}

/// Initial window of SCTP: a number of packets, or `rfc9260`.
const FIRST_WINDOW: Custom<u32> = Custom {
    schema: || RFC_WINDOW.schema(),
    read: |table, node, path| {
        Ok(RFC_WINDOW.read(table, node, path)?.unwrap_or_else(|| rfc_window(table.setting.packet)))
    },
    show: |window| window.to_string(),
    accepts: "",
};
const RFC_WINDOW: WholeOr = WholeOr(1, WIDEST, "rfc9260");

/// Initial window of RFC 9260 section 7.2.1 in packets: min(4 PMDCS, max(2 PMDCS, 4404 bytes)). The PMDCS (path maximum
/// DATA chunk size) is the packet size less headers of 20 and 12 bytes. The result is rounded up, because the last
/// packet may be partly filled.
fn rfc_window(packet: u32) -> u32 {
    4404u32.div_ceil(packet - 32).clamp(2, 4)
}

#[cfg(test)]
mod tests {
    use super::rfc_window;

    /// 4404 bytes are exactly three chunks of 1500-byte packets.
    #[test]
    fn sctp_initial_window_follows_rfc9260() {
        for (packet, window) in [(500, 4), (1282, 4), (1499, 4), (1500, 3), (2234, 2), (9000, 2)] {
            assert_eq!(rfc_window(packet), window, "{packet}");
        }
    }
}
