//! The bytes of an input, taken from the front: settings first, the text last. What is not there is 0.

/// What is left of an input.
pub struct Input<'d>(pub &'d [u8]);

impl<'d> Input<'d> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let (&byte, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        byte
    }

    /// The next little-endian u32.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// Up to `count` bytes.
    pub fn bytes(&mut self, count: usize) -> &'d [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
