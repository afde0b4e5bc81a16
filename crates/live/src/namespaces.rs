//! The network namespaces of an emulated link. They have no names. The kernel deletes them when their
//! last process ends.
//!
//! The user's command runs in the client namespace, servers run in the server namespace, and the
//! emulator runs in the middle namespace between two pairs of interfaces. For an ordinary user a user namespace is
//! created first; it gives root privileges over these three namespaces only.
//!
//! Links can be nested: a command in a client namespace can create an inner link. The client namespace of the outer
//! link is then the server namespace of the inner link. It forwards packets between the two links.

use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::nat::Nat;
use crate::port::{Kind, Port, Way};
use crate::sys::ethtool;
use crate::sys::interfaces::{End, Mac, index};
use crate::sys::netlink::Netlink;
use crate::sys::process::{self, Child, Namespaces};
use crate::sys::ring::RingSocket;
use crate::sys::tun::Tunnel;

/// Environment variable in the client namespace: the depth of its link (0: outermost).
pub const DEPTH: &str = "FOREBAY_LINK";
/// Maximum depth of a link. The link of depth N uses the addresses 100.64.N.0/24.
pub const MAX_DEPTH: u8 = 30;
/// Name of the interface in the client and server namespaces.
const INTERFACE: &str = "eth0";

/// An operation that failed, and what may help.
#[derive(Debug)]
pub struct Failure {
    /// The operation that failed.
    pub what: String,
    /// The system error.
    pub error: io::Error,
    /// What may help; may be empty.
    pub hint: &'static str,
}

impl Failure {
    /// The operation that failed and the error, without the hint on what may help.
    pub fn cause(&self) -> String {
        format!("cannot {}: {}", self.what, self.error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.cause())?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "; {}", self.hint) }
    }
}

impl std::error::Error for Failure {}

/// Adds to an error the operation `what` that failed.
fn trying<T>(what: &str, result: io::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| Failure { what: what.to_string(), error, hint: "" })
}

const USERS: &str = "unprivileged user namespaces may be disabled: see forebay doctor";

/// Addresses of a link.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Depth of this link: 0 for the outermost.
    pub depth: u8,
}

impl Addresses {
    /// Address of the server namespace.
    pub const fn server(self) -> Ipv4Addr {
        Ipv4Addr::new(100, 64, self.depth, 1)
    }

    /// Address of the client namespace.
    pub const fn client(self) -> Ipv4Addr {
        Ipv4Addr::new(100, 64, self.depth, 2)
    }

    const fn mac(self, number: u8) -> Mac {
        // Bit 1 of the first byte: locally administered.
        [0x02, 0xfb, 0, 0, self.depth, number]
    }
}

/// The namespaces of an emulated link. This process is in the middle one.
pub struct Site {
    /// The client namespace.
    client: Arc<File>,
    /// The server namespace.
    server: Arc<File>,
    /// The emulator's ports in the middle namespace: to the client and to the server namespace.
    pub ports: [Port; 2],
    /// Addresses of both ends.
    pub addresses: Addresses,
    quiet: bool,
    /// The namespaces are in a user namespace that this process has made.
    in_users: bool,
}

/// ECN of the kernel's TCP (`net.ipv4.tcp_ecn`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TcpEcn {
    /// The kernel's default: accepted, not requested.
    #[default]
    Default,
    /// Requested and accepted (RFC 3168).
    Classic,
    /// Requested and accepted, with accurate feedback (RFC 9768).
    Accurate,
}

impl TcpEcn {
    /// The value of the setting; `None`: it stays as it is.
    const fn setting(self) -> Option<&'static str> {
        match self {
            Self::Default => None,
            Self::Classic => Some("1"),
            Self::Accurate => Some("3"),
        }
    }
}

/// Options for the client and server namespaces.
#[derive(Clone, Copy, Debug, Default)]
pub struct SiteOptions {
    /// ECN of TCP in the client and the server namespace.
    pub ecn: TcpEcn,
    /// Kind of device that connects the middle namespace to both ends.
    pub port: Kind,
    /// Redirect the commands' stdout to stderr?
    pub quiet: bool,
    /// Will the server namespace be connected to the outside ([`Site::open`])?
    pub opens: bool,
}

