//! The streaming decoder: text as soon as it is complete, and where it ends otherwise (decisions D12).
//!
//! In the small artifact ids below 256 are bytes; 256 is `ab`, 259 U+0301, 261 the special token `<s>`; 263 has no token.

use slm2_core::{Artifact, Error, Profile, SpecialPolicy, StreamDecoder, Tokenizer, Value};

use crate::support::{Random, embedded, encoded, int_fields, small};

/// A decoder over the small artifact.
struct Stream {
    artifact: Artifact<Vec<u8>>,
    decoder: StreamDecoder,
}

impl Stream {
    fn new(special: SpecialPolicy) -> Self {
        Self { artifact: Artifact::from_bytes(small()).unwrap(), decoder: StreamDecoder::new(special) }
    }

    fn push(&mut self, ids: &[u32]) -> Result<String, Error> {
        self.decoder.push(&Tokenizer::new(&self.artifact), ids)
    }

    #[track_caller]
    fn is_closed_at(&mut self, position: u64) {
        let closed = ("stream_closed", int_fields([("position", position)]));
        for refused in [self.push(&[97]).unwrap_err(), self.push(&[]).unwrap_err(), self.decoder.finish().unwrap_err()]
        {
            assert_eq!((refused.code.as_str(), refused.fields), closed);
        }
    }
}

#[track_caller]
fn is_ill_formed(error: &Error, position: u64, id: u64, text: &str, pending: &str) {
    let mut fields = int_fields([("position", position), ("id", id)]);
    fields.push(("text", Value::Text(text.into())));
    fields.push(("pending", Value::Text(pending.into())));
    assert_eq!((error.code.as_str(), &error.fields), ("ill_formed_text", &fields));
}

#[test]
fn text_comes_when_it_is_complete() {
    let mut stream = Stream::new(SpecialPolicy::Refuse);
    for (ids, text, pending) in [
        (&[256, 0xF0][..], "ab", &[0xF0][..]),
        (&[], "", &[0xF0]),
        (&[0x9F, 0x98], "", &[0xF0, 0x9F, 0x98]),
        (&[0x80, 97], "\u{1F600}a", &[]),
        (&[259], "\u{301}", &[]),
    ] {
        assert_eq!(stream.push(ids).as_deref(), Ok(text));
        assert_eq!(stream.decoder.pending(), pending);
    }
    assert_eq!(stream.decoder.position(), 7);
    assert_eq!(stream.decoder.finish(), Ok(()));
    stream.is_closed_at(7);
}

#[test]
fn ill_formed_text_ends_the_stream_at_the_id_that_makes_it_so() {
    // Table 3-7: no surrogates, no overlong forms, nothing above U+10FFFF, no byte alone.
    for (open, id, pending) in [
        (&[0xED][..], 0xA0, "eda0"),
        (&[0xE0], 0x9F, "e09f"),
        (&[0xF4], 0x90, "f490"),
        (&[0xF0, 0x9F], 97, "f09f61"),
        (&[0xC3], 0xC3, "c3c3"),
        (&[], 0x80, "80"),
        (&[], 0xC0, "c0"),
        (&[], 0xF5, "f5"),
    ] {
        let mut stream = Stream::new(SpecialPolicy::Bytes);
        assert_eq!(stream.push(&[97, 98]).as_deref(), Ok("ab"));
        let ids = [&[0xC3, 0xA9], open, &[id], &[97]].concat();
        let position = 4 + open.len() as u64;
        is_ill_formed(&stream.push(&ids).unwrap_err(), position, id.into(), "é", pending);
        let bytes: Vec<u8> = open.iter().chain([&id]).map(|&id| u8::try_from(id).unwrap()).collect();
        assert_eq!(stream.decoder.pending(), bytes);
        stream.is_closed_at(position);
    }
}

#[test]
fn a_failing_token_keeps_its_own_bytes() {
    // ` a` after an open scalar value: both of its bytes stay, with the open one.
    let mut stream = Stream::new(SpecialPolicy::Bytes);
    is_ill_formed(&stream.push(&[97, 0xC3, 258]).unwrap_err(), 2, 258, "a", "c32061");
}

