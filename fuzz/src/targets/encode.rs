//! Text: the ids, spans, counts and findings of the engine are those of the definition, by every way that there is.
//!
//! Input: settings (bit 0: the small artifact), limit, text.

use std::cell::RefCell;

use slm2_core::{Error, ErrorCode, Profile, Scratch, SpecialPolicy, TokenId, Unit, Value};

use crate::definition::TooLong;
use crate::input::Input;
use crate::worlds::{LONGEST_TEXT, NO_LIMIT, PROFILES, World, limit_of, numbers, scratch};

/// Id and source range.
type Span = (u32, usize, usize);

thread_local! {
    /// Goes from input to input and from artifact to artifact, so that what it remembers of one meets the next.
    static WARM: RefCell<Scratch> = RefCell::new(scratch(NO_LIMIT));
}

/// The target.
///
/// # Panics
/// Where something does not hold.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let world = World::chosen(input.byte() & 1 == 1);
    let limit = limit_of(input.byte());
    let text = input.bytes(LONGEST_TEXT);
    for profile in PROFILES {
        holds(world, text, profile, limit);
    }
}

/// All that must hold of a text in a profile.
///
/// # Panics
/// Where it does not.
pub fn holds(world: &World, text: &[u8], profile: Profile, limit: usize) {
    let normalizes = profile == Profile::Publisher;
    let expected = world.definition.spans(text, normalizes, limit);
    let tokenizer = world.tokenizer();
    let found = tokenizer.encode(text, profile, &mut scratch(limit));
    let ids = match (found, &expected) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(numbers(&found), ids_of(expected), "{profile:?}");
            spans_agree(world, text, profile, limit, expected);
            trusted_agrees(world, text, profile, limit, expected);
            found
        }
        (Err(error), Err(too_long)) => {
            refused(&error, *too_long, limit);
            return ways_refuse(world, text, profile, limit, &error);
        }
        (found, expected) => panic!("{profile:?}: {found:?}, and by definition {expected:?}"),
    };
    ways_agree(world, text, profile, limit, &ids);
    let decoded = tokenizer.decode(&numbers(&ids), SpecialPolicy::Refuse).expect("ids of a text decode");
    assert!(normalizes || decoded == text, "text that was encoded does not come back");
}

fn ids_of(spans: &[Span]) -> Vec<u32> {
    spans.iter().map(|span| span.0).collect()
}

/// A refusal says where, counted in the normalised text.
fn refused(error: &Error, too_long: TooLong, limit: usize) {
    let fields = vec![("start", Value::from(too_long.0)), ("limit", Value::from(limit))];
    assert_eq!((error.code, &error.fields), (ErrorCode::PretokenTooLong, &fields));
}

fn ways_refuse(world: &World, text: &[u8], profile: Profile, limit: usize, error: &Error) {
    let tokenizer = world.tokenizer();
    let mut scratch = scratch(limit);
    let mut out = vec![TokenId::default(); 3 * text.len()];
    assert_eq!(tokenizer.encode_to_slice(text, profile, &mut scratch, &mut out).as_ref(), Err(error));
    assert_eq!(tokenizer.count(text, profile, &mut scratch).as_ref(), Err(error));
    assert_eq!(tokenizer.encode_spans(text, profile, Unit::Bytes, &mut scratch).as_ref(), Err(error));
    // A refused text leaves nothing behind.
    let after = tokenizer.encode(b"after", profile, &mut scratch).expect("a short text");
    assert_eq!(numbers(&after), world.definition.encode(b"after", false, limit).expect("a short text"));
}

