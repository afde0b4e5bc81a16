//! A run of a network in the kernel.

use std::sync::atomic::AtomicBool;

use forebay_sim::network::Network;
use forebay_sim::outcome::Outcome;
use forebay_sim::world::SNAP;

use crate::capture::Capture;
use crate::machine::{self, Cost, Fault, SILENT_CPU_S, Start};
use crate::measure::Measure;
use crate::network;
use crate::place::Kernel;
use crate::sys;

/// The results of a run.
pub struct Finished {
    /// As the simulator returns them. `events` is the number of records, `fingerprint` a hash of them.
    pub outcome: Outcome,
    /// What the run cost.
    pub cost: Cost,
    /// What the ends of flows could not do, such as a connection that was reset.
    pub faults: Vec<String>,
    /// For each discipline that was built: the bytes of a kernel stack that this used, and those that were left before.
    pub stacks: Vec<(u64, u64)>,
    /// The capture, if one was asked for.
    pub capture: Option<Capture>,
}

/// Runs `net` with this seed. `worker`: runs with different numbers use different cores, if there are enough. `stop` ends the
/// run soon after it is set.
///
/// # Errors
/// The guest cannot have this network, the kernel or a discipline fails, or the run was stopped.
pub fn run(kernel: &Kernel, net: &Network, seed: u64, worker: usize, stop: &AtomicBool) -> Result<Finished, Fault> {
    run_with(kernel, net, (seed, worker, stop), None)
}

/// As [`run`], with a capture of its packets.
///
/// # Errors
/// As for [`run`].
pub fn run_with(
    kernel: &Kernel,
    net: &Network,
    (seed, worker, stop): (u64, usize, &AtomicBool),
    mut capture: Option<Capture>,
) -> Result<Finished, Fault> {
    let snap = if capture.is_some() { SNAP as u32 } else { 0 };
    let orders = network::orders_with_capture(net, seed, snap).map_err(Fault::Failed)?;
    let cores = sys::cores();
    let core = cores.get(worker % cores.len().max(1)).copied();
    let mut measure = Measure::new(net);
    let start = Start { seed, core, silent_cpu_s: SILENT_CPU_S };
    let cost = machine::run(kernel, &orders, start, stop, |record| {
        if let Some(capture) = &mut capture {
            capture.take(&record);
        }
        measure.take(&record);
    })?;
    let (faults, stacks) = (measure.faults().to_vec(), measure.stacks().to_vec());
    Ok(Finished { outcome: measure.finish(), cost, faults, stacks, capture })
}
