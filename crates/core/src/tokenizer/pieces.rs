//! From a normalised text to ids: pieces are found, looked up, and merged where they are new.

use super::normalize::too_long;
use super::piece_cache::{Key, LONGEST, SHORT_IDS};
use super::scanner::Progress;
use super::seams::Seams;
use super::sink::Sink;
use super::{MergeTables, Scratch, Tokenizer};
use crate::error::Error;
use crate::ids::TokenId;

/// How many pieces are looked for ahead of their ids.
const AHEAD: usize = 32;

impl<'a> Tokenizer<'a> {
    pub(super) fn encode_text(&self, text: &[u8], scratch: &mut Scratch, sink: &mut dyn Sink) -> Result<(), Error> {
        self.encode_pieces(text, true, &mut None, 0, scratch, sink)?;
        Ok(())
    }

    /// Encode the pieces of a normalised text: all of them where it `ends`, else those that are decided whatever comes after. How many
    /// bytes were encoded; the piece after them has come as far as `progress`. `before` bytes of the text came earlier.
    pub(super) fn encode_pieces(
        &self,
        text: &[u8],
        ends: bool,
        progress: &mut Option<Progress>,
        before: usize,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<usize, Error> {
        let mut at = progress.take().unwrap_or_else(|| self.scanner.begin());
        let mut found = [(Key::default(), 0_usize); AHEAD];
        let (mut start, mut encoded) = (0, 0);
        let mut more = true;
        while more && encoded < text.len() {
            // Pieces first and their ids after, so that the look-ups of several are under way at once.
            let mut count = 0;
            for place in &mut found {
                let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) else { break };
                let decided = self.scanner.decide(rest, &mut at);
                if at.looked_at() > scratch.max_pretoken {
                    self.encode_found(text, encoded, found.get(..count).unwrap_or_default(), scratch, sink);
                    scratch.room.flush(sink);
                    return Err(too_long(before + start, scratch.max_pretoken));
                }
                let Some(end) = decided.or_else(|| ends.then(|| self.scanner.end_of_input(at))) else {
                    *progress = Some(at);
                    more = false;
                    break;
                };
                let length = end.clamp(1, rest.len());
                let key = Key::new(rest, length).unwrap_or_default();
                scratch.cache.prefetch(key);
                *place = (key, length);
                count += 1;
                start += length;
                at = self.scanner.begin();
            }
            more &= self.encode_found(text, encoded, found.get(..count).unwrap_or_default(), scratch, sink);
            encoded = start;
        }
        scratch.room.flush(sink);
        scratch.merger.trim();
        Ok(start)
    }

    /// Encode pieces that follow each other from `start` on. Whether the sink wants more.
    #[inline]
    fn encode_found(
        &self,
        text: &[u8],
        mut start: usize,
        found: &[(Key, usize)],
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> bool {
        let mut wanted = scratch.room.has_place(SHORT_IDS * AHEAD) || scratch.room.flush(sink);
        for &(key, length) in found {
            if !scratch.cache.write(key, &mut scratch.room) {
                let piece = text.get(start..start + length).unwrap_or_default();
                wanted &= self.encode_piece(piece, scratch, sink);
                wanted &= scratch.room.has_place(SHORT_IDS * AHEAD) || scratch.room.flush(sink);
            }
            start += length;
        }
        wanted
    }

    /// A piece that is not among the short ones in the cache. Whether the sink wants more.
    #[inline(never)]
    fn encode_piece(&self, piece: &[u8], scratch: &mut Scratch, sink: &mut dyn Sink) -> bool {
        // Then what a piece that can be kept has of ids is found in the room afterwards.
        let wanted = scratch.room.has_place(LONGEST) || scratch.room.flush(sink);
        if let Some(known) = scratch.cache.find_elsewhere(piece) {
            return scratch.room.extend(known, sink) && wanted;
        }
        if let Some(id) = self.whole(piece) {
            scratch.cache.keep(piece, &[id]);
            return scratch.room.extend(&[id], sink) && wanted;
        }
        let parts = Parts::of(piece, self.seams);
        if parts.next == piece.len() {
            return self.merge(piece, scratch, sink) && wanted;
        }
        let before = scratch.room.used();
        let wanted = self.encode_parts(parts, scratch, sink) && wanted;
        if piece.len() <= LONGEST {
            scratch.cache.keep(piece, scratch.room.since(before));
        }
        wanted
    }

    /// The parts of a piece: found first and looked up after, as pieces are. Whether the sink wants more.
    fn encode_parts(&self, mut parts: Parts<'_>, scratch: &mut Scratch, sink: &mut dyn Sink) -> bool {
        let mut found: [(Key, &[u8]); AHEAD] = [(Key::default(), &[]); AHEAD];
        loop {
            let mut count = 0;
            for (place, part) in found.iter_mut().zip(&mut parts) {
                let key = Key::new(part, part.len()).unwrap_or_default();
                scratch.cache.prefetch(key);
                *place = (key, part);
                count += 1;
            }
            for &(key, part) in found.get(..count).unwrap_or_default() {
                let known = scratch.room.has_place(SHORT_IDS) && scratch.cache.write(key, &mut scratch.room);
                if !known && !self.encode_part(part, scratch, sink) {
                    return false;
                }
            }
            if count < AHEAD {
                return true;
            }
        }
    }

    /// A part of a piece that has no entry of its own bucket. Whether the sink wants more.
    fn encode_part(&self, part: &[u8], scratch: &mut Scratch, sink: &mut dyn Sink) -> bool {
        match scratch.cache.find(part) {
            Some(known) => scratch.room.extend(known, sink),
            None => self.merge(part, scratch, sink),
        }
    }

    /// A piece or a part of one that is not in the cache. Whether the sink wants more.
    fn merge(&self, part: &[u8], scratch: &mut Scratch, sink: &mut dyn Sink) -> bool {
        let ids = scratch.merger.merge(&self.merge_tables(), part);
        scratch.cache.keep(part, ids);
        scratch.room.extend(ids, sink)
    }

    fn merge_tables(&self) -> MergeTables<'a> {
        MergeTables { merges: self.merges, byte_pairs: self.byte_pairs, vocabulary: self.vocabulary }
    }

    /// The token that a piece is as a whole: the fact is part of the contract (contract/tokenizer.md, T-6), and of pieces only, so
    /// that every engine does the same with a file that states a wrong one.
    fn whole(&self, piece: &[u8]) -> Option<TokenId> {
        self.index.find(&self.vocabulary, piece).filter(|&id| self.facts.merged(id))
    }
}

/// The parts of a piece between its seams.
struct Parts<'p> {
    rest: &'p [u8],
    /// The length of the next.
    next: usize,
    seams: &'p Seams,
}

impl<'p> Parts<'p> {
    fn of(piece: &'p [u8], seams: &'p Seams) -> Self {
        // ASCII has no seams worth looking for: nearly all of its pairs stand in some token.
        let next = if piece.is_ascii() { piece.len() } else { seams.first_part(piece) };
        Self { rest: piece, next, seams }
    }
}

impl<'p> Iterator for Parts<'p> {
    type Item = &'p [u8];

    fn next(&mut self) -> Option<&'p [u8]> {
        let (part, after) = self.rest.split_at_checked(self.next).filter(|(part, _)| !part.is_empty())?;
        *self = Self::of(after, self.seams);
        Some(part)
    }
}
