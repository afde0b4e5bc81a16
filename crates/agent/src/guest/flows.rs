//! The flows: a thread at each end of each flow. Both ends of a flow are in this process, so they share its times.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

use forebay_agent::orders::{Flow, Orders, Piece, Work};

use super::Report;
use super::sys::{self, Descriptor, TcpOptions};

/// Stack of a thread: the buffers are in the kernel.
const STACK: usize = 64 << 10;
/// How often a sender looks whether everything is acknowledged, ns.
const LOOK: u64 = 1_000_000;
/// Datagrams that are sent in one system call, at most, and the time that they may span, ns.
const BATCH: usize = 256;
const AHEAD: u64 = 500_000_000;

/// Counters of the connections of one end of a flow.
#[derive(Clone, Copy, Default)]
struct Counters {
    received: u64,
    sent: u64,
    again: u64,
    timeouts: u64,
    marks: u64,
}

impl Counters {
    fn of(info: &[u8; 248]) -> Self {
        let long = |at: usize| info[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
        let word = |at: usize| u64::from(info[at..at + 4].try_into().map_or(0, u32::from_ne_bytes));
        let short = |at: usize| u64::from(info[at..at + 2].try_into().map_or(0, u16::from_ne_bytes));
        // Offsets of bytes_received, data_segs_out, total_retrans, total_rto and delivered_ce in `struct tcp_info`.
        Self { received: long(128), sent: word(156), again: word(100), timeouts: short(240), marks: word(196) }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            received: self.received + other.received,
            sent: self.sent + other.sent,
            again: self.again + other.again,
            timeouts: self.timeouts + other.timeouts,
            marks: self.marks + other.marks,
        }
    }
}

/// One end of a flow.
struct End {
    /// Descriptor of the open connection; -1: none.
    open: AtomicI32,
    /// Sums of the counters of all connections that were closed.
    closed: Mutex<Counters>,
    /// The socket that listens; -1: none.
    listener: AtomicI32,
}

impl End {
    const fn new() -> Self {
        let closed = Counters { received: 0, sent: 0, again: 0, timeouts: 0, marks: 0 };
        Self { open: AtomicI32::new(-1), closed: Mutex::new(closed), listener: AtomicI32::new(-1) }
    }

    fn opened(&self, fd: Descriptor) {
        self.open.store(fd, Ordering::Relaxed);
    }

    /// Closes the open connection and keeps its counters.
    fn close(&self) {
        let fd = self.open.swap(-1, Ordering::Relaxed);
        if fd >= 0 {
            let last = sys::tcp_info(fd).map(|info| Counters::of(&info)).unwrap_or_default();
            let mut closed = lock(&self.closed);
            *closed = closed.plus(last);
            sys::close(fd);
        }
    }

    fn counters(&self) -> (Counters, Option<[u8; 248]>) {
        let fd = self.open.load(Ordering::Relaxed);
        let info = if fd >= 0 { sys::tcp_info(fd).ok() } else { None };
        let open = info.as_ref().map(Counters::of).unwrap_or_default();
        (lock(&self.closed).plus(open), info)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What both ends of a flow know.
struct Shared {
    client: End,
    server: End,
    /// Start times of the files that were sent or requested.
    begun: Mutex<Vec<u64>>,
    /// Number of files that arrived.
    arrived: Mutex<usize>,
    arrival: Condvar,
    stopped: AtomicBool,
}

/// All flows.
pub(super) struct Stage<'a> {
    orders: &'a Orders,
    report: &'a Report,
    shared: Vec<Shared>,
    zeros: Descriptor,
}

fn options(flow: &Flow) -> TcpOptions<'_> {
    TcpOptions {
        control: &flow.control,
        segment: flow.segment,
        window: flow.window,
        paced: flow.paced,
        traffic_class: flow.traffic_class,
    }
}

impl<'a> Stage<'a> {
    pub(super) fn new(orders: &'a Orders, report: &'a Report) -> io::Result<Self> {
        let shared = |_: &Flow| Shared {
            client: End::new(),
            server: End::new(),
            begun: Mutex::new(Vec::new()),
            arrived: Mutex::new(0),
            arrival: Condvar::new(),
            stopped: AtomicBool::new(false),
        };
        Ok(Self { orders, report, shared: orders.flows.iter().map(shared).collect(), zeros: sys::zeros()? })
    }

