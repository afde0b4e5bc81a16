//! Arguments of `forebay link`, and the scenario built from them. The command emulates a link between a client, which
//! runs COMMAND, and a server; each has its own network namespace.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, value_parser};
use forebay_aqm::base::text;
use forebay_aqm::base::time::Span;
use forebay_lab::load;
use forebay_lab::scenario::{Case, Found, InputError, Overrides};

use forebay_lab::commands::run::LARGEST_SEED;

/// Arguments of `link`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  forebay link --rate 50mbit --delay 20ms --queue 100p --aqm \"raqm q0=50\" \\
      --server 'iperf3 -s' -- iperf3 -c 100.64.0.1
  forebay link --rate 10mbit --delay 40ms \\
      --server 'python3 -m http.server 80' -- \\
      sh -c 'curl -so /dev/null $FOREBAY_SERVER'
  forebay link --down-trace lte.down --up-trace lte.up --delay 15ms -- bash
  forebay link --delay 10ms -- forebay link --rate 20mbit --aqm codel -- \\
      ping -c 10 100.64.0.1

COMMAND runs in the client namespace, servers run in the server namespace. Both namespaces end with COMMAND. The \
network of this machine is not changed; only unprivileged user namespaces are needed. The server address is \
100.64.0.1, also in $FOREBAY_SERVER. A link within a link uses 100.64.1.0/24 and so on, and reaches the outer servers \
through the outer link. Up means client to server. Arguments without up- or down- apply to both directions.

Exit code: that of COMMAND, or 1 if timing was invalid or packets were lost outside the emulated link. Results are \
kept in either case and state the reason.")]
pub(crate) struct LinkArgs {
    /// Rate of the emulated link, e.g. 50mbit (default: 1gbit). With --trace, a file gives the times at which a packet
    /// can leave instead.
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Propagation delay of the emulated link in each direction, e.g. 20ms.
    #[arg(long, value_name = "TIME", default_value = "0ms")]
    delay: String,
    /// Buffer: packets (100p), bytes (150kb) or time at the link rate (50ms).
    #[arg(long, value_name = "SIZE", default_value = "1000p")]
    queue: String,
    /// Queue discipline.
    #[arg(long, value_name = "DISCIPLINE", default_value = "droptail")]
    aqm: String,
    /// Probability that the emulated link loses a packet after the queue: 0.01 or 1%.
    #[arg(long, value_name = "SHARE", default_value = "0")]
    loss: String,
    /// Trace of delivery opportunities, as for mm-link(1): one time in ms per line.
    #[arg(long, value_name = "FILE", conflicts_with = "rate")]
    trace: Option<PathBuf>,
    /// Random delay of each packet in addition, uniform from 0 to this; packets keep their order.
    #[arg(long, value_name = "TIME", default_value = "0ms")]
    jitter: String,
    /// Trace of propagation delays in place of --delay: a time and a delay in ms per line; packets keep their order.
    #[arg(long, value_name = "FILE")]
    delay_trace: Option<PathBuf>,
    #[command(flatten)]
    up: Up,
    #[command(flatten)]
    down: Down,
    /// Enable ECN for TCP in the network namespaces of the client (COMMAND) and of the server.
    #[arg(long)]
    pub(crate) ecn: bool,
    /// Connect the server's network namespace to the outside by slirp4netns(1), a NAT in user space.
    #[arg(long)]
    pub(crate) nat: bool,
    /// Shell command to run in the server's network namespace. It starts before the client's COMMAND; repeatable.
    #[arg(long, value_name = "SERVER_COMMAND")]
    pub(crate) server: Vec<String>,
    /// Seed of the random numbers for queue disciplines and losses.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u64).range(0..=LARGEST_SEED))]
    pub(crate) seed: u64,
    /// Write results and a report to this directory, as `forebay run` does.
    #[arg(short, long, visible_alias = "out", value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Also record every arrival and its fate (sent, marked, dropped or lost) in DIR/up.csv and DIR/down.csv.
    #[arg(long, requires = "output")]
    pub(crate) record: bool,
    /// Write the packets that leave the queues of the link, and those that are dropped or lost, with a comment, to this
    /// file for Wireshark (pcapng, the first 256 bytes of each).
    #[arg(long, value_name = "FILE")]
    pub(crate) pcapng: Option<PathBuf>,
    /// Run no command: replay through the simulator the arrivals in DIR, which --record wrote, and count the packets
    /// whose fate (sent, marked, dropped or lost) differs from the recorded one.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "command", "server", "pcapng"])]
    pub(crate) replay: Option<PathBuf>,
    /// Time series that the report in DIR shows, such as up.rtt, down.rate or up.delay; up is from client to server.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "queue")]
    series: Vec<String>,
    /// Sampling interval of the time series in DIR; doubles whenever a series reaches 2^20 rows.
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    sample: String,
    /// Largest accepted 99th percentile of packets' lateness, the time from when a packet should leave the emulated
    /// link to when it leaves; if it is exceeded, the run counts as invalid.
    #[arg(long, value_name = "TIME", default_value = "2ms")]
    late: String,
    /// How the emulator receives and sends packets: AF_PACKET ring, or tun (needs /dev/net/tun).
    #[arg(long, value_enum, default_value_t = PortWord::Ring)]
    pub(crate) port: PortWord,
    /// Busy-wait for the last 80 us before a packet is due to leave (needs a dedicated core).
    #[arg(long)]
    pub(crate) spin: bool,
    /// Command to run in the client's network namespace, with its arguments (default: $SHELL).
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// How the emulator receives and sends packets.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PortWord {
    /// Packet sockets with a memory-mapped ring (AF_PACKET).
    Ring,
    /// Tun devices (virtual network interfaces whose packets a program reads and writes).
    Tun,
}

