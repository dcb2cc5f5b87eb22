"""The loaded contract: one artifact, one engine, one profile, and the parts over them."""

from __future__ import annotations

from importlib import resources
from os import PathLike, fspath
from pathlib import Path

from slm2.artifact import PROFILES, Profile
from slm2.engine import Engine, EngineChoice, SpecialPolicy, select
from slm2.errors import Slm2Error
from slm2.prompt import Prompt
from slm2.stream import StreamDecoder
from slm2.template import Template
from slm2.tokenizer import Tokenizer

__all__ = ["EMBEDDED", "Contract", "embedded", "load"]

EMBEDDED = "qwen3-0.6b.slm2"


class Contract:
    """What :func:`load` gives.

    Attributes:
        engine: the engine in use; ``engine.name`` is ``native`` or ``reference``.
        profile: ``contract`` or ``publisher`` (decisions D1).
        tokenizer: text to ids and back.
        template: messages to ids.
        prompt: a request within its budget to ids.
    """

    def __init__(self, engine: Engine, profile: Profile) -> None:
        self.engine = engine
        self.profile: Profile = profile
        self.tokenizer = Tokenizer(engine, profile)
        self.template = Template(engine, profile)
        self.prompt = Prompt(engine, profile)

    def __repr__(self) -> str:
        return f"Contract(digest={self.digest[:12]!r}, profile={self.profile!r}, engine={self.engine.name!r})"

    @property
    def digest(self) -> str:
        """SHA-256 that names the behaviour, hex: vectors and checkpoints bind to it (decisions D13)."""
        return self.engine.semantic_digest

    @property
    def file_digest(self) -> str:
        """SHA-256 that names the artifact's file, hex."""
        return self.engine.file_digest

    def stream_decoder(self, *, special: SpecialPolicy) -> StreamDecoder:
        """A streaming decoder; ``special`` says what becomes of ids of special tokens: ``refuse``, ``skip`` or ``bytes``."""
        return StreamDecoder(self.engine, special)


def load(artifact: str | PathLike[str] | bytes | None = None, *, engine: EngineChoice = "auto", profile: Profile = "contract") -> Contract:
    """Open an artifact.

    Args:
        artifact: a path, the bytes themselves, or None for the embedded one (Qwen3-0.6B).
        engine: ``native``, ``reference``, or ``auto``: the native engine, else the reference with one warning that says so.
        profile: ``contract``, or ``publisher`` for what the publisher's Python pipeline does, bit for bit (decisions D1).

    Raises:
        Slm2Error: ``file_unreadable``, ``engine_unavailable``, ``invalid_value``, or a code of contract/artifact.md.
    """
    if profile not in PROFILES:
        raise Slm2Error("invalid_value", field="profile", expected=" or ".join(PROFILES), found=repr(profile))
    return Contract(select(engine, artifact if isinstance(artifact, bytes) else _read(artifact)), profile)


def embedded() -> bytes:
    """The artifact that the package carries."""
    return resources.files("slm2").joinpath("data", EMBEDDED).read_bytes()


def _read(path: str | PathLike[str] | None) -> bytes:
    if path is None:
        return embedded()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Slm2Error("file_unreadable", path=fspath(path), reason=error.strerror or str(error)) from None
