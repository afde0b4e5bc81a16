//! WebRTC with str0m: a sender of video follows its bandwidth estimate.
use forebay_net::{Arrival, Ecn, Payload, Stack};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use str0m::bwe::BweKind;
use str0m::media::{MediaTime, Mid, Pt};
use str0m::net::{Protocol, Receive};
use str0m::{Event, Input, Output, Rtc};
#[path = "support/rtc.rs"]
pub(crate) mod support;

pub(crate) struct Peer {
    rtc: Rtc,
    start: Instant,
    addresses: [SocketAddr; 2],
    video: Option<(Mid, Pt)>,
    frame: Duration,
    rate: u64,
}

impl Stack for Peer {
    fn receive(&mut self, packet: Arrival) {
        let [own, other] = self.addresses;
        let received = Receive::new(Protocol::Udp, other, own, packet.payload.as_slice()).unwrap();
        self.rtc.handle_input(Input::Receive(self.start + packet.at, received)).unwrap();
    }

    fn transmit(&mut self, now: Duration, send: &mut dyn FnMut(Payload, Ecn)) -> Option<Duration> {
        self.rtc.handle_input(Input::Timeout(self.start + now)).unwrap();
        if self.rtc.is_connected() && self.frame <= now {
            let (time, frame) = (MediaTime::from_90khz(now.as_micros() as u64 * 9 / 100), self.rate / 8 / 30);
            if let Some((writer, (_, pt))) = self.video.and_then(|video| Some((self.rtc.writer(video.0)?, video))) {
                writer.write(pt, self.start + now, time, vec![0; frame as usize]).unwrap();
            }
            self.frame = now + Duration::from_nanos(33_333_333);
        }
        loop {
            match self.rtc.poll_output().unwrap() {
                Output::Transmit(packet) => send(packet.contents.to_vec().into(), Ecn::NotEct),
                Output::Event(Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. })) => {
                    self.rate = estimate.as_u64() * 9 / 10;
                }
                Output::Event(_) => {}
                Output::Timeout(at) => {
                    return Some((at - self.start).min(self.frame.max(now + Duration::from_millis(5))));
                }
            }
        }
    }
}

#[cfg_attr(test, test)]
fn main() {
    let ((mut net, a, b), [sender, receiver]) = (support::path(), support::peers());
    let mut peers = [(a, sender), (b, receiver)];
    net.run(&mut peers, Duration::ZERO, Duration::from_secs(30));
    let kbps = peers[0].1.rate / 900;
    println!("estimate after 30 s: {kbps} kbit/s");
    assert!((6_000..10_000).contains(&kbps), "of 10 Mbit/s");
}
