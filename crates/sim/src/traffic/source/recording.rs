//! Recordings of the times and sizes of packets or video frames (items), and their replay.

use std::sync::Arc;

use forebay_aqm::base::time::{Instant, Span};

/// A recording of packets or of video frames. Default: empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recording {
    /// Times since the first item, non-decreasing, and sizes in bytes.
    items: Vec<(Span, u32)>,
    /// Time from one repetition to the next. `new` sets it to the time of the last item plus one mean interval, so that
    /// repetition keeps the mean rate.
    period: Span,
}

impl Recording {
    /// A recording of these items; times are shifted to begin at 0. `None`: there are no items, or a time decreases.
    pub fn new(mut items: Vec<(Span, u32)>) -> Option<Self> {
        let first = items.first()?.0;
        if items.windows(2).any(|pair| pair[0].0 > pair[1].0) {
            return None;
        }
        items.iter_mut().for_each(|item| item.0 = item.0 - first);
        let last = items.last()?.0.nanos();
        let gaps = (items.len() as u64 - 1).max(1);
        let period = Span::from_nanos(last.saturating_add(last / gaps));
        Some(Self { items, period })
    }

    /// For a part of another recording that begins `first` after it: adds `first` to all times, and sets the period to
    /// `period`, that of the other recording. All parts thus repeat with the same period. If the last item is later
    /// than `period`, its time is the period.
    #[must_use]
    pub fn with_period(mut self, first: Span, period: Span) -> Self {
        self.items.iter_mut().for_each(|item| item.0 = item.0 + first);
        self.period = period.max(self.items.last().map_or(Span::ZERO, |item| item.0));
        self
    }

    /// Times since the first item, and sizes in bytes.
    pub fn items(&self) -> &[(Span, u32)] {
        &self.items
    }

    /// Duration of one repetition; zero if all items have the same time.
    pub const fn period(&self) -> Span {
        self.period
    }

    /// Sum of all sizes in bytes.
    pub fn bytes(&self) -> u64 {
        self.items.iter().map(|item| u64::from(item.1)).sum()
    }
}

/// Options of a replay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replay {
    /// The recording.
    pub recording: Arc<Recording>,
    /// Start position in the recording; items before it are played at the end.
    pub from: Span,
    /// Repeat without end, or play once?
    pub repeat: bool,
}

impl Replay {
    /// Upper bounds on the number of packets sent in `secs` seconds, and in any one second. `count`: packets per
    /// repetition. The bounds are equal, because all packets may have nearly the same time.
    pub fn most(&self, count: f64, secs: f64) -> (f64, f64) {
        let round = self.recording.period().secs().max(1e-3);
        let all = count * if self.repeat { (secs / round).max(1.0).ceil() } else { 1.0 };
        (all, all)
    }
}

/// State of a replay.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    replay: Replay,
    /// Start of the current repetition in nanoseconds since the start of the run, modulo 2^64. It may be before the
    /// start of the run.
    round: u64,
    /// Index of the next item.
    at: usize,
    /// Items left; `None`: unlimited.
    left: Option<usize>,
}

impl Player {
    /// A replay before its start.
    pub(crate) const fn new(replay: Replay) -> Self {
        Self { replay, round: 0, at: 0, left: Some(0) }
    }

    /// Starts the replay.
    pub(crate) fn start(&mut self, now: Instant) {
        let Replay { recording, from, repeat } = &self.replay;
        let items = recording.items();
        self.left = if *repeat && recording.period > Span::ZERO { None } else { Some(items.len()) };
        self.round = now.nanos().wrapping_sub(from.nanos());
        self.at = items.partition_point(|item| item.0 < *from);
        self.wrap();
    }

    /// Stops the replay.
    pub(crate) const fn stop(&mut self) {
        self.left = Some(0);
    }

    /// The next item and its time.
    pub(crate) fn next(&self) -> Option<(Instant, u32)> {
        let (at, size) = *self.replay.recording.items().get(self.at).filter(|_| self.left != Some(0))?;
        Some((Instant::from_nanos(self.round.wrapping_add(at.nanos())), size))
    }