impl Site {
    /// Creates the namespaces and moves this process, which must be single-threaded, into the middle one.
    pub fn new(options: SiteOptions) -> Result<Self, Failure> {
        let caller = trying("read the network namespace", process::own_net())?;
        let around = around();
        let own = Namespaces { user: false, net: true, mount: true, pid: false };
        let as_root = process::unshare(own).is_ok();
        if !as_root {
            new_users(own)?;
        }
        trying("make mounts private", process::private_mounts())?;
        let around = around.filter(|_| as_root);
        if options.opens && around.is_some() {
            let error = io::Error::from(io::ErrorKind::Unsupported);
            return Err(Failure {
                what: "give an inner link a NAT".to_string(),
                error,
                hint: "the outer link can have one",
            });
        }
        let addresses = Addresses { depth: around.map_or(0, |depth| depth + 1) };
        let client = prepare()?;
        let server = if around.is_some() {
            caller
        } else {
            trying("make a network namespace", process::unshare(NET))?;
            prepare()?
        };
        trying("make a network namespace", process::unshare(NET))?;
        let middle = prepare()?;
        let ends = [&client, &server];
        let outside = match (around, options.opens) {
            (Some(_), _) => Outside::OuterLink,
            (None, true) => Outside::Nat,
            (None, false) => Outside::Nothing,
        };
        let ports = match options.port {
            Kind::Ring => wire(&middle, ends, addresses, outside)?,
            Kind::Tun => dig(&middle, ends, addresses, outside)?,
        };
        if let Some(setting) = options.ecn.setting() {
            for end in ends {
                trying("enter a network namespace", process::enter_net(end.as_fd()))?;
                let what = match options.ecn {
                    // A kernel without complete AccECN refuses this value: Linux 6.18 does.
                    TcpEcn::Accurate => "switch AccECN on (net.ipv4.tcp_ecn = 3), which this kernel may not have",
                    TcpEcn::Classic | TcpEcn::Default => "switch ECN on",
                };
                trying(what, fs::write("/proc/sys/net/ipv4/tcp_ecn", setting))?;
            }
            trying("enter a network namespace", process::enter_net(middle.as_fd()))?;
        }
        let (client, server) = (Arc::new(client), Arc::new(server));
        Ok(Self { client, server, ports, addresses, quiet: options.quiet, in_users: !as_root })
    }

    /// Connects the server namespace to the outside.
    pub fn open(&self, nat: &Nat) -> Result<(), Failure> {
        let middle = trying("read the network namespace", process::own_net())?;
        trying("enter a network namespace", process::enter_net(self.server.as_fd()))?;
        trying("connect the link to the outside", nat.connect(&*self.server, self.in_users))?;
        trying("enter a network namespace", process::enter_net(middle.as_fd()))
    }

    /// Starts the shell commands `servers` in the server namespace, waits up to 2 s for each to listen, and runs
    /// `command` in the client namespace. When `command` ends, all are killed.
    pub fn start(&self, command: &[std::ffi::OsString], servers: &[String]) -> Result<Child, Failure> {
        let (words, servers) = (command.to_vec(), servers.to_vec());
        let started = process::fork(move || {
            // The first process of a PID namespace takes all others with it when it ends.
            let pid = Namespaces { user: false, net: false, mount: true, pid: true };
            let first = process::unshare(pid).and_then(|()| process::fork(|| self.first(&words, &servers)));
            first.and_then(Child::wait).map_or(CANNOT, process::Ended::code)
        });
        trying("start a process", started)
    }

    /// As [`Site::start`], for two functions, each in its own process. The exit code is the larger one.
    pub fn play(&self, client: impl FnOnce() -> i32, server: impl FnOnce() -> i32) -> Result<Child, Failure> {
        let within = |namespace: &Arc<File>, work: Box<dyn FnOnce() -> i32 + '_>| {
            process::fork(|| process::enter_net(namespace.as_fd()).map_or(CANNOT, |()| work()))
        };
        let both = || {
            let pid = Namespaces { user: false, net: false, mount: false, pid: true };
            process::unshare(pid)?;
            let first = process::fork(|| {
                let started = || Ok([within(&self.server, Box::new(server))?, within(&self.client, Box::new(client))?]);
                let ended = started()
                    .and_then(|both: [Child; 2]| both.into_iter().map(Child::wait).collect::<io::Result<Vec<_>>>());
                ended.map_or(CANNOT, |all| all.into_iter().map(process::Ended::code).max().unwrap_or(CANNOT))
            });
            first?.wait()
        };
        trying("start a process", process::fork(|| both().map_or(CANNOT, process::Ended::code)))
    }

    /// The first process of the PID namespace: starts the servers, then runs the command and returns its exit code.
    fn first(&self, words: &[std::ffi::OsString], servers: &[String]) -> i32 {
        // Without this mount ps shows the outer processes, which does no harm.
        let _ = process::mount_proc();
        for server in servers {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exec {server}")]).stdin(std::process::Stdio::null());
            match process::in_net(self.with_environment(&mut shell), self.server.clone()).spawn() {
                Ok(child) => listens(child.id()),
                Err(error) => return cannot(server, &error),
            }
        }
        let mut command = Command::new(&words[0]);
        match process::in_net(self.with_environment(command.args(&words[1..])), self.client.clone()).spawn() {
            Ok(child) => process::reap_until(child.id()).map_or(CANNOT, process::Ended::code),
            Err(error) => cannot(&words[0].to_string_lossy(), &error),
        }
    }

    /// Sets the environment variables with depth and addresses, and redirects stdout if the link is quiet.
    fn with_environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let Addresses { depth } = self.addresses;
        if self.quiet {
            command.stdout(io::stderr());
        }
        command
            .env(DEPTH, depth.to_string())
            .env("FOREBAY_SERVER", self.addresses.server().to_string())
            .env("FOREBAY_CLIENT", self.addresses.client().to_string())
    }
}

