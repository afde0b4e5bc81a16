//! A queue under a discipline, with the calls of a qdisc: enqueue, dequeue, and timers that are processed before both.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};

use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::Packet;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::base::verdict::Reason;
use forebay_aqm::{AnyDiscipline, Spec};

/// A queue under a discipline. Its values are on the heap: a kernel stack is small.
pub struct KernelQueue {
    queue: Box<Queue<AnyDiscipline>>,
}

/// The description of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// Discipline with its parameters, such as `codel target=5ms`.
    pub spec: &'a str,
    /// Name of the link, which names its random stream.
    pub link: &'a str,
    /// Seed of the run.
    pub seed: u64,
    /// Rate of the link.
    pub rate: Rate,
    /// Buffer.
    pub limit: Limit,
    /// Typical packet length, bytes.
    pub mean_packet: u32,
}

/// The random numbers of a discipline on this link, as in a simulation with the same seed.
pub fn stream(seed: u64, link: &str) -> Rng {
    Rng::stream(seed, &format!("link/{link}"))
}

impl KernelQueue {
    /// Builds the queue with the random stream that it has in a simulation with the same seed.
    ///
    /// # Errors
    /// The discipline or a parameter is not known, or a value is out of range.
    ///
    /// # Panics
    /// With the discipline `!panic`. With `!loop` it never returns. Both are for tests of what ends a run.
    #[inline(never)]
    pub fn new(order: &Order<'_>) -> Result<Self, String> {
        match order.spec.split(' ').next() {
            Some("!panic") => panic!("as requested"),
            Some("!loop") => loop {
                core::hint::spin_loop();
            },
            _ => {}
        }
        let spec = Box::new(Spec::parse(order.spec).map_err(|error| error.to_string())?);
        let link = Link { rate: order.rate, limit: order.limit, mean_packet: Bytes(u64::from(order.mean_packet)) };
        Ok(Self { queue: Box::new(spec.queue(link, stream(order.seed, order.link))) })
    }

    /// Changes the parameters of the discipline, and the rate and buffer that it knows. Returns whether this is
    /// possible: `spec` must name the same discipline.
    ///
    /// # Errors
    /// The discipline or a parameter is not known, or a value is out of range.
    pub fn retune(&mut self, order: &Order<'_>) -> Result<bool, String> {
        let spec = Box::new(Spec::parse(order.spec).map_err(|error| error.to_string())?);
        let link = Link { rate: order.rate, limit: order.limit, mean_packet: Bytes(u64::from(order.mean_packet)) };
        Ok(self.queue.discipline_mut().retune(&spec, &spec.link(&link)))
    }

    /// Runs the timers that are due up to `now`.
    pub fn advance(&mut self, now: Instant) {
        while let Some(due) = self.queue.next_tick().filter(|due| *due <= now) {
            self.queue.tick(due);
        }
    }

    /// Offers a packet. [`dropped`](Self::dropped) then returns the packets that were dropped.
    pub fn arrive(&mut self, packet: Packet, now: Instant) {
        self.advance(now);
        self.queue.arrive(packet, now);
    }

    /// The next packet to send, if any. [`dropped`](Self::dropped) then returns the packets that were dropped.
    pub fn depart(&mut self, now: Instant) -> Option<Packet> {
        self.advance(now);
        self.queue.depart(now)
    }

    /// Time at which a discipline with a shaper sends a packet again, if it holds all packets back at `now`; later than
    /// `now`.
    pub fn held_until(&self, now: Instant) -> Option<Instant> {
        self.queue.held_until().map(|until| until.max(now + Span::from_nanos(1)))
    }

    /// Removes one of the packets that the last call dropped, the last one first.
    pub fn dropped(&mut self) -> Option<(Packet, Reason)> {
        self.queue.port.discarded().pop()
    }

    /// Number of waiting packets.
    pub fn waiting(&self) -> u32 {
        self.queue.port.pkts()
    }

    /// The internal variable (probe) with this index; NaN if there is none.
    pub fn probe(&self, index: usize) -> f64 {
        self.queue.discipline().probe(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(spec: &str) -> Order<'_> {
        let (rate, limit) = (Rate(10_000_000), Limit::Packets(2));
        Order { spec, link: "bottleneck", seed: 1, rate, limit, mean_packet: 1500 }
    }

    #[test]
    fn packets_beyond_the_buffer_are_dropped() {
        let mut queue = KernelQueue::new(&order("droptail")).unwrap();
        for slot in 0..3 {
            queue.arrive(Packet { slot, len: 1500, ..Packet::default() }, Instant::ZERO);
        }
        let dropped = queue.dropped().unwrap();
        assert_eq!((dropped.0.slot, dropped.1, queue.waiting()), (2, Reason::Overflow, 2));
        assert_eq!(queue.depart(Instant::ZERO).unwrap().slot, 0);
    }

    #[test]
    fn timers_run_up_to_the_present() {
        let mut queue = KernelQueue::new(&order("pi preset=ns2")).unwrap();
        let now = Instant::from_nanos(1_000_000_000);
        queue.advance(now);
        assert!(queue.queue.next_tick().unwrap() > now);
    }

    /// 1500 bytes at 1 Mb/s take 12 ms.
    #[test]
    fn shaper_says_when_it_sends_again() {
        let mut queue = KernelQueue::new(&order("cake bandwidth=1mbit tins=besteffort hash=exact")).unwrap();
        for slot in 0..2 {
            queue.arrive(Packet { slot, len: 1500, ..Packet::default() }, Instant::ZERO);
        }
        assert!(queue.held_until(Instant::ZERO).is_none(), "a packet may leave at once");
        assert_eq!(queue.depart(Instant::ZERO).unwrap().slot, 0);
        assert!(queue.depart(Instant::ZERO).is_none());
        assert_eq!(queue.held_until(Instant::ZERO).unwrap().nanos(), 12_000_000);
        assert_eq!(queue.depart(Instant::from_nanos(12_000_000)).unwrap().slot, 1);
        assert!(queue.held_until(Instant::from_nanos(12_000_000)).is_none(), "no packet waits");
    }

    #[test]
    fn unknown_disciplines_are_refused_by_name() {
        assert!(KernelQueue::new(&order("codle")).err().unwrap().contains("codle"));
    }
}
