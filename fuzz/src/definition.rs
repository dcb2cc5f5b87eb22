//! What encoding means, restated: contract/artifact.md read and contract/tokenizer.md done in the plainest way.

use std::collections::BTreeMap;

use crate::normalization::{Normalized, Tables};

const SPECIAL: u32 = 0x10;
const PRETOKENIZER: u32 = 0x20;
const MERGES: u32 = 0x30;
const VOCABULARY: u32 = 0x40;
const NORMALIZATION: u32 = 0x50;
const FACTS: u32 = 0x60;

const START: usize = 1;
const DEAD: usize = 0;
/// In the section of merges: ids do not rise with ranks, a table has them.
const TABLE: u32 = u32::MAX;

/// A piece or a stretch that begins at this byte of the normalised text is longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong(pub usize);

/// An artifact, read.
pub struct Definition {
    /// Bytes of each plain token.
    pub tokens: Vec<Vec<u8>>,
    ids: BTreeMap<Vec<u8>, u32>,
    /// Entries that the file states their own bytes merge to.
    merged: Vec<bool>,
    /// Left and right id to rank and merged id.
    merges: BTreeMap<(u32, u32), (u32, u32)>,
    /// Id and text.
    pub special: Vec<(u32, Vec<u8>)>,
    dfa: Dfa,
    normalization: Option<Tables>,
}

struct Dfa {
    class_of_byte: Vec<u8>,
    accept: Vec<u8>,
    next: Vec<u16>,
    /// Byte classes, and the end of input.
    width: usize,
}

/// The sections of an artifact, by kind.
#[must_use]
pub fn sections(data: &[u8]) -> BTreeMap<u32, &[u8]> {
    let count = u32_at(data, 28) as usize;
    let entry = |index: usize| {
        let (kind, start, length) = (64 + 24 * index, u64_at(data, 72 + 24 * index), u64_at(data, 80 + 24 * index));
        (u32_at(data, kind), &data[start..start + length])
    };
    (0..count).map(entry).collect()
}

impl Definition {
    /// Read an artifact that was accepted.
    #[must_use]
    pub fn of(data: &[u8]) -> Self {
        let sections = sections(data);
        let tokens = tokens(sections[&VOCABULARY]);
        let facts = sections.get(&FACTS).copied().unwrap_or_default();
        Self {
            ids: (0..).zip(&tokens).map(|(id, token)| (token.clone(), id)).collect(),
            merged: (0..tokens.len())
                .map(|id| facts.get(id / 8).is_some_and(|bits| bits >> (id % 8) & 1 == 1))
                .collect(),
            merges: merges(sections[&MERGES]),
            special: special(sections[&SPECIAL]),
            dfa: Dfa::of(sections[&PRETOKENIZER]),
            normalization: sections.get(&NORMALIZATION).map(|section| Tables::of(section)),
            tokens,
        }
    }

    /// The text after normalisation, where a profile has it; the text as it is where it has none (T-3).
    fn normalized(&self, text: &[u8], normalizes: bool, limit: usize) -> Result<Vec<Normalized>, TooLong> {
        let Some(tables) = self.normalization.as_ref().filter(|_| normalizes) else {
            return Ok(vec![Normalized { bytes: text.to_vec(), start: 0, end: text.len(), unchanged: true }]);
        };
        let Some(stretch) = tables.too_long_stretch(text, limit) else { return Ok(tables.normalize(text)) };
        // The first in the text is what is refused.
        let before = joined(&tables.normalize(&text[..stretch]));
        let mut start = 0;
        while let Some(end) = self.dfa.decided(&before[start..], limit).map_err(|TooLong(_)| TooLong(start))? {
            start += end;
        }
        Err(TooLong(before.len()))
    }

    /// Ids (T-3 to T-6), or the refusal of T-13.
    pub fn encode(&self, text: &[u8], normalizes: bool, limit: usize) -> Result<Vec<u32>, TooLong> {
        self.encode_normalized(&joined(&self.normalized(text, normalizes, limit)?), limit)
    }

    fn encode_normalized(&self, text: &[u8], limit: usize) -> Result<Vec<u32>, TooLong> {
        let (mut ids, mut start) = (Vec::new(), 0);
        while start < text.len() {
            let length = self.dfa.piece(&text[start..], limit).map_err(|TooLong(_)| TooLong(start))?;
            ids.extend(self.encode_piece(&text[start..start + length]));
            start += length;
        }
        Ok(ids)
    }

    fn encode_piece(&self, piece: &[u8]) -> Vec<u32> {
        match self.ids.get(piece) {
            Some(&id) if self.merged[id as usize] => vec![id],
            _ => self.merge(piece),
        }
    }

    /// The neighbours of lowest rank merge, the leftmost of equals first, until none can (T-5).
    #[must_use]
    pub fn merge(&self, piece: &[u8]) -> Vec<u32> {
        let mut ids: Vec<u32> = piece.iter().map(|&byte| self.ids[&[byte][..]]).collect();
        let found = |ids: &[u32], at: usize| self.merges.get(&(ids[at], ids[at + 1])).copied().unwrap_or((u32::MAX, 0));
        let mut ranks: Vec<(u32, u32)> = (1..ids.len()).map(|at| found(&ids, at - 1)).collect();
        while let Some((at, &(rank, merged))) = ranks.iter().enumerate().min_by_key(|(at, found)| (found.0, *at)) {
            if rank == u32::MAX {
                break;
            }
            ids[at] = merged;
            ids.remove(at + 1);
            ranks.remove(at);
            for changed in [at.wrapping_sub(1), at] {
                if changed < ranks.len() {
                    ranks[changed] = found(&ids, changed);
                }
            }
        }
        ids
    }

