//! PIE's state for one queue, by the rules of RFC 8033 or by those of Linux.

use super::{PieState, Rule, Rules, linux};
use crate::base::cx::Cx;
use crate::base::packet::Packet;
use crate::base::port::Level;
use crate::base::time::Instant;
use crate::base::verdict::Verdict;

/// PIE's state for one queue.
#[derive(Clone, Debug)]
pub enum Controller {
    /// The listing of RFC 8033.
    Rfc(PieState),
    /// rules=linux: the integers of Linux.
    Linux(linux::Vars),
}

impl Controller {
    /// The state of a new queue.
    pub fn new(rule: &Rule) -> Self {
        match rule.params.rules {
            Rules::Rfc => Self::Rfc(PieState::new(rule)),
            Rules::Linux => Self::Linux(linux::Vars::new(&rule.linux)),
        }
    }

    /// An arrival at a queue of `level`.
    #[inline]
    pub fn arrival(&mut self, rule: &Rule, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        match self {
            Self::Rfc(state) => state.arrival(rule, packet, level, cx),
            Self::Linux(vars) => vars.arrival(&rule.linux, packet, level, cx),
        }
    }

    /// A departure that leaves `level` behind.
    #[inline]
    pub fn departure(&mut self, rule: &Rule, packet: &Packet, level: &Level, now: Instant) {
        match self {
            Self::Rfc(state) => state.departure(rule, packet, level, now),
            Self::Linux(vars) => vars.departure(&rule.linux, packet, level.bytes(), now),
        }
    }

    /// The update every T_UPDATE with `backlog` bytes queued.
    pub fn update(&mut self, rule: &Rule, backlog: u64, now: Instant) {
        match self {
            Self::Rfc(state) => state.update(rule, backlog, now),
            Self::Linux(vars) => vars.update(&rule.linux, backlog),
        }
    }

    /// Whether an update with an empty queue would leave the state unchanged. With the rules of RFC 8033 only for
    /// burst=departure.
    pub fn is_at_rest(&self, rule: &Rule) -> bool {
        match self {
            Self::Rfc(state) => state.is_at_rest(rule),
            Self::Linux(vars) => vars.is_at_rest(&rule.linux),
        }
    }

    /// Signal probability, 0 to 1.
    pub fn p(&self) -> f64 {
        match self {
            Self::Rfc(state) => state.p,
            Self::Linux(vars) => vars.p(),
        }
    }

    /// The latest delay estimate in seconds.
    pub fn delay(&self) -> f64 {
        match self {
            Self::Rfc(state) => state.delay,
            Self::Linux(vars) => vars.delay().secs(),
        }
    }

    /// The remaining burst allowance in seconds.
    pub(super) fn burst(&self) -> f64 {
        match self {
            Self::Rfc(state) => state.burst.secs(),
            Self::Linux(vars) => vars.burst().secs(),
        }
    }

    /// The sum of p since the last drop or mark.
    pub(super) fn spacing(&self) -> f64 {
        match self {
            Self::Rfc(state) => state.spacing,
            Self::Linux(vars) => vars.spacing(),
        }
    }

    /// Whether PIE is active; Linux's is always.
    pub(super) const fn is_active(&self) -> bool {
        match self {
            Self::Rfc(state) => state.active,
            Self::Linux(_) => true,
        }
    }

    /// The measured departure rate in bit/s; 0 while unknown.
    pub(super) fn rate(&self) -> f64 {
        match self {
            Self::Rfc(state) => state.drain.rate(),
            Self::Linux(vars) => vars.rate(),
        }
    }
}
