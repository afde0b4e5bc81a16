//! Scenario files: what is read, refused, written and published of them.

mod axes;
mod bad;
mod example;
mod props;
mod published_schema;
mod schema;
mod topologies;
