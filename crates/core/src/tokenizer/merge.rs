//! Byte-pair encoding of one piece: start from its single bytes, merge the neighbours of lowest rank, the leftmost of equals
//! first, until none can (decisions D3).
//!
//! Three ways with one result; a test compares them with the definition. Short texts are *scanned* for the lowest rank. A longer
//! piece is encoded in *windows*, each scanned, whose ids are kept where they fit together: a sequence of ids, each neighbouring two of
//! which are what their bytes together encode to, is what all the bytes encode to. (The first merge over one of the joints would be
//! taken from the two alone as well: what happens to their bytes before it depends on nothing else, and ranks order it alike.) So
//! joints alone need a look, and a piece takes time in proportion to its length. Where windows have to grow, a *heap* finds the lowest
//! rank.

use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::artifact::{Merge, Merges, Vocabulary};
use crate::ids::{Rank, TokenId};

/// The longest text that is scanned, in bytes.
const SCANNED: usize = 64;
/// The least window of a longer piece, in bytes.
const WINDOW: usize = 36;
/// How far from the end of a window, in bytes, an id must end to be kept: what follows could still change the last ids.
const MARGIN: usize = 10;
/// After so many windows that went well they become smaller.
const CALM: u32 = 64;
/// In place of a rank: the two do not merge.
const NO_RANK: u32 = u32::MAX;

/// The ranks of the merges of two single bytes, which half of all look-ups are for: made once from the merges.
pub(crate) struct BytePairs {
    id_of_byte: [TokenId; 256],
    /// By left and right byte.
    ranks: Box<[u32]>,
}

impl BytePairs {
    pub(crate) fn new(merges: &Merges<'_>, id_of_byte: &[TokenId; 256]) -> Self {
        let pairs = id_of_byte.iter().flat_map(|&left| id_of_byte.iter().map(move |&right| (left, right)));
        let ranks = pairs.map(|(left, right)| merges.find(left, right).map_or(NO_RANK, |merge| merge.rank.0)).collect();
        Self { id_of_byte: *id_of_byte, ranks }
    }

    fn id(&self, byte: u8) -> TokenId {
        self.id_of_byte.get(usize::from(byte)).copied().unwrap_or_default()
    }

    fn rank(&self, left: u8, right: u8) -> u32 {
        self.ranks.get(usize::from(left) << 8 | usize::from(right)).copied().unwrap_or(NO_RANK)
    }
}

/// Merges pieces; keeps its memory from one to the next.
#[derive(Default)]
pub(crate) struct Merger {
    window: Vec<TokenId>,
    links: Vec<Link>,
    candidates: BinaryHeap<Reverse<(Rank, usize)>>,
}

/// The tables that merging needs.
#[derive(Clone, Copy)]
pub(crate) struct MergeTables<'a> {
    pub(crate) merges: Merges<'a>,
    pub(crate) byte_pairs: &'a BytePairs,
    pub(crate) vocabulary: Vocabulary<'a>,
}

/// A token of the text so far, and its merge with the one to its right.
#[derive(Clone, Copy)]
struct Part {
    id: TokenId,
    merge: Option<Merge>,
}

/// A part as a member of a linked list over the bytes of the text; it stands at its first byte.
#[derive(Clone, Copy)]
struct Link {
    part: Part,
    previous: Option<usize>,
    next: Option<usize>,
    /// Whether it was merged into another.
    gone: bool,
}

impl Merger {
    /// Append the ids of `piece`.
    pub(crate) fn merge(&mut self, tables: MergeTables<'_>, piece: &[u8], ids: &mut Vec<TokenId>) {
        if piece.len() <= WINDOW {
            by_scan(tables, piece, ids);
        } else {
            self.by_windows(tables, piece, ids);
        }
    }

