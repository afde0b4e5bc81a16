//! Frames of video: recorded, or random with the pattern of groups of pictures.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::draw::Draw;
use super::source::recording::{Player, Replay};

/// Source of frames.
#[derive(Clone, PartialEq, Debug)]
pub enum Frames {
    /// Frames of a recording, with their times and lengths.
    Recorded(Replay),
    /// Frames of a random model.
    Synthetic(Synthetic),
}

/// Random frames: groups of pictures I B B P B B P ..., with independent lognormal lengths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Synthetic {
    /// Time between frames.
    pub every: Span,
    /// Frames per group, from one I frame to the next.
    pub gop: u32,
    /// Mean length of all frames, in bytes.
    pub mean: f64,
    /// Standard deviation of the logarithm of the length, among frames of one type.
    pub sigma: f64,
}

/// Mean length of a P frame and of an I frame, in mean lengths of a B frame. Not from a publication.
const P_TO_B: f64 = 2.0;
const I_TO_B: f64 = 5.0;
/// Every third frame of a group is an I or P frame.
const SPACING: u32 = 3;
/// Maximum frame length in bytes.
const MAX_FRAME: f64 = (1 << 24) as f64;

impl Synthetic {
    /// Mean length in bytes of the frame at this place in the group.
    fn mean_at(&self, place: u32) -> f64 {
        let weight = |place: u32| match place {
            0 => I_TO_B,
            p if p.is_multiple_of(SPACING) => P_TO_B,
            _ => 1.0,
        };
        let references = f64::from((self.gop - 1) / SPACING);
        let all = I_TO_B + P_TO_B * references + (f64::from(self.gop - 1) - references);
        self.mean * weight(place) * f64::from(self.gop) / all
    }

    fn size(&self, place: u32, rng: &mut Rng) -> u32 {
        let median = self.mean_at(place) * libm::exp(-0.5 * self.sigma * self.sigma);
        Draw::Lognormal { median, sigma: self.sigma, most: MAX_FRAME }.next(rng) as u32
    }
}

/// State of a source of frames.
pub(super) enum Show {
    Recorded(Player),
    Synthetic(Synthetic, Option<(Instant, u32)>, u32),
}

impl Show {
    pub(super) fn new(frames: &Frames) -> Self {
        match frames {
            Frames::Recorded(replay) => Self::Recorded(Player::new(replay.clone())),
            Frames::Synthetic(synthetic) => Self::Synthetic(*synthetic, None, 0),
        }
    }

    /// Starts. A random model starts at a random place of a group. Its first frame comes at a random time within the
    /// interval between frames.
    pub(super) fn start(&mut self, now: Instant, rng: &mut Rng) {
        match self {
            Self::Recorded(player) => player.start(now),
            Self::Synthetic(synthetic, next, place) => {
                *place = rng.below(u64::from(synthetic.gop)) as u32;
                let at = now + Span::from_secs(synthetic.every.secs() * rng.uniform());
                *next = Some((at, synthetic.size(*place, rng)));
            }
        }
        self.skip_empty();
    }

    pub(super) const fn stop(&mut self) {
        match self {
            Self::Recorded(player) => player.stop(),
            Self::Synthetic(_, next, _) => *next = None,
        }
    }

    pub(super) fn next(&self) -> Option<(Instant, u32)> {
        match self {
            Self::Recorded(player) => player.next(),
            Self::Synthetic(_, next, _) => *next,
        }
    }

    pub(super) fn skip(&mut self, rng: &mut Rng) {
        match self {
            Self::Recorded(player) => player.skip(),
            Self::Synthetic(synthetic, next, place) => {
                *place = (*place + 1) % synthetic.gop;
                *next = next.map(|(at, _)| (at + synthetic.every, synthetic.size(*place, rng)));
            }
        }
        self.skip_empty();
    }

    /// Skips frames of length 0.
    fn skip_empty(&mut self) {
        if let Self::Recorded(player) = self {
            player.skip_empty();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the mean length of all frames, and the ratio 5 : 2 : 1 of the mean lengths of I, P and B frames. Lengths
    /// of one type have a coefficient of variation of sqrt(exp(0.3^2) - 1) = 0.31. Over 10,000 groups the mean of the I
    /// frames thus has a standard deviation (sd) of 0.31 %, and the mean of all frames less. Tolerance: 4 sd.
    #[test]
    fn synthetic_frames_have_mean_and_group_pattern() {
        let every = Span::from_millis(40);
        let synthetic = Synthetic { every, gop: 12, mean: 2500.0, sigma: 0.3 };
        let mut rng = Rng::stream(4, "frames");
        let mut show = Show::new(&Frames::Synthetic(synthetic));
        show.start(Instant::ZERO, &mut rng);
        let (groups, mut sums) = (10_000u32, [0.0; 12]);
        let mut last = None;
        for _ in 0..12 * groups {
            let (at, size) = show.next().unwrap();
            assert!(last.is_none_or(|last| at == last + every) && at < Instant::ZERO + every * 200_000);
            last = Some(at);
            let Show::Synthetic(_, _, place) = show else { panic!() };
            sums[place as usize] += f64::from(size);
            show.skip(&mut rng);
        }
        let means = sums.map(|sum| sum / f64::from(groups));
        assert!((means.iter().sum::<f64>() / 12.0 / 2500.0 - 1.0).abs() < 0.0124, "{means:?}");
        let unit = 12.0 * 2500.0 / 19.0;
        for (place, mean) in means.into_iter().enumerate() {
            let weight = [5.0, 1.0, 1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0][place];
            assert!((mean / unit / weight - 1.0).abs() < 0.0124, "{place}: {mean}");
        }
        assert_eq!(Synthetic { gop: 1, ..synthetic }.mean_at(0), 2500.0);
    }
}
