//! Bundles: flows that are measured together. Each bundle has a service class; some disciplines
//! treat the packets of each class differently.

/// The service class of each bundle.
#[derive(Clone, Debug)]
pub struct Bundles(Box<[u8; 256]>);

impl Bundles {
    /// The service class of every bundle has the same number as the bundle.
    pub fn classes() -> Self {
        Self::of(core::iter::empty())
    }

    /// The service classes of these (bundle, class) pairs. If a bundle occurs twice, the later pair counts. Any other
    /// bundle has the class with its own number.
    pub fn of(pairs: impl Iterator<Item = (u8, u8)>) -> Self {
        let mut classes = Box::new(core::array::from_fn(|bundle| bundle as u8));
        pairs.for_each(|(bundle, class)| classes[usize::from(bundle)] = class);
        Self(classes)
    }

    /// The service class of a bundle.
    #[inline]
    pub fn class(&self, bundle: u8) -> u8 {
        self.0[usize::from(bundle)]
    }
}
