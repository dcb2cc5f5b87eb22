//! Merges that no training would make, in any order of ranks: the ids of the engine, which has several ways to them, are those of the
//! definition.
//!
//! Input: settings (normalisation and facts), number of merges (of which the lowest 6 bits count), three bytes for each merge (left,
//! right, place among the ranks), text.

use std::collections::BTreeMap;

use slm2_core::Profile;

use super::{chunked, encode};
use crate::definition::Definition;
use crate::input::Input;
use crate::sealing::Draft;
use crate::worlds::{NO_LIMIT, World, checkout_file};

const SPECIAL: u32 = 0x10;
const MERGES: u32 = 0x30;
const VOCABULARY: u32 = 0x40;
const NORMALIZATION: u32 = 0x50;
const FACTS: u32 = 0x60;
const TEMPLATE: u32 = 0x80;
/// What texts and tokens are made of.
const ALPHABET: [&[u8]; 8] = [b"a", b"b", b"c", b"d", b" ", "\u{E9}".as_bytes(), "\u{8A9E}".as_bytes(), b"\xCC"];
const LONGEST_TOKEN: usize = 80;
const LONGEST_TEXT: usize = 700;
const SLOTS: u32 = 1 << 12;

/// The target.
///
/// # Panics
/// Where something does not hold.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let settings = input.byte();
    let count = usize::from(input.byte() & 0x3F);
    let Some(world) = made(input.bytes(3 * count), settings) else { return };
    // To open an artifact costs more than a text: from the same bytes come some texts.
    for step in [0, 61, 122, 183] {
        let text = text(&world, input.0, step);
        encode::holds(&world, &text, Profile::Contract, NO_LIMIT);
        if step == 0 {
            encode::holds(&world, &text, Profile::Publisher, NO_LIMIT);
            chunked::holds(&world, &text, &[70, 1, 150], Profile::Contract, NO_LIMIT);
        }
    }
}

/// Tokens one after the other: letters at random would seldom make a long one.
fn text(world: &World, bytes: &[u8], step: u8) -> Vec<u8> {
    let tokens = &world.definition.tokens;
    let token = |byte: &u8| tokens[chosen(byte.wrapping_add(step), tokens.len()) as usize].as_slice();
    let mut text: Vec<u8> = bytes.iter().flat_map(token).copied().collect();
    text.truncate(LONGEST_TEXT);
    text
}

/// Mostly the first, so that pieces are long and merges have much to do.
fn letter(byte: u8) -> &'static [u8] {
    let letters = match byte {
        0..0xC0 => 2,
        0xC0..0xF0 => 4,
        _ => ALPHABET.len(),
    };
    ALPHABET[usize::from(byte) % letters]
}

/// An artifact with these merges; `None` where no place was found for them.
fn made(records: &[u8], settings: u8) -> Option<World> {
    let (tokens, pairs) = tokens_and_merges(records);
    let mut draft = Draft::of(&checkout_file("tests/data/small-v1.slm2"));
    draft.header[24..28].copy_from_slice(&number(tokens.len()).to_le_bytes());
    // The marks of the template are special tokens, of which there are none here.
    draft.sections.retain(|section| section.kind != TEMPLATE && (section.kind != NORMALIZATION || settings & 1 == 0));
    for section in &mut draft.sections {
        match section.kind {
            SPECIAL => section.content = vec![0; 4],
            MERGES => section.content = merges_section(&pairs)?,
            VOCABULARY => section.content = vocabulary_section(&tokens),
            FACTS => section.content = vec![0; 2 * tokens.len().div_ceil(8)],
            _ => {}
        }
    }
    let definition = Definition::of(&draft.assembled());
    let states = |id: u32, token: &[u8]| match settings >> 1 & 3 {
        0 => false,
        // A reader does not prove them: with false ones every engine does the same.
        1 => token.len() % 3 != 2,
        _ => definition.merge(token) == [id],
    };
    for section in draft.sections.iter_mut().filter(|section| section.kind == FACTS) {
        for (id, _) in (0..).zip(&tokens).filter(|(id, token)| states(*id, token)) {
            section.content[id as usize / 8] |= 1 << (id % 8);
        }
    }
    let world = World::of(&draft.seal());
    assert!(world.is_some(), "an artifact that is as it should be is refused");
    world
}

