//! Fits a Markov-modulated Poisson process (MMPP) to a recording of packets, for use in a scenario.

use forebay_aqm::base::text::show_span;
use forebay_aqm::base::time::Span;
use forebay_theory::fit::{self, NoFit, TwoStates};

use crate::scenario::Recorded;

/// Largest number of phases of the Erlang distribution of packet sizes. Sizes that need more phases are nearly
/// constant, and count as constant.
const MAX_PHASES: f64 = 32.0;

/// A source of packets with the burstiness of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// Times of the source's packets: an MMPP with two states.
    pub arrivals: TwoStates,
    /// Mean packet size in bytes.
    pub packet: u32,
    /// Number of phases of an Erlang distribution with about the variance of the recorded packet sizes; `None` for
    /// constant sizes.
    pub erlang: Option<u8>,
}

/// Fits a two-state MMPP and a distribution of packet sizes to the recording, with the packets of all service classes
/// together. The number of arrivals in windows of length `short` and `long` has the mean and the variance of the
/// recording. In windows of length `long` it also has the same third moment, unless that would need a negative rate.
pub fn of(recorded: &Recorded, short: Span, long: Span) -> Result<Fitted, NoFit> {
    let times: Vec<f64> = recorded.items.iter().map(|item| item.at.secs()).collect();
    let arrivals = fit::two_states(&fit::counts(&times, short.secs(), long.secs())?)?;
    let n = recorded.items.len() as f64;
    let mean = recorded.items.iter().map(|item| f64::from(item.size)).sum::<f64>() / n;
    let squares = recorded.items.iter().map(|item| (f64::from(item.size) - mean).powi(2)).sum::<f64>();
    let phases = (mean * mean * n / squares).round().max(1.0);
    let erlang = (phases <= MAX_PHASES).then_some(phases as u8);
    Ok(Fitted { arrivals, packet: mean.round() as u32, erlang })
}

impl Fitted {
    /// The keys of a `[[flows]]` table with this source, apart from `name`, as lines of a scenario file.
    pub fn keys(&self) -> String {
        let [busy, idle] = self.arrivals.rates;
        let [long, short] = self.arrivals.mean_s.map(|mean| show_span(Span::from_secs(mean)));
        let erlang = self.erlang.map_or_else(String::new, |phases| format!("erlang = {phases}\n"));
        format!(
            "kind = \"mmpp\"\npacket = {}\n{erlang}rates = [\"{busy}/s\", \"{idle}/s\"]\n\
             sojourns = [\"{long}\", \"{short}\"]\n",
            self.packet
        )
    }
}
