//! A split virtqueue of a guest, from the side of the device (virtio 1.2, section 2.7).

use crate::sys::memory::Shared;

/// A part of the guest's memory that is mapped here.
pub(super) struct Region {
    /// Its address for the guest's devices.
    pub(super) guest: u64,
    /// Its address in the guest's kernel; the addresses of rings are such ones.
    pub(super) user: u64,
    /// Its length, bytes.
    pub(super) len: u64,
    /// The mapping, in which the region begins at `skip`.
    pub(super) memory: Shared,
    /// Bytes of the mapping before the region.
    pub(super) skip: u64,
}

/// The guest's memory.
#[derive(Default)]
pub(super) struct Memory(pub(super) Vec<Region>);

/// An address or a length that the guest's memory does not have.
fn outside(address: u64) -> String {
    format!("the guest's device has the address {address:#x}, which is not in the guest's memory")
}

impl Memory {
    fn find(&self, address: u64) -> Result<(&Shared, usize), String> {
        let at = |region: &Region| address.checked_sub(region.guest).filter(|at| *at < region.len);
        let found = self.0.iter().find_map(|region| at(region).map(|at| (&region.memory, (at + region.skip) as usize)));
        found.ok_or_else(|| outside(address))
    }

    /// The address for devices of an address in the guest's kernel.
    pub(super) fn translate(&self, user: u64) -> Result<u64, String> {
        let at = |region: &Region| user.checked_sub(region.user).filter(|at| *at < region.len);
        let found = self.0.iter().find_map(|region| at(region).map(|at| region.guest + at));
        found.ok_or_else(|| outside(user))
    }

    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), String> {
        let (memory, at) = self.find(address)?;
        memory.read(at, to).ok_or_else(|| outside(address))
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), String> {
        let (memory, at) = self.find(address)?;
        memory.write(at, from).ok_or_else(|| outside(address))
    }

    fn load(&self, address: u64) -> Result<u16, String> {
        let (memory, at) = self.find(address)?;
        memory.load(at).ok_or_else(|| outside(address))
    }

    fn store(&self, address: u64, value: u16) -> Result<(), String> {
        let (memory, at) = self.find(address)?;
        memory.store(at, value).ok_or_else(|| outside(address))
    }
}

/// Flags of a descriptor: another one follows; the device writes this one.
const NEXT: u16 = 1;
const WRITE: u16 = 2;
/// Flag of the ring of available buffers: the guest wants no call.
const NO_CALL: u16 = 1;
/// Largest number of buffers of a ring.
const MOST: u16 = 1 << 15;

/// A descriptor of a ring: address and length of a buffer, flags, and the number of the next one.
#[derive(Clone, Copy)]
struct Descriptor {
    address: u64,
    len: u32,
    flags: u16,
    next: u16,
}

/// A virtqueue.
#[derive(Default)]
pub(super) struct Ring {
    /// Number of buffers; 0: not set up.
    pub(super) size: u16,
    /// Addresses of the descriptors, the ring of available buffers and the ring of used ones.
    pub(super) descriptors: u64,
    pub(super) available: u64,
    pub(super) used: u64,
    /// Whether the guest has switched it on.
    pub(super) is_on: bool,
    /// Numbers of the next buffer to take, and of the next one to give back.
    pub(super) taken: u16,
    pub(super) given: u16,
}

impl Ring {
    /// Has the guest left a buffer?
    pub(super) fn has_buffer(&self, memory: &Memory) -> Result<bool, String> {
        Ok(self.is_on && self.size > 0 && memory.load(self.available + 2)? != self.taken)
    }

    /// Does the guest want a call after buffers were given back?
    pub(super) fn wants_call(&self, memory: &Memory) -> Result<bool, String> {
        Ok(memory.load(self.available)? & NO_CALL == 0)
    }

    fn slot(&self, number: u16) -> u64 {
        u64::from(number % self.size.clamp(1, MOST))
    }

    fn descriptor(&self, memory: &Memory, number: u16) -> Result<Descriptor, String> {
        if number >= self.size {
            return Err(format!("the guest's device has a descriptor {number} in a ring of {}", self.size));
        }
        let mut bytes = [0; 16];
        memory.read(self.descriptors + 16 * u64::from(number), &mut bytes)?;
        let [a, b, c, d, e, f, g, h, lens @ .., i, j, k, l] = bytes;
        Ok(Descriptor {
            address: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            len: u32::from_le_bytes(lens),
            flags: u16::from_le_bytes([i, j]),
            next: u16::from_le_bytes([k, l]),
        })
    }

    /// Calls `each` for every descriptor of the next buffer until it returns false. Returns the number of the buffer;
    /// `None`: there is none.
    fn take(
        &mut self,
        memory: &Memory,
        mut each: impl FnMut(Descriptor) -> Result<bool, String>,
    ) -> Result<Option<u16>, String> {
        if !self.has_buffer(memory)? {
            return Ok(None);
        }
        let head = memory.load(self.available + 4 + 2 * self.slot(self.taken))?;
        let mut number = head;
        // A chain has each descriptor once.
        for _ in 0..self.size {
            let descriptor = self.descriptor(memory, number)?;
            if !each(descriptor)? || descriptor.flags & NEXT == 0 {
                break;
            }
            number = descriptor.next;
        }
        self.taken = self.taken.wrapping_add(1);
        Ok(Some(head))
    }

    /// Gives a buffer back in which `len` bytes were written.
    fn give(&mut self, memory: &Memory, head: u16, len: u32) -> Result<(), String> {
        let mut entry = [0; 8];
        entry[..4].copy_from_slice(&u32::from(head).to_le_bytes());
        entry[4..].copy_from_slice(&len.to_le_bytes());
        memory.write(self.used + 4 + 8 * self.slot(self.given), &entry)?;
        self.given = self.given.wrapping_add(1);
        memory.store(self.used + 2, self.given)
    }

