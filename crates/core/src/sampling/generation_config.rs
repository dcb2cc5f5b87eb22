//! All that a generation is told, read from JSON (contract/sampling.md, S-1 to S-5): every field by name, refused by name.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::config::{SamplingConfig, Seed, WIDTH, check_offset, check_pair, check_scale, check_share};
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::json::{JsonValue, Key, beginning, nearest};
use crate::tokenizer::Profile;

/// What draws ids, and what ends a generation.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerationConfig {
    /// All that decides, beside logits and history, which id comes.
    pub sampling: SamplingConfig,
    /// After how many ids a generation ends, at least 1.
    pub max_tokens: u32,
    /// Ids that end a generation.
    pub stop_ids: Vec<u32>,
    /// Texts that end a generation and are not part of its text.
    pub stop_strings: Vec<String>,
}

/// The fields in the order in which a missing one is named; those from `stream` on may be absent.
const FIELDS: [&str; 16] = [
    "profile",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "repetition_penalty",
    "rng",
    "seed",
    "max_tokens",
    "stop_ids",
    "stream",
    "logit_bias",
    "banned_ids",
    "presence_penalty",
    "frequency_penalty",
    "stop_strings",
];
const REQUIRED: usize = 10;
const RNGS: [&str; 3] = ["pcg32", "chacha8", "mt19937-torch"];
const KEY_DIGITS: usize = 64;
const SHOWN: usize = 64;
const LAST_ID: u64 = WIDTH as u64 - 1;

impl GenerationConfig {
    /// The fields by name, as a file of JSON has them: `unknown_field`, `missing_field`, `invalid_type`, `invalid_value`,
    /// `sampling_pairing`.
    pub fn from_json(value: &JsonValue) -> Result<Self, Error> {
        let fields = Fields::of(value, "config", &FIELDS, REQUIRED)?;
        let profile = fields.one_of("profile", &["contract", "publisher"])?;
        let rng = fields.one_of("rng", &RNGS)?;
        let profile = Profile::from_name(profile).unwrap_or(Profile::Contract);
        check_pair(profile, rng)?;
        // In the order in which the first refusal counts.
        let temperature = fields.checked("temperature", |field, number| check_scale(field, number, true))?;
        let repetition_penalty =
            fields.checked("repetition_penalty", |field, number| check_scale(field, number, false))?;
        let (top_p, min_p) = (fields.checked("top_p", check_share)?, fields.checked("min_p", check_share)?);
        let (top_k, max_tokens) = (fields.small("top_k", 0)?, fields.small("max_tokens", 1)?);
        let seed = seed(&fields, rng)?;
        let stop_ids = ids("stop_ids", fields.get("stop_ids"))?;
        let sampling = SamplingConfig {
            profile,
            temperature,
            top_k,
            top_p,
            min_p,
            repetition_penalty,
            seed,
            banned_ids: ids("banned_ids", fields.get("banned_ids"))?,
            presence_penalty: fields.checked("presence_penalty", check_offset)?,
            frequency_penalty: fields.checked("frequency_penalty", check_offset)?,
            logit_bias: bias(fields.get("logit_bias"))?,
        };
        let stop_strings = texts("stop_strings", fields.get("stop_strings"))?;
        Ok(Self { sampling, max_tokens, stop_ids, stop_strings })
    }
}

impl Seed {
    /// A generator by itself: an object of `rng`, `seed` and, where it is not 0, `stream`, with the refusals of a configuration.
    pub fn from_json(value: &JsonValue) -> Result<Self, Error> {
        let fields = Fields::of(value, "generator", &["rng", "seed", "stream"], 2)?;
        seed(&fields, fields.one_of("rng", &RNGS)?)
    }
}

/// The members of an object whose fields are known.
struct Fields<'v>(&'v [(Key, JsonValue)]);

