//! Where both ends of an emulated link live: network namespaces without names, which end with the last process in them.
//!
//! The command runs *near*, servers run *far*, and the emulator sits in the *middle*, between two pairs of interfaces. An
//! ordinary user gets a namespace of users first, in which it is root over these three and nothing else. Within an emulated
//! link another one can be made: far is then where the outer command runs, and everything beyond is reached through it.

use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::port::{Kind, Port, Way};
use crate::sys::interfaces::{End, Mac, index};
use crate::sys::netlink::Netlink;
use crate::sys::offloads;
use crate::sys::process::{self, Child, Namespaces};
use crate::sys::ring::RingSocket;
use crate::sys::tun::Tunnel;

/// Says that a process runs near, and within how many links.
pub const DEPTH: &str = "FOREBAY_LINK";
/// How many links can be within each other: each has a network of its own in 100.64.0.0/16.
pub const MOST: u8 = 30;
/// The name of the interface near and far.
const INTERFACE: &str = "eth0";

/// What could not be done, and what to do about it.
#[derive(Debug)]
pub struct Failure {
    /// What.
    pub what: String,
    /// The kernel's word.
    pub error: io::Error,
    /// What may help.
    pub hint: &'static str,
}

impl Failure {
    /// What could not be done, without what may help.
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

/// Names what was tried.
fn trying<T>(what: &str, result: io::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| Failure { what: what.to_string(), error, hint: "" })
}

const USERS: &str = "namespaces for ordinary users may be switched off: forebay doctor says more";

/// Addresses of a link.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Links around it.
    pub depth: u8,
}

impl Addresses {
    /// Where servers run.
    pub const fn far(self) -> Ipv4Addr {
        Ipv4Addr::new(100, 64, self.depth, 1)
    }

    /// Where the command runs.
    pub const fn near(self) -> Ipv4Addr {
        Ipv4Addr::new(100, 64, self.depth, 2)
    }

    const fn mac(self, number: u8) -> Mac {
        // The second bit of the first byte: not from a manufacturer.
        [0x02, 0xfb, 0, 0, self.depth, number]
    }
}

/// The place of an emulated link; this process is in its middle.
pub struct Site {
    /// Where the command runs.
    near: Arc<File>,
    /// Where servers run.
    far: Arc<File>,
    /// Ports in the middle, towards near and far.
    pub ports: [Port; 2],
    /// Who has which address.
    pub addresses: Addresses,
    quiet: bool,
}

/// How both ends are set up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes {
    /// TCP asks for ECN at both ends.
    pub ecn: bool,
    /// How the middle is connected to both.
    pub port: Kind,
    /// What the commands say goes to stderr, for stdout is somebody else's.
    pub quiet: bool,
}

impl Site {
    /// Moves this process, which must have one thread only, into the middle of a new link.
    pub fn new(wishes: Wishes) -> Result<Self, Failure> {
        let caller = trying("read the network namespace", process::own_net())?;
        let around = around();
        let own = Namespaces { user: false, net: true, mount: true, pid: false };
        let as_root = process::unshare(own).is_ok();
        if !as_root {
            new_users(own)?;
        }
        trying("make mounts private", process::private_mounts())?;
        let around = around.filter(|_| as_root);
        let addresses = Addresses { depth: around.map_or(0, |depth| depth + 1) };
        let near = prepare()?;
        let far = if around.is_some() {
            caller
        } else {
            trying("make a network namespace", process::unshare(NET))?;
            prepare()?
        };
        trying("make a network namespace", process::unshare(NET))?;
        let middle = prepare()?;
        let ends = [&near, &far];
        let ports = match wishes.port {
            Kind::Ring => wire(&middle, ends, addresses, around.is_some())?,
            Kind::Tun => dig(&middle, ends, addresses, around.is_some())?,
        };
        if wishes.ecn {
            for end in ends {
                trying("enter a network namespace", process::enter_net(end.as_fd()))?;
                trying("switch ECN on", fs::write("/proc/sys/net/ipv4/tcp_ecn", "1"))?;
            }
            trying("enter a network namespace", process::enter_net(middle.as_fd()))?;
        }
        Ok(Self { near: Arc::new(near), far: Arc::new(far), ports, addresses, quiet: wishes.quiet })
    }

    /// Starts `far` commands of a shell, waits a while until something listens, and runs `command`; all of them end with it.
    pub fn start(&self, command: &[std::ffi::OsString], far: &[String]) -> Result<Child, Failure> {
        let (words, servers) = (command.to_vec(), far.to_vec());
        let started = process::fork(move || {
            // The first process of a namespace of processes takes all others with it, however they came to be.
            let pid = Namespaces { user: false, net: false, mount: true, pid: true };
            let first = process::unshare(pid).and_then(|()| process::fork(|| self.first(&words, &servers)));
            first.and_then(Child::wait).map_or(CANNOT, process::Ended::code)
        });
        trying("start a process", started)
    }

