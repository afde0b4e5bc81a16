//! Scenario files: reading, refusing, writing, and the published schema.

mod axes;
mod bad;
mod example;
mod props;
mod published_schema;
mod reach;
mod schema;
mod topologies;
