//! Byte-pair encoding of one piece: start from its single bytes, merge the neighbours of lowest rank, the leftmost of equals
//! first, until none can (decisions D3).
//!
//! Three ways with one result; a test compares them with the definition. Short texts are *scanned* for the lowest rank. A longer
//! piece is encoded in *windows*, each scanned, whose ids are kept where they fit together: a sequence of ids, each neighbouring two of
//! which are what their bytes together encode to, is what all the bytes encode to. (The first merge over one of the joints would be
//! taken from the two alone as well: what happens to their bytes before it depends on nothing else, and ranks order it alike.) So
//! joints alone need a look, and a piece takes time in proportion to its length. Where windows have to grow, a *tournament* finds the
//! lowest rank.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::scan::{SCANNED, scan};
use super::tournament::Tournament;
use crate::artifact::{Merges, NO_RANK, Vocabulary};
use crate::ids::TokenId;

/// The least window of a longer piece, in bytes.
const WINDOW: usize = SCANNED;
/// How far from the end of a window, in bytes, an id must end to be kept: what follows could still change the last ids.
const MARGIN: usize = 10;
/// After so many windows that went well they become smaller.
const CALM: u32 = 64;
/// How many joints that hold are remembered: runs of one character ask for the same again.
const JOINTS: usize = 1 << 10;
/// Memory for more numbers than that is not kept for the next text.
const KEPT: usize = 1 << 16;

/// The ranks of the merges of two single bytes, which half of all look-ups are for: made once from the merges.
pub(crate) struct BytePairs {
    id_of_byte: [TokenId; 256],
    /// By left and right byte.
    ranks: Box<[u32]>,
}

impl BytePairs {
    pub(crate) fn new(merges: &Merges<'_>, vocabulary: Vocabulary<'_>, id_of_byte: &[TokenId; 256]) -> Self {
        let mut pairs = Self { id_of_byte: *id_of_byte, ranks: vec![NO_RANK; 1 << 16].into_boxed_slice() };
        for stretch in vocabulary.stretches() {
            pairs.note(stretch, merges, vocabulary);
        }
        pairs
    }

    /// Merges of two bytes make tokens of two bytes: those are few.
    #[inline(never)]
    fn note(&mut self, stretch: Range<u32>, merges: &Merges<'_>, vocabulary: Vocabulary<'_>) {
        // Found first and looked up then: which tokens they are is a guess for the processor, and where it fails no look-up is ahead.
        let found: Vec<&[u8; 2]> = stretch.filter_map(|id| vocabulary.token_of(TokenId::new(id))).collect();
        for &[left, right] in found {
            let (first, second) = (self.id(left), self.id(right));
            if let Some(rank) = self.ranks.get_mut(pair(left, right)) {
                *rank = merges.rank(first, second);
            }
        }
    }

    #[inline]
    pub(super) fn id(&self, byte: u8) -> TokenId {
        self.id_of_byte.get(usize::from(byte)).copied().unwrap_or_default()
    }

    #[inline]
    pub(super) fn rank(&self, left: u8, right: u8) -> u32 {
        self.ranks.get(pair(left, right)).copied().unwrap_or(NO_RANK)
    }
}

fn pair(left: u8, right: u8) -> usize {
    usize::from(left) << 8 | usize::from(right)
}

/// The tables that merging needs.
#[derive(Clone, Copy)]
pub(crate) struct MergeTables<'a> {
    pub(crate) merges: Merges<'a>,
    pub(crate) byte_pairs: &'a BytePairs,
    pub(crate) vocabulary: Vocabulary<'a>,
}

/// Merges pieces; keeps its memory from one to the next, and is of one artifact.
#[derive(Default)]
pub(crate) struct Merger {
    /// The ids of the piece at hand.
    ids: Vec<TokenId>,
    /// The ids of the window at hand, each with the place where it ends.
    window: Vec<(TokenId, u32)>,
    tournament: Tournament,
    /// The bytes of two tokens.
    joint: Vec<u8>,
    /// Two ids, one above the other, that are what their bytes together encode to; 0 where there are none.
    joints: Vec<u64>,
}

impl Merger {
    /// The ids of `piece`.
    pub(crate) fn merge(&mut self, tables: &MergeTables<'_>, piece: &[u8]) -> &[TokenId] {
        self.ids.clear();
        if piece.len() <= SCANNED {
            let ids = &mut self.ids;
            scan(tables, piece, |id, _| ids.push(id));
        } else {
            self.by_windows(tables, piece);
        }
        &self.ids
    }

    /// Windows from the left. Behind `start` the ids are settled among themselves.
    fn by_windows(&mut self, tables: &MergeTables<'_>, piece: &[u8]) {
        let mut start = 0;
        let mut size = WINDOW;
        // Windows shrink again only after some beyond what was reached before, so that the same one is not tried for ever.
        let (mut reached, mut calm) = (0, 0);
        // The bytes of the window before, whose ids `self.window` still holds: runs of one character ask for the same again.
        let mut before: &[u8] = &[];
        while start < piece.len() {
            let window = piece.get(start..piece.len().min(start + size)).unwrap_or_default();
            if window != before {
                self.encode_window(tables, window);
                before = window;
            }
            if !self.joins(tables) {
                // The last id was settled too early: give it up, and look further ahead.
                start -= self.ids.pop().map_or(start, |id| tables.vocabulary.token(id).len());
                (size, calm) = (size * 2, 0);
                continue;
            }
            let is_last = start + window.len() == piece.len();
            let length = self.keep(if is_last { window.len() } else { window.len() - MARGIN });
            start += length;
            if length == 0 {
                (size, calm) = (size * 2, 0);
            } else if start > reached {
                (reached, calm) = (start, calm + 1);
            }
            if calm == CALM {
                (size, calm) = (WINDOW.max(size / 2), 0);
            }
        }
    }

