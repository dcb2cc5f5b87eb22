//! Text in parts, and text that grows: the ids and the refusals of the whole.
//!
//! Input: settings (bit 0: the small artifact), limit, number of sizes (of which the lowest 4 bits count), sizes of parts, text.

use slm2_core::{ChunkEncoder, Error, ErrorCode, GrowingText, Profile, Scratch, TokenId};

use crate::input::Input;
use crate::worlds::{LONGEST_TEXT, PROFILES, World, limit_of, scratch};

/// The target.
///
/// # Panics
/// Where something does not hold.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let world = World::chosen(input.byte() & 1 == 1);
    let limit = limit_of(input.byte());
    let count = input.byte() & 0x0F;
    let sizes = input.bytes(count.into());
    let text = input.bytes(LONGEST_TEXT);
    for profile in PROFILES {
        holds(world, text, sizes, profile, limit);
    }
}

/// All that must hold of a text in parts of these sizes, again and again.
///
/// # Panics
/// Where it does not.
pub fn holds(world: &World, text: &[u8], sizes: &[u8], profile: Profile, limit: usize) {
    let whole = world.tokenizer().encode(text, profile, &mut scratch(limit));
    let parts = parts(text, sizes);
    in_parts(world, &parts, profile, limit, &whole);
    growing(world, &parts, profile, limit);
}

/// A text in parts; without sizes it is one.
fn parts<'t>(text: &'t [u8], sizes: &[u8]) -> Vec<&'t [u8]> {
    if sizes.iter().all(|&size| size == 0) {
        return vec![text];
    }
    let (mut parts, mut rest) = (Vec::new(), text);
    for &size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (part, after) = rest.split_at(usize::from(size).min(rest.len()));
        parts.push(part);
        rest = after;
    }
    parts
}

fn in_parts(world: &World, parts: &[&[u8]], profile: Profile, limit: usize, whole: &Result<Vec<TokenId>, Error>) {
    let (tokenizer, mut scratch) = (world.tokenizer(), scratch(limit));
    let mut chunks = ChunkEncoder::new(profile);
    let mut ids = Vec::new();
    let mut pushed = Ok(());
    let mut given = 0;
    for part in parts {
        pushed = chunks.push(&tokenizer, part, &mut scratch, &mut ids);
        if pushed.is_err() {
            break;
        }
        given += part.len();
        assert!(chunks.pending() <= 3 * given, "more waits than was given");
    }
    let done = pushed.and_then(|()| chunks.finish(&tokenizer, &mut scratch, &mut ids));
    match (done, whole) {
        (Ok(()), Ok(whole)) => assert_eq!(&ids, whole, "{profile:?} in parts"),
        (Err(error), Err(whole)) => assert_eq!(&error, whole, "{profile:?} in parts"),
        (done, whole) => panic!("{profile:?}: in parts {done:?}, as a whole {whole:?}"),
    }
    closed(&mut chunks, world, &mut scratch);
}

/// After its end, and after a refusal, nothing comes from a text.
fn closed(chunks: &mut ChunkEncoder, world: &World, scratch: &mut Scratch) {
    let tokenizer = world.tokenizer();
    let mut ids = Vec::new();
    let answers = [
        chunks.push(&tokenizer, b"a", scratch, &mut ids),
        chunks.rest(&tokenizer, scratch, &mut ids),
        chunks.finish(&tokenizer, scratch, &mut ids),
    ];
    for answer in answers {
        assert_eq!(answer.map_err(|error| error.code), Err(ErrorCode::TextClosed));
    }
    assert_eq!(ids, []);
}

/// After each part the ids are those of all that came; a part that is refused leaves them.
fn growing(world: &World, parts: &[&[u8]], profile: Profile, limit: usize) {
    let (tokenizer, mut scratch) = (world.tokenizer(), scratch(limit));
    let (mut growing, mut text, mut ids) = (GrowingText::new(profile), Vec::new(), Vec::new());
    // Each costs a whole text.
    for part in parts.iter().take(24) {
        text.extend_from_slice(part);
        let whole = tokenizer.encode(&text, profile, &mut scratch);
        match (growing.append(&tokenizer, part, &mut scratch), whole) {
            (Ok(growth), Ok(whole)) => {
                ids.truncate(growth.keep);
                ids.extend(growth.ids);
                assert_eq!(ids, whole, "{profile:?} grown");
            }
            (Err(error), Err(whole)) => {
                assert_eq!(error, whole, "{profile:?} grown");
                text.truncate(text.len() - part.len());
            }
            (grown, whole) => panic!("{profile:?}: grown {grown:?}, as a whole {whole:?}"),
        }
        assert_eq!(growing.count(), ids.len());
    }
}
