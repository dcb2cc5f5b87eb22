"""The loaded contract: one artifact, one engine, one profile, and the parts over them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from os import PathLike, fsdecode
from pathlib import Path

from slm2.artifact import PROFILES, Profile
from slm2.engine import MAX_PRETOKEN, Engine, EngineChoice, OfOneProcess, SpecialPolicy, integer_id, select
from slm2.errors import Slm2Error
from slm2.files import reading
from slm2.generation import Generation
from slm2.prompt import Prompt
from slm2.reference.sampling.config import SamplingConfig
from slm2.reply import Reply
from slm2.sampling import Sampler
from slm2.session import Session
from slm2.stream import StreamDecoder
from slm2.template import Template
from slm2.tokenizer import tokenizer_of

__all__ = ["EMBEDDED", "Contract", "Source", "embedded", "load"]

_LOG = logging.getLogger("slm2")

EMBEDDED = "qwen3-0.6b.slm2"

# A package is files: it is installed unpacked.
_EMBEDDED_PATH = str(Path(__file__).parent / "data" / EMBEDDED)

Source = str | PathLike[str] | bytes | bytearray | memoryview | None


class Contract(OfOneProcess):
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
        self.tokenizer = tokenizer_of(engine, profile)
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

    def reply(self, state: str) -> Reply:
        """A reader of one reply, which begins in the state in which a prompt ended: ``Rendering.state``."""
        return Reply(self.engine, state)

    def session(
        self, *, tools: Sequence[object] | None = None, enable_thinking: bool | None = None, preserve_thinking: bool = False
    ) -> Session:
        """An empty conversation that keeps its cache; see :class:`slm2.session.Session`."""
        return Session(self.engine, self.profile, tools=tools, enable_thinking=enable_thinking, preserve_thinking=preserve_thinking)

    def restore_session(self, checkpoint: bytes) -> Session:
        """The session of a checkpoint that :meth:`slm2.session.Session.save` made."""
        return Session.restore(self.engine, checkpoint)

    def stream_decoder(self, *, special: SpecialPolicy) -> StreamDecoder:
        """A streaming decoder; ``special`` says what becomes of ids of special tokens: ``refuse``, ``skip`` or ``bytes``."""
        return StreamDecoder(self.engine, special)

    def sampler(self, config: SamplingConfig, prompt: Iterable[int] = (), *, record: bool = False) -> Sampler:
        """What draws the ids of one sequence; see :class:`slm2.sampling.Sampler`.

        Raises:
            Slm2Error: ``sampling_pairing`` where the configuration is of another profile than this contract, or as the class.
        """
        self._check_profile(config)
        return Sampler(self.engine, config, prompt, record=record)

    def generation(self, config: SamplingConfig, prompt: Iterable[int] = (), *, special: SpecialPolicy, record: bool = False) -> Generation:
        """Logits to text until something ends it; see :class:`slm2.generation.Generation`.

        Raises:
            Slm2Error: as :meth:`sampler`.
        """
        self._check_profile(config)
        return Generation(self.engine, config, prompt, special=special, record=record)

    def _check_profile(self, config: SamplingConfig) -> None:
        """Every part reads the same word (decisions D1)."""
        if isinstance(config, SamplingConfig) and config.profile != self.profile:
            expected = f"the generator of a configuration of profile {self.profile}"
            raise Slm2Error("sampling_pairing", profile=self.profile, rng=config.rng, expected=expected)


def load(
    artifact: Source = None, *, engine: EngineChoice = "auto", profile: Profile = "contract", max_pretoken: int = MAX_PRETOKEN
) -> Contract:
    """Open an artifact.

    Args:
        artifact: a path, the bytes themselves, or None for the embedded one (Qwen3-0.6B).
        engine: ``native``, ``reference``, or ``auto``: the native engine, else the reference with one warning that says so.
        profile: ``contract``, or ``publisher`` for what the publisher's Python pipeline does, bit for bit (decisions D1).
        max_pretoken: the longest piece of text and run of marks that is encoded, in bytes, 256 to 2^31 - 1; a longer one is
            ``pretoken_too_long``. Encoding takes at most 16 bytes for each of its bytes while it is at hand.

    Raises:
        Slm2Error: ``file_unreadable``, ``engine_unavailable``, ``invalid_value``, ``invalid_type``,
            ``limit_out_of_range``, or a code of contract/artifact.md.
    """
    if profile not in PROFILES:
        raise Slm2Error("invalid_value", field="profile", expected=" or ".join(PROFILES), found=repr(profile))
    source = _bytes_or_path(artifact)
    limit = integer_id("max_pretoken", max_pretoken)
    with reading(source) if isinstance(source, str) else nullcontext():
        opened = select(engine, source, limit)
    contract = Contract(opened, profile)
    _LOG.debug("artifact %s opened by the %s engine, profile %s", contract.digest[:12], contract.engine.name, profile)
    return contract


def embedded() -> bytes:
    """The artifact that the package carries."""
    return Path(_EMBEDDED_PATH).read_bytes()


def _bytes_or_path(artifact: Source) -> bytes | str:
    if artifact is None:
        return _EMBEDDED_PATH
    if isinstance(artifact, bytes | bytearray | memoryview):
        return bytes(artifact)
    if not isinstance(artifact, str | PathLike):
        raise Slm2Error("invalid_type", field="artifact", expected="a path or bytes", found=type(artifact).__name__)
    return fsdecode(artifact)