    fn encode_window(&mut self, tables: &MergeTables<'_>, window: &[u8]) {
        self.window.clear();
        let kept = &mut self.window;
        let token = |id, end| kept.push((id, place(end)));
        if window.len() <= SCANNED {
            scan(tables, window, token);
        } else {
            self.tournament.merge(tables, window, token);
        }
    }

    /// Whether the last id that is settled and the first of the window are what their bytes together encode to.
    fn joins(&mut self, tables: &MergeTables<'_>) -> bool {
        let (Some(&left), Some(&(right, _))) = (self.ids.last(), self.window.first()) else { return true };
        let joint = u64::from(left.get()) << 32 | u64::from(right.get()) | 1 << 63;
        if self.joints.is_empty() {
            self.joints.resize(JOINTS, 0);
        }
        let place = joint.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - JOINTS.trailing_zeros());
        let known = self.joints.get_mut(usize::try_from(place).unwrap_or(0));
        if known.as_deref() == Some(&joint) {
            return true;
        }
        self.joint.clear();
        self.joint.extend([left, right].iter().flat_map(|&id| tables.vocabulary.token(id)));
        let mut expected = [left, right].into_iter();
        let mut holds = true;
        let token = |id, _| holds &= expected.next() == Some(id);
        if self.joint.len() <= SCANNED {
            scan(tables, &self.joint, token);
        } else {
            self.tournament.merge(tables, &self.joint, token);
        }
        let holds = holds && expected.next().is_none();
        if let Some(known) = known.filter(|_| holds) {
            *known = joint;
        }
        holds
    }

    /// Settle the ids of the window that end within its first `length` bytes; how many bytes they have.
    fn keep(&mut self, length: usize) -> usize {
        let kept = self.window.partition_point(|&(_, end)| end as usize <= length);
        let kept = self.window.get(..kept).unwrap_or_default();
        self.ids.extend(kept.iter().map(|&(id, _)| id));
        kept.last().map_or(0, |&(_, end)| end as usize)
    }

    /// Give back the memory of a very long piece.
    pub(crate) fn trim(&mut self) {
        if self.ids.capacity().max(self.window.capacity()) > KEPT || self.tournament.capacity() > KEPT {
            *self = Self::default();
        }
    }
}

/// A place in a piece, which has at most 2^31 bytes.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Artifact;

    /// As the definition says it, one merge after the other over the whole piece.
    fn naive(merges: Merges<'_>, of_byte: &[TokenId; 256], piece: &[u8]) -> Vec<TokenId> {
        let mut ids: Vec<TokenId> = piece.iter().map(|&byte| of_byte[usize::from(byte)]).collect();
        loop {
            let mut best: Option<(usize, u32)> = None;
            for (at, pair) in ids.windows(2).enumerate() {
                let rank = merges.rank(pair[0], pair[1]);
                if rank != NO_RANK && best.is_none_or(|(_, lowest)| rank < lowest) {
                    best = Some((at, rank));
                }
            }
            let Some((at, rank)) = best else { return ids };
            ids.splice(at..at + 2, [TokenId::new(merges.merged(rank).expect("it has an id"))]);
        }
    }

    #[test]
    fn every_way_does_what_the_definition_says() {
        const SEED: u64 = 41;
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
        let artifact = Artifact::from_bytes(data).expect("it opens");
        let of_byte = &artifact.vocabulary_index().of_byte;
        let byte_pairs = BytePairs::new(&artifact.merges(), artifact.vocabulary(), of_byte);
        let tables =
            MergeTables { merges: artifact.merges(), byte_pairs: &byte_pairs, vocabulary: artifact.vocabulary() };
        let mut merger = Merger::default();
        let mut state = SEED;
        let mut random = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).expect("31 bits") % limit
        };
        let alphabets =
            ["a", "ab", "0 \n", "etaoinshrdlu", "  \t\t    ", "kungfuчт漢字é", " ", "-=", "aaaaaaab", "\n\n\n "];
        for round in 0..2_000 {
            let alphabet = alphabets[round % alphabets.len()].as_bytes();
            let length = random(if round % 50 == 0 { 1_500 } else { 150 });
            let piece: Vec<u8> = (0..length).map(|_| alphabet[random(alphabet.len())]).collect();
            let expected = naive(artifact.merges(), of_byte, &piece);
            let (mut chosen, mut windowed, mut fought) = (Vec::new(), Vec::new(), Vec::new());
            chosen.extend_from_slice(merger.merge(&tables, &piece));
            merger.ids.clear();
            merger.by_windows(&tables, &piece);
            windowed.append(&mut merger.ids);
            merger.tournament.merge(&tables, &piece, |id, _| fought.push(id));
            for found in [&chosen, &windowed, &fought] {
                assert_eq!(found, &expected, "seed {SEED} round {round}: {piece:?}");
            }
        }
    }
}
