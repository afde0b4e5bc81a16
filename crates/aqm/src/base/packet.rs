//! The descriptor that disciplines see: never the bytes, never a header.

use super::time::Instant;

/// Declares a number that takes one of a few named values.
///
/// Not an enum: `Option<Packet>` would hide its tag in the values that an enum leaves free, and every copy of a
/// packet would then go around that byte in pieces, which stalls what reads it next.
macro_rules! named_number {
    ($(#[$about:meta])* $Name:ident($Repr:ident) { $( $(#[$what:meta])* $value:ident = $number:literal, )* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Default)]
        #[repr(transparent)]
        pub struct $Name($Repr);

        #[allow(non_upper_case_globals)] // They are written and matched as the variants of an enum.
        impl $Name {
            $( $(#[$what])* pub const $value: Self = Self($number); )*

            /// Its number.
            #[inline]
            pub const fn bits(self) -> u8 {
                self.0 as u8
            }
        }

        impl core::fmt::Debug for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match *self {
                    $( Self::$value => stringify!($value), )*
                    Self(_) => unreachable!("only the constants make one"),
                })
            }
        }
    };
}

named_number! {
    /// ECN codepoint of the IP header (RFC 3168 section 5). Four bytes wide: see [`Packet`].
    Ecn(u32) {
        /// The sender does not understand ECN.
        NotEct = 0,
        /// ECN-capable, L4S (RFC 9331).
        Ect1 = 1,
        /// ECN-capable, classic.
        Ect0 = 2,
        /// Congestion experienced.
        Ce = 3,
    }
}

impl Ecn {
    /// May a router mark this packet instead of dropping it?
    #[inline]
    pub const fn is_capable(self) -> bool {
        self.0 != Self::NotEct.0
    }
}

named_number! {
    /// Conformance colour written by an edge marker (IN or OUT of profile).
    Colour(u8) {
        /// Within its profile, or never marked.
        In = 0,
        /// Beyond its profile.
        Out = 1,
    }
}

named_number! {
    /// Transport protocol, as far as a classifier may ask.
    Proto(u8) {
        /// Reacts to drops and marks.
        Tcp = 0,
        /// Does not.
        Udp = 1,
    }
}

named_number! {
    /// What a marker in front of the discipline says of an arrival.
    Front(u8) {
        /// Nothing.
        Silent = 0,
        /// The packet is signalled, if the discipline accepts it.
        Signals = 1,
    }
}

/// One packet as a discipline sees it: 32 bytes, `Copy`.
///
/// Its ECN field is judged and changed on the way, so a copy is made around it. It takes the last four of the bytes:
/// what lies before it is then copied in words, where odd bytes would be copied in pieces that overlap, which stalls.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Packet {
    /// When it was offered to this queue.
    pub arrived: Instant,
    /// The host's handle to the packet itself.
    pub slot: u32,
    /// Length on the wire in bytes.
    pub len: u32,
    /// 5-tuple id.
    pub flow: u32,
    /// Source-destination pair id.
    pub pair: u32,
    /// Service class.
    pub class: u8,
    /// Conformance colour.
    pub colour: Colour,
    /// Transport protocol.
    pub proto: Proto,
    /// What a marker in front of the discipline says, until the packet is stored.
    pub front: Front,
    /// ECN codepoint.
    pub ecn: Ecn,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_32_bytes() {
        assert_eq!((size_of::<Packet>(), size_of::<Ecn>()), (32, 4));
    }
}
