//! The sending end of a flow: a thread with real TCP connections or UDP datagrams.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_sim::app::{Files, Work};
use forebay_sim::network::{FlowSpec, Traffic};
use forebay_sim::source::{Pattern, Source};

use super::{DATAGRAM_HEADERS, LOOK, Stage, data, port, socket_options};
use crate::sys::{clock, socket};

/// The payload of all data that flows send.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
/// Length of a file's header, bytes: its length and its start time, eight bytes each.
pub(super) const HEADER: usize = 16;

/// Sends the data of flow `number` until the flow or the run ends.
pub(super) fn flow(stage: &Stage<'_>, number: usize) {
    let flow = &stage.flows[number];
    let played = match &flow.traffic {
        Traffic::Tcp(_) => endless(stage, number),
        Traffic::Application(_, Work::Files(files)) if *files == Files::ENDLESS => endless(stage, number),
        Traffic::Application(_, Work::Files(files)) if files.request.is_some() => answer(stage, number, files),
        Traffic::Application(_, Work::Files(files)) => push(stage, number, files),
        Traffic::Application(_, Work::Written(pattern)) => written(stage, number, pattern),
        Traffic::Datagrams(pattern) => datagrams(stage, number, pattern),
        Traffic::Rtp(_) | Traffic::Application(_, Work::Page(_) | Work::Video(_)) => Ok(()),
    };
    if let Err(error) = played.or_else(|error| ignore_at_the_end(stage, error)) {
        stage.results.fault(flow, "cannot send", &error);
    }
}

/// Ignores errors of connections that the end of the run closes, or that were never established because the queue
/// dropped their packets.
fn ignore_at_the_end(stage: &Stage<'_>, error: io::Error) -> io::Result<()> {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, WouldBlock};
    let usual = matches!(error.kind(), BrokenPipe | ConnectionReset | TimedOut | WouldBlock);
    if usual && stage.is_over() { Ok(()) } else { Err(error) }
}

fn connect(stage: &Stage<'_>, number: usize) -> io::Result<TcpStream> {
    let stream = socket::connect(stage.server, port(number), &socket_options(&stage.flows[number]))?;
    stream.set_write_timeout(Some(LOOK))?;
    Ok(stream)
}

