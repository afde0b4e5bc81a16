//! The functions that the shim calls. A queue is passed as a pointer that [`forebay_new`] has returned. Times are in
//! nanoseconds since the start of the run.

#![expect(unsafe_code, reason = "the interface to C; each function states what its caller promises")]

use alloc::boxed::Box;
use core::ffi::c_int;
use core::slice;

use forebay_aqm::base::packet::{Ack, Ecn, Hosts, Packet, Proto};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::{Limit, Rate};
use forebay_aqm::base::verdict::Reason;

use crate::queue::{KernelQueue, Order, stream};

/// The description of a queue, as C passes it.
#[repr(C)]
pub struct RawOrder {
    /// Discipline with its parameters, UTF-8.
    pub spec: *const u8,
    /// Length of `spec`.
    pub spec_len: usize,
    /// Name of the link, UTF-8.
    pub link: *const u8,
    /// Length of `link`.
    pub link_len: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Rate in bit/s.
    pub rate: u64,
    /// Buffer, in bytes if `limit_in_bytes` is not 0, else in packets.
    pub limit: u64,
    /// Unit of `limit`.
    pub limit_in_bytes: u32,
    /// Typical packet length, bytes.
    pub mean_packet: u32,
}

impl RawOrder {
    /// # Safety
    /// The pointers must be valid for their lengths.
    unsafe fn order(&self) -> Result<Order<'_>, &'static str> {
        // SAFETY: promised by the caller.
        let text = |at: *const u8, len| unsafe { core::str::from_utf8(slice::from_raw_parts(at, len)) };
        let limit = match self.limit_in_bytes {
            0 => Limit::Packets(u32::try_from(self.limit).unwrap_or(u32::MAX)),
            _ => Limit::Bytes(self.limit),
        };
        Ok(Order {
            spec: text(self.spec, self.spec_len).map_err(|_| "the discipline is not UTF-8")?,
            link: text(self.link, self.link_len).map_err(|_| "the name of the link is not UTF-8")?,
            seed: self.seed,
            rate: Rate(self.rate),
            limit,
            mean_packet: self.mean_packet,
        })
    }
}

/// A packet, as C passes it.
#[repr(C)]
pub struct RawPacket {
    /// Index of the packet in the shim's table.
    pub slot: u32,
    /// Length on the wire, bytes.
    pub len: u32,
    /// Flow.
    pub flow: u32,
    /// Source-destination pair.
    pub pair: u32,
    /// The acknowledgement (`Ack`): its four bytes.
    pub ack: u32,
    /// Id of the host that sends it.
    pub source: u16,
    /// Id of the host that receives it.
    pub destination: u16,
    /// Service class.
    pub class: u8,
    /// 0: TCP, 1: other protocols.
    pub proto: u8,
    /// The two ECN bits of the IP header.
    pub ecn: u8,
    /// Differentiated services codepoint.
    pub dscp: u8,
}

const fn ecn(bits: u8) -> Ecn {
    match bits & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Writes a message for C: at most `len` bytes at `at`, with a final zero.
///
/// # Safety
/// `at` must be valid for writes of `len` bytes.
unsafe fn say(message: &str, at: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: promised by the caller.
        let room = unsafe { slice::from_raw_parts_mut(at, len) };
        let most = message.len().min(len - 1);
        room[..most].copy_from_slice(&message.as_bytes()[..most]);
        room[most] = 0;
    }
}

/// Builds a queue. Returns a null pointer, with the reason in `why`, if that is not possible.
///
/// # Safety
/// The pointers in `order` must be valid for their lengths, and `why` for writes of `why_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_new(order: &RawOrder, why: *mut u8, why_len: usize) -> *mut KernelQueue {
    // SAFETY: promised by the caller.
    let built = unsafe { order.order() }.map_err(Into::into).and_then(|order| KernelQueue::new(&order));
    match built {
        Ok(queue) => Box::into_raw(Box::new(queue)),
        Err(reason) => {
            // SAFETY: promised by the caller.
            unsafe { say(&reason, why, why_len) };
            core::ptr::null_mut()
        }
    }
}

