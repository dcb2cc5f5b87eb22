"""A checked artifact's bytes from its parts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from slm2.artifact import facts, layout, merges, normalization, pretokenizer, program, provenance, special, vocabulary
from slm2.artifact.facts import Facts
from slm2.artifact.merges import Merges
from slm2.artifact.normalization import NormalizationTables
from slm2.artifact.pretokenizer import Dfa
from slm2.artifact.program import Program
from slm2.artifact.reader import read, semantic_digest


@dataclass(frozen=True, slots=True)
class Parts:
    """What an artifact is sealed from; see :class:`slm2.artifact.reader.Artifact` for the fields."""

    tokens: list[bytes]
    special: list[tuple[int, bytes]]
    dfa: Dfa
    merges: Merges
    normalization: NormalizationTables | None
    facts: Facts | None
    provenance: dict[str, str]
    program: Program | None


def seal(parts: Parts) -> bytes:
    """The artifact of ``parts``. What is written is read back first, so that nothing invalid leaves the writer."""
    body = {
        layout.SPECIAL: special.encode(parts.special),
        layout.PRETOKENIZER: pretokenizer.encode(parts.dfa),
        layout.MERGES: merges.encode(parts.merges),
        layout.VOCABULARY: vocabulary.encode(parts.tokens),
    }
    if parts.normalization is not None:
        body[layout.NORMALIZATION] = normalization.encode(parts.normalization)
    if parts.facts is not None:
        body[layout.FACTS] = facts.encode(parts.facts, len(parts.tokens))
    body[layout.PROVENANCE] = provenance.encode(parts.provenance)
    if parts.program is not None:
        body[layout.TEMPLATE] = program.encode(parts.program)
    data = container(body, len(parts.tokens), semantic_digest(body, parts.merges))
    read(data)
    return data


def container(body: dict[int, bytes], vocabulary_size: int, semantic: bytes) -> bytes:
    """Header, directory, sections in the order of their kinds, padding and digest."""
    directory, content = b"", b""
    begin = layout.HEADER_SIZE + layout.ENTRY_SIZE * len(body)
    end = begin
    for kind in sorted(body):
        offset, length = layout.align(end), len(body[kind])
        flags = layout.SECTION_FLAGS.get(kind, 0)
        directory += layout.integer_bytes("I", [kind, flags]) + layout.integer_bytes("Q", [offset, length])
        content += bytes(offset - end) + body[kind]
        end = offset + length
    limit = layout.align(end)
    header = (
        layout.MAGIC
        + layout.integer_bytes("I", [layout.CONTAINER_VERSION, layout.CONTRACT_VERSION])
        + layout.integer_bytes("Q", [limit + layout.DIGEST_SIZE])
        + layout.integer_bytes("I", [vocabulary_size, len(body)])
        + semantic
    )
    return with_digest(header + directory + content + bytes(limit - end))


def with_digest(content: bytes) -> bytes:
    """``content`` and the file digest over it."""
    return content + hashlib.sha256(content).digest()
