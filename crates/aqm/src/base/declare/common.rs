//! What every discipline has beside its own parameters.

use alloc::string::String;

use crate::base::params::{Auto, ParamSet};
use crate::base::threshold::Steps;
use crate::base::units::{Limit, Link};
use crate::params;

params! {
    /// Parameters that every discipline takes.
    pub struct Common {
        /// Mark ECT packets instead of dropping them.
        ecn: bool = true, in 0.0 ..= 1.0, "ecn", "RFC 3168";
        /// Threshold marker in front: above this share of the buffer arrivals are signalled, at a full one all.
        th: Steps = Steps::default(), in 0.0 ..= 1.0, "th", "AAQM eq. 18";
        /// Buffer of this discipline instead of the link's.
        hard_limit: Auto<Limit> = Auto::Auto, in 0.0 ..= 1e9, "limit", "tc's limit; ours where it is not the link's";
    }
}

impl Common {
    /// `link` with this discipline's own buffer, if it has one.
    pub fn link(&self, link: &Link) -> Link {
        Link { limit: self.hard_limit.or(link.limit), ..*link }
    }

    /// What of it is worth writing: ECN, and what is not the default.
    pub fn written(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let all = Self::SPECS.iter().map(|spec| (spec, self.get(spec.name).unwrap_or_default()));
        all.filter(|(spec, value)| spec.name == "ecn" || *value != (spec.default)())
            .map(|(spec, value)| (spec.name, value))
    }
}
