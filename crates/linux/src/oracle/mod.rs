//! Compares qdiscs of Linux with disciplines of Forebay, packet by packet: both below tbf in one kernel, and the
//! discipline in user space below the same line.

pub mod arrivals;
mod guest;
pub mod line;
pub mod page;
pub mod pairs;

use forebay_aqm::Spec;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use sha2::{Digest as _, Sha256};

use crate::machine::Fault;
use crate::place::Kernel;
use arrivals::Arrivals;
use pairs::Pair;

/// Name of the link under the discipline of Forebay.
const OURS: &str = "ours";
/// Bucket of tbf, bytes: an odd multiple of half of [`arrivals::GRAIN`].
const BUCKET: u64 = 1480;

/// The link under comparison.
fn link() -> Link {
    Link { rate: Rate(arrivals::RATE), limit: Limit::Packets(1000), mean_packet: Bytes(1000) }
}

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fate {
    /// Arrival, ns since the start of the run.
    pub arrived: u64,
    /// The time at which the line took it, ns, and whether it then had a CE mark; `None`: it was dropped.
    pub departed: Option<(u64, bool)>,
}

/// The fates of the same packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fates {
    /// Under the qdisc of Linux.
    pub linux: Vec<Fate>,
    /// Under the discipline of Forebay in the kernel.
    pub ours: Vec<Fate>,
    /// Under the discipline of Forebay in user space.
    pub simulated: Vec<Fate>,
}

/// Runs a pair in the kernel and in user space.
///
/// # Errors
/// The kernel cannot run it.
pub fn compare(kernel: &Kernel, pair: &Pair, arrivals: &Arrivals, seed: u64) -> Result<Fates, Fault> {
    let spec = Spec::parse(pair.ours).map_err(|why| Fault::Failed(why.to_string()))?;
    let [linux, ours] = guest::fates(kernel, pair, &spec, arrivals, seed)?;
    Ok(Fates { linux, ours, simulated: line::fates(&spec, arrivals, seed) })
}

/// Number of packets with another verdict, number of packets that were taken at another time, and the largest
/// difference of these times in ns.
pub fn differences(one: &[Fate], other: &[Fate]) -> (usize, usize, u64) {
    let both = || one.iter().zip(other);
    let verdict = |fate: &Fate| fate.departed.map(|(_, marked)| marked);
    let verdicts = both().filter(|(one, other)| verdict(one) != verdict(other)).count();
    let times = both().filter_map(|(one, other)| Some(one.departed?.0.abs_diff(other.departed?.0)));
    (verdicts, times.clone().filter(|apart| *apart > 0).count(), times.max().unwrap_or(0))
}

/// SHA-256 of the fates: verdicts, marks, and times in ns.
pub fn digest(fates: &[Fate]) -> String {
    let mut digest = Sha256::new();
    for fate in fates {
        let (at, verdict) = fate.departed.map_or((0, 0), |(at, marked)| (at, if marked { 2 } else { 1 }));
        digest.update([verdict]);
        digest.update(fate.arrived.to_le_bytes());
        digest.update(at.to_le_bytes());
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
