//! Time and chance, lent to a discipline for the length of one call.

use crate::base::rng::Rng;
use crate::base::time::Instant;

/// The surroundings of a call.
pub struct Cx<'a> {
    /// The present.
    pub now: Instant,
    /// The discipline's own random stream.
    pub rng: &'a mut Rng,
    /// Whether a marker in front of the discipline signals the arriving packet. [`Port::admit`](super::port::Port::admit) marks
    /// or drops it then, if the discipline accepts it.
    pub signalled: bool,
}

impl<'a> Cx<'a> {
    /// A call at `now`, without a marker in front.
    pub const fn new(now: Instant, rng: &'a mut Rng) -> Self {
        Self { now, rng, signalled: false }
    }
}
