//! Generations (contract/sampling.md, S-80) and conversations that keep their cache (contract/template.md).

use slm2_core::{
    Delta, EndReason, Error, Generation as CoreGeneration, ReplyEvent, Scratch, Session as CoreSession, SessionOptions, Template,
    Tokenizer, sampling::GenerationConfig,
};

use crate::context::{Context, Status, call};
use crate::contract::{Contract, Opened, json, profile, special};
use crate::memory::{free, put, put_handle, shared, slice, unique, usable};
use crate::sampling::{Sample, Sampler};

/// A sampler and a strict stream decoder, from logits to text. Made with [`slm2_generation_new`].
pub struct Generation {
    opened: Opened,
    generation: CoreGeneration,
}

/// A conversation that keeps its cache. Made with [`slm2_session_new`].
pub struct Session {
    opened: Opened,
    session: CoreSession,
}

/// The generation goes on.
pub const SLM2_GOES_ON: u32 = 0;
/// An id of `stop_ids` was drawn.
pub const SLM2_STOP_TOKEN: u32 = 1;
/// `max_tokens` ids were drawn.
pub const SLM2_MAX_TOKENS: u32 = 2;
/// A text of `stop_strings` came.
pub const SLM2_STOP_STRING: u32 = 3;
/// What came is no text.
pub const SLM2_FATAL_ERROR: u32 = 4;
/// Nothing is said about thinking: it is the model's choice, or what the session was made with.
pub const SLM2_UNSAID: i32 = -1;

/// A generation of a configuration in JSON, with the arguments of `slm2_sampler_new` and what becomes of ids of special tokens that do
/// not stop it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generation_new(
    context: *mut Context, contract: *const Contract, special: u32, config: *const u8, length: usize, prompt: *const u32, count: usize,
    width: usize, generation: *mut *mut Generation,
) -> Status {
    let made = || unsafe {
        let opened = shared(contract, "contract")?.0.clone();
        let config = GenerationConfig::from_json(&json(config, length, "config")?)?;
        let (prompt, limit) = (slice(prompt, count, "prompt")?, opened.token_limit() as usize);
        let generation = CoreGeneration::with_width(config, prompt, self::special(special)?, width, limit)?;
        Ok(Generation { opened, generation })
    };
    unsafe { call(context, |_| put_handle(generation, made())) }
}

/// Free it; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generation_free(generation: *mut Generation) {
    unsafe { free(generation) }
}

/// Draw an id and deliver the text that became complete with it, as UTF-8; `reason` is [`SLM2_GOES_ON`], or why it ended.
///
/// The refusals of `slm2_sampler_sample` change nothing; those of the stream decoder (`structural_id`) end it without a reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generation_step(
    context: *mut Context, generation: *mut Generation, logits: *const f32, width: usize, allowed: *const u8, allowed_length: usize,
    top: usize, sample: *mut Sample, reason: *mut u32, text: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let (Generation { opened, generation }, logits) = (unique(generation, "generation")?, slice(logits, width, "logits")?);
        let mask = slice(allowed, allowed_length, "allowed")?;
        // Nothing is drawn that could not be told.
        usable(sample, "sample")?;
        usable(length, "length")?;
        put(reason, "reason", SLM2_GOES_ON)?;
        let step = generation.step(&Tokenizer::new(opened), logits, (!allowed.is_null()).then_some(mask), top)?;
        put(sample, "sample", Sample::of(&step.outcome))?;
        let ended = step.reason.map_or(SLM2_GOES_ON, |reason| match reason {
            EndReason::StopToken => SLM2_STOP_TOKEN,
            EndReason::MaxTokens => SLM2_MAX_TOKENS,
            EndReason::StopString => SLM2_STOP_STRING,
            EndReason::FatalError => SLM2_FATAL_ERROR,
        });
        put(reason, "reason", ended)?;
        context.give(step.text.into_bytes(), text, capacity, length)
    };
    unsafe { call(context, work) }
}

/// Its sampler: what was kept, the most probable ids, the state of the generator. It lives as long as the generation and is not freed by
/// itself; ids are drawn with [`slm2_generation_step`] alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generation_sampler(context: *mut Context, generation: *mut Generation, sampler: *mut *mut Sampler) -> Status {
    let work = |_: &mut Context| unsafe {
        let inner = unique(generation, "generation")?.generation.sampler_mut();
        put(sampler, "sampler", std::ptr::from_mut(inner).cast())
    };
    unsafe { call(context, work) }
}

/// The generation so far as JSON: `ids`, `text`, `reason`, `stopped_by`, `stop_string`, `pending` (hex), `profile`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generation_result(
    context: *mut Context, generation: *const Generation, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let result = shared(generation, "generation")?.generation.result_to_json();
        context.give(result.into_bytes(), json, capacity, length)
    };
    unsafe { call(context, work) }
}

