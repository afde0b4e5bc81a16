//! A compact table index: both `Index` and `Option<Index>` take four bytes.

use core::num::NonZeroU32;

/// An index into a table of less than 2^32 - 1 entries. The number is stored inverted, so that it is never 0 and
/// `Option<Index>` takes four bytes too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Index(NonZeroU32);

impl Index {
    /// Index `at`.
    ///
    /// # Panics
    /// If `at` is 2^32 - 1 or more.
    #[inline]
    pub const fn new(at: usize) -> Self {
        assert!(at < u32::MAX as usize, "a table of less than 2^32 - 1 entries");
        match NonZeroU32::new(!(at as u32)) {
            Some(inverted) => Self(inverted),
            None => unreachable!(),
        }
    }

    /// The index.
    #[inline]
    pub const fn get(self) -> usize {
        !self.0.get() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_of_index_takes_four_bytes() {
        assert_eq!(size_of::<Option<Index>>(), 4);
        assert_eq!([0, 1, u32::MAX as usize - 1].map(|at| Index::new(at).get()), [0, 1, u32::MAX as usize - 1]);
    }
}
