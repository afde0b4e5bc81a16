//! Counts the packets that a receiver receives in the measurement window.

/// Packets received after the warm-up, each counted once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrived {
    packets: u64,
    /// Bytes of these packets, headers included.
    pub(crate) bytes: u64,
}

impl Arrived {
    /// Counters after `packets` packets of `len` bytes each.
    pub(crate) const fn of(packets: u32, len: u16) -> Self {
        Self { packets: packets as u64, bytes: packets as u64 * len as u64 }
    }

    /// Adds a packet of `len` bytes.
    #[inline]
    pub(crate) fn add(&mut self, len: u16) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }

    /// Bytes without headers; `headers`: header bytes per packet.
    pub(crate) const fn payload(self, headers: u16) -> u64 {
        self.bytes.saturating_sub(self.packets * headers as u64)
    }
}
