//! Memory that this process and the guest share.

use std::io::{self, Error};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU16, Ordering};

/// Mapped memory. All accesses are checked against its length.
pub(crate) struct Shared {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for Shared {}

impl Shared {
    /// Maps `len` bytes of a file from `offset`, a multiple of the page size.
    pub(crate) fn map(file: &impl AsFd, len: usize, offset: u64) -> io::Result<Self> {
        let (access, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_fd().as_raw_fd());
        let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the kernel chooses an unused place.
        let at = unsafe { libc::mmap(ptr::null_mut(), len, access, libc::MAP_SHARED, fd, offset) };
        match NonNull::new(at.cast::<u8>()) {
            Some(at) if at.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { at, len }),
            _ => Err(Error::last_os_error()),
        }
    }

    /// Creates `len` bytes of zeros, and the file in memory that has them.
    pub(crate) fn create(len: usize) -> io::Result<(OwnedFd, Self)> {
        // SAFETY: the name ends with zero.
        let fd = super::check(unsafe { libc::memfd_create(c"calendar".as_ptr(), libc::MFD_CLOEXEC) })?;
        // SAFETY: the descriptor was just created and has no other owner.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: no memory is passed.
        super::check(unsafe { libc::ftruncate(fd, len as libc::off_t) })?;
        let memory = Self::map(&file, len, 0)?;
        Ok((file, memory))
    }

    /// The address of `len` bytes at `at`; `None`: they are not all in this memory.
    fn place(&self, at: usize, len: usize) -> Option<*mut u8> {
        let end = at.checked_add(len).filter(|end| *end <= self.len)?;
        // SAFETY: the result is within the mapping.
        Some(unsafe { self.at.as_ptr().add(end - len) })
    }

    /// Copies bytes from `at` into `to`. The guest must not be writing them.
    pub(crate) fn read(&self, at: usize, to: &mut [u8]) -> Option<()> {
        let from = self.place(at, to.len())?;
        // SAFETY: both are valid for the length, and `to` is not in the mapping.
        unsafe { ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        Some(())
    }

    /// Copies bytes to `at`. The guest must not be using them.
    pub(crate) fn write(&self, at: usize, from: &[u8]) -> Option<()> {
        let to = self.place(at, from.len())?;
        // SAFETY: both are valid for the length, and `from` is not in the mapping.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        Some(())
    }

    fn atomic(&self, at: usize) -> Option<&AtomicU16> {
        let place = self.place(at, 2)?.cast::<u16>();
        // SAFETY: the place is within the mapping, which lives as long as `self`, and it is aligned.
        place.is_aligned().then(|| unsafe { AtomicU16::from_ptr(place) })
    }

    /// Reads a number that the guest may be writing. What the guest wrote before it is visible afterwards.
    pub(crate) fn load(&self, at: usize) -> Option<u16> {
        self.atomic(at).map(|number| number.load(Ordering::Acquire))
    }

    /// Writes a number that the guest may be reading, after everything that was written before.
    pub(crate) fn store(&self, at: usize, value: u16) -> Option<()> {
        self.atomic(at).map(|number| number.store(value, Ordering::Release))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is not used afterwards.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_beyond_the_memory_are_refused() {
        let (file, memory) = Shared::create(4096).unwrap();
        let other = Shared::map(&file, 4096, 0).unwrap();
        memory.write(4092, &[1, 2, 3, 4]).unwrap();
        let mut found = [0; 4];
        other.read(4092, &mut found).unwrap();
        assert_eq!(found, [1, 2, 3, 4]);
        assert_eq!((memory.write(4093, &[0; 4]), memory.read(usize::MAX, &mut found)), (None, None));
        assert_eq!((memory.load(4095), memory.load(1), memory.load(4094)), (None, None, Some(0x0403)));
        memory.store(0, 7).unwrap();
        assert_eq!(other.load(0), Some(7));
    }
}
