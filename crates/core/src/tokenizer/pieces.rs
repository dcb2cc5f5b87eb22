//! From a normalised text to ids: pieces are found, looked up, and merged where they are new.

use super::blocks::{NOTHING, beginnings, first_block};
use super::clause_cache::LONGEST_CLAUSE;
use super::found::{Found, MOST, Piece};
use super::key::{Key, hash_of};
use super::normalize::too_long;
use super::piece_cache::SHORT_IDS;
use super::scanner::{Progress, TooLong};
use super::seams::WINDOW;
use super::sink::Sink;
use super::{MergeTables, Scratch, Tokenizer};
use crate::error::Error;
use crate::ids::TokenId;

/// A block of which so many bytes were known is followed by another; else what comes next is for the DFA.
const FAR: usize = 32;

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
        let mut found = scratch.pieces.take().unwrap_or_default();
        let mut start = 0;
        let mut more = true;
        let mut failed = None;
        while more && start < text.len() {
            let first = start;
            found.clear();
            let ended = self.find_pieces(text, &mut start, ends, progress, scratch, &mut found);
            more = self.encode_found(text, first, &found, false, scratch, sink) && ended.is_ok() && progress.is_none();
            failed = ended.err();
        }
        scratch.pieces = Some(found);
        scratch.room.flush(sink);
        scratch.merger.trim();
        failed.map_or(Ok(start), |TooLong| Err(too_long(before + start, scratch.max_pretoken)))
    }

    /// Find pieces from `start` on, until there are enough, or the next is not decided: then `progress` has how far it has come.
    #[inline]
    fn find_pieces(
        &self,
        text: &[u8],
        start: &mut usize,
        ends: bool,
        progress: &mut Option<Progress>,
        scratch: &Scratch,
        found: &mut Found,
    ) -> Result<(), TooLong> {
        let mut at = progress.take();
        while !found.is_full() {
            if at.is_none() {
                let rest = text.get(*start..).unwrap_or_default();
                if let Some(kinds) = self.scanner.kinds_for_blocks(rest) {
                    let mut place = NOTHING;
                    let block = first_block(rest, &mut place);
                    let length = found.push_block(block, beginnings(block, kinds), &scratch.cache);
                    *start += length;
                    if length > FAR {
                        continue;
                    }
                }
            }
            let Some(rest) = text.get(*start..).filter(|rest| !rest.is_empty()) else { break };
            let mut matched = at.take().unwrap_or_else(|| self.scanner.begin());
            let decided = self.scanner.decide(rest, &mut matched, scratch.max_pretoken)?;
            let Some(end) = decided.or_else(|| ends.then(|| self.scanner.end_of_input(matched))) else {
                *progress = Some(matched);
                break;
            };
            let length = end.clamp(1, rest.len());
            found.push(rest, length, false, &scratch.cache);
            *start += length;
        }
        Ok(())
    }

    /// Encode what was found, pieces or parts of one, which begin at `start`. Whether the sink wants more.
    #[inline]
    fn encode_found(
        &self,
        text: &[u8],
        start: usize,
        found: &Found,
        part: bool,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> bool {
        let mut wanted = true;
        let mut learned = false;
        let mut rest = found.pieces();
        while !rest.is_empty() {
            wanted &= scratch.room.has_place(SHORT_IDS * MOST) || scratch.room.flush(sink);
            let known = scratch.room.write_while(rest, |piece| scratch.cache.entry(piece.key, piece.hash));
            let Some((first, after)) = rest.get(known..).and_then(<[Piece]>::split_first) else { break };
            if let Some(ids) = scratch.cache.bring(first.key, first.hash) {
                scratch.room.write(ids);
                rest = after;
                continue;
            }
            let end = after.first().map_or(found.length(), |next| next.start);
            let piece = text.get(start + first.start..start + end).unwrap_or_default();
            if !learned && Self::is_new(piece, *first, scratch) {
                learned = true;
                self.learn(rest.get(known..).unwrap_or_default(), scratch);
            }
            wanted &= self.encode_piece(piece, first.key, part, scratch, sink);
            rest = after;
        }
        wanted
    }

    /// Whether a short piece is in no cache.
    fn is_new(bytes: &[u8], Piece { key, hash, .. }: Piece, scratch: &Scratch) -> bool {
        !key.is_none() && scratch.clauses.find(bytes, hash).is_none()
    }

    /// A piece or part that was not in its bucket of short ones in the cache. Whether the sink wants more.
    #[inline(never)]
    fn encode_piece(&self, piece: &[u8], key: Key, part: bool, scratch: &mut Scratch, sink: &mut dyn Sink) -> bool {
        if let Some(known) = if key.is_none() { None } else { scratch.cache.find(key) } {
            scratch.room.write(known);
            return true;
        }
        if let Some(known) = scratch.cache.find_long(piece, part) {
            return scratch.room.extend(known, sink);
        }
        if part {
            return self.encode_part(piece, key, scratch, sink);
        }
        if piece.len() > LONGEST_CLAUSE {
            return self.encode_unknown(piece, scratch, sink);
        }
        let hash = if key.is_none() { hash_of(piece) } else { key.hash() };
        if let Some(known) = scratch.clauses.find(piece, hash) {
            return scratch.room.extend(known, sink);
        }
        // It has no more ids than bytes, and its parts ask for no more place than that beyond them: none of its ids leaves the room before
        // all are there.
        let wanted = scratch.room.has_place(LONGEST_CLAUSE + SHORT_IDS * MOST) || scratch.room.flush(sink);
        let before = scratch.room.used();
        let wanted = self.encode_unknown(piece, scratch, sink) && wanted;
        let ids = scratch.room.since(before);
        if !scratch.cache.keep(piece, key, false, ids) {
            scratch.clauses.keep(piece, hash, ids);
        }
        wanted
    }

    /// A piece that is in no cache. Whether the sink wants more.
    fn encode_unknown(&self, piece: &[u8], scratch: &mut Scratch, sink: &mut dyn Sink) -> bool {
        if let Some(id) = self.whole(piece) {
            return scratch.room.extend(&[id], sink);
        }
        // ASCII has no seams worth looking for: nearly all of its pairs stand in some token.
        let is_ascii = piece.is_ascii();
        let beginnings = if is_ascii { 0 } else { self.seams.beginnings(piece) };
        let goes_on = || piece.len() > WINDOW && self.seams.first_part(piece) < piece.len();
        if is_ascii || beginnings == 0 && !goes_on() {
            let ids = scratch.merger.merge(&self.merge_tables(), piece);
            return scratch.room.extend(ids, sink);
        }
        self.encode_parts(piece, beginnings, scratch, sink)
    }

    /// A part of a piece that is not in the cache. Whether the sink wants more.
    fn encode_part(&self, part: &[u8], key: Key, scratch: &mut Scratch, sink: &mut dyn Sink) -> bool {
        let ids = scratch.merger.merge(&self.merge_tables(), part);
        scratch.cache.keep(part, key, true, ids);
        scratch.room.extend(ids, sink)
    }

    /// The parts of a piece between its seams, of which the first are known, as pieces are. Whether the sink wants more.
    fn encode_parts(&self, piece: &[u8], beginnings: u64, scratch: &mut Scratch, sink: &mut dyn Sink) -> bool {
        let mut found = scratch.parts.take().unwrap_or_default();
        let mut wanted = true;
        let mut start = 0;
        let mut first = Some(beginnings);
        while wanted && start < piece.len() {
            found.clear();
            while !found.is_full() && start + found.length() < piece.len() {
                let rest = piece.get(start + found.length()..).unwrap_or_default();
                let beginnings = first.take().unwrap_or_else(|| self.seams.beginnings(rest));
                found.push_parts(rest, beginnings, &scratch.cache);
                let last = piece.get(start + found.length()..).unwrap_or_default();
                if rest.len() <= WINDOW {
                    found.push(last, last.len(), true, &scratch.cache);
                } else if beginnings == 0 {
                    found.push(last, self.seams.first_part(last), true, &scratch.cache);
                }
            }
            wanted = self.encode_found(piece, start, &found, true, scratch, sink);
            start += found.length();
        }
        scratch.parts = Some(found);
        wanted
    }

    pub(super) fn merge_tables(&self) -> MergeTables<'a> {
        MergeTables { merges: self.merges, byte_pairs: self.byte_pairs, vocabulary: self.vocabulary }
    }

    /// The token that a piece is as a whole: the fact is part of the contract (contract/tokenizer.md, T-6), and of pieces only, so
    /// that every engine does the same with a file that states a wrong one.
    fn whole(&self, piece: &[u8]) -> Option<TokenId> {
        self.index.find(&self.vocabulary, piece).filter(|&id| self.facts.merged(id))
    }

    /// The token that a short piece, whose key has this hash, is as a whole.
    #[inline]
    pub(super) fn whole_short(&self, key: Key, hash: u64) -> Option<TokenId> {
        let found = if key.is_part() { None } else { self.index.find_short(&self.vocabulary, key, hash) };
        found.filter(|&id| self.facts.merged(id))
    }
}