/// Tokens in the order of their ids; left, right and merged id in the order of the ranks.
fn tokens_and_merges(records: &[u8]) -> (Vec<Vec<u8>>, Vec<[u32; 3]>) {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut ids: BTreeMap<Vec<u8>, u32> = (0..).zip(&tokens).map(|(id, token)| (token.clone(), id)).collect();
    let mut merges: BTreeMap<[u32; 2], (u8, u32)> = BTreeMap::new();
    for record in records.chunks_exact(3) {
        let pair = [record[0], record[1]].map(|byte| chosen(byte, tokens.len()));
        let bytes = pair.map(|id| tokens[id as usize].as_slice()).concat();
        if bytes.len() <= LONGEST_TOKEN && !merges.contains_key(&pair) {
            let next = number(tokens.len());
            let id = *ids.entry(bytes.clone()).or_insert(next);
            if id == next {
                tokens.push(bytes);
            }
            merges.insert(pair, (record[2], id));
        }
    }
    let mut ranked: Vec<_> =
        merges.into_iter().map(|([left, right], (place, id))| (place, [left, right, id])).collect();
    ranked.sort_unstable();
    (tokens, ranked.into_iter().map(|(_, merge)| merge).collect())
}

/// A byte of the alphabet, or a token that an earlier merge made.
fn chosen(byte: u8, tokens: usize) -> u32 {
    let merged = tokens - 256;
    if byte < 0x70 || merged == 0 {
        let letter = letter(byte.wrapping_mul(0x25));
        return letter[usize::from(byte >> 4) % letter.len()].into();
    }
    number(256 + usize::from(byte) % merged)
}

/// Section 0x30 with one row; `None` where no seed gives each merge a slot of its own.
fn merges_section(merges: &[[u32; 3]]) -> Option<Vec<u8>> {
    let (seed, slots) = (0..200).find_map(|seed| Some((seed, placed(merges, seed)?)))?;
    let first = merges.first().map_or(0, |merge| merge[2]);
    let consecutive = (first..).zip(merges).all(|(id, merge)| id == merge[2]);
    let first_id = if consecutive { first } else { u32::MAX };
    let mut section: Vec<u8> = [number(merges.len()), SLOTS, 0, seed, first_id, 0].map(u32::to_le_bytes).concat();
    section.extend(slots.iter().flat_map(|slot| slot.to_le_bytes()));
    let table = if consecutive { &[] } else { merges };
    section.extend(table.iter().flat_map(|[_, _, id]| id.to_le_bytes()));
    Some(section)
}

/// The slots, by the arithmetic of contract/artifact.md.
fn placed(merges: &[[u32; 3]], seed: u32) -> Option<Vec<u64>> {
    let mut slots = vec![0; SLOTS as usize];
    for (rank, &[left, right, _]) in (0_u64..).zip(merges) {
        let (left, right) = (u64::from(left), u64::from(right));
        let x = ((left << 21) + right + (u64::from(seed) << 42)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let x = (x ^ x >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let column = ((x & 0xFFFF_FFFF) * u64::from(SLOTS)) >> 32;
        let slot = slots.get_mut(usize::try_from(column).ok()?).filter(|slot| **slot == 0)?;
        *slot = 1 << 63 | rank << 42 | right << 21 | left;
    }
    Some(slots)
}

fn vocabulary_section(tokens: &[Vec<u8>]) -> Vec<u8> {
    let mut section = [tokens.len(), tokens.concat().len(), 0].map(|size| number(size).to_le_bytes()).concat();
    let mut end = 0;
    for token in tokens {
        end += token.len();
        section.extend(number(end).to_le_bytes());
    }
    section.extend(tokens.concat());
    section
}

fn number(size: usize) -> u32 {
    u32::try_from(size).expect("a small artifact")
}