/// Writes `left` bytes, at most until the time `until`. Returns the number of bytes written.
fn write(stream: &mut TcpStream, mut left: u64, until: u64) -> io::Result<u64> {
    let mut done = 0;
    while left > 0 && clock::monotonic() < until {
        let most = left.min(ZEROS.len() as u64) as usize;
        match stream.write(&ZEROS[..most]) {
            Ok(count) => (left, done) = (left - count as u64, done + count as u64),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Waits until all data is acknowledged, or the run ends. Then reports the increase of the connection's retransmitted
/// segments since the count `known`, and sets `known` to the new count.
fn again(stage: &Stage<'_>, number: usize, stream: &TcpStream, known: &mut u64) {
    while !stage.is_over() && socket::on_the_way(stream).is_ok_and(|bytes| bytes > 0) {
        std::thread::sleep(LOOK / 50);
    }
    if let Ok(count) = socket::retransmitted(stream) {
        stage.results.line(&format!("again {number} {}", count.saturating_sub(*known)));
        *known = count;
    }
}

/// Runs an unlimited transfer: sends as much as TCP accepts until the flow stops.
fn endless(stage: &Stage<'_>, number: usize) -> io::Result<()> {
    let (start, stop) = stage.life(&stage.flows[number]);
    if stage.sleep_until(start) {
        return Ok(());
    }
    let mut stream = connect(stage, number)?;
    write(&mut stream, u64::MAX, stop)?;
    again(stage, number, &stream, &mut 0);
    Ok(())
}

/// The random stream of a flow's application. It is the same as in a simulation with the same seed.
pub(super) fn draws(stage: &Stage<'_>, flow: &FlowSpec) -> Rng {
    Rng::stream(stage.seed, &format!("flow/{}/application", flow.name))
}

/// Payload bytes of the next file. The scenario gives file sizes in bytes on the wire, with headers.
fn next_file(files: &Files, flow: &FlowSpec, rng: &mut Rng) -> u64 {
    let packets = (files.size.next(rng) / f64::from(flow.packet)).ceil().clamp(1.0, 1e9) as u64;
    (packets * data(flow)).max(HEADER as u64)
}

/// Sends a file with its header: length and start time.
fn send_file(stream: &mut TcpStream, len: u64, begun: u64, until: u64) -> io::Result<()> {
    let header = [len.to_le_bytes(), begun.to_le_bytes()].concat();
    let mut done = 0;
    while done < header.len() && clock::monotonic() < until {
        match stream.write(&header[done..]) {
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    write(stream, len - HEADER as u64, until).map(drop)
}

/// Sends files at times that this end chooses.
fn push(stage: &Stage<'_>, number: usize, files: &Files) -> io::Result<()> {
    let flow = &stage.flows[number];
    let ((start, stop), mut rng) = (stage.life(flow), draws(stage, flow));
    let (mut at, mut left, mut open) = (start, files.count.unwrap_or(u32::MAX), None);
    while left > 0 && !stage.sleep_until(at) && at < stop {
        let mut known = 0;
        let (begun, len) = (clock::monotonic(), next_file(files, flow, &mut rng));
        let mut stream = match open.take() {
            Some((stream, before)) => {
                known = before;
                stream
            }
            None => connect(stage, number)?,
        };
        // The transfer time includes the TCP handshake only if the scenario says so.
        let begun = if files.opening.has_syn() { begun } else { clock::monotonic() };
        send_file(&mut stream, len, begun, stage.times.end)?;
        again(stage, number, &stream, &mut known);
        if !files.fresh {
            open = Some((stream, known));
        }
        left -= 1;
        at = clock::monotonic() + (files.think.next(&mut rng) * 1e9) as u64;
    }
    Ok(())
}

/// Waits for a connection, at most until the end of the run.
pub(super) fn accept(stage: &Stage<'_>, listener: &TcpListener) -> io::Result<Option<TcpStream>> {
    listener.set_nonblocking(true)?;
    while !stage.is_over() {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(LOOK))?;
                stream.set_nodelay(true)?;
                return Ok(Some(stream));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(LOOK / 50),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Fills `buffer`. Returns false at end of stream or end of the run.
pub(super) fn read(stage: &Stage<'_>, stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<bool> {
    let mut done = 0;
    while done < buffer.len() && !stage.is_over() {
        match stream.read(&mut buffer[done..]) {
            Ok(0) => return Ok(false),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done == buffer.len())
}

/// Sends files that the receiving end requests.
fn answer(stage: &Stage<'_>, number: usize, files: &Files) -> io::Result<()> {
    let flow = &stage.flows[number];
    let (mut rng, listener) = (draws(stage, flow), socket::listen(port(number), &socket_options(flow))?);
    while let Some(mut stream) = accept(stage, &listener)? {
        stream.set_write_timeout(Some(LOOK))?;
        let (mut request, mut known) = (vec![0; request(files)], 0);
        while read(stage, &mut stream, &mut request)? {
            let len = next_file(files, flow, &mut rng);
            send_file(&mut stream, len, 0, stage.times.end)?;
            again(stage, number, &stream, &mut known);
        }
    }
    Ok(())
}

/// Payload bytes of a request.
pub(super) fn request(files: &Files) -> usize {
    usize::from(files.request.unwrap_or_default()).saturating_sub(super::SEGMENT_HEADERS as usize).max(1)
}

/// Calls `send` at each time at which `source` sends a packet, with the packet's length on the wire.
fn as_source(
    stage: &Stage<'_>,
    flow: &FlowSpec,
    mut source: Source,
    mut send: impl FnMut(u16) -> io::Result<()>,
) -> io::Result<()> {
    let (start, stop) = stage.life(flow);
    source.start(flow.start);
    if stage.sleep_until(start) {
        return Ok(());
    }
    while let Some(next) = source.next() {
        let at = stage.times.start + next.nanos();
        if at >= stop || stage.sleep_until(at) {
            break;
        }
        // Use the scheduled time, so that late wake-ups do not accumulate.
        send(source.send(Instant::from_nanos(next.nanos())))?;
    }
    Ok(())
}

/// Writes the packets of a pattern into a TCP connection one by one, each at its time.
fn written(stage: &Stage<'_>, number: usize, pattern: &Pattern) -> io::Result<()> {
    let flow = &stage.flows[number];
    let source = Source::new(pattern.clone(), flow.packet, draws(stage, flow));
    if stage.sleep_until(stage.life(flow).0) {
        return Ok(());
    }
    let (mut stream, end) = (connect(stage, number)?, stage.times.end);
    as_source(stage, flow, source, |_| write(&mut stream, data(flow), end).map(drop))?;
    again(stage, number, &stream, &mut 0);
    Ok(())
}

fn datagrams(stage: &Stage<'_>, number: usize, pattern: &Pattern) -> io::Result<()> {
    let flow = &stage.flows[number];
    let source = Source::new(pattern.clone(), flow.packet, Rng::stream(stage.seed, &format!("flow/{}", flow.name)));
    let socket = UdpSocket::bind((stage.client, 0))?;
    socket.connect((stage.server, port(number)))?;
    socket::set_traffic_class(&socket, flow.dscp, flow.ecn)?;
    as_source(stage, flow, source, |len| {
        let len = usize::from(len).saturating_sub(DATAGRAM_HEADERS as usize).max(1);
        match socket.send(&ZEROS[..len]) {
            // No receiver yet or any more; or the device is full and drops, as a link does.
            Err(error) if [io::ErrorKind::ConnectionRefused, io::ErrorKind::WouldBlock].contains(&error.kind()) => {
                Ok(())
            }
            sent => sent.map(drop),
        }
    })
}
