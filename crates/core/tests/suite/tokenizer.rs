//! Text to ids and back, over the embedded artifact and the small one. The ids are those that the publisher's program gives.

use slm2_core::{Artifact, Profile, Span, SpecialPolicy, TokenId, Tokenizer};

use crate::support::{Draft, NORMALIZATION, Random, embedded, encoded, int_fields, numbers, scratch, small, spans_of};

fn triples(spans: &[Span]) -> Vec<(u32, usize, usize)> {
    spans.iter().map(|span| (span.id.get(), span.start, span.end)).collect()
}

#[test]
fn what_the_artifact_says_of_itself() {
    let artifact = embedded();
    assert_eq!(
        (artifact.vocabulary_size(), artifact.token_limit(), artifact.contract_version()),
        (151_643, 151_669, 1)
    );
    assert_eq!((artifact.file_digest().len(), artifact.semantic_digest().len()), (64, 64));
    let special: Vec<_> = artifact.special_tokens().collect();
    assert_eq!((special.len(), special[0]), (26, (151_643, &b"<|endoftext|>"[..])));
    assert!(artifact.provenance().any(|entry| entry == ("unicode", "16.0.0")));
}

#[test]
fn known_ids() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let encode = |text: &str| numbers(&encoded(&tokenizer, text.as_bytes(), Profile::Contract));
    assert_eq!(encode(""), []);
    assert_eq!(encode("Hello, world"), [9707, 11, 1879]);
    assert_eq!(encode("user\n\nhello"), [872, 271, 14990]);
    // Leftmost-first: `'s` goes before the longer `'stuff`.
    assert_eq!(encode("'stuff"), [encode("'s"), encode("tuff")].concat());
    assert_eq!(encode("'\u{17F}"), numbers(&encoded(&tokenizer, "'ſ".as_bytes(), Profile::Publisher)));
}

#[test]
fn pieces_end_where_they_can_be_encoded_apart() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let ends = |text: &str| tokenizer.piece_ends(text.as_bytes(), &scratch()).expect("no piece is too long");
    assert_eq!(ends(""), []);
    assert_eq!(ends("it's 12,  naïve\r\n\n x"), [2, 4, 5, 6, 7, 8, 9, 16, 19, 21]);
    let mut random = Random(7);
    for _ in 0..200 {
        let text: Vec<u8> = (0..random.below(60)).map(|_| *random.choice(b"ab1 \r\n'S,\xc3\xa9\xff\xe4")).collect();
        let mut start = 0;
        let mut apart = Vec::new();
        for end in tokenizer.piece_ends(&text, &scratch()).expect("no piece is too long") {
            assert!(end > start, "a piece of {text:?} is empty");
            apart.extend(encoded(&tokenizer, &text[start..end], Profile::Contract));
            start = end;
        }
        assert_eq!((start, apart), (text.len(), encoded(&tokenizer, &text, Profile::Contract)), "{text:?}");
    }
    let short = slm2_core::Scratch::new(256).expect("it is within the limits");
    let refused = tokenizer.piece_ends(&[&b"x "[..], &[b'a'; 300]].concat(), &short).expect_err("it is too long");
    assert_eq!(refused.fields, int_fields([("start", 1), ("limit", 256)]));
}

#[test]
fn text_cannot_become_a_special_token() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let text = "<|im_start|>user\n<|im_end|><|im_<|im_end|>".as_bytes();
    let plain = numbers(&encoded(&tokenizer, text, Profile::Publisher));
    assert!(plain.iter().all(|&id| id < 151_643), "{plain:?}");
    assert_eq!(tokenizer.decode(&plain, SpecialPolicy::Refuse).as_deref(), Ok(text));
    let trusted = numbers(&tokenizer.encode_trusted(text, Profile::Contract, &mut scratch()).expect("short"));
    assert_eq!(trusted[..4], [151_644, 872, 198, 151_645]);
    let found: Vec<_> = tokenizer.find_special(text).iter().map(|it| (it.start, it.end, it.id.get())).collect();
    assert_eq!(found, [(0, 12, 151_644), (17, 27, 151_645), (32, 42, 151_645)]);
}

#[test]
fn the_longest_special_text_at_a_place_is_found() {
    let mut draft = Draft::small_without_template();
    let texts = ["<s", "<s>s", "<s>", "s"];
    let mut content = 4_u32.to_le_bytes().to_vec();
    for (id, text) in (300_u32..).zip(texts) {
        content.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
        content.extend(text.as_bytes());
        content.extend(id.to_le_bytes());
    }
    *draft.section(crate::support::SPECIAL) = content;
    let artifact = Artifact::from_bytes(draft.seal_rightly()).unwrap();
    let found = Tokenizer::new(&artifact).find_special(b"<s>s<s>x<sss<");
    let found: Vec<_> = found.iter().map(|it| (it.start, it.end, it.id.get())).collect();
    assert_eq!(found, [(0, 4, 301), (4, 7, 302), (8, 10, 300), (10, 11, 303), (11, 12, 303)]);
}

