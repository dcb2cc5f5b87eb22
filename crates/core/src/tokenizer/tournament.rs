//! Merging a long text: its tokens lie in place, and a tree over blocks of ranks leads to the lowest.
//!
//! It takes 9 bytes for each byte of the text: a number and a rank for each, and a tree over blocks of 16. A token's id stands at its
//! first byte, and at its last, where that is another, the place of the first; so its neighbours are found from either end.

use alloc::vec::Vec;

use super::merge::MergeTables;
use crate::artifact::NO_RANK;
use crate::ids::TokenId;

/// Ranks of a leaf of the tree.
const BLOCK: usize = 16;
/// Marks a number as the place where the token that ends here begins.
const BACK: u32 = 1 << 31;

/// The memory of merging a long text, kept from one to the next.
#[derive(Default)]
pub(super) struct Tournament {
    numbers: Vec<u32>,
    /// At the first byte of each token: the rank of its merge with the next.
    ranks: Vec<u32>,
    /// The lowest rank below each node: 1 is the root, the children of `n` are `2n` and `2n + 1`.
    tree: Vec<u32>,
}

impl Tournament {
    /// Merge a text of at most 2^31 bytes; `token` gets each id with the place where it ends, from the left.
    pub(super) fn merge(&mut self, tables: &MergeTables<'_>, text: &[u8], mut token: impl FnMut(TokenId, usize)) {
        self.of_bytes(tables, text);
        while let Some((at, rank)) = self.lowest() {
            self.merge_at(tables, at, rank);
        }
        let mut at = 0;
        while at < text.len() {
            let id = self.id(at);
            at = self.end(tables, at);
            token(id, at);
        }
    }

    /// For how long a text there is memory.
    pub(super) fn capacity(&self) -> usize {
        self.numbers.capacity()
    }

    fn of_bytes(&mut self, tables: &MergeTables<'_>, text: &[u8]) {
        self.numbers.clear();
        // Exactly: the memory that a byte takes is promised.
        self.numbers.reserve_exact(text.len());
        self.numbers.extend(text.iter().map(|&byte| tables.byte_pairs.id(byte).get()));
        let places = text.len().next_multiple_of(BLOCK);
        self.ranks.clear();
        self.ranks.reserve_exact(places);
        self.ranks.resize(places, NO_RANK);
        let neighbours = text.iter().zip(text.iter().skip(1));
        self.ranks.iter_mut().zip(neighbours).for_each(|(rank, (&left, &right))| {
            *rank = tables.byte_pairs.rank(left, right);
        });
        let leaves = self.ranks.len().div_ceil(BLOCK).next_power_of_two();
        self.tree.clear();
        self.tree.reserve_exact(2 * leaves);
        self.tree.resize(2 * leaves, NO_RANK);
        let blocks = self.ranks.chunks(BLOCK).map(lowest_of);
        self.tree.iter_mut().skip(leaves).zip(blocks).for_each(|(leaf, lowest)| *leaf = lowest);
        for node in (1..leaves).rev() {
            self.set_node(node);
        }
    }

    /// Where the lowest rank is, the leftmost of equals, and the rank.
    fn lowest(&self) -> Option<(usize, u32)> {
        let rank = self.node(1);
        if rank == NO_RANK {
            return None;
        }
        let leaves = self.tree.len() / 2;
        let mut node = 1;
        while node < leaves {
            node = 2 * node + usize::from(self.node(2 * node) != rank);
        }
        let start = (node - leaves) * BLOCK;
        let within = self.ranks.get(start..)?.iter().position(|&other| other == rank)?;
        Some((start + within, rank))
    }

    /// Merge the token at `at` with the next.
    fn merge_at(&mut self, tables: &MergeTables<'_>, at: usize, rank: u32) {
        // A rank comes from a merge, which has an id.
        let id = TokenId::new(tables.merges.merged(rank).unwrap_or(0));
        let next = self.end(tables, at);
        let end = self.end(tables, next);
        self.set_number(at, id.get());
        // At most 2^31 bytes, and two tokens are two bytes or more.
        self.set_number(end - 1, BACK | u32::try_from(at).unwrap_or(0));
        let right = if end < self.numbers.len() { tables.merges.rank(id, self.id(end)) } else { NO_RANK };
        self.set_rank(next, NO_RANK);
        self.set_rank(at, right);
        if let Some(before) = self.before(at) {
            self.set_rank(before, tables.merges.rank(self.id(before), id));
        }
    }

    fn id(&self, at: usize) -> TokenId {
        TokenId::new(self.numbers.get(at).copied().unwrap_or(0))
    }

    /// Where the token that begins at `at` ends.
    fn end(&self, tables: &MergeTables<'_>, at: usize) -> usize {
        at + tables.vocabulary.token(self.id(at)).len().max(1)
    }

    /// Where the token before the one at `at` begins.
    fn before(&self, at: usize) -> Option<usize> {
        let last = at.checked_sub(1)?;
        let number = self.numbers.get(last).copied()?;
        Some(if number & BACK == 0 { last } else { (number & !BACK) as usize })
    }

    fn set_number(&mut self, at: usize, number: u32) {
        if let Some(place) = self.numbers.get_mut(at) {
            *place = number;
        }
    }

    /// Set a rank, and the nodes above it as far as they change.
    fn set_rank(&mut self, at: usize, rank: u32) {
        if let Some(place) = self.ranks.get_mut(at) {
            *place = rank;
        }
        let start = at / BLOCK * BLOCK;
        let lowest = self.ranks.get(start..start + BLOCK).map_or(NO_RANK, lowest_of);
        let mut node = self.tree.len() / 2 + at / BLOCK;
        match self.tree.get_mut(node) {
            Some(leaf) if *leaf != lowest => *leaf = lowest,
            _ => return,
        }
        while node > 1 {
            node /= 2;
            if !self.set_node(node) {
                return;
            }
        }
    }

    fn node(&self, node: usize) -> u32 {
        self.tree.get(node).copied().unwrap_or(NO_RANK)
    }

    /// Set an inner node to the lower of its children; whether it changed.
    fn set_node(&mut self, node: usize) -> bool {
        let lowest = self.node(2 * node).min(self.node(2 * node + 1));
        match self.tree.get_mut(node) {
            Some(place) if *place != lowest => *place = lowest,
            _ => return false,
        }
        true
    }
}

fn lowest_of(ranks: &[u32]) -> u32 {
    ranks.iter().copied().fold(NO_RANK, u32::min)
}
