//! Byte-pair encoding of one piece: start from its single bytes, merge the neighbours of lowest rank, the leftmost of equals
//! first, until none can (decisions D3).
//!
//! Two ways with one result: a scan for short pieces, which are nearly all; a heap for long ones, where the scan would be
//! quadratic. A test compares them.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::artifact::{Merge, Merges};
use crate::ids::{Rank, TokenId};

/// The longest piece that is scanned, in bytes.
const SCANNED: usize = 64;

/// Merges pieces; keeps its memory from one to the next.
pub(crate) struct Merger<'a> {
    merges: Merges<'a>,
    of_byte: &'a [TokenId; 256],
    parts: Vec<Part>,
    links: Vec<Link>,
    candidates: BinaryHeap<Reverse<(Rank, usize)>>,
}

/// A token of the piece so far, and its merge with the one to its right.
#[derive(Clone, Copy)]
struct Part {
    id: TokenId,
    merge: Option<Merge>,
}

/// A part as a member of a linked list over the bytes of the piece; it stands at its first byte.
#[derive(Clone, Copy)]
struct Link {
    part: Part,
    previous: Option<usize>,
    next: Option<usize>,
    /// Whether it was merged into another.
    gone: bool,
}

impl<'a> Merger<'a> {
    pub(crate) fn new(merges: Merges<'a>, of_byte: &'a [TokenId; 256]) -> Self {
        Self { merges, of_byte, parts: Vec::new(), links: Vec::new(), candidates: BinaryHeap::new() }
    }

    /// Append the ids of `piece`.
    pub(crate) fn merge(&mut self, piece: &[u8], ids: &mut Vec<TokenId>) {
        if piece.len() <= SCANNED {
            self.merge_by_scan(piece, ids);
        } else {
            self.merge_by_heap(piece, ids);
        }
    }

    fn merge_by_scan(&mut self, piece: &[u8], ids: &mut Vec<TokenId>) {
        let Self { merges, of_byte, parts, .. } = self;
        parts.clear();
        parts.extend(singles(*merges, of_byte, piece));
        while let Some((at, merge)) = lowest(parts) {
            // A part with a merge has one to its right.
            parts.remove(at + 1);
            let right = parts.get(at + 1).and_then(|right| merges.find(merge.id, right.id));
            if let Some(merged) = parts.get_mut(at) {
                *merged = Part { id: merge.id, merge: right };
            }
            if let Some(left) = at.checked_sub(1).and_then(|left| parts.get_mut(left)) {
                left.merge = merges.find(left.id, merge.id);
            }
        }
        ids.extend(parts.iter().map(|part| part.id));
    }

    fn merge_by_heap(&mut self, piece: &[u8], ids: &mut Vec<TokenId>) {
        self.links.clear();
        self.candidates.clear();
        let length = piece.len();
        for (at, part) in singles(self.merges, self.of_byte, piece).enumerate() {
            let next = Some(at + 1).filter(|&next| next < length);
            self.links.push(Link { part, previous: at.checked_sub(1), next, gone: false });
            self.candidates.extend(part.merge.map(|merge| Reverse((merge.rank, at))));
        }
        while let Some(Reverse((rank, at))) = self.candidates.pop() {
            self.merge_at(at, rank);
        }
        ids.extend(self.links.iter().filter(|link| !link.gone).map(|link| link.part.id));
    }

    /// The merge of `rank` at `at`, unless one of the two was merged with another since it became a candidate. A rank
    /// belongs to one pair of ids, so that rank and place say whether it still stands.
    fn merge_at(&mut self, at: usize, rank: Rank) -> Option<()> {
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
        self.look_at(at);
        self.look_at(link.previous?)
    }

    /// Look up the merge of the part at `at` with the one to its right, and make it a candidate.
    fn look_at(&mut self, at: usize) -> Option<()> {
        let link = *self.links.get(at)?;
        let right = self.links.get(link.next?)?.part.id;
        let merge = self.merges.find(link.part.id, right);
        self.links.get_mut(at)?.part.merge = merge;
        self.candidates.push(Reverse((merge?.rank, at)));
        Some(())
    }
}

/// The single bytes of a piece.
fn singles<'p>(merges: Merges<'p>, of_byte: &'p [TokenId; 256], piece: &'p [u8]) -> impl Iterator<Item = Part> + 'p {
    let id = |byte: u8| of_byte.get(usize::from(byte)).copied().unwrap_or_default();
    let rights = piece.iter().skip(1).map(Some).chain([None]);
    piece.iter().zip(rights).map(move |(&byte, right)| {
        let merge = right.and_then(|&right| merges.find(id(byte), id(right)));
        Part { id: id(byte), merge }
    })
}

/// Where the merge of lowest rank is, the leftmost of equals.
fn lowest(parts: &[Part]) -> Option<(usize, Merge)> {
    let possible = parts.iter().enumerate().filter_map(|(at, part)| part.merge.map(|merge| (at, merge)));
    possible.min_by_key(|(_, merge)| merge.rank)
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
    fn scan_and_heap_do_what_the_definition_says() {
        const SEED: u64 = 41;
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
        let artifact = Artifact::from_bytes(data).expect("it opens");
        let of_byte = &artifact.vocabulary_index().of_byte;
        let mut merger = Merger::new(artifact.merges(), of_byte);
        let mut state = SEED;
        let mut random = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).expect("31 bits") % limit
        };
        let alphabets = ["a", "ab", "0 \n", "etaoinshrdlu", "  \t\t    ", "kungfuчт漢字é"];
        for round in 0..600 {
            let alphabet = alphabets[round % alphabets.len()].as_bytes();
            let length = random(150);
            let piece: Vec<u8> = (0..length).map(|_| alphabet[random(alphabet.len())]).collect();
            let expected = naive(artifact.merges(), of_byte, &piece);
            let (mut scanned, mut heaped) = (Vec::new(), Vec::new());
            merger.merge_by_scan(&piece, &mut scanned);
            merger.merge_by_heap(&piece, &mut heaped);
            assert_eq!((&scanned, &heaped), (&expected, &expected), "seed {SEED} round {round}: {piece:?}");
        }
    }
}
