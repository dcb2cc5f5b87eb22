"""Vector files: where they are, and running them against a testee (contract/conformance.md).

The expectations are in the files; nothing here knows what is right. A testee answers one vector at a time, so that a program of
another host can stand behind the same two lines as the engines of this package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from slm2.artifact import PROFILES, Profile
from slm2.conformance.verdict import canonical, first_difference

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = [
    "OPTIONAL",
    "Difference",
    "Testee",
    "VectorFile",
    "expected",
    "files",
    "load",
    "profiles",
    "read_document",
    "run",
    "tier_of",
]

VECTOR_PACKAGE = "slm2.conformance.vectors"
MANIFEST = "manifest.json"
# Of the audit of recordings, a tool of this package: a host may lack them (contract/conformance.md).
OPTIONAL = frozenset({"trace", "replay"})

# Vector files that are asked from a later tier on.
_LATER = {"pipeline.json": 2, "draws.json": 2, "turns.json": 3}

Vector = Mapping[str, Any]
Outcome = dict[str, Any]


@dataclass(frozen=True, slots=True)
class VectorFile:
    """One file of vectors.

    Attributes:
        name: of the file.
        part: the part of the contract that it is about.
        semantic_digest: of the artifact for which its expectations hold, hex.
        vectors: as contract/schemas/vectors.schema.json has them.
    """

    name: str
    part: str
    semantic_digest: str
    vectors: Sequence[Vector]


@dataclass(frozen=True, slots=True)
class Difference:
    """A vector that a testee answered in another way.

    Attributes:
        id: of the vector.
        profile: in which it was asked.
        expected: ``{"expect": …}`` or ``{"error": …}``.
        actual: the same, or ``{"exception": …}`` where the testee broke.
    """

    id: str
    profile: Profile
    expected: Outcome
    actual: Outcome

    def __str__(self) -> str:
        return f"{self.id} ({self.profile}): {first_difference(self.expected, self.actual)}"


class Testee(Protocol):
    """What is tested. Each answer stands by itself: no vector depends on one before it."""

    def answer(self, vector: Vector, profile: Profile) -> Outcome:
        """``{"expect": …}`` for a result, ``{"error": {"code", "fields"}}`` for a refusal."""


def folder() -> Traversable:
    """Where the vectors are: in the installed package, or in the checkout that this module belongs to."""
    try:
        return resources.files(VECTOR_PACKAGE)
    except ModuleNotFoundError:
        return Path(__file__).resolve().parents[3] / "contract" / "vectors"


def read_document(name: str) -> dict[str, Any]:
    """One JSON file of the folder."""
    document: dict[str, Any] = json.loads(folder().joinpath(name).read_bytes())
    return document


def files() -> list[str]:
    """Names of the vector files, in the manifest's order; the sweeps, which hold digests, are not among them."""
    return [entry["name"] for entry in read_document(MANIFEST)["files"] if entry["schema"] == "vectors.schema.json"]


def tier_of(name: str) -> int:
    """The tier from which on a vector file is asked."""
    return _LATER.get(name, 1)


def load(name: str) -> VectorFile:
    """One vector file."""
    document = read_document(name)
    return VectorFile(name, document["part"], document["semantic_digest"], document["vectors"])


def run(file: VectorFile, testee: Testee) -> list[Difference]:
    """Ask every vector in every profile that it holds in; an empty list means that all answers are as expected."""
    differences: list[Difference] = []
    for vector in file.vectors:
        wanted = expected(vector)
        for profile in profiles(vector):
            actual = testee.answer(vector, profile)
            if canonical(actual) != canonical(wanted):
                differences.append(Difference(vector["id"], profile, wanted, actual))
    return differences


def profiles(vector: Vector) -> Sequence[Profile]:
    """A vector without a profile holds in both."""
    return [vector["profile"]] if "profile" in vector else PROFILES


def expected(vector: Vector) -> Outcome:
    """The outcome that a vector has."""
    return {key: vector[key] for key in ("expect", "error") if key in vector}
