//! Classification and signalling of packets in a coupled AQM with two queues (RFC 9332 section 2.5.1.1).
//!
//! Both depend on the ECN field. An operator's classifier may override the queue.

use alloc::string::{String, ToString};

use crate::base::packet::{Ecn, Packet};
use crate::base::params::Value;
use crate::base::port::ListId;
use crate::base::text::BadValue;
use crate::base::verdict::Verdict;

use super::priority::{CLASSIC, LOW};
use crate::parts::coupled::{Coupling, Toss, Tosses};

/// A service class whose packets enter a fixed queue, independent of their ECN field; or no class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// No class.
    Off,
    /// The class with this number.
    Is(u8),
}

impl Class {
    fn has(self, packet: &Packet) -> bool {
        self == Self::Is(packet.class)
    }
}

impl Value for Class {
    const ACCEPTS: &'static str = "off, or a class as a whole number";
    const UNIT: &'static str = "1";
    const RANGE_IN: Option<&'static str> = Some("");
    fn parse(text: &str) -> Result<Self, BadValue> {
        match text.trim() {
            "off" => Ok(Self::Off),
            number => number.parse().map(Self::Is).map_err(|_| BadValue::new(Self::ACCEPTS)),
        }
    }
    fn show(&self) -> String {
        match self {
            Self::Off => "off".to_string(),
            Self::Is(class) => class.to_string(),
        }
    }
    fn number(&self) -> Option<f64> {
        match self {
            Self::Off => None,
            Self::Is(class) => Some(f64::from(*class)),
        }
    }
}

/// The list of a packet, by its ECN field unless its class overrides it.
pub fn classify(packet: &Packet, to_low: Class, to_classic: Class) -> ListId {
    if (is_l4s(packet) || to_low.has(packet)) && !to_classic.has(packet) { LOW } else { CLASSIC }
}

/// Whether the packet is ECT(1) or CE, and is therefore treated as L4S (RFC 9331 section 5.1).
fn is_l4s(packet: &Packet) -> bool {
    matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce)
}

/// Whether the packet must not be marked: with L4S off, ECT(1) is treated as Not-ECT (RFC 9331 section 5.1).
pub fn refuses(l4s: bool, packet: &Packet) -> bool {
    !l4s && packet.ecn == Ecn::Ect1
}

/// The signalling decisions for both queues.
#[derive(Clone, Debug)]
pub struct DualAqm {
    /// The relation between the Classic and the scalable probability, and the reaction to overload.
    pub coupling: Coupling,
    classic: Tosses,
    low: Tosses,
    l4s: bool,
    protected: bool,
}

impl DualAqm {
    /// If `l4s` is false, every packet is subject to the Classic probability. If `protected` is true, Not-ECT packets
    /// of the low-latency queue are not signalled, because another mechanism polices them.
    pub const fn new(coupling: Coupling, toss: Toss, l4s: bool, protected: bool) -> Self {
        Self { coupling, classic: Tosses::new(toss), low: Tosses::new(toss), l4s, protected }
    }

    /// Keeps the parameters of `self` and takes the accumulated probabilities of `before`.
    pub const fn after(self, before: &Self) -> Self {
        Self { classic: self.classic.after(&before.classic), low: self.low.after(&before.low), ..self }
    }

    /// The verdict on `packet`, the head of `list`.
    ///
    /// - `marks`: whether the packet can be marked.
    /// - `p`: the base probability p', from which the Classic and the scalable probability are computed.
    /// - `native`: the probability from the sojourn time of the packet; ignored for the Classic queue.
    /// - `u`: two random numbers.
    #[inline]
    pub fn verdict(&mut self, list: ListId, packet: &Packet, marks: bool, p: f64, native: f64, u: [f64; 2]) -> Verdict {
        // Not `&&`: Classic and scalable packets alternate irregularly, so a branch is mispredicted.
        let scalable = marks & self.l4s & is_l4s(packet);
        let (native, tosses) = if list == LOW { (native, &mut self.low) } else { (0.0, &mut self.classic) };
        if list == LOW && packet.ecn == Ecn::NotEct && self.protected {
            return Verdict::Accept;
        }
        if scalable {
            return self.coupling.scalable(p, native, tosses, u);
        }
        match self.coupling.classic(p, native, tosses, u) {
            Verdict::Signal if refuses(self.l4s, packet) => Verdict::Drop,
            verdict => verdict,
        }
    }

    /// The amounts accumulated towards the next signal in the Classic and in the low-latency queue.
    pub const fn counts(&self) -> [f64; 2] {
        [self.classic.count(), self.low.count()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ecn_field_or_class_selects_the_queue() {
        let list = |ecn, class, to_low, to_classic| {
            classify(&Packet { ecn, class, ..Packet::default() }, to_low, to_classic) == LOW
        };
        let kinds = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        assert_eq!(kinds.map(|ecn| list(ecn, 0, Class::Off, Class::Off)), [false, true, false, true]);
        assert_eq!(kinds.map(|ecn| list(ecn, 7, Class::Is(7), Class::Off)), [true; 4]);
        assert_eq!(kinds.map(|ecn| list(ecn, 7, Class::Off, Class::Is(7))), [false; 4]);
        assert_eq!(kinds.map(|ecn| list(ecn, 8, Class::Is(7), Class::Is(9))), [false, true, false, true]);
        for text in ["off", "0", "255"] {
            assert_eq!(Class::parse(text).map(|class| class.show()), Ok(text.to_string()));
        }
        assert!(Class::parse("256").is_err() && Class::parse("auto").is_err());
    }
}