impl<'v> Fields<'v> {
    fn of(value: &'v JsonValue, name: &str, known: &[&str], required: usize) -> Result<Self, Error> {
        let JsonValue::Object(members) = value else { return Err(mistyped(name, "object", value)) };
        let is_known = |key: &Key| key.foreign.is_none() && known.contains(&&*key.text);
        if let Some((key, _)) = members.iter().find(|(key, _)| !is_known(key)) {
            let fields = [("field", beginning(&key.text, SHOWN).into()), ("known", known.join(", ").into())];
            return Err(Error::new(ErrorCode::UnknownField, fields));
        }
        let fields = Self(members);
        match known.iter().take(required).find(|name| fields.get(name).is_none()) {
            Some(missing) => Err(Error::new(ErrorCode::MissingField, [("field", (*missing).into())])),
            None => Ok(fields),
        }
    }

    fn get(&self, name: &str) -> Option<&'v JsonValue> {
        self.0.iter().find(|(key, _)| key.text == name).map(|(_, value)| value)
    }

    fn one_of(&self, field: &str, names: &[&str]) -> Result<&'v str, Error> {
        match self.get(field).unwrap_or(&JsonValue::Null) {
            JsonValue::Text(name) if names.contains(&&**name) => Ok(name),
            JsonValue::Text(name) => Err(invalid(field, &names.join(" or "), name)),
            other => Err(mistyped(field, "a string", other)),
        }
    }

    /// A number that passes a check; 0 where it is absent.
    fn checked(&self, field: &str, check: impl FnOnce(&str, f64) -> Result<(), Error>) -> Result<f64, Error> {
        let number = self.get(field).map_or(Ok(0.0), |value| number(field, value))?;
        check(field, number)?;
        Ok(number + 0.0) // -0.0 is 0.0
    }

    fn small(&self, field: &str, low: u64) -> Result<u32, Error> {
        let high = u64::from(u32::MAX);
        let value = self.get(field).unwrap_or(&JsonValue::Null);
        let found = integer(field, value, low, high, None)?;
        Ok(u32::try_from(found).unwrap_or(u32::MAX))
    }
}

/// A generator of three fields.
fn seed(fields: &Fields<'_>, rng: &str) -> Result<Seed, Error> {
    let given = fields.get("seed").unwrap_or(&JsonValue::Null);
    let digits = if rng == "chacha8" {
        "an integer from 0 to 2^64 - 1, or 64 hex digits"
    } else {
        "an integer from 0 to 2^64 - 1"
    };
    let number = || integer("seed", given, 0, u64::MAX, Some(digits));
    let stream = stream(fields.get("stream"))?;
    match (rng, given) {
        ("pcg32", _) => Ok(Seed::Pcg32 { seed: number()?, stream }),
        ("chacha8", JsonValue::Text(text)) => match key(text) {
            Some(key) => Ok(Seed::ChaCha8 { key, stream }),
            None => Err(invalid("seed", digits, text)),
        },
        ("chacha8", _) => Ok(Seed::chacha8(number()?, stream)),
        ("mt19937-torch", _) => {
            let seed = number()?;
            match fields.get("stream") {
                Some(found) if !matches!(found, JsonValue::Int(digits) if digits == "0") => {
                    Err(invalid("stream", "absent with mt19937-torch, which has no streams", &shown(found)))
                }
                _ => Ok(Seed::Mt19937Torch { seed }),
            }
        }
        _ => Err(invalid("rng", &RNGS.join(" or "), rng)),
    }
}

fn stream(value: Option<&JsonValue>) -> Result<u64, Error> {
    match value {
        None => Ok(0),
        Some(JsonValue::Text(name)) => Ok(Seed::stream_of_name(name)),
        Some(other) => integer("stream", other, 0, u64::MAX, Some("an integer from 0 to 2^64 - 1 or a name")),
    }
}

