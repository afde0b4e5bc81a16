//! Transcribed listings of Adaptive RED and its variants, with which tests compare the disciplines.

mod ared;
mod dynamic_red;
mod feng_red;