/// The other ways of encoding, with memory that has seen other texts, give the same.
fn ways_agree(world: &World, text: &[u8], profile: Profile, limit: usize, ids: &[TokenId]) {
    let tokenizer = world.tokenizer();
    WARM.with_borrow_mut(|warm| {
        let mut limited = scratch(limit);
        let scratch = if limit == NO_LIMIT { warm } else { &mut limited };
        assert_eq!(tokenizer.encode(text, profile, scratch).as_deref(), Ok(ids), "with memory of other texts");
        assert_eq!(tokenizer.count(text, profile, scratch), Ok(ids.len()));
        let mut out = vec![TokenId::default(); ids.len()];
        assert_eq!(tokenizer.encode_to_slice(text, profile, scratch, &mut out), Ok(ids.len()));
        assert_eq!(out, ids);
        if let Some(shorter) = out.get_mut(1..) {
            let error = tokenizer.encode_to_slice(text, profile, scratch, shorter).expect_err("it is too small");
            assert_eq!(error.code, ErrorCode::OutputTooSmall);
        }
        for limit in [0, ids.len() / 2, ids.len().saturating_sub(1), ids.len(), usize::MAX] {
            let expected = Some(ids.len()).filter(|&count| count <= limit);
            assert_eq!(tokenizer.count_until(text, profile, limit, scratch), Ok(expected), "count_until {limit}");
        }
    });
}

fn spans_agree(world: &World, text: &[u8], profile: Profile, limit: usize, expected: &[Span]) {
    let tokenizer = world.tokenizer();
    for unit in [Unit::Bytes, Unit::CodePoints, Unit::Utf16] {
        let spans = tokenizer.encode_spans(text, profile, unit, &mut scratch(limit)).expect("its ids were found");
        let found: Vec<_> = spans.iter().map(|span| (span.id.get(), span.start, span.end)).collect();
        assert_eq!(found, in_unit(expected, text, unit), "{profile:?} {unit:?}");
    }
    if profile == Profile::Contract {
        let mut at = 0;
        assert!(expected.iter().all(|&(_, start, end)| start == std::mem::replace(&mut at, end)), "a gap");
        assert_eq!(at, text.len());
    }
}

/// Offsets in a unit: those of the characters that hold the first and the last byte (T-14).
fn in_unit(spans: &[Span], text: &[u8], unit: Unit) -> Vec<Span> {
    let (mut units, mut before) = (Vec::new(), 0);
    let mut character = |length: usize, count: usize| {
        units.extend(std::iter::repeat_n((before, before + count), length));
        before += count;
    };
    for chunk in text.utf8_chunks() {
        for scalar in chunk.valid().chars() {
            let length = scalar.len_utf8();
            match unit {
                Unit::Bytes => (0..length).for_each(|_| character(1, 1)),
                Unit::CodePoints => character(length, 1),
                Unit::Utf16 => character(length, scalar.len_utf16()),
            }
        }
        match unit {
            Unit::Bytes => (0..chunk.invalid().len()).for_each(|_| character(1, 1)),
            _ if chunk.invalid().is_empty() => {}
            _ => character(chunk.invalid().len(), 1),
        }
    }
    spans.iter().map(|&(id, start, end)| (id, units[start].0, units[end - 1].1)).collect()
}

fn trusted_agrees(world: &World, text: &[u8], profile: Profile, limit: usize, whole: &[Span]) {
    let tokenizer = world.tokenizer();
    let special = world.definition.find_special(text);
    let found = tokenizer.find_special(text);
    assert_eq!(found.iter().map(|it| (it.start, it.end, it.id.get())).collect::<Vec<_>>(), special);
    let expected = if special.is_empty() { Ok(ids_of(whole)) } else { trusted(world, text, profile, limit, &special) };
    match (tokenizer.encode_trusted(text, profile, &mut scratch(limit)), expected) {
        (Ok(found), Ok(expected)) => assert_eq!(numbers(&found), expected, "encode_trusted"),
        (Err(error), Err(_)) => assert_eq!(error.code, ErrorCode::PretokenTooLong),
        (found, expected) => panic!("encode_trusted: {found:?}, and by definition {expected:?}"),
    }
}

/// What lies between the texts of special tokens is encoded by itself (T-8).
fn trusted(
    world: &World,
    text: &[u8],
    profile: Profile,
    limit: usize,
    special: &[(usize, usize, u32)],
) -> Result<Vec<u32>, TooLong> {
    let encode = |part: &[u8]| world.definition.encode(part, profile == Profile::Publisher, limit);
    let (mut ids, mut at) = (Vec::new(), 0);
    for &(start, end, id) in special {
        ids.extend(encode(&text[at..start])?);
        ids.push(id);
        at = end;
    }
    ids.extend(encode(&text[at..])?);
    Ok(ids)
}
