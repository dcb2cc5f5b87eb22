//! Merging a short text: its tokens lie in place, and the lowest rank is found by looking at all of them.
//!
//! A text of at most 64 bytes fits into the bits of one word, so that the neighbours of a token are one instruction away, and rank
//! and place share one number, so that the least of them is the lowest rank and, of equals, the leftmost.

use super::merge::MergeTables;
use crate::ids::TokenId;

/// The longest text that is scanned, in bytes; most are far shorter, and have a smaller scan.
pub(super) const SCANNED: usize = 64;
/// Bits of an order for the place.
const PLACE_BITS: u32 = 6;
/// An order as great as this is none: the two do not merge. A rank has 21 bits, and of `NO_RANK` 25 are left.
const NO_ORDER: i32 = i32::MAX & !((1 << PLACE_BITS) - 1);
/// Orders are compared this many at a time.
const LANES: usize = 8;

/// Merge a text of at most `SCANNED` bytes; `token` gets each id with the place where it ends, from the left.
#[inline]
pub(super) fn scan(tables: &MergeTables<'_>, text: &[u8], token: impl FnMut(TokenId, usize)) {
    match text.len() {
        0..=8 => Scan::<8>::new(tables, text).tokens(token),
        9..=16 => Scan::<16>::new(tables, text).tokens(token),
        17..=32 => Scan::<32>::new(tables, text).tokens(token),
        _ => Scan::<SCANNED>::new(tables, text).tokens(token),
    }
}

/// Tokens of a text of at most `N` bytes, each at its first byte.
pub(super) struct Scan<const N: usize> {
    tokens: [TokenId; N],
    /// Of each token and the one after it: the rank of their merge, and the place below it.
    orders: [i32; N],
    /// A bit for each token.
    alive: u64,
    length: usize,
}

impl<const N: usize> Default for Scan<N> {
    fn default() -> Self {
        Self { tokens: [TokenId::default(); N], orders: [NO_ORDER; N], alive: 0, length: 0 }
    }
}

impl<const N: usize> Scan<N> {
    /// The bits of a place. No place has others; with them masked out the compiler knows it too.
    const PLACES: usize = N.next_power_of_two() - 1;

    fn new(tables: &MergeTables<'_>, text: &[u8]) -> Self {
        let mut scan = Self::of_bytes(tables, text);
        while scan.step(tables) {}
        scan
    }

    /// The next merge; whether there was one.
    #[inline]
    pub(super) fn step(&mut self, tables: &MergeTables<'_>) -> bool {
        let Some((at, rank)) = self.lowest() else { return false };
        // A rank comes from a merge, which has an id.
        let merged = TokenId::new(tables.merges.merged(rank).unwrap_or(0));
        self.merge_at(tables, at, merged);
        true
    }

    /// Each id with the place where it ends, from the left.
    pub(super) fn tokens(&self, mut token: impl FnMut(TokenId, usize)) {
        let mut rest = self.alive;
        while let Some(at) = lowest_bit(rest) {
            rest &= rest - 1;
            token(self.token(at), lowest_bit(rest).unwrap_or(self.length));
        }
    }

    /// A text without its tokens.
    pub(super) fn of_length(length: usize) -> Self {
        Self { length, ..Self::default() }
    }

    /// Add a token, which begins at a place after that of the one `before` it.
    #[inline]
    pub(super) fn push(&mut self, tables: &MergeTables<'_>, before: Option<usize>, at: usize, id: TokenId) {
        self.set_token(at, id);
        self.alive |= 1 << at;
        if let Some(before) = before {
            self.set_order(before, order_of(tables.merges.rank(self.token(before), id), bits(before)));
        }
    }

    /// The single bytes.
    pub(super) fn of_bytes(tables: &MergeTables<'_>, text: &[u8]) -> Self {
        let length = text.len().min(N);
        let mut scan = Self {
            tokens: [TokenId::default(); N],
            orders: [NO_ORDER; N],
            alive: u64::MAX.checked_shr(64 - bits(length)).unwrap_or(0),
            length,
        };
        scan.tokens.iter_mut().zip(text).for_each(|(token, &byte)| *token = tables.byte_pairs.id(byte));
        let neighbours = text.iter().zip(text.iter().skip(1)).zip(0..);
        scan.orders.iter_mut().zip(neighbours).for_each(|(order, ((&left, &right), at))| {
            *order = order_of(tables.byte_pairs.rank(left, right), at);
        });
        scan
    }

    /// Where the lowest rank is, the leftmost of equals, and the rank.
    fn lowest(&self) -> Option<(usize, u32)> {
        let mut lowest = [NO_ORDER; LANES];
        for orders in self.orders.chunks_exact(LANES) {
            lowest.iter_mut().zip(orders).for_each(|(lowest, &order)| *lowest = (*lowest).min(order));
        }
        let order = lowest.into_iter().fold(NO_ORDER, i32::min);
        if order >= NO_ORDER {
            return None;
        }
        let place = order & ((1 << PLACE_BITS) - 1);
        Some((usize::try_from(place).unwrap_or(0), u32::try_from(order >> PLACE_BITS).unwrap_or(0)))
    }

    /// Put `id` in the place of the token at `at` and the one after it.
    fn merge_at(&mut self, tables: &MergeTables<'_>, at: usize, id: TokenId) {
        let Some(next) = self.after(at) else { return };
        self.alive &= !(1 << next);
        self.set_order(next, NO_ORDER);
        self.set_token(at, id);
        let order = |left, right, at| order_of(tables.merges.rank(left, right), bits(at));
        let right = self.after(at).map_or(NO_ORDER, |next| order(id, self.token(next), at));
        self.set_order(at, right);
        if let Some(before) = self.before(at) {
            self.set_order(before, order(self.token(before), id, before));
        }
    }

    fn after(&self, at: usize) -> Option<usize> {
        lowest_bit(self.alive & (u64::MAX << 1).checked_shl(bits(at)).unwrap_or(0))
    }

    fn before(&self, at: usize) -> Option<usize> {
        let left = self.alive & ((1 << at) - 1);
        left.checked_ilog2().map(|bit| bit as usize)
    }

    fn token(&self, at: usize) -> TokenId {
        self.tokens.get(at & Self::PLACES).copied().unwrap_or_default()
    }

    fn set_token(&mut self, at: usize, id: TokenId) {
        if let Some(place) = self.tokens.get_mut(at & Self::PLACES) {
            *place = id;
        }
    }

    fn set_order(&mut self, at: usize, order: i32) {
        if let Some(place) = self.orders.get_mut(at & Self::PLACES) {
            *place = order;
        }
    }
}

/// No branch, see [`Merges::rank`](crate::artifact::Merges::rank).
#[inline]
#[allow(clippy::cast_possible_wrap)] // 31 bits are left
const fn order_of(rank: u32, at: u32) -> i32 {
    ((rank << PLACE_BITS | at) & (u32::MAX >> 1)) as i32
}

fn lowest_bit(bits: u64) -> Option<usize> {
    (bits != 0).then_some(bits.trailing_zeros() as usize)
}

/// A place or length of at most 64.
#[allow(clippy::cast_possible_truncation)]
const fn bits(at: usize) -> u32 {
    at as u32
}
