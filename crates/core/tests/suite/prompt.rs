//! Prompt2 from outside: every vector of it, and what must never be shown (contract/prompt.md).

use slm2_core::prompt::{Assembly, Policy, Prompt};
use slm2_core::{JsonValue, OnSpecial, Profile, Scratch};

use crate::support::{embedded, read, scratch};

const FILES: [&str; 3] = ["prompt.json", "prompt-refusals.json", "prompt-passes.json"];

fn member<'v>(value: &'v JsonValue, name: &str) -> Option<&'v JsonValue> {
    let JsonValue::Object(members) = value else { panic!("{name} of what is no object") };
    members.iter().find(|(key, _)| key.text == name).map(|(_, value)| value)
}

fn text(value: Option<&JsonValue>) -> Option<&str> {
    value.map(|value| if let JsonValue::Text(text) = value { text.as_str() } else { panic!("{value:?} is no text") })
}

fn without(value: JsonValue, name: &str) -> JsonValue {
    let JsonValue::Object(members) = value else { panic!("no object") };
    JsonValue::Object(members.into_iter().filter(|(key, _)| key.text != name).collect())
}

/// The answer to a vector, as the vector has it.
fn answer(
    prompt: &Prompt<'_>,
    vector: &JsonValue,
    profile: Profile,
    scratch: &mut Scratch,
) -> (&'static str, JsonValue) {
    let special = text(member(vector, "on_special")).unwrap_or("literal");
    let on_special = OnSpecial::from_name(special).expect("literal or reject");
    let mut assemble = |request: &str| prompt.assemble_json(request.as_bytes(), profile, on_special, scratch);
    let request = text(member(vector, "request")).expect("a request");
    let done = match text(member(vector, "op")) {
        Some("assemble") => assemble(request)
            .map(|assembly| without(JsonValue::from_json(assembly.to_json().as_bytes()).expect("JSON"), "tokens")),
        _ => assemble(request).map(|assembly| {
            let before = match member(vector, "before") {
                Some(JsonValue::Text(before)) => Some(assemble(before).expect("it is accepted")),
                _ => None,
            };
            let ids: Vec<u32> = before.iter().flat_map(Assembly::input_ids).map(|id| id.get()).collect();
            JsonValue::from_json(assembly.delta(&ids).to_json().as_bytes()).expect("JSON")
        }),
    };
    match done {
        Ok(value) => ("expect", value),
        Err(error) => ("error", without(JsonValue::from_json(error.to_json().as_bytes()).expect("JSON"), "message")),
    }
}

#[test]
fn every_vector_is_answered() {
    let artifact = embedded();
    let prompt = Prompt::new(&artifact).unwrap();
    let mut scratch = scratch();
    let mut asked = 0;
    for name in FILES {
        let document = JsonValue::from_json(&read(&format!("contract/vectors/{name}"))).unwrap();
        let Some(JsonValue::Array(vectors)) = member(&document, "vectors") else { panic!("{name} has no vectors") };
        for vector in vectors {
            let profiles = match text(member(vector, "profile")) {
                Some(name) => vec![Profile::from_name(name).unwrap()],
                None => vec![Profile::Contract, Profile::Publisher],
            };
            for profile in profiles {
                let (kind, value) = answer(&prompt, vector, profile, &mut scratch);
                assert_eq!(Some(&value), member(vector, kind), "{:?}", member(vector, "id"));
                asked += 1;
            }
        }
    }
    assert!(asked > 400, "{asked}");
}

#[test]
fn nothing_prints_the_policy() {
    let secret = "zyzzyva";
    let sealed = Policy::new(secret.to_string());
    assert_eq!(sealed.length(), secret.len());
    assert!(!format!("{sealed:?}").contains(secret));
    assert!(format!("{sealed:?}").contains(&sealed.digest()));
    let artifact = embedded();
    let prompt = Prompt::new(&artifact).unwrap();
    let mut scratch = scratch();
    let mut within = |context: usize| {
        let request = format!(
            "{{\"policy\": \"{secret}\", \"user_turn\": \"u\", \"budget\": {{\"context\": {context}, \"reserve\": 0}}}}"
        );
        prompt.assemble_json(request.as_bytes(), Profile::Contract, OnSpecial::Literal, &mut scratch)
    };
    let assembly = within(100).unwrap();
    let delta = assembly.delta(&[1]);
    let shown =
        format!("{assembly:?} {} {} {:?} {delta:?}", assembly.to_json(), assembly.report_json(), assembly.sources());
    assert!(!shown.contains(secret));
    let error = within(5).unwrap_err();
    assert!(!format!("{error} {error:?} {} {}", error.message(), error.to_json()).contains(secret));
}
