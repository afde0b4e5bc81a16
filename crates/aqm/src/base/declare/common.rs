//! Parameters that every discipline has in addition to its own.

use alloc::string::String;

use crate::base::params::{Auto, ParamSet};
use crate::base::threshold::Steps;
use crate::base::units::{Limit, Link};
use crate::params;

params! {
    /// Parameters common to all disciplines.
    pub struct Common {
        /// Marks ECT packets instead of dropping them.
        ecn: bool = true, in 0.0 ..= 1.0, "ecn", "RFC 3168";
        /// Threshold marker in front of the discipline: share of the buffer above which arrivals are signalled. The
        /// probability rises linearly to 1 at a full buffer.
        th: Steps = Steps::default(), in 0.0 ..= 1.0, "th", "AAQM eq. 18";
        /// Buffer of this discipline; auto: the link's.
        hard_limit: Auto<Limit> = Auto::Auto, in 0.0 ..= 1e9, "limit", "tc's limit";
    }
}

impl Common {
    /// `link` with this discipline's buffer, if one is given.
    pub fn link(&self, link: &Link) -> Link {
        Link { limit: self.hard_limit.or(link.limit), ..*link }
    }

    /// Names and values of the parameters in the canonical form: `ecn` always, others only if they differ from the
    /// default.
    pub fn written(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let all = Self::SPECS.iter().map(|spec| (spec, self.get(spec.name).unwrap_or_default()));
        all.filter(|(spec, value)| spec.name == "ecn" || *value != (spec.default)())
            .map(|(spec, value)| (spec.name, value))
    }
}
