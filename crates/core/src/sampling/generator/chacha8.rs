//! `ChaCha` (Bernstein 2008) with 8 rounds, a 64-bit counter and a 64-bit nonce, as `rand_chacha` has it.

use alloc::vec::Vec;

use super::u64_at;

const CONSTANT: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
/// 2^64 blocks of 16 words.
const PERIOD: u128 = 1 << 68;

/// The generator.
#[derive(Clone)]
pub struct ChaCha8 {
    key: [u8; 32],
    stream: u64,
    /// In words.
    position: u128,
    /// The block that holds the next word, where `fresh`.
    block: [u32; 16],
    fresh: bool,
}

impl ChaCha8 {
    pub(super) const fn new(key: [u8; 32], stream: u64) -> Self {
        Self { key, stream, position: 0, block: [0; 16], fresh: false }
    }

    #[allow(clippy::cast_possible_truncation)] // the low four bits; a position is below 2^68
    pub(super) fn word(&mut self) -> u32 {
        let at = (self.position & 15) as usize;
        if !self.fresh || at == 0 {
            self.block = block(&self.start((self.position >> 4) as u64), 8);
            self.fresh = true;
        }
        self.position = (self.position + 1) % PERIOD;
        self.block.get(at).copied().unwrap_or_default()
    }

    /// The 16 words that a block is made from.
    #[allow(clippy::cast_possible_truncation)] // halves
    fn start(&self, counter: u64) -> [u32; 16] {
        let mut words = [0; 16];
        let key =
            self.key.chunks_exact(4).filter_map(|bytes| bytes.first_chunk().map(|word| u32::from_le_bytes(*word)));
        let rest = [counter as u32, (counter >> 32) as u32, self.stream as u32, (self.stream >> 32) as u32];
        words.iter_mut().zip(CONSTANT.into_iter().chain(key).chain(rest)).for_each(|(to, from)| *to = from);
        words
    }

    pub(super) const fn position(&self) -> u128 {
        self.position
    }

    pub(super) const fn advance(&mut self, count: u64) {
        self.position = (self.position + count as u128) % PERIOD;
        self.fresh = false;
    }

    pub(super) fn content(&self) -> Vec<u8> {
        let mut content = Vec::from(self.key);
        content.extend(self.stream.to_le_bytes());
        content
    }

    /// `None` where the position is too large.
    pub(super) fn of(position: u128, content: &[u8]) -> Option<Self> {
        let mut made = Self::new(*content.first_chunk()?, u64_at(content, 32)?);
        made.position = position;
        (position < PERIOD).then_some(made)
    }
}

/// One block from its 16 words.
fn block(start: &[u32; 16], rounds: usize) -> [u32; 16] {
    let mut words = *start;
    for _ in 0..rounds / 2 {
        let [a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3] = &mut words;
        quarter(a0, b0, c0, d0);
        quarter(a1, b1, c1, d1);
        quarter(a2, b2, c2, d2);
        quarter(a3, b3, c3, d3);
        quarter(a0, b1, c2, d3);
        quarter(a1, b2, c3, d0);
        quarter(a2, b3, c0, d1);
        quarter(a3, b0, c1, d2);
    }
    words.iter_mut().zip(start).for_each(|(word, first)| *word = word.wrapping_add(*first));
    words
}

#[allow(clippy::many_single_char_names)] // as the cipher's pages name them
const fn quarter(a: &mut u32, b: &mut u32, c: &mut u32, d: &mut u32) {
    *a = a.wrapping_add(*b);
    *d = (*d ^ *a).rotate_left(16);
    *c = c.wrapping_add(*d);
    *b = (*b ^ *c).rotate_left(12);
    *a = a.wrapping_add(*b);
    *d = (*d ^ *a).rotate_left(8);
    *c = c.wrapping_add(*d);
    *b = (*b ^ *c).rotate_left(7);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8439, 2.3.2: the block function with 20 rounds.
    #[test]
    fn the_block_function_is_that_of_the_rfc() {
        let mut start = [0; 16];
        start[..4].copy_from_slice(&CONSTANT);
        for (at, word) in start[4..12].iter_mut().enumerate() {
            let first = u8::try_from(4 * at).expect("32 bytes");
            *word = u32::from_le_bytes([first, first + 1, first + 2, first + 3]);
        }
        start[12..].copy_from_slice(&[1, 0x0900_0000, 0x4a00_0000, 0]);
        let words = block(&start, 20);
        assert_eq!(words[..4], [0xe4e7_f110, 0x1559_3bd1, 0x1fdd_0f50, 0xc471_20a3]);
        assert_eq!(words[15], 0x4e3c_50a2);
    }
}