#[cfg(target_os = "linux")]
impl PortWord {
    pub(crate) const fn kind(self) -> forebay_live::port::Kind {
        match self {
            Self::Ring => forebay_live::port::Kind::Ring,
            Self::Tun => forebay_live::port::Kind::Tun,
        }
    }
}

/// The arguments of one direction of the emulated link; each name starts with `up-` or `down-`.
macro_rules! direction {
    ($(#[$doc:meta])* $name:ident $rate:literal $delay:literal $queue:literal $aqm:literal $loss:literal $trace:literal $jitter:literal
     $delays:literal) => {
        $(#[$doc])*
        #[derive(Args, Debug)]
        struct $name {
            #[arg(id = $rate, long = $rate, value_name = "RATE", hide_short_help = true)]
            #[arg(help = "As --rate, in this direction only")]
            rate: Option<String>,
            #[arg(id = $delay, long = $delay, value_name = "TIME", hide_short_help = true)]
            #[arg(help = "As --delay, in this direction only")]
            delay: Option<String>,
            #[arg(id = $queue, long = $queue, value_name = "SIZE", hide_short_help = true)]
            #[arg(help = "As --queue, in this direction only")]
            queue: Option<String>,
            #[arg(id = $aqm, long = $aqm, value_name = "DISCIPLINE", hide_short_help = true)]
            #[arg(help = "As --aqm, in this direction only")]
            aqm: Option<String>,
            #[arg(id = $loss, long = $loss, value_name = "SHARE", hide_short_help = true)]
            #[arg(help = "As --loss, in this direction only")]
            loss: Option<String>,
            #[arg(id = $trace, long = $trace, value_name = "FILE", hide_short_help = true, conflicts_with = $rate)]
            #[arg(help = "As --trace, in this direction only")]
            trace: Option<PathBuf>,
            #[arg(id = $jitter, long = $jitter, value_name = "TIME", hide_short_help = true)]
            #[arg(help = "As --jitter, in this direction only")]
            jitter: Option<String>,
            #[arg(id = $delays, long = $delays, value_name = "FILE", hide_short_help = true)]
            #[arg(help = "As --delay-trace, in this direction only")]
            delays: Option<PathBuf>,
        }

        impl $name {
            const fn lane(&self) -> Given<'_> {
                let Self { rate, delay, queue, aqm, loss, trace, jitter, delays } = self;
                Given { rate, delay, queue, aqm, loss, trace, jitter, delays }
            }
        }
    };
}

direction! {
    /// Arguments of the direction from client to server.
    Up "up-rate" "up-delay" "up-queue" "up-aqm" "up-loss" "up-trace" "up-jitter" "up-delay-trace"
}
direction! {
    /// Arguments of the direction from server to client.
    Down "down-rate" "down-delay" "down-queue" "down-aqm" "down-loss" "down-trace" "down-jitter" "down-delay-trace"
}

/// The arguments given for one direction only; `None` where the arguments for both directions apply.
struct Given<'a> {
    rate: &'a Option<String>,
    delay: &'a Option<String>,
    queue: &'a Option<String>,
    aqm: &'a Option<String>,
    loss: &'a Option<String>,
    trace: &'a Option<PathBuf>,
    jitter: &'a Option<String>,
    delays: &'a Option<PathBuf>,
}

/// Link rate if neither a rate nor a trace is given.
const RATE: &str = "1gbit";
/// Bytes of a full-size Ethernet frame without FCS.
const PACKET: u32 = 1514;

/// The absolute path of a file.
fn absolute(file: &Path) -> String {
    std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf()).to_string_lossy().into_owned()
}

