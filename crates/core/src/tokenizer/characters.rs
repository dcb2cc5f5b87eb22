//! The ids of single characters beyond ASCII, so that text of them is merged from characters on and not from their bytes.
//!
//! Where no entry of the vocabulary holds a part of one of two neighbours together with a byte of the other, no merge joins them before
//! each is one token: what their own bytes are merged to depends on nothing beside them, and can be known beforehand.

use alloc::vec;
use alloc::vec::Vec;

use super::merge::MergeTables;
use super::scan::{Scan, scan};
use super::seams::{Scalar, Seams};
use crate::ids::TokenId;

/// Characters of up to three bytes have a place.
const PLACES: usize = 1 << 16;
/// In a place: nothing is known yet, or that the character is not one token. Above are ids.
const UNKNOWN: u32 = 0;
const SEVERAL: u32 = 1;
const FIRST_ID: u32 = 2;

/// What was found out about characters; without memory until one is asked for.
#[derive(Default)]
pub(crate) struct Characters {
    places: Vec<u32>,
}

impl Characters {
    /// The tokens with which merging of a text can begin: its characters, where all are known to become one token each first; else its
    /// bytes.
    pub(super) fn begin<const N: usize>(&mut self, tables: &MergeTables<'_>, seams: &Seams, text: &[u8]) -> Scan<N> {
        let mut scan = Scan::of_length(text.len());
        let mut before = None;
        let mut at = 0;
        while at < text.len() {
            let Some(scalar) = Scalar::first(text.get(at..).unwrap_or_default()) else { break };
            let apart = before.is_none_or(|(left, _)| !seams.has_edge(left, scalar));
            let Some(id) = self.id(tables, scalar).filter(|_| apart) else { break };
            scan.push(tables, before.map(|(_, place)| place), at, id);
            before = Some((scalar, at));
            at += scalar.length();
        }
        if at < text.len() { Scan::of_bytes(tables, text) } else { scan }
    }

    /// The token of a character, where it is one.
    fn id(&mut self, tables: &MergeTables<'_>, scalar: Scalar) -> Option<TokenId> {
        let number = scalar.number()?;
        if number < 0x80 {
            return Some(tables.byte_pairs.id(u8::try_from(number).unwrap_or(0)));
        }
        if self.places.is_empty() {
            self.places = vec![UNKNOWN; PLACES];
        }
        let place = self.places.get_mut(number as usize)?;
        if *place == UNKNOWN {
            let (bytes, length) = scalar.bytes();
            scan(tables, bytes.get(..length).unwrap_or_default(), |id, end| {
                // The first token ends at the end where it is the only one.
                *place = if *place == UNKNOWN && end == length { FIRST_ID + id.get() } else { SEVERAL };
            });
        }
        place.checked_sub(FIRST_ID).map(TokenId::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Artifact;

    #[test]
    fn from_characters_as_from_bytes() {
        const SEED: u64 = 17;
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
        let artifact = Artifact::from_bytes(data).expect("it opens");
        let tables = MergeTables {
            merges: artifact.merges(),
            byte_pairs: artifact.byte_pairs(),
            vocabulary: artifact.vocabulary(),
        };
        let alphabets = [
            "的是不我一有在人这中大来上国，。",
            "のにをはがでとしてコンピュータ",
            "한국어를배우는사람",
            "привет как дела",
            "שלום مرحبا السلام",
            "naïve café é",
            "สวัสดี",
            "😀𝒳é漢 a",
            "ꀀꓐᚠ𠀀",
        ];
        let mut characters = Characters::default();
        let mut state = SEED;
        let mut random = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).expect("31 bits") % limit
        };
        let mut begun = 0;
        for round in 0..40_000 {
            let alphabet: Vec<char> = alphabets[round % alphabets.len()].chars().collect();
            let text: alloc::string::String = (0..=random(5)).map(|_| alphabet[random(alphabet.len())]).collect();
            let mut text = text.into_bytes();
            if round % 16 == 0 {
                text.remove(random(text.len()));
            }
            text.truncate(15);
            let mut scan_of = |from_characters: bool| {
                let mut scan: Scan<16> = if from_characters {
                    characters.begin(&tables, artifact.seams(), &text)
                } else {
                    Scan::of_bytes(&tables, &text)
                };
                let mut count = 0;
                scan.tokens(|_, _| count += 1);
                begun += usize::from(from_characters && count < text.len());
                while scan.step(&tables) {}
                let mut tokens = Vec::new();
                scan.tokens(|id, end| tokens.push((id, end)));
                tokens
            };
            assert_eq!(scan_of(true), scan_of(false), "seed {SEED} round {round}: {text:?}");
        }
        assert!(begun > 15_000, "{begun}");
    }
}
