//! Prompt2, Template2, replies and sessions.

use slm2_core::prompt::{Assembly, Prompt};
use slm2_core::{Composition, JsonValue, ReplyEvent, ReplyReader, Scratch, Session, SessionOptions, Template};

use crate::params::{Fault, Params, ids, member};
use crate::write::{list, made, object};
use crate::{Answer, Host, Method, outcome, refusal};

pub(crate) const METHODS: &[(&str, Method)] = &[
    ("render", render),
    ("render_tokens", render_tokens),
    ("assemble", assemble),
    ("assemble_tokens", assemble_tokens),
    ("prompt_delta", prompt_delta),
    ("reply", reply),
    ("session", session),
];

/// Members of a result, by name.
fn chosen<const N: usize>(whole: &JsonValue, names: [&'static str; N]) -> JsonValue {
    object(names.map(|name| (name, member(whole, name).cloned().unwrap_or(JsonValue::Null))))
}

fn composed(template: &Template<'_>, params: &Params<'_>) -> Result<Composition, Fault> {
    let composition = template.compose(params.json("request")?)?;
    template.check_special(&composition, params.on_special()?)?;
    Ok(composition)
}

fn render(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    let template = Template::new(artifact)?;
    let composition = composed(&template, params)?;
    let whole = made(&template.rendering_to_json(&composition, params.profile()?, scratch)?);
    Ok(chosen(&whole, ["input_ids", "text", "findings", "dropped_reasoning"]))
}

fn render_tokens(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    let template = Template::new(artifact)?;
    let composition = composed(&template, params)?;
    Ok(object([("tokens", made(&template.tokens_to_json(&composition, params.profile()?, scratch)?))]))
}

fn assembled(host: &mut Host, params: &Params<'_>) -> Result<Assembly, Fault> {
    assembled_of(host, params, params.text("request")?)
}

fn assembled_of(host: &mut Host, params: &Params<'_>, request: &str) -> Result<Assembly, Fault> {
    let (artifact, scratch) = host.opened(params)?;
    let prompt = Prompt::new(artifact)?;
    Ok(prompt.assemble_json(request.as_bytes(), params.profile()?, params.on_special()?, scratch)?)
}

/// Against a cache that holds the prompt of the request before, or nothing.
fn prompt_delta(host: &mut Host, params: &Params<'_>) -> Answer {
    let cached = match params.value("before")? {
        JsonValue::Text(before) => assembled_of(host, params, before)?.input_ids().iter().map(|id| id.get()).collect(),
        _ => Vec::new(),
    };
    Ok(made(&assembled(host, params)?.delta(&cached).to_json()))
}

fn assemble(host: &mut Host, params: &Params<'_>) -> Answer {
    let JsonValue::Object(members) = made(&assembled(host, params)?.to_json()) else { return Ok(JsonValue::Null) };
    Ok(JsonValue::Object(members.into_iter().filter(|(key, _)| key.text != "tokens").collect()))
}

fn assemble_tokens(host: &mut Host, params: &Params<'_>) -> Answer {
    Ok(object([("tokens", made(&assembled(host, params)?.tokens_json()))]))
}

fn reply(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, _) = host.opened(params)?;
    let template = Template::new(artifact)?;
    let mut reader = ReplyReader::new(&template, params.text("state")?)?;
    let mut calls = Vec::new();
    for call in params.list("calls")? {
        let events = match call {
            JsonValue::Array(elements) => reader.push(&template, &ids(elements)?),
            _ => reader.finish(&template),
        };
        let told = match events {
            Ok(events) => ("events", made(&ReplyEvent::list_to_json(&events))),
            Err(error) => ("error", refusal(&error)),
        };
        calls.push(object([told, ("state", reader.state_name(&template).into())]));
    }
    Ok(object([("calls", list(calls))]))
}

/// Step by step; a refused one changes nothing.
fn session(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    let template = Template::new(artifact)?;
    let options = SessionOptions::from_json(params.json("options")?)?;
    let mut session = Session::new(&template, params.profile()?, options)?;
    let mut steps = Vec::new();
    for asked in params.list("steps")? {
        steps.push(outcome(step(&template, &mut session, asked, scratch))?);
    }
    Ok(object([("steps", list(steps))]))
}

fn step(template: &Template<'_>, session: &mut Session, asked: &JsonValue, scratch: &mut Scratch) -> Answer {
    let step = Params(asked);
    if let JsonValue::Text(word) = asked {
        return match word.as_str() {
            "save" => Ok(object([("checkpoint", session.save(template).into())])),
            "settle" => Ok(delta(&session.settle(template, scratch)?.to_json())),
            "settled" => Ok(delta(&session.settled(template, scratch)?.to_json())),
            _ => Err(Fault::Failure(format!("there is no step {word}"))),
        };
    }
    if let Some(checkpoint) = step.optional_text("restore")? {
        *session = Session::restore(template, checkpoint.as_bytes(), scratch)?;
        return Ok(object([("cached", session.cached_ids().len().into())]));
    }
    if member(asked, "reply").is_some() {
        let events = session.reply(template, &step.ids("reply")?)?;
        return Ok(object([("events", made(&ReplyEvent::list_to_json(&events)))]));
    }
    let thinking = match member(asked, "enable_thinking") {
        Some(JsonValue::Bool(thinking)) => Some(*thinking),
        _ => None,
    };
    Ok(delta(&session.extend(template, step.json("extend")?, thinking, scratch)?.to_json()))
}

/// A delta, what was lost as rows.
fn delta(json: &str) -> JsonValue {
    let JsonValue::Object(mut members) = made(json) else { return JsonValue::Null };
    for (key, value) in &mut members {
        if let (true, JsonValue::Array(losses)) = (key.text == "lost", value) {
            for loss in losses {
                let row =
                    ["message", "ids", "reason"].map(|name| member(loss, name).cloned().unwrap_or(JsonValue::Null));
                *loss = list(row);
            }
        }
    }
    JsonValue::Object(members)
}
