//! Send rate of a bulk TCP Reno connection with loss probability p: the square-root law, and the model of Padhye,
//! Firoiu, Towsley and Kurose (PFTK).
//!
//! All rates are in packets per second, retransmissions included (the *send rate* of the papers). Losses come in
//! rounds: once a packet of a round is lost, so are the others after it. `loss` is the probability that a packet
//! begins a loss indication, not the fraction of all packets lost.

/// Parameters of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Round-trip time in seconds, > 0, independent of the window.
    pub rtt: f64,
    /// First retransmission timeout (T0) in seconds, > 0.
    pub rto: f64,
    /// Packets per acknowledgement (b): 1, or 2 with delayed acknowledgements.
    pub per_ack: f64,
    /// The receiver's window (W_m) in packets, at least 1; may be infinite.
    pub window: f64,
}

/// The square-root law: 1/RTT sqrt(3 / (2 b p)), Mathis, Semke, Mahdavi and Ott (CCR 27(3), 1997) eq. 3;
/// with PFTK's b. No timeouts, no window limit. 0 < `loss` < 1.
pub fn square_root(path: &Path, loss: f64) -> f64 {
    libm::sqrt(1.5 / (path.per_ack * loss)) / path.rtt
}

/// PFTK's approximate model (SIGCOMM 1998, section 2.3, last equation; ToN 8(2), 2000, likewise):
///
/// min(W_m/RTT, 1/(RTT sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2))). 0 < `loss` < 1.
pub fn approximate(path: &Path, loss: f64) -> f64 {
    let (p, b) = (loss, path.per_ack);
    let timeouts = (3.0 * libm::sqrt(3.0 * b * p / 8.0)).min(1.0) * p * (1.0 + 32.0 * p * p);
    let rate = 1.0 / (path.rtt * libm::sqrt(2.0 * b * p / 3.0) + path.rto * timeouts);
    rate.min(path.window / path.rtt)
}

/// PFTK's full model (SIGCOMM 1998, section 2.3; ToN 8(2), 2000, section II-C): fast retransmits, timeouts
/// with backoff, and the receiver's window. 0 < `loss` < 1.
///
/// With `E[W]` = `mean_peak`, Q = `timeout_share` and f = `backoff`:
///
/// ```text
/// E[W] <  W_m: ((1-p)/p + E[W] + Q(E[W])/(1-p)) / (RTT (b/2 E[W] + 1) + Q(E[W]) T0 f(p)/(1-p))
/// E[W] >= W_m: ((1-p)/p + W_m + Q(W_m)/(1-p)) / (RTT (b/8 W_m + (1-p)/(p W_m) + 2) + Q(W_m) T0 f(p)/(1-p))
/// ```
pub fn full(path: &Path, loss: f64) -> f64 {
    let Cycle { packets, rounds, sequences } = cycle(path, loss);
    packets / (path.rtt * rounds + sequences * path.rto * backoff(loss) / (1.0 - loss))
}

/// Timeouts per packet sent in the full model. All timeouts of a sequence with backoff count: 1/(1-p) on average.
pub fn timeouts(path: &Path, loss: f64) -> f64 {
    let Cycle { packets, sequences, .. } = cycle(path, loss);
    sequences / (1.0 - loss) / packets
}

/// Averages of the full model over the time from one loss indication to the next.
struct Cycle {
    /// Packets sent, retransmissions included.
    packets: f64,
    /// Round trips, without sequences of timeouts.
    rounds: f64,
    /// Q: number of sequences of consecutive timeouts, 0 to 1 on average.
    sequences: f64,
}

fn cycle(path: &Path, loss: f64) -> Cycle {
    let (p, b) = (loss, path.per_ack);
    let peak = mean_peak(p, b);
    let (window, rounds) = if peak < path.window {
        (peak, b / 2.0 * peak + 1.0)
    } else {
        (path.window, b / 8.0 * path.window + (1.0 - p) / (p * path.window) + 2.0)
    };
    let sequences = timeout_share(p, window);
    Cycle { packets: (1.0 - p) / p + window + sequences / (1.0 - p), rounds, sequences }
}

/// `E[W_u]`: mean window in packets at the end of a period without timeouts and without window limit,
/// (2+b)/(3b) + sqrt(8(1-p)/(3bp) + ((2+b)/(3b))^2).
fn mean_peak(p: f64, b: f64) -> f64 {
    let c = (2.0 + b) / (3.0 * b);
    c + libm::sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + c * c)
}

/// Q(w): probability that a loss in a window of `w` packets causes a timeout,
/// min(1, (1-(1-p)^3)(1+(1-p)^3(1-(1-p)^(w-3))) / (1-(1-p)^w)); 3/w for small p.
fn timeout_share(p: f64, w: f64) -> f64 {
    // 1 - (1-p)^k without cancellation.
    let some_of = |k: f64| -libm::expm1(k * libm::log1p(-p));
    let three = some_of(3.0);
    (three * (1.0 + (1.0 - three) * some_of(w - 3.0)) / some_of(w)).min(1.0)
}

