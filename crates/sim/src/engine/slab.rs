//! A growable table of `Copy` records that reuses free places.

/// Records; each keeps its place until it is removed.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    records: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy + Default> Slab<T> {
    /// An empty slab.
    pub const fn new() -> Self {
        Self { records: Vec::new(), free: Vec::new() }
    }

    /// Number of records.
    pub const fn len(&self) -> usize {
        self.records.len() - self.free.len()
    }

    /// Is the slab empty?
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a record and returns its place.
    #[inline]
    pub fn insert(&mut self, record: T) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.records.push(T::default());
            (self.records.len() - 1) as u32
        });
        self.records[place as usize] = record;
        place
    }

    /// Removes the record at `place`, which may then be reused.
    #[inline]
    pub fn remove(&mut self, place: u32) -> &T {
        self.free.push(place);
        &self.records[place as usize]
    }
}

impl<T: Copy + Default> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_places_are_reused() {
        let mut slab = Slab::new();
        let places = [7, 8, 9].map(|record| slab.insert(record));
        assert_eq!((*slab.remove(places[1]), slab.len()), (8, 2));
        assert_eq!((slab.insert(5), slab.len()), (places[1], 3));
        assert_eq!(places.map(|place| *slab.remove(place)), [7, 5, 9]);
        assert!(slab.is_empty());
    }
}
