//! Text in parts, text that grows, counting, and output into the caller's memory: the ids of the whole, and nothing else.

use slm2_core::{Artifact, ChunkEncoder, Error, GrowingText, Profile, Scratch, TokenId, Tokenizer, Unit};

use crate::support::{Random, embedded, encoded, int_fields, scratch, small};

const PROFILES: [Profile; 2] = [Profile::Contract, Profile::Publisher];

/// Words that pieces, contractions, runs of white space, marks, syllables and ill-formed bytes are made of.
const WORDS: [&[u8]; 24] = [
    b"the",
    b" cat",
    b"'",
    b"'l",
    b"s",
    b"l",
    b"\n",
    b"\r\n",
    b" ",
    b"   ",
    b"\t",
    b"4",
    b".",
    b"!?",
    b"com",
    "\u{301}".as_bytes(),
    "\u{323}".as_bytes(),
    "e".as_bytes(),
    "\u{1100}\u{1161}".as_bytes(),
    "\u{11A8}\u{AC00}".as_bytes(),
    "\u{4f60}\u{597d}".as_bytes(),
    b"\xE4\xBD",
    b"\xFF",
    "\u{5D0}\u{5B0}\u{301}".as_bytes(),
];

fn random_text(random: &mut Random) -> Vec<u8> {
    let count = random.below(14);
    (0..count).flat_map(|_| random.choice(&WORDS).to_vec()).collect()
}

/// The ids of a text pushed in parts of random sizes, none included.
fn in_parts(
    tokenizer: &Tokenizer<'_>,
    text: &[u8],
    profile: Profile,
    random: &mut Random,
    scratch: &mut Scratch,
) -> Vec<TokenId> {
    let mut chunks = ChunkEncoder::new(profile);
    let mut ids = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(random.below(rest.len().min(9) + 1));
        chunks.push(tokenizer, part, scratch, &mut ids).unwrap();
        let mut whole = ids.clone();
        chunks.rest(tokenizer, scratch, &mut whole).unwrap();
        assert_eq!(whole, encoded(tokenizer, &text[..text.len() - after.len()], profile));
        rest = after;
    }
    chunks.finish(tokenizer, scratch, &mut ids).unwrap();
    ids
}

#[test]
fn parts_cut_anywhere_give_the_ids_of_the_whole() {
    const SEED: u64 = 23;
    for artifact in [embedded(), Artifact::from_bytes(small()).unwrap()] {
        let tokenizer = Tokenizer::new(&artifact);
        let mut random = Random(SEED);
        let mut scratch = scratch();
        for round in 0..1_500 {
            let text = random_text(&mut random);
            for profile in PROFILES {
                let expected = encoded(&tokenizer, &text, profile);
                let found = in_parts(&tokenizer, &text, profile, &mut random, &mut scratch);
                assert_eq!(found, expected, "seed {SEED} round {round}: {text:?}");
            }
        }
    }
}

#[test]
fn a_text_that_grows_has_the_ids_of_the_whole() {
    const SEED: u64 = 29;
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let mut random = Random(SEED);
    let mut scratch = scratch();
    let (mut kept, mut replaced) = (0, 0);
    for round in 0..600 {
        for profile in PROFILES {
            let (mut growing, mut text, mut ids) = (GrowingText::new(profile), Vec::new(), Vec::new());
            for _ in 0..random.below(6) {
                let more = random_text(&mut random);
                text.extend(&more);
                let growth = growing.append(&tokenizer, &more, &mut scratch).unwrap();
                replaced += ids.len() - growth.keep;
                kept += growth.keep;
                ids.truncate(growth.keep);
                ids.extend(growth.ids);
                assert_eq!(ids, encoded(&tokenizer, &text, profile), "seed {SEED} round {round}: {text:?}");
                assert_eq!(growing.count(), ids.len());
            }
        }
    }
    assert!(kept > 1_000 && replaced > 100, "{kept} {replaced}");
}

/// What waits is the last piece and not the text.
#[test]
fn memory_in_between_is_bounded() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let line = "The quick brown fox jumps over the lazy dog e\u{301}\u{323}. \u{4f60}\u{597d}\n";
    for profile in PROFILES {
        let (mut chunks, mut scratch, mut ids) = (ChunkEncoder::new(profile), scratch(), Vec::new());
        for part in line.repeat(10_000).as_bytes().chunks(70_001) {
            chunks.push(&tokenizer, part, &mut scratch, &mut ids).unwrap();
            assert!(chunks.pending() < 100, "{}", chunks.pending());
        }
    }
}

#[test]
fn counts_are_the_lengths() {
    const SEED: u64 = 31;
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let mut random = Random(SEED);
    let mut scratch = scratch();
    for _ in 0..500 {
        let text = random_text(&mut random);
        for profile in PROFILES {
            let count = encoded(&tokenizer, &text, profile).len();
            assert_eq!(tokenizer.count(&text, profile, &mut scratch), Ok(count));
            for limit in count.saturating_sub(2)..count + 2 {
                let within = tokenizer.count_until(&text, profile, limit, &mut scratch);
                assert_eq!(within, Ok(Some(count).filter(|&count| count <= limit)));
            }
        }
    }
    let long = "word ".repeat(1 << 20);
    assert_eq!(tokenizer.count_until(long.as_bytes(), Profile::Contract, 10, &mut scratch), Ok(None));
}

