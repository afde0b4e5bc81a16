//! Tests with scripts.

mod bad;
mod files;
mod random;
mod rules;
