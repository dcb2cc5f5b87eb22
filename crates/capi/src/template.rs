//! Conversations to ids, and replies to events (contract/template.md).

use slm2_core::{Composition, Error, Profile, ReplyEvent, ReplyReader, Template};

use crate::context::{Context, Status, call};
use crate::contract::{Contract, Opened, json, profile};
use crate::memory::{free, put_handle, shared, slice, unique};
use crate::tokenizer::on_special;

/// What the template made of a conversation. Made with [`slm2_render`].
pub struct Rendering {
    opened: Opened,
    composition: Composition,
    profile: Profile,
}

/// A reader of one reply. Made with [`slm2_reply_new`].
pub struct Reply {
    opened: Opened,
    reader: ReplyReader,
}

/// Render a request: JSON, an object with `messages`, and what else contract/template.md has. The refusals are those of that page.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_render(
    context: *mut Context, contract: *const Contract, profile: u32, on_special: u32, request: *const u8, length: usize,
    rendering: *mut *mut Rendering,
) -> Status {
    let made = || unsafe {
        let (contract, request) = (shared(contract, "contract")?, json(request, length, "request")?);
        let (profile, on_special) = (self::profile(profile)?, self::on_special(on_special)?);
        let template = contract.template()?;
        let composition = template.compose(request)?;
        template.check_special(&composition, on_special)?;
        Ok(Rendering { opened: contract.0.clone(), composition, profile })
    };
    unsafe { call(context, |_| put_handle(rendering, made())) }
}

/// Free it; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_rendering_free(rendering: *mut Rendering) {
    unsafe { free(rendering) }
}

/// The ids of the prompt.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_rendering_ids(
    context: *mut Context, rendering: *const Rendering, ids: *mut u32, capacity: usize, count: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let rendering = shared(rendering, "rendering")?;
        let mut found = Vec::new();
        Template::new(&rendering.opened)?.ids_into(&rendering.composition, rendering.profile, context.scratch()?, &mut found)?;
        context.give_ids(&found, ids, capacity, count)
    };
    unsafe { call(context, work) }
}

/// All of it but the tokens as JSON: `input_ids`, `text`, `findings`, `policy_findings`, `dropped_reasoning`, `state`, `path`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_rendering_json(
    context: *mut Context, rendering: *const Rendering, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let rendering = shared(rendering, "rendering")?;
        let template = Template::new(&rendering.opened)?;
        let text = template.rendering_to_json(&rendering.composition, rendering.profile, context.scratch()?)?;
        context.give(text.into_bytes(), json, capacity, length)
    };
    unsafe { call(context, work) }
}

/// Each id with its origin as JSON: arrays of id, role, part, trust class, message (or null) and ranges (source, start, end).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_rendering_tokens(
    context: *mut Context, rendering: *const Rendering, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let rendering = shared(rendering, "rendering")?;
        let template = Template::new(&rendering.opened)?;
        let text = template.tokens_to_json(&rendering.composition, rendering.profile, context.scratch()?)?;
        context.give(text.into_bytes(), json, capacity, length)
    };
    unsafe { call(context, work) }
}

/// A reader of the reply to a prompt that ended in a state of the template's machine, by its name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_reply_new(
    context: *mut Context, contract: *const Contract, state: *const u8, length: usize, reply: *mut *mut Reply,
) -> Status {
    let made = || unsafe {
        let (contract, state) = (shared(contract, "contract")?, slice(state, length, "state")?);
        let reader = ReplyReader::new(&contract.template()?, &String::from_utf8_lossy(state))?;
        Ok(Reply { opened: contract.0.clone(), reader })
    };
    unsafe { call(context, |_| put_handle(reply, made())) }
}

/// Free it; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_reply_free(reply: *mut Reply) {
    unsafe { free(reply) }
}

/// A step of a reader.
type Reads<'a> = dyn Fn(&mut ReplyReader, &Template<'_>) -> Result<Vec<ReplyEvent>, Error> + 'a;

unsafe fn said(context: *mut Context, reply: *mut Reply, out: (*mut u8, usize, *mut usize), work: &Reads<'_>) -> Status {
    let work = |context: &mut Context| unsafe {
        let reply = unique(reply, "reply")?;
        let events = work(&mut reply.reader, &Template::new(&reply.opened)?)?;
        context.give(ReplyEvent::list_to_json(&events).into_bytes(), out.0, out.1, out.2)
    };
    unsafe { call(context, work) }
}

/// What ids say, as a JSON array of events: `kind`, and what is not empty of `text`, `ids`, `name`, `arguments`, `reason`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_reply_push(
    context: *mut Context, reply: *mut Reply, ids: *const u32, count: usize, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    unsafe { said(context, reply, (json, capacity, length), &|reader, template| reader.push(template, slice(ids, count, "ids")?)) }
}

/// The end, where no token ended the turn, as the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_reply_finish(
    context: *mut Context, reply: *mut Reply, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    unsafe { said(context, reply, (json, capacity, length), &ReplyReader::finish) }
}

/// What was said so far as a message for `slm2_render`, in JSON; calls that are none are not in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_reply_message(
    context: *mut Context, reply: *const Reply, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let message = shared(reply, "reply")?.reader.message_json();
        context.give(message.into_bytes(), json, capacity, length)
    };
    unsafe { call(context, work) }
}

/// The name of the state in which the machine is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_reply_state(
    context: *mut Context, reply: *const Reply, name: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let reply = shared(reply, "reply")?;
        let state = reply.reader.state_name(&Template::new(&reply.opened)?).as_bytes().to_vec();
        context.give(state, name, capacity, length)
    };
    unsafe { call(context, work) }
}
