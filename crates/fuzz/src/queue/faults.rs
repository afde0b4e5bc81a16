//! A queue with one of several faults, and a test that the record of its packets (the history) reveals each fault.

use forebay_aqm::base::adapters::Fifo;
use forebay_aqm::base::prelude::*;

use super::*;

struct Accepting;
impl Aqm for Accepting {}

choice! {
    /// The fault.
    pub enum Fault {
        /// No fault.
        None = "none",
        /// Reports a departure as a drop too.
        Twice = "twice",
        /// Does not report drops.
        Silent = "silent",
        /// Sends a packet with its length increased by one byte.
        Longer = "longer",
        /// Sends a packet that was never offered.
        Invents = "invents",
        /// Sends nothing.
        Idle = "idle",
        /// Has an internal variable (probe) of kind probability with the value 1.5.
        Certain = "certain",
        /// Has an internal variable (probe) of kind length with a negative value.
        Negative = "negative",
        /// Requests the same expiry of its timer (tick) again after it has occurred.
        Late = "late",
    }
}
params! {
    /// Parameters of the faulty queue.
    pub struct Params {
        /// The fault.
        fault: Fault = Fault::None, in 0.0 ..= 1.0, "", "ours";
    }
}
struct Faulty(Fault, Fifo<Accepting>);

impl Design for Faulty {
    type Params = Params;
    const ABOUT: About = About { summary: "drop-tail with a fault", source: "ours", rule: "", deviations: &[] };
    fn build(params: &Params, _: &Link) -> Self {
        Self(params.fault, Fifo::new(Accepting))
    }
}
probes! { Faulty {
    /// A probability; above 1 with the fault `certain`.
    p_b ["1"] probability = |s| if s.0 == Fault::Certain { 1.5 } else { 0.5 };
    /// A length; negative with the fault `negative`.
    avg ["packets|bytes"] = |s| if s.0 == Fault::Negative { -1.0 } else { 0.0 };
} }
impl Discipline for Faulty {
    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        self.1.enqueue(packet, port, cx);
        if self.0 == Fault::Silent {
            port.discarded().clear();
        }
    }
    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        if self.0 == Fault::Idle {
            return None;
        }
        let mut packet = self.1.dequeue(port, cx)?;
        match self.0 {
            Fault::Twice => port.discarded().push((packet, forebay_aqm::base::verdict::Reason::Early)),
            Fault::Longer => packet.len += 1,
            Fault::Invents => packet.slot += 1000,
            _ => {}
        }
        Some(packet)
    }
    fn next_tick(&self) -> Option<Instant> {
        (self.0 == Fault::Late).then(|| Instant::from_nanos(1 << 40))
    }
}

/// Offers three packets to a buffer of two packets, and lets them depart 1 ms later. Returns the message of the fault
/// found.
fn found(fault: &str) -> Option<String> {
    let link = Link { rate: Rate(8000), limit: Limit::Packets(2), mean_packet: Bytes(500) };
    let outcome = std::panic::catch_unwind(|| {
        let own = Own::queue::<Faulty>("faulty");
        let spec = Spec::own(&own, &[&format!("fault={fault}")]).expect("a known fault");
        let mut history = History::new(&spec, link);
        for shape in [0, 4, 9] {
            history.arrive(&mut Choices(&[shape, 2]));
            history.inspect();
        }
        history.pass(Span::from_millis(1));
        history.depart();
        history.drain();
    });
    outcome.err().map(|words| words.downcast_ref::<String>().cloned().unwrap_or_default())
}

#[test]
fn packet_history_reveals_every_fault_of_queue() {
    assert_eq!(found("none"), None);
    for (fault, words) in [
        ("twice", "packet 0 has two fates"),
        ("silent", "packet 2 has no fate"),
        ("longer", "packet 0 was modified"),
        ("invents", "packet 1000 was never offered"),
        ("idle", "sent nothing although packets wait"),
        ("certain", "probe p_b is 1.5"),
        ("negative", "probe avg is -1"),
        ("late", "after a tick due at"),
    ] {
        let found = found(fault).unwrap_or_default();
        assert!(found.contains(words), "{fault}: {found}");
    }
}
