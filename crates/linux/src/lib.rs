//! Real Linux.
