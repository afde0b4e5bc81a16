//! One readable trace per discipline and per marker, so that a change of behaviour is visible as a diff.
//!
//! `FOREBAY_BLESS=1` writes the files in `golden/` instead of comparing them; `FOREBAY_ONLY=red` does
//! so only for `red`.

use std::fmt::Write;
use std::path::PathBuf;

use forebay_aqm::base::host::Queue;
use forebay_aqm::base::markers::{MARKERS, MarkerEntry};
use forebay_aqm::base::packet::{Colour, Ecn, Packet, Proto};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::base::verdict::Reason;
use forebay_aqm::parts::token_bucket::TokenBucket;
use forebay_aqm::{AnyDiscipline, ENTRIES, Spec};

/// 4 Mb/s of 1000-byte packets: one packet takes 2 ms.
const LINK: Link = Link { rate: Rate(4_000_000), limit: Limit::Packets(160), mean_packet: Bytes(1000) };
/// Phases of arrivals: end in ms, load relative to the link's rate, and packets per burst.
const PHASES: &[(u64, f64, u64)] = &[
    (1_000, 0.8, 1),
    (1_400, 1.2, 60), // bursts
    (3_000, 1.3, 1),
    (5_000, 0.0, 0), // idle
    (7_000, 3.0, 4), // overload
    (8_000, 0.5, 1),
];
/// The trace shows one in this number of packets, at arrival and departure.
const FOLLOWED: u32 = 97;
/// Number of signals shown per second.
const SIGNALS_A_SECOND: usize = 5;
const LINES: usize = 150;
/// The threshold marker: above half of the buffer, from 2 s on above a quarter, and from 6 s on above 95 %.
const THRESHOLD: &str = "droptail th=0.5/2s:0.25/6s:0.95";
/// The token bucket: only the last phase is within its rate, and its burst is half of the first bursts of 60 packets.
const PROFILE: (Rate, Bytes) = (Rate(3_000_000), Bytes(30_000));

struct Trace {
    queue: Queue<AnyDiscipline>,
    spec: Spec,
    text: String,
    second: u64,
    signals: usize,
    print: u64,
}

impl Trace {
    fn line(&mut self, now: Instant, event: &str, packet: &Packet, fate: &str) {
        let time = now.nanos() as f64 * 1e-6;
        let queue = self.queue.port.pkts();
        let _ = write!(self.text, "{time:9.3}  {event:6}  {:5}  {fate:8}  {queue:3}", packet.slot);
        for i in 0..self.spec.entry().probes.len().min(3) {
            let value = self.queue.discipline().probe(i);
            let _ = write!(self.text, "  {:>10}", rounded(value));
        }
        self.text.push('\n');
    }

    fn note(&mut self, packet: &Packet, word: u64) {
        let word = u64::from(packet.slot) << 8 | u64::from(packet.ecn == Ecn::Ce) << 4 | word;
        self.print = noted(self.print, word);
    }

    /// Whether to show this event: the first few signals of each second, and every `FOLLOWED`th packet.
    fn shows(&mut self, now: Instant, packet: &Packet, signalled: bool) -> bool {
        let second = now.nanos() / 1_000_000_000;
        if second != self.second {
            (self.second, self.signals) = (second, 0);
        }
        self.signals += usize::from(signalled);
        packet.slot.is_multiple_of(FOLLOWED) || (signalled && self.signals <= SIGNALS_A_SECOND)
    }

    fn arrive(&mut self, packet: Packet, now: Instant) {
        let before = self.queue.port.tally();
        self.queue.arrive(packet, now);
        let marked = self.queue.port.tally().since(&before).marked.pkts > 0;
        let own = self.queue.port.discarded().iter().find(|(dropped, _)| dropped.slot == packet.slot).map(|d| d.1);
        let fate = match own {
            Some(Reason::Early | Reason::Marker) => "early",
            Some(Reason::Overflow) => "overflow",
            None if marked => "marked",
            None => "queued",
        };
        self.note(&packet, fate.len() as u64);
        if self.shows(now, &packet, fate != "queued") {
            self.line(now, "arrive", &packet, fate);
        }
        self.queue.port.discarded().clear();
    }

