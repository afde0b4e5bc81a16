//! Helpers for unit tests with hand calculations: parameters from text, times, packets, comparison of numbers.

use crate::base::adapters::Fifo;
use crate::base::design::Design;
use crate::base::discipline::{Aqm, Discipline};
use crate::base::host::Queue;
use crate::base::packet::Packet;
use crate::base::params::ParamSet;
use crate::base::rng::Rng;
use crate::base::time::Instant;
use crate::base::units::Link;

/// The default parameters with these `key=value` settings.
pub(crate) fn params<P: ParamSet>(settings: &str) -> P {
    let mut params = P::default();
    for (key, value) in settings.split_whitespace().filter_map(|word| word.split_once('=')) {
        params.set(key, value).unwrap().unwrap();
    }
    params
}

/// The point in time `n` milliseconds after the start of the run.
pub(crate) const fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

/// The point in time `n` microseconds after the start of the run.
pub(crate) const fn us(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000)
}

/// A packet of 1000 bytes without ECN.
pub(crate) fn packet() -> Packet {
    Packet { len: 1000, ..Packet::default() }
}

/// Asserts that `got` is within 1e-12 of `want`.
pub(crate) fn near(got: f64, want: f64) {
    assert!((got - want).abs() < 1e-12, "{got} is not {want}");
}

/// A queue on `link` under an AQM with these settings, which must be valid.
pub(crate) fn fifo<A: Aqm + Design>(settings: &str, link: Link, ecn: bool) -> Queue<Fifo<A>> {
    let params = params(settings);
    A::check(&params).unwrap();
    Queue::new(Fifo::new(A::build(&params, &link)), link, ecn, Rng::stream(1, "queue"))
}

/// A queue on `link` under a queueing discipline with these settings, which must be valid.
pub(crate) fn queue<D: Discipline + Design>(settings: &str, link: Link, ecn: bool) -> Queue<D> {
    let params = params(settings);
    D::check(&params).unwrap();
    Queue::new(D::build(&params, &link), link, ecn, Rng::stream(1, "queue"))
}