impl LinkArgs {
    /// The emulated link as a scenario. Duration and traffic are placeholders until the command has run.
    pub(crate) fn case(&self) -> Result<Case, InputError> {
        let mut out = format!(
            "version = 1\ntitle = \"link\"\nduration = \"1s\"\npacket = {PACKET}\n\
             [topology]\nkind = \"graph\"\nnodes = [\"client\", \"server\"]\n"
        );
        let lanes = [("up", ["client", "server"], self.up.lane()), ("down", ["server", "client"], self.down.lane())];
        for (name, [from, to], given) in &lanes {
            let _ = writeln!(
                out,
                "[[topology.links]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\none_way = true\nstudy = true\n{}",
                self.lane(name, given)?
            );
        }
        let [up, down] = [0, 1].map(|i| lanes[i].2.aqm.as_deref().unwrap_or(&self.aqm));
        let links = if up == down { "[\"up\", \"down\"]" } else { "[\"up\"]" };
        let _ = writeln!(out, "[compare]\naqm = [{}]\nlinks = {links}", quoted(up));
        for (name, [from, to], _) in &lanes {
            let _ = writeln!(
                out,
                "[[flows]]\nname = \"{name}\"\nkind = \"cbr\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1kbit\""
            );
        }
        let series = self.series.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "[report]\nseries = [{series}]");
        let mut cases = load::parse("link", &out, &Overrides::default()).map_err(|error| of_argument(&error))?;
        Ok(cases.swap_remove(0))
    }

    /// The keys of the link in the scenario for one direction.
    fn lane(&self, name: &str, given: &Given<'_>) -> Result<String, InputError> {
        let own = |own: &Option<String>, both: &str| own.clone().unwrap_or_else(|| both.to_string());
        let mut out = String::new();
        let key = |out: &mut String, key: &str, value: &str| writeln!(out, "{key} = {}", quoted(value));
        // A rate for this direction overrides a trace for both.
        let trace = given.trace.as_ref().or(self.trace.as_ref().filter(|_| given.rate.is_none()));
        let _ = match trace {
            Some(trace) => key(&mut out, "rate_trace", &absolute(trace)),
            None => {
                let rate = given.rate.as_deref().or(self.rate.as_deref()).unwrap_or(RATE);
                check(rate, given.rate.as_ref().map_or("--rate".to_string(), |_| format!("--{name}-rate")))?;
                key(&mut out, "rate", rate)
            }
        };
        let _ = key(&mut out, "delay", &own(given.delay, &self.delay));
        let _ = key(&mut out, "delay_jitter", &own(given.jitter, &self.jitter));
        // A delay given for one direction overrides a trace given for both directions.
        let delays = given.delays.as_ref().or(self.delay_trace.as_ref().filter(|_| given.delay.is_none()));
        let _ = delays.map_or(Ok(()), |trace| key(&mut out, "delay_trace", &absolute(trace)));
        let _ = key(&mut out, "queue", &own(given.queue, &self.queue));
        let _ = key(&mut out, "aqm", &own(given.aqm, &self.aqm));
        let loss = own(given.loss, &self.loss);
        let share = match loss.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
            None => loss.trim().parse(),
        };
        match share {
            Ok(share) if (0.0..=1.0).contains(&share) => {
                if share > 0.0 {
                    let _ = writeln!(out, "loss = {share:?}");
                }
                Ok(out)
            }
            _ => Err(InputError::new("--loss", "", Found::text(&loss), "a share from 0 to 1 such as 0.01, or 1%")),
        }
    }

    /// Sampling interval of the time series in the output directory.
    pub(crate) fn sample(&self) -> Result<Span, InputError> {
        time("--sample", &self.sample)
    }

    /// Largest accepted 99th percentile of the time from when a packet should leave the link to when it leaves.
    pub(crate) fn late(&self) -> Result<Span, InputError> {
        time("--late", &self.late)
    }
}

fn time(argument: &str, words: &str) -> Result<Span, InputError> {
    let accepts = "a time above 0 such as 10ms";
    let span = text::span(words).ok().filter(|span| *span > Span::ZERO);
    span.ok_or_else(|| InputError::new(argument, "", Found::text(words), accepts))
}

fn check(rate: &str, argument: String) -> Result<(), InputError> {
    let accepts = "a rate above 0 such as 50mbit, at most 100gbit";
    let wrong = |hint| Err(InputError::new(argument, "", Found::text(rate), accepts).hint(hint));
    match text::rate(rate) {
        Ok(known) if known.0 <= 100_000_000_000 => Ok(()),
        Ok(_) => wrong(None),
        Err(bad) => wrong(bad.hint),
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " "))
}

/// Replaces the scenario key in an error with the argument it came from.
fn of_argument(error: &InputError) -> InputError {
    let mut error = error.clone();
    // The user gave arguments, not this scenario text: its lines and other keys would mean nothing.
    let last = error.key.rsplit('.').next().unwrap_or_default();
    let argument = match last.split('[').next().unwrap_or_default() {
        "rate_trace" => "trace",
        "series" => "series",
        name @ ("delay" | "queue" | "aqm" | "loss" | "rate") => name,
        _ => "link",
    };
    if error.file == "link" {
        error.file = format!("--{argument}");
        (error.line, error.column) = (None, None);
        error.key = String::new();
    }
    error
}