    /// The same for work of ours, near and far, in a process each; the code is that of the one that fared worse.
    pub fn play(&self, near: impl FnOnce() -> i32, far: impl FnOnce() -> i32) -> Result<Child, Failure> {
        let within = |namespace: &Arc<File>, work: Box<dyn FnOnce() -> i32 + '_>| {
            process::fork(|| process::enter_net(namespace.as_fd()).map_or(CANNOT, |()| work()))
        };
        let both = || {
            let pid = Namespaces { user: false, net: false, mount: false, pid: true };
            process::unshare(pid)?;
            let first = process::fork(|| {
                let started = || Ok([within(&self.far, Box::new(far))?, within(&self.near, Box::new(near))?]);
                let ended = started()
                    .and_then(|both: [Child; 2]| both.into_iter().map(Child::wait).collect::<io::Result<Vec<_>>>());
                ended.map_or(CANNOT, |all| all.into_iter().map(process::Ended::code).max().unwrap_or(CANNOT))
            });
            first?.wait()
        };
        trying("start a process", process::fork(|| both().map_or(CANNOT, process::Ended::code)))
    }

    /// What the first process of the namespace does.
    fn first(&self, words: &[std::ffi::OsString], servers: &[String]) -> i32 {
        // Without it ps shows the processes outside: a pity, no more.
        let _ = process::mount_proc();
        for server in servers {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exec {server}")]).stdin(std::process::Stdio::null());
            match process::in_net(self.told(&mut shell), self.far.clone()).spawn() {
                Ok(child) => listens(child.id()),
                Err(error) => return cannot(server, &error),
            }
        }
        let mut command = Command::new(&words[0]);
        match process::in_net(self.told(command.args(&words[1..])), self.near.clone()).spawn() {
            Ok(child) => process::reap_until(child.id()).map_or(CANNOT, process::Ended::code),
            Err(error) => cannot(&words[0].to_string_lossy(), &error),
        }
    }

    /// Says in the environment where everything is.
    fn told<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let Addresses { depth } = self.addresses;
        if self.quiet {
            command.stdout(io::stderr());
        }
        command
            .env(DEPTH, depth.to_string())
            .env("FOREBAY_FAR", self.addresses.far().to_string())
            .env("FOREBAY_NEAR", self.addresses.near().to_string())
    }
}

/// How many links are around this process, if it runs near in one. The word alone does not count: the address must be there
/// too, or a word that was left over would let a link be wired to a machine's own network.
fn around() -> Option<u8> {
    let depth = std::env::var(DEPTH).ok()?.parse::<u8>().ok().filter(|depth| *depth < MOST)?;
    let local = fs::read_to_string("/proc/thread-self/net/fib_trie").ok()?;
    let near = Addresses { depth }.near().to_string();
    let named = fs::read_to_string("/proc/thread-self/net/dev").ok()?;
    // A link's command sees two interfaces, or some more of links within it.
    let ours = |name: &str| name == "lo" || name == INTERFACE || name.starts_with("link");
    let all_ours = named.lines().skip(2).filter_map(|line| line.split(':').next()).all(|name| ours(name.trim()));
    (all_ours && local.split_whitespace().any(|word| word == near)).then_some(depth)
}

/// What a shell says of a program that cannot be started.
const CANNOT: i32 = 126;
const NOT_FOUND: i32 = 127;

fn cannot(name: &str, error: &io::Error) -> i32 {
    let line = format!("forebay: cannot start {name}: {error}\n");
    let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
    if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT }
}

const NET: Namespaces = Namespaces { user: false, net: true, mount: false, pid: false };

/// Moves this process, which must have one thread only, into a network namespace of its own, where it may do everything.
pub fn alone() -> Result<(), Failure> {
    let own = Namespaces { user: false, net: true, mount: true, pid: false };
    if process::unshare(own).is_err() {
        new_users(own)?;
    }
    trying("make mounts private", process::private_mounts())
}

/// The same for an ordinary user, who is root in there and the user it was to all others.
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

/// Sets up the new network namespace that this process is in, and opens it.
fn prepare() -> Result<File, Failure> {
    // Neighbours and routers are not asked for over an emulated link: only what its users send is on it.
    for what in ["all", "default"] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{what}/disable_ipv6"), "1");
    }
    let up = || Netlink::open()?.up(index("lo")?);
    trying("switch the loopback interface on", up())?;
    trying("read the network namespace", process::own_net())
}

