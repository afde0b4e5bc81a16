//! The log of all packets.

use std::sync::Arc;
use std::time::Duration;

use forebay_aqm::base::packet::Ecn;

use crate::net::Endpoint;

/// What happened to a packet. Links are named as in the topology: `FROM-TO`.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Happened {
    /// An endpoint sent it.
    Sent {
        /// Length on the wire in bytes.
        length: u32,
        /// Its ECN codepoint.
        ecn: Ecn,
    },
    /// It arrived at a link.
    Reached {
        /// The link.
        link: Arc<str>,
    },
    /// The link's queue dropped it.
    Dropped {
        /// The link.
        link: Arc<str>,
    },
    /// The wire behind the link lost it.
    Lost {
        /// The link.
        link: Arc<str>,
    },
    /// The link's queue marked it CE.
    Marked {
        /// The link.
        link: Arc<str>,
    },
    /// The wire behind the link made a second copy of it.
    Duplicated {
        /// The link.
        link: Arc<str>,
    },
    /// The wire behind the link delays it, so that later packets overtake it.
    Delayed {
        /// The link.
        link: Arc<str>,
    },
    /// It reached its receiver. A packet that was duplicated does so twice.
    Delivered,
}

/// An entry of the log.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Time since the start.
    pub at: Duration,
    /// Number of the packet, from 0 in the order of [`send`](crate::Net::send).
    pub packet: u64,
    /// The endpoint that sent the packet.
    pub from: Endpoint,
    /// What happened.
    pub what: Happened,
}
