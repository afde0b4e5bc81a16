//! Reads a recording of traffic byte by byte and keeps the offset in the file for error messages.

use std::io::{self, BufRead, Read as _};

use super::{BadRecording, Read, Where};

/// Byte order of the integers in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    pub(super) const fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(super) const fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(super) const fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// A file that is being read.
pub(super) struct Bytes<R> {
    inner: R,
    offset: u64,
}

impl<R: BufRead> Bytes<R> {
    pub(super) const fn new(inner: R) -> Self {
        Self { inner, offset: 0 }
    }

    /// Current position in the file, for error messages.
    pub(super) const fn here(&self) -> Where {
        Where::Byte(self.offset)
    }

    /// The rest of the file.
    pub(super) const fn rest(&mut self) -> &mut R {
        &mut self.inner
    }

    /// Whether the end of the file is reached.
    pub(super) fn at_end(&mut self) -> Read<bool> {
        let here = self.here();
        self.inner.fill_buf().map(<[u8]>::is_empty).map_err(|error| unreadable(here, &error))
    }

    /// The first four bytes of the file, without advancing the position; zeros if the file is shorter.
    pub(super) fn first4(&mut self) -> Read<[u8; 4]> {
        let here = self.here();
        let bytes = self.inner.fill_buf().map_err(|error| unreadable(here, &error))?;
        let mut out = [0; 4];
        out.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(out)
    }

    /// Reads the next `N` bytes. `what` names the structure that they belong to, such as `a header`, for error
    /// messages.
    pub(super) fn take<const N: usize>(&mut self, what: &str) -> Read<[u8; N]> {
        let mut out = [0; N];
        let here = self.here();
        self.inner.read_exact(&mut out).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                BadRecording::new(here, "the end of the file", format!("{N} more bytes of {what}"))
            }
            _ => unreadable(here, &error),
        })?;
        self.offset += N as u64;
        Ok(out)
    }

    /// Skips `n` bytes. `what` names the structure that they belong to, such as `a block`, for error messages.
    pub(super) fn skip(&mut self, n: u64, what: &str) -> Read<()> {
        let here = self.here();
        let passed = io::copy(&mut self.inner.by_ref().take(n), &mut io::sink());
        let passed = passed.map_err(|error| unreadable(here, &error))?;
        if passed < n {
            let end = Where::Byte(self.offset + passed);
            return Err(BadRecording::new(end, "the end of the file", format!("{} more bytes of {what}", n - passed)));
        }
        self.offset += n;
        Ok(())
    }

    /// Reads the complete file as text. A file of more than `most` bytes is an error.
    pub(super) fn text(&mut self, most: u64) -> Read<String> {
        let mut bytes = Vec::new();
        let read = self.inner.by_ref().take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(Where::File, &error))?;
        if bytes.len() as u64 > most {
            let accepts = format!("a text of at most {} MiB", most >> 20);
            return Err(BadRecording::new(Where::File, "a longer file", accepts));
        }
        String::from_utf8(bytes).map_err(|error| {
            let at = Where::Byte(error.utf8_error().valid_up_to() as u64);
            BadRecording::new(at, "bytes that are not UTF-8 text", "text, or pcap or pcapng for packets")
        })
    }
}

fn unreadable(at: Where, error: &io::Error) -> BadRecording {
    BadRecording::new(at, format!("a file that cannot be read: {error}"), "a recording")
}
