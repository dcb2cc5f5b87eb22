//! Artifacts: changed ones, with the digests put right, are refused, or do all that an artifact does as the definition says.
//!
//! Input: a whole file, where it begins with the magic; else changes to the small artifact, seven bytes each: what is done to which
//! section, where, and with what.

use slm2_core::{Artifact, SpecialPolicy};

use super::{chunked, decode, encode};
use crate::input::Input;
use crate::sealing::{Draft, Section, with_length_and_digests};
use crate::worlds::{NO_LIMIT, PROFILES, World, checkout_file};

const MAGIC: &[u8] = b"\x89SL2\r\n\x1a\n";
const CHANGES: usize = 12;
const LIMIT: usize = 256;

/// Texts that take every way through the small artifact; the last has pieces of more than a window and more than the limit.
const TEXTS: [&[u8]; 7] = [
    b"",
    b"ab abc  a\n\n b<s><t>",
    "e\u{301}\u{323}\u{E9}\u{344} </\u{E9}>".as_bytes(),
    "\u{AC00}\u{11A8}\u{1100}\u{1161} \u{301}\u{301}\u{323}".as_bytes(),
    b"\xCC\x81\xFFabcab\xF0\x9F\x98 \xE9ab",
    b"abcababcabcabababcabcababcabcabababcabcababcabcababababcabcababcabcabab\xCC\x81\xC3\xA9abcab",
    &[b'a'; 300],
];

/// The target.
///
/// # Panics
/// Where something does not hold.
pub fn run(data: &[u8]) {
    let file = if data.starts_with(MAGIC) { with_length_and_digests(data.to_vec()) } else { changed(data) };
    let Some(world) = World::of(&file) else {
        let error = Artifact::from_bytes(file).err().expect("it was refused");
        assert!(error.code.as_str().starts_with("artifact_"), "{error}");
        return;
    };
    for text in TEXTS {
        for profile in PROFILES {
            for limit in [NO_LIMIT, LIMIT] {
                encode::holds(&world, text, profile, limit);
            }
            chunked::holds(&world, text, &[1, 0, 5, 2], profile, LIMIT);
        }
    }
    let limit = world.artifact.token_limit();
    let ids: Vec<u32> = (0..60).map(|step| (step * 89) % (limit + 1)).collect();
    for policy in [SpecialPolicy::Skip, SpecialPolicy::Bytes] {
        decode::holds(&world, &ids, &[3], policy);
        decode::holds(&world, ids.get(..2).unwrap_or_default(), &[1], policy);
    }
}

fn changed(data: &[u8]) -> Vec<u8> {
    let mut draft = Draft::of(&checkout_file("tests/data/small-v1.slm2"));
    let mut input = Input(data);
    for _ in 0..CHANGES {
        if input.0.is_empty() {
            break;
        }
        change(&mut draft, &mut input);
    }
    draft.seal()
}

fn change(draft: &mut Draft, input: &mut Input<'_>) {
    let what = input.byte();
    let place = usize::from(u16::from_le_bytes([input.byte(), input.byte()]));
    let with = input.u32();
    let count = draft.sections.len();
    let Some(section) = draft.sections.get_mut(usize::from(what >> 4) % count.max(1)) else { return };
    let content = &mut section.content;
    let at = place % (content.len() + 1);
    let word = |at: usize| at - at % 4;
    match what & 0x0F {
        0..4 if at < content.len() => content[at] = with.to_le_bytes()[0],
        4..6 if at < content.len() => content[at] ^= 1 << (with & 7),
        6..10 if word(at) + 4 <= content.len() => content[word(at)..word(at) + 4].copy_from_slice(&with.to_le_bytes()),
        10 => content.truncate(at),
        11 => content.insert(at, with.to_le_bytes()[0]),
        12 => {
            let copied: Vec<u8> = content[at..].iter().copied().take(with as usize % 64).collect();
            content.splice(at..at, copied);
        }
        13 => draft.header[8 + place % 56] = with.to_le_bytes()[0],
        14 => section.flags ^= with & 3,
        15 if place % 2 == 0 => drop(draft.sections.remove(usize::from(what >> 4) % count)),
        _ => {
            let (kind, flags) = (0x71 + (with & 0xFF), with >> 8 & 1);
            draft.sections.push(Section { kind, flags, content: vec![1; at % 80] });
        }
    }
}