    /// Opens the sockets that listen at one end of the flows, in the present namespace.
    pub(super) fn listen(&self, at_servers: bool) -> io::Result<()> {
        for (flow, shared) in self.orders.flows.iter().zip(&self.shared) {
            let is_pull = matches!(flow.work, Work::Pull { .. });
            match &flow.work {
                Work::Datagrams(_) if at_servers => {
                    // Nobody reads: what arrives is counted on its way.
                    sys::datagrams(flow.server, flow.port, "", 0)?;
                }
                Work::Datagrams(_) => {}
                _ if is_pull != at_servers => {
                    let (ip, end) =
                        if at_servers { (flow.server, &shared.server) } else { (flow.client, &shared.client) };
                    end.listener.store(sys::listen(&options(flow), ip, flow.port)?, Ordering::Relaxed);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Stops a flow and closes its connection at once.
    pub(super) fn stop(&self, flow: usize) {
        let shared = &self.shared[flow];
        shared.stopped.store(true, Ordering::Relaxed);
        let fd = shared.client.open.load(Ordering::Relaxed);
        if fd >= 0 && matches!(self.orders.flows[flow].work, Work::Bulk) {
            shared.client.close_early(fd);
        }
    }

    /// Reports the counters of all flows.
    pub(super) fn snapshot(&self, when: &str) {
        let line = |(flow, shared): (usize, &Shared)| {
            let ((client, info), (server, _)) = (shared.client.counters(), shared.server.counters());
            let word = |at: usize| info.map_or(0, |info| info[at..at + 4].try_into().map_or(0, u32::from_ne_bytes));
            // srtt and minimum round trip in us, congestion window in packets.
            let state = format!("{} {} {}", word(68), word(148), word(80));
            let Counters { sent, again, timeouts, marks, .. } = client;
            format!("{when} {flow} {} {sent} {again} {timeouts} {marks} {state}", server.received)
        };
        self.report.lines(&self.shared.iter().enumerate().map(line).collect::<Vec<_>>());
    }

    /// Reports the congestion controls of open connections, as the kernel names them.
    pub(super) fn controls(&self) {
        let line = |(flow, shared): (usize, &Shared)| {
            let name = sys::control(shared.client.open.load(Ordering::Relaxed)).ok()?;
            Some(format!("control {flow} {name}"))
        };
        self.report.lines(&self.shared.iter().enumerate().filter_map(line).collect::<Vec<_>>());
    }

    /// Reports the state of the tracked flows.
    pub(super) fn track(&self, at: u64) {
        let line = |flow: &u64| {
            let shared = self.shared.get(*flow as usize)?;
            let fd = shared.client.open.load(Ordering::Relaxed);
            let info = if fd >= 0 { sys::tcp_info(fd).ok()? } else { return None };
            let word = |at: usize| info[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
            Some(format!("track {at} {flow} {} {} {}", word(80), word(24), word(68)))
        };
        self.report.lines(&self.orders.tracked.iter().filter_map(line).collect::<Vec<_>>());
    }

    fn is_over(&self, flow: usize) -> bool {
        self.shared[flow].stopped.load(Ordering::Relaxed)
    }

    /// Sleeps until a time of the run. Returns false if the flow stops before.
    fn sleep(&self, flow: usize, at: u64) -> bool {
        if at >= self.orders.flows[flow].stop {
            return false;
        }
        sys::sleep_until(self.orders.zero + at);
        !self.is_over(flow)
    }

    fn time(&self) -> u64 {
        sys::now().saturating_sub(self.orders.zero)
    }

    /// Sends `len` bytes.
    fn send(&self, fd: Descriptor, mut len: u64) -> io::Result<()> {
        while len > 0 {
            len -= sys::send_file(fd, self.zeros, len)?.min(len);
        }
        Ok(())
    }

    fn connect(&self, flow: usize) -> io::Result<Descriptor> {
        let (flow, shared) = (&self.orders.flows[flow], &self.shared[flow]);
        let fd = sys::socket(&options(flow), flow.client)?;
        shared.client.opened(fd);
        sys::connect(fd, flow.server, flow.port)?;
        Ok(fd)
    }

    /// Waits until `count` files have arrived, and everything is acknowledged.
    fn settle(&self, flow: usize, fd: Descriptor, count: usize) {
        let shared = &self.shared[flow];
        let mut arrived = lock(&shared.arrived);
        while *arrived < count {
            arrived = shared.arrival.wait(arrived).unwrap_or_else(PoisonError::into_inner);
        }
        drop(arrived);
        while sys::unacknowledged(fd) > 0 {
            sys::sleep_until(sys::now() + LOOK);
        }
    }

    fn push(&self, flow: usize, files: &[Piece], (fresh, handshake): (bool, bool)) -> io::Result<()> {
        let shared = &self.shared[flow];
        let (mut at, mut open) = (self.orders.flows[flow].start, None);
        for (count, file) in files.iter().enumerate() {
            at += file.pause;
            if !self.sleep(flow, at) {
                break;
            }
            let before = self.time();
            let fd = match open {
                Some(fd) => fd,
                None => self.connect(flow)?,
            };
            let begun = if handshake { before } else { self.time() };
            lock(&shared.begun).push(begun);
            self.send(fd, file.bytes)?;
            self.settle(flow, fd, count + 1);
            open = Some(fd);
            if fresh {
                shared.client.close();
                open = None;
            }
            at = self.time();
        }
        Ok(())
    }

    /// The client end of files that the server end requests.
    fn answer(&self, flow: usize, files: &[Piece], request: u64) -> io::Result<()> {
        let shared = &self.shared[flow];
        let mut files = files.iter();
        loop {
            let fd = sys::accept(shared.client.listener.load(Ordering::Relaxed))?;
            shared.client.opened(fd);
            while sys::discard(fd, request)? == request {
                let Some(file) = files.next() else { break };
                self.send(fd, file.bytes)?;
            }
            shared.client.close();
        }
    }

    fn written(&self, flow: usize, writes: &[(u64, u64)]) -> io::Result<()> {
        if !self.sleep(flow, self.orders.flows[flow].start) {
            return Ok(());
        }
        let fd = self.connect(flow)?;
        for (at, bytes) in writes {
            if !self.sleep(flow, *at) {
                break;
            }
            self.send(fd, *bytes)?;
        }
        Ok(())
    }

    fn datagrams(&self, flow: usize, datagrams: &[(u64, u64)]) -> io::Result<()> {
        let Flow { client, server, port, device, traffic_class, .. } = &self.orders.flows[flow];
        let fd = sys::datagrams(*client, 0, device, *traffic_class)?;
        sys::connect(fd, *server, *port)?;
        let mut left = datagrams;
        while let Some((first, _)) = left.first() {
            let count = left.iter().take(BATCH).take_while(|(at, _)| *at < first + AHEAD).count();
            if !self.sleep(flow, first.saturating_sub(AHEAD / 10)) {
                break;
            }
            let batch: Vec<(u64, u64)> = left[..count].iter().map(|(at, len)| (at + self.orders.zero, *len)).collect();
            sys::send_at(fd, &batch)?;
            left = &left[count..];
        }
        Ok(())
    }

    /// The client end of a flow.
    fn client(&self, flow: usize) -> io::Result<()> {
        match &self.orders.flows[flow].work {
            Work::Bulk => {
                if !self.sleep(flow, self.orders.flows[flow].start) {
                    return Ok(());
                }
                let fd = self.connect(flow)?;
                self.send(fd, u64::MAX)
            }
            Work::Push { files, fresh, handshake } => self.push(flow, files, (*fresh, *handshake)),
            Work::Pull { files, request, .. } => self.answer(flow, files, *request),
            Work::Written(writes) => self.written(flow, writes),
            Work::Datagrams(datagrams) => self.datagrams(flow, datagrams),
        }
    }

    /// Records that a file has arrived.
    fn note(&self, flow: usize, number: usize) {
        let (shared, now) = (&self.shared[flow], self.time());
        if let Some(begun) = lock(&shared.begun).get(number).copied() {
            self.report.line(&format!("file {flow} {begun} {}", now.saturating_sub(begun)));
        }
        *lock(&shared.arrived) += 1;
        shared.arrival.notify_all();
    }

    /// Receives connections, and files if `files` is not empty.
    fn take(&self, flow: usize, files: &[Piece]) -> io::Result<()> {
        let (shared, window) = (&self.shared[flow], self.orders.flows[flow].window);
        let mut next = 0;
        loop {
            let fd = sys::accept(shared.server.listener.load(Ordering::Relaxed))?;
            shared.server.opened(fd);
            loop {
                let mut left = files.get(next).map_or(u64::MAX, |file| file.bytes);
                while left > 0 {
                    // A connection that the sender has ended gives an error.
                    let got = sys::discard_within(fd, window, left).unwrap_or(0);
                    if got == 0 {
                        break;
                    }
                    left -= got;
                }
                if left > 0 {
                    break;
                }
                self.note(flow, next);
                next += 1;
            }
            shared.server.close();
        }
    }

    /// The server end of files that it requests. Its thread is in the namespace of the servers.
    fn ask(&self, flow: usize, (files, request): (&[Piece], u64), (fresh, handshake): (bool, bool)) -> io::Result<()> {
        let (order, shared) = (&self.orders.flows[flow], &self.shared[flow]);
        let (mut at, mut open) = (order.start, None);
        sys::enter(forebay_agent::orders::SERVERS_DESCRIPTOR as Descriptor)?;
        for (number, file) in files.iter().enumerate() {
            at += file.pause;
            if !self.sleep(flow, at) {
                break;
            }
            let before = self.time();
            let fd = match open {
                Some(fd) => fd,
                None => {
                    let fd = sys::socket(&options(order), order.server)?;
                    shared.server.opened(fd);
                    sys::connect(fd, order.client, order.port)?;
                    fd
                }
            };
            lock(&shared.begun).push(if handshake { before } else { self.time() });
            self.send(fd, request)?;
            let mut left = file.bytes;
            while left > 0 {
                let got = sys::discard_within(fd, order.window, left)?;
                if got == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                left -= got;
            }
            self.note(flow, number);
            open = Some(fd);
            if fresh {
                shared.server.close();
                open = None;
            }
            at = self.time();
        }
        Ok(())
    }

    /// The server end of a flow.
    fn server(&self, flow: usize) -> io::Result<()> {
        match &self.orders.flows[flow].work {
            Work::Push { files, .. } => self.take(flow, files),
            Work::Pull { files, request, fresh, handshake } => self.ask(flow, (files, *request), (*fresh, *handshake)),
            Work::Bulk | Work::Written(_) => self.take(flow, &[]),
            Work::Datagrams(_) => Ok(()),
        }
    }

    fn play(&self, flow: usize, is_client: bool) {
        let played = if is_client { self.client(flow) } else { self.server(flow) };
        if let Err(error) = played
            && !self.is_over(flow)
        {
            let end = if is_client { "client" } else { "server" };
            self.report.line(&format!("failed {}: {end}: {error}", self.orders.flows[flow].name));
        }
    }
}

impl End {
    /// Ends the connection of a thread that is sending. The thread sees an error.
    fn close_early(&self, fd: Descriptor) {
        self.open.store(-1, Ordering::Relaxed);
        let last = sys::tcp_info(fd).map(|info| Counters::of(&info)).unwrap_or_default();
        let mut closed = lock(&self.closed);
        *closed = closed.plus(last);
        drop(closed);
        sys::disconnect(fd);
    }
}

/// Starts the threads of all flows.
pub(super) fn start<'scope>(stage: &'scope Stage<'scope>, scope: &'scope Scope<'scope, '_>) -> io::Result<()> {
    for flow in 0..stage.shared.len() {
        for is_client in [false, true] {
            if is_client || !matches!(stage.orders.flows[flow].work, Work::Datagrams(_)) {
                Builder::new().stack_size(STACK).spawn_scoped(scope, move || stage.play(flow, is_client))?;
            }
        }
    }
    Ok(())
}
