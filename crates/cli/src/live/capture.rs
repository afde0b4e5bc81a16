//! The capture of `forebay link --pcapng`: the packets that leave the queues of the link, and those that are dropped or lost.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use forebay_lab::traces::pcapng_writer::{Interface, Writer};
use forebay_live::fabric::{Passed, Tap};
use forebay_live::sys::clock;
use forebay_sim::lone::Gone;

use crate::failure::Failure;

/// Link type of Ethernet frames.
const ETHERNET: u16 = 1;
/// Bytes of a frame that are kept at most: all headers, and the beginning of the payload.
const SNAP: u32 = 256;
/// Bytes that are collected before they are written.
const BUFFER: usize = 1 << 17;

/// The file, or the error of the first write that failed. Nothing is written after it.
type Shared = Rc<RefCell<io::Result<Writer<BufWriter<File>>>>>;

/// A capture in progress.
pub(crate) struct Capture {
    path: PathBuf,
    file: Shared,
    /// Wall-clock time at which the link starts, ns since 1970.
    zero: Rc<Cell<u64>>,
}

impl Capture {
    /// Creates the file. `links`: name and discipline of each link, in the order of their numbers.
    pub(crate) fn begin(path: &Path, links: &[(String, String)]) -> Result<Self, Failure> {
        let describe =
            |(name, aqm): &(String, String)| format!("packets that left the queue of {name} ({aqm}), or were dropped");
        let descriptions: Vec<String> = links.iter().map(describe).collect();
        let each = links.iter().zip(&descriptions);
        let interfaces: Vec<Interface<'_>> = each
            .map(|((name, _), description)| Interface { name, description, link_type: ETHERNET, snap: SNAP })
            .collect();
        let begun =
            File::create(path).and_then(|file| Writer::new(BufWriter::with_capacity(BUFFER, file), &interfaces));
        let writer = begun.map_err(|error| Failure::run(format!("cannot write {}: {error}", path.display())))?;
        Ok(Self { path: path.to_path_buf(), file: Rc::new(RefCell::new(Ok(writer))), zero: Rc::default() })
    }

    /// Sets the start of the link, ns on the monotonic clock. Call it before the first packet.
    pub(crate) fn starts(&self, start: u64) {
        self.zero.set(clock::realtime().saturating_sub(clock::monotonic().saturating_sub(start)));
    }

    /// A function that writes the frames it is given. `links`: as for [`Self::begin`].
    pub(crate) fn tap(&self, links: Vec<(String, String)>) -> Tap {
        let (file, zero) = (self.file.clone(), self.zero.clone());
        let comment = move |link: usize, gone: Gone| {
            let (name, aqm) = &links[link];
            match gone {
                Gone::Sent => String::new(),
                Gone::Dropped => format!("dropped by {aqm} at {name}"),
                Gone::Lost => format!("lost on the wire behind {name}"),
            }
        };
        Box::new(move |Passed { link, at, frame, gone }: Passed<'_>| {
            let mut file = file.borrow_mut();
            if let Ok(writer) = &mut *file {
                let kept = &frame[..frame.len().min(SNAP as usize)];
                let packet = (kept, frame.len() as u32);
                if let Err(error) = writer.packet(link as u32, zero.get() + at.nanos(), packet, &comment(link, gone)) {
                    *file = Err(error);
                }
            }
        })
    }

    /// Completes the file.
    ///
    /// # Errors
    /// A write has failed; the file ends before the last packet.
    pub(crate) fn end(self) -> Result<(), Failure> {
        let ended = io::Error::other("already ended");
        let file = self.file.replace(Err(ended));
        let failed = |error: io::Error| Failure::run(format!("{} ends early: {error}", self.path.display()));
        file.and_then(Writer::finish).map_err(failed)
    }
}
