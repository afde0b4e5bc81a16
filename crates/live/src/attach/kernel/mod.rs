//! What the kernel has of an attached device: its queue, the fast path that drops and marks, and what of it is kept on disk.

pub(super) mod actuator;
pub(super) mod fastpath;
pub(super) mod fault;
pub(super) mod kind;
pub(super) mod nft;
pub(super) mod place;
pub(super) mod qdisc;
pub(super) mod rights;
pub(super) mod state;
pub(super) mod words;
