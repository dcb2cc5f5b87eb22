"""The reference behind the protocol of :mod:`slm2.engine`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from slm2.artifact import Artifact, Profile, program, read
from slm2.artifact.layout import integer_bytes, integers
from slm2.artifact.pretokenizer import pieces
from slm2.errors import Slm2Error
from slm2.reference import prompt, rendering, tokenizer
from slm2.reference.chunks import ReferenceChunks, ReferenceText
from slm2.reference.generated_text import ReferenceGeneratedText
from slm2.reference.json_text import write_json
from slm2.reference.prompt_report import Assembled
from slm2.reference.prompt_request import parse_request
from slm2.reference.reply import ReplyEvent, ReplyReader
from slm2.reference.request import composed
from slm2.reference.sampling import portable_math
from slm2.reference.sampling.config import Rng, SamplingConfig, stream_number
from slm2.reference.sampling.generators import ReferenceGenerator
from slm2.reference.sampling.sampler import ReferenceSampler
from slm2.reference.session import Delta, SessionCore, State
from slm2.reference.session_checkpoint import restored, saved
from slm2.reference.stream import ReferenceStream
from slm2.reference.tokenizer import Settings, Special, Unit
from slm2.reference.utf8 import to_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

# See :mod:`slm2.engine`, which this layer does not know.
ReplyRow = tuple[str, str, list[int], str, str, str]
DeltaRow = tuple[int, list[int], list[tuple[int, int, str]], str]


class ReferenceComposition:
    """What the template made of a request; see :class:`slm2.engine.EngineComposition`."""

    def __init__(self, artifact: Artifact, max_pretoken: int, request: object) -> None:
        if artifact.program is None:
            raise Slm2Error("no_template", digest=artifact.semantic_digest)
        self._artifact, self._max_pretoken = artifact, max_pretoken
        self._program = artifact.program
        self._composition = composed(artifact.program, request)

    @property
    def dropped_reasoning(self) -> list[int]:
        return list(self._composition.dropped)

    @property
    def state(self) -> str:
        return self._program.states[self._composition.state]

    def _rendered(self, profile: Profile) -> rendering.Rendered:
        ids = {text.decode("utf-8"): token_id for token_id, text in self._artifact.special}
        settings = Settings(self._artifact, profile, self._max_pretoken)
        return rendering.render(self._composition.items, partial(tokenizer.encode_spans, settings, unit="bytes"), ids)

    def ids(self, profile: Profile) -> list[int]:
        return self._rendered(profile).input_ids

    def tokens(self, profile: Profile) -> list[tuple[int, str, str, str, int | None, list[tuple[str, int, int]]]]:
        tokens = self._rendered(profile).tokens
        return [(token.id, token.role, token.part, token.trust, token.message, list(token.ranges)) for token in tokens]

    def text(self) -> str:
        return rendering.text(self._composition.items)

    def findings(self) -> list[tuple[str, int, int]]:
        found, _ = rendering.find_special(self._composition.items, partial(tokenizer.find_special, self._artifact))
        return [(finding.source, finding.offset, finding.id) for finding in found]


class ReferenceReply:
    """A reader of one reply; see :class:`slm2.engine.EngineReply`."""

    def __init__(self, artifact: Artifact, state: str) -> None:
        if artifact.program is None:
            raise Slm2Error("no_template", digest=artifact.semantic_digest)
        self._reader = ReplyReader(artifact, artifact.program, state)

    @property
    def state(self) -> str:
        return self._reader.state

    @property
    def message(self) -> str:
        return write_json(self._reader.message, "message")

    def push(self, ids: Sequence[int]) -> list[ReplyRow]:
        return [_row(event) for event in self._reader.push(ids)]

    def finish(self) -> list[ReplyRow]:
        return [_row(event) for event in self._reader.finish()]


def _row(event: ReplyEvent) -> ReplyRow:
    return event.kind, event.text, list(event.ids), event.name, event.arguments, event.reason


class ReferenceSession:
    """A conversation that keeps its cache; see :class:`slm2.engine.EngineSession`."""

    def __init__(self, core: SessionCore, state: State) -> None:
        self._core, self._state = core, state

    @property
    def messages(self) -> list[str]:
        return list(self._state.given)

    @property
    def cached_ids(self) -> list[int]:
        return [token for chunk in self._state.cached for token in chunk.ids]

    def extend(self, messages: object, enable_thinking: bool | None) -> DeltaRow:
        self._state, delta = self._core.extended(self._state, messages, enable_thinking)
        return _delta_row(delta)

    def reply(self, ids: Sequence[int]) -> list[ReplyRow]:
        self._state, events = self._core.replied(self._state, ids)
        return [_row(event) for event in events]

    def settled(self) -> DeltaRow:
        return _delta_row(self._core.settled(self._state)[1])

    def settle(self) -> DeltaRow:
        self._state, delta = self._core.settled(self._state)
        return _delta_row(delta)

    def fork(self) -> ReferenceSession:
        return ReferenceSession(self._core, self._state)

    def save(self) -> bytes:
        return saved(self._core, self._state)


def _delta_row(delta: Delta) -> DeltaRow:
    return delta.keep, delta.append, [(loss.message, loss.ids, loss.reason) for loss in delta.lost], delta.state


PortableFunction = Literal["exp", "log", "log1p"]


class ReferenceEngine:
    """One opened artifact; see :class:`slm2.engine.Engine`."""

    name: Literal["reference"] = "reference"

    def __init__(self, data: bytes, max_pretoken: int) -> None:
        self._artifact = read(data)
        self._max_pretoken = max_pretoken

    def _settings(self, profile: Profile) -> Settings:
        return Settings(self._artifact, profile, self._max_pretoken)

    @property
    def contract_version(self) -> int:
        return self._artifact.contract_version

    @property
    def vocabulary_size(self) -> int:
        return len(self._artifact.tokens)

    @property
    def token_limit(self) -> int:
        return self._artifact.token_limit

    @property
    def file_digest(self) -> str:
        return self._artifact.file_digest

    @property
    def semantic_digest(self) -> str:
        return self._artifact.semantic_digest

    @property
    def special_tokens(self) -> list[tuple[int, bytes]]:
        return list(self._artifact.special)

    @property
    def template_section(self) -> bytes | None:
        return None if self._artifact.program is None else program.encode(self._artifact.program)

    @property
    def provenance(self) -> dict[str, str]:
        return dict(self._artifact.provenance)

    @property
    def max_pretoken(self) -> int:
        return self._max_pretoken

    def encode(self, data: str | bytes, profile: Profile) -> list[int]:
        return tokenizer.encode(self._settings(profile), _bytes(data))

    def encode_u32(self, data: str | bytes, profile: Profile) -> bytes:
        return integer_bytes("I", self.encode(data, profile))

    def encode_array(self, data: str | bytes, profile: Profile) -> NDArray[np.uint32]:
        return _array(self.encode(data, profile))

    def encode_into(self, data: bytes, profile: Profile, out: memoryview) -> int:
        ids = self.encode(data, profile)
        if len(ids) > len(out):
            raise Slm2Error("output_too_small", needed=len(ids), found=len(out))
        for place, token_id in enumerate(ids):
            out[place] = token_id
        return len(ids)

    def encode_batch(self, texts: Sequence[str | bytes], profile: Profile, threads: int) -> list[list[int]]:  # noqa: ARG002  (one does)
        return [self.encode(data, profile) for data in texts]

    def encode_batch_arrays(self, texts: Sequence[str | bytes], profile: Profile, threads: int) -> list[NDArray[np.uint32]]:  # noqa: ARG002
        return [self.encode_array(data, profile) for data in texts]

    def count(self, data: str | bytes, profile: Profile) -> int:
        return len(self.encode(data, profile))

    def count_until(self, data: str | bytes, profile: Profile, limit: int) -> int | None:
        count = 0
        for ids in tokenizer.encoded_pieces(self._settings(profile), _bytes(data)):
            count += len(ids)
            if count > limit:
                return None
        return count

    def encode_spans(self, data: bytes, profile: Profile, unit: Unit) -> list[tuple[int, int, int]]:
        return tokenizer.encode_spans(self._settings(profile), data, unit)

    def piece_ends(self, data: bytes) -> list[int]:
        return [end for _, end in pieces(self._artifact.dfa, data, self._max_pretoken)]

    def encode_trusted(self, data: bytes, profile: Profile) -> list[int]:
        return tokenizer.encode_trusted(self._settings(profile), data)

    def encode_trusted_array(self, data: bytes, profile: Profile) -> NDArray[np.uint32]:
        return _array(self.encode_trusted(data, profile))

    def chunks(self, profile: Profile) -> ReferenceChunks:
        return ReferenceChunks(self._settings(profile))

    def growing_text(self, profile: Profile) -> ReferenceText:
        return ReferenceText(self._settings(profile))

    def find_special(self, data: bytes) -> list[tuple[int, int, int]]:
        return tokenizer.find_special(self._artifact, data)

    def decode(self, ids: Sequence[int], special: Special) -> bytes:
        return tokenizer.decode(self._artifact, _integers(ids), special)

    def decode_text(self, ids: Sequence[int], special: Special) -> str:
        stream = ReferenceStream(self._artifact, special)
        text = stream.push(_integers(ids))
        stream.finish()
        return text

    def decode_u32(self, ids: bytes, special: Special) -> bytes:
        return self.decode(integers("I", ids), special)

    def token_bytes(self, token_id: int) -> bytes:
        return tokenizer.decode(self._artifact, [token_id], "bytes")

    def token_id(self, data: bytes) -> int | None:
        return self._artifact.token_ids.get(data)

    def compose(self, request: object) -> ReferenceComposition:
        return ReferenceComposition(self._artifact, self._max_pretoken, request)

    def assemble(self, request: object, profile: Profile, on_special: str) -> Assembled:
        if self._artifact.program is None:
            raise Slm2Error("no_template", digest=self._artifact.semantic_digest)
        parts = prompt.Parts(
            program=self._artifact.program,
            encode_spans=partial(tokenizer.encode_spans, self._settings(profile), unit="bytes"),
            find_special=partial(tokenizer.find_special, self._artifact),
            id_of_special={data.decode("utf-8"): token_id for token_id, data in self._artifact.special},
            digest=self._artifact.semantic_digest,
        )
        return prompt.assemble(parse_request(request), parts, reject_special=on_special == "reject")

    def reply_reader(self, state: str) -> ReferenceReply:
        return ReferenceReply(self._artifact, state)

    def session(self, profile: Profile, tools: object, enable_thinking: bool | None, preserve_thinking: bool) -> ReferenceSession:
        core = SessionCore(self._settings(profile), tools, enable_thinking=enable_thinking, preserve_thinking=preserve_thinking)
        return ReferenceSession(core, State())

    def restore_session(self, data: bytes) -> ReferenceSession:
        return ReferenceSession(*restored(self._artifact, self._max_pretoken, data))

    def stream_decoder(self, special: Special) -> ReferenceStream:
        return ReferenceStream(self._artifact, special)

    def sampler(self, config: SamplingConfig, prompt: Sequence[int], width: int) -> ReferenceSampler:
        return ReferenceSampler(config, prompt, width, self.token_limit)

    def generated_text(self, config: SamplingConfig, special: Special) -> ReferenceGeneratedText:
        return ReferenceGeneratedText(self._artifact, config, special)

    def generator(self, rng: Rng, seed: int | str, stream: int | str) -> ReferenceGenerator:
        return ReferenceGenerator(rng, seed, stream_number(stream))

    def portable(self, function: PortableFunction, values: bytes) -> bytes:
        apply = {"exp": portable_math.exp, "log": portable_math.log, "log1p": portable_math.log1p}[function]
        return apply(np.frombuffer(values, "<f8")).astype("<f8").tobytes()


def _array(ids: list[int]) -> NDArray[np.uint32]:
    return np.frombuffer(np.array(ids, np.uint32).tobytes(), np.uint32)


def _integers(ids: Sequence[int]) -> list[int]:
    return [_integer(position, token_id) for position, token_id in enumerate(ids)]


def _integer(position: int, token_id: int) -> int:
    try:
        return operator.index(token_id)
    except TypeError:
        found = type(token_id).__name__
        raise Slm2Error("invalid_type", field=f"ids[{position}]", expected="an integer", found=found) from None


def _bytes(data: str | bytes) -> bytes:
    return to_utf8(data) if isinstance(data, str) else data
