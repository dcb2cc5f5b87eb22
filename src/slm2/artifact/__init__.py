"""The sealed artifact: layout, reader, writer (contract/artifact.md)."""

from __future__ import annotations

from slm2.artifact.facts import Facts
from slm2.artifact.layout import PROFILES, Profile
from slm2.artifact.merges import Merges
from slm2.artifact.normalization import NormalizationTables
from slm2.artifact.pretokenizer import Dfa
from slm2.artifact.program import Program
from slm2.artifact.reader import Artifact, Section, read
from slm2.artifact.writer import Parts, seal

__all__ = [
    "PROFILES",
    "Artifact",
    "Dfa",
    "Facts",
    "Merges",
    "NormalizationTables",
    "Parts",
    "Profile",
    "Program",
    "Section",
    "read",
    "seal",
]
