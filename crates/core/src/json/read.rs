//! JSON text to a value (contract/template.md, M-30 to M-36).

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{JsonValue, Key, MAX_DEPTH, beginning, nearest};
use crate::error::Error;
use crate::error_code::ErrorCode;

const SHOWN: usize = 64;

/// The value of one JSON text in UTF-8.
pub(crate) fn read(data: &[u8]) -> Result<JsonValue, Error> {
    let text = match core::str::from_utf8(data) {
        Ok(text) => text,
        Err(error) => {
            let before = data.get(..error.valid_up_to()).and_then(|bytes| core::str::from_utf8(bytes).ok());
            return Err(invalid("not UTF-8", before.unwrap_or_default()));
        }
    };
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    match reader.skip() {
        None => Ok(value),
        Some(_) => Err(reader.refused("end of the text expected")),
    }
}

/// Line and column of what follows `before` count from 1, the column in scalar values.
fn invalid(reason: &'static str, before: &str) -> Error {
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let fields = [("reason", reason.to_string().into()), ("line", line.into()), ("column", column.into())];
    Error::new(ErrorCode::JsonInvalid, fields)
}

/// Recursive descent over one text; `at` is where the next token begins.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn refused(&self, reason: &'static str) -> Error {
        invalid(reason, self.text.get(..self.at).unwrap_or_default())
    }

    /// Skip white space; the byte there.
    fn skip(&mut self) -> Option<u8> {
        let bytes = self.rest().as_bytes();
        let space = bytes.iter().take_while(|byte| b" \t\n\r".contains(byte)).count();
        self.at += space;
        bytes.get(space).copied()
    }

    fn take(&mut self, mark: u8) -> bool {
        let found = self.skip() == Some(mark);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<JsonValue, Error> {
        let mark = self.skip();
        match mark {
            Some(b'{' | b'[') if depth == MAX_DEPTH => Err(self.refused("nested deeper than 128 levels")),
            Some(b'{') => self.members(depth + 1),
            Some(b'[') => self.elements(depth + 1),
            Some(b'"') => Ok(JsonValue::Text(self.string()?)),
            _ => self.word_or_number(),
        }
    }

    fn word_or_number(&mut self) -> Result<JsonValue, Error> {
        let words = [("true", JsonValue::Bool(true)), ("false", JsonValue::Bool(false)), ("null", JsonValue::Null)];
        for (word, value) in words {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.number()
    }

    fn members(&mut self, depth: usize) -> Result<JsonValue, Error> {
        self.at += 1;
        let mut members: Vec<(Key, JsonValue)> = Vec::new();
        let mut keys: BTreeSet<Cow<'_, str>> = BTreeSet::new();
        if self.take(b'}') {
            return Ok(JsonValue::Object(members));
        }
        loop {
            if self.skip() != Some(b'"') {
                return Err(self.refused("string expected as key"));
            }
            let key = self.string()?;
            // As the writer has it, so that the set is compiled once.
            if !keys.insert(Cow::Owned(key.clone())) {
                return Err(Error::new(ErrorCode::JsonDuplicateKey, [("key", beginning(&key, SHOWN).into())]));
            }
            if !self.take(b':') {
                return Err(self.refused("':' expected"));
            }
            members.push((Key { text: key.into(), foreign: None }, self.value(depth)?));
            if self.take(b'}') {
                return Ok(JsonValue::Object(members));
            }
            if !self.take(b',') {
                return Err(self.refused("',' or '}' expected"));
            }
        }
    }

    fn elements(&mut self, depth: usize) -> Result<JsonValue, Error> {
        self.at += 1;
        let mut elements = Vec::new();
        if self.take(b']') {
            return Ok(JsonValue::Array(elements));
        }
        loop {
            elements.push(self.value(depth)?);
            if self.take(b']') {
                return Ok(JsonValue::Array(elements));
            }
            if !self.take(b',') {
                return Err(self.refused("',' or ']' expected"));
            }
        }
    }

    /// A string whose opening quote is next. Escapes are units of UTF-16, since surrogates may pair.
    fn string(&mut self) -> Result<String, Error> {
        self.at += 1;
        let mut text = String::new();
        let mut units: Vec<u16> = Vec::new();
        loop {
            let rest = self.rest();
            let plain =
                rest.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < 0x20).unwrap_or(rest.len());
            if plain > 0 {
                flush(&mut units, &mut text);
                text.push_str(rest.get(..plain).unwrap_or_default());
                self.at += plain;
            }
            match rest.as_bytes().get(plain) {
                Some(b'"') => {
                    self.at += 1;
                    flush(&mut units, &mut text);
                    return Ok(text);
                }
                Some(b'\\') => {
                    let escape = rest.get(plain + 1..).unwrap_or_default();
                    let Some((unit, length)) = unescaped(escape) else {
                        return Err(self.refused("unknown escape in a string"));
                    };
                    units.push(unit);
                    self.at += 1 + length;
                }
                Some(_) => return Err(self.refused("control character in a string")),
                None => return Err(self.refused("string is not closed")),
            }
        }
    }

    fn number(&mut self) -> Result<JsonValue, Error> {
        let rest = self.rest();
        let Some((length, is_integer)) = number_length(rest.as_bytes()) else {
            let words = ["NaN", "Infinity", "-Infinity"];
            return Err(match words.into_iter().find(|word| rest.starts_with(word)) {
                Some(word) => Error::new(ErrorCode::JsonNumber, [("found", word.to_string().into())]),
                None => self.refused("value expected"),
            });
        };
        let digits = rest.get(..length).unwrap_or_default();
        self.at += length;
        if is_integer {
            let value = if digits == "-0" { "0" } else { digits };
            return Ok(JsonValue::Int(value.to_string()));
        }
        match nearest(digits) {
            value if value.is_finite() => Ok(JsonValue::Float(value)),
            _ => Err(Error::new(ErrorCode::JsonNumber, [("found", beginning(digits, SHOWN).into())])),
        }
    }
}

/// Units that escapes made become text; an unpaired surrogate becomes U+FFFD.
fn flush(units: &mut Vec<u16>, text: &mut String) {
    if !units.is_empty() {
        text.push_str(&String::from_utf16_lossy(units));
        units.clear();
    }
}

/// The unit of what follows a backslash, and its length.
fn unescaped(escape: &str) -> Option<(u16, usize)> {
    let unit = match *escape.as_bytes().first()? {
        mark @ (b'"' | b'\\' | b'/') => mark,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => {
            let digits = escape.get(1..5)?;
            let all_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            return Some((u16::from_str_radix(digits, 16).ok().filter(|_| all_hex)?, 5));
        }
        _ => return None,
    };
    Some((unit.into(), 1))
}

/// How long the number at the beginning is, and whether it is an integer.
fn number_length(text: &[u8]) -> Option<(usize, bool)> {
    let digits = |from: usize| text.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let start = usize::from(text.first() == Some(&b'-'));
    let whole = if text.get(start) == Some(&b'0') { 1 } else { digits(start) };
    if whole == 0 {
        return None;
    }
    let integer = start + whole;
    let mut end = integer;
    if text.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    Some((end, end == integer))
}
