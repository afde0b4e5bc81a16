//! Components shared by several disciplines, one per file.

pub mod buckets;
pub mod coupled;
pub mod delay_pi;
pub mod depths;
pub mod drain_time;
pub mod dual;
pub mod flow_queues;
pub mod kernel_red;
pub mod pair_table;
pub mod red_tc;
pub mod round_robin;
pub mod share;
pub mod split;
pub mod token_bucket;
pub mod virtual_buffer;
