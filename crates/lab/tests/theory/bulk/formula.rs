//! Formulas for the send rate of a bulk TCP connection (square-root law, PFTK), and under which conditions their
//! assumptions hold.

use forebay_sim::tcp::Variant;
use forebay_theory::tcp::{approximate, full, square_root};

use super::connection::Connection;

/// Largest effect on the rate of one violated assumption where a formula is said to hold.
const SLIGHT: f64 = 0.05;

/// A formula for the send rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Formula {
    SquareRoot,
    Approximate,
    Full,
}

impl Formula {
    pub(crate) const ALL: [Self; 3] = [Self::SquareRoot, Self::Approximate, Self::Full];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SquareRoot => "square root",
            Self::Approximate => "PFTK approximate",
            Self::Full => "PFTK full",
        }
    }

    /// Packets per second.
    pub(crate) fn rate(self, connection: &Connection) -> f64 {
        let rate = match self {
            Self::SquareRoot => square_root,
            Self::Approximate => approximate,
            Self::Full => full,
        };
        rate(&connection.path(), connection.loss)
    }

    /// Whether its assumptions hold, as stated on the page: from the papers alone, without results of the simulation.
    pub(crate) fn holds(self, connection: &Connection) -> bool {
        let (path, p) = (connection.path(), connection.loss);
        let peak = (8.0 / (3.0 * path.per_ack * p)).sqrt();
        // The formulas assume continuous growth; whole packets lack half a packet on average, of 3/4 of the peak.
        let whole_packets = 0.5 / (0.75 * peak);
        // Probability that a loss causes a timeout, by the formula and of the connection.
        let supposed = if self == Self::SquareRoot { 0.0 } else { 3.0 / peak };
        let real = if connection.variant == Variant::RENO { p * (peak + 1.0) } else { p };
        let between_losses = path.rtt * path.per_ack * peak / 2.0;
        let timeouts = (supposed - real).abs() * path.rto / between_losses;
        whole_packets <= SLIGHT && timeouts <= SLIGHT
    }
}
