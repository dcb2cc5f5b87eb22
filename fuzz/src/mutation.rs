//! Inputs: made from words at which pieces, merges and normalisation differ, and changed at random.

use slm2_fuzz::random::Random;
use slm2_fuzz::worlds::checkout_file;

const LONGEST: usize = 3_400;
/// Inputs that are kept to be changed again.
const POOL: usize = 300;

/// What texts are made of.
const WORDS: [&str; 62] = [
    "the",
    " cat",
    "ing",
    "'",
    "'s",
    "'S",
    "'\u{17F}",
    "'re",
    "'LL",
    "don't",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    " \n",
    "\u{A0}",
    "\u{2028}",
    "\u{3000}",
    "\u{85}",
    "0",
    "123",
    "\u{663}",
    "\u{BD}",
    ".",
    "...",
    "!?",
    "->",
    "://",
    "====",
    "<|im_start|>",
    "<|im_end|>",
    "<|im_",
    "<think>",
    "<s>",
    "<t>",
    "</\u{E9}>",
    "ab",
    "abc",
    "e\u{301}",
    "\u{E9}",
    "\u{301}",
    "\u{323}",
    "\u{344}",
    "\u{308}",
    "\u{5B0}",
    "\u{F71}\u{F72}",
    "\u{1100}",
    "\u{1161}",
    "\u{11A8}",
    "\u{AC00}",
    "\u{AC01}",
    "\u{212B}",
    "\u{958}",
    "\u{FB1D}",
    "\u{898}",
    "\u{4F60}\u{597D}",
    "\u{1F469}\u{200D}\u{1F467}",
    "\u{1D7D8}",
    "\u{10FFFF}",
];
/// Bytes that are no text.
const ILL_FORMED: [&[u8]; 8] =
    [b"\xFF", b"\x80", b"\xE4\xBD", b"\xF0\x9F\x98", b"\xED\xA0\x80", b"\xC0\xAF", b"\xCC", b"\xF4\x90\x80\x80"];
/// Numbers at edges of the format and of Unicode.
const EDGES: [u32; 16] =
    [0, 1, 2, 5, 255, 256, 260, 261, 0x301, 0xD800, 0xAC00, 0xFFFF, 0x10_FFFF, 1 << 21, 1 << 31, u32::MAX];

/// Where inputs come from.
pub(crate) struct Source {
    random: Random,
    pool: Vec<Vec<u8>>,
    /// Bytes of settings before the text.
    settings: usize,
}

impl Source {
    /// The inputs of a target.
    pub(crate) fn new(target: &str, seed: u64, kept: Vec<Vec<u8>>) -> Self {
        let mut pool = kept;
        if target == "artifact" {
            pool.push(checkout_file("tests/data/small-v1.slm2"));
        }
        let settings = match target {
            "encode" => 2,
            "chunked" => 8,
            "merges" | "session" => 1,
            _ => 0,
        };
        Self { random: Random(seed), pool, settings }
    }

    /// The next input.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        let mut input = if self.pool.is_empty() || self.random.below(3) == 0 { self.made() } else { self.changed() };
        input.truncate(LONGEST);
        if self.pool.len() < POOL {
            self.pool.push(input.clone());
        } else {
            let place = self.random.below(POOL);
            self.pool[place].clone_from(&input);
        }
        input
    }

    fn made(&mut self) -> Vec<u8> {
        if self.settings < 2 {
            // For an artifact most often one change or two, which leave it acceptable the most often.
            let length = if self.settings == 1 { 50 + self.random.below(400) } else { 7 << self.random.below(5) };
            return (0..length).map(|_| self.random.byte()).collect();
        }
        let mut input: Vec<u8> = (0..self.settings).map(|_| self.random.byte()).collect();
        if self.settings > 2 {
            // Eight bytes are settings of a text in parts: as many sizes, most of them small.
            input[2] = 5;
            for size in &mut input[3..] {
                *size >>= self.random.below(8);
            }
        }
        for _ in 0..self.random.below(30) {
            let word = self.word();
            input.extend(word);
        }
        if self.random.below(4) == 0 {
            // A low limit, and something just as long.
            input[1] = 0x80 | self.random.byte() >> 5;
            let word = self.word();
            input.extend(word.repeat((250 + self.random.below(20)) / word.len()));
        }
        input
    }

    fn word(&mut self) -> Vec<u8> {
        let random = &mut self.random;
        let word = match random.below(20) {
            0 => random.choice(&ILL_FORMED).to_vec(),
            1 => vec![random.byte()],
            2..5 => any_scalar(random).to_string().into_bytes(),
            _ => random.choice(&WORDS).as_bytes().to_vec(),
        };
        match random.below(60) {
            0 => word.repeat(1 + random.below(200)),
            1..5 => word.repeat(2 + random.below(12)),
            _ => word,
        }
    }

    fn changed(&mut self) -> Vec<u8> {
        let place = self.random.below(self.pool.len());
        let mut input = self.pool[place].clone();
        for _ in 0..=self.random.below(4) {
            self.change(&mut input);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.random.below(input.len() + 1);
        let length = self.random.below(input.len() - at + 1).min(1 << self.random.below(10));
        match self.random.below(9) {
            0 => drop(input.drain(at..at + length)),
            1 => {
                let copied = input[at..at + length].to_vec();
                let to = self.random.below(input.len() + 1);
                input.splice(to..to, copied);
            }
            2 if at < input.len() => input[at] ^= 1 << self.random.below(8),
            3 if at < input.len() => input[at] = self.random.byte(),
            4 if at + 4 <= input.len() => input[at..at + 4].copy_from_slice(&self.random.choice(&EDGES).to_le_bytes()),
            5 => {
                let other = self.random.below(self.pool.len());
                let from = self.random.below(self.pool[other].len() + 1);
                input.splice(at.., self.pool[other][from..].iter().copied());
            }
            _ => {
                let word = self.word();
                input.splice(at..at, word);
            }
        }
    }
}

/// Of all planes, the first most often.
fn any_scalar(random: &mut Random) -> char {
    let limit = *random.choice(&[0x250, 0x700, 0x3100, 0x1_0000, 0x3_0000, 0x11_0000]);
    u32::try_from(random.below(limit)).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}
