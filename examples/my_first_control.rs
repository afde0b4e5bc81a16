//! A custom congestion control, compared with built-in ones:
//! `cargo run --release -p forebay-lab --example my_first_control`.
use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::scenario::Overrides;
use forebay_sim::tcp::congestion::{Acked, CongestionControl, Design, Profile, Start};
use forebay_sim::tcp::window::Window;
use forebay_sim::tcp::{register, testing};

/// Scalable TCP (Kelly 2003): adds 0.01 packets per packet acknowledged, reduces the window by 1/8 at a loss.
#[derive(Clone, Debug)]
struct Scalable;

impl CongestionControl for Scalable {
    fn on_ack(&mut self, window: &mut Window, acked: Acked) {
        if window.in_slow_start() {
            window.grow();
        } else {
            window.set(window.cwnd() + 0.01 * f64::from(acked.packets));
        }
    }

    fn on_loss(&mut self, window: &mut Window) {
        window.cut(0.875, 1.0);
    }
}

impl Design for Scalable {
    const PROFILE: Profile = Profile { word: "scalable", summary: "Scalable TCP", ..Profile::TCP };

    fn new(_: Start) -> Self {
        Self
    }
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    testing::check_control(register::<Scalable>()?, 100)?;
    for tcp in ["own:scalable", "sack", "cubic"] {
        let sets = [&format!("flows.ftp.tcp={tcp}"), "duration=50s", "warmup=10s"].map(String::from).to_vec();
        let aqm = vec!["red".to_string()];
        let overrides = Overrides { aqm, sets, ..Overrides::default() };
        let plan = Plan::new(load::file("papers/raqm/case-1.toml".as_ref(), &overrides)?, 1, 1);
        for job in plan.jobs() {
            let Some(run) = plan.run(job, &mut ())? else { break };
            println!("{tcp:12} mean queue {:4.1} packets", run.summary.queue_pkts.mean);
        }
    }
    Ok(())
}