    /// Id and source range of each token, in bytes of the caller's text (T-9).
    pub fn spans(&self, text: &[u8], normalizes: bool, limit: usize) -> Result<Vec<(u32, usize, usize)>, TooLong> {
        let scalars = self.normalized(text, normalizes, limit)?;
        let ranges: Vec<(usize, usize)> = scalars.iter().flat_map(Normalized::range_of_each_byte).collect();
        let (mut spans, mut at) = (Vec::new(), 0);
        for id in self.encode_normalized(&joined(&scalars), limit)? {
            let touched = &ranges[at..at + self.tokens[id as usize].len()];
            at += touched.len();
            let start = touched.iter().map(|range| range.0).min().expect("a token has bytes");
            let end = touched.iter().map(|range| range.1).max().expect("a token has bytes");
            spans.push((id, start, end));
        }
        Ok(spans)
    }

    /// Start, end and id of the texts of special tokens: from the left, the longest at each place, not overlapping (T-7).
    #[must_use]
    pub fn find_special(&self, text: &[u8]) -> Vec<(usize, usize, u32)> {
        let (mut found, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let here = self.special.iter().filter(|(_, token)| text[at..].starts_with(token));
            if let Some((id, token)) = here.max_by_key(|(_, token)| token.len()) {
                found.push((at, at + token.len(), *id));
                at += token.len();
            } else {
                at += 1;
            }
        }
        found
    }

    /// Bytes of the plain token of a number, or its special text.
    #[must_use]
    pub fn meaning(&self, id: u32) -> Option<Meaning<'_>> {
        let plain = self.tokens.get(id as usize).map(|token| Meaning::Plain(token));
        plain.or_else(|| {
            let token = self.special.iter().find(|token| token.0 == id)?;
            Some(Meaning::Structural(&token.1))
        })
    }
}

/// What an id stands for.
#[derive(Clone, Copy, Debug)]
pub enum Meaning<'d> {
    /// Bytes.
    Plain(&'d [u8]),
    /// The text of a special token.
    Structural(&'d [u8]),
}

impl Dfa {
    fn of(section: &[u8]) -> Self {
        let (states, width) = (u32_at(section, 0) as usize, u32_at(section, 4) as usize + 1);
        let table = &section[(264 + states).next_multiple_of(2)..];
        Self {
            class_of_byte: section[8..264].to_vec(),
            accept: section[264..264 + states].to_vec(),
            next: table.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect(),
            width,
        }
    }

    /// The length of the first piece of a text that ends there.
    fn piece(&self, text: &[u8], limit: usize) -> Result<usize, TooLong> {
        let (decided, end, state) = self.run(text, limit)?;
        if decided {
            return Ok(end);
        }
        let last = usize::from(self.next[state * self.width + self.width - 1]);
        Ok(match self.accept[last] {
            0 => end,
            accept => text.len() + 1 - usize::from(accept),
        })
    }

    /// The length of the first piece, where it is the same whatever comes after the text.
    fn decided(&self, text: &[u8], limit: usize) -> Result<Option<usize>, TooLong> {
        let (decided, end, _) = self.run(text, limit)?;
        Ok(Some(end).filter(|_| decided))
    }

    /// Whether the dead state was reached, the end that was remembered, and the last state.
    fn run(&self, text: &[u8], limit: usize) -> Result<(bool, usize, usize), TooLong> {
        let (mut state, mut end) = (START, 0);
        for (at, &byte) in text.iter().enumerate() {
            let class = usize::from(self.class_of_byte[usize::from(byte)]);
            state = usize::from(self.next[state * self.width + class]);
            if state == DEAD {
                return Ok((true, end, state));
            }
            if at == limit {
                return Err(TooLong(0));
            }
            if self.accept[state] > 0 {
                end = at + 2 - usize::from(self.accept[state]);
            }
        }
        Ok((false, end, state))
    }
}

fn joined(scalars: &[Normalized]) -> Vec<u8> {
    scalars.iter().flat_map(|scalar| scalar.bytes.iter().copied()).collect()
}

fn tokens(section: &[u8]) -> Vec<Vec<u8>> {
    let count = u32_at(section, 0) as usize;
    let bytes = &section[8 + 4 * (count + 1)..];
    let offset = |id: usize| u32_at(section, 8 + 4 * id) as usize;
    (0..count).map(|id| bytes[offset(id)..offset(id + 1)].to_vec()).collect()
}

fn merges(section: &[u8]) -> BTreeMap<(u32, u32), (u32, u32)> {
    let [slot_count, row_bits] = [4, 8].map(|at| u32_at(section, at) as usize);
    let first_id = u32_at(section, 16);
    let slots_at = (20 + (4_usize << row_bits)).next_multiple_of(8);
    let ids_at = slots_at + 8 * slot_count;
    let merged = |rank: u32| match first_id {
        TABLE => u32_at(section, ids_at + 4 * rank as usize),
        first => first + rank,
    };
    let slots = (0..slot_count).map(|slot| u64_at(section, slots_at + 8 * slot) as u64).filter(|&slot| slot != 0);
    let part = |slot: u64, shift: u32| u32::try_from(slot >> shift & ((1 << 21) - 1)).expect("21 bits");
    slots.map(|slot| ((part(slot, 0), part(slot, 21)), (part(slot, 42), merged(part(slot, 42))))).collect()
}

fn special(section: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut at = 4;
    let token = |_| {
        let length = u32_at(section, at) as usize;
        let text = section[at + 4..at + 4 + length].to_vec();
        at += 8 + length;
        (u32_at(section, at - 4), text)
    };
    (0..u32_at(section, 0)).map(token).collect()
}

/// The u32 at byte `at`.
#[must_use]
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The u64 at byte `at`.
fn u64_at(bytes: &[u8], at: usize) -> usize {
    usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))).expect("64 bits")
}
