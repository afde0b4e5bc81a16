//! A bulk TCP connection over a path with random losses: its parameters and its simulation.

use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Limit, Rate};
use forebay_lab::stats::Interval;
use forebay_sim::loss::LossModel;
use forebay_sim::network::{Conditions, Lane, Network, Traffic};
use forebay_sim::tcp::{TcpOptions, Variant};
use forebay_sim::world::World;
use forebay_theory::tcp::Path;
use rayon::prelude::*;

use crate::theory::pair::pair;

/// The round trip is twice this; transmission of a window, 4 us per packet, adds less than 1 %.
const DELAY: Span = Span::from_millis(50);
/// Minimum timeout of RFC 6298. Round trips last 100 to 200 ms (with a delayed acknowledgement), so it is T0.
const RTO: Span = Span::from_millis(1000);

/// A bulk connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    pub(crate) variant: Variant,
    /// Whether the receiver acknowledges every second packet.
    pub(crate) delayed: bool,
    /// Probability p that a data packet is lost on the wire.
    pub(crate) loss: f64,
}

/// Measurements.
pub(crate) struct Figures {
    /// Packets per second, retransmissions included.
    pub(crate) rate: Interval,
    /// Timeouts per packet sent.
    pub(crate) timeouts: Interval,
}

impl Connection {
    /// In the terms of the formulas.
    pub(crate) fn path(&self) -> Path {
        let per_ack = if self.delayed { 2.0 } else { 1.0 };
        Path { rtt: (DELAY * 2).secs(), rto: RTO.secs(), per_ack, window: f64::INFINITY }
    }

    /// Means over the seeds 1 to `seeds`.
    pub(crate) fn measured(&self, seeds: u64) -> Figures {
        let net = self.network();
        let of_run = |seed| {
            let sender = World::new(&net, seed).unwrap().run(&mut ()).unwrap().flows[0].sender;
            (sender.sent as f64 / net.duration.secs(), sender.timeouts as f64 / sender.sent as f64)
        };
        let (rates, timeouts): (Vec<_>, Vec<_>) = (1..=seeds).into_par_iter().map(of_run).unzip();
        Figures { rate: Interval::of(&rates), timeouts: Interval::of(&timeouts) }
    }

    fn network(&self) -> Network {
        let link = |name: &str, loss| {
            let plain = Lane::plain(Rate(1_000_000_000), DELAY, Limit::Packets(1_000_000));
            Lane { conditions: Conditions { loss, ..Conditions::default() }, ..plain }.link(name, 500)
        };
        // With timeouts many seconds have few packets, and runs differ more.
        let duration = Span::from_secs(1500.0 * (self.loss / 0.01).max(1.0));
        let links = vec![link("there", Some(LossModel::Bernoulli(self.loss))), link("back", None)];
        pair(links, Traffic::Tcp(self.options()), 500, [Span::ZERO, duration])
    }

    /// The formulas are older than limited transmit; their timeouts double up to 64 T0. Without the receiver's window
    /// BBR, which ignores loss, would fill the link; no other control comes near it.
    fn options(&self) -> TcpOptions {
        TcpOptions {
            variant: self.variant,
            delayed_ack: self.delayed,
            limited_transmit: false,
            min_rto: RTO,
            max_rto: RTO * 64,
            window: (self.variant == Variant::BBR).then_some(64),
            ..TcpOptions::default()
        }
    }
}
