//! Two coupled queues (RFC 9332): a low-latency and a Classic queue, an AQM for both, and a scheduler.

pub mod priority;
pub mod signals;
pub mod tc;

use crate::base::cx::Cx;
use crate::base::discipline::Discipline;
use crate::base::packet::Packet;
use crate::base::port::{ListId, Port};
use crate::base::time::Instant;
use crate::base::verdict::Verdict;
use priority::{CLASSIC, Priority};
use signals::{Class, classify};

/// The AQM of both queues.
pub trait Coupled {
    /// The verdict on `packet`, the head of `list`, before it departs.
    fn judge(&mut self, list: ListId, packet: &Packet, port: &Port, cx: &mut Cx) -> Verdict;

    /// When [`Coupled::tick`] is due; `None`: never.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// The periodic update, at the time that [`Coupled::due`] returned.
    fn tick(&mut self, _port: &Port, _now: Instant) {}

    /// Keeps the parameters of `self` and takes the state of `before`.
    #[must_use]
    fn after(self, before: &Self) -> Self;
}

/// Selects the queue of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Classifier {
    /// Off: all packets enter the Classic queue.
    pub l4s: bool,
    /// This class enters the low-latency queue, independent of its ECN field.
    pub l_class: Class,
    /// This class enters the Classic queue, independent of its ECN field.
    pub c_class: Class,
}

impl Classifier {
    #[inline]
    fn list(&self, packet: &Packet) -> ListId {
        if self.l4s { classify(packet, self.l_class, self.c_class) } else { CLASSIC }
    }
}

/// Both queues under an AQM `R`.
pub struct Dual<R> {
    rule: R,
    classifier: Classifier,
    priority: Priority,
}

impl<R: Coupled> Dual<R> {
    /// Two empty queues under the AQM `rule`.
    pub const fn new(rule: R, classifier: Classifier, priority: Priority) -> Self {
        Self { rule, classifier, priority }
    }

    /// The AQM.
    pub const fn rule(&self) -> &R {
        &self.rule
    }

    /// The scheduler.
    pub const fn priority(&self) -> &Priority {
        &self.priority
    }

    /// Keeps the parameters of `self` and takes the state of `before`.
    #[must_use]
    pub fn after(self, before: &Self) -> Self {
        let (rule, priority) = (self.rule.after(&before.rule), self.priority.after(&before.priority));
        Self { rule, priority, ..self }
    }
}

impl<R: Coupled> Discipline for Dual<R> {
    fn lists(&self) -> usize {
        2
    }

    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        self.priority.enter(self.classifier.list(&packet), packet, port, cx);
    }

    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        while let Some(list) = self.priority.pick(port, cx.now) {
            let verdict = self.rule.judge(list, port.head(list)?, port, cx);
            if let Some(sent) = self.priority.send(list, verdict, port, cx) {
                return Some(sent);
            }
        }
        None
    }

    fn next_tick(&self) -> Option<Instant> {
        self.rule.due()
    }

    fn tick(&mut self, port: &mut Port, cx: &mut Cx) {
        self.rule.tick(port, cx.now);
    }
}
