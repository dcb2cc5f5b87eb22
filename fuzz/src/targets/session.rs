//! Sessions: programs of messages, replies, cuts, forks, settled forms and checkpoints, in which refused steps stand anywhere.
//!
//! Input: settings (bit 0: profile, bit 1: `preserve_thinking`, bits 2 and 3: `enable_thinking`, bit 4: a tool), then steps: a byte for the
//! kind of step, a byte for the number of pieces of its text, and a byte for each piece.

use slm2_core::{Delta, JsonValue, Scratch, Session, SessionOptions, Template, TokenId};

use crate::input::Input;
use crate::worlds::{NO_LIMIT, PROFILES, World, numbers, scratch};

/// Pieces of text; those of special tokens are tokens in replies, and text in messages. What replies are made of stands there more than
/// once, so that loops over tools come about.
const PIECES: [&str; 26] = [
    "<think>\nR\n</think>\n\n",
    "<think>\nR\n</think>\n\n",
    "<think>\nR\n</think>\n\n",
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>",
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>",
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>",
    "hi",
    " ",
    "\n",
    "\n\n",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<|im_end|>",
    "<|im_start|>",
    "<tool_response>",
    "</tool_response>",
    "{\"name\": \"f\", \"arguments\": {}}",
    "{\"name\":\"f\",\"arguments\":{\"a\":1e5}}",
    "\"",
    "\\",
    "🙂",
    "e\u{301}",
    "日本",
    "\u{0}",
];
const MOST_STEPS: usize = 24;

/// The target.
///
/// # Panics
/// Where something does not hold.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let settings = input.byte();
    let world = World::chosen(false);
    let template = Template::new(&world.artifact).expect("the artifact of the package has a template");
    let mut program = Program::new(&template, settings);
    for _ in 0..MOST_STEPS {
        if input.0.is_empty() {
            break;
        }
        program.step(&mut input);
    }
}

struct Program<'t> {
    template: &'t Template<'t>,
    session: Session,
    /// The cache of a model that follows every delta.
    cache: Vec<u32>,
    preserves: bool,
    settings: u8,
    scratch: Scratch,
}

impl<'t> Program<'t> {
    fn new(template: &'t Template<'t>, settings: u8) -> Self {
        let tools = if settings & 16 == 0 { "null" } else { "[{\"type\": \"function\"}]" };
        let preserves = settings & 2 != 0;
        let options = SessionOptions {
            tools: json(tools),
            enable_thinking: thinking(settings >> 2),
            preserve_thinking: preserves,
        };
        let profile = PROFILES[usize::from(settings & 1)];
        let session = Session::new(template, profile, options).expect("no tools to refuse");
        Self { template, session, cache: Vec::new(), preserves, settings, scratch: scratch(NO_LIMIT) }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let before = self.session.save(self.template);
        let kind = input.byte();
        let pieces = input.byte() & 7;
        let text: String =
            input.bytes(pieces.into()).iter().map(|&at| PIECES[usize::from(at) % PIECES.len()]).collect();
        let taken = match kind % 8 {
            0..=2 => self.extend(&text, kind),
            3 | 4 => self.reply(&text, kind),
            5 => self.settle(kind),
            6 => self.restore(&before),
            _ => self.forge(&before, kind, &text),
        };
        assert!(taken || self.session.save(self.template) == before, "a refused step changed the session");
        assert_eq!(numbers(&self.session.cached_ids()), self.cache, "the cache is not what the deltas say");
    }

    fn extend(&mut self, text: &str, kind: u8) -> bool {
        let role = ["user", "user", "tool", "system", "assistant", "nobody"][usize::from(kind >> 3) % 6];
        let content = JsonValue::from(text).to_json();
        let message = format!("{{\"role\": \"{role}\", \"content\": {content}}}");
        let question = "{\"role\": \"user\", \"content\": \"q\"}";
        let messages = if kind & 0x40 == 0 { format!("[{message}]") } else { format!("[{message}, {question}]") };
        let own = thinking(kind >> 6);
        let lost = self.cache.len();
        let Ok(delta) = self.session.extend(self.template, json(&messages), own, &mut self.scratch) else {
            return false;
        };
        assert_eq!(delta.lost.iter().map(|loss| loss.ids).sum::<usize>(), lost - delta.keep, "losses do not add up");
        self.follow(&delta);
        if !self.preserves {
            self.assert_from_scratch(own.or(thinking(self.settings >> 2)));
        }
        true
    }

