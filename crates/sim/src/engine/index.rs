//! A place in a table, of which there may be none, in four bytes.

use core::num::NonZeroU32;

/// A place in a table of less than 2^32 - 1 entries. `Option<Index>` takes four bytes as well: the number is kept inverted,
/// and the one that would be 0 then stands for `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Index(NonZeroU32);

impl Index {
    /// Entry `at` of a table.
    ///
    /// # Panics
    /// If no table is so large.
    #[inline]
    pub const fn new(at: usize) -> Self {
        assert!(at < u32::MAX as usize, "a table of less than 2^32 - 1 entries");
        match NonZeroU32::new(!(at as u32)) {
            Some(inverted) => Self(inverted),
            None => unreachable!(),
        }
    }

    /// Its number.
    #[inline]
    pub const fn get(self) -> usize {
        !self.0.get() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_takes_no_room() {
        assert_eq!(size_of::<Option<Index>>(), 4);
        assert_eq!([0, 1, u32::MAX as usize - 1].map(|at| Index::new(at).get()), [0, 1, u32::MAX as usize - 1]);
    }
}