    /// Windows from the left. Behind `start` the ids from `first` on are settled among themselves.
    fn by_windows(&mut self, tables: MergeTables<'_>, piece: &[u8], ids: &mut Vec<TokenId>) {
        let first = ids.len();
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
            if !self.joins(tables, ids.get(first..).unwrap_or_default()) {
                // The last id was settled too early: give it up, and look further ahead.
                start -= ids.pop().map_or(start, |id| tables.vocabulary.token(id).len());
                (size, calm) = (size * 2, 0);
                continue;
            }
            let is_last = start + window.len() == piece.len();
            let kept = if is_last { window.len() } else { window.len() - MARGIN };
            let length = self.keep(tables.vocabulary, kept, ids);
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

    fn encode_window(&mut self, tables: MergeTables<'_>, window: &[u8]) {
        self.window.clear();
        if window.len() <= SCANNED {
            by_scan(tables, window, &mut self.window);
        } else {
            let mut ids = core::mem::take(&mut self.window);
            self.by_heap(tables, window, &mut ids);
            self.window = ids;
        }
    }

    /// Whether the last id of `settled` and the first of the window are what their bytes together encode to.
    fn joins(&mut self, tables: MergeTables<'_>, settled: &[TokenId]) -> bool {
        let (Some(&left), Some(&right)) = (settled.last(), self.window.first()) else { return true };
        let mut bytes = [0; SCANNED];
        let (head, tail) = (tables.vocabulary.token(left), tables.vocabulary.token(right));
        if let Some(joint) = bytes.get_mut(..head.len() + tail.len()) {
            joint.iter_mut().zip(head.iter().chain(tail)).for_each(|(to, from)| *to = *from);
            return scan(tables, joint).holds(&[left, right]);
        }
        let mut together = Vec::new();
        self.by_heap(tables, &[head, tail].concat(), &mut together);
        together == [left, right]
    }

    /// Append the ids of the window that end within its first `length` bytes; how many bytes they have.
    fn keep(&self, vocabulary: Vocabulary<'_>, length: usize, ids: &mut Vec<TokenId>) -> usize {
        let mut end = 0;
        for &id in &self.window {
            let next = end + vocabulary.token(id).len();
            if next > length {
                break;
            }
            ids.push(id);
            end = next;
        }
        end
    }

    fn by_heap(&mut self, tables: MergeTables<'_>, text: &[u8], ids: &mut Vec<TokenId>) {
        self.links.clear();
        self.candidates.clear();
        for (at, &byte) in text.iter().enumerate() {
            let part = Part { id: tables.byte_pairs.id(byte), merge: None };
            let next = Some(at + 1).filter(|&next| next < text.len());
            self.links.push(Link { part, previous: at.checked_sub(1), next, gone: false });
        }
        for at in 0..text.len() {
            self.look_at(tables.merges, at);
        }
        while let Some(Reverse((rank, at))) = self.candidates.pop() {
            self.merge_at(tables.merges, at, rank);
        }
        ids.extend(self.links.iter().filter(|link| !link.gone).map(|link| link.part.id));
    }

    /// The merge of `rank` at `at`, unless one of the two was merged with another since it became a candidate. A rank
    /// belongs to one pair of ids, so that rank and place say whether it still stands.
    fn merge_at(&mut self, merges: Merges<'_>, at: usize, rank: Rank) -> Option<()> {
        let link = *self.links.get(at)?;
        let merge = link.part.merge.filter(|merge| merge.rank == rank && !link.gone)?;
        let right = self.links.get_mut(link.next?)?;
        right.gone = true;
        let next = right.next;
        if let Some(next) = next.and_then(|next| self.links.get_mut(next)) {
            next.previous = Some(at);
        }
        if let Some(merged) = self.links.get_mut(at) {
            *merged = Link { part: Part { id: merge.id, merge: None }, next, ..link };
        }
        self.look_at(merges, at);
        self.look_at(merges, link.previous?)
    }

    /// Look up the merge of the part at `at` with the one to its right, and make it a candidate.
    fn look_at(&mut self, merges: Merges<'_>, at: usize) -> Option<()> {
        let link = *self.links.get(at)?;
        let right = self.links.get(link.next?)?.part.id;
        let merge = merges.find(link.part.id, right);
        self.links.get_mut(at)?.part.merge = merge;
        self.candidates.push(Reverse((merge?.rank, at)));
        Some(())
    }
}

/// Tokens of a short text, closed up from the left, and the rank of the merge of each with the next.
struct Scan {
    tokens: [TokenId; SCANNED],
    ranks: [u32; SCANNED],
    count: usize,
}

impl Scan {
    /// The single bytes of a text of at most `SCANNED` bytes.
    fn new(byte_pairs: &BytePairs, text: &[u8]) -> Self {
        let mut scan = Self { tokens: [TokenId::default(); SCANNED], ranks: [NO_RANK; SCANNED], count: text.len() };
        scan.tokens.iter_mut().zip(text).for_each(|(token, &byte)| *token = byte_pairs.id(byte));
        let neighbours = text.iter().zip(text.iter().skip(1));
        scan.ranks.iter_mut().zip(neighbours).for_each(|(rank, (&left, &right))| *rank = byte_pairs.rank(left, right));
        scan
    }

