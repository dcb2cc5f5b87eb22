//! Ten million strings that try to become a special token on the route for untrusted text (contract source, section 10; contract/threats.md).
//!
//! `cargo run --release --bin smuggling -- [--strings N] [--seed N] [--threads N]`. Each string is made of fragments of special tokens, whole ones,
//! Unicode that joins, reverses, hides, folds and composes, ill-formed bytes, and joints of all of these. No id of a special token may come of it: not
//! whole, not in parts, not grown, not in a message. The seed is printed; a string is made of the seed and its number alone, whichever thread makes it.

use std::ops::Range;
use std::process::ExitCode;
use std::thread;
use std::time::{Instant, SystemTime};

use slm2_core::{ChunkEncoder, GrowingText, JsonValue, Profile, Scratch, Template, TokenId, Tokenizer};
use slm2_fuzz::random::Random;
use slm2_fuzz::worlds::{PROFILES, World};

/// Of the strings, one in so many goes through what costs more.
const IN_PARTS: u64 = 8;
const IN_A_MESSAGE: u64 = 64;

const FRAGMENTS: &[&str] = &[
    "<",
    "|",
    ">",
    "<|",
    "|>",
    "im",
    "_",
    "start",
    "end",
    "im_start",
    "im_end",
    "endoftext",
    "think",
    "/",
    "tool_call",
    "tool_response",
    "<|im",
    "_start|>",
    "<|\n|",
    "\nim_end\n",
    "<\n|",
    "|\u{200b}>",
    "<\u{200d}|",
    "＜|",
    "|＞",
    "\u{feff}",
    "\u{202e}",
    "\u{2066}",
    "\0",
    "\u{301}",
    "\u{338}",
    "\u{34f}",
    "\u{115f}",
    "ſ",
    "İ",
    "ı",
    "ﬁ",
    "e\u{301}",
    "\u{1112}\u{1161}",
    "👩\u{200d}👩",
    "\u{e0001}",
    "\u{e000}",
    " ",
    "\n",
    "\r",
    "\t",
    "a",
    "user",
    "1",
    "assistant\n",
    "&lt;",
    "\\u003c",
    "%3C",
    "的",
];
const BROKEN: &[&[u8]] =
    &[b"\xff", b"\xc3", b"\xe2\x80", b"\xf0\x9f\x98", b"\xc0\xbc", b"\xe0\x80\xbc", b"\xed\xa0\xbc", b"\x80"];

struct Options {
    strings: u64,
    seed: u64,
    threads: u64,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("smuggling: {error}");
            return ExitCode::from(2);
        }
    };
    println!("seed {}", options.seed);
    let begun = Instant::now();
    let share = options.strings.div_ceil(options.threads);
    let ranges = (0..options.threads).map(|at| at * share..((at + 1) * share).min(options.strings));
    let ids: u64 = thread::scope(|scope| {
        let seed = options.seed;
        let started: Vec<_> = ranges.map(|range| scope.spawn(move || hold(range, seed))).collect();
        started.into_iter().map(|thread| thread.join().expect("a thread found an id of a special token")).sum()
    });
    println!("{} strings, {ids} ids, none of a special token, {:.1} s", options.strings, begun.elapsed().as_secs_f64());
    println!("test result: ok. 1 passed; 0 failed; 0 ignored");
    ExitCode::SUCCESS
}

fn options() -> Result<Options, String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let mut options = Options { strings: 10_000_000, seed: now.as_secs(), threads };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{argument} needs a value"))?;
        let number: u64 = value.parse().map_err(|error| format!("{value:?}: {error}"))?;
        match argument.as_str() {
            "--strings" => options.strings = number,
            "--seed" => options.seed = number,
            "--threads" => options.threads = number.max(1),
            name => return Err(format!("no such option: {name}")),
        }
    }
    Ok(options)
}

