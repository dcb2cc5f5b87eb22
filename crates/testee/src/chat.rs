//! Template2 and replies.

use slm2_core::{Composition, JsonValue, ReplyEvent, ReplyReader, Template};

use crate::params::{Fault, Params, ids, member};
use crate::write::{list, made, object};
use crate::{Answer, Host, Method, refusal};

pub(crate) const METHODS: &[(&str, Method)] = &[("render", render), ("render_tokens", render_tokens), ("reply", reply)];

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
