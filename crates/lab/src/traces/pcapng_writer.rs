//! Writes captures as pcapng (draft-ietf-opsawg-pcapng), with nanoseconds and a comment per packet.

use std::io::{self, Write};

const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const ENHANCED: u32 = 6;
/// Options of blocks: end, comment, name of an interface, its description, its time resolution, the program that wrote
/// the file.
const END: u16 = 0;
const COMMENT: u16 = 1;
const NAME: u16 = 2;
const DESCRIPTION: u16 = 3;
const RESOLUTION: u16 = 9;
const PROGRAM: u16 = 4;

/// Where packets were captured.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    /// Name.
    pub name: &'a str,
    /// Description in one line.
    pub description: &'a str,
    /// Link type: 1 for Ethernet, 101 for IP.
    pub link_type: u16,
    /// Largest number of bytes of a packet that are kept.
    pub snap: u32,
}

/// A file in progress.
pub struct Writer<W> {
    out: W,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a file with these interfaces.
    ///
    /// # Errors
    /// A write to `out` fails.
    pub fn new(out: W, interfaces: &[Interface<'_>]) -> io::Result<Self> {
        let mut new = Self { out, block: Vec::new() };
        let program = format!("forebay {}", env!("CARGO_PKG_VERSION"));
        [BYTE_ORDER, 1, u32::MAX, u32::MAX].iter().for_each(|word| new.block.extend(word.to_le_bytes()));
        new.option(PROGRAM, program.as_bytes());
        new.option(END, &[]);
        new.write(SECTION)?;
        for interface in interfaces {
            new.block.extend(u32::from(interface.link_type).to_le_bytes());
            new.block.extend(interface.snap.to_le_bytes());
            new.option(NAME, interface.name.as_bytes());
            new.option(DESCRIPTION, interface.description.as_bytes());
            new.option(RESOLUTION, &[9]);
            new.option(END, &[]);
            new.write(INTERFACE)?;
        }
        Ok(new)
    }

    /// Adds a packet of `length` bytes at `interface`, of which `kept` are kept. `nanos`: time since 1970, or since time
    /// zero of a simulation. An empty comment is left out.
    ///
    /// # Errors
    /// A write to the output fails.
    pub fn packet(
        &mut self,
        interface: u32,
        nanos: u64,
        (kept, length): (&[u8], u32),
        comment: &str,
    ) -> io::Result<()> {
        let words = [interface, (nanos >> 32) as u32, nanos as u32, kept.len() as u32, length];
        words.iter().for_each(|word| self.block.extend(word.to_le_bytes()));
        self.block.extend(kept);
        self.pad();
        if !comment.is_empty() {
            self.option(COMMENT, comment.as_bytes());
            self.option(END, &[]);
        }
        self.write(ENHANCED)
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// A write to the output fails.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend(value);
        self.pad();
    }

    /// Adds zeros up to a multiple of four bytes.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Writes the block: its type, its length, its body and its length again.
    fn write(&mut self, kind: u32) -> io::Result<()> {
        let length = (self.block.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.block)?;
        self.out.write_all(&length)?;
        self.block.clear();
        Ok(())
    }
}
