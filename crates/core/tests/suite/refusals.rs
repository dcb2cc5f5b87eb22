//! Each code that a reader refuses an artifact with, its fields, and what it must not refuse (contract/artifact.md).

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::{
    Draft, FACTS, MERGES, NORMALIZATION, PRETOKENIZER, PROVENANCE, SPECIAL, Section, TEMPLATE, VOCABULARY, int_fields,
    put_u32, refusal, small, with_digest,
};
use slm2_core::{Artifact, Error, Value};

/// The small artifact, changed and with its file digest put right.
fn raw(change: impl FnOnce(&mut Vec<u8>)) -> Error {
    let mut data = small();
    change(&mut data);
    refusal(&with_digest(data))
}

/// The small artifact with one section changed.
fn section(kind: u32, change: impl FnOnce(&mut Vec<u8>)) -> Error {
    let mut draft = Draft::small();
    change(draft.section(kind));
    refusal(&draft.seal())
}

fn draft(change: impl FnOnce(&mut Draft)) -> Error {
    let mut draft = Draft::small();
    change(&mut draft);
    refusal(&draft.seal())
}

fn accepted(kind: u32, change: impl FnOnce(&mut Vec<u8>)) {
    let mut draft = if kind == SPECIAL { Draft::small_without_template() } else { Draft::small() };
    change(draft.section(kind));
    if let Err(error) = Artifact::from_bytes(draft.seal_rightly()) {
        panic!("{error}");
    }
}