    /// Without `preserve_thinking` the cache is the prompt that the template makes of all messages.
    fn assert_from_scratch(&mut self, enable_thinking: Option<bool>) {
        let messages: Vec<&str> = self.session.messages().collect();
        let tools = if self.settings & 16 == 0 { "null" } else { "[{\"type\": \"function\"}]" };
        let thinking = enable_thinking.map_or("null".to_owned(), |thinking| thinking.to_string());
        let request = format!(
            "{{\"messages\": [{}], \"tools\": {tools}, \"enable_thinking\": {thinking}, \"add_generation_prompt\": true}}",
            messages.join(", ")
        );
        let composition = self.template.compose(json(&request)).expect("what a session takes is no other conversation");
        let mut ids: Vec<TokenId> = Vec::new();
        let profile = PROFILES[usize::from(self.settings & 1)];
        self.template.ids_into(&composition, profile, &mut self.scratch, &mut ids).expect("no piece is too long");
        assert_eq!(numbers(&ids), self.cache, "a prompt is not what the template makes of its messages");
    }

    fn reply(&mut self, text: &str, kind: u8) -> bool {
        let ids = World::chosen(false).tokenizer().encode_trusted(text.as_bytes(), PROFILES[0], &mut self.scratch);
        let mut ids = numbers(&ids.expect("no piece is too long"));
        match kind >> 6 {
            0 => ids.push(151_645),
            // Cut, perhaps inside a character.
            1 => drop(ids.pop()),
            // 9284 opens a scalar value.
            2 => ids.extend([9284, u32::from(kind)]),
            _ => {}
        }
        let Ok(events) = self.session.reply(self.template, &ids) else { return false };
        let told: Vec<u32> = events.iter().flat_map(|event| event.ids.iter().copied()).collect();
        assert_eq!(told, ids, "events do not tell all ids");
        self.cache.extend(ids);
        true
    }

    fn settle(&mut self, kind: u8) -> bool {
        let told = self.session.settled(self.template, &mut self.scratch);
        if kind & 8 == 0 {
            return false;
        }
        let settled = self.session.settle(self.template, &mut self.scratch);
        assert_eq!(told, settled, "the settled form is another once it is followed");
        let Ok(delta) = settled else { return false };
        self.follow(&delta);
        true
    }

    /// Cut the cache and append.
    fn follow(&mut self, delta: &Delta) {
        self.cache.truncate(delta.keep);
        self.cache.extend(numbers(&delta.append));
    }

    fn restore(&mut self, saved: &str) -> bool {
        let restored = Session::restore(self.template, saved.as_bytes(), &mut self.scratch);
        let mut restored = restored.expect("what was saved can be restored");
        assert_eq!(restored.save(self.template), saved, "a restored session is another");
        let mut fork = self.session.clone();
        let question = || json("[{\"role\": \"user\", \"content\": \"q\"}]");
        assert_eq!(
            fork.extend(self.template, question(), None, &mut self.scratch),
            restored.clone().extend(self.template, question(), None, &mut self.scratch),
            "a restored session goes on in another way"
        );
        std::mem::swap(&mut self.session, &mut restored);
        false
    }

    /// Bytes changed, the digest put right: what is taken all the same says what it is saved as.
    fn forge(&mut self, saved: &str, kind: u8, text: &str) -> bool {
        use sha2::{Digest, Sha256};
        let place = usize::from(kind >> 3) * saved.len() / 32;
        let (Some(head), Some(tail)) = (saved.get(..place), saved.get(place + usize::from(kind & 1)..)) else {
            return false;
        };
        let changed = format!("{head}{text}{tail}");
        let content = changed.strip_prefix("{\"checkpoint\": ").and_then(|rest| rest.split_once(", \"sha256\""));
        let Some((content, _)) = content else { return false };
        let sealed = format!("{{\"checkpoint\": {content}, \"sha256\": \"{:x}\"}}\n", Sha256::digest(content));
        if let Ok(session) = Session::restore(self.template, sealed.as_bytes(), &mut self.scratch) {
            assert_eq!(session.save(self.template), sealed, "a checkpoint says something else than it is saved as");
        }
        false
    }
}

fn thinking(bits: u8) -> Option<bool> {
    [None, None, Some(true), Some(false)][usize::from(bits & 3)]
}

fn json(text: &str) -> JsonValue {
    JsonValue::from_json(text.as_bytes()).expect("it is JSON")
}
