"""Publisher's files -> the sealed artifact. Runs once, offline; equal sources give equal bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from slm2.artifact import Facts, Parts, Program, read, seal
from slm2.artifact.pretokenizer import Dfa
from slm2.compiler import byte_automaton, double_array, normalization, pattern, proofs, source, symbol_automaton, template_source, unicode
from slm2.compiler.source import Source
from slm2.errors import Slm2Error

__all__ = ["COMPILER_VERSION", "compile_pattern", "compile_source", "compile_sources"]

# Rises when equal sources would give other bytes; sealed, so that an artifact says which compiler made it.
COMPILER_VERSION = "2"

# progress(stage, done, total): total may still grow while a stage runs.
Progress = Callable[[str, int, int], None]


def compile_sources(source_dir: Path, progress: Progress, template: str | None = None) -> bytes:
    """The artifact of a folder with the publisher's ``tokenizer.json``.

    Args:
        source_dir: the folder.
        progress: called with stage, done and total.
        template: name of a template program; None takes the one of a published tokenizer that is known, and else none.

    Raises:
        Slm2Error: ``source_missing``, ``source_unsupported``, ``pattern_unsupported``, ``pattern_not_total``,
            ``pattern_too_large``, ``dependency_missing``, ``invalid_value``.
    """
    progress("read", 0, 1)
    loaded = source.load(source_dir)
    progress("read", 1, 1)
    return compile_source(loaded, progress, template or source.TEMPLATES.get(loaded.digest))


def compile_source(loaded: Source, progress: Progress, template: str | None = None) -> bytes:
    """The artifact of a source, with the template program of a name."""
    program: Program | None = None if template is None else template_source.load(template)
    merges = double_array.build(loaded.merges, lambda done, total: progress("merges", done, total))
    progress("merges", 1, 1)
    dfa = compile_pattern(loaded.pattern, lambda done, total: progress("pre-tokenizer", done, total))
    progress("pre-tokenizer", 1, 1)
    tables = normalization.load_tables() if loaded.nfc else None
    provenance = _provenance(loaded, template)

    def parts(facts: Facts | None) -> Parts:
        return Parts(loaded.tokens, loaded.special, dfa, merges, tables, facts, provenance, program)

    facts = proofs.prove(read(seal(parts(None))), lambda done, total: progress("proofs", done, total))
    progress("proofs", 1, 1)
    if loaded.ignore_merges and facts.not_merged:
        # Only where the merges reproduce every entry does skipping them change nothing.
        raise Slm2Error("source_unsupported", construct="model.ignore_merges", found=f"true, with {len(facts.not_merged)} entries apart")
    return seal(parts(facts))


def compile_pattern(text: str, progress: Callable[[int, int], None] = lambda _done, _total: None) -> Dfa:
    """The byte DFA of a pre-tokenizer pattern."""
    return byte_automaton.build(symbol_automaton.build(pattern.parse(text)), progress)


def _provenance(loaded: Source, template: str | None) -> dict[str, str]:
    provenance = {
        "compiler": COMPILER_VERSION,
        "normalization": normalization.DEFAULT_TABLES if loaded.nfc else "none",
        "pattern": loaded.pattern,
        "source.tokenizer.json": f"sha256:{loaded.digest}",
        "unicode": unicode.unicode_version(),
    }
    if template is not None:
        provenance["template"] = template
    if loaded.digest in source.PUBLISHED:
        provenance["repository"], provenance["revision"] = source.PUBLISHED[loaded.digest]
    return provenance
