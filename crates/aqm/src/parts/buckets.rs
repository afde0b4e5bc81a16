//! Selects the queue of a packet among a fixed number of queues.
//!
//! Stochastic fair queueing hashes each flow to a queue; two flows may collide.

use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::ListId;
use crate::base::rng::{Rng, mix};
use crate::choice;

choice! {
    /// The fields that are hashed.
    pub enum Key {
        /// The flow (5-tuple).
        Flow = "flow",
        /// The source-destination pair; with hash=salted also the protocol.
        Pair = "pair",
    }
}

choice! {
    /// How the queue is computed from the key.
    pub enum Hash {
        /// A hash with a salt: flows collide as in a router.
        Salted = "salted",
        /// The key modulo the number of queues: consecutive keys do not collide until all queues are used.
        Exact = "exact",
        /// ns-2's hash in DRR, where the key is the source address.
        Ns2 = "ns2",
    }
}

/// Largest number of queues: their numbers have 16 bits.
pub const MAX_QUEUES: u32 = 65_536;

/// Maps packets to queues.
#[derive(Clone)]
pub struct Buckets {
    count: u32,
    key: Key,
    hash: Hash,
    salt: Auto<u32>,
}

/// A random salt of 32 bits.
#[cold]
fn draw(rng: &mut Rng) -> u32 {
    (rng.bits() >> 32) as u32
}

impl Buckets {
    /// `count` queues, 1 to [`MAX_QUEUES`]. If the salt is not given, `hash=salted` draws it at the first packet.
    pub const fn new(count: u32, key: Key, hash: Hash, salt: Auto<u32>) -> Self {
        Self { count, key, hash, salt }
    }

    /// This mapping as the successor of `before`, whose salt it keeps. `None` if flows would change their queues.
    pub fn after(self, before: &Self) -> Option<Self> {
        let same = (self.count, self.key, self.hash) == (before.count, before.key, before.hash);
        let salt = match (self.salt, before.salt) {
            (salt, Auto::Auto) | (Auto::Auto, salt) => salt,
            (salt, drawn) if salt == drawn => salt,
            _ => return None,
        };
        same.then_some(Self { salt, ..self })
    }

    /// The number of queues.
    pub const fn count(&self) -> usize {
        self.count as usize
    }

    /// The queue of `packet`. Draws the salt at the first packet if needed.
    #[inline]
    pub fn of(&mut self, packet: &Packet, rng: &mut Rng) -> ListId {
        let (key, protocol) = match self.key {
            Key::Flow => (packet.flow, 0),
            Key::Pair => (packet.pair, u32::from(packet.proto.bits())),
        };
        let at = match self.hash {
            // The upper half of the hash scaled to the count, as Linux's reciprocal_scale.
            Hash::Salted => {
                let salt = match self.salt {
                    Auto::Given(salt) => salt,
                    Auto::Auto => {
                        let salt = draw(rng);
                        self.salt = Auto::Given(salt);
                        salt
                    }
                };
                // The protocol changes the salt.
                let hash = mix(u64::from(salt.wrapping_add(protocol)) << 32 | u64::from(key)) >> 32;
                ((hash * u64::from(self.count)) >> 32) as u32
            }
            Hash::Exact => key % self.count,
            Hash::Ns2 => ns2(key) % self.count,
        };
        ListId(at as u16)
    }
}

/// Modulus of ns-2's hash, 2^24 - 1. ns-2 calls it a large prime, but it is 3 x 5592405.
const NS2_MODULUS: i32 = (2 << 23) - 1;

