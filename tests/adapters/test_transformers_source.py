"""TransformersSource over the real library and a tiny random checkpoint: what it computes, and that its cache is what it should be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import Qwen3ForCausalLM, Qwen3Model

import slm2
from adapters import checkpoints
from cli.runner import run
from scripted_models import config
from slm2.adapters.transformers import TransformersSource
from slm2.errors import Slm2Error
from slm2.sampling import widen

CONTRACT = slm2.load(engine="native")
PROMPT = CONTRACT.tokenizer.encode("The quick brown fox jumps over the lazy dog, and goes on, and on.")
QUESTIONS = ("Hi", "What is the capital of Portugal?", "And of Spain?")
TOLERANCE = {"rtol": 0, "atol": 2e-4}


@pytest.fixture
def network() -> Qwen3ForCausalLM:
    return checkpoints.model()


def whole(network, ids):
    """The last row of a call without any cache."""
    with torch.inference_mode():
        return network(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].float().numpy()


class Forgetful:
    """A source that never keeps anything; what it is asked to keep it computes again."""

    def __init__(self, source: TransformersSource) -> None:
        self.source, self.held = source, []

    @property
    def model(self):
        return self.source.model

    def logits(self, *, keep, append):
        self.held = [*self.held[:keep], *append]
        return self.source.logits(keep=0, append=self.held)


class Counted(torch.nn.Module):
    """Counts the ids that really go through the first layer."""

    def __init__(self, network) -> None:
        super().__init__()
        self.seen = []
        network.model.embed_tokens.register_forward_hook(lambda _, given, __: self.seen.append(given[0].numel()))


def test_facts_of_a_folder(checkpoint: Path) -> None:
    facts = TransformersSource.from_pretrained(checkpoint).model
    assert (facts.name, facts.width, facts.context) == (str(checkpoint), 151_936, 40_960)
    assert facts.end_ids == (151_645, 151_643)
    assert {text.encode(): token_id for text, token_id in facts.special_ids.items()} == {
        text: token_id for token_id, text in CONTRACT.engine.special_tokens
    }


def test_facts_of_a_model_in_memory(network) -> None:
    facts = TransformersSource(network).model
    assert (facts.name, facts.width, facts.end_ids) == ("Qwen3ForCausalLM", 151_936, (151_645,))


def test_every_cut_and_step_gives_the_row_of_the_whole(network) -> None:
    source = TransformersSource(network)
    assert np.allclose(source.logits(keep=0, append=PROMPT), whole(network, PROMPT), **TOLERANCE)
    held = list(PROMPT)
    for keep, append in ((len(held), [9707]), (len(held) + 1, [11, 1879]), (5, [13048]), (6, PROMPT), (1, [785]), (0, [9707]), (1, [11])):
        row = source.logits(keep=keep, append=append)
        held = [*held[:keep], *append]
        assert row.shape == (151_936,)
        assert row.dtype == np.float32
        assert np.allclose(row, whole(network, held), **TOLERANCE)


def test_rows_of_bfloat16_are_widened_exactly() -> None:
    network = checkpoints.model(dtype="bfloat16")
    row = TransformersSource(network).logits(keep=0, append=PROMPT)
    with torch.inference_mode():
        bits = network(input_ids=torch.tensor([PROMPT])).logits[0, -1]
    assert bits.dtype == torch.bfloat16
    assert np.array_equal(row, widen(bits.view(torch.uint16).numpy(), "bfloat16"))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_reading_in_another_type(checkpoint: Path, dtype) -> None:
    source = TransformersSource.from_pretrained(checkpoint, dtype=dtype)
    row = source.logits(keep=0, append=PROMPT)
    assert row.dtype == np.float32
    low = row.view(np.uint32) & 0xFFFF
    assert bool(low.any()) is (dtype == "float32")


def test_the_model_computes_the_delta_alone(network) -> None:
    counted = Counted(network)
    chat = slm2.Chat(TransformersSource(network), config(max_tokens=12), contract=CONTRACT)
    twin = CONTRACT.session()
    held = 0
    for question in QUESTIONS:
        counted.seen.clear()
        turn = chat.begin([{"role": "user", "content": question}])
        delta = twin.extend([{"role": "user", "content": question}])
        result = turn.result()
        keep = min(delta.keep, held)
        computed = len(twin.cached_ids) - keep
        assert counted.seen == [computed, *[1] * (len(result.ids) - 1)]
        assert result.stats.computed_ids == sum(counted.seen)
        if result.refusal is None:
            twin.reply(result.ids[: result.kept_ids])
            held = len(twin.cached_ids) - 1 + (len(result.ids) - result.kept_ids)
        else:
            pytest.fail(f"choose another seed: {result.refusal}")
    assert held > 40


@pytest.mark.parametrize("seed", range(3))
def test_ids_are_those_of_a_model_without_a_cache(network, seed) -> None:
    """From the same seed, over turns whose cache is cut and grown."""
    settings = config(max_tokens=24, seed=seed)
    kept, forgetful = TransformersSource(network), TransformersSource(checkpoints.model())
    chats = [slm2.Chat(source, settings, contract=CONTRACT) for source in (kept, Forgetful(forgetful))]
    for question in QUESTIONS:
        first, second = (chat.begin([{"role": "user", "content": question}]).result() for chat in chats)
        assert first.ids == second.ids
    assert kept.computed < forgetful.computed / 5


def test_a_failure_inside_the_library_leaves_an_empty_cache_and_the_turn_goes_on(network) -> None:
    message = [{"role": "user", "content": "Hi"}]
    alone = slm2.generate(TransformersSource(checkpoints.model()), message, config(max_tokens=8), contract=CONTRACT).result()
    source = TransformersSource(network)
    chat = slm2.Chat(source, config(max_tokens=8), contract=CONTRACT)
    turn = chat.begin(message)
    left = [3, 1]

    def fail(*_) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise RuntimeError("out of memory in the second layer")

    hook = network.model.layers[1].register_forward_pre_hook(fail)
    with pytest.raises(Slm2Error) as caught:
        turn.result()
    hook.remove()
    assert (caught.value.code, caught.value.fields["step"]) == ("model_failed", 2)
    assert chat.messages == []
    assert turn.result().ids == alone.ids
    assert turn.stats.failed_calls == 1


def test_steps_that_make_no_sense_are_refused(network) -> None:
    source = TransformersSource(network)
    for keep, append in ((1, [9707]), (0, []), (0, [151_936])):
        with pytest.raises(Slm2Error) as caught:
            source.logits(keep=keep, append=append)
        assert caught.value.code == "invalid_value"


def test_weights_of_another_width_are_refused_by_the_chat(tmp_path: Path) -> None:
    checkpoints.write(tmp_path, vocab_size=152_064)
    with pytest.raises(Slm2Error) as caught:
        slm2.Chat(TransformersSource.from_pretrained(tmp_path), config(), contract=CONTRACT)
    assert (caught.value.code, caught.value.fields["found"]) == ("model_mismatch", 152_064)


def test_what_cannot_be_read(tmp_path: Path, network) -> None:
    for make, code in (
        (lambda: TransformersSource.from_pretrained(tmp_path / "nowhere"), "file_unreadable"),
        (lambda: TransformersSource.from_pretrained(tmp_path), "model_unsupported"),
        (lambda: TransformersSource.from_pretrained(tmp_path, dtype="int8"), "invalid_value"),
        (lambda: TransformersSource(Qwen3Model(checkpoints.config(vocab_size=64))), "model_unsupported"),
        (lambda: TransformersSource(network.double()), "model_unsupported"),
    ):
        with pytest.raises(Slm2Error) as caught:
            make()
        assert caught.value.code == code


def test_the_command_line_reads_a_folder_and_tells_nothing_else(checkpoint: Path) -> None:
    """Not even the bar that transformers shows while it reads weights: stderr is JSON, a line each."""
    sampling = ("--preset", "thinking", "--seed", "7", "--max-tokens", "4")
    result = run("generate", "--model", f"transformers:{checkpoint}", *sampling, "--prompt", "Hi", "--format", "json")
    assert result.status == 0
    assert [line["warning"]["code"] for line in result.messages] == ["reply_cut"]
    chat = run("chat", "--model", f"transformers:{checkpoint}", *sampling, stdin=b"Hi\n")
    assert chat.out.decode().rstrip("\n") == json.loads(result.out)["text"]
