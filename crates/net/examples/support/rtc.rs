//! Two WebRTC peers, connected by an offer and an answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use str0m::bwe::Bitrate;
use str0m::format::Codec;
use str0m::media::{Direction, MediaKind, Mid, Pt};
use str0m::{Candidate, Rtc};

use super::Peer;

#[path = "path.rs"]
mod path;
pub(crate) use path::*;

/// Addresses of the two peers.
fn addresses() -> [SocketAddr; 2] {
    [1, 2].map(|host| ([10, 0, 0, host], 5000).into())
}

/// A sender of video that estimates the bandwidth, from 300 kbit/s on to at most 8 Mbit/s, its receiver, and the identifiers
/// of the video.
fn rtc(start: Instant) -> (Rtc, Rtc, (Mid, Pt)) {
    let provider = Arc::new(str0m::crypto::from_feature_flags());
    let [mut sender, mut receiver] = addresses().map(|address| {
        let config = Rtc::builder().set_crypto_provider(provider.clone()).enable_bwe(Some(Bitrate::kbps(300)));
        let mut rtc = config.build(start);
        rtc.add_local_candidate(Candidate::host(address, "udp").unwrap());
        rtc
    });
    sender.bwe().set_desired_bitrate(Bitrate::mbps(8));
    let mut change = sender.sdp_api();
    let mid = change.add_media(MediaKind::Video, Direction::SendOnly, None, None, None);
    let (offer, pending) = change.apply().unwrap();
    let answer = receiver.sdp_api().accept_offer(offer).unwrap();
    sender.sdp_api().accept_answer(pending, answer).unwrap();
    let vp8 = sender.codec_config().find(|params| params.spec().codec == Codec::Vp8).unwrap().pt();
    (sender, receiver, (mid, vp8))
}

/// A sender of video and its receiver.
pub(crate) fn peers() -> [Peer; 2] {
    let (start, [one, two]) = (Instant::now(), addresses());
    let (sender, receiver, video) = rtc(start);
    let peer = |rtc, addresses, video| Peer { rtc, start, addresses, video, frame: Duration::ZERO, rate: 300_000 };
    [peer(sender, [one, two], Some(video)), peer(receiver, [two, one], None)]
}