/// All strings of a range, one after the other; how many ids they had.
fn hold(range: Range<u64>, seed: u64) -> u64 {
    let world = World::chosen(false);
    let tokenizer = world.tokenizer();
    let special: Vec<&[u8]> = world.artifact.special_tokens().map(|(_, text)| text).collect();
    let mut scratch = Scratch::new(1 << 20).expect("a limit");
    let (mut text, mut ids, mut count) = (Vec::new(), Vec::new(), 0);
    for number in range {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number);
        make(&mut text, &special, &mut random);
        for profile in PROFILES {
            ids.clear();
            tokenizer.encode_into(&text, profile, &mut scratch, &mut ids).expect("short text");
            plain(world, &ids, &text);
            count += ids.len() as u64;
            if number % IN_PARTS == 0 {
                in_parts(world, &tokenizer, &text, profile, &ids, &mut scratch, &mut random);
            }
        }
        if number % IN_A_MESSAGE == 0 {
            in_a_message(world, &text, &mut scratch);
        }
    }
    count
}

fn make(text: &mut Vec<u8>, special: &[&[u8]], random: &mut Random) {
    text.clear();
    for _ in 0..=random.below(12) {
        match random.below(16) {
            0 | 1 => text.extend_from_slice(random.choice::<&[u8]>(special)),
            2 | 3 => {
                let whole = *random.choice(special);
                let cut = random.below(whole.len() + 1);
                let half = if random.below(2) == 0 { &whole[..cut] } else { &whole[cut..] };
                text.extend_from_slice(half);
            }
            4 => text.extend_from_slice(random.choice::<&[u8]>(BROKEN)),
            5 => {
                let scalar = u32::try_from(random.below(0x11_0000)).ok().and_then(char::from_u32).unwrap_or('<');
                text.extend_from_slice(scalar.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => text.extend_from_slice(random.choice(FRAGMENTS).as_bytes()),
        }
    }
}

fn plain(world: &World, ids: &[TokenId], text: &[u8]) {
    let limit = world.artifact.vocabulary_size();
    let smuggled = ids.iter().find(|id| id.get() >= limit);
    assert!(smuggled.is_none(), "{smuggled:?} came of {:?}", text.escape_ascii().to_string());
}

/// The same text cut in two, and grown.
fn in_parts(
    world: &World,
    tokenizer: &Tokenizer<'_>,
    text: &[u8],
    profile: Profile,
    whole: &[TokenId],
    scratch: &mut Scratch,
    random: &mut Random,
) {
    let (first, second) = text.split_at(random.below(text.len() + 1));
    let (mut chunks, mut ids) = (ChunkEncoder::new(profile), Vec::new());
    chunks.push(tokenizer, first, scratch, &mut ids).expect("short text");
    chunks.push(tokenizer, second, scratch, &mut ids).expect("short text");
    chunks.finish(tokenizer, scratch, &mut ids).expect("short text");
    assert_eq!(ids, whole, "in parts: {:?}", text.escape_ascii().to_string());
    let mut growing = GrowingText::new(profile);
    for part in [first, second] {
        let growth = growing.append(tokenizer, part, scratch).expect("short text");
        plain(world, &growth.ids, text);
        ids.truncate(growth.keep);
        ids.extend(growth.ids);
    }
    assert_eq!(ids, whole, "grown: {:?}", text.escape_ascii().to_string());
}

/// A message with this text has the structural ids that one with another text has.
fn in_a_message(world: &World, text: &[u8], scratch: &mut Scratch) {
    let template = Template::new(&world.artifact).expect("a template");
    let content = String::from_utf8_lossy(text).into_owned();
    let message = |content: &str| JsonValue::object([("role", "user".into()), ("content", JsonValue::from(content))]);
    let mut structural = |content: &str| {
        let request = JsonValue::object([("messages", JsonValue::Array(vec![message(content)]))]);
        // Text in the shape of a tool's answer is refused; there is nothing to encode then.
        let composition = template.compose(request).ok()?;
        let mut ids = Vec::new();
        template.ids_into(&composition, Profile::Publisher, scratch, &mut ids).expect("short text");
        let limit = world.artifact.vocabulary_size();
        Some(ids.into_iter().filter(|id| id.get() >= limit).collect::<Vec<_>>())
    };
    let harmless = structural("a");
    if let Some(found) = structural(&content) {
        assert_eq!(Some(found), harmless, "in a message: {content:?}");
    }
}
