//! A TCP client and its server with smoltcp, whose device is packets in memory.

use std::collections::VecDeque;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

use super::Host;

#[path = "path.rs"]
mod path;
pub(crate) use path::*;

/// IP packets that have arrived, and those to send.
#[derive(Default)]
pub(crate) struct Device {
    pub(crate) arrived: VecDeque<Vec<u8>>,
    pub(crate) sent: Vec<Vec<u8>>,
}

pub(crate) struct Rx(Vec<u8>);
pub(crate) struct Tx<'a>(&'a mut Vec<Vec<u8>>);

impl phy::Device for Device {
    type RxToken<'a> = Rx;
    type TxToken<'a> = Tx<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Rx, Tx<'_>)> {
        Some((Rx(self.arrived.pop_front()?), Tx(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Tx<'_>> {
        Some(Tx(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1500;
        capabilities
    }
}

impl phy::RxToken for Rx {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl phy::TxToken for Tx<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push(packet);
        result
    }
}

/// An interface with the address 10.0.0.`number`, and a TCP socket with this congestion control and buffers of 250 kB.
fn tcp(device: &mut Device, number: u8, control: CongestionControl) -> (Interface, SocketSet<'static>, SocketHandle) {
    let mut interface = Interface::new(Config::new(HardwareAddress::Ip), device, Instant::ZERO);
    let address = IpCidr::new(IpAddress::v4(10, 0, 0, number), 24);
    interface.update_ip_addrs(|all| all.push(address).unwrap());
    let buffer = || SocketBuffer::new(vec![0; 250_000]);
    let mut socket = Socket::new(buffer(), buffer());
    socket.set_congestion_control(control);
    let mut sockets = SocketSet::new(Vec::new());
    let handle = sockets.add(socket);
    (interface, sockets, handle)
}

/// A client with this congestion control that uploads `left` bytes, and its server.
pub(crate) fn hosts(control: CongestionControl, left: usize) -> [Host; 2] {
    let mut hosts = [1, 2].map(|number| {
        let mut device = Device::default();
        let (interface, sockets, socket) = tcp(&mut device, number, control);
        Host { device, interface, sockets, socket, left }
    });
    let [client, server] = &mut hosts;
    server.sockets.get_mut::<Socket<'_>>(server.socket).listen(80).unwrap();
    let socket = client.sockets.get_mut::<Socket<'_>>(client.socket);
    socket.connect(client.interface.context(), (IpAddress::v4(10, 0, 0, 2), 80), 50_000).unwrap();
    hosts
}
