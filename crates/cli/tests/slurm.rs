//! The recipe docs/clusters/slurm.sh on a Slurm cluster of one node, which the test starts.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::common::{Place, SCENARIO, names};
use crate::skips::skip;

const RECIPE: &str = include_str!("../../../docs/clusters/slurm.sh");

/// Daemons of Slurm with their state in a directory of the test.
struct Slurm {
    config: String,
    daemons: Vec<Child>,
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            _ = daemon.kill();
            _ = daemon.wait();
        }
    }
}

/// A free port.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn start(program: &str, args: &[&str]) -> Result<Child, String> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|error| format!("{program} ({error}): apt-get install slurmctld slurmd slurm-client munge"))
}

impl Slurm {
    /// Starts the cluster. The error names what the machine lacks.
    fn start(dir: &Path) -> Result<Self, String> {
        for folder in ["state", "spool"] {
            fs::create_dir_all(dir.join(folder)).unwrap();
        }
        let at = |name: &str| dir.join(name).display().to_string();
        let user = Command::new("id").arg("-un").output().map_err(|error| format!("id ({error})"))?;
        if user.stdout != b"root\n" {
            return Err("slurmd needs root".to_string());
        }
        fs::write(at("munge.key"), [7; 64]).unwrap();
        assert!(Command::new("chmod").args(["400", &at("munge.key")]).status().unwrap().success());
        let config = format!(
            "ClusterName=test\nSlurmctldHost=localhost\nSlurmUser=root\nAuthType=auth/munge\nAuthInfo=socket={}\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\n\
             SelectType=select/cons_tres\nReturnToService=2\nStateSaveLocation={}\nSlurmdSpoolDir={}\n\
             SlurmctldPidFile={}\nSlurmdPidFile={}\nSlurmctldPort={}\nSlurmdPort={}\n\
             JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             NodeName=localhost CPUs=2\nPartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            at("munge.sock"),
            at("state"),
            at("spool"),
            at("slurmctld.pid"),
            at("slurmd.pid"),
            port(),
            port(),
        );
        fs::write(at("slurm.conf"), config).unwrap();
        let config = at("slurm.conf");
        let mut slurm = Self { config: config.clone(), daemons: Vec::new() };
        let munge = ["key-file=munge.key", "socket=munge.sock", "pid-file=munge.pid", "log-file=log", "seed-file=seed"];
        let munge = munge.map(|option| option.split_once('=').unwrap());
        let munge = munge.map(|(option, file)| format!("--{option}={}", at(file)));
        let args: Vec<&str> = ["--foreground", "--force"].into_iter().chain(munge.iter().map(String::as_str)).collect();
        slurm.daemons.push(start("munged", &args)?);
        slurm.daemons.push(start("slurmctld", &["-D", "-f", &config])?);
        slurm.daemons.push(start("slurmd", &["-D", "-f", &config, "-N", "localhost"])?);
        for _ in 0..100 {
            let state = slurm.command("sinfo", &["-h", "-o", "%T"], dir);
            if state.is_ok_and(|out| out.stdout.starts_with(b"idle")) {
                return Ok(slurm);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Err("the node of Slurm did not become idle within 20 s".to_string())
    }

    fn command(&self, program: &str, args: &[&str], dir: &Path) -> std::io::Result<Output> {
        let mine = Path::new(env!("CARGO_BIN_EXE_forebay")).parent().unwrap();
        let path = format!("{}:{}", mine.display(), std::env::var("PATH").unwrap_or_default());
        Command::new(program).args(args).current_dir(dir).env("SLURM_CONF", &self.config).env("PATH", path).output()
    }
}

#[test]
fn slurm_array_gives_the_results_of_one_run() {
    let place = Place::new("slurm");
    let slurm = match Slurm::start(&place.dir.join("cluster")) {
        Err(lacking) => return skip(lacking),
        Ok(slurm) => slurm,
    };
    place.write("case.toml", &format!("{SCENARIO}\n[vary]\n\"flows.ftp.count\" = [5, 10]\n"));
    assert!(RECIPE.contains("SHARDS=16\n"));
    place.write("slurm.sh", &RECIPE.replace("SHARDS=16\n", "SHARDS=3\n"));
    // In two arrays, as when shards are repeated.
    for array in ["--array=1,3", "--array=2"] {
        let sent = slurm.command("timeout", &["120", "sbatch", "--wait", array, "slurm.sh"], &place.dir).unwrap();
        let logs = || fs::read_to_string(place.dir.join("log-1.txt")).unwrap_or_default();
        assert!(sent.status.success(), "{sent:?}\n{}", logs());
    }
    let merged = place.run(&["merge", "part-1", "part-2", "part-3", "-o", "results", "--json"]).good();
    let whole = place.run(&["sweep", "case.toml", "-o", "whole", "--json"]).good();
    let prints = |json: serde_json::Value| {
        let runs = json["runs"].as_array().unwrap().clone();
        runs.iter().map(|run| run["fingerprint"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(prints(merged.json()), prints(whole.json()));
    assert_eq!(names(&place.dir.join("results/runs")), names(&place.dir.join("whole/runs")));
}