/// Depth of the innermost link whose client namespace this process is in (0: outermost); `None` outside of links. The
/// environment variable with this depth ([`DEPTH`]) does not suffice: a stale one could connect a link to the machine's
/// own network. So the namespace must also have the client's address, and only interfaces of links.
fn around() -> Option<u8> {
    let depth = std::env::var(DEPTH).ok()?.parse::<u8>().ok().filter(|depth| *depth < MAX_DEPTH)?;
    let local = fs::read_to_string("/proc/thread-self/net/fib_trie").ok()?;
    let client = Addresses { depth }.client().to_string();
    let named = fs::read_to_string("/proc/thread-self/net/dev").ok()?;
    // A client namespace has lo and eth0, and one interface `linkN` per link inside it.
    let ours = |name: &str| name == "lo" || name == INTERFACE || name.starts_with("link");
    let all_ours = named.lines().skip(2).filter_map(|line| line.split(':').next()).all(|name| ours(name.trim()));
    (all_ours && local.split_whitespace().any(|word| word == client)).then_some(depth)
}

/// Exit codes of shells for programs that cannot be started.
const CANNOT: i32 = 126;
const NOT_FOUND: i32 = 127;

fn cannot(name: &str, error: &io::Error) -> i32 {
    let line = format!("forebay: cannot start {name}: {error}\n");
    let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
    if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT }
}

const NET: Namespaces = Namespaces { user: false, net: true, mount: false, pid: false };

/// Moves this process, which must be single-threaded, into a new network namespace with full privileges there.
pub fn alone() -> Result<(), Failure> {
    let own = Namespaces { user: false, net: true, mount: true, pid: false };
    if process::unshare(own).is_err() {
        new_users(own)?;
    }
    trying("make mounts private", process::private_mounts())
}

/// Creates the namespaces `own` inside a new user namespace, in which an ordinary user is root.
fn new_users(own: Namespaces) -> Result<(), Failure> {
    let (user, group) = process::ids();
    process::unshare(Namespaces { user: true, ..own }).map_err(|error| Failure {
        what: "make namespaces".to_string(),
        error,
        hint: USERS,
    })?;
    for (file, text) in
        [("setgroups", "deny".to_string()), ("uid_map", format!("0 {user} 1")), ("gid_map", format!("0 {group} 1"))]
    {
        trying("map this user", fs::write(format!("/proc/self/{file}"), text))?;
    }
    Ok(())
}

/// Sets up the new network namespace of this process and opens it.
fn prepare() -> Result<File, Failure> {
    // Without IPv6 no neighbour or router discovery appears on the link: it carries only its users' packets.
    for what in ["all", "default"] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{what}/disable_ipv6"), "1");
    }
    let up = || Netlink::open()?.up(index("lo")?);
    trying("switch the loopback interface on", up())?;
    trying("read the network namespace", process::own_net())
}

/// What is behind the server namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outside {
    Nothing,
    /// It is the client namespace of an outer link.
    OuterLink,
    Nat,
}

/// Interface names in the client and server namespaces. In a nested link, eth0 already exists in the latter.
fn names(addresses: Addresses, is_nested: bool) -> [String; 2] {
    let own = || INTERFACE.to_string();
    [own(), if is_nested { format!("link{}", addresses.depth) } else { own() }]
}

const TUN: &str = "/dev/net/tun may be restricted to root: chmod 666 it as root, or omit --port";