/// f(p) = 1 + p + 2p^2 + 4p^3 + 8p^4 + 16p^5 + 32p^6: timeouts double up to 64 T0.
fn backoff(p: f64) -> f64 {
    [32.0, 16.0, 8.0, 4.0, 2.0, 1.0].iter().fold(0.0, |sum, c| (sum + c) * p) + 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path = Path { rtt: 0.1, rto: 0.4, per_ack: 2.0, window: f64::INFINITY };

    fn close(got: f64, want: f64, share: f64) {
        assert!((got / want - 1.0).abs() < share, "{got} against {want}");
    }

    #[test]
    fn square_root_law_matches_values_by_hand() {
        // b = 1, p = 0.015: sqrt(1.5/0.015) = 10 packets per round trip.
        close(square_root(&Path { per_ack: 1.0, ..PATH }, 0.015), 100.0, 1e-12);
        close(square_root(&PATH, 0.0075), 100.0, 1e-12);
    }

    #[test]
    fn approximate_pftk_formula_matches_values_by_hand() {
        // b = 2, p = 0.03: sqrt(2 x 2 x 0.03/3) = 0.2; 3 sqrt(3 x 2 x 0.03/8) = 0.45; 1 + 32 p^2 = 1.0288.
        close(approximate(&PATH, 0.03), 1.0 / (0.02 + 0.4 * 0.45 * 0.03 * 1.0288), 1e-12);
        close(approximate(&Path { window: 3.0, ..PATH }, 0.03), 30.0, 1e-12);
    }

    #[test]
    fn full_pftk_formula_matches_values_by_hand() {
        // b = 1: c = 1; p = 1/5: 8 x 0.8/(3 x 0.2) = 32/3, E[W] = 1 + sqrt(35/3) = 4.41565.
        // (1-p)^3 = 0.512, (1-p)^E[W] = 0.37333, Q = 0.488 (1 + 0.512 - 0.37333)/0.62667 = 0.88671.
        // f = 1 + 0.2 + 0.08 + 0.032 + 0.0128 + 0.00512 + 0.002048 = 1.331968.
        // Packets 4 + 4.41565 + 0.88671/0.8 = 9.52404;
        // time 0.1 x (2.20783 + 1) + 0.88671 x 0.4 x 1.331968/0.8 = 0.911320 s.
        let path = Path { per_ack: 1.0, ..PATH };
        close(mean_peak(0.2, 1.0), 4.41565, 1e-5);
        close(timeout_share(0.2, 4.41565), 0.88671, 1e-4);
        close(backoff(0.2), 1.331968, 1e-12);
        close(full(&path, 0.2), 9.52404 / 0.911_320, 1e-4);
        // 1.108388 timeouts in 9.52404 packets.
        close(timeouts(&path, 0.2), 1.108_388 / 9.52404, 1e-4);
        // With a window of 4: Q = 0.488 (1 + 0.512 x 0.2)/(1 - 0.4096) = 0.911198; packets
        // 4 + 4 + 1.138997 = 9.138997; time 0.1 (0.5 + 1 + 2) + 0.911198 x 0.4 x 1.331968/0.8 = 0.956843 s.
        close(full(&Path { window: 4.0, ..path }, 0.2), 9.138_997 / 0.956_843, 2e-6);
    }

    /// With rare losses timeouts are rare too: all three models agree, up to the window limit.
    #[test]
    fn rare_losses_give_the_square_root_law() {
        for p in [1e-8, 1e-10] {
            close(full(&PATH, p), square_root(&PATH, p), 1e-3);
            close(approximate(&PATH, p), square_root(&PATH, p), 1e-3);
            let limited = Path { window: 20.0, ..PATH };
            close(full(&limited, p), 200.0, 1e-5);
            close(approximate(&limited, p), 200.0, 1e-12);
        }
    }

    /// A loss causes a timeout with a probability of 0 to 1, and always in a window of three packets.
    #[test]
    fn send_rate_falls_with_loss_probability() {
        let mut last = f64::INFINITY;
        for step in 1..=60 {
            let p = libm::exp2(-f64::from(61 - step) / 4.0);
            for w in [1.0, 2.0, 3.0, 10.0, 1e6] {
                assert!((0.0..=1.0).contains(&timeout_share(p, w)), "p {p} w {w}");
            }
            assert!((timeout_share(p, 3.0) - 1.0).abs() < 1e-12, "three packets cannot give three duplicates");
            let rate = full(&PATH, p);
            assert!(rate < last && rate <= square_root(&PATH, p) * 1.2, "p {p}: {rate}");
            last = rate;
        }
        close(timeout_share(1e-9, 30.0), 0.1, 1e-6);
    }
}
