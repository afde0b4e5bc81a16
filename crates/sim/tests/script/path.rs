//! A path between a sender and a receiver, with one queue and one delay.

use std::collections::BTreeMap;

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::tcp::TcpOptions;
use forebay_sim::tcp::receiver::{Ack, Data, Receiver};
use forebay_sim::tcp::reports::Blocks;
use forebay_sim::tcp::sender::{Send, Sender};

use super::words::{number, range, setting, span};

enum Event {
    /// A packet reaches the receiver; CE if it was marked.
    Data(Send, Ecn, Instant),
    /// An acknowledgement reaches the sender, half a round trip later.
    Ack(Ack, Blocks),
}

pub(crate) struct Path {
    receiver: Receiver,
    /// Packets per second; `None`: no queue.
    rate: Option<f64>,
    rtt: Span,
    /// Buffer in packets.
    queue: u32,
    /// A packet is marked if more than this number of packets are queued.
    mark_above: Option<u32>,
    /// Packets that are lost the first time they are sent.
    lose: Vec<u32>,
    free: Instant,
    longest: u32,
    /// By time and order of insertion.
    events: BTreeMap<(Instant, u64), Event>,
    serial: u64,
    ecn: bool,
}

impl Path {
    pub(crate) fn new(options: &TcpOptions, words: &[&str]) -> Result<Self, String> {
        let mut path = Self {
            receiver: Receiver::new(options),
            rate: None,
            rtt: Span::from_millis(100),
            queue: u32::MAX,
            mark_above: None,
            lose: Vec::new(),
            free: Instant::ZERO,
            longest: 0,
            events: BTreeMap::new(),
            serial: 0,
            ecn: options.ecn_capable(),
        };
        path.change(words)?;
        Ok(path)
    }

    /// Applies `rate=100/s rtt=20ms queue=10p mark_above=5p lose=7-8,12`, and resets the longest queue.
    pub(crate) fn change(&mut self, words: &[&str]) -> Result<(), String> {
        self.longest = 0;
        let packets = |value: &str| number(value.strip_suffix('p').unwrap_or(value));
        for word in words {
            let (key, value) = setting(word)?;
            match key {
                "rate" => self.rate = Some(f64::from(number(value.strip_suffix("/s").ok_or("packets as 100/s")?)?)),
                "rtt" => self.rtt = span(value)?,
                "queue" => self.queue = packets(value)?,
                "mark_above" => self.mark_above = Some(packets(value)?),
                "lose" => {
                    for run in value.split(',') {
                        let run = range(run)?;
                        self.lose.extend(run.start..run.end);
                    }
                }
                _ => return Err(format!("no such property of a path: {key}")),
            }
        }
        Ok(())
    }

    pub(crate) const fn longest_queue(&self) -> u32 {
        self.longest
    }

    /// Runs `run TIME` or `run until PHASE within TIME`, and returns the time at the end.
    pub(crate) fn run(&mut self, sender: &mut Sender, from: Instant, words: &[&str]) -> Result<Instant, String> {
        let (phase, limit) = match words {
            [limit] => (None, from + span(limit)?),
            ["until", phase, "within", limit] => (Some(*phase), from + span(limit)?),
            _ => return Err("run TIME, or run until PHASE within TIME".to_string()),
        };
        let mut now = from;
        loop {
            self.take_sends(sender, now);
            if phase.is_some() && phase == phase_of(sender) {
                return Ok(now);
            }
            let event = self.events.keys().next().map(|(at, _)| *at);
            let next = [event, sender.deadline(), self.receiver.deadline()].into_iter().flatten().min();
            match next.filter(|&at| at <= limit) {
                Some(at) => now = at.max(now),
                None if phase.is_some() => return Err(format!("not reached: phase is {:?}", phase_of(sender))),
                None => return Ok(limit),
            }
            self.step(sender, now);
        }
    }

    fn step(&mut self, sender: &mut Sender, now: Instant) {
        let due = self.events.first_entry().filter(|entry| entry.key().0 <= now);
        match due.map(|entry| entry.remove()) {
            Some(Event::Data(send, ecn, sent)) => {
                let prior = self.receiver.before_data(ecn);
                prior.into_iter().for_each(|ack| self.answer(now, ack));
                let ack = self.receiver.on_data(now, Data::of(send, ecn, now.since(sent)));
                ack.into_iter().for_each(|ack| self.answer(now, ack));
            }
            Some(Event::Ack(ack, blocks)) => sender.on_ack(now, ack, &blocks),
            None => {
                if self.receiver.deadline().is_some_and(|at| at <= now) {
                    let ack = self.receiver.ack();
                    self.answer(now, ack);
                }
                if sender.deadline().is_some_and(|at| at <= now) {
                    sender.on_deadline(now);
                }
            }
        }
    }

    fn answer(&mut self, now: Instant, ack: Ack) {
        let half = Span::from_nanos(self.rtt.nanos() / 2);
        self.push(now + half, Event::Ack(ack, self.receiver.blocks(ack)));
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    fn take_sends(&mut self, sender: &mut Sender, now: Instant) {
        while let Some(send) = sender.poll(now) {
            if let Some(at) = self.lose.iter().position(|&seq| seq == send.seq) {
                self.lose.remove(at);
                continue;
            }
            let time = self.rate.map_or(Span::ZERO, |rate| Span::from_secs(1.0 / rate));
            let waiting = self.free.since(now).nanos().div_ceil(time.nanos().max(1)).saturating_sub(1) as u32;
            if waiting >= self.queue {
                continue;
            }
            self.longest = self.longest.max(waiting);
            self.free = self.free.max(now) + time;
            let marked = self.ecn && self.mark_above.is_some_and(|threshold| waiting > threshold);
            let half = Span::from_nanos(self.rtt.nanos() - self.rtt.nanos() / 2);
            let ecn = if marked { Ecn::Ce } else { Ecn::Ect0 };
            self.push(self.free + half, Event::Data(send, ecn, now));
        }
    }
}

fn phase_of(sender: &Sender) -> Option<&'static str> {
    sender.path_model().map(|model| model.phase)
}
