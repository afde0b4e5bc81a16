//! The effort levels of `forebay reproduce` (`--quick`, normal and `--full`), and their numbers of seeds.

use serde::Deserialize;

/// Effort of a reproduction: its number of seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// A few seeds; verdicts are provisional.
    Quick,
    /// The level without `--quick` and `--full`.
    Normal,
    /// As many seeds as the paper used, or enough for narrow confidence intervals.
    Full,
}

impl Level {
    /// Seeds per contender (compared discipline), unless `claims.toml` of the paper gives another number.
    pub const fn seeds(self) -> u64 {
        match self {
            Self::Quick => 3,
            Self::Normal => 10,
            Self::Full => 30,
        }
    }

    /// Name in result files, which never changes.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Normal => "normal",
            Self::Full => "full",
        }
    }
}

/// `seeds = { quick = 2, normal = 5, full = 50 }` in `claims.toml`, for all experiments of a paper or for one of them
/// (a `[[section]]`).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// Number of seeds with `--quick`.
    pub quick: Option<u64>,
    /// Number of seeds without `--quick` and `--full`.
    pub normal: Option<u64>,
    /// Number of seeds with `--full`.
    pub full: Option<u64>,
}

impl Seeds {
    /// The number of seeds that the table gives for this level.
    pub const fn at(self, level: Level) -> Option<u64> {
        match level {
            Level::Quick => self.quick,
            Level::Normal => self.normal,
            Level::Full => self.full,
        }
    }

    /// Whether every number of seeds is from 1 to 100,000.
    pub fn is_sound(self) -> bool {
        [self.quick, self.normal, self.full].into_iter().flatten().all(|n| (1..=100_000).contains(&n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_level_gives_no_seed_count() {
        let seeds = Seeds { quick: Some(2), full: Some(50), ..Seeds::default() };
        assert_eq!([Level::Quick, Level::Normal, Level::Full].map(|level| seeds.at(level)), [Some(2), None, Some(50)]);
        assert!(seeds.is_sound());
        assert!(!Seeds { normal: Some(0), ..seeds }.is_sound());
    }
}
