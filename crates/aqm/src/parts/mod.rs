//! Bricks that several disciplines share, one per file.

pub mod adaptive;
pub mod band;
pub mod buckets;
pub mod coupled;
pub mod delay_pi;
pub mod depths;
pub mod drain_time;
pub mod dual_aqm;
pub mod dual_queue;
pub mod dual_tc;
pub mod early;
pub mod flow_queues;
pub mod max_p;
pub mod pair_table;
pub mod red_auto;
pub mod red_curve;
pub mod red_tc;
pub mod round_robin;
pub mod share;
pub mod spacing;
pub mod split;
pub mod token_bucket;
pub mod virtual_buffer;
