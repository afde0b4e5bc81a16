//! Named access networks: properties of the last hop to a wireless station. docs/access-networks.md has the
//! sources.

use crate::declare::{Key, may, schema};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Limit, Rate};
use forebay_sim::levels::Levels;
use forebay_sim::loss::LossModel;

/// Properties of a last hop, for either direction.
#[derive(Debug)]
pub(super) struct Preset {
    /// Name in scenarios.
    name: &'static str,
    /// Rates that it switches between, in bit/s of IP packets.
    rates: &'static [u64],
    /// Mean time between two switches.
    hold: Span,
    /// One-way delay, including the base station.
    pub(super) delay: Span,
    /// Buffer of the base station and of the station.
    pub(super) queue: Limit,
    /// Gilbert-Elliott loss without losses in the good state: per packet, the probabilities to enter the bad
    /// state, to leave it, and to lose a packet in it.
    loss: [f64; 3],
}

/// The key that selects an access network.
pub(super) const PRESET: Key = may(
    "preset",
    || schema::word(&PRESETS.each_ref().map(|preset| preset.name)),
    "An access network; sets the defaults of the other keys.",
);

static PRESETS: [Preset; 5] = [
    // IEEE 802.11g at 6, 12, 24, 36 and 54 Mbit/s, less the MAC overhead for packets of 1500 bytes.
    Preset {
        name: "wifi",
        rates: &[5_400_000, 10_000_000, 17_600_000, 23_600_000, 30_500_000],
        hold: Span::from_millis(5000),
        delay: Span::from_millis(2),
        queue: Limit::Packets(100),
        loss: [0.0005, 0.2, 0.5],
    },
    // IEEE 802.11b at 1, 2, 5.5 and 11 Mbit/s, less the MAC overhead for packets of 1500 bytes.
    Preset {
        name: "wifi-b",
        rates: &[910_000, 1_730_000, 3_940_000, 6_230_000],
        hold: Span::from_millis(5000),
        delay: Span::from_millis(3),
        queue: Limit::Packets(100),
        loss: [0.0005, 0.2, 0.5],
    },
    // IEEE 802.16e, 10 MHz, PUSC: 720 subcarriers, 28 symbols per frame of 5 ms, 1 to 4 bits each.
    Preset {
        name: "wimax",
        rates: &[4_032_000, 8_064_000, 12_096_000, 16_128_000],
        hold: Span::from_millis(2000),
        delay: Span::from_millis(20),
        queue: Limit::Packets(100),
        loss: [0.0005, 0.1, 0.3],
    },
    // UMTS release 99: the interactive and background bearers of 3GPP TS 34.108.
    Preset {
        name: "umts",
        rates: &[64_000, 128_000, 384_000],
        hold: Span::from_millis(10_000),
        delay: Span::from_millis(75),
        queue: Limit::Packets(50),
        loss: [0.0002, 0.1, 0.5],
    },
    // HSDPA of UMTS release 5: transport blocks of CQI 10, 15, 18 and 22 in 3GPP TS 25.214 table 7A, one every
    // 2 ms.
    Preset {
        name: "hsdpa",
        rates: &[631_000, 1_659_500, 2_332_000, 3_584_000],
        hold: Span::from_millis(500),
        delay: Span::from_millis(35),
        queue: Limit::Packets(100),
        loss: [0.0005, 0.1, 0.3],
    },
];

impl Preset {
    /// All presets by name.
    pub(super) fn all() -> Vec<(&'static str, &'static Self)> {
        PRESETS.iter().map(|preset| (preset.name, preset)).collect()
    }

    /// How the rate varies.
    pub(super) fn levels(&self) -> Levels {
        Levels { rates: self.rates.iter().map(|&rate| Rate(rate)).collect(), hold: self.hold }
    }

    /// Residual loss after link-layer retransmissions.
    pub(super) const fn losses(&self) -> LossModel {
        let [p, r, bad] = self.loss;
        LossModel::GilbertElliott { p, r, bad, good: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(name: &str) -> &'static [u64] {
        PRESETS.iter().find(|preset| preset.name == name).map_or(&[], |preset| preset.rates)
    }

    #[test]
    fn access_network_presets_lose_less_than_one_percent() {
        assert!(PRESETS.iter().all(|preset| preset.losses().is_sound() && preset.losses().mean() < 0.01));
    }

    /// Checks that each rate is 1500 bytes per time in `micros` (in us), with a tolerance of 1 %. The time is how long
    /// a packet of 1500 bytes occupies the medium. The callers compute it with the mean backoff, which is half the
    /// smallest contention window. They count 36 bytes more for headers and checksum of MAC and LLC.
    fn takes(rates: &[u64], micros: &[f64]) {
        assert_eq!(rates.len(), micros.len());
        for (rate, micros) in rates.iter().zip(micros) {
            let exact = 12_000.0 / micros * 1e6;
            assert!((*rate as f64 / exact - 1.0).abs() < 0.01, "{rate} for {exact}");
        }
    }

    /// Times of IEEE 802.11g: slot 9 us, SIFS 10 us, DIFS 28 us, preamble 20 us, symbol 4 us, signal extension 6 us.
    /// The smallest contention window is 15 slots. A frame has 16 + 6 additional bits (SERVICE field and tail). The
    /// acknowledgement has 14 bytes and is sent at the highest basic rate.
    #[test]
    fn wifi_rates_match_802_11g_frame_times() {
        let frame = |bits: f64, bytes: f64| 20.0 + 4.0 * ((22.0 + 8.0 * bytes) / bits).ceil() + 6.0;
        let each = [(24.0, 24.0), (48.0, 48.0), (96.0, 96.0), (144.0, 96.0), (216.0, 96.0)];
        let micros = each.map(|(data, ack)| 28.0 + 7.5 * 9.0 + frame(data, 1536.0) + 10.0 + frame(ack, 14.0));
        takes(rates("wifi"), &micros);
    }

    /// Times of IEEE 802.11b: slot 20 us, SIFS 10 us, DIFS 50 us, long preamble 192 us. The smallest contention window
    /// is 31 slots. The acknowledgement is sent at 1 or 2 Mbit/s.
    #[test]
    fn wifi_b_rates_match_802_11b_frame_times() {
        let frame = |rate: f64, bytes: f64| 192.0 + 8.0 * bytes / rate;
        let each = [(1.0, 1.0), (2.0, 2.0), (5.5, 2.0), (11.0, 2.0)];
        let micros = each.map(|(data, ack)| 50.0 + 15.5 * 20.0 + frame(data, 1536.0) + 10.0 + frame(ack, 14.0));
        takes(rates("wifi-b"), &micros);
    }

    #[test]
    fn wimax_and_hsdpa_rates_match_bits_per_frame() {
        assert!(rates("wimax").iter().zip(1..).all(|(rate, bits)| *rate == 720 * 28 * bits * 200));
        assert!(rates("hsdpa").iter().zip([1262, 3319, 4664, 7168]).all(|(rate, bits)| *rate == bits * 500));
    }
}
