//! What `forebay attach` installs for a device: its qdisc, the fast path (what marks and drops packets in the kernel),
//! and the files that describe both.

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
