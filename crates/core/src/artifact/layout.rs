//! Constants of the container, and integers in its bytes (contract/artifact.md).
//!
//! The functions answer `None` past the end, whatever the numbers: offsets that come from a file may be anything.

pub(crate) const MAGIC: &[u8; 8] = b"\x89SL2\r\n\x1a\n";
pub(crate) const CONTAINER_VERSION: u32 = 1;
pub(crate) const CONTRACT_VERSION: u32 = 1;

pub(crate) const HEADER_SIZE: usize = 64;
pub(crate) const ENTRY_SIZE: usize = 24;
pub(crate) const DIGEST_SIZE: usize = 32;
pub(crate) const MAX_SECTIONS: u32 = 64;

/// The greatest id, rank and number of plain tokens: slots have 21 bits for each.
pub(crate) const MAX_ID: u32 = (1 << 21) - 1;

pub(crate) const SPECIAL: u32 = 0x10;
pub(crate) const PRETOKENIZER: u32 = 0x20;
pub(crate) const MERGES: u32 = 0x30;
pub(crate) const VOCABULARY: u32 = 0x40;
pub(crate) const NORMALIZATION: u32 = 0x50;
pub(crate) const FACTS: u32 = 0x60;
pub(crate) const PROVENANCE: u32 = 0x70;
pub(crate) const TEMPLATE: u32 = 0x80;

/// The flag of sections that a reader must know.
pub(crate) const REQUIRED: u32 = 1;
/// Kinds without which there is no artifact, lowest first.
pub(crate) const MANDATORY: [u32; 5] = [SPECIAL, PRETOKENIZER, MERGES, VOCABULARY, PROVENANCE];

/// The flags that a section of a known kind must have; `None` for an unknown kind.
pub(crate) const fn known_flags(kind: u32) -> Option<u32> {
    match kind {
        SPECIAL | PRETOKENIZER | MERGES | VOCABULARY | NORMALIZATION | PROVENANCE | TEMPLATE => Some(REQUIRED),
        FACTS => Some(0),
        _ => None,
    }
}

/// The next multiple of `multiple`, a power of two, at or after `offset`, which is a length of bytes in memory or a sum
/// of products of u32: far from 2^64.
pub(crate) const fn align(offset: u64, multiple: u64) -> u64 {
    (offset + (multiple - 1)) & !(multiple - 1)
}

/// The length of bytes in memory in the width that lengths are computed in.
pub(crate) const fn size(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}

/// The bytes from `start` to `end`; none where they are not all there.
pub(crate) fn part(bytes: &[u8], start: u64, end: u64) -> &[u8] {
    let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end)) else { return &[] };
    bytes.get(start..end).unwrap_or_default()
}

/// The offset of the first byte in `start..end` that is not zero.
pub(crate) fn first_nonzero(bytes: &[u8], start: u64, end: u64) -> Option<u64> {
    let at = part(bytes, start, end).iter().position(|&byte| byte != 0)?;
    Some(start + at as u64)
}

/// The u32 at byte `offset`.
pub(crate) fn u32_from(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..offset.checked_add(4)?)?.first_chunk()?))
}

/// The u64 at byte `offset`.
pub(crate) fn u64_from(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..offset.checked_add(8)?)?.first_chunk()?))
}

/// Element `index` of an array of u16.
pub(crate) fn u16_at(array: &[u8], index: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*array.get(index.checked_mul(2)?..)?.first_chunk()?))
}

/// Element `index` of an array of u32.
pub(crate) fn u32_at(array: &[u8], index: usize) -> Option<u32> {
    u32_from(array, index.checked_mul(4)?)
}

/// Element `index` of an array of u64.
pub(crate) fn u64_at(array: &[u8], index: usize) -> Option<u64> {
    u64_from(array, index.checked_mul(8)?)
}

/// The least index below `count` at which `reached` holds, or `count`; `reached` must not fall back to false.
pub(crate) fn lower_bound(count: usize, reached: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if reached(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
