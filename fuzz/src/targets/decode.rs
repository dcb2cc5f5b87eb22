//! Numbers: what decodes, and what a stream of them gives, is what the definition says, however they are grouped.
//!
//! Input: settings (bit 0: the small artifact), number of sizes (of which the lowest 3 bits count), sizes of groups, ids of four bytes.

use slm2_core::{Error, ErrorCode, SpecialPolicy, StreamDecoder, Value};

use crate::definition::{Definition, Meaning};
use crate::input::Input;
use crate::worlds::World;

const POLICIES: [SpecialPolicy; 3] = [SpecialPolicy::Refuse, SpecialPolicy::Skip, SpecialPolicy::Bytes];
const MOST_IDS: usize = 500;

/// The target.
///
/// # Panics
/// Where something does not hold.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let world = World::chosen(input.byte() & 1 == 1);
    let count = input.byte() & 0x07;
    let sizes = input.bytes(count.into());
    let mut ids = Vec::new();
    while !input.0.is_empty() && ids.len() < MOST_IDS {
        ids.push(number_of(input.u32(), world));
    }
    for policy in POLICIES {
        holds(world, &ids, sizes, policy);
    }
}

/// Mostly numbers that have a token, often a single byte or a special token, some just past the last, few others.
fn number_of(number: u32, world: &World) -> u32 {
    let (end, plain) = (world.artifact.token_limit(), world.artifact.vocabulary_size());
    match number >> 28 {
        0..6 => world.tokenizer().token_id(&[number.to_le_bytes()[0]]).map_or(0, slm2_core::TokenId::get),
        6..12 => number % plain,
        12..15 => plain + number % (end - plain + 2),
        _ => number,
    }
}

/// All that must hold of a sequence of numbers, pushed in groups of these sizes.
///
/// # Panics
/// Where it does not.
pub fn holds(world: &World, ids: &[u32], sizes: &[u8], policy: SpecialPolicy) {
    let tokenizer = world.tokenizer();
    let decoded = tokenizer.decode(ids, policy);
    match (&decoded, by_definition(&world.definition, ids, policy)) {
        (Ok(bytes), Ok(expected)) => assert_eq!(bytes, &expected, "{policy:?}"),
        (Err(error), Err((code, position))) => {
            assert_eq!((error.code, error.fields.first()), (code, Some(&("position", Value::from(position)))));
        }
        (decoded, expected) => panic!("{policy:?}: {decoded:?}, and by definition {expected:?}"),
    }
    let single = streamed(world, ids, &[1], policy);
    let Ok(bytes) = decoded else {
        assert!(single.1.is_some(), "a stream takes ids that do not decode");
        return;
    };
    assert_eq!(streamed(world, ids, sizes, policy), single, "{policy:?} in groups");
    let (text, failure) = single;
    assert!(bytes.starts_with(text.as_bytes()), "a stream gives another text");
    assert!(failure.is_some() || text.as_bytes() == bytes, "a stream gives less text");
    // A structural id inside a scalar value is a failure, also where it is skipped.
    assert!(failure.is_none() || policy == SpecialPolicy::Skip || std::str::from_utf8(&bytes).is_err());
}

fn by_definition(definition: &Definition, ids: &[u32], policy: SpecialPolicy) -> Result<Vec<u8>, (ErrorCode, u64)> {
    let mut bytes = Vec::new();
    for (position, &id) in (0..).zip(ids) {
        match (definition.meaning(id), policy) {
            (None, _) => return Err((ErrorCode::TokenIdOutOfRange, position)),
            (Some(Meaning::Structural(_)), SpecialPolicy::Refuse) => return Err((ErrorCode::StructuralId, position)),
            (Some(Meaning::Structural(_)), SpecialPolicy::Skip) => {}
            (Some(Meaning::Plain(token) | Meaning::Structural(token)), _) => bytes.extend(token),
        }
    }
    Ok(bytes)
}

/// The text of a stream, and how it failed, if it did.
fn streamed(world: &World, ids: &[u32], sizes: &[u8], policy: SpecialPolicy) -> (String, Option<Error>) {
    let tokenizer = world.tokenizer();
    let mut stream = StreamDecoder::new(policy);
    let (mut text, mut rest) = (String::new(), ids);
    let mut sizes = sizes.iter().map(|&size| usize::from(size)).filter(|&size| size > 0).cycle();
    while !rest.is_empty() {
        let (group, after) = rest.split_at(sizes.next().unwrap_or(rest.len()).min(rest.len()));
        rest = after;
        match stream.push(&tokenizer, group) {
            Ok(more) => text += &more,
            Err(mut error) => {
                // The text of the call depends on how ids are grouped; all that was delivered does not.
                if let Some((_, Value::Text(more))) = error.fields.iter_mut().find(|(name, _)| *name == "text") {
                    text += &std::mem::take(more);
                }
                return (text, Some(error));
            }
        }
    }
    let finished = stream.finish().err();
    (text, finished)
}