/// 32 bytes of 64 hex digits.
fn key(digits: &str) -> Option<[u8; 32]> {
    if digits.len() != KEY_DIGITS {
        return None;
    }
    let mut key = [0; 32];
    for (to, pair) in key.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let pair = core::str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        *to = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(key)
}

fn number(field: &str, value: &JsonValue) -> Result<f64, Error> {
    match value {
        // An integer that no float64 holds is infinite, and refused as that.
        JsonValue::Int(digits) => Ok(nearest(digits)),
        JsonValue::Float(number) => Ok(*number),
        other => Err(mistyped(field, "a number", other)),
    }
}

fn integer(field: &str, value: &JsonValue, low: u64, high: u64, expected: Option<&str>) -> Result<u64, Error> {
    let JsonValue::Int(digits) = value else { return Err(mistyped(field, expected.unwrap_or("an integer"), value)) };
    match digits.parse() {
        Ok(number) if (low..=high).contains(&number) => Ok(number),
        _ => {
            let range = format!("an integer from {low} to {high}");
            Err(invalid(field, expected.unwrap_or(&range), digits))
        }
    }
}

fn elements<'v>(field: &str, value: Option<&'v JsonValue>, expected: &str) -> Result<&'v [JsonValue], Error> {
    match value {
        None => Ok(&[]),
        Some(JsonValue::Array(elements)) => Ok(elements),
        Some(other) => Err(mistyped(field, expected, other)),
    }
}

fn id(field: &str, value: &JsonValue) -> Result<u32, Error> {
    let id = integer(field, value, 0, LAST_ID, None)?;
    Ok(u32::try_from(id).unwrap_or(u32::MAX))
}

fn ids(field: &str, value: Option<&JsonValue>) -> Result<Vec<u32>, Error> {
    let elements = elements(field, value, "a list of integers")?.iter().enumerate();
    elements.map(|(at, element)| id(&format!("{field}[{at}]"), element)).collect()
}

/// Keys are ids in decimal digits; digits that are written in another way could name one id twice.
fn bias(value: Option<&JsonValue>) -> Result<Vec<(u32, f64)>, Error> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let JsonValue::Object(members) = value else {
        return Err(mistyped("logit_bias", "a mapping of ids to numbers", value));
    };
    let pair = |(key, value): &(Key, JsonValue)| {
        let number = key.text.parse::<u64>().ok().filter(|number| number.to_string() == key.text);
        let Some(number) = number else {
            return Err(mistyped("logit_bias", "an integer", &JsonValue::Text(String::new())));
        };
        let id = id("logit_bias", &number.into())?;
        let field = format!("logit_bias[{id}]");
        let bias = self::number(&field, value)?;
        check_offset(&field, bias)?;
        Ok((id, bias + 0.0))
    };
    members.iter().map(pair).collect()
}

fn texts(field: &str, value: Option<&JsonValue>) -> Result<Vec<String>, Error> {
    let elements = elements(field, value, "a list of strings")?.iter().enumerate();
    let text = |(at, element): (usize, &JsonValue)| match element {
        JsonValue::Text(text) if text.is_empty() => {
            Err(invalid(&format!("{field}[{at}]"), "a text that is not empty", ""))
        }
        JsonValue::Text(text) => Ok(text.clone()),
        other => Err(mistyped(&format!("{field}[{at}]"), "a string", other)),
    };
    elements.map(text).collect()
}

fn shown(value: &JsonValue) -> String {
    match value {
        JsonValue::Text(text) | JsonValue::Int(text) => beginning(text, SHOWN),
        other => other.type_name().to_string(),
    }
}

fn mistyped(field: &str, expected: &str, found: &JsonValue) -> Error {
    let fields = [("field", field.into()), ("expected", expected.into()), ("found", found.type_name().into())];
    Error::new(ErrorCode::InvalidType, fields)
}

fn invalid(field: &str, expected: &str, found: &str) -> Error {
    Error::invalid_value(field, expected, &beginning(found, SHOWN))
}