#[test]
fn output_goes_into_the_memory_of_the_caller() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let mut scratch = scratch();
    let text = "Hello, world".repeat(500);
    let expected = encoded(&tokenizer, text.as_bytes(), Profile::Contract);
    let mut out = vec![TokenId::default(); text.len()];
    let count = tokenizer.encode_to_slice(text.as_bytes(), Profile::Contract, &mut scratch, &mut out).unwrap();
    assert_eq!(&out[..count], expected);
    let refused =
        tokenizer.encode_to_slice(text.as_bytes(), Profile::Contract, &mut scratch, &mut out[..10]).unwrap_err();
    let fields = int_fields([("needed", expected.len() as u64), ("found", 10)]);
    assert_eq!((refused.code.as_str(), refused.fields), ("output_too_small", fields));
}

/// A scratch may serve artifacts that disagree about a piece.
#[test]
fn a_scratch_serves_any_artifact() {
    let (large, tiny) = (embedded(), Artifact::from_bytes(small()).unwrap());
    let mut scratch = scratch();
    for _ in 0..2 {
        for artifact in [&large, &tiny] {
            let tokenizer = Tokenizer::new(artifact);
            let ids = tokenizer.encode(b"ab abc ab", Profile::Contract, &mut scratch).unwrap();
            assert_eq!(ids, encoded(&tokenizer, b"ab abc ab", Profile::Contract));
        }
    }
}

fn too_long(error: &Error, start: u64, limit: u64) {
    assert_eq!(
        (error.code.as_str(), &error.fields),
        ("pretoken_too_long", &int_fields([("start", start), ("limit", limit)]))
    );
}

#[test]
fn a_piece_above_the_limit_is_refused_whole_and_in_parts() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    for (profile, text) in [
        (Profile::Contract, ["ab cd ", &"x".repeat(300)].concat()),
        (Profile::Contract, ["ab cd ", &"x".repeat(300), " and more"].concat()),
        (Profile::Publisher, ["ab cd ", &"x".repeat(300), "e\u{301}"].concat()),
        (Profile::Publisher, ["ab cda", &"\u{323}\u{301}".repeat(90)].concat()),
        (Profile::Publisher, ["ab cda", &"\u{301}\u{323}".repeat(90), " and"].concat()),
    ] {
        let start = 5;
        let mut scratch = Scratch::new(256).unwrap();
        let mut ids = Vec::new();
        too_long(&tokenizer.encode_into(text.as_bytes(), profile, &mut scratch, &mut ids).unwrap_err(), start, 256);
        assert!(ids.is_empty());
        too_long(&tokenizer.encode_spans(text.as_bytes(), profile, Unit::Bytes, &mut scratch).unwrap_err(), start, 256);
        too_long(&tokenizer.count(text.as_bytes(), profile, &mut scratch).unwrap_err(), start, 256);
        let mut chunks = ChunkEncoder::new(profile);
        let mut pushed = Ok(());
        for part in text.as_bytes().chunks(7) {
            pushed = pushed.and_then(|()| chunks.push(&tokenizer, part, &mut scratch, &mut ids));
        }
        let error = pushed.and_then(|()| chunks.finish(&tokenizer, &mut scratch, &mut ids)).unwrap_err();
        too_long(&error, start, 256);
        assert_eq!(chunks.push(&tokenizer, b"", &mut scratch, &mut ids).unwrap_err().code.as_str(), "text_closed");
        let mut growing = GrowingText::new(profile);
        growing.append(&tokenizer, b"ab", &mut scratch).unwrap();
        too_long(&growing.append(&tokenizer, &text.as_bytes()[2..], &mut scratch).unwrap_err(), start, 256);
        assert_eq!(growing.append(&tokenizer, b" cd", &mut scratch).unwrap().keep, 1);
    }
    assert_eq!(Scratch::new(255).err().map(|error| error.code.as_str()), Some("limit_out_of_range"));
    assert_eq!(Scratch::new(usize::MAX).err().map(|error| error.code.as_str()), Some("limit_out_of_range"));
}

#[test]
fn offsets_in_other_units() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let text = "a\u{1F44D}\u{1F3FD} e\u{301}\u{4f60}".as_bytes();
    let mut scratch = scratch();
    let mut ends = Vec::new();
    for (unit, length) in [(Unit::Bytes, 16), (Unit::CodePoints, 7), (Unit::Utf16, 9)] {
        let spans = tokenizer.encode_spans(text, Profile::Contract, unit, &mut scratch).unwrap();
        assert_eq!(spans.last().map(|span| span.end), Some(length), "{unit:?}");
        assert!(spans.iter().all(|span| span.start < span.end));
        ends.push(spans.len());
    }
    assert!(ends.iter().all(|&count| count == ends[0]));
    // Bytes that are no text count as the U+FFFD that would stand for them: here E4 BD is one, FF another.
    let spans = tokenizer.encode_spans(b"\xE4\xBDa\xFF", Profile::Contract, Unit::CodePoints, &mut scratch).unwrap();
    assert_eq!(spans.last().map(|span| (span.start, span.end)), Some((2, 3)));
}