/// ns-2.35, `DRR::hash` with mask_ 0; negative results wrap around.
const fn ns2(key: u32) -> u32 {
    let i = key as i32;
    (i.wrapping_add(i >> 8).wrapping_add(!(i >> 4)) % NS2_MODULUS + 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::packet::Proto;

    fn of(hash: Hash, count: u32, salt: u32, flow: u32) -> u16 {
        let mut buckets = Buckets::new(count, Key::Flow, hash, Auto::Given(salt));
        buckets.of(&Packet { flow, ..Packet::default() }, &mut Rng::stream(1, "queue")).0
    }

    #[test]
    fn hash_exact_takes_key_modulo_number_of_queues() {
        assert_eq!([0, 9, 10, 4_000_000_007].map(|flow| of(Hash::Exact, 10, 0, flow)), [0, 9, 0, 7]);
    }

    #[test]
    fn ns2_hash_adds_shifted_addresses() {
        // 1 + 0 + ~0 = 0, plus 1; 300 + 1 + ~18 = 282, plus 1; 0 + 0 + ~0 = -1, plus 1.
        assert_eq!([1, 300, 0].map(|flow| of(Hash::Ns2, 1000, 0, flow)), [1, 283, 0]);
    }

    /// With the parameter `key=pair` the hash uses the pair of addresses and the protocol of a packet, not its ports.
    #[test]
    fn flows_of_one_address_pair_share_a_queue() {
        let mut by_pair = Buckets::new(1024, Key::Pair, Hash::Salted, Auto::Given(1));
        let mut rng = Rng::stream(1, "queue");
        let mut queue = |flow, pair| by_pair.of(&Packet { flow, pair, ..Packet::default() }, &mut rng);
        assert_eq!(queue(1, 5), queue(2, 5));
        assert_ne!(queue(1, 5), queue(1, 6));
    }

    #[test]
    fn salted_hash_separates_protocols_of_a_pair() {
        let together = |key, hash| {
            let (mut buckets, mut rng) = (Buckets::new(1024, key, hash, Auto::Auto), Rng::stream(1, "queue"));
            let mut queue =
                |pair, proto| buckets.of(&Packet { flow: pair, pair, proto, ..Packet::default() }, &mut rng);
            (0..1024).filter(|&pair| queue(pair, Proto::Tcp) == queue(pair, Proto::Udp)).count()
        };
        // Of 1024 pairs one is expected to collide with itself.
        assert!(together(Key::Pair, Hash::Salted) < 8);
        assert_eq!(
            [(Key::Pair, Hash::Exact), (Key::Pair, Hash::Ns2)].map(|(key, hash)| together(key, hash)),
            [1024; 2]
        );
        assert_eq!(together(Key::Flow, Hash::Salted), 1024, "a flow has one protocol");
    }

    #[test]
    fn salted_hash_is_uniform_and_depends_on_salt() {
        let mut held = [0; 64];
        (0..64_000).for_each(|flow| held[usize::from(of(Hash::Salted, 64, 7, flow))] += 1);
        // 1000 expected, standard deviation 31.4; the largest of 64 deviations is about 2.4 of them.
        assert!(held.iter().all(|&n: &i32| (n - 1000).abs() < 5 * 32), "{held:?}");
        let moved = (0..1000).filter(|&flow| of(Hash::Salted, 64, 7, flow) != of(Hash::Salted, 64, 8, flow)).count();
        assert!((950..1000).contains(&moved), "{moved}: 984 expected");
    }

    #[test]
    fn only_salted_hash_draws_unset_salt_once() {
        let queues = |hash, salt, seed| {
            let (mut buckets, mut rng) = (Buckets::new(64, Key::Flow, hash, salt), Rng::stream(seed, "queue"));
            let queues = core::array::from_fn::<_, 32, _>(|flow| {
                buckets.of(&Packet { flow: flow as u32, ..Packet::default() }, &mut rng).0
            });
            (queues, rng.bits())
        };
        let next = |seed, draws| {
            let mut rng = Rng::stream(seed, "queue");
            (0..=draws).map(|_| rng.bits()).last().unwrap()
        };
        let drawn = [1, 2].map(|seed| queues(Hash::Salted, Auto::Auto, seed));
        assert_eq!(drawn[0], queues(Hash::Salted, Auto::Auto, 1), "the same seed, the same queues");
        assert_ne!(drawn[0].0, drawn[1].0, "another seed, other queues");
        assert_eq!(drawn.map(|(_, bits)| bits), [next(1, 1), next(2, 1)], "drawn once");
        for (hash, salt) in [(Hash::Salted, Auto::Given(7)), (Hash::Exact, Auto::Auto), (Hash::Ns2, Auto::Auto)] {
            let given = [1, 2].map(|seed| queues(hash, salt, seed));
            assert_eq!(given[0].0, given[1].0);
            assert_eq!(given.map(|(_, bits)| bits), [next(1, 0), next(2, 0)], "{hash:?}: nothing is drawn");
        }
        let salt = (Rng::stream(1, "queue").bits() >> 32) as u32;
        assert_eq!(drawn[0].0, queues(Hash::Salted, Auto::Given(salt), 5).0, "its upper 32 bits");
    }
}