    /// Where the lowest rank is, the leftmost of equals.
    fn lowest(&self) -> Option<(usize, u32)> {
        let ranks = self.ranks.get(..self.count)?;
        let lowest = ranks.iter().copied().min().filter(|&rank| rank != NO_RANK)?;
        Some((ranks.iter().position(|&rank| rank == lowest)?, lowest))
    }

    /// Put `merged` in the place of the tokens at `at` and after it.
    fn merge_at(&mut self, merges: &Merges<'_>, at: usize, id: TokenId) {
        let count = self.count;
        self.tokens.copy_within((at + 2).min(count)..count, (at + 1).min(count));
        self.ranks.copy_within((at + 2).min(count)..count, (at + 1).min(count));
        self.count = count - 1;
        if let Some(token) = self.tokens.get_mut(at) {
            *token = id;
        }
        let rank = |left: TokenId, right: TokenId| merges.find(left, right).map_or(NO_RANK, |merge| merge.rank.0);
        if let Some(place) = self.ranks.get_mut(at) {
            *place =
                self.tokens.get(at + 1..self.count).and_then(<[_]>::first).map_or(NO_RANK, |&right| rank(id, right));
        }
        let left = at.checked_sub(1);
        if let Some((&left, place)) = left.and_then(|left| self.tokens.get(left).zip(self.ranks.get_mut(left))) {
            *place = rank(left, id);
        }
    }

    fn holds(&self, ids: &[TokenId]) -> bool {
        self.tokens.get(..self.count) == Some(ids)
    }
}

/// A text of at most `SCANNED` bytes, merged.
fn scan(tables: MergeTables<'_>, text: &[u8]) -> Scan {
    let mut scan = Scan::new(tables.byte_pairs, text);
    while let Some((at, rank)) = scan.lowest() {
        // A rank comes from a merge, which has an id.
        let merged = TokenId::new(tables.merges.merged(rank).unwrap_or(0));
        scan.merge_at(&tables.merges, at, merged);
    }
    scan
}

fn by_scan(tables: MergeTables<'_>, text: &[u8], ids: &mut Vec<TokenId>) {
    let scan = scan(tables, text);
    ids.extend_from_slice(scan.tokens.get(..scan.count).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Artifact;

    /// As the definition says it, one merge after the other over the whole piece.
    fn naive(merges: Merges<'_>, of_byte: &[TokenId; 256], piece: &[u8]) -> Vec<TokenId> {
        let mut ids: Vec<TokenId> = piece.iter().map(|&byte| of_byte[usize::from(byte)]).collect();
        loop {
            let mut best: Option<(usize, Merge)> = None;
            for (at, pair) in ids.windows(2).enumerate() {
                if let Some(merge) = merges.find(pair[0], pair[1]) {
                    if best.is_none_or(|(_, lowest)| merge.rank < lowest.rank) {
                        best = Some((at, merge));
                    }
                }
            }
            let Some((at, merge)) = best else { return ids };
            ids.splice(at..at + 2, [merge.id]);
        }
    }

    #[test]
    fn every_way_does_what_the_definition_says() {
        const SEED: u64 = 41;
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
        let artifact = Artifact::from_bytes(data).expect("it opens");
        let of_byte = &artifact.vocabulary_index().of_byte;
        let byte_pairs = BytePairs::new(&artifact.merges(), of_byte);
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
            let (mut chosen, mut windowed, mut heaped) = (Vec::new(), Vec::new(), Vec::new());
            merger.merge(tables, &piece, &mut chosen);
            merger.by_windows(tables, &piece, &mut windowed);
            merger.by_heap(tables, &piece, &mut heaped);
            for found in [&chosen, &windowed, &heaped] {
                assert_eq!(found, &expected, "seed {SEED} round {round}: {piece:?}");
            }
        }
    }
}
