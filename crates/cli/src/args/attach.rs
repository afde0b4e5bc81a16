//! Arguments of `forebay attach`, `detach` and `top`.

use clap::Args;

/// Arguments of `attach`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay attach eth0 --rate 45mbit \\
      --aqm \"pi preset=tuned q_ref=50 n=20 rtt=100ms\"
  forebay attach eth0 --rate 45mbit --aqm \"raqm q0=50 ecn=off\" \\
      --metrics 127.0.0.1:9550
  forebay attach eth0 --rate 45mbit --background
  forebay top eth0
  forebay detach eth0

Installs one queue that shapes to RATE (set it a little below the rate of the physical link) and a fast path that \
marks ECT packets and drops others with the probability of the control law. This process is the daemon that updates \
the law. Ctrl-C or SIGTERM restores the device. If the daemon dies, traffic continues; early drops stop after one \
second; forebay detach restores the device. Queue lengths in packets are bytes / --packet. Needs Linux and root.")]
pub(crate) struct AttachArgs {
    /// Network device on which the control law runs.
    #[arg(value_name = "DEV")]
    pub(crate) device: String,
    /// Rate to which the device is shaped, e.g. 45mbit.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: String,
    /// Queue discipline: pi, raqm, rem, msc or aaqm with parameters, or droptail.
    #[arg(long, value_name = "LAW", default_value = "pi")]
    pub(crate) aqm: String,
    /// Buffer, e.g. 200p or 300kb (default: 200 ms at RATE).
    #[arg(long, value_name = "SIZE")]
    pub(crate) limit: Option<String>,
    /// Typical packet size in bytes, link-layer header included.
    #[arg(long, value_name = "BYTES", default_value_t = 1514)]
    pub(crate) packet: u32,
    /// Kernel hook that marks and drops packets (default: the first of these that this machine supports).
    #[arg(long, value_name = "KIND", value_parser = ["tcx", "clsact", "nft"])]
    pub(crate) actuator: Option<String>,
    /// Serve Prometheus metrics on this loopback address, e.g. 127.0.0.1:9550.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<String>,
    /// Start the daemon that updates the control law, and return once the qdisc and the BPF program (nft: the nftables
    /// rules) are installed.
    #[arg(long)]
    pub(crate) background: bool,
    /// On exit, leave the qdisc and the BPF program (nft: the nftables rules) installed.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Run as the daemon; `--background` starts this command again with this flag.
    #[arg(long, hide = true)]
    pub(crate) daemon: bool,
}

/// Arguments of `detach`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay detach eth0")]
pub(crate) struct DetachArgs {
    /// Device attached with `forebay attach`.
    #[arg(value_name = "DEV")]
    pub(crate) device: String,
}

/// Arguments of `top`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay top
  forebay top eth0
  forebay top eth0 --once --json | jq '.devices[0].p'

Rates are averages over the last second. Ctrl-C ends the display. Without a terminal, top prints once and exits.")]
pub(crate) struct TopArgs {
    /// Device to show (default: all devices with a control law of `forebay attach`).
    #[arg(value_name = "DEV")]
    pub(crate) device: Option<String>,
    /// Print the state of the devices once and exit.
    #[arg(long)]
    pub(crate) once: bool,
}
