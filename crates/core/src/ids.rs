//! Numbers that must not be mixed up.

/// An id that has a token in the artifact at hand, in memory a `u32`. Numbers that a caller brings are `u32` until they were looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct TokenId(u32);

impl TokenId {
    pub(crate) const fn new(id: u32) -> Self {
        Self(id)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number as an index into a table of tokens.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}
