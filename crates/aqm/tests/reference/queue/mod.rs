//! Transcribed listings of disciplines with several queues, with which tests compare the disciplines.

mod cake;
mod choke;
mod curvy_red;
mod drr;
mod dualpi2;
pub(crate) mod fq_codel;
mod fq_pie;
mod red_tail;
mod wrr;
