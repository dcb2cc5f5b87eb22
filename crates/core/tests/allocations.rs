//! Memory, counted by the allocator: text of every kind is encoded without any once the scratch is warm, and a giant piece takes at
//! most a constant and 16 bytes for each of its own.
//!
//! In a program of its own, since it replaces the allocator of all of it. What counts is per thread, so that tests can run side by side.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

use slm2_core::{Artifact, ChunkEncoder, Profile, Scratch, TokenId, Tokenizer};

const PROFILES: [Profile; 2] = [Profile::Contract, Profile::Publisher];
/// A bit more than a power of two: there memory that doubles as it grows is the largest for what is in it.
const GIANT: usize = (1 << 20) + (1 << 16);
/// A piece whose memory is kept for the next.
const LARGE: usize = 20_000;
const CHUNK: usize = 1 << 16;
/// What a giant piece or run of marks may take for each of its bytes (contract/tokenizer.md, T-13).
const BYTES_FOR_EACH: usize = 16;
/// What everything else may take where few pieces come: the tables of the cache as they begin, and what is kept from text to text.
const CONSTANT: usize = 1 << 20;
/// The same where there are pieces enough to let the tables of the cache grow to the last.
const FULL_CACHE: usize = 9 << 20;
/// A call for a giant piece gives its memory back in the end, so that it has to ask again: some buffers, which double as they grow.
const GIANT_ALLOCATIONS: usize = 64;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

impl Counting {
    fn took(size: usize) {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE.set(LIVE.get().wrapping_add(size));
        // Memory of another thread that is given back here can make it less than nothing.
        if LIVE.get().wrapping_sub(PEAK.get()) <= usize::MAX / 2 {
            PEAK.set(LIVE.get());
        }
    }

    fn gave(size: usize) {
        LIVE.set(LIVE.get().wrapping_sub(size));
    }
}

// SAFETY: every call goes to the allocator of the system as it came.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::took(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::took(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may be there while one is copied to the other: the peak takes in the sum.
        Self::took(size);
        Self::gave(layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::gave(layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// How often memory was asked for.
fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

/// The most memory that there was at a time, beyond what there was before.
fn peak(work: impl FnOnce()) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    work();
    PEAK.get().wrapping_sub(before)
}

fn embedded() -> Artifact<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/slm2/data/qwen3-0.6b.slm2");
    Artifact::from_bytes(std::fs::read(path).expect("the embedded artifact is there")).expect("it opens")
}

fn scratch() -> Scratch {
    Scratch::new(1 << 27).expect("it is within the limits")
}

/// A kind of hostile text: its name, what it is made of, and what it may take beside the memory for its longest piece.
struct Kind {
    name: &'static str,
    /// Characters that come again and again, or the first and the number of those that come at random.
    made_of: MadeOf,
    constant: usize,
}

enum MadeOf {
    Repeated(&'static [u8]),
    Random(char, u32),
}

use MadeOf::{Random, Repeated};

const fn kind(name: &'static str, made_of: MadeOf, constant: usize) -> Kind {
    Kind { name, made_of, constant }
}

/// Kinds that NFC leaves as they are.
const STABLE: [Kind; 10] = [
    kind("one letter", Repeated(b"a"), CONSTANT),
    kind("spaces", Repeated(b" "), CONSTANT),
    kind("newlines", Repeated(b"\n"), CONSTANT),
    kind("punctuation", Repeated(b"=!-*."), CONSTANT),
    kind("random letters", Random('a', 26), CONSTANT),
    kind("ill-formed bytes", Repeated(b"\xFF"), CONSTANT),
    // Letters and digits: a digit is a piece of its own.
    kind("base64", Random('0', 75), FULL_CACHE),
    kind("CJK", Random('\u{4E00}', 20_000), FULL_CACHE),
    kind("Hangul", Random('\u{AC00}', 11_172), FULL_CACHE),
    kind("Cyrillic", Random('\u{430}', 32), FULL_CACHE),
];
/// Kinds that NFC looks at closely, or changes.
const CHANGING: [Kind; 7] = [
    kind("marks in order", Repeated("\u{301}".as_bytes()), CONSTANT),
    kind("marks out of order", Repeated("\u{301}\u{323}".as_bytes()), CONSTANT),
    // U+0344 and U+034F are among them, which part the run.
    kind("marks of many classes", Random('\u{300}', 0x70), FULL_CACHE),
    // Each becomes two.
    kind("marks that decompose", Repeated("\u{344}".as_bytes()), CONSTANT),
    kind("letters that decompose", Repeated("\u{958}".as_bytes()), CONSTANT),
    // Each becomes three of four bytes, as many as NFC makes.
    kind("symbols that decompose", Repeated("\u{1D160}".as_bytes()), CONSTANT),
    kind("conjoining jamo", Repeated("\u{1100}\u{1161}\u{11A8}".as_bytes()), CONSTANT),
];

impl Kind {
    /// A text of at most so many bytes.
    fn text(&self, length: usize) -> Vec<u8> {
        match self.made_of {
            Repeated(characters) => characters.repeat(length / characters.len()),
            Random(first, count) => {
                let mut state = 11_u64;
                let mut letter = || {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let place = u32::try_from(state >> 33).expect("31 bits") % count;
                    char::from_u32(u32::from(first) + place).expect("a scalar value")
                };
                (0..length / first.len_utf8()).map(|_| letter()).collect::<String>().into_bytes()
            }
        }
    }
}

/// Text as people write it, of several scripts.
fn ordinary() -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut text = Vec::new();
    for path in ["README.md", "contract/tokenizer.md", "contract/vectors/tokenizer.json", "crates/core/src/lib.rs"] {
        text.extend(std::fs::read(root.join(path)).expect("a file of the checkout"));
    }
    let lines = [
        "你好，世界。这是一段没有空格的文字。",
        "こんにちは世界",
        "안녕하세요 세계",
        "مرحبا بالعالم",
        "שלום עולם",
        "Привет, мир! Ёлка",
    ];
    for number in 0..200 {
        text.extend(format!("{} {number}\n", lines[number % lines.len()]).bytes());
    }
    text
}

