//! The token bucket as in ns-2.35's policer: tokens grow by CIR dt up to CBS. If there are enough for the packet, it is
//! coloured IN (within the profile) and takes them; otherwise it is coloured OUT and takes none. The arithmetic is
//! exact, in units of 1/(8 10^9) byte: one bit per second for one nanosecond.

use forebay_aqm::base::packet::Colour;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::{Bytes, Rate};
use forebay_aqm::parts::token_bucket::TokenBucket;

use crate::reference::harness::*;

/// Units per byte.
const PARTS: u128 = 8_000_000_000;

struct Policer {
    cir: u128,
    cbs: u128,
    c_bucket: u128,
    arrival_time: u64,
    is_in: u64,
    is_out: u64,
    full: u64,
    to_the_last: u64,
}

impl Policer {
    fn new(cir: u64, cbs: u64) -> Self {
        let cbs = u128::from(cbs) * PARTS;
        Self { cir: u128::from(cir), cbs, c_bucket: cbs, arrival_time: 0, is_in: 0, is_out: 0, full: 0, to_the_last: 0 }
    }

    fn apply_meter(&mut self, now: u64) {
        let token_bytes = self.cir * u128::from(now - self.arrival_time);
        if self.c_bucket + token_bytes <= self.cbs {
            self.c_bucket += token_bytes;
        } else {
            self.c_bucket = self.cbs;
            self.full += 1;
        }
        self.arrival_time = now;
    }

    fn apply_policer(&mut self, size: u32) -> Colour {
        let size = u128::from(size) * PARTS;
        if self.c_bucket >= size {
            self.c_bucket -= size;
            self.is_in += 1;
            self.to_the_last += u64::from(self.c_bucket == 0);
            Colour::In
        } else {
            self.is_out += 1;
            Colour::Out
        }
    }
}

#[test]
fn token_bucket_colours_packets_as_ns2_policer() {
    let mut met = [0; 4];
    for seed in 0..400 {
        let mut dice = Dice(Rng::stream(seed, "policer"));
        let trace = trace(&mut dice);
        // On the grid a millisecond adds one packet of tokens or a fraction of it, so that tokens are sometimes exactly
        // enough.
        let (cir, packet) = match trace.grid {
            true => (dice.pick(&[1_000_000, 2_000_000, 8_000_000]), 1000),
            false => ((trace.net.bandwidth as f64 * dice.scale(0.05, 2.0)) as u64, dice.upto(1, 1500)),
        };
        let cbs = packet * dice.pick(&[1, 2, 8, 100]);
        let mut policer = Policer::new(cir, cbs);
        let mut bucket = TokenBucket::new(Rate(cir), Bytes(cbs));
        for (n, (now, packet)) in trace.arrivals.iter().enumerate() {
            policer.apply_meter(*now);
            let want = policer.apply_policer(packet.len);
            let place = format!("seed {seed}, packet {n}: {cir} bit/s, {cbs} bytes");
            assert_eq!(bucket.colour(packet.len, Instant::from_nanos(*now)), want, "{place}");
            assert_eq!(bucket.level(), policer.c_bucket as f64 / PARTS as f64, "{place}");
        }
        let here = [policer.is_in, policer.is_out, policer.full, policer.to_the_last];
        met.iter_mut().zip(here).for_each(|(met, here)| *met += here);
    }
    assert!(met.iter().all(|met| *met >= 100), "IN, OUT, full, emptied: {met:?}");
}