    /// Skips the next item.
    pub(crate) fn skip(&mut self) {
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.at += 1;
        self.wrap();
    }

    /// Skips to the next item with a size above 0, if any.
    pub(crate) fn skip_empty(&mut self) {
        for _ in 0..self.replay.recording.items().len() {
            match self.next() {
                Some((_, 0)) => self.skip(),
                _ => return,
            }
        }
        if self.next().is_some_and(|(_, size)| size == 0) {
            self.stop();
        }
    }

    fn wrap(&mut self) {
        let recording = &self.replay.recording;
        if self.at >= recording.items().len() {
            self.at = 0;
            self.round = self.round.wrapping_add(recording.period.nanos());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    fn recording(items: &[(u64, u32)]) -> Option<Recording> {
        Recording::new(items.iter().map(|&(at, size)| (ms(at), size)).collect())
    }

    /// Up to `n` items, with times in milliseconds.
    fn played(items: &[(u64, u32)], from: u64, repeat: bool, n: usize) -> Vec<(u64, u32)> {
        let recording = Arc::new(recording(items).unwrap());
        let mut player = Player::new(Replay { recording, from: ms(from), repeat });
        assert_eq!(player.next(), None, "before the start");
        player.start(Instant::ZERO + ms(10));
        let mut out = Vec::new();
        while let Some((at, size)) = player.next().filter(|_| out.len() < n) {
            out.push((at.nanos() / 1_000_000, size));
            player.skip();
        }
        out
    }

    #[test]
    fn times_count_from_first_item_repetitions_keep_rate() {
        let it = recording(&[(5, 1), (5, 2), (9, 3)]).unwrap();
        assert_eq!(it.items(), [(ms(0), 1), (ms(0), 2), (ms(4), 3)]);
        assert_eq!((it.period(), it.bytes()), (ms(6), 6), "three items per 6 ms, like two gaps in 4 ms");
        assert_eq!(recording(&[(7, 1)]).unwrap().period(), Span::ZERO);
        assert_eq!(recording(&[]), None);
        assert_eq!(recording(&[(2, 1), (1, 1)]), None);
    }

    #[test]
    fn replay_plays_once_or_repeats() {
        let items = [(0, 1), (0, 2), (4, 3)];
        assert_eq!(played(&items, 0, false, 9), [(10, 1), (10, 2), (14, 3)]);
        assert_eq!(played(&items, 0, true, 7), [(10, 1), (10, 2), (14, 3), (16, 1), (16, 2), (20, 3), (22, 1)]);
    }

    #[test]
    fn replay_from_an_offset_plays_every_item_once() {
        let items = [(0, 1), (0, 2), (4, 3)];
        assert_eq!(played(&items, 4, false, 9), [(10, 3), (12, 1), (12, 2)]);
        assert_eq!(played(&items, 5, false, 9), [(11, 1), (11, 2), (15, 3)], "after its last item");
        assert_eq!(played(&items, 1, true, 4), [(13, 3), (15, 1), (15, 2), (19, 3)]);
    }

    #[test]
    fn recording_without_duration_is_not_repeated() {
        assert_eq!(played(&[(3, 1), (3, 2)], 0, true, 9), [(10, 1), (10, 2)]);
    }

    #[test]
    fn empty_items_are_skipped() {
        for (items, next) in [([(0, 0), (4, 3)], Some(14)), ([(0, 0), (4, 0)], None)] {
            let recording = Arc::new(recording(&items).unwrap());
            let mut player = Player::new(Replay { recording, from: Span::ZERO, repeat: true });
            player.start(Instant::ZERO + ms(10));
            player.skip_empty();
            assert_eq!(player.next().map(|(at, _)| at.nanos() / 1_000_000), next);
        }
    }

    /// A part of a recording, for example the packets of one class.
    #[test]
    fn part_keeps_times_and_period_of_complete_recording() {
        let part = recording(&[(0, 1), (3, 2)]).unwrap().with_period(ms(1), ms(10));
        assert_eq!((part.items()[0].0, part.period()), (ms(1), ms(10)));
    }
}
