//! Random scenarios take no more memory than their estimate, which is their limit. Each runs in a process of its own: this
//! test program again, with the scenario in the environment.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use forebay_aqm::base::rng::Rng;
use forebay_lab::batch::{self, BatchError, Control};
use forebay_lab::commands::report;
use forebay_lab::estimate::estimate;
use forebay_lab::load;
use forebay_lab::lock::Wait;
use forebay_lab::plan::Plan;
use forebay_lab::results::meta::Origin;
use forebay_lab::run::guard::Guard;
use forebay_lab::scenario::Overrides;
use forebay_lab::store::Store;

/// Scenarios of a quick test. `FOREBAY_EVERY_FAULT` tries [`ALL`].
const QUICK: u64 = 24;
const ALL: u64 = 600;
/// Packets of a scenario at its bottleneck.
const PACKETS: f64 = 300_000.0;
/// Runs the scenario of this variable.
const CHILD: &str = "FOREBAY_TEST_SCENARIO";

/// A random scenario as TOML.
fn scenario(seed: u64) -> String {
    let mut rng = Rng::stream(seed, "estimates");
    let mut rng = move |from: u64, to: u64| from + rng.below(to - from + 1);
    let mbit = [1, 4, 10, 50, 200, 1000][rng(0, 5) as usize];
    let packet = rng(300, 1500);
    let most_s = PACKETS * packet as f64 * 8.0 / (mbit as f64 * 1e6);
    let seconds = (rng(2, 20) as f64).min(most_s).max(0.5);
    let queue = 10 * 10u64.pow(rng(0, 5) as u32);
    let aqm = ["droptail", "codel", "fq_codel", "pie", "red", "raqm", "cake", "dualpi2", "sfb"][rng(0, 8) as usize];
    let access = [1, 10, 1000][rng(0, 2) as usize];
    let mut text = format!(
        "version = 1\nduration = \"{seconds:.2}s\"\npacket = {packet}\n[topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"{mbit}mbit\", delay = \"{}ms\", queue = \"{queue}p\", aqm = \"{aqm}\" }}\n\
         access = {{ hosts = {}, rate = \"{access}mbit\", delays = [\"{}ms\"], queue = \"{}p\" }}\n\
         egress = {{ rate = \"1gbit\", delay = \"1ms\" }}\n",
        rng(1, 100),
        rng(1, 20),
        rng(1, 50),
        10 * 10u64.pow(rng(0, 3) as u32),
    );
    for name in 0..rng(1, 3) {
        let group = match rng(0, 4) {
            0 => format!("kind = \"ftp\"\ncount = {}\n", 10u64.pow(rng(0, 5) as u32)),
            1 => format!("kind = \"ftp\"\ncount = {}\ntcp = \"cubic\"\nwindow = 20\n", rng(1, 100)),
            2 => format!("kind = \"cbr\"\ncount = {}\nrate = \"{}kbit\"\n", rng(1, 50), rng(10, mbit * 100)),
            3 => {
                format!(
                    "kind = \"web\"\ncount = {}\nsize = \"3p\"\nthink = {{ exponential = \"{}ms\" }}\n",
                    rng(1, 300),
                    rng(1, 2000)
                )
            }
            _ => format!(
                "kind = \"onoff\"\non = \"500ms\"\noff = \"500ms\"\ncount = {}\nrate = \"{}kbit\"\n",
                rng(1, 20),
                rng(10, mbit * 40)
            ),
        };
        let _ = write!(text, "[[flows]]\nname = \"group{name}\"\n{group}");
    }
    text
}

fn plan(text: &str) -> Plan {
    let cases =
        load::parse("random.toml", text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Plan::new(cases, 1, 1)
}

/// Runs a plan in `dir` with one thread and this limit, and builds its report.
fn run(plan: &Plan, dir: &Path, memory: &Guard) -> Result<(), BatchError> {
    let store = Store::open(dir, plan, &Origin::default(), &Wait::NEVER).map_err(BatchError::Store)?;
    let stop = AtomicBool::new(false);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| batch::run(plan, &store, &Control { memory, ..Control::silent(&stop) }))?;
    report::write(&store).unwrap_or_else(|error| panic!("{error}"));
    Ok(())
}

/// The child process: runs one scenario with its estimate as the limit of its memory.
#[test]
fn child_runs_the_scenario_of_the_environment() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let plan = plan(&std::fs::read_to_string(&path).unwrap());
    let (bytes, first) = (estimate(&plan, 1).bytes, status("VmRSS:"));
    run(&plan, &Path::new(&path).with_extension("out"), &Guard::new(bytes)).unwrap_or_else(|error| panic!("{error}"));
    let took = status("VmHWM:") - first;
    assert!(took <= bytes, "took {took} estimated {bytes}");
    println!("took {took} estimated {bytes}");
}

/// A value of `/proc/self/status` in bytes.
fn status(key: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    1024.0 * line.trim().trim_end_matches("kB").trim().parse::<f64>().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn random_scenarios_stay_within_their_estimates() {
    let dir = std::env::temp_dir().join(format!("forebay-estimates-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let all = if std::env::var_os("FOREBAY_EVERY_FAULT").is_some() { ALL } else { QUICK };
    let mut shares = Vec::new();
    for seed in 1..=all {
        let text = scenario(seed);
        let path = dir.join("random.toml");
        std::fs::write(&path, &text).unwrap();
        let _ = std::fs::remove_dir_all(path.with_extension("out"));
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["estimates::child_runs_the_scenario_of_the_environment", "--exact", "--nocapture"]);
        let output = child.env(CHILD, &path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "seed {seed}: {said}{}\n{text}", String::from_utf8_lossy(&output.stderr));
        let numbers = said.lines().find_map(|line| line.strip_prefix("took ")?.split_once(" estimated "));
        let (took, estimated) = numbers.unwrap_or_else(|| panic!("seed {seed}: {said}"));
        let share = took.parse::<f64>().unwrap() / estimated.parse::<f64>().unwrap();
        println!("seed {seed}: {share:.2} of {:.1} MB", estimated.parse::<f64>().unwrap() / 1e6);
        shares.push(share);
    }
    std::fs::remove_dir_all(&dir).unwrap();
    shares.sort_by(f64::total_cmp);
    println!(
        "{all} scenarios; memory over estimate: median {:.2}, most {:.2}",
        shares[shares.len() / 2],
        shares[shares.len() - 1]
    );
}

#[test]
fn batch_beyond_its_memory_keeps_finished_runs() {
    let dir = std::env::temp_dir().join(format!("forebay-outgrown-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let plan = plan(&scenario(1));
    run(&plan, &dir, &Guard::NONE).unwrap();
    let more = Plan { seeds: vec![1, 2], ..plan };
    let error = run(&more, &dir, &Guard::new(-1.0)).unwrap_err();
    assert!(matches!(error, BatchError::Memory { .. }), "{error}");
    assert!(error.to_string().contains("stopped: the runs take"), "{error}");
    let summary: serde_json::Value = forebay_lab::disk::read_json(&dir.join("summary.json")).unwrap();
    assert_eq!(summary["runs"].as_array().unwrap().len(), 1);
    run(&more, &dir, &Guard::NONE).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
}
