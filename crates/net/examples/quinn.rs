//! QUIC with quinn-proto: a client uploads a megabyte.
use forebay_net::{Arrival, Ecn, Payload, Stack};
use quinn_proto::{Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, Side, StreamId};
use std::time::{Duration, Instant};
#[path = "support/quic.rs"]
pub(crate) mod support;

pub(crate) struct Quic {
    start: Instant,
    endpoint: Endpoint,
    live: Option<(ConnectionHandle, Connection)>,
    left: usize,
}

impl Stack for Quic {
    fn receive(&mut self, packet: Arrival) {
        let (now, ecn, mut answer) = (self.start + packet.at, EcnCodepoint::from_bits(packet.ecn.bits()), Vec::new());
        match self.endpoint.handle(now, support::server(), None, ecn, packet.payload.as_slice().into(), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.live.as_mut().unwrap().1.handle_event(event),
            Some(DatagramEvent::NewConnection(new)) => {
                self.live = self.endpoint.accept(new, now, &mut answer, None).ok()
            }
            _ => {}
        }
    }

    fn transmit(&mut self, now: Duration, send: &mut dyn FnMut(Payload, Ecn)) -> Option<Duration> {
        let (now, id, mut packet) = (self.start + now, StreamId::new(Side::Client, Dir::Uni, 0), Vec::new());
        let (handle, quic) = self.live.as_mut()?;
        quic.handle_timeout(now);
        while let Some(event) = quic.poll_endpoint_events() {
            self.endpoint.handle_event(*handle, event).into_iter().for_each(|event| quic.handle_event(event));
        }
        if quic.side().is_client() {
            let is_open = quic.streams().send_streams() > 0 || quic.streams().open(Dir::Uni).is_some();
            self.left -= if is_open { quic.send_stream(id).write(support::data(self.left)).unwrap_or(0) } else { 0 };
        } else if let Ok(mut chunks) = quic.recv_stream(id).read(true) {
            std::iter::from_fn(|| chunks.next(usize::MAX).ok()?).for_each(|chunk| self.left -= chunk.bytes.len());
            _ = chunks.finalize();
        }
        while let Some(sent) = quic.poll_transmit(now, 1, &mut packet) {
            send(std::mem::take(&mut packet).into(), sent.ecn.map_or(Ecn::NotEct, |_| Ecn::Ect0));
        }
        quic.poll_timeout().map(|due| due.saturating_duration_since(self.start))
    }

    fn is_done(&self) -> bool {
        self.left == 0
    }
}

#[cfg_attr(test, test)]
fn main() {
    let ((mut net, a, b), [client, server]) = (support::path(), support::peers(support::cubic(), 1_000_000));
    let mut peers = [(a, client), (b, server)];
    println!("complete after {:?}", net.run(&mut peers, Duration::ZERO, Duration::from_secs(60)));
    assert_eq!(peers[1].1.left, 0);
}
