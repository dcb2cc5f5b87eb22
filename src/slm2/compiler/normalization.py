"""The normalisation tables that the compiler can seal: committed data, derived from an engine (contract/normalization.md)."""

from __future__ import annotations

import json
from importlib import resources

from slm2.artifact.normalization import NormalizationTables, classes_of, runs_of
from slm2.errors import Slm2Error

# Which tables stand for a publisher whose tokenizer.json says NFC (decisions D1).
DEFAULT_TABLES = "tokenizers-0.23"

_DIRECTORY = "normalization_tables"


def table_names() -> list[str]:
    """The names that :func:`load_tables` takes: the engine and its version."""
    files = (resources.files(__package__) / _DIRECTORY).iterdir()
    return sorted(file.name.removesuffix(".json") for file in files if file.name.endswith(".json"))


def load_tables(name: str = DEFAULT_TABLES) -> NormalizationTables:
    """The tables of one engine.

    Raises:
        Slm2Error: ``invalid_value`` where there are no tables of that name.
    """
    known = table_names()
    if name not in known:
        raise Slm2Error("invalid_value", field="normalization", expected=" or ".join(known), found=repr(name))
    return from_json((resources.files(__package__) / _DIRECTORY / f"{name}.json").read_text("utf-8"))


def from_json(text: str) -> NormalizationTables:
    """Tables from the text that :func:`to_json` wrote."""
    document = json.loads(text)
    return NormalizationTables(
        classes=classes_of(document["classes"]),
        decompositions={scalar: tuple(parts) for scalar, *parts in document["decompositions"]},
        compositions={(first, second): composite for first, second, composite in document["compositions"]},
    )


def to_json(tables: NormalizationTables, origin: dict[str, str]) -> str:
    """Tables as text: what they come from, then each table on one line, in the order of the artifact's section.

    Args:
        tables: scalar values are decimal integers in the text.
        origin: what the tables were derived from, for the reader of the file; :func:`from_json` ignores it.
    """
    lists = {
        "classes": runs_of(tables.classes),
        "decompositions": [[scalar, *parts] for scalar, parts in sorted(tables.decompositions.items())],
        "compositions": [[*pair, composite] for pair, composite in sorted(tables.compositions.items())],
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in origin.items()]
    lines += [f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in lists.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"
