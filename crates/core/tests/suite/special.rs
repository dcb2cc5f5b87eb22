//! Many texts of special tokens in one input: all are found, each once, wherever they come close.

use slm2_core::{Profile, Tokenizer};

use crate::support::{embedded, numbers, scratch};

const COUNT: usize = 16_000;

#[test]
fn sixteen_thousand_texts_of_special_tokens_are_found() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let special: Vec<(u32, &[u8])> = artifact.special_tokens().collect();
    for between in ["", "<", "<|im_", " a\u{301} "] {
        let (mut text, mut expected) = (Vec::new(), Vec::new());
        for number in 0..COUNT {
            let (id, token) = special[number % special.len()];
            text.extend(between.bytes());
            expected.push((text.len(), text.len() + token.len(), id));
            text.extend(token);
        }
        let found: Vec<_> = tokenizer.find_special(&text).iter().map(|it| (it.start, it.end, it.id.get())).collect();
        assert_eq!(found, expected, "{between:?}");
        for profile in [Profile::Contract, Profile::Publisher] {
            let part = numbers(&tokenizer.encode(between.as_bytes(), profile, &mut scratch()).expect("short"));
            let ids = numbers(&tokenizer.encode_trusted(&text, profile, &mut scratch()).expect("short"));
            let all: Vec<u32> = expected.iter().flat_map(|&(_, _, id)| [part.as_slice(), &[id]].concat()).collect();
            assert_eq!(ids, all, "{between:?}");
        }
    }
}
