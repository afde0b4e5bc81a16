//! Time and chance, lent to a discipline for the length of one call.

use crate::base::rng::Rng;
use crate::base::time::Instant;

/// The surroundings of a call.
pub struct Cx<'a> {
    /// The present.
    pub now: Instant,
    /// The discipline's own random stream.
    pub rng: &'a mut Rng,
}
