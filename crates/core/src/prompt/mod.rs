//! Prompt2: what the model may see, in the order of authority and within the budget (contract/prompt.md).
//!
//! A request becomes messages; the template and the encoder make ids of them. Where these are too many, passes give up what has the least
//! authority first, and every step is told.

mod assembly;
mod content;
mod cut;
mod degradation;
mod delta;
mod digest;
mod escape;
mod fields;
mod frame;
mod gather;
mod layout;
mod line;
mod pairing;
mod passes;
mod place;
mod policy;
mod rendering;
mod report;
mod request;

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::artifact::{Artifact, hex, sha256};
use crate::error::{Error, Value};
use crate::error_code::ErrorCode;
use crate::findings::OnSpecial;
use crate::ids::TokenId;
use crate::json::JsonValue;
use crate::template::{Composition, Conversation, Options, Template, compose, rewrites_arguments};
use crate::tokenizer::{Profile, Scratch};
use frame::{Frames, PLACEHOLDER};
use gather::{Finder, Gather, Tally};
use layout::Layout;
use passes::{Kept, Lines, Passes};
use place::PARTS;
use request::Request;

pub use assembly::{Assembly, Escape, PartCount, PromptToken, Range, SourceCount, Step, Stretch};
pub use delta::{Break, PromptDelta};
pub use policy::Policy;

/// About; what is guessed with it costs time alone.
const BYTES_A_TOKEN: usize = 4;

/// The assembler of an artifact. A view of it: cheap to make and to copy.
#[derive(Clone)]
pub struct Prompt<'a> {
    template: Template<'a>,
    artifact: String,
}

/// What counting needs, from one text to the next.
struct Workbench<'w> {
    template: Template<'w>,
    profile: Profile,
    scratch: &'w mut Scratch,
    ids: Vec<TokenId>,
}

impl<'a> Prompt<'a> {
    /// The assembler of an artifact: `no_template` where it has no template.
    pub fn new<B: AsRef<[u8]>>(artifact: &'a Artifact<B>) -> Result<Self, Error> {
        Ok(Self { template: Template::new(artifact)?, artifact: artifact.semantic_digest() })
    }

    /// Assemble a request that is JSON text: what [`JsonValue::from_json`] refuses, or what [`Self::assemble`] does.
    pub fn assemble_json(
        &self,
        request: &[u8],
        profile: Profile,
        on_special: OnSpecial,
        scratch: &mut Scratch,
    ) -> Result<Assembly, Error> {
        self.assemble(JsonValue::from_json(request)?, profile, on_special, scratch)
    }

    /// Assemble a request. The refusals are those of contract/prompt.md; none of them holds text of the policy.
    pub fn assemble(
        &self,
        request: JsonValue,
        profile: Profile,
        on_special: OnSpecial,
        scratch: &mut Scratch,
    ) -> Result<Assembly, Error> {
        let mut request = Request::parse(request, rewrites_arguments(self.template.program))?;
        let digest = digest::of_request(&request);
        let mut bench = Workbench { template: self.template, profile, scratch, ids: Vec::new() };
        let mut conversation = layout::conversation(&mut request);
        let user = request.turns.last().map_or(0, |turn| turn.end) + 1;
        let frames = self.frames(&request, &mut conversation, user)?;
        let whole = Kept::all(&request);
        let layout = Layout::apply(&request, &whole, &mut conversation);
        let composition = self.compose(&request, conversation)?;

        let finder = (on_special == OnSpecial::Reject).then(|| Finder::new(&request, bench.template.tokenizer));
        let mut tally = Tally::new(composition.conversation.messages.len(), finder);
        let mut lines = lines_ahead(&request, &composition, &frames, &mut bench);
        let known = lines.as_mut().map(|lines| (user, lines.take_user_ids()));
        rendering::walk(&composition, &layout, known.as_ref(), &mut tally, &mut bench)?;
        if let Some(found) = tally.finder.take().map(|finder| finder.found).filter(|found| !found.is_empty()) {
            return Err(Error::new(ErrorCode::SpecialTokenInText, [("findings", Value::Findings(found))]));
        }
        let available = request.available();
        let before = tally.by_part;
        let headroom = request.degradation.map_or(0, |floors| floors.headroom);
        let target = passes::target(tally.tokens, available, headroom);
        if tally.tokens <= available {
            let account = Account { digest, before, target, steps: Vec::new(), size: tally.tokens };
            return self.assembly(&request, &whole, (composition, layout), account, &mut bench);
        }
        let Some(floors) = request.degradation else {
            return Err(exceeded(tally.tokens, available, tally.by_part));
        };
        let sizes = (tally.tokens, core::mem::take(&mut tally.by_message));
        let lines = lines.map_or_else(|| Lines::new(&request, &frames, &mut bench), Ok)?;
        let mut passes = Passes::new(&request, &composition, lines, sizes, &mut bench);
        let size = passes.run(&floors)?;
        let (kept, steps) = (passes.kept, passes.steps);
        let mut conversation = composition.conversation;
        let layout = Layout::apply(&request, &kept, &mut conversation);
        let composition = self.compose(&request, conversation)?;
        if size > available {
            let mut tally = Tally::new(0, None);
            rendering::walk(&composition, &layout, None, &mut tally, &mut bench)?;
            return Err(exceeded(tally.tokens, available, tally.by_part));
        }
        let account = Account { digest, before, target, steps, size };
        let assembly = self.assembly(&request, &kept, (composition, layout), account, &mut bench)?;
        // The passes counted as they went; the ids must be as many.
        if assembly.ids.len() == size { Ok(assembly) } else { Err(Error::internal("prompt: size after the passes")) }
    }