    /// Takes the bytes of the next buffer that the guest has filled into `to`, at most `most`. Returns false if there
    /// is none.
    pub(super) fn receive(&mut self, memory: &Memory, to: &mut Vec<u8>, most: usize) -> Result<bool, String> {
        to.clear();
        let head = self.take(memory, |part| {
            let len = part.len as usize;
            if part.flags & WRITE != 0 || to.len() + len > most {
                return Err(format!("the guest sent a frame of more than {most} bytes, or none"));
            }
            let from = to.len();
            to.resize(from + len, 0);
            memory.read(part.address, &mut to[from..]).map(|()| true)
        })?;
        let Some(head) = head else { return Ok(false) };
        self.give(memory, head, 0).map(|()| true)
    }

    /// Writes `bytes` into the next empty buffer. Returns false if there is none.
    pub(super) fn send(&mut self, memory: &Memory, bytes: &[u8]) -> Result<bool, String> {
        let mut left = bytes;
        let head = self.take(memory, |part| {
            if part.flags & WRITE == 0 {
                return Err("the guest left a buffer that cannot be written".to_string());
            }
            let (now, later) = left.split_at(left.len().min(part.len as usize));
            left = later;
            memory.write(part.address, now).map(|()| !left.is_empty())
        })?;
        let Some(head) = head else { return Ok(false) };
        if !left.is_empty() {
            return Err(format!("the guest's buffer is too short for a frame of {} bytes", bytes.len()));
        }
        self.give(memory, head, bytes.len() as u32).map(|()| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x10_0000;
    const AVAILABLE: u64 = BASE + 0x100;
    const USED: u64 = BASE + 0x200;
    const DATA: u64 = BASE + 0x800;

    fn memory() -> Memory {
        let (_, memory) = Shared::create(8192).unwrap();
        Memory(vec![Region { guest: BASE, user: 0x7000_0000, len: 4096, memory, skip: 4096 }])
    }

    /// A ring of four buffers in which the guest has made the chain 1, 3 available.
    fn ring(memory: &Memory, flags: [u16; 2], lens: [u32; 2]) -> Ring {
        let places = [(1u64, DATA, lens[0], flags[0] | NEXT, 3u16), (3, DATA + 0x100, lens[1], flags[1], 0)];
        for (number, address, len, flags, next) in places {
            let parts = [&address.to_le_bytes()[..], &len.to_le_bytes(), &flags.to_le_bytes(), &next.to_le_bytes()];
            memory.write(BASE + 16 * number, &parts.concat()).unwrap();
        }
        memory.write(AVAILABLE, &[0, 0, 1, 0, 1, 0]).unwrap();
        let at = memory.translate(0x7000_0000).unwrap();
        Ring { size: 4, descriptors: at, available: AVAILABLE, used: USED, is_on: true, ..Ring::default() }
    }

    #[test]
    fn sent_chain_is_received_and_given_back() {
        let memory = memory();
        let mut ring = ring(&memory, [0, 0], [2, 3]);
        memory.write(DATA, &[1, 2]).unwrap();
        memory.write(DATA + 0x100, &[3, 4, 5]).unwrap();
        let mut bytes = Vec::new();
        assert!(ring.receive(&memory, &mut bytes, 5).unwrap());
        assert_eq!(bytes, [1, 2, 3, 4, 5]);
        assert!(!ring.receive(&memory, &mut bytes, 5).unwrap());
        let mut used = [0; 12];
        memory.read(USED, &mut used).unwrap();
        assert_eq!(used, [0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn frame_fills_a_chain_in_order() {
        let memory = memory();
        let mut ring = ring(&memory, [WRITE, WRITE], [2, 8]);
        assert!(ring.send(&memory, &[9, 8, 7]).unwrap());
        let mut found = [0; 3];
        memory.read(DATA, &mut found[..2]).unwrap();
        memory.read(DATA + 0x100, &mut found[2..]).unwrap();
        assert_eq!(found, [9, 8, 7]);
        let mut used = [0; 12];
        memory.read(USED, &mut used).unwrap();
        assert_eq!((used[4], used[8]), (1, 3));
        assert!(!ring.send(&memory, &[1]).unwrap(), "no further buffer");
    }

    #[test]
    fn wrong_rings_of_a_guest_are_errors() {
        let memory = memory();
        let mut bytes = Vec::new();
        assert!(ring(&memory, [WRITE, 0], [2, 2]).receive(&memory, &mut bytes, 9).is_err(), "not for reading");
        assert!(ring(&memory, [0, 0], [2, 2]).send(&memory, &[1]).is_err(), "not for writing");
        assert!(ring(&memory, [0, 0], [2, 8]).receive(&memory, &mut bytes, 9).is_err(), "too long");
        assert!(ring(&memory, [WRITE, WRITE], [1, 1]).send(&memory, &[1, 2, 3]).is_err(), "too short");
        let mut far = ring(&memory, [0, 0], [2, 2]);
        far.descriptors = BASE + 4090;
        assert!(far.receive(&memory, &mut bytes, 9).unwrap_err().contains("address"));
        let mut small = ring(&memory, [0, 0], [2, 2]);
        small.size = 2;
        assert!(small.receive(&memory, &mut bytes, 9).unwrap_err().contains("descriptor 3"));
        // A chain that goes round ends.
        let looped = ring(&memory, [0, NEXT], [1, 1]);
        memory.write(BASE + 16 * 3 + 14, &[1, 0]).unwrap();
        assert!({ looped }.receive(&memory, &mut bytes, 9).is_ok());
        assert_eq!(bytes.len(), 4);
    }
}
