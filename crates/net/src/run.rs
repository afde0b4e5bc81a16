//! A virtual clock for transport stacks.

use std::time::Duration;

use forebay_aqm::base::packet::Ecn;

use crate::net::{Arrival, Endpoint, Net, Payload};

/// A transport stack at an endpoint, for [`Net::run`].
pub trait Stack {
    /// A packet has arrived at the endpoint.
    fn receive(&mut self, arrival: Arrival);

    /// Fires the timers that are due at `now`, and passes the packets that are due to `send`. Returns when it must be
    /// called again; `None`: only after an arrival. It is called after each arrival too.
    fn transmit(&mut self, now: Duration, send: &mut dyn FnMut(Payload, Ecn)) -> Option<Duration>;

    /// Whether the stack needs nothing more. [`Net::run`] ends when all stacks are done.
    fn is_done(&self) -> bool {
        false
    }
}

impl<S: Stack + ?Sized> Stack for Box<S> {
    fn receive(&mut self, arrival: Arrival) {
        (**self).receive(arrival);
    }

    fn transmit(&mut self, now: Duration, send: &mut dyn FnMut(Payload, Ecn)) -> Option<Duration> {
        (**self).transmit(now, send)
    }

    fn is_done(&self) -> bool {
        (**self).is_done()
    }
}

impl Net {
    /// Runs stacks at their endpoints with a virtual clock from `now` on: it goes from one event to the next, without
    /// waiting. Ends when all stacks are done, when no packet and no timer is left, or at `until`. Returns the time of the
    /// end. Packets for other endpoints are discarded.
    pub fn run<S: Stack>(&mut self, stacks: &mut [(Endpoint, S)], mut now: Duration, until: Duration) -> Duration {
        let mut timers: Vec<Option<Duration>> = vec![Some(now); stacks.len()];
        loop {
            while let Some(arrival) = self.poll(now) {
                if let Some(at) = stacks.iter().position(|(end, _)| *end == arrival.to) {
                    stacks[at].1.receive(arrival);
                    timers[at] = Some(now);
                }
            }
            for ((end, stack), timer) in stacks.iter_mut().zip(&mut timers) {
                if timer.is_some_and(|due| due <= now) {
                    let next = stack.transmit(now, &mut |payload, ecn| _ = self.send(now, *end, payload, ecn));
                    // A timer of the past must not stop the clock.
                    *timer = next.map(|due| due.max(now + Duration::from_nanos(1)));
                }
            }
            if stacks.iter().all(|(_, stack)| stack.is_done()) {
                return now;
            }
            match timers.iter().copied().chain([self.next_time()]).flatten().min() {
                Some(at) if at <= until => now = now.max(at),
                Some(_) => return until,
                None => return now,
            }
        }
    }
}
