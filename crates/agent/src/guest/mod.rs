//! The agent's main thread: it sets up the network, starts two threads for each flow, and reports.

mod flows;
mod programs;
mod sys;

use std::fs::{self, File};
use std::io::{self, Write};
use std::sync::Mutex;

use forebay_agent::orders::{CLIENTS, Message, Orders, SERVERS, SERVERS_DESCRIPTOR};

use flows::Stage;
use sys::Descriptor;

/// Where reports go; each write is one record for the host.
const REPORT: &str = "/proc/forebay";
/// Nanoseconds per second.
const NANOS: u64 = 1_000_000_000;
/// A run that goes on for this long after its end is ended with a fault: something waits for ever. Nanoseconds.
const PATIENCE: u64 = 10 * NANOS;
/// Limits of the guest: threads, and descriptors of a process. A flow has two threads and up to four sockets.
const MOST_THREADS: &str = "30000";
const DESCRIPTORS: u64 = 65_536;
/// Longest record, bytes.
const MOST: usize = 4000;
/// Bytes of messages that are sent in one system call, at most.
const BATCH: usize = 16 << 10;

/// Reports to the host. A record has one line or several.
struct Report {
    file: Mutex<File>,
}

impl Report {
    fn line(&self, words: &str) {
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = file.write_all(&words.as_bytes()[..words.len().min(MOST)]);
    }

    /// Reports many lines with few system calls.
    fn lines(&self, lines: &[String]) {
        let mut record = String::new();
        for line in lines {
            if record.len() + line.len() >= MOST {
                self.line(&record);
                record.clear();
            }
            record += line;
            record.push('\n');
        }
        if !record.is_empty() {
            self.line(&record);
        }
    }
}

pub(super) fn main() {
    let report = sys::mount_proc().and_then(|()| fs::OpenOptions::new().write(true).open(REPORT));
    let Ok(file) = report else { sys::halt() };
    let report = Report { file: Mutex::new(file) };
    if let Err(fault) = play(&report) {
        report.line(&format!("fault {fault}"));
    }
    report.line("end");
    sys::halt();
}

fn play(report: &Report) -> Result<(), String> {
    let failed = |what: &'static str| move |error: io::Error| format!("cannot {what}: {error}");
    let bytes = fs::read("/orders").map_err(failed("read the orders"))?;
    let orders = Orders::from_bytes(&bytes).ok_or("the orders are damaged")?;
    fs::write("/proc/sys/kernel/threads-max", MOST_THREADS).map_err(failed("raise the number of threads"))?;
    sys::raise_descriptors(DESCRIPTORS).map_err(failed("raise the number of descriptors"))?;
    let deadline = orders.zero + orders.end + PATIENCE;
    std::thread::Builder::new()
        .stack_size(64 << 10)
        .spawn(move || {
            sys::sleep_until(deadline);
            if let Ok(mut file) = fs::OpenOptions::new().write(true).open(REPORT) {
                let _ =
                    file.write_all(format!("fault the run goes on {} s after its end", PATIENCE / NANOS).as_bytes());
            }
            sys::halt()
        })
        .map_err(failed("start a thread"))?;
    let spaces = Spaces::new().map_err(failed("create a network namespace"))?;
    for (namespace, path, content) in &orders.settings {
        let write = || fs::write(path, content);
        spaces.within(*namespace, write).map_err(|error| format!("cannot write {content} to {path}: {error}"))?;
    }
    let sockets = [CLIENTS, SERVERS].map(|namespace| spaces.within(namespace, sys::netlink));
    let [clients, servers] = sockets.map(|socket| socket.map_err(failed("open a netlink socket")));
    let sockets = [clients?, servers?];
    send(&sockets, orders.setup.iter())?;
    for (namespace, device) in &orders.plain {
        let off = || sys::any_socket().and_then(|any| sys::no_offloads(any, device));
        spaces.within(*namespace, off).map_err(|error| format!("cannot switch off offloads of {device}: {error}"))?;
    }
    let stage = Stage::new(&orders, report).map_err(failed("make a file in memory"))?;
    spaces.within(SERVERS, || stage.listen(true)).map_err(failed("listen"))?;
    stage.listen(false).map_err(failed("listen"))?;
    if sys::now() > orders.zero {
        return Err("the set-up takes longer than planned".to_string());
    }
    std::thread::scope(|scope| {
        let started = flows::start(&stage, scope).map_err(failed("start a thread"));
        if !orders.programs.is_empty() {
            scope.spawn(|| programs::run(&orders, report));
        }
        // Reported before the scope ends, because the end of the scope waits for threads that may wait for ever.
        let done = started.and_then(|()| during(&orders, &sockets, &stage, report));
        report.line(&done.as_ref().map_or_else(|fault| format!("fault {fault}"), |()| "end".to_string()));
        // Threads may wait in the kernel for ever.
        sys::halt()
    })
}

