"""Bytes to a checked artifact: contract/artifact.md, check by check, in its order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from slm2.artifact import facts, layout, merges, normalization, pretokenizer, program, program_checks, provenance, special, vocabulary
from slm2.artifact.facts import Facts
from slm2.artifact.merges import Merges
from slm2.artifact.normalization import NormalizationTables
from slm2.artifact.pretokenizer import Dfa
from slm2.artifact.program import Program
from slm2.errors import Slm2Error


@dataclass(frozen=True, slots=True)
class Section:
    """An entry of the directory; offset and length in bytes."""

    kind: int
    flags: int
    offset: int
    length: int


@dataclass(frozen=True)
class Artifact:
    """A checked artifact, opened.

    Attributes:
        contract_version: what its contents mean.
        file_digest: SHA-256 of the file before the digest, hex.
        semantic_digest: SHA-256 of the behaviour, hex (decisions D13).
        size: of the file, bytes.
        sections: the directory.
        tokens: bytes of each plain token; its index is its id.
        special: id and text of each special token, ids rising.
        dfa: the pre-tokenizer.
        merges: the double array.
        normalization: NFC tables; None where the publisher normalises nothing.
        facts: what the compiler proved; None where it sealed nothing.
        provenance: what it was made from.
        program: the template; None where the artifact has none.
    """

    contract_version: int
    file_digest: str
    semantic_digest: str
    size: int
    sections: tuple[Section, ...]
    tokens: list[bytes]
    special: list[tuple[int, bytes]]
    dfa: Dfa
    merges: Merges
    normalization: NormalizationTables | None
    facts: Facts | None
    provenance: dict[str, str]
    program: Program | None

    @property
    def token_limit(self) -> int:
        """The lowest id above which no id has a token."""
        return self.special[-1][0] + 1 if self.special else len(self.tokens)

    @cached_property
    def special_text(self) -> dict[int, bytes]:
        """Text of each special token by id."""
        return dict(self.special)

    @cached_property
    def token_ids(self) -> dict[bytes, int]:
        """Id of each plain token by its bytes."""
        return {token: token_id for token_id, token in enumerate(self.tokens)}

    @cached_property
    def merged(self) -> frozenset[int]:
        """Ids that the file states to be reproduced by merging their own bytes; none where it states nothing."""
        return frozenset() if self.facts is None else frozenset(range(len(self.tokens))).difference(self.facts.not_merged)

    @cached_property
    def byte_ids(self) -> list[int]:
        """Id of each single byte."""
        return [self.token_ids[bytes([byte])] for byte in range(256)]


def read(data: bytes) -> Artifact:
    """Open an artifact.

    Raises:
        Slm2Error: the first rule of contract/artifact.md that ``data`` breaks, a code ``artifact_…``.
    """
    data = bytes(data)
    _check_header(data)
    sections = _directory(data)
    by_kind = {section.kind: section for section in sections}
    _check_kinds(by_kind)
    body = {kind: data[part.offset : part.offset + part.length] for kind, part in by_kind.items()}
    size = layout.u32(data, 24)

    tokens = vocabulary.parse(body[layout.VOCABULARY], size)
    special_tokens = special.parse(body[layout.SPECIAL], size)
    dfa = pretokenizer.parse(body[layout.PRETOKENIZER], by_kind[layout.PRETOKENIZER].offset)
    double_array = merges.parse(body[layout.MERGES], tokens, by_kind[layout.MERGES].offset)
    tables = normalization.parse(body[layout.NORMALIZATION]) if layout.NORMALIZATION in body else None
    proved = facts.parse(body[layout.FACTS], size) if layout.FACTS in body else None
    origin = provenance.parse(body[layout.PROVENANCE])
    template = program.parse(body[layout.TEMPLATE], special_tokens) if layout.TEMPLATE in body else None
    if template is not None:
        program_checks.check(template)
    semantic = semantic_digest(body, double_array).hex()
    if semantic != data[32:64].hex():
        raise Slm2Error("artifact_semantic_digest", recorded=data[32:64].hex(), actual=semantic)
    return Artifact(
        contract_version=layout.u32(data, 12),
        file_digest=data[-layout.DIGEST_SIZE :].hex(),
        semantic_digest=semantic,
        size=len(data),
        sections=sections,
        tokens=tokens,
        special=special_tokens,
        dfa=dfa,
        merges=double_array,
        normalization=tables,
        facts=proved,
        provenance=origin,
        program=template,
    )


def _check_header(data: bytes) -> None:
    minimum = layout.HEADER_SIZE + layout.DIGEST_SIZE
    if len(data) < minimum:
        raise Slm2Error("artifact_truncated", length=len(data), minimum=minimum)
    if data[:8] != layout.MAGIC:
        raise Slm2Error("artifact_magic", found=data[:8].hex(" "))
    container = layout.u32(data, 8)
    if container != layout.CONTAINER_VERSION:
        raise Slm2Error("artifact_container_version", found=container, expected=layout.CONTAINER_VERSION)
    recorded = int.from_bytes(data[16:24], "little")
    if recorded != len(data):
        raise Slm2Error("artifact_file_length", recorded=recorded, actual=len(data))
    digest = hashlib.sha256(memoryview(data)[: -layout.DIGEST_SIZE]).hexdigest()
    if digest != data[-layout.DIGEST_SIZE :].hex():
        raise Slm2Error("artifact_file_digest", recorded=data[-layout.DIGEST_SIZE :].hex(), actual=digest)
    contract = layout.u32(data, 12)
    if contract != layout.CONTRACT_VERSION:
        raise Slm2Error("artifact_contract_version", found=contract, expected=layout.CONTRACT_VERSION)


def _directory(data: bytes) -> tuple[Section, ...]:
    limit = len(data) - layout.DIGEST_SIZE
    count = layout.u32(data, 28)
    end = layout.HEADER_SIZE + layout.ENTRY_SIZE * count
    if not 1 <= count <= layout.MAX_SECTIONS or end > limit:
        raise Slm2Error("artifact_section_count", found=count, maximum=layout.MAX_SECTIONS)
    sections: list[Section] = []
    for index in range(count):
        at = layout.HEADER_SIZE + layout.ENTRY_SIZE * index
        section = Section(
            layout.u32(data, at),
            layout.u32(data, at + 4),
            int.from_bytes(data[at + 8 : at + 16], "little"),
            int.from_bytes(data[at + 16 : at + 24], "little"),
        )
        previous = sections[-1].kind if sections else 0
        if index and section.kind <= previous:
            raise Slm2Error("artifact_section_order", index=index, kind=section.kind, previous=previous)
        _check_section(data, section, end, limit)
        sections.append(section)
        end = section.offset + section.length
    if layout.align(end) != limit:
        raise Slm2Error("artifact_trailing_bytes", expected=layout.align(end), found=limit)
    _check_padding(data, end, limit)
    return tuple(sections)


def _check_section(data: bytes, section: Section, after: int, limit: int) -> None:
    """Flags, place and padding of a section that follows what ends at ``after``."""
    expected = layout.SECTION_FLAGS.get(section.kind, section.flags & layout.REQUIRED)
    if section.flags != expected:
        raise Slm2Error("artifact_section_flags", kind=section.kind, found=section.flags, expected=expected)
    if section.offset != layout.align(after):
        raise Slm2Error("artifact_section_offset", kind=section.kind, found=section.offset, expected=layout.align(after))
    end = min(section.offset + section.length, 2**64 - 1)
    if end > limit:
        raise Slm2Error("artifact_section_bounds", kind=section.kind, end=end, limit=limit)
    _check_padding(data, after, section.offset)


def _check_padding(data: bytes, start: int, end: int) -> None:
    padding = data[start:end]
    if padding.strip(b"\0"):
        raise Slm2Error("artifact_padding", offset=start + len(padding) - len(padding.lstrip(b"\0")))


def _check_kinds(by_kind: dict[int, Section]) -> None:
    for kind in layout.MANDATORY:
        if kind not in by_kind:
            raise Slm2Error("artifact_section_missing", kind=kind)
    for kind, section in by_kind.items():
        if kind not in layout.SECTION_NAMES and section.flags & layout.REQUIRED:
            raise Slm2Error("artifact_section_unknown", kind=kind)


def semantic_digest(body: dict[int, bytes], double_array: Merges) -> bytes:
    """SHA-256 over what decides the behaviour, in canonical order (contract/artifact.md, two digests)."""
    digest = hashlib.sha256(layout.SEMANTIC_PREFIX)
    for kind in layout.SEMANTIC_SECTIONS:
        content = body.get(kind, b"")
        if kind == layout.MERGES:
            content = layout.integer_bytes("I", [value for merge in double_array.by_rank() for value in merge])
        digest.update(kind.to_bytes(4, "little") + len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.digest()
