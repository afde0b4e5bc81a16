//! Parameters of a random connection.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Span;
use forebay_sim::tcp::{AccEcn, Stack, TcpOptions, Variant};

use crate::common::RECORDED;

/// A connection and its path, drawn from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) options: TcpOptions,
    /// Probabilities that data and acknowledgements are lost, and that data is marked.
    pub(crate) loss: f64,
    pub(crate) ack_loss: f64,
    pub(crate) mark: f64,
    /// One-way delay: constant part, and largest random addition.
    pub(crate) delay: [u64; 2],
    /// Whether packets may be reordered.
    pub(crate) overtakes: bool,
    /// Packets per write, number of writes, and pause between them in ns.
    pub(crate) burst: u32,
    pub(crate) bursts: u32,
    pub(crate) pause: u64,
}

impl Setting {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "setting");
        let variant = Variant::WORDS[rng.below(RECORDED as u64) as usize].1;
        let mut chance = |n: u64| rng.below(n) == 0;
        let [ecn, pacing, idle_restart, delayed_ack, limited_transmit] =
            [chance(2), chance(4), !chance(4), chance(3), chance(2)];
        let [no_loss, no_ack_loss, no_mark, all_marked, overtakes] =
            [chance(3), chance(2), chance(4), chance(12), chance(3)];
        let ms = |rng: &mut Rng, most| Span::from_millis(1 + rng.below(most));
        let min_rto = ms(&mut rng, 300);
        let options = TcpOptions {
            variant,
            initial_window: 1 + rng.below(12) as u32,
            window: (rng.below(3) == 0).then(|| 1 + rng.below(30) as u32),
            delayed_ack,
            limited_transmit,
            min_rto,
            max_rto: min_rto + ms(&mut rng, 20_000),
            tick: ms(&mut rng, 20),
            ecn,
            pacing,
            idle_restart,
            initial_rto: [None, Some(Span::from_millis(500))][usize::from(overtakes)],
            ..TcpOptions::default()
        };
        let mut share = |most: f64, zero: bool| if zero { 0.0 } else { most * rng.uniform() };
        let (loss, ack_loss) = (share(0.3, no_loss), share(0.3, no_ack_loss));
        let mark = if all_marked { 1.0 } else { share(0.5, no_mark) };
        let delay = [100_000 + rng.below(100_000_000), 1 + rng.below(30_000_000)];
        let (burst, bursts) = (1 + rng.below(200) as u32, 1 + rng.below(4) as u32);
        Self { options, loss, ack_loss, mark, delay, overtakes, burst, bursts, pause: rng.below(3_000_000_000) }
    }

    /// With the control `variant` on `stack`, and accurate feedback of marks for some seeds.
    pub(crate) fn of(variant: Variant, stack: Option<Stack>, seed: u64) -> Self {
        let mut setting = Self::new(seed);
        let accecn = [AccEcn::Off, AccEcn::Field, AccEcn::Option][(seed % 3) as usize];
        let ect_retransmissions = Some(seed.is_multiple_of(2));
        setting.options = TcpOptions { variant, stack, accecn, ect_retransmissions, ..setting.options };
        setting
    }
}
