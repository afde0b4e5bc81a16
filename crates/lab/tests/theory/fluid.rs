//! The fluid and the linear loop compared with packet simulation; FOREBAY_BLESS=1 rewrites `docs/fluid.md`.

use std::path::Path;

use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::scenario::{Case, Contender, Overrides};
use forebay_lab::stats::Interval;
use forebay_lab::theory::stability::Stability;
use forebay_lab::theory::{fluid, setting, stability};
use forebay_theory::oscillation::{self, Oscillation};
use rayon::prelude::*;
use serde_json::{Value, json};

const SCENARIO: &str = include_str!("../../../../examples/fluid.toml");
const SEEDS: u64 = 6;
/// Smaller windows are often repaired by timeouts, which the model lacks.
const SMALL_WINDOW: f64 = 6.0;
/// Tolerance of the mean queue if the linear loop is stable, windows are larger and the law holds its reference.
const CLOSE: f64 = 0.1;
/// Laws with an integrator: they hold their reference whatever the error of the TCP model.
const INTEGRATE: [&str; 2] = ["pi", "raqm_plus"];

struct Row {
    flows: String,
    label: String,
    linear: Stability,
    trajectory: fluid::Trajectory,
    mean: Interval,
    std: Interval,
    /// Periods of the seeds whose queue oscillates, s.
    period: Vec<f64>,
}

impl Row {
    fn new(case: &Case, index: usize) -> Self {
        let contender: &Contender = &case.scenario.compare[index];
        let setting = setting::of(case, &contender.spec).unwrap();
        let (duration, warmup) = (case.scenario.duration.secs(), case.scenario.warmup.secs());
        let oscillations = packets(case, index, warmup);
        Self {
            flows: case.axes[0].1.clone(),
            label: contender.label.clone(),
            linear: stability::of(&contender.spec, &setting).unwrap(),
            trajectory: fluid::of(&contender.spec, &setting, duration, warmup).unwrap(),
            mean: Interval::of(&oscillations.iter().map(|s| s.mean).collect::<Vec<_>>()),
            std: Interval::of(&oscillations.iter().map(|s| s.std).collect::<Vec<_>>()),
            period: oscillations.iter().filter_map(|s| s.period_s).collect(),
        }
    }

    /// Whether the model predicts a queue that packets can follow.
    fn holds_its_reference(&self) -> bool {
        self.linear.stable && self.has_windows() && INTEGRATE.iter().any(|name| self.label.starts_with(name))
    }

    fn has_windows(&self) -> bool {
        self.linear.window_pkts >= SMALL_WINDOW
    }

    fn mean_is_near(&self) -> bool {
        (self.trajectory.q_mean_pkts / self.mean.mean - 1.0).abs() <= CLOSE
    }

    /// Its values in the template of the page.
    fn values(&self) -> Value {
        let Self { flows, label, linear, trajectory, mean, std, period } = self;
        let margin = linear.delay_margin_ms.map_or("any".to_string(), |ms| format!("{ms:.0}"));
        let verdict = if linear.stable { format!("stable, {margin} ms") } else { "unstable".to_string() };
        let own = trajectory.period_s.map_or("-".to_string(), |s| format!("{s:.2}"));
        let theirs = match period.len() {
            0 => "-".to_string(),
            1 => format!("{:.2} (1 of {SEEDS})", period[0]),
            n => format!("{:.2} ± {:.2} ({n} of {SEEDS})", Interval::of(period).mean, Interval::of(period).half),
        };
        let star = if self.mean_is_near() { "" } else { "*" };
        json!({
            "label": label,
            "flows": flows,
            "window": linear.window_pkts,
            "verdict": verdict,
            "model": { "mean": trajectory.q_mean_pkts, "std": trajectory.q_std_pkts, "period": own },
            "packets": {
                "mean": mean.mean,
                "mean_half": mean.half,
                "std": std.mean,
                "std_half": std.half,
                "period": theirs,
            },
            "star": star,
        })
    }
}

/// Oscillation of the packet queue for every seed.
fn packets(case: &Case, contender: usize, warmup: f64) -> Vec<Oscillation> {
    let plan = Plan::new(vec![case.clone()], 1, SEEDS);
    let jobs: Vec<_> = plan.jobs().into_iter().filter(|job| job.contender == contender).collect();
    jobs.par_iter()
        .map(|&job| {
            let record = plan.run(job, &mut ()).unwrap().unwrap();
            let series = &record.series;
            let from = series.time_s.partition_point(|t| *t < warmup);
            let step = series.time_s[from + 1] - series.time_s[from];
            oscillation::of(&series.queue_mean_pkts[from..], step)
        })
        .collect()
}

#[test]
fn fluid_model_agrees_with_simulated_mean_and_oscillation() {
    let cases = load::parse("examples/fluid.toml", SCENARIO, &Overrides::default()).unwrap();
    let contenders = cases[0].scenario.compare.len();
    let rows: Vec<Row> =
        (0..contenders).flat_map(|index| cases.iter().map(move |case| Row::new(case, index))).collect();
    let values: Vec<Value> = rows.iter().map(Row::values).collect();
    let page = pages::page!("fluid.md.jinja", json!({ "rows": values })).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fluid.md");
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    for row in &rows {
        assert!(!row.holds_its_reference() || row.mean_is_near(), "{}", row.values());
        let oscillates = row.trajectory.q_std_pkts > 0.2 * row.trajectory.q_mean_pkts;
        let both = oscillates && row.std.mean > 0.2 * row.mean.mean;
        assert!(row.linear.stable || !row.has_windows() || both, "{}", row.values());
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page, "docs/fluid.md is stale: cargo xtask fluid");
}
