//! Tins: the priority classes, their share of the rate, and the tin of each DSCP.

use crate::choice;

choice! {
    /// The number of tins and the tin of each DSCP.
    pub enum Tins {
        /// One tin.
        BestEffort = "besteffort",
        /// Bulk, best effort and voice.
        Diffserv3 = "diffserv3",
        /// Bulk, best effort, video and voice.
        Diffserv4 = "diffserv4",
        /// Eight tins, each with 7/8 of the rate of the one before.
        Diffserv8 = "diffserv8",
        /// A tin for each of the eight class selectors.
        Precedence = "precedence",
    }
}

/// Most tins.
pub(super) const MAX_TINS: usize = 8;

/// The tin of each DSCP in a mode.
pub(super) type Index = [u8; 64];

const fn set(mut index: Index, tin: u8, codepoints: &[u8]) -> Index {
    let mut at = 0;
    while at < codepoints.len() {
        index[codepoints[at] as usize] = tin;
        at += 1;
    }
    index
}

const LE: u8 = 1;
const TOS2: u8 = 2;
const TOS4: u8 = 4;
const CS1: u8 = 8;
const AF1: [u8; 3] = [10, 12, 14];
const CS2: u8 = 16;
const AF2: [u8; 3] = [18, 20, 22];
const CS3: u8 = 24;
const AF3: [u8; 3] = [26, 28, 30];
const CS4: u8 = 32;
const AF4: [u8; 3] = [34, 36, 38];
const CS5: u8 = 40;
const VA: u8 = 44;
const EF: u8 = 46;
const CS6: u8 = 48;
const CS7: u8 = 56;

const fn diffserv3() -> Index {
    set(set([0; 64], 1, &[LE, CS1]), 2, &[TOS4, VA, EF, CS6, CS7])
}

const fn diffserv4() -> Index {
    let index = set(set([0; 64], 1, &[LE, CS1]), 2, &[TOS4, CS2, CS3]);
    let index = set(set(set(index, 2, &AF2), 2, &AF3), 2, &AF4);
    set(index, 3, &[CS4, CS5, VA, EF, CS6, CS7])
}

const fn diffserv8() -> Index {
    let index = set(set([2; 64], 0, &[LE]), 1, &[TOS2, CS1]);
    let index = set(set(index, 1, &AF1), 3, &[CS3]);
    let index = set(set(set(index, 3, &AF3), 3, &AF4), 4, &[TOS4]);
    let index = set(set(index, 4, &AF2), 5, &[CS2]);
    set(set(index, 6, &[CS4, CS5, VA, EF]), 7, &[CS6, CS7])
}

const fn precedence() -> Index {
    let mut index = [0; 64];
    let mut at = 0;
    while at < 64 {
        index[at] = at as u8 / 8;
        at += 1;
    }
    index
}

static BEST_EFFORT: Index = [0; 64];
static DIFFSERV3: Index = diffserv3();
static DIFFSERV4: Index = diffserv4();
static DIFFSERV8: Index = diffserv8();
static PRECEDENCE: Index = precedence();

/// A tin's threshold in bytes per second (0: unlimited), and the bytes of its turn if there is no limit.
pub(super) type Share = (u64, i32);

impl Tins {
    /// The number of tins.
    pub(super) const fn count(self) -> usize {
        match self {
            Self::BestEffort => 1,
            Self::Diffserv3 => 3,
            Self::Diffserv4 => 4,
            Self::Diffserv8 | Self::Precedence => MAX_TINS,
        }
    }

    /// The tin of each DSCP.
    pub(super) const fn index(self) -> &'static Index {
        match self {
            Self::BestEffort => &BEST_EFFORT,
            Self::Diffserv3 => &DIFFSERV3,
            Self::Diffserv4 => &DIFFSERV4,
            Self::Diffserv8 => &DIFFSERV8,
            Self::Precedence => &PRECEDENCE,
        }
    }

    /// The shares of the tins at `rate` bytes per second (0: unlimited): `cake_config_*`.
    pub(super) fn shares(self, rate: u64) -> [Share; MAX_TINS] {
        let mut shares = [(rate, 65_535); MAX_TINS];
        match self {
            Self::BestEffort => {}
            Self::Diffserv3 => {
                shares[..3].copy_from_slice(&[(rate, 1024), (rate >> 4, 64), (rate >> 2, 256)]);
            }
            Self::Diffserv4 => {
                shares[..4].copy_from_slice(&[(rate, 1024), (rate >> 4, 64), (rate >> 1, 512), (rate >> 2, 256)]);
            }
            Self::Diffserv8 | Self::Precedence => {
                let (mut rate, mut quantum) = (rate, 256);
                for share in &mut shares {
                    *share = (rate, quantum.max(1));
                    (rate, quantum) = ((rate * 7) >> 3, (quantum * 7) >> 3);
                }
            }
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::dscp;

    /// The tins of the codepoints with these names.
    fn of(tins: Tins, names: &str) -> alloc::vec::Vec<u8> {
        names.split(' ').map(|name| tins.index()[usize::from(dscp::parse(name).unwrap())]).collect()
    }

    #[test]
    fn codepoints_select_the_tins_of_linux() {
        assert_eq!(of(Tins::Diffserv3, "cs0 le cs1 4 va ef cs6 cs7 cs2 cs5 af41"), [0, 1, 1, 2, 2, 2, 2, 2, 0, 0, 0]);
        assert_eq!(of(Tins::Diffserv4, "cs0 le cs1 4 cs2 af21 cs3 af33 af42"), [0, 1, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!(of(Tins::Diffserv4, "cs4 cs5 va ef cs6 cs7 af11 2 63"), [3, 3, 3, 3, 3, 3, 0, 0, 0]);
        assert_eq!(of(Tins::Diffserv8, "le 2 cs1 af12 cs0 5 cs3 af31 af43"), [0, 1, 1, 1, 2, 2, 3, 3, 3]);
        assert_eq!(of(Tins::Diffserv8, "4 af23 cs2 cs4 cs5 va ef cs6 cs7"), [4, 4, 5, 6, 6, 6, 6, 7, 7]);
        assert_eq!(of(Tins::Precedence, "cs0 7 cs1 ef cs7 63"), [0, 0, 1, 5, 7, 7]);
        assert_eq!(of(Tins::BestEffort, "cs7 cs1"), [0, 0]);
        assert!([Tins::Diffserv3, Tins::Diffserv4, Tins::Diffserv8, Tins::Precedence].iter().all(|tins| {
            let most = tins.index().iter().max().map(|tin| usize::from(*tin));
            most == Some(tins.count() - 1)
        }));
    }

    #[test]
    fn shares_are_shifts_of_the_rate() {
        assert_eq!(Tins::Diffserv3.shares(1_250_000)[..3], [(1_250_000, 1024), (78_125, 64), (312_500, 256)]);
        assert_eq!(Tins::Diffserv4.shares(1_250_000)[2..4], [(625_000, 512), (312_500, 256)]);
        let eight = Tins::Precedence.shares(2_500_000).map(|(rate, _)| rate * 8);
        assert_eq!(eight[..4], [20_000_000, 17_500_000, 15_312_496, 13_398_432]);
    }
}
