//! Transient behaviour of a discipline: TCP flows as a fluid, and the discipline's own code, which computes the signal
//! probability p from the queue.

use forebay_aqm::Spec;
use forebay_theory::oscillation::{self, Oscillation};
use forebay_theory::tcp_fluid::Point;
use serde::Serialize;

use super::drive::Driven;
use super::setting::Setting;
use super::stability::NoAnswer;

/// Trajectory of the fluid model with one discipline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trajectory {
    /// Mean queue after the warm-up.
    pub q_mean_pkts: f64,
    /// Standard deviation of the queue after the warm-up.
    pub q_std_pkts: f64,
    /// Period of the oscillation of the queue in seconds; `None` if the queue reaches equilibrium.
    pub period_s: Option<f64>,
    /// Mean signal probability after the warm-up.
    pub p_mean: f64,
    /// Times of the stored points, in seconds.
    pub t_s: Vec<f64>,
    /// Number of packets that wait at the times `t_s`.
    pub q_pkts: Vec<f64>,
    /// Signal probability at the times `t_s`.
    pub p: Vec<f64>,
}

/// Maximum number of points of a trajectory that are stored.
const KEPT: usize = 2000;
/// An oscillation counts as equilibrium if its standard deviation is at most this fraction of the mean queue, or of one
/// packet if the mean queue is shorter than that.
const REST: f64 = 0.01;

/// The trajectory of the fluid model over `seconds` seconds with the discipline `spec`. Mean, standard deviation and
/// period are those from `warmup_s` on.
pub fn of(spec: &Spec, setting: &Setting, seconds: f64, warmup_s: f64) -> Result<Trajectory, NoAnswer> {
    let law = spec.fluid(&setting.link).ok_or(NoAnswer::NoModel)?;
    let mut driven = Driven::new(law, setting);
    let mut rule = |step: &forebay_theory::tcp_fluid::Step| {
        driven.pass(step.t_s, step.offered, step.dropped, step.q);
        driven.p(step.q)
    };
    let points = setting.fluid().run(seconds, &mut rule).ok_or(NoAnswer::NotFound)?;
    Ok(trajectory(&points, warmup_s))
}

fn trajectory(points: &[Point], warmup_s: f64) -> Trajectory {
    let counted = points.partition_point(|point| point.t_s < warmup_s);
    let queue: Vec<f64> = points[counted..].iter().map(|point| point.q).collect();
    let step = points.first().map_or(1.0, |point| point.t_s);
    let Oscillation { mean, std, period_s } = oscillation::of(&queue, step);
    let p_mean = points[counted..].iter().map(|point| point.p).sum::<f64>() / queue.len().max(1) as f64;
    let every = points.len().div_ceil(KEPT).max(1);
    let kept: Vec<&Point> = points.iter().step_by(every).collect();
    Trajectory {
        q_mean_pkts: mean,
        q_std_pkts: std,
        period_s: period_s.filter(|_| std > REST * mean.max(1.0)),
        p_mean,
        t_s: kept.iter().map(|point| point.t_s).collect(),
        q_pkts: kept.iter().map(|point| point.q).collect(),
        p: kept.iter().map(|point| point.p).collect(),
    }
}
