//! A connection over a random path, from its first packet to its last acknowledgement.

mod rules;
pub(crate) mod setting;

use std::collections::{BTreeMap, VecDeque};

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::tcp::receiver::{Ack, Data, Receiver};
use forebay_sim::tcp::reports::Blocks;
use forebay_sim::tcp::sender::{Send, Sender};

use rules::Rules;
use setting::Setting;

/// Time limit of a connection: enough for one timeout per packet.
const TIME_LIMIT: Span = Span::from_millis(100_000_000);

/// Number of recent acknowledgements of which one may be delivered again.
const LATE: usize = 20;

enum Event {
    Data(Send, Ecn, Instant),
    Ack(Ack, Blocks),
    Offer,
}

pub(crate) struct Connection {
    setting: Setting,
    rng: Rng,
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    /// By time and order of insertion.
    events: BTreeMap<(u64, u64), Event>,
    serial: u64,
    /// Arrival of the last packet in flight, in each direction.
    last_arrival: [u64; 2],
    /// The latest acknowledgements with their blocks, some of which are delivered again.
    arrived: VecDeque<(Ack, Blocks)>,
    repeats: Rng,
    rules: Rules,
}

impl Connection {
    pub(crate) fn new(setting: Setting, seed: u64) -> Self {
        let mut new = Self {
            rng: Rng::stream(seed, "path"),
            now: Instant::ZERO,
            sender: Sender::new(setting.options, Span::ZERO, Rng::stream(seed, "sender")),
            receiver: Receiver::new(&setting.options),
            events: BTreeMap::new(),
            serial: 0,
            last_arrival: [0; 2],
            arrived: VecDeque::new(),
            repeats: Rng::stream(seed, "repeats"),
            rules: Rules::new(&setting),
            setting,
        };
        for i in 0..u64::from(new.setting.bursts) {
            new.push(i * new.setting.pause, Event::Offer);
        }
        new
    }

    /// Runs the connection until all data is acknowledged.
    pub(crate) fn run(mut self) {
        let total = self.setting.burst * self.setting.bursts;
        while self.sender.acknowledged() < total {
            let event = self.events.keys().next().map(|(at, _)| *at);
            let [sends, answers] = [self.sender.deadline(), self.receiver.deadline()].map(|at| at.map(Instant::nanos));
            let next = [event, sends, answers].into_iter().flatten().min().expect("an event or a deadline is pending");
            assert!(next < TIME_LIMIT.nanos(), "the connection ends within the time limit");
            self.now = Instant::from_nanos(next.max(self.now.nanos()));
            if event == Some(next) {
                let (_, event) = self.events.pop_first().unwrap();
                self.happens(event);
            } else if sends == Some(next) {
                let before = self.sender.clone();
                self.sender.on_deadline(self.now);
                self.rules.timer(self.now, &before, &self.sender);
            } else {
                let ack = self.receiver.ack();
                self.answer(ack);
            }
            self.send();
            assert_eq!(self.sender.check(), Ok(()));
        }
        assert_eq!(self.receiver.in_order(), total);
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Data(send, ecn, sent) => {
                let prior = self.receiver.before_data(ecn);
                prior.into_iter().for_each(|ack| self.answer(ack));
                let ack = self.receiver.on_data(self.now, Data::of(send, ecn, self.now.since(sent)));
                ack.into_iter().for_each(|ack| self.answer(ack));
            }
            Event::Ack(ack, blocks) => {
                let before = self.sender.clone();
                self.sender.on_ack(self.now, ack, &blocks);
                self.rules.ack(&before, &self.sender, ack);
                self.arrived.push_back((ack, blocks));
                self.repeat();
            }
            Event::Offer => {
                let before = self.sender.cwnd();
                self.sender.offer(self.now, self.setting.burst);
                self.rules.offered += self.setting.burst;
                assert!(self.sender.cwnd() <= before, "an offer of data does not raise the window");
            }
        }
    }

    /// Sometimes delivers an old acknowledgement again, one below the number that is now acknowledged.
    fn repeat(&mut self) {
        if self.arrived.len() > LATE {
            self.arrived.pop_front();
        }
        let (ack, blocks) = &self.arrived[self.repeats.below(self.arrived.len() as u64) as usize];
        if self.repeats.below(8) > 0 || ack.next >= self.sender.acknowledged() {
            return;
        }
        let before = self.sender.clone();
        self.sender.on_ack(self.now, *ack, blocks);
        self.rules.late(&before, &self.sender, *ack);
    }

    fn send(&mut self) {
        while let Some(send) = self.sender.poll(self.now) {
            self.rules.sends(&self.sender, send);
            if self.rng.uniform() >= self.setting.loss {
                let capable = self.setting.options.ecn_capable();
                let marked = capable && self.rng.uniform() < self.setting.mark;
                let plain = if capable { Ecn::Ect0 } else { Ecn::NotEct };
                let at = self.arrival(0);
                self.push(at, Event::Data(send, if marked { Ecn::Ce } else { plain }, self.now));
            }
        }
        self.rules.pauses(&self.sender);
    }

    fn answer(&mut self, ack: Ack) {
        if self.rng.uniform() >= self.setting.ack_loss {
            let at = self.arrival(1);
            self.push(at, Event::Ack(ack, self.receiver.blocks(ack)));
        }
    }

    /// Arrival time of a packet sent now; acknowledgements keep their order.
    fn arrival(&mut self, way: usize) -> u64 {
        let [least, more] = self.setting.delay;
        let mut at = self.now.nanos() + least + self.rng.below(more);
        if way == 1 || !self.setting.overtakes {
            at = at.max(self.last_arrival[way]);
        }
        self.last_arrival[way] = at;
        at
    }

    fn push(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }
}