#[test]
fn a_structural_id_inside_a_scalar_value_is_a_failure_of_the_text() {
    for special in [SpecialPolicy::Refuse, SpecialPolicy::Skip, SpecialPolicy::Bytes] {
        let mut stream = Stream::new(special);
        is_ill_formed(&stream.push(&[97, 0xC3, 261, 97]).unwrap_err(), 2, 261, "a", "c3");
        assert_eq!(stream.decoder.pending(), [0xC3]);
        stream.is_closed_at(2);
    }
}

#[test]
fn structural_ids_between_scalar_values() {
    let ids = [97, 261, 98];
    assert_eq!(Stream::new(SpecialPolicy::Skip).push(&ids).as_deref(), Ok("ab"));
    assert_eq!(Stream::new(SpecialPolicy::Bytes).push(&ids).as_deref(), Ok("a<s>b"));
    let mut stream = Stream::new(SpecialPolicy::Refuse);
    assert_eq!(stream.push(&[97, 0xC3]).as_deref(), Ok("a"));
    // Nothing of the call is taken: the scalar value stays open.
    let refused = stream.push(&[0xA9, 97, 261]).unwrap_err();
    assert_eq!((refused.code.as_str(), refused.fields), ("structural_id", int_fields([("position", 4), ("id", 261)])));
    assert_eq!((stream.decoder.pending(), stream.decoder.position()), (&[0xC3][..], 2));
    assert_eq!(stream.push(&[0xA9, 97]).as_deref(), Ok("éa"));
}

#[test]
fn an_id_without_a_token_leaves_the_decoder_as_it_was() {
    let mut stream = Stream::new(SpecialPolicy::Skip);
    assert_eq!(stream.push(&[97]).as_deref(), Ok("a"));
    // Also where the text fails before it.
    for ids in [&[98, 263][..], &[0xFF, 263], &[0xC3, 261, 263]] {
        let refused = stream.push(ids).unwrap_err();
        let fields = int_fields([("position", ids.len() as u64), ("id", 263), ("limit", 265)]);
        assert_eq!((refused.code.as_str(), refused.fields), ("token_id_out_of_range", fields));
        assert_eq!((stream.decoder.pending(), stream.decoder.position()), (&[][..], 1));
    }
    assert_eq!(stream.push(&[98]).as_deref(), Ok("b"));
}

#[test]
fn an_end_inside_a_scalar_value_is_unfinished_text() {
    let mut stream = Stream::new(SpecialPolicy::Refuse);
    assert_eq!(stream.push(&[97, 0xE2, 0x82]).as_deref(), Ok("a"));
    let unfinished = stream.decoder.finish().unwrap_err();
    let fields = [("position", Value::Int(3)), ("pending", Value::Text("e282".into()))];
    assert_eq!((unfinished.code.as_str(), &*unfinished.fields), ("unfinished_text", &fields[..]));
    assert_eq!(stream.decoder.pending(), [0xE2, 0x82]);
    stream.is_closed_at(3);
}

#[test]
fn grouping_does_not_matter() {
    const SEED: u64 = 12;
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let mut random = Random(SEED);
    let text = "Ὦ ἄνδρες 👩‍👩‍👧 ᚠᛇᚻ 漢字かな 🇩🇪 \u{1D15F} x".repeat(3);
    let ids: Vec<u32> = encoded(&tokenizer, text.as_bytes(), Profile::Contract).iter().map(|id| id.get()).collect();
    for round in 0..100 {
        let mut decoder = StreamDecoder::new(SpecialPolicy::Refuse);
        let (mut rest, mut streamed) = (&*ids, String::new());
        while !rest.is_empty() {
            let (group, after) = rest.split_at(random.below(4).min(rest.len()));
            streamed += &decoder.push(&tokenizer, group).unwrap();
            rest = after;
        }
        assert_eq!((decoder.finish(), &streamed), (Ok(()), &text), "seed {SEED} round {round}");
    }
}
