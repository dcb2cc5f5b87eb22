//! Header, directory and padding: steps 1 to 3 of the order of checks.

use alloc::vec::Vec;

use super::digest::{hex, sha256};
use super::layout::{self, align, first_nonzero, part, size, u32_from, u64_from};
use crate::error::Error;
use crate::error_code::ErrorCode;

const ALIGNMENT: u64 = 64;

/// An entry of the directory, checked: `start..end` lies in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    pub(crate) kind: u32,
    flags: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// The directory, once header, digest, layout and kinds are as they must be.
#[inline(never)]
pub(crate) fn read(data: &[u8]) -> Result<Vec<Section>, Error> {
    check_header(data)?;
    let sections = directory(data)?;
    check_kinds(&sections)?;
    Ok(sections)
}

/// The file digest as recorded, after its 32 bytes were found to be there.
pub(crate) fn recorded_digest(data: &[u8]) -> &[u8] {
    data.last_chunk::<{ layout::DIGEST_SIZE }>().map_or(&[], |digest| digest)
}

fn check_header(data: &[u8]) -> Result<(), Error> {
    let minimum = layout::HEADER_SIZE + layout::DIGEST_SIZE;
    if data.len() < minimum {
        let fields = [("length", data.len().into()), ("minimum", minimum.into())];
        return Err(Error::new(ErrorCode::ArtifactTruncated, fields));
    }
    let magic = part(data, 0, 8);
    if magic != layout::MAGIC {
        return Err(Error::new(ErrorCode::ArtifactMagic, [("found", hex(magic, " ").into())]));
    }
    check_version(data, 8, layout::CONTAINER_VERSION, ErrorCode::ArtifactContainerVersion)?;
    let recorded = u64_from(data, 16).unwrap_or(0);
    if recorded != size(data) {
        let fields = [("recorded", recorded.into()), ("actual", size(data).into())];
        return Err(Error::new(ErrorCode::ArtifactFileLength, fields));
    }
    let actual = sha256(part(data, 0, limit(data)));
    if actual != recorded_digest(data) {
        let fields = [("recorded", hex(recorded_digest(data), "").into()), ("actual", hex(&actual, "").into())];
        return Err(Error::new(ErrorCode::ArtifactFileDigest, fields));
    }
    check_version(data, 12, layout::CONTRACT_VERSION, ErrorCode::ArtifactContractVersion)
}

fn check_version(data: &[u8], offset: usize, expected: u32, code: ErrorCode) -> Result<(), Error> {
    let found = u32_from(data, offset).unwrap_or(0);
    if found == expected {
        return Ok(());
    }
    Err(Error::new(code, [("found", found.into()), ("expected", expected.into())]))
}

/// Where the digest begins.
fn limit(data: &[u8]) -> u64 {
    size(data).saturating_sub(layout::DIGEST_SIZE as u64)
}

fn directory(data: &[u8]) -> Result<Vec<Section>, Error> {
    let count = u32_from(data, 28).unwrap_or(0);
    let mut end = layout::HEADER_SIZE as u64 + layout::ENTRY_SIZE as u64 * u64::from(count);
    if count == 0 || count > layout::MAX_SECTIONS || end > limit(data) {
        let fields = [("found", count.into()), ("maximum", layout::MAX_SECTIONS.into())];
        return Err(Error::new(ErrorCode::ArtifactSectionCount, fields));
    }
    let mut sections: Vec<Section> = Vec::new();
    let entries = part(data, layout::HEADER_SIZE as u64, end).chunks_exact(layout::ENTRY_SIZE);
    for (index, entry) in entries.enumerate() {
        let kind = u32_from(entry, 0).unwrap_or(0);
        if let Some(previous) = sections.last().map(|section| section.kind).filter(|&previous| kind <= previous) {
            let fields = [("index", index.into()), ("kind", kind.into()), ("previous", previous.into())];
            return Err(Error::new(ErrorCode::ArtifactSectionOrder, fields));
        }
        let section = check_section(data, entry, end)?;
        end = section.end;
        sections.push(section);
    }
    if align(end, ALIGNMENT) != limit(data) {
        let fields = [("expected", align(end, ALIGNMENT).into()), ("found", limit(data).into())];
        return Err(Error::new(ErrorCode::ArtifactTrailingBytes, fields));
    }
    check_padding(data, end, limit(data))?;
    Ok(sections)
}

/// Flags, place and padding of a section that follows what ends at `after`.
fn check_section(data: &[u8], entry: &[u8], after: u64) -> Result<Section, Error> {
    let kind = u32_from(entry, 0).unwrap_or(0);
    let flags = u32_from(entry, 4).unwrap_or(0);
    let expected = layout::known_flags(kind).unwrap_or(flags & layout::REQUIRED);
    if flags != expected {
        let fields = [("kind", kind.into()), ("found", flags.into()), ("expected", expected.into())];
        return Err(Error::new(ErrorCode::ArtifactSectionFlags, fields));
    }
    let start = u64_from(entry, 8).unwrap_or(0);
    let expected = align(after, ALIGNMENT);
    if start != expected {
        let fields = [("kind", kind.into()), ("found", start.into()), ("expected", expected.into())];
        return Err(Error::new(ErrorCode::ArtifactSectionOffset, fields));
    }
    // The one sum of a number that was compared with nothing before: past 2^64 - 1 it counts as that.
    let end = start.saturating_add(u64_from(entry, 16).unwrap_or(0));
    if end > limit(data) {
        let fields = [("kind", kind.into()), ("end", end.into()), ("limit", limit(data).into())];
        return Err(Error::new(ErrorCode::ArtifactSectionBounds, fields));
    }
    check_padding(data, after, start)?;
    Ok(Section { kind, flags, start, end })
}

/// Padding inside the file is zero.
pub(crate) fn check_padding(data: &[u8], start: u64, end: u64) -> Result<(), Error> {
    match first_nonzero(data, start, end) {
        Some(offset) => Err(Error::new(ErrorCode::ArtifactPadding, [("offset", offset.into())])),
        None => Ok(()),
    }
}

fn check_kinds(sections: &[Section]) -> Result<(), Error> {
    for kind in layout::MANDATORY {
        if !sections.iter().any(|section| section.kind == kind) {
            return Err(Error::new(ErrorCode::ArtifactSectionMissing, [("kind", kind.into())]));
        }
    }
    for section in sections {
        if layout::known_flags(section.kind).is_none() && section.flags & layout::REQUIRED != 0 {
            return Err(Error::new(ErrorCode::ArtifactSectionUnknown, [("kind", section.kind.into())]));
        }
    }
    Ok(())
}
