//! Commands that run experiments and decide claims: of papers, of suites, and of a paper under other readings.

pub mod evaluate;
pub mod readings;
pub mod reproduce;
