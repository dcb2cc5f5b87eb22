//! How many tokens a text of many parts has, kept while parts change (contract/prompt.md, P-73).
//!
//! Between two parts stands what the encoder has not decided yet. A part that changed is encoded again from there on, and the parts after
//! it only as long as something else waits before them than before: the number is that of the whole text encoded at once, and never a sum
//! over parts encoded apart.

use alloc::string::String;
use alloc::vec::Vec;

use super::Workbench;
use crate::error::Error;
use crate::ids::TokenId;
use crate::tokenizer::ChunkEncoder;

struct Part {
    text: String,
    /// The encoder before this part.
    before: ChunkEncoder,
    /// Ids that became certain with this part.
    tokens: usize,
}

/// A text in parts, and its tokens.
pub(super) struct Line {
    parts: Vec<Part>,
    /// The text's ids as it began, until they are taken.
    ids: Vec<TokenId>,
    /// Ids of what waits after the last part.
    rest: usize,
    total: usize,
}

impl Line {
    pub(super) fn new(texts: impl Iterator<Item = String>, bench: &mut Workbench<'_>) -> Result<Self, Error> {
        let part = |text| Part { text, before: ChunkEncoder::new(bench.profile), tokens: 0 };
        let mut line = Self { parts: texts.map(part).collect(), ids: Vec::new(), rest: 0, total: 0 };
        let mut encoder = ChunkEncoder::new(bench.profile);
        for part in &mut line.parts {
            part.before = encoder.clone();
            let before = line.ids.len();
            encoder.push(&bench.template.tokenizer, part.text.as_bytes(), bench.scratch, &mut line.ids)?;
            part.tokens = line.ids.len() - before;
        }
        let before = line.ids.len();
        encoder.rest(&bench.template.tokenizer, bench.scratch, &mut line.ids)?;
        (line.rest, line.total) = (line.ids.len() - before, line.ids.len());
        Ok(line)
    }

    /// The ids of the whole text, once.
    pub(super) fn take_ids(&mut self) -> Vec<TokenId> {
        core::mem::take(&mut self.ids)
    }

    pub(super) const fn total(&self) -> usize {
        self.total
    }

    /// Put another text in the place of a part.
    pub(super) fn replace(&mut self, at: usize, text: String, bench: &mut Workbench<'_>) -> Result<(), Error> {
        let Some(part) = self.parts.get_mut(at) else { return Ok(()) };
        part.text = text;
        let before = part.before.clone();
        self.encode(at, at + 1, before, bench)
    }

    /// Take a part out.
    pub(super) fn remove(&mut self, at: usize, bench: &mut Workbench<'_>) -> Result<(), Error> {
        if at >= self.parts.len() {
            return Ok(());
        }
        let part = self.parts.remove(at);
        self.total -= part.tokens;
        self.encode(at, at, part.before, bench)
    }

    /// Encode from a part on, before which `encoder` stands; from part `changed` on only until one is reached that goes on as it did.
    fn encode(
        &mut self,
        from: usize,
        changed: usize,
        mut encoder: ChunkEncoder,
        bench: &mut Workbench<'_>,
    ) -> Result<(), Error> {
        for (at, part) in self.parts.iter_mut().enumerate().skip(from) {
            if at >= changed && part.before.goes_on_as(&encoder) {
                return Ok(());
            }
            part.before = encoder.clone();
            bench.ids.clear();
            encoder.push(&bench.template.tokenizer, part.text.as_bytes(), bench.scratch, &mut bench.ids)?;
            self.total = self.total - part.tokens + bench.ids.len();
            part.tokens = bench.ids.len();
        }
        bench.ids.clear();
        encoder.rest(&bench.template.tokenizer, bench.scratch, &mut bench.ids)?;
        self.total = self.total - self.rest + bench.ids.len();
        self.rest = bench.ids.len();
        Ok(())
    }
}
