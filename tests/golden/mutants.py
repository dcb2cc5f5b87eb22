"""Engines that are broken in one place each: a few characters of the reference's source are others.

Each row says what an implementer could get wrong, where it stands, and which vector catches it. `mutated` makes the change for as long as a test
needs it; the rows are also the table of docs/mutation-check.md, which a test compares.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

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
    holders = [(owner, last, raw)] if owners else [
        (loaded, key, value)
        for title, loaded in list(sys.modules.items())
        if title.startswith("slm2.")
        for key, value in list(vars(loaded).items())
        if value is original
    ]
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
ASCII_FOLD = r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
PYTHON_SPACE = r"[\s\x1c-\x1f]"


def pattern(*alternatives: str) -> Callable[..., tuple[int | None, int]]:
    return split_by("|".join(alternatives))


DECIDE = "artifact.pretokenizer:decide"
MERGE = "reference.tokenizer:merge"
CONTRACT = "reference.sampling.contract_profile:draw"
TORCH = "reference.sampling.publisher_profile:"
SCORES = "reference.sampling.scores:"
MATH = "reference.sampling.portable_math:"
TWICE = "_penalised(_penalised(row[token], config), config) if token in history.prompt and token in history.output else _penalised(row[token], config)"
FUSED = "r = (np.longdouble(high) - np.longdouble(k) * np.longdouble(LN2_LOW)).astype(np.float64)"
NOT_FATAL = (
    'broken = bool(data[at:]) and not is_open(data[at:])\n'
    '    return data[:at].decode("utf-8") + "\\ufffd" * broken, b"" if broken else data[at:]'
)

MUTANTS = [
    # ---- Tokenizer2: pieces ----
    Mutant("white space is greedy: nothing is given back before a word", DECIDE, "", pattern(CONTRACTIONS, WORDS, NUMBERS, SIGNS, NEWLINES, SPACE), ""),
    Mutant("leftmost-longest: a word that begins with a contraction stays whole", DECIDE, "", pattern(WORDS, CONTRACTIONS, NUMBERS, SIGNS, NEWLINES, BACK, SPACE), ""),
    Mutant("case is folded in ASCII alone: U+017F is no s", DECIDE, "", pattern(ASCII_FOLD, WORDS, NUMBERS, SIGNS, NEWLINES, BACK, SPACE), ""),
    Mutant("digits go in threes", DECIDE, "", pattern(CONTRACTIONS, WORDS, r"\p{N}{1,3}", SIGNS, NEWLINES, BACK, SPACE), ""),
    Mutant("U+001C to U+001F are white space, as in a str of Python", DECIDE, "", pattern(CONTRACTIONS, WORDS, NUMBERS, SIGNS.replace(r"\s", r"\s\x1c-\x1f"), PYTHON_SPACE + r"*[\r\n]+", PYTHON_SPACE + "+"), ""),
    Mutant("the end of the text is taken for a word", DECIDE, "len(data) + 1 - back if back else end", "end", ""),
    # ---- Tokenizer2: merges ----
    Mutant("rank off by one: a merge makes the id of the next", "artifact.merges:Merges.find", "self.ids[rank]", "self.ids[min(rank + 1, len(self.ids) - 1)]", ""),
    Mutant("the merge of rank 0 is taken for none", MERGE, "        if found is not None:\n            candidates.append", "        if found is not None and found[0]:\n            candidates.append", ""),
    Mutant("a text that is an entry of the vocabulary is not split", "reference.tokenizer:encode", "return [", "return [settings.artifact.token_ids[data]] if data in settings.artifact.token_ids else [", ""),
    Mutant("of equal ranks the rightmost merges first", MERGE, "candidates.append((found[0], at, ids[at]", "candidates.append((found[0], -at, ids[at]", ""),
    Mutant("a pair that has changed merges all the same", MERGE, "if ids[at] != left or after == _END or ids[after] != right:", "if after == _END or ids[at] == _END:", ""),
    Mutant("the pair on the left is not looked at again", MERGE, "for first in (preceding[at], at):", "for first in (at,):", ""),
    # ---- Tokenizer2: normalisation ----
    Mutant("profile publisher does not normalise", "reference.tokenizer:Settings.tables", "", property(lambda _: None), ""),
    Mutant("marks of one class change places", "reference.normalize:_canonical_order", "return result + sorted(marks, key=lambda mark: mark.combining_class)", "return result + sorted(marks, key=lambda mark: (mark.combining_class, mark.value))", ""),
    Mutant("a blocked mark is composed", "reference.normalize:_compose", "highest < scalar.combining_class", "highest <= scalar.combining_class", ""),
    Mutant("Hangul syllables take no tail", "reference.normalize:compose_pair", "0 < tail < TAIL_COUNT", "0 < tail < 0", ""),
    # ---- Tokenizer2: the trust boundary, offsets, parts, decoding ----
    Mutant("the text of a special token becomes that token", "reference.tokenizer:encode", "return [token_id for ids in encoded_pieces(settings, data) for token_id in ids]", "return encode_trusted(settings, data) if find_special(settings.artifact, data) and len(data) < 60 and data != data[:0] and not data.startswith(b'<|') else [token_id for ids in encoded_pieces(settings, data) for token_id in ids]", ""),
    Mutant("a surrogate pair counts as one unit of UTF-16", "reference.tokenizer:unit_offsets", "units = 2 if", "units = 1 if", ""),
    Mutant("a text in parts is encoded up to its last byte at once", "reference.tokenizer:encode_certain", "if end is None:\n            break", "end = end or len(data)", ""),
    Mutant("skipped structural ids are written", "reference.tokenizer:decoded", 'return text if special == "bytes" else b""', "return text", ""),
    Mutant("text comes one scalar value late", "reference.stream:complete", "return data[:at].decode", "at = at if at == len(data) or at == 0 else at - 1 if data[at - 1] < 128 else at\n    return data[:at].decode", ""),
    Mutant("an open scalar value at the end is no failure", "reference.stream:ReferenceStream.finish", "if self._pending:", "if False:", ""),
    Mutant("the limit of ids is the vocabulary's size", "reference.tokenizer:decoded", "limit=artifact.token_limit", "limit=len(artifact.tokens)", ""),
    Mutant("ill-formed bytes become U+FFFD and the stream goes on", "reference.stream:complete", 'return data[:at].decode("utf-8"), data[at:]', NOT_FATAL, ""),
    Mutant("a byte-order mark at the beginning is swallowed", "reference.stream:complete", 'data[:at].decode("utf-8")', 'data[:at].decode("utf-8-sig")', ""),
    # ---- Template2, replies, sessions, JSON ----
    Mutant("all white space is stripped, not newlines alone", "reference.events:Stretch.without_newlines", r'text.rstrip(b"\n")', "text.rstrip()", ""),
    Mutant("the opening tag stays in the reasoning", "reference.events:split", "opened + len(opening) if opened >= 0 else 0", "0", ""),
    Mutant("the first user message is the question", "reference.events:last_query", "range(len(messages) - 1, -1, -1)", "range(len(messages))", ""),
    Mutant("a session keeps nothing of a turn that changed", "reference.session:SessionCore._delta", "common += 1", "common += 0", ""),
    Mutant("a changed checkpoint is restored", "reference.session_checkpoint:restored", 'document.get("sha256") != _digest(text)', "False", ""),
    Mutant("tool answers that follow one another are a turn each", "reference.events:of_message", 'guards |= GUARD["next_tool"] if', 'guards |= 0 if', ""),
    Mutant("pieces between structural ids are encoded apart", "reference.rendering:segments", "        if isinstance(item, Piece):\n            pieces.append(item)\n            continue", "        if isinstance(item, Piece):\n            yield [item]\n            continue", ""),
    Mutant("a token over a joint has the highest trust of its pieces", "reference.rendering:_text_tokens", "max((piece", "min((piece", ""),
    Mutant("floats are written with fewer digits", "reference.json_text:_written", "return [float.__repr__(value)]", "return [f'{value:.6g}']", ""),
    Mutant("keys of JSON are sorted", "reference.json_text:_written_object", "in value.items():", "in sorted(value.items(), key=str):", ""),
    Mutant("newlines at the end of a reply's content are told", "reference.reply:Field.add", r'told = text.rstrip("\n")', "told = text", ""),
    # ---- Prompt2 ----
    Mutant("what fits exactly is too large", "reference.prompt_passes:Passes._take", "while self.size > aim:", "while self.size >= aim:", ""),
    Mutant("history is not given up before chunks", "reference.prompt_passes:Passes.run", 'self._take("1", aim, self._oldest_turn(floors.keep_turns))', "pass", ""),
    Mutant("a chunk can imitate a wrapper", "reference.prompt_text:escaped", "return ", "return text or ", ""),
    # ---- Sampling2: scores ----
    Mutant("the penalty is counted twice for an id of prompt and output", SCORES + "scores", "_penalised(row[token], config)", TWICE, ""),
    Mutant("the penalty divides negative scores", SCORES + "_penalised", "score * penalty if score < 0 else", "", ""),
    Mutant("the penalty leaves out what was drawn", SCORES + "scores", "{*history.prompt, *history.output}", "set(history.prompt)", ""),
    Mutant("the frequency penalty counts the prompt", SCORES + "scores", "Counter(history.output)", "Counter(history.prompt + history.output)", ""),
    Mutant("times the reciprocal of the temperature", SCORES + "with_temperature", "row / np.float32(config.temperature)", "row * (np.float32(1.0) / np.float32(config.temperature))", ""),
    Mutant("temperature in float64", SCORES + "with_temperature", "row / np.float32(config.temperature)", "(row.astype(np.float64) / config.temperature).astype(np.float32)", ""),
    Mutant("ids without a token can be drawn", SCORES + "scores", "row[limit:] = _MINUS_INFINITY", "pass", ""),
    # ---- Sampling2: profile contract ----
    Mutant("top_k keeps k, ties or not", "reference.sampling.contract_profile:top_k", "candidates[values >= kth]", "np.sort(candidates[np.lexsort((candidates, -values))[:k]])", ""),
    Mutant("wrong order of ties: the higher id first", CONTRACT, "np.lexsort((survivors, -weights))", "np.lexsort((-survivors, -weights))", ""),
    Mutant("a sort that is not stable", CONTRACT, "np.lexsort((survivors, -weights))", "np.argsort(-weights, kind='heapsort')", ""),
    Mutant("sorted by score, not by weight", CONTRACT, "np.lexsort((survivors, -weights))", "np.lexsort((survivors, -scores[survivors]))", ""),
    Mutant("top_p ends where the mass is reached", CONTRACT, "running > config.top_p * total", "running >= config.top_p * total", ""),
    Mutant("min_p removes what equals it", CONTRACT, "weights[:within_p] >= config.min_p", "weights[:within_p] > config.min_p", ""),
    Mutant("weights are divided before they are compared", CONTRACT, "running > config.top_p * total", "np.add.accumulate(weights / total) > config.top_p", ""),
    Mutant("the draw counts all that top_k left", CONTRACT, "mass = float(running[kept - 1])", "mass = float(running[-1])", ""),
    Mutant("the total is summed in one lane", "reference.sampling.contract_profile:lane_total", "return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))", "return float(np.add.accumulate(weights)[-1])", ""),
    Mutant("of equal scores greedy takes the last", "reference.sampling.contract_profile:greatest", "int(np.argmax(scores))", "scores.size - 1 - int(np.argmax(scores[::-1]))", ""),
    # ---- Sampling2: arithmetic ----
    Mutant("exp with a fused multiply-add", MATH + "exp", "r = high - low", FUSED, ""),
    Mutant("exp of the host", MATH + "exp", "return np.where(np.isnan(x), x, y)", "return np.exp(x)", ""),
    Mutant("log of the host", MATH + "log", "result = _tail(f, np.zeros_like(f), (k - np.where(subnormal, 54, 0)).astype(np.float64))", "result = np.log(x)", ""),
    Mutant("log1p as log(1 + x)", MATH + "log1p", "return result.reshape(np.shape(values))", "return log(1.0 + x)", ""),
    # ---- Sampling2: profile publisher ----
    Mutant("softmax is summed in order", TORCH + "_lane_sum", "if values.size < _LANES:", "if True:", ""),
    Mutant("8 lanes, as torch has with AVX2", TORCH + "_lane_sum", "lanes = np.add.accumulate(values[:whole].reshape(-1, _LANES), axis=0)[-1].copy()", "lanes = np.add.accumulate(values[:whole].reshape(-1, 8), axis=0)[-1].copy()\n    lanes = np.concatenate([lanes, np.zeros(8, np.float32)])", ""),
    Mutant("equal scores across the cut in stable order", TORCH + "_top_p", "order = np.array(introsort(scores.tolist()))", "pass", ""),
    # ---- Sampling2: generators ----
    Mutant("pcg32: the second word is the high one", "reference.sampling.generators:Pcg32.uniform", "return _of_53_bits(high, self.word())", "return _of_53_bits(self.word(), high)", ""),
    Mutant("chacha with 20 rounds", "reference.sampling.generators:ChaCha8._words", "chacha_block(start, 8)", "chacha_block(start, 20)", ""),
    Mutant("a restore that does nothing", "reference.sampling.generators:ReferenceGenerator.restore", "self._generator = restored(self._rng, state)", "restored(self._rng, state)", ""),
    Mutant("a jump is one word short", "reference.sampling.generators:Pcg32.advance", "self.MULTIPLIER, self._increment, count\n", "self.MULTIPLIER, self._increment, count - 1 if count else 0\n", ""),
    Mutant("the high 53 bits of torch's 64", "reference.sampling.generators:Mt19937.uniforms", "(joined & np.uint64(2**53 - 1))", "(joined >> np.uint64(11))", ""),
    # ---- generations ----
    Mutant("a stop id that is the last of max_tokens is MaxTokens", "reference.generated_text:ReferenceGeneratedText._text_of", "if token in self._stop_ids:", "if token in self._stop_ids and len(self.ids) < self._max_tokens:", ""),
    Mutant("of stop strings that end together the shortest counts", "reference.sampling.stop_strings:StopStrings.__init__", "key=len, reverse=True", "key=len", ""),
    Mutant("an open scalar value at a limit is no failure", "reference.generated_text:ReferenceGeneratedText._end", 'self.reason = "FatalError"', "self.reason = limit", ""),
]
