//! Parts that the transcribed listings of several disciplines share.

pub(crate) mod adaptive_red;
pub(crate) mod drain_time;
pub(crate) mod dual;
pub(crate) mod kernel_red;
pub(crate) mod spacing;
pub(crate) mod virtual_queue;
