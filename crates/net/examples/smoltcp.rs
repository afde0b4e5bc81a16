//! TCP with smoltcp and its CUBIC: a client uploads a megabyte. smoltcp has no ECN.
use std::time::Duration;

use forebay_net::{Arrival, Ecn, Payload, Stack};
use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::Socket;
use smoltcp::time::Instant;
use smoltcp::wire::IpAddress;
#[path = "support/device.rs"]
mod support;

struct Host {
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
            self.left -= socket.send_slice(&vec![7; self.left]).unwrap_or(0);
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

fn host(number: u8) -> Host {
    let mut device = support::Device::default();
    let (interface, sockets, socket) = support::tcp(&mut device, number);
    Host { device, interface, sockets, socket, left: 1_000_000 }
}

#[cfg_attr(test, test)]
fn main() {
    let ((mut net, a, b), mut client, mut server) = (support::path(), host(1), host(2));
    server.sockets.get_mut::<Socket<'_>>(server.socket).listen(80).unwrap();
    let socket = client.sockets.get_mut::<Socket<'_>>(client.socket);
    socket.connect(client.interface.context(), (IpAddress::v4(10, 0, 0, 2), 80), 50_000).unwrap();
    let mut hosts = [(a, client), (b, server)];
    println!("complete after {:?}", net.run(&mut hosts, Duration::ZERO, Duration::from_secs(60)));
    assert_eq!(hosts[1].1.left, 0);
}
