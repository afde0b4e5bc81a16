//! Scenario files: valid ones are read and written back, invalid ones are refused, and the published JSON Schema is
//! current.

mod axes;
mod bad;
mod example;
mod props;
mod published_schema;
mod reach;
mod schema;
mod topologies;
