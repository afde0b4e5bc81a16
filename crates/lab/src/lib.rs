//! The laboratory around the engine: what is read before a run and worked out after it.
//!
//! [`scenario`] turns a file into typed experiments and says exactly what is wrong with a bad one;
//! [`plan`] multiplies it by contenders and seeds, [`batch`] runs that on all cores, [`store`] keeps
//! every finished run; [`record`], [`metrics`], [`quantity`], [`compare`] and [`stats`] are the figures.

mod backlog;
pub mod batch;
pub mod bench;
pub mod claim_file;
pub mod claims;
pub mod class_column;
pub mod column;
pub mod commands;
pub mod compare;
mod declare;
pub mod disk;
mod document;
pub mod estimate;
pub mod exhibits;
pub mod input;
pub mod judge;
mod layout;
pub mod level;
mod limits;
pub mod load;
pub mod lock;
pub mod lower;
pub mod metrics;
pub mod models;
pub mod own;
mod own_links;
pub mod papers;
pub mod plan;
pub mod quantity;
pub mod record;
pub mod render;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod scenario;
pub mod settling;
pub mod stats;
pub mod store;
mod store_error;
pub mod table;
pub mod theorems;
mod theorems_msvb;
mod theorems_tail;
pub mod theory;
pub mod traces;
pub mod trial;