/// Connects the ends through tun devices, whose interfaces are in the client and server namespaces.
fn dig(middle: &File, ends: [&File; 2], addresses: Addresses, outside: Outside) -> Result<[Port; 2], Failure> {
    let names = names(addresses, outside == Outside::OuterLink);
    let dug = |side: usize| {
        trying("enter a network namespace", process::enter_net(ends[side].as_fd()))?;
        let tunnel = Tunnel::open(&names[side]);
        let tunnel = tunnel.map_err(|error| Failure { what: "open a tun device".to_string(), error, hint: TUN })?;
        trying("configure an interface", set_end_up(&names[side], side, addresses, outside))?;
        let port = || Port::new(Way::Tun(tunnel), Netlink::open()?, index(&names[side])?);
        trying("query an interface", port())
    };
    let ports = [dug(0)?, dug(1)?];
    trying("enter a network namespace", process::enter_net(middle.as_fd()))?;
    Ok(ports)
}

/// Maximum MTU of a veth interface, bytes.
const MAX_MTU: u32 = 65_535;

/// Connects both ends to the middle, the namespace of this process, by veth pairs. Returns the ports in the
/// middle.
fn wire(middle: &File, ends: [&File; 2], addresses: Addresses, outside: Outside) -> Result<[Port; 2], Failure> {
    let names = names(addresses, outside == Outside::OuterLink);
    let own = ["client", "server"];
    for side in 0..2 {
        let (mac, namespace) = (addresses.mac(side as u8), Some(ends[side].as_fd()));
        let there = End { name: &names[side], mac, mtu: None, namespace };
        // The MTU is set by the ends; the middle accepts any length.
        let here = End { name: own[side], mac: addresses.mac(2 + side as u8), mtu: Some(MAX_MTU), namespace: None };
        let pair = || Netlink::open().and_then(|netlink| netlink.pair([here, there]));
        // The kernel deletes the interface of a previous link with a delay.
        let mut made = pair();
        let until = Instant::now() + TIMEOUT;
        while made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            made = pair();
        }
        trying("create a veth pair", made)?;
    }
    for (side, end) in ends.into_iter().enumerate() {
        trying("enter a network namespace", process::enter_net(end.as_fd()))?;
        trying("configure an interface", set_end_up(&names[side], side, addresses, outside))?;
    }
    trying("enter a network namespace", process::enter_net(middle.as_fd()))?;
    let port = |name: &str| {
        ethtool::off(name)?;
        let number = index(name)?;
        let netlink = Netlink::open()?;
        netlink.up(number)?;
        Port::new(Way::Ring(RingSocket::open(number)?), netlink, number)
    };
    Ok([trying("listen on an interface", port(own[0]))?, trying("listen on an interface", port(own[1]))?])
}

/// Configures the interface of an end, in whose namespace this process is.
fn set_end_up(name: &str, side: usize, addresses: Addresses, outside: Outside) -> io::Result<()> {
    let (own, other) =
        if side == 0 { (addresses.client(), addresses.server()) } else { (addresses.server(), addresses.client()) };
    let number = index(name)?;
    let netlink = Netlink::open()?;
    ethtool::off(name)?;
    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
    netlink.address(number, own, 24)?;
    netlink.up(number)?;
    // A tun device has no hardware addresses and needs no neighbour entry.
    let _ = netlink.neighbour(number, other, addresses.mac(1 - side as u8));
    match outside {
        Outside::OuterLink if side == 1 => {
            // Reach inner links through the outer link's server namespace.
            for depth in addresses.depth + 1..=MAX_DEPTH {
                netlink.route(Ipv4Addr::new(100, 64, depth, 0), 24, other)?;
            }
            fs::write("/proc/sys/net/ipv4/ip_forward", "1")
        }
        // The NAT has the default route.
        Outside::Nat if side == 1 => Ok(()),
        _ => netlink.default_route(other),
    }
}

/// How long to wait for a server to listen, or for an old interface to disappear.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Waits until any process in the network namespace of `process` listens on a port. Waits at most [`TIMEOUT`], because
/// the command of `process` may not be a server.
fn listens(process: u32) {
    let until = Instant::now() + TIMEOUT;
    let listening = || {
        ["tcp", "tcp6", "udp", "udp6"].iter().any(|table| {
            let text = fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
            // 0A is TCP LISTEN; 07 is a bound UDP socket.
            text.lines()
                .skip(1)
                .any(|line| line.split_whitespace().nth(3).is_some_and(|state| state == "0A" || state == "07"))
        })
    };
    while !listening() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
}