/// Code and fields of an error whose fields are all integers.
#[track_caller]
fn is<const N: usize>(error: &Error, code: &str, fields: [(&'static str, u64); N]) {
    assert_eq!((error.code.as_str(), &error.fields), (code, &int_fields(fields)));
}

#[track_caller]
fn is_text(error: &Error, code: &str, names: [&str; 2]) {
    let is_hex = |value: &Value| matches!(value, Value::Text(text) if text.len() == 64);
    assert_eq!(error.code.as_str(), code);
    assert_eq!(error.fields.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
    assert!(error.fields.iter().all(|(_, value)| is_hex(value)), "{error}");
}

#[test]
fn the_small_artifact_is_accepted_and_comes_back_from_its_parts() {
    assert_eq!(Draft::small().seal(), small());
    assert_eq!(Draft::small().seal_rightly(), small());
    assert!(Artifact::from_bytes(small()).is_ok());
}

#[test]
fn header() {
    is(&refusal(&small()[..95]), "artifact_truncated", [("length", 95), ("minimum", 96)]);
    is(&refusal(&[]), "artifact_truncated", [("length", 0), ("minimum", 96)]);
    let magic = raw(|data| data[4] = b'\n');
    assert_eq!(magic.code.as_str(), "artifact_magic");
    assert_eq!(magic.fields, [("found", Value::Text("89 53 4c 32 0a 0a 1a 0a".into()))]);
    let container = raw(|data| data[8] = 2);
    is(&container, "artifact_container_version", [("found", 2), ("expected", 1)]);
    let length = raw(|data| data[23] = 0x80);
    is(&length, "artifact_file_length", [("recorded", (1 << 63) + 3808), ("actual", 3808)]);
    let mut data = small();
    data[3000] ^= 1;
    is_text(&refusal(&data), "artifact_file_digest", ["recorded", "actual"]);
    is(&raw(|data| data[12] = 7), "artifact_contract_version", [("found", 7), ("expected", 1)]);
    is_text(&raw(|data| data[32] ^= 1), "artifact_semantic_digest", ["recorded", "actual"]);
}

#[test]
fn checks_of_the_header_come_in_their_order() {
    let mut data = small();
    data[12] = 2;
    is_text(&refusal(&data), "artifact_file_digest", ["recorded", "actual"]);
    data[16] ^= 1;
    assert_eq!(refusal(&data).code.as_str(), "artifact_file_length");
    data[8] = 0;
    assert_eq!(refusal(&data).code.as_str(), "artifact_container_version");
    data[0] = 0;
    assert_eq!(refusal(&data).code.as_str(), "artifact_magic");
}

#[test]
fn directory() {
    for count in [0, 65, u32::MAX] {
        let error = raw(|data| put_u32(data, 28, count));
        is(&error, "artifact_section_count", [("found", count.into()), ("maximum", 64)]);
    }
    let mut shortest = small()[..96].to_vec();
    put_u32(&mut shortest, 16, 96);
    put_u32(&mut shortest, 28, 1);
    is(&refusal(&with_digest(shortest)), "artifact_section_count", [("found", 1), ("maximum", 64)]);

    let order = raw(|data| put_u32(data, 64 + 24, 0x10));
    is(&order, "artifact_section_order", [("index", 1), ("kind", 0x10), ("previous", 0x10)]);
    let flags = raw(|data| put_u32(data, 68, 3));
    is(&flags, "artifact_section_flags", [("kind", 0x10), ("found", 3), ("expected", 1)]);
    let flags = raw(|data| put_u32(data, 64 + 24 * 5 + 4, 1));
    is(&flags, "artifact_section_flags", [("kind", 0x60), ("found", 1), ("expected", 0)]);
    for (found, expected) in [(2, 0), (3, 1)] {
        let flags = draft(|draft| draft.sections.push(Section { kind: 0x90, flags: found, content: vec![] }));
        let fields = [("kind", 0x90), ("found", found.into()), ("expected", expected)];
        is(&flags, "artifact_section_flags", fields);
    }
    let offset = raw(|data| put_u32(data, 64 + 24 + 8, 384));
    is(&offset, "artifact_section_offset", [("kind", 0x20), ("found", 384), ("expected", 320)]);
    let bounds = raw(|data| put_u32(data, 64 + 16, 4000));
    is(&bounds, "artifact_section_bounds", [("kind", 0x10), ("end", 4256), ("limit", 3776)]);
    let beyond = raw(|data| data[64 + 16..64 + 24].fill(0xFF));
    is(&beyond, "artifact_section_bounds", [("kind", 0x10), ("end", u64::MAX), ("limit", 3776)]);
}

#[test]
fn padding_and_end() {
    is(&raw(|data| data[3325] = 1), "artifact_padding", [("offset", 3325)]);
    is(&raw(|data| data[3775] = 1), "artifact_padding", [("offset", 3775)]);
    let trailing = raw(|data| {
        data.splice(3776..3776, [0; 64]);
        put_u32(data, 16, 3872);
    });
    is(&trailing, "artifact_trailing_bytes", [("expected", 3776), ("found", 3840)]);
}

#[test]
fn kinds() {
    let missing = draft(|draft| draft.sections.retain(|section| section.kind != PRETOKENIZER));
    is(&missing, "artifact_section_missing", [("kind", 0x20)]);
    let unknown = draft(|draft| draft.sections.push(Section { kind: 0x81, flags: 1, content: vec![1] }));
    is(&unknown, "artifact_section_unknown", [("kind", 0x81)]);

    let mut draft = Draft::small();
    draft.sections.push(Section { kind: 0x81, flags: 0, content: vec![1; 100] });
    draft.sections.insert(0, Section { kind: 0, flags: 0, content: vec![] });
    assert!(Artifact::from_bytes(draft.seal()).is_ok(), "none of these takes part in the semantic digest");
    draft.sections.retain(|section| section.kind != FACTS);
    assert_eq!(refusal(&draft.seal()).code.as_str(), "artifact_semantic_digest");
    assert!(Artifact::from_bytes(draft.seal_rightly()).is_ok());
}

#[test]
fn vocabulary() {
    let length = |found, expected| [("found", found), ("expected", expected)];
    is(&section(VOCABULARY, |v| v.truncate(7)), "artifact_vocabulary_length", length(7, 8));
    is(&section(VOCABULARY, |v| v.truncate(8)), "artifact_vocabulary_length", length(8, 1323));
    is(&section(VOCABULARY, |v| v.push(0)), "artifact_vocabulary_length", length(1324, 1323));
    let count = section(VOCABULARY, |v| put_u32(v, 0, u32::MAX));
    is(&count, "artifact_vocabulary_count", [("found", u32::MAX.into()), ("expected", 261)]);
    for size in [0, 255, 1 << 21, u32::MAX] {
        let error = draft(|draft| {
            put_u32(&mut draft.header, 24, size);
            put_u32(draft.section(VOCABULARY), 0, size);
        });
        is(&error, "artifact_vocabulary_count", [("found", size.into()), ("expected", 256)]);
    }
    let offsets = |at: usize, value| section(VOCABULARY, |v| put_u32(v, 8 + 4 * at, value));
    is(&offsets(0, 1), "artifact_vocabulary_offsets", [("id", 0)]);
    is(&offsets(4, 3), "artifact_vocabulary_offsets", [("id", 3)]);
    is(&offsets(4, 80_000), "artifact_vocabulary_offsets", [("id", 3)]);
    is(&offsets(261, 266), "artifact_vocabulary_offsets", [("id", 260)]);
    is(&section(VOCABULARY, |v| v[1056 + 7] = 8), "artifact_vocabulary_bytes", [("byte", 7)]);
    // Tokens 256 and 257 are `ab` and `abc`; 258 is two bytes.
    let duplicate = section(VOCABULARY, |v| v[1056 + 261..][..2].copy_from_slice(b"ab"));
    is(&duplicate, "artifact_vocabulary_duplicate", [("id", 258), ("earlier", 256)]);
}

#[test]
fn special_tokens() {
    let length = |found, expected| [("found", found), ("expected", expected)];
    is(&section(SPECIAL, |s| s.truncate(3)), "artifact_special_length", length(3, 4));
    is(&section(SPECIAL, |s| s.truncate(4)), "artifact_special_length", length(4, 12));
    is(&section(SPECIAL, |s| s.truncate(14)), "artifact_special_length", length(14, 15));
    is(&section(SPECIAL, |s| put_u32(s, 4, u32::MAX)), "artifact_special_length", length(39, 4_294_967_307));
    is(&section(SPECIAL, |s| s.push(0)), "artifact_special_length", length(40, 39));
    let count = section(SPECIAL, |s| put_u32(s, 0, 4097));
    is(&count, "artifact_special_count", [("found", 4097), ("maximum", 4096)]);
    is(&section(SPECIAL, |s| s[8] = 0xFF), "artifact_special_text", [("index", 0)]);
    let empty = section(SPECIAL, |s| *s = [1, 0, 0, 0, 0, 0, 0, 0, 5, 1, 0, 0].to_vec());
    is(&empty, "artifact_special_text", [("index", 0)]);
    let long = |size: u32| {
        let mut content = [1, size].map(u32::to_le_bytes).concat();
        content.resize(8 + size as usize, b'x');
        content.extend(261_u32.to_le_bytes());
        content
    };
    is(&section(SPECIAL, |s| *s = long(256)), "artifact_special_text", [("index", 0)]);
    accepted(SPECIAL, |s| *s = long(255));
    accepted(SPECIAL, |s| *s = vec![0; 4]);
    let id = |at, id| section(SPECIAL, |s| put_u32(s, at, id));
    is(&id(11, 260), "artifact_special_id", [("index", 0), ("id", 260)]);
    is(&id(22, 261), "artifact_special_id", [("index", 1), ("id", 261)]);
    is(&id(35, 1 << 21), "artifact_special_id", [("index", 2), ("id", 1 << 21)]);
    accepted(SPECIAL, |s| put_u32(s, 35, (1 << 21) - 1));
    let duplicate = section(SPECIAL, |s| s[20] = b's');
    is(&duplicate, "artifact_special_duplicate", [("index", 1), ("earlier", 0)]);
}

const CLASSES: usize = 8;
const ACCEPT: usize = 264;

/// Where the next state of a state on a symbol stands in the small pre-tokenizer.
fn next(state: usize, symbol: usize) -> usize {
    300 + 2 * (14 * state + symbol)
}

#[test]
fn pretokenizer() {
    let change = |at: usize, value: u8| section(PRETOKENIZER, |p| p[at] = value);
    let length = |found| [("found", found), ("expected", 1280)];
    is(&section(PRETOKENIZER, |p| p.truncate(7)), "artifact_pretokenizer_length", [("found", 7), ("expected", 8)]);
    is(&section(PRETOKENIZER, |p| p.truncate(8)), "artifact_pretokenizer_length", length(8));
    is(&section(PRETOKENIZER, |p| p.push(0)), "artifact_pretokenizer_length", length(1281));
    is(&change(0, 1), "artifact_pretokenizer_count", [("states", 1), ("classes", 13)]);
    is(&change(2, 1), "artifact_pretokenizer_count", [("states", 65_571), ("classes", 13)]);
    is(&change(4, 0), "artifact_pretokenizer_count", [("states", 35), ("classes", 0)]);
    is(&change(5, 1), "artifact_pretokenizer_count", [("states", 35), ("classes", 269)]);
    is(&change(299, 1), "artifact_padding", [("offset", 320 + 299)]);
    is(&change(CLASSES, 1), "artifact_pretokenizer_classes", [("byte", 0)]);
    is(&change(CLASSES + 0xFF, 13), "artifact_pretokenizer_classes", [("byte", 255)]);
    let unused = section(PRETOKENIZER, |p| p[CLASSES..ACCEPT].iter_mut().for_each(|class| *class = (*class).min(11)));
    is(&unused, "artifact_pretokenizer_classes", [("byte", 256)]);
    let transition = change(next(3, 1), 35);
    is(&transition, "artifact_pretokenizer_transition", [("state", 3), ("class", 1), ("found", 35)]);
    is(&change(ACCEPT, 1), "artifact_pretokenizer_dead", [("state", 0)]);
    is(&change(next(0, 13), 1), "artifact_pretokenizer_dead", [("state", 0)]);
    is(&change(ACCEPT + 1, 1), "artifact_pretokenizer_dead", [("state", 1)]);
    is(&change(next(1, 13), 2), "artifact_pretokenizer_dead", [("state", 1)]);
    is(&change(next(1, 0), 3), "artifact_pretokenizer_order", [("state", 2)]);
    let unreached = section(PRETOKENIZER, |p| (0..13).for_each(|symbol| p[next(33, symbol)] = 32));
    is(&unreached, "artifact_pretokenizer_order", [("state", 34)]);
    let empty = change(ACCEPT + 14, 3);
    is(&empty, "artifact_pretokenizer_accept", [("state", 14), ("back", 2), ("depth", 1)]);
    is(&change(next(5, 0), 0), "artifact_pretokenizer_stuck", [("state", 5)]);
    is(&change(next(5, 13), 7), "artifact_pretokenizer_stuck", [("state", 5)]);
    // The start itself, come to again: a text that ends there has no match.
    is(&change(next(5, 0), 1), "artifact_pretokenizer_stuck", [("state", 1)]);
}

/// Where slot `index` of the small merges stands.
fn slot(index: usize) -> usize {
    24 + 8 * index
}

/// Put a rank into a slot.
fn put_rank(merges: &mut [u8], index: usize, rank: u64) {
    let at = slot(index);
    let slot = u64::from_le_bytes(merges[at..at + 8].try_into().unwrap());
    let slot = slot & !(((1 << 21) - 1) << 42) | (rank << 42);
    merges[at..at + 8].copy_from_slice(&slot.to_le_bytes());
}

/// Merges of no pair, in slots that are empty.
fn no_merges(first_id: u32, base: u32) -> Vec<u8> {
    let mut content = [0, 2, 0, 0, first_id, base].map(u32::to_le_bytes).concat();
    content.resize(slot(2), 0);
    content
}

#[test]
fn merges() {
    let length = |found| [("found", found), ("expected", 64)];
    is(&section(MERGES, |m| m.truncate(19)), "artifact_merges_length", [("found", 19), ("expected", 20)]);
    is(&section(MERGES, |m| m.truncate(20)), "artifact_merges_length", length(20));
    is(&section(MERGES, |m| m.push(0)), "artifact_merges_length", length(65));
    let most = 1 << 22;
    for counts in
        [[6, 5, 0, 0], [0, 0, 0, 0], [1 << 21, most, 0, 0], [5, most + 1, 0, 0], [5, 5, 22, 0], [5, 5, 0, most]]
    {
        let changed = section(MERGES, |m| m[..16].copy_from_slice(&counts.map(u32::to_le_bytes).concat()));
        let [merges, slots, row_bits, seed] = counts.map(u64::from);
        let fields = [("merges", merges), ("slots", slots), ("row_bits", row_bits), ("seed", seed)];
        is(&changed, "artifact_merges_count", fields);
    }
    let padding = section(MERGES, |m| {
        m[8] = 1;
        m.splice(24..24, [0, 0, 0, 0, 0, 0, 9, 0]);
    });
    is(&padding, "artifact_padding", [("offset", 1600 + 30)]);
    is(&section(MERGES, |m| m[20] = 5), "artifact_merges_base", [("row", 0)]);
    is(&section(MERGES, |m| *m = no_merges(0, 1)), "artifact_merges_base", [("row", 0)]);
    accepted(MERGES, |m| *m = no_merges(0, 0));
    is(&section(MERGES, |m| *m = no_merges(7, 0)), "artifact_merges_ids", [("rank", 0)]);
    is(&section(MERGES, |m| put_u32(m, 16, 257)), "artifact_merges_ids", [("rank", 4)]);
    let listed = |ids: [u32; 5]| {
        section(MERGES, |m| {
            put_u32(m, 16, u32::MAX);
            m.extend(ids.map(u32::to_le_bytes).concat());
        })
    };
    is(&listed([256, 257, 258, 259, 260]), "artifact_merges_ids", [("rank", 5)]);
    is(&listed([256, 257, 261, 259, 260]), "artifact_merges_ids", [("rank", 2)]);
    is(&listed([256, 258, 257, 259, 260]), "artifact_merges_bytes", [("rank", 2)]);
    is(&section(MERGES, |m| m[slot(0) + 7] = 0), "artifact_merges_slot", [("slot", 0)]);
    is(&section(MERGES, |m| m.swap(slot(2), slot(3))), "artifact_merges_slot", [("slot", 2)]);
    is(&section(MERGES, |m| put_rank(m, 1, 5)), "artifact_merges_slot", [("slot", 1)]);
    is(&section(MERGES, |m| put_rank(m, 1, 0)), "artifact_merges_rank", [("rank", 0)]);
    is(&section(MERGES, |m| m[slot(0)..slot(1)].fill(0)), "artifact_merges_rank", [("rank", 0)]);
    is(&section(MERGES, |m| put_rank(m, 0, 3)), "artifact_merges_bytes", [("rank", 3)]);
}

const RUNS: usize = 12;
const DECOMPOSITIONS: usize = 36;
const COMPOSITIONS: usize = 84;

#[test]
fn normalization() {
    let change = |at: usize, value: u32| section(NORMALIZATION, |n| put_u32(n, at, value));
    let length = |found, expected| [("found", found), ("expected", expected)];
    is(&section(NORMALIZATION, |n| n.truncate(11)), "artifact_normalization_length", length(11, 12));
    is(&section(NORMALIZATION, |n| n.push(0)), "artifact_normalization_length", length(97, 96));
    for count in 0..3 {
        is(&change(4 * count, 65_536), "artifact_normalization_length", length(96, 0));
    }
    is(&change(0, 65_535), "artifact_normalization_length", length(96, 786_492));

    for (at, value, index) in [
        (RUNS, 0x302, 0),
        (RUNS + 8, 0, 0),
        (RUNS + 8, 255, 0),
        (RUNS + 12, 0x301, 1),
        (RUNS + 16, 0xD800, 1),
        (RUNS + 16, 0x0011_0000, 1),
        (RUNS + 16, 0xE000, 1),
    ] {
        is(&change(at, value), "artifact_normalization_class", [("index", index)]);
    }
    let mergeable = section(NORMALIZATION, |n| {
        n.copy_within(RUNS..RUNS + 12, RUNS + 12);
        put_u32(n, RUNS + 12, 0x302);
        put_u32(n, RUNS + 16, 0x302);
    });
    is(&mergeable, "artifact_normalization_class", [("index", 1)]);

    for (at, value, index) in [
        (DECOMPOSITIONS, 0x344, 0),            // `U+0344` decomposes, later
        (DECOMPOSITIONS + 4, 0, 0),            // no parts
        (DECOMPOSITIONS + 4, 1, 0),            // more parts than it says
        (DECOMPOSITIONS + 4, 5, 0),            // more parts than fit
        (DECOMPOSITIONS + 8, 0xD800, 0),       // a part that is no scalar value
        (DECOMPOSITIONS + 8, 0x344, 0),        // a part that decomposes
        (DECOMPOSITIONS + 24, 0xE9, 1),        // not rising
        (DECOMPOSITIONS + 24, 0xAC00, 1),      // Hangul
        (DECOMPOSITIONS + 24, 0x0011_0000, 1), // no scalar value
    ] {
        // The first case is a fault of entry 1, which then does not rise.
        let index = if at == DECOMPOSITIONS { 1 } else { index };
        is(&change(at, value), "artifact_normalization_decomposition", [("index", index)]);
    }
    let order = section(NORMALIZATION, |n| {
        put_u32(n, DECOMPOSITIONS + 32, 0x301);
        put_u32(n, DECOMPOSITIONS + 36, 0x323);
    });
    is(&order, "artifact_normalization_decomposition", [("index", 1)]);
    // A syllable may be a part; it stays whole.
    accepted(NORMALIZATION, |n| put_u32(n, DECOMPOSITIONS + 32, 0xAC00));

    for (at, value) in [(0, 0x66), (4, 0x323), (8, 0x344), (8, 0xAC00), (8, 0xE8)] {
        is(&change(COMPOSITIONS + at, value), "artifact_normalization_composition", [("index", 0)]);
    }
    let twice = section(NORMALIZATION, |n| {
        put_u32(n, 8, 2);
        n.extend_from_within(COMPOSITIONS..);
    });
    is(&twice, "artifact_normalization_composition", [("index", 1)]);
}

#[test]
fn an_artifact_without_normalisation_is_accepted() {
    let mut draft = Draft::small();
    draft.sections.retain(|section| section.kind != NORMALIZATION);
    assert!(Artifact::from_bytes(draft.seal_rightly()).is_ok());
}

#[test]
fn facts() {
    let fields = |found| [("found", found), ("expected", 66)];
    is(&section(FACTS, Vec::clear), "artifact_facts", fields(0));
    is(&section(FACTS, |f| f.push(0)), "artifact_facts", fields(67));
    is(&section(FACTS, |f| f[32] |= 0x20), "artifact_facts", fields(66));
    is(&section(FACTS, |f| f[65] |= 0x80), "artifact_facts", fields(66));
    accepted(FACTS, |f| f.fill(0));
}

#[test]
fn provenance() {
    for (content, line) in [
        (&b"a"[..], 1),
        (b"a=1", 1),
        (b"a=1\n\n", 2),
        (b"=1\n", 1),
        (b"A=1\n", 1),
        (b"a b=1\n", 1),
        (b"b=1\na=1\n", 2),
        (b"a=1\na=2\n", 2),
        (b"a=1\nb=\x1F\n", 2),
        (b"a=\x7F\n", 1),
        (b"a=\xED\xA0\x80\n", 1),
        (b"a=1\nb=2\nc", 3),
    ] {
        is(&section(PROVENANCE, |p| *p = content.to_vec()), "artifact_provenance", [("line", line)]);
    }
    for content in [&b""[..], b"a=\n", b"-=1\n.=2\n0=3\n_=4\na=\xC2\x85=\n"] {
        accepted(PROVENANCE, |p| *p = content.to_vec());
    }
}

#[test]
fn template() {
    let change = |at: usize, value: u8| section(TEMPLATE, |t| t[at] = value);
    let length = |found, expected| [("found", found), ("expected", expected)];
    is(&section(TEMPLATE, |t| t.truncate(1)), "artifact_template_length", length(1, 2));
    is(&section(TEMPLATE, |t| t.truncate(417)), "artifact_template_length", length(417, 418));
    is(&section(TEMPLATE, |t| t.push(0)), "artifact_template_length", length(419, 418));
    // Names of the family and of the first state; `b` for `ab`; the literals are one and the same.
    is(&change(2, b'S'), "artifact_template_text", [("index", 0)]);
    is(&change(0x1D, b'i'), "artifact_template_text", [("index", 5)]);
    is(&change(0x29, b'F'), "artifact_template_text", [("index", 8)]);
    is(&section(TEMPLATE, |t| t[0x0F..0x12].copy_from_slice(b"<s>")), "artifact_template_text", [("index", 2)]);
    is(&change(0x10, b'x'), "artifact_template_mark", [("mark", 1)]);
    is(&change(0x2C, 1), "artifact_template_mark", [("mark", 2)]);
    is(&change(0x2F, 3), "artifact_template_mark", [("mark", 3)]);
    let rule = |event, rule| [("state", 0), ("event", event), ("rule", rule)];
    is(&change(0x30, 0), "artifact_template_rule", rule(0, 0));
    is(&change(0x30, 17), "artifact_template_rule", rule(0, 17));
    is(&change(0x33, 1), "artifact_template_rule", rule(0, 0));
    is(&change(0x35, 1), "artifact_template_rule", rule(0, 0));
    is(&change(0x39, 9), "artifact_template_rule", rule(0, 0));
    is(&change(0x4E, 3), "artifact_template_rule", rule(2, 0));
    for (at, value) in [(0x50, 4), (0x51, 8), (0x52, 2), (0x53, 1), (0x5A, 1), (0x5B, 4)] {
        is(&change(at, value), "artifact_template_rule", rule(2, 0));
    }
    is(&change(0x18A, 9), "artifact_template_reply", [("state", 0), ("symbol", 0)]);
    is(&change(0x18B, 1), "artifact_template_reply", [("state", 0), ("symbol", 0)]);
    is(&change(0x52, 1), "artifact_template_order", [("op", 0)]);
    is(&change(0x56, 1), "artifact_template_order", [("op", 1)]);
    is(&change(0x31, 1), "artifact_template_total", [("state", 0), ("event", 0)]);
    // INIT has one way to TURN, and so to END.
    is(&change(0x4E, 0), "artifact_template_reach", [("state", 0)]);
    is(&change(0x39, 8), "artifact_template_closed", [("state", 0), ("event", 0)]);
    accepted(TEMPLATE, |t| t[0x39] = 1);
}

/// The tests above name each code of the table that a reader raises.
#[test]
fn every_code_is_reached() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("../../contract/errors.toml")).unwrap();
    let codes: BTreeSet<&str> =
        table.lines().filter_map(|line| line.strip_prefix("[artifact_")?.strip_suffix(']')).collect();
    assert!(codes.len() >= 55);
    let tests = include_str!("refusals.rs");
    for code in codes {
        assert!(tests.contains(&format!("\"artifact_{code}\"")), "artifact_{code}");
    }
}
