//! TCP with smoltcp and its CUBIC: a client uploads a megabyte. smoltcp has no ECN.
use std::time::Duration;

use forebay_net::{Arrival, Ecn, Payload, Stack};
use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{CongestionControl, Socket};
use smoltcp::time::Instant;
#[path = "support/device.rs"]
pub(crate) mod support;

pub(crate) struct Host {
    device: support::Device,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    left: usize,
}

impl Stack for Host {
    fn receive(&mut self, packet: Arrival) {
        self.device.arrived.push_back(packet.payload.as_slice().to_vec());
    }

    fn transmit(&mut self, now: Duration, send: &mut dyn FnMut(Payload, Ecn)) -> Option<Duration> {
        let now = Instant::from_micros(now.as_micros() as i64);
        self.interface.poll(now, &mut self.device, &mut self.sockets);
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        if socket.local_endpoint().is_some_and(|end| end.port == 80) {
            self.left -= socket.recv(|data| (data.len(), data.len())).unwrap_or(0);
        } else {
            self.left -= socket.send_slice(support::data(self.left)).unwrap_or(0);
        }
        self.interface.poll(now, &mut self.device, &mut self.sockets);
        self.device.sent.drain(..).for_each(|packet| send(packet.into(), Ecn::NotEct));
        let next = self.interface.poll_at(now, &self.sockets);
        next.map(|at| Duration::from_micros(at.total_micros() as u64))
    }

    fn is_done(&self) -> bool {
        self.left == 0
    }
}

#[cfg_attr(test, test)]
fn main() {
    let ((mut net, a, b), [client, server]) = (support::path(), support::hosts(CongestionControl::Cubic, 1_000_000));
    let mut hosts = [(a, client), (b, server)];
    println!("complete after {:?}", net.run(&mut hosts, Duration::ZERO, Duration::from_secs(60)));
    assert_eq!(hosts[1].1.left, 0);
}
