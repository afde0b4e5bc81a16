//! Commands that run experiments and decide claims.

pub(crate) mod evaluate;
pub(crate) mod readings;
pub(crate) mod register;
pub(crate) mod reproduce;
