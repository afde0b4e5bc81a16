//! A network for tests of transport stacks. It does no I/O and reads no clock: the caller passes the time, sends packets
//! with their payloads, and takes the packets that arrive.
//!
//! - Links have any queue discipline of `forebay-aqm`, a rate that is constant or changes, a propagation delay, a buffer
//!   and random losses.
//! - Disciplines set CE marks on ECN-capable packets.
//! - Results depend only on the topology, the seed and the calls: the same on every machine.
//! - Time is a [`Duration`] since the start of the test. It can be that of a virtual clock, which jumps to the next event,
//!   or that of a runtime.
//!
//! ```
//! use std::time::Duration;
//! use forebay_net::{Ecn, Link, Net, Rate, Topology};
//!
//! let ms = Duration::from_millis;
//! let mut topology = Topology::new();
//! // 10 Mbit/s, 20 ms and a buffer of 100 packets in each direction; the downlink has CoDel.
//! topology.link("server", "client", Link::new(Rate(10_000_000), ms(20)).discipline("codel")?)?;
//! topology.link("client", "server", Link::new(Rate(10_000_000), ms(20)))?;
//! let mut net = Net::new(&topology, 1);
//! let (server, client) = net.connect("server", "client")?;
//!
//! net.send(ms(0), server, b"hello", Ecn::Ect0);
//! // 33 bytes with the headers of IP and UDP take 26.4 us, then 20 ms.
//! let at = net.next_time().unwrap();
//! assert_eq!(net.poll(at), None, "it has left the queue");
//! let at = net.next_time().unwrap();
//! let arrival = net.poll(at).unwrap();
//! assert_eq!((arrival.to, arrival.payload.as_slice(), arrival.at), (client, &b"hello"[..], Duration::from_nanos(20_026_400)));
//! # Ok::<(), forebay_net::NetError>(())
//! ```
//!
//! [`Net::run`] runs implementations of [`Stack`] with a virtual clock. The examples show it for QUIC and TCP stacks. A test
//! with another clock repeats: [`send`](Net::send) what each stack transmits, wait for the earliest of
//! [`next_time`](Net::next_time) and the stacks' timers, and give each stack what [`poll`](Net::poll) returns.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod log;
mod net;
mod run;
mod topology;

#[doc(no_inline)]
pub use std::time::Duration;

pub use forebay_aqm::base::packet::Ecn;
pub use forebay_aqm::base::units::{Bytes, Limit, Rate};
pub use forebay_sim::loss::LossModel;

pub use log::{Event, Happened};
pub use net::{Arrival, Counters, Endpoint, Net, Payload};
pub use run::Stack;
pub use topology::{Link, NetError, Topology};