/// What happens at prescribed times.
fn during(orders: &Orders, sockets: &[Descriptor; 2], stage: &Stage<'_>, report: &Report) -> Result<(), String> {
    let mut changes = orders.changes.iter().peekable();
    let mut stops: Vec<(u64, usize)> = orders.flows.iter().enumerate().map(|(at, flow)| (flow.stop, at)).collect();
    stops.retain(|(stop, _)| *stop < orders.end);
    stops.sort_unstable();
    let mut stops = stops.into_iter().peekable();
    let (mut warm, mut sampled) = (Some(orders.warm), orders.sample);
    loop {
        let sample = (sampled > 0 && !orders.tracked.is_empty()).then_some(sampled);
        let times = [changes.peek().map(|change| change.0), stops.peek().map(|stop| stop.0), warm, sample];
        let next = times.into_iter().flatten().min().unwrap_or(orders.end).min(orders.end);
        sys::sleep_until(orders.zero + next);
        if next >= orders.end {
            stage.snapshot("last");
            stage.controls();
            return count(orders, sockets, report, "lost-last");
        }
        while let Some((_, message)) = changes.next_if(|change| change.0 <= next) {
            send(sockets, [message].into_iter())?;
        }
        while let Some((_, flow)) = stops.next_if(|stop| stop.0 <= next) {
            stage.stop(flow);
        }
        if warm.is_some_and(|at| at <= next) {
            warm = None;
            stage.snapshot("warm");
            count(orders, sockets, report, "lost-warm")?;
        }
        if sample.is_some_and(|at| at <= next) {
            sampled += orders.sample;
            stage.track(next);
        }
    }
}

/// Reports how many packets the counted qdiscs have dropped: a line with `word`, the number of the qdisc, and that of
/// the packets.
fn count(orders: &Orders, sockets: &[Descriptor; 2], report: &Report, word: &str) -> Result<(), String> {
    for (number, message) in &orders.counted {
        let failed = |error: io::Error| format!("cannot {}: {error}", message.purpose);
        let socket = sockets[usize::from(message.namespace == SERVERS)];
        sys::send(socket, &message.bytes).map_err(failed)?;
        let mut answer = vec![0; 16 << 10];
        let got = sys::receive(socket, &mut answer).map_err(failed)?;
        let dropped = dropped(&answer[..got]).ok_or_else(|| format!("cannot {}", message.purpose))?;
        report.line(&format!("{word} {number} {dropped}"));
    }
    Ok(())
}

/// Dropped packets in an answer that describes a qdisc.
fn dropped(answer: &[u8]) -> Option<u32> {
    // Headers of netlink and of traffic control, TCA_STATS2 and in it TCA_STATS_QUEUE; the third word counts drops.
    let counters = attribute(attribute(answer.get(16 + 20..)?, 7)?, 3)?;
    Some(u32::from_ne_bytes(counters.get(8..12)?.try_into().ok()?))
}

/// The value of the first attribute of a kind.
fn attribute(mut list: &[u8], kind: u16) -> Option<&[u8]> {
    const NESTED: u16 = 0x8000;
    while let Some(head) = list.first_chunk::<4>() {
        let [len, found] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_ne_bytes);
        if found & !NESTED == kind {
            return list.get(4..usize::from(len));
        }
        list = list.get(usize::from(len.max(4)).next_multiple_of(4)..)?;
    }
    None
}

/// The two network namespaces.
struct Spaces([Descriptor; 2]);

impl Spaces {
    fn new() -> io::Result<Self> {
        let clients = sys::own_namespace()?;
        sys::new_namespace()?;
        let servers = sys::own_namespace()?;
        sys::duplicate(servers, SERVERS_DESCRIPTOR as Descriptor)?;
        sys::enter(clients)?;
        Ok(Self([clients, servers]))
    }

    /// Does something in a namespace.
    fn within<T>(&self, namespace: u64, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if namespace == CLIENTS {
            return act();
        }
        sys::enter(self.0[1])?;
        let done = act();
        sys::enter(self.0[0])?;
        done
    }
}

/// Sends netlink messages and reads the answers.
fn send<'a>(sockets: &[Descriptor; 2], messages: impl Iterator<Item = &'a Message>) -> Result<(), String> {
    let mut batch: Vec<&Message> = Vec::new();
    let mut messages = messages.peekable();
    while let Some(message) = messages.next() {
        batch.push(message);
        let size: usize = batch.iter().map(|message| message.bytes.len()).sum();
        let fits = |next: &&&Message| next.namespace == message.namespace && size + next.bytes.len() <= BATCH;
        if messages.peek().filter(fits).is_none() {
            let socket = sockets[usize::from(message.namespace == SERVERS)];
            exchange(socket, &batch)?;
            batch.clear();
        }
    }
    Ok(())
}

fn exchange(socket: Descriptor, batch: &[&Message]) -> Result<(), String> {
    let bytes: Vec<u8> = batch.iter().flat_map(|message| message.bytes.iter().copied()).collect();
    sys::send(socket, &bytes).map_err(|error| format!("cannot send netlink messages: {error}"))?;
    let (mut answered, mut buffer) = (0, vec![0; 64 << 10]);
    while answered < batch.len() {
        let got = sys::receive(socket, &mut buffer).map_err(|error| format!("cannot read netlink: {error}"))?;
        let mut left = &buffer[..got];
        while left.len() >= 20 && answered < batch.len() {
            let word = |at: usize| left[at..at + 4].try_into().map_or(0, i32::from_ne_bytes);
            let (len, error) = (word(0) as usize, word(16));
            if error != 0 {
                let why = io::Error::from_raw_os_error(-error);
                return Err(format!("cannot {}: {why}", batch[answered].purpose));
            }
            answered += 1;
            left = left.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
    }
    Ok(())
}
