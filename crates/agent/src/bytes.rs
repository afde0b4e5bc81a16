//! Numbers, texts and lists as bytes: little-endian numbers, and a length before each text or list.

/// Appends values to bytes.
#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn number(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.0.extend(value);
    }

    pub(crate) fn list<T>(&mut self, values: &[T], each: impl Fn(&mut Self, &T)) {
        self.number(values.len() as u64);
        values.iter().for_each(|value| each(self, value));
    }
}

/// Reads values from bytes. After the end, numbers are 0 and texts are empty, and [`is_whole`](Self::is_whole) is
/// false.
pub(crate) struct Reader<'a> {
    left: &'a [u8],
    failed: bool,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes, failed: false }
    }

    fn take(&mut self, len: usize) -> &'a [u8] {
        let Some((taken, left)) = self.left.split_at_checked(len) else {
            (self.failed, self.left) = (true, &[]);
            return &[];
        };
        self.left = left;
        taken
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.take(8).try_into().map_or(0, u64::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        let len = self.number();
        self.take(len as usize).to_vec()
    }

    pub(crate) fn text(&mut self) -> String {
        String::from_utf8(self.bytes()).unwrap_or_else(|_| {
            self.failed = true;
            String::new()
        })
    }

    pub(crate) fn list<T>(&mut self, each: impl Fn(&mut Self) -> T) -> Vec<T> {
        let count = self.number();
        // A value takes at least a byte: a damaged length cannot ask for much memory.
        let count = if count > self.left.len() as u64 { 0 } else { count };
        (0..count).map(|_| each(self)).collect()
    }

    /// Were there enough bytes for every value, and none left over?
    pub(crate) const fn is_whole(&self) -> bool {
        !self.failed && self.left.is_empty()
    }
}
