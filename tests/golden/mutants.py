"""Engines that are broken in one place each: a few characters of the reference's source are others.

Each row says what an implementer could get wrong, where it stands, and which vector catches it. `mutated` makes the change for as long
as a test needs it; the rows are also the table of docs/mutation-check.md, which a test compares.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from slm2.reference import tokenizer


class Mutant(NamedTuple):
    """One broken engine.

    Attributes:
        fault: what is wrong, for people.
        where: module and qualified name under ``slm2``.
        old: what stands there; exactly once.
        new: what stands there in its place; or a function that takes the place of the whole.
        caught_by: id of a vector that shows it.
    """

    fault: str
    where: str
    old: str
    new: object
    caught_by: str


@contextmanager
def mutated(mutant: Mutant) -> Iterator[None]:
    """The reference with the fault, wherever its function was imported to."""
    module_name, _, name = mutant.where.partition(":")
    module = importlib.import_module(f"slm2.{module_name}")
    owner: object = module
    *owners, last = name.split(".")
    for part in owners:
        owner = getattr(owner, part)
    raw = inspect.getattr_static(owner, last)
    original = getattr(owner, last)
    if not isinstance(mutant.new, str):
        broken: object = mutant.new
    else:
        source = textwrap.dedent(inspect.getsource(original))
        assert source.count(mutant.old) == 1, f"{mutant.fault}: {source.count(mutant.old)} places"
        namespace = dict(vars(module))
        exec(compile("from __future__ import annotations\n" + source.replace(mutant.old, mutant.new), mutant.where, "exec"), namespace)
        broken = namespace[last]
    holders = (
        [(owner, last, raw)]
        if owners
        else [
            (loaded, key, value)
            for title, loaded in list(sys.modules.items())
            if title.startswith("slm2.")
            for key, value in list(vars(loaded).items())
            if value is original
        ]
    )
    try:
        for holder, key, _ in holders:
            setattr(holder, key, broken)
        yield
    finally:
        for holder, key, value in holders:
            setattr(holder, key, value)


def split_by(pattern: str) -> Callable[..., tuple[int | None, int]]:
    """A pre-tokenizer of another pattern, in the place of the automaton; for well-formed text."""
    splitter = Split(Regex(pattern), "isolated")

    def decide(_dfa: object, data: bytes, start: int, *, limit: int) -> tuple[int | None, int]:
        del limit
        piece, _ = splitter.pre_tokenize_str(data[start:].decode("utf-8"))[0]
        return None, start + len(piece.encode("utf-8"))

    return decide


CONTRACTIONS, WORDS, NUMBERS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"[^\r\n\p{L}\p{N}]?\p{L}+", r"\p{N}"
SIGNS, NEWLINES, BACK, SPACE = r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"
PYTHON_SPACE = r"[\s\x1c-\x1f]"


def pattern(*alternatives: str) -> Callable[..., tuple[int | None, int]]:
    return split_by("|".join(alternatives))


def becomes_special(settings: tokenizer.Settings, data: bytes) -> list[int]:
    ids: list[int] = []
    at = 0
    for start, end, token_id in tokenizer.find_special(settings.artifact, data):
        ids += [*chain(*tokenizer.encoded_pieces(settings, data[at:start])), token_id]
        at = end
    return [*ids, *chain(*tokenizer.encoded_pieces(settings, data[at:]))]


DECIDE = "artifact.pretokenizer:decide"
MERGE = "reference.tokenizer:merge"
CONTRACT = "reference.sampling.contract_profile:draw"
TORCH = "reference.sampling.publisher_profile:"
SCORES = "reference.sampling.scores:"
MATH = "reference.sampling.portable_math:"
TWICE = (
    "_penalised(_penalised(row[token], config), config) if token in history.prompt and token in history.output "
    "else _penalised(row[token], config)"
)
FUSED = "c = (np.longdouble(1) * r - np.longdouble(1) * t * (p1 + t * (p2 + t * (p3 + t * (p4 + t * p5))))).astype(np.float64)"
EIGHT_LANES = (
    "lanes = np.add.accumulate(values[:whole].reshape(-1, 8), axis=0)[-1].copy()\n"
    "    lanes = np.concatenate([lanes, np.zeros(8, np.float32)])"
)
NOT_FATAL = (
    "broken = bool(data[at:]) and not is_open(data[at:])\n"
    '    return data[:at].decode("utf-8") + "\\ufffd" * broken, b"" if broken else data[at:]'
)

MUTANTS = [
    # ---- Tokenizer2: pieces ----
    Mutant(
        "white space is greedy: nothing is given back before a word",
        DECIDE,
        "",
        pattern(CONTRACTIONS, WORDS, NUMBERS, SIGNS, NEWLINES, SPACE),
        "T-words-012",
    ),
    Mutant(
        "leftmost-longest: a word that begins with a contraction stays whole",
        DECIDE,
        "",
        pattern(WORDS, CONTRACTIONS, NUMBERS, SIGNS, NEWLINES, BACK, SPACE),
        "T-contractions-019",
    ),
    Mutant(
        "U+001C to U+001F are white space, as in a str of Python",
        DECIDE,
        "",
        pattern(CONTRACTIONS, WORDS, NUMBERS, SIGNS.replace(r"\s", r"\s\x1c-\x1f"), PYTHON_SPACE + r"*[\r\n]+", PYTHON_SPACE + "+"),
        "T-words-012",
    ),
    Mutant("the end of the text is taken for a word", DECIDE, "len(data) + 1 - back if back else end", "end", "T-spaces-045"),
    # ---- Tokenizer2: merges ----
    Mutant(
        "rank off by one: a merge makes the id of the next",
        "artifact.merges:Merges.find",
        "self.ids[rank]",
        "self.ids[min(rank + 1, len(self.ids) - 1)]",
        "T-words-011",
    ),
    Mutant(
        "the merge of rank 0 is taken for none",
        MERGE,
        "        if found is not None:\n            candidates.append",
        "        if found is not None and found[0]:\n            candidates.append",
        "T-long-003",
    ),
    Mutant(
        "a text that is an entry of the vocabulary is not split",
        "reference.tokenizer:encode",
        "return [",
        "return [settings.artifact.token_ids[data]] if data in settings.artifact.token_ids else [",
        "T-entries-001",
    ),
    Mutant(
        "of equal ranks the rightmost merges first",
        MERGE,
        "candidates.append((found[0], at, ids[at]",
        "candidates.append((found[0], -at, ids[at]",
        "T-words-011",
    ),
    Mutant(
        "a pair that has changed merges all the same",
        MERGE,
        "if ids[at] != left or after == _END or ids[after] != right:",
        "if after == _END or ids[at] == _END:",
        "T-words-011",
    ),
    Mutant("the pair on the left is not looked at again", MERGE, "for first in (preceding[at], at):", "for first in (at,):", "T-words-011"),
    # ---- Tokenizer2: normalisation ----
    Mutant(
        "profile publisher does not normalise", "reference.tokenizer:Settings.tables", "", property(lambda _: None), "T-contractions-018p"
    ),
    Mutant(
        "marks of one class change places",
        "reference.normalize:_canonical_order",
        "return result + sorted(marks, key=lambda mark: mark.combining_class)",
        "return result + sorted(marks, key=lambda mark: (mark.combining_class, mark.value))",
        "T-nfc-015p",
    ),
    Mutant(
        "a blocked mark is composed",
        "reference.normalize:_compose",
        "highest < scalar.combining_class",
        "highest <= scalar.combining_class",
        "T-sharp-text-001",
    ),
    Mutant("Hangul syllables take no tail", "reference.normalize:compose_pair", "0 < tail < TAIL_COUNT", "0 < tail < 0", "T-words-027"),
    # ---- Tokenizer2: the trust boundary, offsets, parts, decoding ----
    Mutant("the text of a special token becomes that token", "reference.tokenizer:encode", "", becomes_special, "T-bytes-pieces-016"),
    Mutant(
        "a surrogate pair counts as one unit of UTF-16", "reference.tokenizer:unit_offsets", "units = 2 if", "units = 1 if", "T-units-019"
    ),
    Mutant(
        "a text in parts is encoded up to its last byte at once",
        "reference.tokenizer:encode_certain",
        "if end is None:\n            break",
        "end = end or len(data)",
        "T-parts-cut-001",
    ),
    Mutant(
        "skipped structural ids are written",
        "reference.tokenizer:decoded",
        'return text if special == "bytes" else b""',
        "return text",
        "T-decode-policies-053",
    ),
    Mutant(
        "text comes one scalar value late",
        "reference.stream:complete",
        "return data[:at].decode",
        "at = at if at == len(data) or at == 0 else at - 1 if data[at - 1] < 128 else at\n    return data[:at].decode",
        "D-stream-grouping-005",
    ),
    Mutant(
        "an open scalar value at the end is no failure",
        "reference.stream:ReferenceStream.finish",
        "if self._pending:",
        "if False:",
        "D-stream-end-001",
    ),
    Mutant(
        "the limit of ids is the vocabulary's size",
        "reference.tokenizer:decoded",
        "limit=artifact.token_limit",
        "limit=len(artifact.tokens)",
        "T-decode-range-001",
    ),
    Mutant(
        "ill-formed bytes become U+FFFD and the stream goes on",
        "reference.stream:complete",
        'return data[:at].decode("utf-8"), data[at:]',
        NOT_FATAL,
        "D-stream-grouping-009",
    ),
    Mutant(
        "a byte-order mark at the beginning is swallowed",
        "reference.stream:complete",
        'data[:at].decode("utf-8")',
        'data[:at].decode("utf-8-sig")',
        "D-stream-text-006",
    ),
    # ---- Template2, replies, sessions, JSON ----
    Mutant(
        "all white space is stripped, not newlines alone",
        "reference.events:Stretch.without_newlines",
        r'text.rstrip(b"\n")',
        "text.rstrip()",
        "M-reasoning-006",
    ),
    Mutant(
        "the opening tag stays in the reasoning",
        "reference.events:split",
        "opened + len(opening) if opened >= 0 else 0",
        "0",
        "M-reasoning-009",
    ),
    Mutant(
        "the first user message is the question",
        "reference.events:last_query",
        "range(len(messages) - 1, -1, -1)",
        "range(len(messages))",
        "M-options-008",
    ),
    Mutant(
        "a session keeps nothing of a turn that changed",
        "reference.session:SessionCore._delta",
        "common += 1",
        "common += 0",
        "M-session-001",
    ),
    Mutant(
        "a changed checkpoint is restored",
        "reference.session_checkpoint:restored",
        'document.get("sha256") != _digest(text)',
        "False",
        "M-turns-refused-001",
    ),
    Mutant(
        "tool answers that follow one another are a turn each",
        "reference.events:of_message",
        'guards |= GUARD["next_tool"] if',
        "guards |= 0 if",
        "M-calls-012",
    ),
    Mutant(
        "pieces between structural ids are encoded apart",
        "reference.rendering:segments",
        "        if isinstance(item, Piece):\n            pieces.append(item)\n            continue",
        "        if isinstance(item, Piece):\n            yield [item]\n            continue",
        "M-turns-011",
    ),
    Mutant(
        "a token over a joint has the highest trust of its pieces",
        "reference.rendering:_text_tokens",
        "max((piece",
        "min((piece",
        "P-composition-001",
    ),
    Mutant(
        "floats are written with fewer digits",
        "reference.json_text:_written",
        "return [float.__repr__(value)]",
        "return [f'{value:.6g}']",
        "M-numbers-006",
    ),
    Mutant(
        "keys of JSON are sorted",
        "reference.json_text:_written_object",
        "in value.items():",
        "in sorted(value.items(), key=str):",
        "M-schemas-001",
    ),
    Mutant(
        "newlines at the end of a reply's content are told",
        "reference.reply:Field.add",
        r'told = text.rstrip("\n")',
        "told = text",
        "M-reply-001",
    ),
    # ---- Prompt2 ----
    Mutant("a chunk can imitate a wrapper", "reference.prompt_text:escaped", "return ", "return text or ", "P-composition-001"),
    # ---- Sampling2: scores ----
    Mutant(
        "the penalty is counted twice for an id of prompt and output",
        SCORES + "scores",
        "_penalised(row[token], config)",
        TWICE,
        "S-sharp-draws-001",
    ),
    Mutant("the penalty divides negative scores", SCORES + "_penalised", "score * penalty if score < 0 else", "", "S-sampling-edges-010"),
    Mutant(
        "the penalty leaves out what was drawn",
        SCORES + "scores",
        "{*history.prompt, *history.output}",
        "set(history.prompt)",
        "S-sharp-draws-002",
    ),
    Mutant(
        "the frequency penalty counts the prompt",
        SCORES + "scores",
        "Counter(history.output)",
        "Counter(history.prompt + history.output)",
        "S-sampling-extras-003",
    ),
    Mutant(
        "times the reciprocal of the temperature",
        SCORES + "with_temperature",
        "row / np.float32(config.temperature)",
        "row * (np.float32(1.0) / np.float32(config.temperature))",
        "S-sampling-publisher-011p",
    ),
    Mutant(
        "temperature in float64",
        SCORES + "with_temperature",
        "row / np.float32(config.temperature)",
        "(row.astype(np.float64) / config.temperature).astype(np.float32)",
        "S-sampling-publisher-011p",
    ),
    Mutant("ids without a token can be drawn", SCORES + "scores", "row[limit:] = _MINUS_INFINITY", "pass", "S-sharp-draws-005"),
    # ---- Sampling2: profile contract ----
    Mutant(
        "top_k keeps k, ties or not",
        "reference.sampling.contract_profile:top_k",
        "candidates[values >= kth]",
        "np.sort(candidates[np.lexsort((candidates, -values))[:k]])",
        "S-sampling-edges-006",
    ),
    Mutant(
        "wrong order of ties: the higher id first",
        CONTRACT,
        "np.lexsort((survivors, -weights))",
        "np.lexsort((-survivors, -weights))",
        "S-sampling-edges-001",
    ),
    Mutant(
        "a sort that is not stable",
        CONTRACT,
        "np.lexsort((survivors, -weights))",
        "np.argsort(-weights, kind='heapsort')",
        "S-sampling-edges-006",
    ),
    Mutant(
        "sorted by score, not by weight",
        CONTRACT,
        "np.lexsort((survivors, -weights))",
        "np.lexsort((survivors, -scores[survivors]))",
        "S-sampling-edges-003",
    ),
    Mutant(
        "top_p ends where the mass is reached",
        CONTRACT,
        "running > config.top_p * total",
        "running >= config.top_p * total",
        "S-sampling-edges-001",
    ),
    Mutant(
        "min_p removes what equals it",
        CONTRACT,
        "weights[:within_p] >= config.min_p",
        "weights[:within_p] > config.min_p",
        "S-sampling-edges-008",
    ),
    Mutant(
        "weights are divided before they are compared",
        CONTRACT,
        "running > config.top_p * total",
        "np.add.accumulate(weights / total) > config.top_p",
        "S-sharp-draws-003",
    ),
    Mutant(
        "the draw counts all that top_k left",
        CONTRACT,
        "mass = float(running[kept - 1])",
        "mass = float(running[-1])",
        "S-sampling-edges-001",
    ),
    Mutant(
        "the total is summed in one lane",
        "reference.sampling.contract_profile:lane_total",
        "return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))",
        "return float(np.add.accumulate(weights)[-1])",
        "S-sharp-draws-003",
    ),
    Mutant(
        "of equal scores greedy takes the last",
        "reference.sampling.contract_profile:greatest",
        "int(np.argmax(scores))",
        "scores.size - 1 - int(np.argmax(scores[::-1]))",
        "S-sampling-edges-009",
    ),
    # ---- Sampling2: arithmetic ----
    Mutant(
        "exp with a fused multiply-add",
        MATH + "exp",
        "c = r - t * (p1 + t * (p2 + t * (p3 + t * (p4 + t * p5))))",
        FUSED,
        "S-sharp-math-001",
    ),
    Mutant("exp of the host", MATH + "exp", "return np.where(np.isnan(x), x, y)", "return np.exp(x)", "S-sampling-edges-006"),
    Mutant(
        "log of the host",
        MATH + "log",
        "result = _tail(f, np.zeros_like(f), (k - np.where(subnormal, 54, 0)).astype(np.float64))",
        "result = np.log(x)",
        "S-sampling-edges-001",
    ),
    Mutant("log1p as log(1 + x)", MATH + "log1p", "return result.reshape(np.shape(values))", "return log(1.0 + x)", "S-sampling-math-006"),
    # ---- Sampling2: profile publisher ----
    Mutant("softmax is summed in order", TORCH + "_lane_sum", "if values.size < _LANES:", "if True:", "S-sharp-draws-006p"),
    Mutant(
        "8 lanes, as torch has with AVX2",
        TORCH + "_lane_sum",
        "lanes = np.add.accumulate(values[:whole].reshape(-1, _LANES), axis=0)[-1].copy()",
        EIGHT_LANES,
        "S-sharp-draws-006p",
    ),
    Mutant(
        "equal scores across the cut in stable order",
        TORCH + "_top_p",
        "order = np.array(introsort(scores.tolist()))",
        "pass",
        "S-sampling-publisher-007p",
    ),
    # ---- Sampling2: generators ----
    Mutant(
        "pcg32: the second word is the high one",
        "reference.sampling.generators:Pcg32.uniform",
        "return _of_53_bits(high, self.word())",
        "return _of_53_bits(self.word(), high)",
        "S-sampling-words-001",
    ),
    Mutant(
        "chacha with 20 rounds",
        "reference.sampling.generators:ChaCha8._words",
        "chacha_block(start, 8)",
        "chacha_block(start, 20)",
        "S-sampling-words-002",
    ),
    Mutant(
        "a restore that does nothing",
        "reference.sampling.generators:ReferenceGenerator.restore",
        "self._generator = restored(self._rng, state)",
        "restored(self._rng, state)",
        "S-sampling-words-001",
    ),
    Mutant(
        "a jump is one word short",
        "reference.sampling.generators:Pcg32.advance",
        "self.MULTIPLIER, self._increment, count\n",
        "self.MULTIPLIER, self._increment, count - 1 if count else 0\n",
        "S-sampling-words-009",
    ),
    Mutant(
        "the high 53 bits of torch's 64",
        "reference.sampling.generators:Mt19937.uniforms",
        "(joined & np.uint64(2**53 - 1))",
        "(joined >> np.uint64(11))",
        "S-sampling-publisher-006p",
    ),
    # ---- generations ----
    Mutant(
        "a stop id that is the last of max_tokens is MaxTokens",
        "reference.generated_text:ReferenceGeneratedText._text_of",
        "if token in self._stop_ids:",
        "if token in self._stop_ids and len(self.ids) < self._max_tokens:",
        "S-sampling-generations-005",
    ),
    Mutant(
        "of stop strings that end together the shortest counts",
        "reference.sampling.stop_strings:StopStrings.__init__",
        "key=len, reverse=True",
        "key=len",
        "S-sampling-generations-015",
    ),
    Mutant(
        "an open scalar value at a limit is no failure",
        "reference.generated_text:ReferenceGeneratedText._end",
        'self.reason = "FatalError"',
        "self.reason = limit",
        "S-sampling-generations-008",
    ),
]