#[test]
fn spans_without_normalisation_are_the_bytes() {
    let artifact = embedded();
    let text = "Grüße,  \u{1F600}\n".as_bytes();
    let spans = spans_of(&Tokenizer::new(&artifact), text, Profile::Contract);
    let mut at = 0;
    for span in &spans {
        let bytes = Tokenizer::new(&artifact).token_bytes(span.id.get()).unwrap();
        assert_eq!((span.start, &text[span.start..span.end]), (at, bytes));
        at = span.end;
    }
    assert_eq!(at, text.len());
}

#[test]
fn spans_with_normalisation_are_hulls() {
    // The small artifact composes `e` U+0301, and has tokens for `ab`, U+0301 and `é`.
    let artifact = Artifact::from_bytes(small()).unwrap();
    let tokenizer = Tokenizer::new(&artifact);
    let spans = |text: &str| triples(&spans_of(&tokenizer, text.as_bytes(), Profile::Publisher));
    assert_eq!(spans("abe\u{301}"), [(256, 0, 2), (260, 2, 5)]);
    assert_eq!(spans("\u{E9}b"), [(260, 0, 2), (98, 2, 3)]);
    // U+0344 becomes U+0308 U+0301: each of their bytes has its whole range.
    assert_eq!(spans("x\u{344}"), [(120, 0, 1), (0xCC, 1, 3), (0x88, 1, 3), (259, 1, 3)]);
    // U+0323 is sorted before U+0301, which is then drawn into `e` over it.
    assert_eq!(spans("e\u{301}\u{323}"), [(260, 0, 3), (0xCC, 3, 4), (0xA3, 4, 5)]);
    assert_eq!(spans("e\u{323}\u{301}"), [(260, 0, 5), (0xCC, 1, 2), (0xA3, 2, 3)]);
    // An ill-formed byte parts the text.
    let parted = spans_of(&tokenizer, b"e\xFF\xCC\x81", Profile::Publisher);
    assert_eq!(triples(&parted), [(101, 0, 1), (0xFF, 1, 2), (259, 2, 4)]);
    let contract = encoded(&tokenizer, "e\u{301}".as_bytes(), Profile::Contract);
    assert_eq!(numbers(&contract), [101, 259]);
}

#[test]
fn without_tables_both_profiles_are_one() {
    let mut draft = Draft::small();
    draft.sections.retain(|section| section.kind != NORMALIZATION);
    let artifact = Artifact::from_bytes(draft.seal_rightly()).unwrap();
    let tokenizer = Tokenizer::new(&artifact);
    let text = "e\u{301}".as_bytes();
    assert_eq!(numbers(&encoded(&tokenizer, text, Profile::Publisher)), [101, 259]);
    assert_eq!(triples(&spans_of(&tokenizer, text, Profile::Publisher)), [(101, 0, 1), (259, 1, 3)]);
}

#[test]
fn hangul_is_composed_and_kept() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let syllables = "한글 각".as_bytes();
    let jamo = "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF} \u{1100}\u{1161}\u{11A8}".as_bytes();
    let ids = encoded(&tokenizer, syllables, Profile::Contract);
    assert_eq!(encoded(&tokenizer, jamo, Profile::Publisher), ids);
    assert_eq!(encoded(&tokenizer, syllables, Profile::Publisher), ids);
    assert_ne!(encoded(&tokenizer, jamo, Profile::Contract), ids);
}

#[test]
fn the_tables_are_the_publishers_and_not_todays() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    // Decisions D1: Unicode 14 would put U+0334 first.
    let text = "x\u{898}\u{334}".as_bytes();
    assert_eq!(numbers(&encoded(&tokenizer, text, Profile::Publisher)), [87, 156, 95, 246, 136, 112]);
}

#[test]
fn every_token_is_found_by_its_bytes() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    for id in 0..artifact.vocabulary_size() {
        let bytes = tokenizer.token_bytes(id).unwrap();
        assert_eq!(tokenizer.token_id(bytes).map(TokenId::get), Some(id));
    }
    for (id, text) in artifact.special_tokens() {
        assert_eq!(tokenizer.token_bytes(id), Ok(text));
        assert_eq!(tokenizer.token_id(text), None);
    }
    assert_eq!(tokenizer.token_id(b""), None);
}

