//! Connects an emulated link to the network of the machine by slirp4netns(1), a NAT in user space. The server namespace
//! forwards the packets of the client to it.
//!
//! slirp4netns must run in the network and user namespaces of the caller. This process leaves them when it creates those of
//! the link. So a child process is started before; it waits for the namespaces of the link, then executes slirp4netns.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::sys::process::{self, Child};

/// The program.
pub const PROGRAM: &str = "slirp4netns";
/// nft(8), also where ordinary users have no /usr/sbin in their PATH.
const NFT: [&str; 3] = ["nft", "/usr/sbin/nft", "/sbin/nft"];
/// Its device in the server namespace.
const DEVICE: &str = "tap0";
/// The address of its name server.
const NAMES: &str = "nameserver 10.0.2.3\n";
/// Forwarded packets get the address of the device as their source.
const RULES: &str = "table ip forebay_nat {
    chain out {
        type nat hook postrouting priority srcnat
        oifname tap0 masquerade
    }
}
";
/// How long it may take to start.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Where a program names its name servers.
const RESOLVER: &str = "/etc/resolv.conf";

/// The child process that executes slirp4netns. It ends when this process ends.
pub struct Nat {
    _process: Child,
    channel: UnixStream,
    /// What it prints on stderr.
    errors: UnixStream,
    /// The program nft(8).
    nft: &'static str,
}

/// Can this program be started?
fn works(name: &str) -> bool {
    let tried = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

impl Nat {
    /// Starts the child process. Call it before this process, which must have a single thread, changes its namespaces.
    ///
    /// # Errors
    /// A program is missing, or the process cannot be started.
    pub fn prepare() -> io::Result<Self> {
        let missing = |name: &str| io::Error::new(io::ErrorKind::NotFound, format!("there is no {name}"));
        if !works(PROGRAM) {
            return Err(missing(PROGRAM));
        }
        let nft = NFT.into_iter().find(|name| works(name)).ok_or_else(|| missing(NFT[0]))?;
        let ((channel, theirs), (errors, printed)) = (UnixStream::pair()?, UnixStream::pair()?);
        let process = process::fork(move || become_nat(&theirs, printed).unwrap_or(libc::EXIT_FAILURE))?;
        Ok(Self { _process: process, channel, errors, nft })
    }

    /// Connects the server namespace, in which this process is, to the outside. `in_users`: this process has made a user
    /// namespace.
    ///
    /// # Errors
    /// slirp4netns or nft(8) fails, or a file of the kernel cannot be written.
    pub fn connect(&self, namespace: &impl AsFd, in_users: bool) -> io::Result<()> {
        let own = std::process::id();
        let path = format!("/proc/{own}/fd/{}", namespace.as_fd().as_raw_fd());
        let users = if in_users { format!("/proc/{own}/ns/user") } else { String::new() };
        let mut channel = &self.channel;
        channel.set_read_timeout(Some(TIMEOUT))?;
        channel.write_all(format!("{path} {users}\n").as_bytes())?;
        if let Err(error) = channel.read_exact(&mut [0]) {
            return Err(io::Error::other(match error.kind() {
                io::ErrorKind::UnexpectedEof => format!("{PROGRAM} failed: {}", self.said()),
                _ => format!("{PROGRAM} has not begun within {TIMEOUT:?}"),
            }));
        }
        fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
        let mut nft = Command::new(self.nft).args(["-f", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        if let Some(mut input) = nft.stdin.take() {
            // If nft ends early, its status and what it prints say why.
            let _ = input.write_all(RULES.as_bytes());
        }
        let done = nft.wait_with_output()?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            return Err(io::Error::other(format!("nft refuses to masquerade: {}", said.trim())));
        }
        names()
    }
}

impl Nat {
    /// The last line that slirp4netns has printed on stderr.
    fn said(&self) -> String {
        let mut text = Vec::new();
        let _ = self.errors.set_nonblocking(true);
        let _ = (&self.errors).read_to_end(&mut text);
        String::from_utf8_lossy(&text).lines().last().unwrap_or("it printed nothing").to_string()
    }
}

/// Waits for the paths of the namespaces, then becomes slirp4netns.
fn become_nat(channel: &UnixStream, printed: UnixStream) -> io::Result<i32> {
    let (mut input, mut line, mut byte) = (channel, Vec::new(), [0]);
    while input.read(&mut byte)? == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    let line = String::from_utf8_lossy(&line).into_owned();
    let Some((path, users)) = line.split_once(' ') else { return Ok(0) };
    let ready = channel.try_clone()?;
    process::keep_over_exec(channel.as_fd())?;
    process::keep_over_exec(ready.as_fd())?;
    let mut command = Command::new(PROGRAM);
    command.args(["--configure", "--mtu=1500", "--netns-type=path"]);
    if !users.is_empty() {
        command.arg(format!("--userns-path={users}"));
    }
    command.arg(format!("--exit-fd={}", channel.as_raw_fd())).arg(format!("--ready-fd={}", ready.as_raw_fd()));
    command.args([path, DEVICE]).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(OwnedFd::from(printed));
    Err(command.exec())
}

/// Makes the name server of the NAT that of this mount namespace.
fn names() -> io::Result<()> {
    // A new file, so that nobody else has it open or has made a link in its place.
    let name = |n: u32| std::env::temp_dir().join(format!("forebay-names-{}-{n}", std::process::id()));
    let new = |path: &PathBuf| OpenOptions::new().write(true).create_new(true).mode(0o644).open(path);
    let made = (0..100).map(name).find_map(|path| new(&path).ok().map(|file| (path, file)));
    let (path, mut file) = made.ok_or_else(|| io::Error::other("no file can be made in the temporary folder"))?;
    let written = file.set_permissions(Permissions::from_mode(0o644)).and_then(|()| file.write_all(NAMES.as_bytes()));
    let mounted = written.and_then(|()| process::mount_over(&path, RESOLVER.as_ref()));
    // The mount keeps the file.
    let _ = fs::remove_file(&path);
    match mounted {
        // A machine without this file resolves no names.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