/// A session without a message, of options in JSON: an object of `tools`, `enable_thinking`, `preserve_thinking`, all of which may be
/// absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_session_new(
    context: *mut Context, contract: *const Contract, profile: u32, options: *const u8, length: usize, session: *mut *mut Session,
) -> Status {
    let made = || unsafe {
        let contract = shared(contract, "contract")?;
        let options = SessionOptions::from_json(json(options, length, "options")?)?;
        let session = CoreSession::new(&contract.template()?, self::profile(profile)?, options)?;
        Ok(Session { opened: contract.0.clone(), session })
    };
    unsafe { call(context, |_| put_handle(session, made())) }
}

/// The session of a checkpoint (`checkpoint_refused`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_session_restore(
    context: *mut Context, contract: *const Contract, checkpoint: *const u8, length: usize, session: *mut *mut Session,
) -> Status {
    let made = |context: &mut Context| unsafe {
        let (contract, data) = (shared(contract, "contract")?, slice(checkpoint, length, "checkpoint")?);
        let restored = CoreSession::restore(&contract.template()?, data, context.scratch()?)?;
        Ok(Session { opened: contract.0.clone(), session: restored })
    };
    unsafe { call(context, |context| put_handle(session, made(context))) }
}

/// Another one that goes on from here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_session_fork(context: *mut Context, session: *const Session, fork: *mut *mut Session) -> Status {
    let made = || unsafe { shared(session, "session") };
    let made = || made().map(|session| Session { opened: session.opened.clone(), session: session.session.clone() });
    unsafe { call(context, |_| put_handle(fork, made())) }
}

/// Free it; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_session_free(session: *mut Session) {
    unsafe { free(session) }
}

unsafe fn delta(
    context: *mut Context, session: *mut Session, out: (*mut u8, usize, *mut usize),
    work: &dyn Fn(&mut CoreSession, &Template<'_>, &mut Scratch) -> Result<Delta, Error>,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let Session { opened, session } = unique(session, "session")?;
        let delta = work(session, &Template::new(opened)?, context.scratch()?)?;
        context.give(delta.to_json().into_bytes(), out.0, out.1, out.2)
    };
    unsafe { call(context, work) }
}

/// Add messages, a JSON array, and ask for a reply: what to do with the model's cache as JSON, `keep`, `append`, `lost` and `state`.
/// `enable_thinking` is 0, 1 or [`SLM2_UNSAID`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_session_extend(
    context: *mut Context, session: *mut Session, messages: *const u8, messages_length: usize, enable_thinking: i32, json: *mut u8,
    capacity: usize, length: *mut usize,
) -> Status {
    let work = |session: &mut CoreSession, template: &Template<'_>, scratch: &mut Scratch| {
        let thinking = match enable_thinking {
            SLM2_UNSAID => None,
            0 | 1 => Some(enable_thinking == 1),
            other => return Err(Error::invalid_value("enable_thinking", "0, 1 or -1", &other.to_string())),
        };
        let messages = unsafe { self::json(messages, messages_length, "messages") }?;
        session.extend(template, messages, thinking, scratch)
    };
    unsafe { delta(context, session, (json, capacity, length), &work) }
}

/// Add the reply to the last prompt by its ids: events as of `slm2_reply_push`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_session_reply(
    context: *mut Context, session: *mut Session, ids: *const u32, count: usize, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let Session { opened, session } = unique(session, "session")?;
        let events = session.reply(&Template::new(opened)?, slice(ids, count, "ids")?)?;
        context.give(ReplyEvent::list_to_json(&events).into_bytes(), json, capacity, length)
    };
    unsafe { call(context, work) }
}

/// The prompt up to the last turn as it is once a user turn follows; nothing changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_session_settled(
    context: *mut Context, session: *mut Session, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    unsafe { delta(context, session, (json, capacity, length), &|session, template, scratch| session.settled(template, scratch)) }
}

/// The same, and the cache holds it from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_session_settle(
    context: *mut Context, session: *mut Session, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    unsafe { delta(context, session, (json, capacity, length), &CoreSession::settle) }
}

/// A checkpoint: JSON that [`slm2_session_restore`] takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_session_save(
    context: *mut Context, session: *const Session, checkpoint: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let Session { opened, session } = shared(session, "session")?;
        let saved = session.save(&Template::new(opened)?);
        context.give(saved.into_bytes(), checkpoint, capacity, length)
    };
    unsafe { call(context, work) }
}

/// What the model's cache holds when every delta was followed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_session_cached_ids(
    context: *mut Context, session: *const Session, ids: *mut u32, capacity: usize, count: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let cached = shared(session, "session")?.session.cached_ids();
        context.give_ids(&cached, ids, capacity, count)
    };
    unsafe { call(context, work) }
}

/// The conversation so far, a JSON array of messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_session_messages(
    context: *mut Context, session: *const Session, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let messages = shared(session, "session")?.session.messages().collect::<Vec<_>>().join(", ");
        context.give(format!("[{messages}]").into_bytes(), json, capacity, length)
    };
    unsafe { call(context, work) }
}
