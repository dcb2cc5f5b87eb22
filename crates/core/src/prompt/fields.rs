//! Reading an object of a request field by field: what is unknown, missing or of another type is refused with its path.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::json::{JsonValue, Key, beginning, nearest};
use crate::template::{invalid_type, shown, taken};

const SHOWN: usize = 64;
/// Integers of at most so many bits are shown in digits.
const BITS_SHOWN: usize = 64;
/// Beyond this, how many bits an integer has is not counted: that takes time that grows with the square of its digits.
const BITS_COUNTED: usize = 16_384;
/// Every integer of more digits has more than [`BITS_COUNTED`] bits.
const DIGITS_COUNTED: usize = 4_933;

/// One object of a request. Null counts as absent.
pub(super) struct Fields<'p> {
    path: &'p str,
    members: Vec<(Key, JsonValue)>,
}

impl<'p> Fields<'p> {
    /// Take an object: `invalid_type` where it is none, `unknown_field` for its first key that is not `known`.
    pub(super) fn new(value: JsonValue, path: &'p str, known: &[&str]) -> Result<Self, Error> {
        let JsonValue::Object(mut members) = value else {
            let path = if path.is_empty() { "request" } else { path };
            return Err(invalid_type(path.to_string(), "object", &value));
        };
        members.retain(|(_, member)| *member != JsonValue::Null);
        let fields = Self { path, members };
        let is_known = |key: &Key| key.foreign.is_none() && known.contains(&&*key.text);
        match fields.members.iter().find(|(key, _)| !is_known(key)) {
            None => Ok(fields),
            Some((key, _)) => {
                let field = fields.at(&beginning(&key.text, SHOWN));
                let fields = [("field", field.into()), ("known", known.join(", ").into())];
                Err(Error::new(ErrorCode::UnknownField, fields))
            }
        }
    }

    /// The path of a field.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) }
    }

    /// A field of any type; null where it was not given.
    pub(super) fn optional(&mut self, name: &str) -> JsonValue {
        taken(&mut self.members, name)
    }

    /// A field of any type that must be there.
    pub(super) fn required(&mut self, name: &str) -> Result<JsonValue, Error> {
        match self.optional(name) {
            JsonValue::Null => Err(Error::new(ErrorCode::MissingField, [("field", self.at(name).into())])),
            value => Ok(value),
        }
    }

    /// A required string.
    pub(super) fn text(&mut self, name: &str) -> Result<String, Error> {
        match self.required(name)? {
            JsonValue::Text(text) => Ok(text),
            other => Err(invalid_type(self.at(name), "string", &other)),
        }
    }

    /// An array; empty where the field was not given.
    pub(super) fn array(&mut self, name: &str) -> Result<Vec<JsonValue>, Error> {
        match self.optional(name) {
            JsonValue::Null => Ok(Vec::new()),
            JsonValue::Array(values) => Ok(values),
            other => Err(invalid_type(self.at(name), "array", &other)),
        }
    }

    /// A boolean; `default` where the field was not given.
    pub(super) fn flag(&mut self, name: &str, default: bool) -> Result<bool, Error> {
        match self.optional(name) {
            JsonValue::Null => Ok(default),
            JsonValue::Bool(value) => Ok(value),
            other => Err(invalid_type(self.at(name), "boolean", &other)),
        }
    }

    /// A required whole number from `low` to `high`, both included; 5.0 is none.
    pub(super) fn integer(&mut self, name: &str, low: i64, high: i64) -> Result<i64, Error> {
        let value = self.required(name)?;
        self.integer_of(&value, name, low, high)
    }

    /// The same of a value that was taken out.
    pub(super) fn integer_of(&self, value: &JsonValue, name: &str, low: i64, high: i64) -> Result<i64, Error> {
        let JsonValue::Int(digits) = value else { return Err(invalid_type(self.at(name), "integer", value)) };
        match digits.parse::<i64>() {
            Ok(number) if (low..=high).contains(&number) => Ok(number),
            _ => {
                let expected = format!("an integer from {low} to {high}");
                Err(Error::invalid_value(&self.at(name), &expected, &shown_number(value)))
            }
        }
    }

    /// A required number, as the float64 that it rounds to, which must be finite.
    pub(super) fn number(&mut self, name: &str) -> Result<f64, Error> {
        let value = self.required(name)?;
        let rounded = match &value {
            JsonValue::Int(digits) => nearest(digits),
            JsonValue::Float(number) => *number,
            other => return Err(invalid_type(self.at(name), "number", other)),
        };
        if rounded.is_finite() {
            return Ok(rounded);
        }
        Err(Error::invalid_value(&self.at(name), "a finite float64", &shown_number(&value)))
    }

    /// A required string, one of `names`.
    pub(super) fn one_of(&mut self, name: &str, names: &[&'static str]) -> Result<&'static str, Error> {
        let text = self.text(name)?;
        let found = names.iter().find(|known| **known == text);
        found.copied().ok_or_else(|| {
            Error::invalid_value(&self.at(name), &names.join(" or "), &shown(&JsonValue::Text(text.clone())))
        })
    }
}

/// A number in an error; of a long integer its size alone.
fn shown_number(value: &JsonValue) -> String {
    match value {
        JsonValue::Float(number) if number.is_nan() => "nan".to_string(),
        JsonValue::Float(number) => if *number > 0.0 { "inf" } else { "-inf" }.to_string(),
        JsonValue::Int(digits) => {
            let magnitude = digits.strip_prefix('-').unwrap_or(digits);
            match bit_length(magnitude) {
                Some(bits) if bits <= BITS_SHOWN => digits.clone(),
                Some(bits) => format!("an integer of {bits} bits"),
                None => format!("an integer of more than {BITS_COUNTED} bits"),
            }
        }
        other => other.type_name().to_string(),
    }
}

/// How many bits a decimal number has; `None` above [`BITS_COUNTED`].
fn bit_length(digits: &str) -> Option<usize> {
    if digits.len() > DIGITS_COUNTED {
        return None;
    }
    // Little-endian, 32 bits at a time.
    let mut words: Vec<u32> = Vec::new();
    for digit in digits.bytes() {
        let mut carry = u64::from(digit.wrapping_sub(b'0'));
        for word in &mut words {
            carry += u64::from(*word) * 10;
            *word = u32::try_from(carry & u64::from(u32::MAX)).unwrap_or(0);
            carry >>= 32;
        }
        if carry > 0 {
            words.push(u32::try_from(carry).unwrap_or(0));
        }
    }
    let bits = words.last().map_or(0, |highest| 32 * words.len() - highest.leading_zeros() as usize);
    (bits <= BITS_COUNTED).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::bit_length;

    #[test]
    fn bits_of_decimal_numbers() {
        for (digits, bits) in [("0", 0), ("1", 1), ("255", 8), ("256", 9), ("4294967295", 32), ("4294967296", 33)] {
            assert_eq!(bit_length(digits), Some(bits), "{digits}");
        }
        let power = |exponent: usize| {
            std::iter::once('1').chain(std::iter::repeat_n('0', exponent)).collect::<std::string::String>()
        };
        assert_eq!(bit_length(&power(400)), Some(1329));
        assert_eq!(bit_length(&power(4932)), Some(16_384));
        assert_eq!(bit_length(&power(4933)), None);
    }
}
