//! Parameters of a call.

use slm2_core::{Error, JsonValue, OnSpecial, Profile};

/// Why a call has no result.
pub(crate) enum Fault {
    /// The library refuses.
    Refusal(Error),
    /// The testee cannot do what is asked.
    Failure(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Refusal(error)
    }
}

/// The object of a call's parameters.
pub(crate) struct Params<'a>(pub(crate) &'a JsonValue);

/// A member of an object.
pub(crate) fn member<'a>(value: &'a JsonValue, name: &str) -> Option<&'a JsonValue> {
    match value {
        JsonValue::Object(members) => members.iter().find(|(key, _)| key.text == name).map(|(_, member)| member),
        _ => None,
    }
}

fn missing(name: &str, kind: &str) -> Fault {
    Fault::Failure(format!("`{name}` must be {kind}"))
}

impl<'a> Params<'a> {
    pub(crate) fn value(&self, name: &str) -> Result<&'a JsonValue, Fault> {
        member(self.0, name).ok_or_else(|| missing(name, "there"))
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'a str, Fault> {
        self.optional_text(name)?.ok_or_else(|| missing(name, "a string"))
    }

    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, Fault> {
        match member(self.0, name) {
            None => Ok(None),
            Some(JsonValue::Text(text)) => Ok(Some(text)),
            Some(_) => Err(missing(name, "a string")),
        }
    }

    pub(crate) fn integer(&self, name: &str) -> Result<u64, Fault> {
        self.optional_integer(name)?.ok_or_else(|| missing(name, "an integer"))
    }

    pub(crate) fn optional_integer(&self, name: &str) -> Result<Option<u64>, Fault> {
        match member(self.0, name) {
            None => Ok(None),
            Some(JsonValue::Int(digits)) => digits.parse().map(Some).map_err(|_| missing(name, "an integer")),
            Some(_) => Err(missing(name, "an integer")),
        }
    }

    pub(crate) fn size(&self, name: &str) -> Result<usize, Fault> {
        usize::try_from(self.integer(name)?).map_err(|_| missing(name, "a size"))
    }

    pub(crate) fn list(&self, name: &str) -> Result<&'a [JsonValue], Fault> {
        match member(self.0, name) {
            Some(JsonValue::Array(elements)) => Ok(elements),
            _ => Err(missing(name, "an array")),
        }
    }

    pub(crate) fn ids(&self, name: &str) -> Result<Vec<u32>, Fault> {
        ids(self.list(name)?)
    }

    pub(crate) fn profile(&self) -> Result<Profile, Fault> {
        Profile::from_name(self.text("profile")?).ok_or_else(|| missing("profile", "contract or publisher"))
    }

    /// What becomes of text of special tokens; `literal` where the call does not say.
    pub(crate) fn on_special(&self) -> Result<OnSpecial, Fault> {
        let name = self.optional_text("on_special")?.unwrap_or("literal");
        OnSpecial::from_name(name).ok_or_else(|| missing("on_special", "literal or reject"))
    }

    /// A decimal number in a string: it may be larger than JSON's readers take.
    pub(crate) fn digits(&self, name: &str) -> Result<Option<u64>, Fault> {
        self.optional_text(name)?
            .map(|digits| digits.parse().map_err(|_| missing(name, "decimal digits below 2^64")))
            .transpose()
    }

    /// A JSON text in a string, read by the library's own reader.
    pub(crate) fn json(&self, name: &str) -> Result<JsonValue, Fault> {
        Ok(JsonValue::from_json(self.text(name)?.as_bytes())?)
    }

    /// The text of the call.
    pub(crate) fn input(&self) -> Result<Vec<u8>, Fault> {
        input(self.0)
    }
}

/// Ids of an array.
pub(crate) fn ids(elements: &[JsonValue]) -> Result<Vec<u32>, Fault> {
    let id = |element: &JsonValue| match element {
        JsonValue::Int(digits) => digits.parse().ok(),
        _ => None,
    };
    elements.iter().map(id).collect::<Option<_>>().ok_or_else(|| missing("ids", "integers below 2^32"))
}

/// A text: `text`, `utf16` or `base64`.
pub(crate) fn input(value: &JsonValue) -> Result<Vec<u8>, Fault> {
    if let Some(JsonValue::Text(text)) = member(value, "text") {
        return Ok(text.as_bytes().to_vec());
    }
    if let Some(JsonValue::Array(elements)) = member(value, "utf16") {
        // A string of Rust holds scalar values alone (T-2).
        return Ok(String::from_utf16_lossy(&units(elements)?).into_bytes());
    }
    match member(value, "base64") {
        Some(JsonValue::Text(digits)) => base64(digits).ok_or_else(|| missing("base64", "base64")),
        _ => Err(missing("text", "a string, or `utf16` or `base64` there")),
    }
}

/// The bytes of the parts of a text, where a pair of surrogates may be cut between two of them (T-15). Strings of Rust have none: this is
/// what an application does that gets its text from a host that has.
#[derive(Default)]
pub(crate) struct Joined {
    held: Option<u16>,
}

impl Joined {
    pub(crate) fn part(&mut self, value: &JsonValue) -> Result<Vec<u8>, Fault> {
        let given = match (member(value, "text"), member(value, "utf16")) {
            (Some(JsonValue::Text(text)), _) => text.encode_utf16().collect(),
            (_, Some(JsonValue::Array(units))) => self::units(units)?,
            _ => return Ok([self.rest(), input(value)?].concat()),
        };
        let mut units: Vec<u16> = self.held.take().into_iter().chain(given).collect();
        if units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit)) {
            self.held = units.pop();
        }
        Ok(String::from_utf16_lossy(&units).into_bytes())
    }

    /// What is held, when no other half comes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        self.held.take().map_or(Vec::new(), |_| "\u{FFFD}".into())
    }
}

fn units(elements: &[JsonValue]) -> Result<Vec<u16>, Fault> {
    ids(elements)?.into_iter().map(|unit| u16::try_from(unit).map_err(|_| missing("utf16", "units"))).collect()
}

/// The bytes of base64 digits.
pub(crate) fn base64(digits: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for digit in digits.trim_end_matches('=').bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits).to_le_bytes().first().copied()?);
            held &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}

/// The bytes of hex digits.
pub(crate) fn hex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
