//! Running the machine over messages, and cutting what it emits into chunks.
//!
//! Of what the machine emits only ids are wanted here, so that no item with an origin is made, as a rendering makes them; that both
//! come to the same ids is what `tests/property/test_sessions.py` and `test_session_programs.py` ask.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::chunks::{Chunk, Kept, end_of};
use crate::artifact::template::{Action, Op, PARTS};
use crate::error::Error;
use crate::ids::TokenId;
use crate::template::Template;
use crate::template::compose::{field, rule};
use crate::template::events::{CallPlace, Stretch, Symbol};
use crate::template::messages::Conversation;
use crate::tokenizer::{Profile, Scratch};

/// What the machine emits, in the form of its ids.
enum Step {
    Id(TokenId),
    Literal(u8),
    /// Never empty.
    Field(Stretch),
}

/// Where a chunk begins.
struct Beginning {
    message: usize,
    before: u8,
    unanswered: Box<[CallPlace]>,
}

/// What the ids are made with.
pub(super) struct Workshop<'w> {
    pub(super) template: &'w Template<'w>,
    pub(super) profile: Profile,
    pub(super) conversation: &'w Conversation,
    pub(super) scratch: &'w mut Scratch,
}

pub(super) struct Builder<'w> {
    workshop: Workshop<'w>,
    /// Of the machine.
    pub(super) state: u8,
    /// Those after the chunks that are kept.
    chunks: Vec<Arc<Chunk>>,
    /// Ids up to the last chunk.
    end: usize,
    text: Vec<u8>,
    ids: Vec<TokenId>,
    begun: Option<Beginning>,
    next: Option<Beginning>,
    reasons: bool,
}

impl<'w> Builder<'w> {
    /// Go on after the chunks that are kept.
    pub(super) fn new(workshop: Workshop<'w>, kept: &Kept<'_>) -> Self {
        Self {
            workshop,
            state: kept.state,
            chunks: Vec::new(),
            end: end_of(kept.chunks),
            text: Vec::new(),
            ids: Vec::new(),
            begun: None,
            next: None,
            reasons: false,
        }
    }

    /// A message begins; its chunk does where its first item is known not to join what is before.
    pub(super) fn begin(&mut self, message: usize, unanswered: &[CallPlace]) {
        self.next = Some(Beginning { message, before: self.state, unanswered: unanswered.into() });
    }

    /// Run the machine over the events of a message.
    pub(super) fn take(&mut self, symbols: &[Symbol]) -> Result<(), Error> {
        let (steps, reasons) = self.run(symbols)?;
        self.cut(&steps)?;
        self.reasons |= reasons;
        self.add(&steps)
    }

    /// A reply by its ids: its head and itself as they were, then the end of the turn as the template has it.
    pub(super) fn take_record(&mut self, symbols: &[Symbol], ids: &[&[TokenId]], ended: bool) -> Result<(), Error> {
        let (events, close) = symbols.split_at(symbols.len().saturating_sub(1));
        let (steps, _) = self.run(events)?;
        let (end, _) = self.run(close)?;
        self.cut(&steps)?;
        self.flush()?;
        for part in ids {
            self.ids.extend_from_slice(part);
        }
        self.reasons = true;
        self.add(if ended { end.get(1..).unwrap_or_default() } else { &end })
    }

    /// The chunk of events that are no message's, after the last one: a generation prompt, which begins with a structural id.
    pub(super) fn prompt(&mut self, symbols: &[Symbol], message: usize) -> Result<Chunk, Error> {
        let (steps, _) = self.run(symbols)?;
        self.add(&steps)?;
        self.flush()?;
        let ids = core::mem::take(&mut self.ids).into_boxed_slice();
        let (before, end) = (self.state, self.end + ids.len());
        Ok(Chunk { message, ids, before, unanswered: Box::default(), end, reasons: false, waits: true, is_open: false })
    }

    /// The chunks after those that are kept, the last one whole.
    pub(super) fn finished(&mut self) -> Result<Vec<Arc<Chunk>>, Error> {
        self.finish()?;
        Ok(core::mem::take(&mut self.chunks))
    }

    fn finish(&mut self) -> Result<(), Error> {
        let is_open = !self.text.is_empty();
        self.flush()?;
        let ids = core::mem::take(&mut self.ids).into_boxed_slice();
        let reasons = core::mem::take(&mut self.reasons);
        if let Some(Beginning { message, before, unanswered }) = self.begun.take() {
            self.end += ids.len();
            let end = self.end;
            self.chunks.push(Arc::new(Chunk { message, ids, before, unanswered, end, reasons, waits: false, is_open }));
        }
        Ok(())
    }

    /// What the events emit, and whether a think block is among it.
    fn run(&mut self, symbols: &[Symbol]) -> Result<(Vec<Step>, bool), Error> {
        let (program, conversation) = (self.workshop.template.program, self.workshop.conversation);
        let (mut steps, mut reasons, mut state) = (Vec::new(), false, self.state);
        for symbol in symbols {
            let rule = rule(program, conversation, state, symbol)?;
            for action in &rule.actions {
                match action.op {
                    Op::Mark => {
                        reasons |= is_reasoning(*action);
                        let mark = program.marks.get(usize::from(action.argument));
                        steps.extend(mark.map(|(_, id)| Step::Id(*id)));
                    }
                    Op::Literal => steps.push(Step::Literal(action.argument)),
                    Op::Field => steps.extend(field(*action, symbol, conversation).map(Step::Field)),
                    Op::Drop => {}
                }
            }
            state = rule.target;
        }
        self.state = state;
        Ok((steps, reasons))
    }

    /// End the chunk before a message, unless text would be encoded across.
    fn cut(&mut self, steps: &[Step]) -> Result<(), Error> {
        let begins_with_text = matches!(steps.first(), Some(Step::Literal(_) | Step::Field(_)));
        if self.begun.is_none() || self.text.is_empty() || !begins_with_text {
            self.finish()?;
            self.begun = self.next.take();
        }
        Ok(())
    }

    /// Structural ids end a run of text; the last run stays open.
    fn add(&mut self, steps: &[Step]) -> Result<(), Error> {
        for step in steps {
            match step {
                Step::Id(id) => {
                    self.flush()?;
                    self.ids.push(*id);
                }
                Step::Literal(number) => {
                    self.text.extend_from_slice(self.workshop.template.program.literal(*number));
                }
                Step::Field(stretch) => {
                    self.text.extend_from_slice(stretch.text(self.workshop.conversation).as_bytes());
                }
            }
        }
        Ok(())
    }

    /// Encode the text that is open.
    fn flush(&mut self) -> Result<(), Error> {
        if !self.text.is_empty() {
            let Workshop { template, profile, ref mut scratch, .. } = self.workshop;
            template.tokenizer.encode_into(&self.text, profile, scratch, &mut self.ids)?;
            self.text.clear();
        }
        Ok(())
    }
}

fn is_reasoning(action: Action) -> bool {
    PARTS.get(usize::from(action.part)) == Some(&"reasoning")
}