/// What the interfaces near and far are called: where an outer link's command runs there is an eth0 already.
fn names(addresses: Addresses, is_nested: bool) -> [String; 2] {
    let own = || INTERFACE.to_string();
    [own(), if is_nested { format!("link{}", addresses.depth) } else { own() }]
}

const TUN: &str = "/dev/net/tun is for root alone on some machines: chmod 666 as root, or leave --port out";

/// The same through tunnels, whose interfaces are near and far.
fn dig(middle: &File, ends: [&File; 2], addresses: Addresses, is_nested: bool) -> Result<[Port; 2], Failure> {
    let names = names(addresses, is_nested);
    let dug = |side: usize| {
        trying("enter a network namespace", process::enter_net(ends[side].as_fd()))?;
        let tunnel = Tunnel::open(&names[side]);
        let tunnel = tunnel.map_err(|error| Failure { what: "open a tunnel".to_string(), error, hint: TUN })?;
        trying("set an end up", set_end_up(&names[side], side, addresses, is_nested && side == 1))?;
        let port = || Port::new(Way::Tun(tunnel), Netlink::open()?, index(&names[side])?);
        trying("look at an interface", port())
    };
    let ports = [dug(0)?, dug(1)?];
    trying("enter a network namespace", process::enter_net(middle.as_fd()))?;
    Ok(ports)
}

/// The most that a wire between two interfaces can be told.
const MOST_MTU: u32 = 65_535;

/// Wires near and far to the middle, where this process is; the sockets on both wires.
fn wire(middle: &File, ends: [&File; 2], addresses: Addresses, is_nested: bool) -> Result<[Port; 2], Failure> {
    let names = names(addresses, is_nested);
    let own = ["near", "far"];
    for side in 0..2 {
        let (mac, namespace) = (addresses.mac(side as u8), Some(ends[side].as_fd()));
        let there = End { name: &names[side], mac, mtu: None, namespace };
        // Packets are as long as those near and far agree on: none is too long for the middle.
        let here = End { name: own[side], mac: addresses.mac(2 + side as u8), mtu: Some(MOST_MTU), namespace: None };
        let pair = || Netlink::open().and_then(|netlink| netlink.pair([here, there]));
        // The interface of a link that has just ended here is taken away by the kernel a little later.
        let mut made = pair();
        let until = Instant::now() + PATIENCE;
        while made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            made = pair();
        }
        trying("wire two interfaces", made)?;
    }
    for (side, end) in ends.into_iter().enumerate() {
        trying("enter a network namespace", process::enter_net(end.as_fd()))?;
        trying("set an end up", set_end_up(&names[side], side, addresses, is_nested && side == 1))?;
    }
    trying("enter a network namespace", process::enter_net(middle.as_fd()))?;
    let port = |name: &str| {
        offloads::off(name)?;
        let number = index(name)?;
        let netlink = Netlink::open()?;
        netlink.up(number)?;
        Port::new(Way::Ring(RingSocket::open(number)?), netlink, number)
    };
    Ok([trying("listen on an interface", port(own[0]))?, trying("listen on an interface", port(own[1]))?])
}

/// Sets up the end of a wire near or far, in whose namespace this process is.
fn set_end_up(name: &str, side: usize, addresses: Addresses, is_nested: bool) -> io::Result<()> {
    let (own, other) =
        if side == 0 { (addresses.near(), addresses.far()) } else { (addresses.far(), addresses.near()) };
    let number = index(name)?;
    let netlink = Netlink::open()?;
    offloads::off(name)?;
    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
    netlink.address(number, own, 24)?;
    netlink.up(number)?;
    // A tunnel has no addresses of hardware, and needs none.
    let _ = netlink.neighbour(number, other, addresses.mac(1 - side as u8));
    if is_nested {
        // On the way to the outer link's far end, and from there to what may be within the new one.
        for depth in addresses.depth + 1..=MOST {
            netlink.route(Ipv4Addr::new(100, 64, depth, 0), 24, other)?;
        }
        fs::write("/proc/sys/net/ipv4/ip_forward", "1")
    } else {
        netlink.default_route(other)
    }
}

/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(2);

/// Waits until something listens in the network namespace of that process: not for long, for it may be no server.
fn listens(process: u32) {
    let until = Instant::now() + PATIENCE;
    let listening = || {
        ["tcp", "tcp6", "udp", "udp6"].iter().any(|table| {
            let text = fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
            // 0A is LISTEN; a socket of UDP with an address of its own is 07.
            text.lines()
                .skip(1)
                .any(|line| line.split_whitespace().nth(3).is_some_and(|state| state == "0A" || state == "07"))
        })
    };
    while !listening() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
}
