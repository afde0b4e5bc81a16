//! A live video encoder whose target rate changes, and the rate shaping buffer behind it (RFC 8698 section 5.2). The
//! model of the encoder is that of RFC 8867 section 4.3 in a simple form: the next frame has the new rate, and the rate
//! varies by at most 5 %.

use std::collections::VecDeque;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::nada::Sender;
use super::rtp::HEADERS;

/// Maximum deviation of the encoder's rate from its target, as a fraction of it.
const VARIATION: f64 = 0.05;
/// The rate deviates for this long, then by another random fraction.
const PERIOD: Span = Span::from_millis(1000);

/// An encoder and its rate shaping buffer.
pub(super) struct Encoder {
    /// Time between frames.
    every: Span,
    /// Maximum length of a packet on the wire in bytes.
    packet: u16,
    /// When the next frame comes; `None` before the start and after the stop.
    frame: Option<Instant>,
    /// Rate as a multiple of the target, and until when.
    factor: (f64, Instant),
    /// Lengths on the wire of the packets in the rate shaping buffer, and their sum.
    buffer: VecDeque<u16>,
    buffer_len: u64,
    /// When the next packet may leave the buffer.
    free: Instant,
}

impl Encoder {
    /// An encoder before its start; `packet`: maximum length of a packet on the wire in bytes.
    pub(super) fn new(fps: f64, packet: u16) -> Self {
        Self {
            every: Span::from_secs(1.0 / fps),
            packet: packet.max(HEADERS + 1),
            frame: None,
            factor: (1.0, Instant::ZERO),
            buffer: VecDeque::new(),
            buffer_len: 0,
            free: Instant::ZERO,
        }
    }

    /// Starts. The first frame comes at a random time within the interval between frames.
    pub(super) fn start(&mut self, now: Instant, rng: &mut Rng) {
        self.frame = Some(now + Span::from_secs(self.every.secs() * rng.uniform()));
        self.factor.1 = now;
    }

    /// Stops. The packets in the buffer are discarded.
    pub(super) fn stop(&mut self) {
        self.frame = None;
        self.buffer.clear();
        self.buffer_len = 0;
    }

    /// When the next packet is due.
    pub(super) fn next(&self) -> Option<Instant> {
        if self.buffer.is_empty() { self.frame.map(|at| at.max(self.free)) } else { Some(self.free) }
    }

    /// Puts the frames up to `now` into the buffer. Call it before the rate of `sender` changes.
    pub(super) fn encode(&mut self, now: Instant, sender: &Sender, rng: &mut Rng) {
        while let Some(at) = self.frame.filter(|at| *at <= now) {
            while self.factor.1 <= at {
                let factor = 1.0 + VARIATION * (2.0 * rng.uniform() - 1.0);
                self.factor = (factor, self.factor.1 + PERIOD);
            }
            let rate = sender.r_vin(self.buffer_len) * self.factor.0;
            self.cut(libm::round(rate * self.every.secs() / 8.0) as u32);
            self.frame = Some(at + self.every);
        }
    }

    /// Puts the packets of a frame of `bytes` into the buffer, headers included. The last one has at least a byte of payload,
    /// so up to 40 bytes more than the frame may be sent.
    fn cut(&mut self, mut bytes: u32) {
        loop {
            let len = bytes.clamp(u32::from(HEADERS) + 1, u32::from(self.packet)) as u16;
            self.buffer.push_back(len);
            self.buffer_len += u64::from(len);
            bytes = bytes.saturating_sub(u32::from(len));
            if bytes == 0 {
                return;
            }
        }
    }

    /// Sends the packet that is due. Returns its length on the wire in bytes.
    pub(super) fn send(&mut self, now: Instant, sender: &Sender) -> u16 {
        let rate = sender.r_send(self.buffer_len);
        let len = self.buffer.pop_front().unwrap_or(HEADERS + 1);
        self.buffer_len = self.buffer_len.saturating_sub(u64::from(len));
        self.free = now + Span::from_secs(8.0 * f64::from(len) / rate);
        len
    }
}

#[cfg(test)]
mod tests {
    use super::super::nada::Nada;
    use super::*;

    /// At RMIN = 150 kbit/s and 25 frames per second a frame has 150000/8/25 = 750 bytes, at most 5 % more or less.
    #[test]
    fn frame_size_follows_target_within_five_percent() {
        let sender = Sender::new(Nada { fps: 25.0, ..Nada::default() }, Span::from_millis(100));
        let mut rng = Rng::stream(1, "encoder");
        let mut encoder = Encoder::new(25.0, 1200);
        encoder.start(Instant::ZERO, &mut rng);
        let mut sizes = Vec::new();
        for _ in 0..1000 {
            let now = encoder.next().unwrap();
            encoder.encode(now, &sender, &mut rng);
            sizes.push(encoder.send(now, &sender));
        }
        // The bounds are the lengths after rounding, 712.5 and 787.5. 25 frames in a row have the same size.
        assert!(sizes.iter().all(|size| (712..=788).contains(size)), "{sizes:?}");
        let distinct = sizes.chunk_by(|a, b| a == b).count();
        assert!((35..=41).contains(&distinct), "{distinct}");
        let mean = sizes.iter().map(|size| f64::from(*size)).sum::<f64>() / 1000.0;
        // 40 periods: the mean has a standard deviation of 750 * 0.05 / sqrt(3 * 40) = 3.4.
        assert!((mean - 750.0).abs() < 4.0 * 3.4, "{mean}");
    }

    /// At 150 kbit/s and 5 frames per second a frame has 3750 bytes, at most 5 % more or less, and is sent as packets of
    /// 1000 bytes and a rest. With a buffer of b bytes the rate is 150000 + 0.1 * 8 * b * 5 = 150000 + 4 b bit/s.
    #[test]
    fn packets_leave_the_buffer_at_its_rate() {
        let sender = Sender::new(Nada { fps: 5.0, ..Nada::default() }, Span::from_millis(100));
        let mut rng = Rng::stream(2, "encoder");
        let mut encoder = Encoder::new(5.0, 1000);
        encoder.start(Instant::ZERO, &mut rng);
        let first = encoder.next().unwrap();
        assert!(first < Instant::ZERO + Span::from_millis(200));
        encoder.encode(first, &sender, &mut rng);
        let bytes = encoder.buffer_len;
        assert!((3562..=3938).contains(&bytes), "{bytes}");
        let sent: Vec<(Instant, u16)> = (0..4)
            .map(|_| {
                let now = encoder.next().unwrap();
                (now, encoder.send(now, &sender))
            })
            .collect();
        assert_eq!(sent.iter().map(|(_, len)| u64::from(*len)).sum::<u64>(), bytes);
        assert_eq!([sent[0].1, sent[1].1, sent[2].1], [1000; 3]);
        let waits: Vec<f64> = sent.windows(2).map(|pair| pair[1].0.since(pair[0].0).secs()).collect();
        for (n, wait) in waits.into_iter().enumerate() {
            let rate = 150_000.0 + 4.0 * (bytes as f64 - 1000.0 * n as f64);
            assert!((wait - 8000.0 / rate).abs() < 1e-8, "{n}: {wait}");
        }
        encoder.stop();
        assert_eq!(encoder.next(), None);
    }
}
