//! Tokenizer2 and the strict decoder.

use slm2_core::{ChunkEncoder, GrowingText, JsonValue, SpecialPolicy, StreamDecoder, TokenId, Tokenizer, Unit};

use crate::params::{Fault, Joined, Params, ids, input};
use crate::write::{self, list, object};
use crate::{Answer, Host, Method, outcome, refusal};

pub(crate) const METHODS: &[(&str, Method)] = &[
    ("encode", encode),
    ("encode_spans", encode_spans),
    ("encode_into", encode_into),
    ("encode_trusted", encode_trusted),
    ("count", count_ids),
    ("count_until", count_until),
    ("chunks", chunks),
    ("append", append),
    ("find_special", find_special),
    ("decode", decode),
    ("token_bytes", token_bytes),
    ("token_id", token_id),
    ("stream", stream),
];

fn with_ids(ids: &[TokenId]) -> JsonValue {
    object([("ids", write::ids(ids))])
}

/// The text, where the policy for texts of special tokens lets it through.
fn admitted(tokenizer: &Tokenizer<'_>, params: &Params<'_>) -> Result<Vec<u8>, Fault> {
    let given = params.input()?;
    tokenizer.check_special(&given, params.on_special()?)?;
    Ok(given)
}

fn encode(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    let tokenizer = Tokenizer::new(artifact);
    Ok(with_ids(&tokenizer.encode(&admitted(&tokenizer, params)?, params.profile()?, scratch)?))
}

fn encode_spans(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    let tokenizer = Tokenizer::new(artifact);
    let unit = Unit::from_name(params.optional_text("unit")?.unwrap_or("bytes"));
    let unit = unit.ok_or_else(|| Fault::Failure("`unit` must be bytes, code_points or utf16".into()))?;
    let spans = tokenizer.encode_spans(&admitted(&tokenizer, params)?, params.profile()?, unit, scratch)?;
    let rows = spans.iter().map(|span| list([span.id.get().into(), span.start.into(), span.end.into()]));
    Ok(object([("spans", list(rows))]))
}

fn encode_into(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    let mut out = vec![TokenId::default(); params.size("room")?];
    let written = Tokenizer::new(artifact).encode_to_slice(&params.input()?, params.profile()?, scratch, &mut out)?;
    let places = out.iter().enumerate();
    let shown = places.map(|(place, id)| if place < written { id.get().into() } else { JsonValue::Null });
    Ok(object([("count", written.into()), ("out", list(shown))]))
}

fn encode_trusted(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    Ok(with_ids(&Tokenizer::new(artifact).encode_trusted(&params.input()?, params.profile()?, scratch)?))
}

fn count_ids(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    let counted = Tokenizer::new(artifact).count(&params.input()?, params.profile()?, scratch)?;
    Ok(object([("count", counted.into())]))
}

fn count_until(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    let limit = params.size("limit")?;
    let counted = Tokenizer::new(artifact).count_until(&params.input()?, params.profile()?, limit, scratch)?;
    Ok(object([("count", counted.map_or(JsonValue::Null, JsonValue::from))]))
}

fn chunks(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    let (tokenizer, mut encoder) = (Tokenizer::new(artifact), ChunkEncoder::new(params.profile()?));
    let mut joined = Joined::default();
    let mut call = |part: &JsonValue| {
        let mut ids = Vec::new();
        if let JsonValue::Text(_) = part {
            encoder.push(&tokenizer, &joined.rest(), scratch, &mut ids)?;
            encoder.finish(&tokenizer, scratch, &mut ids)?;
        } else {
            encoder.push(&tokenizer, &joined.part(part)?, scratch, &mut ids)?;
        }
        Ok(object([("ids", write::ids(&ids)), ("pending", encoder.pending().into())]))
    };
    let calls = params.list("parts")?.iter().map(|part| outcome(call(part))).collect::<Result<Vec<_>, _>>()?;
    Ok(object([("calls", list(calls))]))
}

fn append(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    let (tokenizer, mut growing) = (Tokenizer::new(artifact), GrowingText::new(params.profile()?));
    let mut all: Vec<TokenId> = Vec::new();
    let mut call = |part: &JsonValue| {
        let growth = growing.append(&tokenizer, &input(part)?, scratch)?;
        all.truncate(growth.keep);
        all.extend(&growth.ids);
        Ok(object([("keep", growth.keep.into()), ("append", write::ids(&growth.ids))]))
    };
    let calls = params.list("parts")?.iter().map(|part| outcome(call(part))).collect::<Result<Vec<_>, _>>()?;
    Ok(object([("calls", list(calls)), ("ids", write::ids(&all))]))
}

fn find_special(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, _) = host.opened(params)?;
    let (given, tokenizer) = (params.input()?, Tokenizer::new(artifact));
    let findings = tokenizer.find_special(&given).into_iter().map(|found| {
        let shown = String::from_utf8_lossy(given.get(found.start..found.end).unwrap_or_default()).into_owned();
        object([("offset", found.start.into()), ("id", found.id.get().into()), ("text", shown.into())])
    });
    Ok(object([("findings", list(findings))]))
}

pub(crate) fn special(params: &Params<'_>) -> Result<SpecialPolicy, Fault> {
    SpecialPolicy::from_name(params.text("special")?)
        .ok_or_else(|| Fault::Failure("`special` must be refuse, skip or bytes".into()))
}

fn decode(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, _) = host.opened(params)?;
    Ok(write::bytes(&Tokenizer::new(artifact).decode(&params.ids("ids")?, special(params)?)?))
}

fn token_bytes(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, _) = host.opened(params)?;
    let token = u32::try_from(params.integer("token")?).unwrap_or(u32::MAX);
    Ok(write::bytes(Tokenizer::new(artifact).token_bytes(token)?))
}

fn token_id(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, _) = host.opened(params)?;
    let found = Tokenizer::new(artifact).token_id(&params.input()?);
    Ok(object([("token", found.map_or(JsonValue::Null, |id| id.get().into()))]))
}

fn stream(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, _) = host.opened(params)?;
    let (tokenizer, mut decoder) = (Tokenizer::new(artifact), StreamDecoder::new(special(params)?));
    let mut calls = Vec::new();
    for call in params.list("calls")? {
        let done = match call {
            JsonValue::Array(elements) => decoder.push(&tokenizer, &ids(elements)?).map(|given| Some(given.into())),
            _ => decoder.finish().map(|()| None),
        };
        let mut members = match done {
            Ok(given) => given.into_iter().map(|given| ("text", given)).collect(),
            Err(error) => vec![("error", refusal(&error))],
        };
        members.push(("pending", write::hex(decoder.pending()).into()));
        calls.push(object(members));
    }
    Ok(object([("calls", list(calls))]))
}
