//! The words of `forebay attach`, `detach` and `top`.

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

The device gets one queue at the rate, a little below that of the line behind it, and a fast path that carries out \
what the law says: it marks ECT packets and drops others. This process is the daemon that asks the law; Ctrl-C or \
SIGTERM puts everything back as it was. If it dies otherwise, traffic goes on, without early drops after a second, \
and forebay detach puts everything back. Queues in packets are bytes over --packet. Linux, root.")]
pub(crate) struct AttachArgs {
    /// A network device.
    #[arg(value_name = "DEV")]
    pub(crate) device: String,
    /// The rate that it has from now on.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: String,
    /// A control law of `forebay list disciplines`, or droptail.
    #[arg(long, value_name = "LAW", default_value = "pi")]
    pub(crate) aqm: String,
    /// Its buffer, such as 200p or 300kb; default a fifth of a second of the rate.
    #[arg(long, value_name = "SIZE")]
    pub(crate) limit: Option<String>,
    /// A typical packet in bytes, the link's header included.
    #[arg(long, value_name = "BYTES", default_value_t = 1514)]
    pub(crate) packet: u32,
    /// What drops and marks; default the first that works here.
    #[arg(long, value_name = "KIND", value_parser = ["tcx", "clsact", "nft"])]
    pub(crate) actuator: Option<String>,
    /// Offer metrics for Prometheus at a loopback address such as 127.0.0.1:9550.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<String>,
    /// Return once it stands, and leave the daemon in the background.
    #[arg(long)]
    pub(crate) background: bool,
    /// When the daemon is asked to end, leave queue and fast path there.
    #[arg(long)]
    pub(crate) keep: bool,
    /// The daemon that --background starts.
    #[arg(long, hide = true)]
    pub(crate) daemon: bool,
}

/// Arguments of `detach`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay detach eth0")]
pub(crate) struct DetachArgs {
    /// A device that `forebay attach` took.
    #[arg(value_name = "DEV")]
    pub(crate) device: String,
}

/// Arguments of `top`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay top
  forebay top eth0
  forebay top eth0 --once --json | jq '.devices[0].p'

Rates are those of the last second; Ctrl-C ends it. Without a terminal it prints once.")]
pub(crate) struct TopArgs {
    /// Only this device; else all that are attached.
    #[arg(value_name = "DEV")]
    pub(crate) device: Option<String>,
    /// Print once and end.
    #[arg(long)]
    pub(crate) once: bool,
}
