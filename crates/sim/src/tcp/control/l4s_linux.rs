//! TCP Prague on the Linux stack: an L4S host.

use forebay_aqm::base::time::{Instant, Span};

use super::super::Stack;
use super::super::congestion::{
    Acked, CongestionControl, Design, Feedback, PathModel, Profile, Progress, RoundTrip, Sent, Start, hand_on,
};
use super::super::window::Window;
use super::prague::Prague;

/// Prague, with another profile.
#[derive(Clone, Debug)]
pub(in super::super) struct L4sLinux(Prague);

macro_rules! prague {
    ($self:ident, $hook:ident($($argument:ident),*)) => {
        $self.0.$hook($($argument),*)
    };
}

#[deny(clippy::missing_trait_methods)]
impl CongestionControl for L4sLinux {
    hand_on!(prague);
}

impl Design for L4sLinux {
    const PROFILE: Profile = Profile {
        word: "l4s-linux",
        summary: "an L4S host: prague with the loss recovery and timers of Linux",
        stack: Stack::Linux,
        ..Prague::PROFILE
    };

    fn new(start: Start) -> Self {
        Self(Prague::new(start))
    }
}