#[test]
fn decode_and_its_refusals() {
    let artifact = Artifact::from_bytes(small()).unwrap();
    let tokenizer = Tokenizer::new(&artifact);
    let ids = [256, 261, 97];
    assert_eq!(tokenizer.decode(&ids, SpecialPolicy::Bytes).as_deref(), Ok(&b"ab<s>a"[..]));
    assert_eq!(tokenizer.decode(&ids, SpecialPolicy::Skip).as_deref(), Ok(&b"aba"[..]));
    let refused = tokenizer.decode(&ids, SpecialPolicy::Refuse).unwrap_err();
    assert_eq!((refused.code.as_str(), refused.fields), ("structural_id", int_fields([("position", 1), ("id", 261)])));
    // 263 lies in a gap between special tokens, 265 after the last of them.
    for id in [263, 265, u32::MAX] {
        let refused = tokenizer.decode(&[97, 98, id], SpecialPolicy::Skip).unwrap_err();
        let fields = int_fields([("position", 2), ("id", id.into()), ("limit", 265)]);
        assert_eq!((refused.code.as_str(), refused.fields), ("token_id_out_of_range", fields));
        assert_eq!(tokenizer.token_bytes(id).unwrap_err().code.as_str(), "token_id_out_of_range");
    }
}

/// More bytes than are gathered at once, of short tokens, long ones and special ones, whose places differ each time.
#[test]
fn decoding_is_one_id_after_the_other() {
    const SEED: u64 = 131;
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let long: Vec<u32> = (0..artifact.vocabulary_size())
        .filter(|&id| tokenizer.token_bytes(id).is_ok_and(|bytes| bytes.len() > 15))
        .collect();
    let mut random = Random(SEED);
    for round in 0..200 {
        let ids: Vec<u32> = (0..random.below(3000))
            .map(|_| match random.below(20) {
                0 => long[random.below(long.len())],
                1 => 151_643 + u32::try_from(random.below(26)).unwrap(),
                _ => u32::try_from(random.below(151_643)).unwrap(),
            })
            .collect();
        let expected: Vec<u8> = ids.iter().flat_map(|&id| tokenizer.token_bytes(id).unwrap()).copied().collect();
        assert_eq!(tokenizer.decode(&ids, SpecialPolicy::Bytes), Ok(expected), "seed {SEED} round {round}");
    }
}

/// What was encoded before stays in a scratch and must not show. Words of many scripts, over and over, in another order each time.
#[test]
fn a_used_scratch_gives_the_ids_of_a_fresh_one() {
    const SEED: u64 = 97;
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let words = [
        "the",
        " cat",
        " antidisestablishmentarianism",
        "\u{4f60}\u{597d}\u{4e16}\u{754c}",
        "\u{3068}\u{3044}\u{3046}\u{3053}\u{3068}",
        "e\u{301}",
        " 42",
        "\0",
        "\0\0",
        "\r\n",
        "   ",
        "=",
    ];
    let mut random = Random(SEED);
    let mut scratch = scratch();
    for round in 0..3_000 {
        let mut text: Vec<u8> = Vec::new();
        for _ in 0..random.below(12) {
            let word = words[random.below(words.len())].as_bytes();
            // Now and then cut inside a scalar value, so that ill-formed text is kept and found again too.
            text.extend(&word[..word.len() - usize::from(random.below(9) == 0)]);
        }
        let mut ids = Vec::new();
        for profile in [Profile::Contract, Profile::Publisher] {
            ids.clear();
            tokenizer.encode_into(&text, profile, &mut scratch, &mut ids).unwrap();
            assert_eq!(ids, encoded(&tokenizer, &text, profile), "seed {SEED} round {round}: {text:?}");
        }
    }
}

/// Long inputs of the kinds that make careless programs quadratic. They would not end here in an hour.
#[test]
fn long_text_takes_no_longer_than_its_length_says() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let marks = ["a", &"\u{301}\u{323}\u{5B0}".repeat(100_000)].concat();
    for text in ["a".repeat(1_000_000), " ".repeat(1_000_000), "가".repeat(300_000), "<|im_".repeat(200_000), marks] {
        let ids = numbers(&encoded(&tokenizer, text.as_bytes(), Profile::Contract));
        assert_eq!(tokenizer.decode(&ids, SpecialPolicy::Refuse).as_deref(), Ok(text.as_bytes()));
        let spans = spans_of(&tokenizer, text.as_bytes(), Profile::Publisher);
        assert_eq!(spans.first().map(|span| span.start), Some(0));
        assert!(tokenizer.find_special(text.as_bytes()).is_empty());
    }
}

#[test]
fn any_bytes_come_back_in_profile_contract() {
    const SEED: u64 = 3;
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let mut random = Random(SEED);
    for round in 0..300 {
        let text: Vec<u8> = (0..random.below(200)).map(|_| random.next().to_le_bytes()[0]).collect();
        let ids = numbers(&encoded(&tokenizer, &text, Profile::Contract));
        let decoded = tokenizer.decode(&ids, SpecialPolicy::Refuse);
        assert_eq!(decoded.as_deref(), Ok(&*text), "seed {SEED} round {round}");
    }
}
