//! What a discipline receives with every call: the current time, a stream of random numbers, and whether a threshold
//! marker signals the packet.

use crate::base::rng::Rng;
use crate::base::time::Instant;

/// The context of a call to a discipline.
pub struct Cx<'a> {
    /// The current time.
    pub now: Instant,
    /// The discipline's stream of random numbers.
    pub rng: &'a mut Rng,
    /// Whether a threshold marker in front of the discipline signals the arriving packet. If the discipline accepts the
    /// packet, [`Port::admit`](super::port::Port::admit) marks or drops it.
    pub signalled: bool,
}

impl<'a> Cx<'a> {
    /// The context of a call at `now`, without a threshold marker in front of the discipline.
    pub const fn new(now: Instant, rng: &'a mut Rng) -> Self {
        Self { now, rng, signalled: false }
    }
}
