//! What only the inside shows: what did not change is not computed anew (contract/template.md, M-107).

#![allow(clippy::expect_used)] // a test stops at what is not as it must be

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::fs;

use super::{Session, SessionOptions};
use crate::artifact::Artifact;
use crate::json::JsonValue;
use crate::template::Template;
use crate::tokenizer::{Profile, Scratch};

const TURNS: usize = 30;

/// Chunks that a step computed anew, for each of some turns with a thought in each reply.
fn computed(options: SessionOptions) -> Vec<usize> {
    let data = fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
    let artifact = Artifact::from_bytes(data).expect("it opens");
    let template = Template::new(&artifact).expect("it has a template");
    let mut scratch = Scratch::new(1 << 20).expect("within the limits");
    let reply = "<think>\nR\n</think>\n\nx<|im_end|>";
    let ids =
        template.tokenizer.encode_trusted(reply.as_bytes(), Profile::Contract, &mut scratch).expect("no long piece");
    let ids: Vec<u32> = ids.into_iter().map(crate::TokenId::get).collect();
    let mut session = Session::new(&template, Profile::Contract, options).expect("no tools to refuse");
    let mut fresh = Vec::new();
    for turn in 0..TURNS {
        let before = session.state.chunks.all.clone();
        let messages = format!("[{{\"role\": \"user\", \"content\": \"turn {turn}\"}}]");
        let messages = JsonValue::from_json(messages.as_bytes()).expect("it is JSON");
        session.extend(&template, messages, None, &mut scratch).expect("a user may speak");
        session.reply(&template, &ids).expect("a reply may come");
        let same = before.iter().zip(&session.state.chunks.all).take_while(|(old, new)| Arc::ptr_eq(old, new)).count();
        fresh.push(session.state.chunks.all.len() - same);
    }
    fresh
}

#[test]
fn what_is_computed_does_not_grow_with_the_history() {
    for preserve_thinking in [false, true] {
        let fresh = computed(SessionOptions { preserve_thinking, ..SessionOptions::default() });
        assert!(fresh.iter().all(|&count| count <= 4), "{fresh:?}");
        assert!(fresh.iter().skip(1).all(|count| Some(count) == fresh.get(1)), "{fresh:?}");
    }
}
