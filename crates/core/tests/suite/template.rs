//! The reader and the printer of JSON, and the reader of replies, with the template of the embedded artifact.

use std::borrow::Cow;

use slm2_core::{Artifact, JsonValue, Key, Profile, ReplyEvent, ReplyKind, ReplyReader, Template, Tokenizer};

use crate::support::{Random, embedded, numbers, scratch};

/// Pieces of JSON, and what is none.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\"a\"",
    "\"b\"",
    "\"a\":",
    "\"b\": ",
    "\"\\u00e9\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "\"\\",
    "\\u",
    "\\n",
    "\\x",
    " ",
    "\n",
    "\t",
    "0",
    "-0",
    "1",
    "-1",
    "01",
    "1.5",
    "1e400",
    "1e-5",
    "1E+2",
    "-",
    ".",
    "e",
    "true",
    "false",
    "null",
    "NaN",
    "-Infinity",
    "é",
    "\u{1}",
];
/// Pieces of replies. Special tokens among them are tokens.
const SAID: [&str; 18] = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<|im_end|>",
    "<|im_start|>",
    "<tool_response>",
    "\n",
    "\n\n",
    "Hello",
    " é",
    "🙂",
    "{\"name\": \"f\", \"arguments\": {",
    "\n{\"name\": \"f\", \"arguments\": {\"a\":1}}\n",
    "}}",
    "\"name\"",
    "{\"a\": 1}",
    "x",
];
const SEED: u64 = 20;
const ROUNDS: usize = 20_000;