/// Of two calls each of `encode_to_slice` and `count`, after one of each.
fn allocations_when_warm(tokenizer: &Tokenizer<'_>, text: &[u8], profile: Profile) -> usize {
    let mut scratch = scratch();
    let mut out = vec![TokenId::default(); 3 * text.len()];
    let mut work = || {
        let written = tokenizer.encode_to_slice(text, profile, &mut scratch, &mut out);
        assert_eq!(written, tokenizer.count(text, profile, &mut scratch));
    };
    work();
    allocations(|| (0..2).for_each(|_| work())) / 2
}

#[test]
fn the_allocator_counts() {
    let mut kept = Vec::new();
    assert_eq!(allocations(|| kept = vec![1_u8; 1000]), 1);
    assert_eq!(peak(|| drop(vec![1_u8; 5000])), 5000);
    assert_eq!(peak(|| kept.reserve_exact(1000)), 2000);
}

#[test]
fn a_warm_scratch_needs_no_memory() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let texts = || STABLE.iter().map(|kind| (kind.name, kind.text(LARGE))).chain([("ordinary text", ordinary())]);
    let mut asked = Vec::new();
    for profile in PROFILES {
        for (name, text) in texts() {
            let found = allocations_when_warm(&tokenizer, &text, profile);
            if found > 0 {
                asked.push(format!("{name}, {profile:?}: {found}"));
            }
        }
    }
    assert_eq!(asked, Vec::<String>::new());
}

#[test]
fn a_giant_piece_asks_for_memory_a_few_times() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    for kind in &STABLE {
        let found = allocations_when_warm(&tokenizer, &kind.text(GIANT), Profile::Contract);
        assert!(found <= GIANT_ALLOCATIONS, "{}: {found}", kind.name);
    }
}

/// The peak of counting the ids of a text in one piece, and of encoding it in parts into memory that was there.
fn peaks(tokenizer: &Tokenizer<'_>, text: &[u8], profile: Profile) -> [usize; 2] {
    let whole = peak(|| {
        tokenizer.count(text, profile, &mut scratch()).expect("it is within the limits");
    });
    let mut ids = Vec::with_capacity(3 * text.len());
    let in_parts = peak(|| {
        let (mut chunks, mut scratch) = (ChunkEncoder::new(profile), scratch());
        for part in text.chunks(CHUNK) {
            chunks.push(tokenizer, part, &mut scratch, &mut ids).expect("it is within the limits");
        }
        chunks.finish(tokenizer, &mut scratch, &mut ids).expect("it is within the limits");
    });
    [whole, in_parts]
}

/// Memory beyond the bound of a profile, kind by kind: of one giant piece, and of one twice as long.
fn beyond_the_bound<'k>(kinds: impl Iterator<Item = &'k Kind>, profile: Profile) -> Vec<String> {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    let mut beyond = Vec::new();
    for kind in kinds {
        let [once, twice] = [GIANT, 2 * GIANT].map(|length| {
            let text = kind.text(length);
            // A mark that becomes two makes a piece that is longer than the run.
            let ids = tokenizer.encode(&text, profile, &mut scratch()).expect("it is within the limits");
            let normalized: usize = ids.iter().map(|id| tokenizer.token_bytes(id.get()).map_or(0, <[u8]>::len)).sum();
            (text.len().max(normalized), peaks(&tokenizer, &text, profile))
        });
        for (way, name) in [(0, "as a whole"), (1, "in parts")] {
            let peaks = [once.1[way], twice.1[way]];
            let holds = peaks[0] <= kind.constant + BYTES_FOR_EACH * once.0
                && peaks[1] <= kind.constant + BYTES_FOR_EACH * twice.0
                && peaks[1].saturating_sub(peaks[0]) <= BYTES_FOR_EACH * (twice.0 - once.0) + kind.constant;
            if !holds {
                beyond.push(format!("{} {name}: {peaks:?} for {:?} bytes", kind.name, [once.0, twice.0]));
            }
        }
    }
    beyond
}

#[test]
fn memory_is_bounded_in_profile_contract() {
    let found = beyond_the_bound(STABLE.iter().chain(&CHANGING[..2]), Profile::Contract);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn memory_is_bounded_in_profile_publisher() {
    let found = beyond_the_bound(STABLE[..4].iter().chain(&CHANGING), Profile::Publisher);
    assert_eq!(found, Vec::<String>::new());
}

/// A call for a giant piece leaves what a text of small ones leaves: the scratch does not stay as large as it was.
#[test]
fn memory_of_a_giant_piece_is_given_back() {
    let artifact = embedded();
    let tokenizer = Tokenizer::new(&artifact);
    for (kind, profile) in
        STABLE.iter().map(|kind| (kind, Profile::Contract)).chain([(&CHANGING[3], Profile::Publisher)])
    {
        let before = LIVE.get();
        let mut scratch = scratch();
        tokenizer.count(&kind.text(GIANT), profile, &mut scratch).expect("it is within the limits");
        let left = LIVE.get() - before;
        assert!(left <= kind.constant, "{}: {left}", kind.name);
    }
}