    fn depart(&mut self, now: Instant) -> bool {
        let before = self.queue.port.tally();
        let packet = self.queue.depart(now);
        let marked = self.queue.port.tally().since(&before).marked.pkts > 0;
        for (dropped, _) in std::mem::take(self.queue.port.discarded()) {
            self.note(&dropped, 1);
            if self.shows(now, &dropped, true) {
                self.line(now, "depart", &dropped, "early");
            }
        }
        let Some(packet) = packet else { return false };
        self.note(&packet, 2);
        if self.shows(now, &packet, marked) {
            self.line(now, "depart", &packet, if marked { "marked" } else { "sent" });
        }
        true
    }

    fn tick(&mut self, until: Instant) {
        while let Some(due) = self.queue.next_tick().filter(|due| *due <= until) {
            self.queue.tick(due);
        }
    }
}

/// Start value of the fingerprint.
const NOTHING: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a over the events.
const fn noted(print: u64, word: u64) -> u64 {
    (print ^ word).wrapping_mul(0x0000_0100_0000_01b3)
}

/// About four significant digits; whole numbers are unchanged.
fn rounded(x: f64) -> String {
    match x.abs() {
        a if a >= 1000.0 || x == x.round() => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.2}"),
        a if a >= 0.01 => format!("{x:.4}"),
        _ => format!("{x:.3e}"),
    }
}

/// Times and packets of `PHASES`: 16 flows in 4 pairs and 10 classes. Every fourth flow is ECT, one flow is UDP, and
/// the first eight flows are IN.
fn arrivals() -> Vec<(Instant, Packet)> {
    let (mut out, mut rng, mut now) = (Vec::new(), Rng::stream(1, "arrivals"), Instant::ZERO);
    for &(until, load, group) in PHASES {
        let until = Instant::ZERO + Span::from_millis(until);
        while now < until && load > 0.0 {
            for _ in 0..group {
                let (slot, flow) = (out.len() as u32, rng.below(16) as u32);
                let ecn = if flow % 4 == 3 { Ecn::Ect0 } else { Ecn::NotEct };
                let proto = if flow == 0 { Proto::Udp } else { Proto::Tcp };
                let (class, colour) = ((flow % 10) as u8, if flow < 8 { Colour::In } else { Colour::Out });
                out.push((
                    now,
                    Packet { slot, len: 1000, flow, pair: flow / 4, class, ecn, colour, proto, ..Packet::default() },
                ));
            }
            now += Span::from_secs(rng.exponential(0.002 * group as f64 / load));
        }
        now = now.max(until);
    }
    out
}

fn trace(name: &str) -> String {
    let spec = Spec::parse(name).unwrap();
    let queue = spec.queue(LINK, Rng::stream(1, "queue"));
    let mut t = Trace { queue, text: String::new(), second: 0, signals: 0, print: NOTHING, spec };
    let probes: Vec<_> = t.spec.entry().probes.iter().take(3).map(|p| format!("  {:>10}", p.name)).collect();
    t.text = format!("# {}\n#    ms    event   packet fate      queue{}\n", t.spec.canonical(), probes.concat());
    let service = LINK.rate.time_for(1000);
    // The link dequeues when a transmission ends; an idle link dequeues when a packet arrives.
    let (mut free, mut idle) = (Instant::ZERO, true);
    for (now, packet) in arrivals() {
        while !idle && free <= now {
            t.tick(free);
            idle = !t.depart(free);
            free += service;
        }
        t.tick(now);
        t.arrive(packet, now);
        if idle {
            idle = !t.depart(now);
            free = now + service;
        }
    }
    while !idle {
        t.tick(free);
        idle = !t.depart(free);
        free += service;
    }
    let tally = t.queue.port.tally();
    let counts = [tally.offered, tally.departed, tally.dropped_early, tally.dropped_overflow, tally.marked];
    let [offered, departed, early, overflow, marked] = counts.map(|count| count.pkts);
    let print = t.print;
    let _ =
        writeln!(t.text, "# offered {offered} departed {departed} early {early} overflow {overflow} marked {marked}");
    let _ = writeln!(t.text, "# fingerprint {print:016x}");
    t.text
}

