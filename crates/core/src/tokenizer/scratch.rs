//! The memory of encoding, and what it is bounded by.

use alloc::boxed::Box;

use super::Tokenizer;
use super::characters::Characters;
use super::clause_cache::ClauseCache;
use super::found::Found;
use super::learn::Together;
use super::merge::Merger;
use super::piece_cache::PieceCache;
use super::sink::Room;
use crate::error::Error;
use crate::error_code::ErrorCode;

/// Memory that encoding works in: kept by the caller from one text to the next, one for each thread.
///
/// It takes up to 9 MiB, and while a long piece or run of marks is at hand at most 16 bytes more for each byte of it, counted before or
/// after normalisation, whichever is more. It never changes
/// what comes out, whichever artifacts it was used with before.
pub struct Scratch {
    pub(super) max_pretoken: usize,
    /// Of the artifact that the memory knows pieces of.
    owner: [u8; 32],
    pub(super) merger: Merger,
    pub(super) cache: PieceCache,
    pub(super) clauses: ClauseCache,
    pub(super) characters: Characters,
    pub(super) together: Together,
    pub(super) room: Room,
    /// Where pieces wait, and parts of one; absent while they do.
    pub(super) pieces: Option<Box<Found>>,
    pub(super) parts: Option<Box<Found>>,
}

impl Scratch {
    /// The greatest limit: places in a piece have 31 bits.
    pub const LONGEST_PRETOKEN: usize = (1 << 31) - 1;
    /// The least limit.
    pub const SHORTEST_PRETOKEN: usize = 256;

    /// Memory for pieces and runs of marks of at most `max_pretoken` bytes; a longer one is `pretoken_too_long` (contract/tokenizer.md,
    /// T-13). `limit_out_of_range` where the limit is below [`Self::SHORTEST_PRETOKEN`] or above [`Self::LONGEST_PRETOKEN`].
    pub fn new(max_pretoken: usize) -> Result<Self, Error> {
        if !(Self::SHORTEST_PRETOKEN..=Self::LONGEST_PRETOKEN).contains(&max_pretoken) {
            let fields = [
                ("found", max_pretoken.into()),
                ("minimum", Self::SHORTEST_PRETOKEN.into()),
                ("maximum", Self::LONGEST_PRETOKEN.into()),
            ];
            return Err(Error::new(ErrorCode::LimitOutOfRange, fields));
        }
        Ok(Self {
            max_pretoken,
            owner: [0; 32],
            merger: Merger::default(),
            cache: PieceCache::default(),
            clauses: ClauseCache::default(),
            characters: Characters::default(),
            together: Together::default(),
            room: Room::default(),
            pieces: None,
            parts: None,
        })
    }

    /// The limit.
    #[must_use]
    pub const fn max_pretoken(&self) -> usize {
        self.max_pretoken
    }

    /// Forget what is known of another artifact, and what a refused text left.
    pub(super) fn belong_to(&mut self, tokenizer: &Tokenizer<'_>) {
        self.room.clear();
        if self.owner != *tokenizer.digest {
            self.owner = *tokenizer.digest;
            (self.merger, self.cache) = (Merger::default(), PieceCache::default());
            (self.clauses, self.characters) = (ClauseCache::default(), Characters::default());
        }
    }
}