fn json(text: &str) -> JsonValue {
    JsonValue::from_json(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {}", error.code.as_str()))
}

fn object(members: Vec<(&'static str, JsonValue)>) -> JsonValue {
    let key = |text| Key { text: Cow::Borrowed(text), foreign: None };
    JsonValue::Object(members.into_iter().map(|(name, value)| (key(name), value)).collect())
}

/// A value as the template writes the schema of a tool.
fn written(template: &Template<'_>, value: JsonValue) -> Result<String, &'static str> {
    let messages = json(r#"[{"role": "user", "content": "q"}]"#);
    let request = object(vec![("messages", messages), ("tools", JsonValue::Array(vec![value]))]);
    let composition = template.compose(request).map_err(|error| error.code.as_str())?;
    let text = template.text(&composition);
    // The schema may hold these texts too; the first and the last are the template's own.
    let start = text.find("</tools> XML tags:\n<tools>\n").expect("there are tools") + 27;
    let end = text.rfind("\n</tools>\n\nFor each").expect("the tools end");
    Ok(text[start..end].to_owned())
}

#[test]
fn json_is_written_as_python_writes_it() {
    let artifact = embedded();
    let template = Template::new(&artifact).unwrap();
    for (given, expected) in [
        (r#"{"b":1,"a":[true,false,null]}"#, r#"{"b": 1, "a": [true, false, null]}"#),
        (r#"{"n":-0,"big":123456789012345678901234567890}"#, r#"{"n": 0, "big": 123456789012345678901234567890}"#),
        (r#"{"f":[1.0,1e16,1e-5,-0.0,0.1,1E2]}"#, r#"{"f": [1.0, 1e+16, 1e-05, -0.0, 0.1, 100.0]}"#),
        (r#"{"s":"\u00e9\ud83d\ude00\/\b\f\n\r\t\u0001\u007f"}"#, "{\"s\": \"é😀/\\b\\f\\n\\r\\t\\u0001\u{7f}\"}"),
        (r#"{"s":"\ud800x"}"#, "{\"s\": \"\u{fffd}x\"}"),
        (" {\n} ", "{}"),
    ] {
        assert_eq!(written(&template, json(given)).as_deref(), Ok(expected), "{given}");
    }
    let twice = object(vec![("a", JsonValue::Null), ("a", JsonValue::Null)]);
    assert_eq!(written(&template, twice), Err("json_duplicate_key"));
    assert_eq!(written(&template, object(vec![("a", JsonValue::Float(f64::NAN))])), Err("json_number"));
    assert_eq!(written(&template, object(vec![("a", JsonValue::Foreign("set".to_owned()))])), Err("invalid_type"));
}

#[test]
fn what_is_no_json_is_refused() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    for (text, code) in [
        ("", "json_invalid"),
        ("{\"a\": 1,}", "json_invalid"),
        ("[1 2]", "json_invalid"),
        ("{'a': 1}", "json_invalid"),
        ("\"\\x\"", "json_invalid"),
        ("\"a\nb\"", "json_invalid"),
        ("01", "json_invalid"),
        ("1 1", "json_invalid"),
        ("NaN", "json_number"),
        ("1e400", "json_number"),
        ("{\"a\": 1, \"\\u0061\": 2}", "json_duplicate_key"),
        (&nested(129), "json_invalid"),
    ] {
        let refused = JsonValue::from_json(text.as_bytes()).unwrap_err();
        assert_eq!(refused.code.as_str(), code, "{text}");
    }
    assert_eq!(JsonValue::from_json(b"\"\xff\"").unwrap_err().code.as_str(), "json_invalid");
    assert!(JsonValue::from_json(nested(128).as_bytes()).is_ok());
}

/// No text makes the reader panic, and what it reads is the same after it was written.
#[test]
fn random_json_is_refused_or_comes_back() {
    let artifact = embedded();
    let template = Template::new(&artifact).unwrap();
    println!("seed {SEED}");
    let mut random = Random(SEED);
    let mut read = 0;
    for round in 0..ROUNDS {
        let count = random.below(12);
        let mut text: Vec<u8> = (0..count).flat_map(|_| PIECES[random.below(PIECES.len())].bytes()).collect();
        if random.below(8) == 0 && !text.is_empty() {
            let place = random.below(text.len());
            text[place] = u8::try_from(random.below(256)).unwrap();
        }
        let Ok(value) = JsonValue::from_json(&text) else { continue };
        read += 1;
        let whole = object(vec![("v", value)]);
        let again = written(&template, whole.clone()).unwrap();
        assert_eq!(JsonValue::from_json(again.as_bytes()), Ok(whole), "seed {SEED} round {round}: {again}");
    }
    assert!(read > ROUNDS / 50, "{read}");
}

fn said(artifact: &Artifact<Vec<u8>>, text: &str) -> Vec<u32> {
    let tokenizer = Tokenizer::new(artifact);
    numbers(&tokenizer.encode_trusted(text.as_bytes(), Profile::Contract, &mut scratch()).unwrap())
}

/// Kind, text, name, arguments and reason.
fn facts(event: &ReplyEvent) -> (&'static str, &str, &str, &str, &str) {
    (event.kind.as_str(), &event.text, &event.name, &event.arguments, &event.reason)
}

#[test]
fn a_reply_tells_reasoning_content_calls_and_its_end() {
    let artifact = embedded();
    let template = Template::new(&artifact).unwrap();
    let call = "\n{\"name\": \"f\", \"arguments\": {\"a\":1}}\n";
    let ids = said(&artifact, &format!("<think>\nR\n</think>\n\nC\n<tool_call>{call}</tool_call><|im_end|>"));
    let mut reader = ReplyReader::new(&template, "ASSISTANT_OPEN").unwrap();
    let events = reader.push(&template, &ids).unwrap();
    let expected = [
        ("reasoning", "R", "", "", ""),
        ("content", "C", "", "", ""),
        ("call", call, "f", "{\"a\":1}", ""),
        ("end", "", "", "", "end_turn"),
    ];
    assert_eq!(events.iter().map(facts).collect::<Vec<_>>(), expected);
    assert_eq!(reader.state_name(&template), "END");
    assert_eq!(ReplyReader::new(&template, "USER_TURN").unwrap_err().code.as_str(), "invalid_value");
}

#[test]
fn malformed_replies_end_in_events() {
    let artifact = embedded();
    let template = Template::new(&artifact).unwrap();
    for (text, expected) in [
        ("<think>\nR", &[("reasoning", ""), ("unclosed", "reasoning"), ("end", "cut")][..]),
        ("<tool_call>\n{\"name\"", &[("bad_call", "unclosed"), ("end", "cut")]),
        ("<tool_call>\nx\n</tool_call>", &[("bad_call", "json_invalid"), ("end", "cut")]),
        ("C<|im_start|>", &[("content", ""), ("unexpected", "ASSISTANT_RESPONDING"), ("end", "cut")]),
    ] {
        let mut reader = ReplyReader::new(&template, "ASSISTANT_OPEN").unwrap();
        let mut events = reader.push(&template, &said(&artifact, text)).unwrap();
        events.extend(reader.finish(&template).unwrap());
        let told: Vec<_> = events.iter().map(|event| (event.kind.as_str(), &*event.reason)).collect();
        assert_eq!(told, expected, "{text}");
        assert_eq!(reader.push(&template, &[0]).unwrap_err().code.as_str(), "stream_closed");
    }
}

/// No ids make the reader panic; one by one or at once they are all kept, in their order, and the text is the same.
#[test]
fn random_replies_keep_every_id() {
    let artifact = embedded();
    let template = Template::new(&artifact).unwrap();
    println!("seed {SEED}");
    let mut random = Random(SEED);
    let mut kinds = std::collections::BTreeSet::new();
    for round in 0..ROUNDS / 4 {
        let mut ids = Vec::new();
        for _ in 0..random.below(12) {
            match random.below(4) {
                0 => ids.push(u32::try_from(random.below(151_669)).unwrap()),
                _ => ids.extend(said(&artifact, SAID[random.below(SAID.len())])),
            }
        }
        let state =
            ["ASSISTANT_OPEN", "ASSISTANT_THINKING", "ASSISTANT_ANSWERING", "ASSISTANT_RESPONDING"][random.below(4)];
        let mut whole = ReplyReader::new(&template, state).unwrap();
        let mut events = whole.push(&template, &ids).unwrap();
        events.extend(whole.finish(&template).unwrap_or_default());
        let mut single = ReplyReader::new(&template, state).unwrap();
        let mut taken = Vec::new();
        for &id in &ids {
            let Ok(told) = single.push(&template, &[id]) else { break };
            taken.extend(told);
        }
        taken.extend(single.finish(&template).unwrap_or_default());
        let kept: Vec<u32> = events.iter().flat_map(|event| &event.ids).copied().collect();
        assert_eq!(kept, ids, "seed {SEED} round {round}: {state}");
        for kind in
            [ReplyKind::Content, ReplyKind::Reasoning, ReplyKind::BadCall, ReplyKind::Call, ReplyKind::StrayText]
        {
            assert_eq!(text_of(&events, kind), text_of(&taken, kind), "seed {SEED} round {round}: {state} {ids:?}");
        }
        kinds.extend(events.iter().map(|event| event.kind.as_str()));
    }
    assert_eq!(kinds.len(), 9, "{kinds:?}");
}

fn text_of(events: &[ReplyEvent], kind: ReplyKind) -> String {
    events.iter().filter(|event| event.kind == kind).map(|event| &*event.text).collect()
}
