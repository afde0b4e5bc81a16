//! The receiving end of a flow: a thread with real TCP connections or UDP datagrams.

use std::io;
use std::net::TcpStream;

use forebay_sim::app::Files;
use forebay_sim::network::Traffic;

use super::send::{HEADER, accept, draws, read, request};
use super::{LOOK, Stage, files, port, socket_options};
use crate::sys::{clock, socket};

/// Receives the data of flow `number` until the run ends.
pub(super) fn flow(stage: &Stage<'_>, number: usize) {
    let flow = &stage.flows[number];
    let mut arrived = Arrived { warm: stage.times.warm, window: 0, all: 0 };
    let played = match (&flow.traffic, files(flow)) {
        (Traffic::Datagrams(_), _) => datagrams(stage, number, &mut arrived),
        (_, Some(files)) if files.request.is_some() => ask(stage, number, files, &mut arrived),
        (_, Some(_)) => take_files(stage, number, &mut arrived),
        _ => take(stage, number, &mut arrived),
    };
    stage.results.line(&format!("arrived {number} {} {}", arrived.window, arrived.all));
    if let Err(error) = played
        && !stage.is_over()
    {
        stage.results.fault(flow, "cannot receive", &error);
    }
}

/// Data bytes received so far.
struct Arrived {
    warm: u64,
    window: u64,
    all: u64,
}

impl Arrived {
    fn add(&mut self, bytes: usize) {
        self.all += bytes as u64;
        if clock::monotonic() >= self.warm {
            self.window += bytes as u64;
        }
    }
}

/// Reads `left` bytes, or up to end of stream or end of the run. Returns whether all were read.
fn drain(stage: &Stage<'_>, stream: &mut TcpStream, mut left: u64, arrived: &mut Arrived) -> io::Result<bool> {
    let mut buffer = vec![0; 64 << 10];
    while left > 0 && !stage.is_over() {
        let most = left.min(buffer.len() as u64) as usize;
        match io::Read::read(stream, &mut buffer[..most]) {
            Ok(0) => return Ok(false),
            Ok(count) => {
                arrived.add(count);
                left -= count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(left == 0)
}

/// Accepts one connection of the flow after the other and reads its data.
fn take(stage: &Stage<'_>, number: usize, arrived: &mut Arrived) -> io::Result<()> {
    let listener = socket::listen(port(number), &socket_options(&stage.flows[number]))?;
    while let Some(mut stream) = accept(stage, &listener)? {
        drain(stage, &mut stream, u64::MAX, arrived)?;
    }
    Ok(())
}

/// Reads one file with its header, which has the length and the start time. Returns the start time, or `None` if the
/// file is incomplete.
fn take_file(stage: &Stage<'_>, stream: &mut TcpStream, arrived: &mut Arrived) -> io::Result<Option<u64>> {
    let mut header = [0; HEADER];
    if !read(stage, stream, &mut header)? {
        return Ok(None);
    }
    arrived.add(HEADER);
    let word = |at: usize| header[at..at + 8].try_into().map(u64::from_le_bytes).unwrap_or_default();
    let whole = drain(stage, stream, word(0).saturating_sub(HEADER as u64), arrived)?;
    Ok(whole.then(|| word(8)))
}

fn note(stage: &Stage<'_>, number: usize, begun: u64) {
    let took = clock::monotonic().saturating_sub(begun);
    stage.results.line(&format!("file {number} {} {took}", begun.saturating_sub(stage.times.start)));
}

/// Receives files that the sender starts.
fn take_files(stage: &Stage<'_>, number: usize, arrived: &mut Arrived) -> io::Result<()> {
    let listener = socket::listen(port(number), &socket_options(&stage.flows[number]))?;
    while let Some(mut stream) = accept(stage, &listener)? {
        while let Some(begun) = take_file(stage, &mut stream, arrived)? {
            note(stage, number, begun);
        }
    }
    Ok(())
}

/// Requests files from the sending end, and reads them.
fn ask(stage: &Stage<'_>, number: usize, files: &Files, arrived: &mut Arrived) -> io::Result<()> {
    let flow = &stage.flows[number];
    let ((start, stop), mut rng) = (stage.life(flow), draws(stage, flow));
    let (mut at, mut left, mut open) = (start, files.count.unwrap_or(u32::MAX), None);
    while left > 0 && !stage.sleep_until(at) && at < stop {
        let asked = clock::monotonic();
        let mut stream = match open.take() {
            Some(stream) => stream,
            None => {
                let stream = socket::connect(stage.client, port(number), &socket_options(flow))?;
                stream.set_read_timeout(Some(LOOK))?;
                stream
            }
        };
        let begun = if files.opening.has_syn() { asked } else { clock::monotonic() };
        io::Write::write_all(&mut stream, &vec![0; request(files)])?;
        if take_file(stage, &mut stream, arrived)?.is_some() {
            note(stage, number, begun);
        }
        if !files.fresh {
            open = Some(stream);
        }
        left -= 1;
        at = clock::monotonic() + (files.think.next(&mut rng) * 1e9) as u64;
    }
    Ok(())
}

fn datagrams(stage: &Stage<'_>, number: usize, arrived: &mut Arrived) -> io::Result<()> {
    let socket = socket::datagrams(port(number), LOOK)?;
    let mut buffer = vec![0; 64 << 10];
    while !stage.is_over() {
        match socket.recv(&mut buffer) {
            Ok(count) => arrived.add(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
