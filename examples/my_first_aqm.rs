//! A custom discipline in a comparison: `cargo run --release -p forebay-lab --example my_first_aqm`.
use forebay_aqm::base::prelude::*;
use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::scenario::Overrides;

params! { /// Parameters.
    pub struct Params {
        /// Signal probability per queued packet.
        slope: f64 = 0.001, in 0.0 ..= 1.0, "s", "mine";
    }
}
struct MyFirst(Params);

impl Design for MyFirst {
    type Params = Params;
    const ABOUT: About = About { summary: "p = slope q", source: "mine", rule: "u < slope q: signal", deviations: &[] };
    fn build(params: &Params, _: &Link) -> Self {
        Self(params.clone())
    }
}
impl Probes for MyFirst {}
impl Aqm for MyFirst {
    fn arrival(&mut self, _: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let p = self.0.slope * f64::from(level.pkts());
        if cx.rng.uniform() < p { Verdict::Signal } else { Verdict::Accept }
    }
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    forebay_lab::own::register(Own::aqm::<MyFirst>("my_first"));
    let aqm = ["my_first slope=0.002", "red", "droptail"].map(String::from).to_vec();
    let cases = load::file("papers/raqm/case-1.toml".as_ref(), &Overrides { aqm, ..Overrides::default() })?;
    let plan = Plan::new(cases, 1, 1);
    for job in plan.jobs() {
        let Some(run) = plan.run(job, &mut ())? else { break };
        println!("{:40} mean queue {:4.1} packets", run.summary.label, run.summary.queue_pkts.mean);
    }
    Ok(())
}
