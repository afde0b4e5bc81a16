//! Parts that several listings are made of.

pub(crate) mod adaptive_red;
pub(crate) mod dual;