/// The trace of the token bucket, with the same packets, except that those of flow 5 are short. It shows the first
/// changes of colour in each second, and every `FOLLOWED`th packet.
fn colours() -> String {
    let (cir, cbs) = PROFILE;
    let mut bucket = TokenBucket::new(cir, cbs);
    let mut text =
        format!("# token-bucket cir={}bit cbs={}b\n#    ms    packet  bytes  colour   tokens\n", cir.0, cbs.0);
    let (mut second, mut changes, mut last, mut print) = (0, 0, Colour::In, NOTHING);
    let mut counts = [0_u64; 2];
    for (now, packet) in arrivals() {
        let len = if packet.flow == 5 { 40 } else { packet.len };
        let colour = bucket.colour(len, now);
        let is_out = colour == Colour::Out;
        counts[usize::from(is_out)] += u64::from(len);
        print = noted(noted(print, u64::from(packet.slot) << 8 | u64::from(is_out)), bucket.level().to_bits());
        if second != now.nanos() / 1_000_000_000 {
            (second, changes) = (now.nanos() / 1_000_000_000, 0);
        }
        let changed = colour != last;
        changes += usize::from(changed);
        last = colour;
        if packet.slot.is_multiple_of(FOLLOWED) || (changed && changes <= 2 * SIGNALS_A_SECOND) {
            let (time, word) = (now.nanos() as f64 * 1e-6, if is_out { "OUT" } else { "IN" });
            let _ = writeln!(text, "{time:9.3}  {:6}  {len:5}  {word:6}  {:>7}", packet.slot, rounded(bucket.level()));
        }
    }
    let _ = writeln!(text, "# bytes IN {} OUT {}\n# fingerprint {print:016x}", counts[0], counts[1]);
    text
}

/// The trace of a marker; the format depends on the marker.
fn trace_of(marker: &MarkerEntry) -> String {
    match marker.name {
        "th" => trace(THRESHOLD),
        "token-bucket" => colours(),
        other => panic!("{other} has no trace"),
    }
}

#[test]
fn traces_match_the_golden_files() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden");
    let bless = std::env::var_os("FOREBAY_BLESS").is_some_and(|value| value == "1");
    let only = std::env::var("FOREBAY_ONLY").ok();
    let asked = |name: &str| only.as_ref().is_none_or(|only| only == name);
    let disciplines = ENTRIES.iter().filter(|entry| asked(entry.name)).map(|entry| (entry.name, trace(entry.name)));
    let markers = MARKERS.iter().filter(|marker| asked(marker.rule())).map(|marker| (marker.rule(), trace_of(marker)));
    for (name, new) in disciplines.chain(markers) {
        let path = folder.join(format!("{name}.txt"));
        assert!(new.lines().count() <= LINES, "{name}: {} lines", new.lines().count());
        if bless {
            std::fs::write(&path, new).unwrap();
            continue;
        }
        let old = std::fs::read_to_string(&path)
            .unwrap_or_else(|e| panic!("{}: {e}; FOREBAY_BLESS=1 writes it", path.display()));
        if let Some((n, (was, is))) = old.lines().zip(new.lines()).enumerate().find(|(_, (was, is))| was != is) {
            panic!("{} differs in line {}:\n was {was}\n is  {is}\nFOREBAY_BLESS=1 rewrites it", path.display(), n + 1);
        }
        assert_eq!(old.lines().count(), new.lines().count(), "{} has another number of lines", path.display());
    }
}
