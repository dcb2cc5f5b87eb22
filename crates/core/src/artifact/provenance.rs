//! Section 0x70: what the artifact was made from.

use crate::error::Error;
use crate::error_code::ErrorCode;

/// The second half of step 9 of the order of checks.
pub(crate) fn check(section: &[u8]) -> Result<(), Error> {
    let mut previous = "";
    // `split_inclusive` makes no line of nothing after the last U+000A.
    for (index, line) in section.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let key = line.strip_suffix(b"\n").and_then(parse).map(|(key, _)| key).filter(|&key| key > previous);
        let Some(key) = key else {
            return Err(Error::new(ErrorCode::ArtifactProvenance, [("line", (index + 1).into())]));
        };
        previous = key;
    }
    Ok(())
}

/// Keys and values of a checked section.
pub(crate) fn entries(section: &[u8]) -> impl Iterator<Item = (&str, &str)> {
    section.split(|&byte| byte == b'\n').filter_map(parse)
}

/// Key and value of a line without its end.
fn parse(line: &[u8]) -> Option<(&str, &str)> {
    let (key, value) = core::str::from_utf8(line).ok()?.split_once('=')?;
    let named =
        !key.is_empty() && key.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'));
    // A control character in front of the `=` is none of these.
    let plain = !value.bytes().any(|byte| byte < 0x20 || byte == 0x7F);
    (named && plain).then_some((key, value))
}
