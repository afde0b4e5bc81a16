//! The crate `lab` from outside: files in; records, documents and reports out.

mod dumbbell;
mod estimates;
mod own;
mod readings;
mod results;
mod scenario;
mod theory;
mod traffic;
