//! Listings of adaptive RED.

mod ared;
mod dynamic_red;
mod feng_red;