    fn frames(&self, request: &Request, conversation: &mut Conversation, user: usize) -> Result<Frames, Error> {
        for index in [0, user] {
            if let Some(message) = conversation.messages.get_mut(index) {
                Arc::make_mut(message).content = PLACEHOLDER.to_string();
            }
        }
        let composition = self.compose(request, core::mem::take(conversation))?;
        let frames = Frames::of(&self.template, &composition, user);
        *conversation = composition.conversation;
        frames
    }

    /// What the template makes of the messages; a refusal names the part of the request.
    fn compose(&self, request: &Request, conversation: Conversation) -> Result<Composition, Error> {
        let options = Options {
            enable_thinking: Some(request.enable_thinking),
            add_generation_prompt: true,
            preserve_thinking: request.preserve_thinking,
            ..Options::default()
        };
        let before_steps = request.turns.last().map_or(0, |turn| turn.end) + 2;
        compose(self.template.program, conversation, options).map_err(|error| {
            let index = error.fields.iter().find_map(|field| match field {
                ("index", Value::Int(index)) => Some(*index),
                _ => None,
            });
            match index {
                Some(index) if index >= before_steps as u64 => request::located(error, "steps", before_steps),
                Some(_) => request::located(error, "history", 1),
                None => error,
            }
        })
    }

    fn assembly(
        &self,
        request: &Request,
        kept: &Kept,
        (composition, layout): (Composition, Layout),
        account: Account,
        bench: &mut Workbench<'_>,
    ) -> Result<Assembly, Error> {
        let mut gather = Gather::new(request, self.template.tokenizer, account.size);
        rendering::walk(&composition, &layout, None, &mut gather, bench)?;
        let ids = core::mem::take(&mut gather.ids);
        let mut bytes = Vec::with_capacity(4 * ids.len());
        for id in &ids {
            bytes.extend_from_slice(&id.get().to_le_bytes());
        }
        let parts = account.parts(&gather);
        let turns = (request.turns.len(), request.turns.len() - kept.turns_out);
        Ok(Assembly {
            state: self.template.state_name(&composition).to_string(),
            dropped_reasoning: gather::dropped(&layout, request, composition.dropped_reasoning()),
            escapes: escapes(request, kept),
            context: request.budget.context,
            reserve: request.budget.reserve,
            policy: (request.policy.digest(), request.policy.length()),
            policy_findings: gather.finder.in_policy,
            findings: gather.finder.found,
            digests: [account.digest, self.artifact.clone(), hex(&sha256(&bytes), "")],
            parts,
            target: account.target,
            turns,
            steps: account.steps,
            rows: gather.rows,
            speakers: gather.speakers,
            ranges: gather.ranges,
            names: gather.names,
            places: gather.places,
            sources: gather.sources,
            ids,
        })
    }
}

/// What is known of an assembly before its tokens are.
struct Account {
    digest: String,
    before: [usize; PARTS.len()],
    target: usize,
    steps: Vec<Step>,
    /// Tokens.
    size: usize,
}

impl Account {
    /// P-74.
    fn parts(&self, gather: &Gather<'_, '_>) -> Vec<PartCount> {
        let mut after = [0; PARTS.len()];
        let mut begins = [None; PARTS.len()];
        let mut position = 0;
        for run in gather.rows.chunk_by(|left, right| left.speaker == right.speaker) {
            let part = run.first().map_or(PARTS.len(), |row| gather.part_of(*row));
            if let (Some(count), Some(first)) = (after.get_mut(part), begins.get_mut(part)) {
                *count += run.len();
                first.get_or_insert(position);
            }
            position += run.len();
        }
        let rows = PARTS.iter().zip(self.before).zip(after.iter().zip(begins));
        rows.map(|((part, before), (after, begins))| PartCount { part, before, after: *after, begins }).collect()
    }
}

/// What the passes need, where they will probably be needed: the ids of the user's text are then made once and not twice. A text that
/// is refused is refused again where its turn comes.
fn lines_ahead(
    request: &Request,
    composition: &Composition,
    frames: &Frames,
    bench: &mut Workbench<'_>,
) -> Option<Lines> {
    let bytes: usize = composition.conversation.messages.iter().map(|message| message.content.len()).sum();
    let is_likely = request.degradation.is_some() && bytes / BYTES_A_TOKEN > request.available();
    (is_likely && bench.profile == Profile::Contract).then(|| Lines::new(request, frames, bench).ok()).flatten()
}

/// P-45: in the order of the prompt, of what was not cut off.
fn escapes(request: &Request, kept: &Kept) -> Vec<Escape> {
    let mut escapes = Vec::new();
    let mut tell = |place: place::Place, end: usize| {
        let Some(text) = place.escaped(request) else { return };
        let source = place.source(request);
        let there = text.escapes.iter().take_while(|at| **at < end);
        escapes.extend(there.map(|&offset| Escape { source: source.clone(), offset }));
    };
    for rank in 0..kept.facts {
        tell(place::Place::FactValue(layout::number(rank)), usize::MAX);
    }
    for (rank, chunk) in request.retrieved.iter().enumerate().take(kept.chunks) {
        let end = kept.cut_of_chunk(rank).map_or(usize::MAX, |cut| chunk.text.as_given(cut, false));
        tell(place::Place::ChunkText(layout::number(rank)), end);
    }
    escapes
}

/// P-72.
fn exceeded(needed: usize, available: usize, by_part: [usize; PARTS.len()]) -> Error {
    let parts = PARTS.iter().zip(by_part).map(|(part, tokens)| (*part, tokens as u64)).collect();
    let fields = [("needed", needed.into()), ("available", available.into()), ("parts", Value::Counts(parts))];
    Error::new(ErrorCode::BudgetExceeded, fields)
}