/// Changes the parameters of a queue. Returns 0 if it did, else -1 with the reason in `why`.
///
/// # Safety
/// As for [`forebay_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_retune(
    queue: &mut KernelQueue,
    order: &RawOrder,
    why: *mut u8,
    why_len: usize,
) -> c_int {
    // SAFETY: promised by the caller.
    let done = unsafe { order.order() }.map_err(Into::into).and_then(|order| queue.retune(&order));
    let reason = match done {
        Ok(true) => return 0,
        Ok(false) => "the parameters of this discipline cannot change during a run".into(),
        Err(reason) => reason,
    };
    // SAFETY: promised by the caller.
    unsafe { say(&reason, why, why_len) };
    -1
}

/// Frees a queue.
///
/// # Safety
/// `queue` must be from [`forebay_new`], and must not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_end(queue: *mut KernelQueue) {
    // SAFETY: promised by the caller.
    drop(unsafe { Box::from_raw(queue) });
}

/// Runs the timers that are due up to `now`.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_advance(queue: &mut KernelQueue, now: u64) {
    queue.advance(Instant::from_nanos(now));
}

/// Offers a packet. Call [`forebay_dropped`] afterwards until it returns -1.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_arrive(queue: &mut KernelQueue, now: u64, packet: &RawPacket) {
    let arrived = Instant::from_nanos(now);
    let RawPacket { slot, len, flow, pair, source, destination, class, dscp, .. } = *packet;
    let proto = if packet.proto == 0 { Proto::Tcp } else { Proto::Udp };
    let (hosts, ack, ecn) = (Hosts { source, destination }, Ack::from_bits(packet.ack), ecn(packet.ecn));
    let packet = Packet { arrived, slot, len, flow, pair, hosts, ack, class, proto, dscp, ecn, ..Packet::default() };
    queue.arrive(packet, arrived);
}

/// Removes one of the packets that the last call dropped. Returns its slot, and 1 in `overflow` if the buffer was full,
/// else 0; or -1 if no more packets were dropped.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_dropped(queue: &mut KernelQueue, overflow: &mut c_int) -> c_int {
    let Some((packet, reason)) = queue.dropped() else { return -1 };
    *overflow = c_int::from(reason == Reason::Overflow);
    packet.slot as c_int
}

/// The slot of the next packet to send, and 1 in `ce` if it has a CE mark, else 0; or -1 if there is none. Call
/// [`forebay_dropped`] afterwards until it returns -1.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_depart(queue: &mut KernelQueue, now: u64, ce: &mut c_int) -> c_int {
    let Some(packet) = queue.depart(Instant::from_nanos(now)) else { return -1 };
    *ce = c_int::from(packet.ecn == Ecn::Ce);
    packet.slot as c_int
}

/// Time at which a discipline that holds all packets back sends one again; `u64::MAX` if it holds none back.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_held(queue: &KernelQueue, now: u64) -> u64 {
    queue.held_until(Instant::from_nanos(now)).map_or(u64::MAX, Instant::nanos)
}

/// Writes the first `count` internal variables (probes) of the discipline to `to`; NaN where there is none.
///
/// # Safety
/// `to` must be valid for writes of `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_probes(queue: &KernelQueue, to: *mut f64, count: usize) {
    // SAFETY: promised by the caller.
    let room = unsafe { slice::from_raw_parts_mut(to, count) };
    room.iter_mut().enumerate().for_each(|(index, value)| *value = queue.probe(index));
}

/// The stream of random numbers that a discipline with this order has: for another implementation of it. Returns a null
/// pointer if the name of the link is not UTF-8.
///
/// # Safety
/// As for [`forebay_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_stream(order: &RawOrder) -> *mut Rng {
    // SAFETY: promised by the caller.
    let named = unsafe { slice::from_raw_parts(order.link, order.link_len) };
    core::str::from_utf8(named).map_or(core::ptr::null_mut(), |link| Box::into_raw(Box::new(stream(order.seed, link))))
}

/// The next 64 random bits of a stream.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_draw(stream: &mut Rng) -> u64 {
    stream.bits()
}

/// Frees a stream.
///
/// # Safety
/// `stream` must be from [`forebay_stream`], and must not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_stream_end(stream: *mut Rng) {
    // SAFETY: promised by the caller.
    drop(unsafe { Box::from_raw(stream) });
}
