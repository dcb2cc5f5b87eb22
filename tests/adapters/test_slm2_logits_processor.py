"""Slm2LogitsProcessor inside transformers' ``generate``: the ids of Sampling2 over the same model, whatever else generate is told."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from transformers import GenerationConfig, LogitsProcessorList, StaticCache

import slm2
from adapters import checkpoints
from slm2.adapters.transformers import Slm2LogitsProcessor, Slm2Tokenizer
from slm2.errors import Slm2Error
from slm2.sampling import STOP_IDS, SamplingConfig

PAD = 151_643
TEXTS = ["Hello there", "a longer prompt of several words, naïve 中文", "x"]
STEPS = 12


@cache
def model() -> Any:
    """The tiny model, with a generation config that would change everything."""
    made = checkpoints.model()
    made.generation_config = GenerationConfig(
        do_sample=True, temperature=0.3, top_k=3, top_p=0.5, min_p=0.1, repetition_penalty=1.4, no_repeat_ngram_size=2,
        suppress_tokens=[*range(0, 150_000, 3)], eos_token_id=[*range(20_000)], pad_token_id=PAD, max_new_tokens=3,
    )  # fmt: skip
    return made


@cache
def tokenizer() -> Slm2Tokenizer:
    return Slm2Tokenizer(special_text="literal", padding_side="left")


def prompts(texts: list[str]) -> Any:
    return tokenizer()(texts, padding=True, return_tensors="pt")


def config(**changes: Any) -> SamplingConfig:
    values: dict[str, Any] = {
        "profile": "contract", "rng": "pcg32", "seed": 5, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.0,
        "repetition_penalty": 1.1, "max_tokens": STEPS, "stop_ids": STOP_IDS,
    }  # fmt: skip
    return SamplingConfig(**(values | changes))


def processor(contract: slm2.Contract, configs: list[SamplingConfig], inputs: Any) -> Slm2LogitsProcessor:
    return Slm2LogitsProcessor(contract, configs, **inputs, pad_token_id=PAD)


@cache
def never_text() -> tuple[int, ...]:
    """Ids whose bytes are no text by themselves, so that a generation over the others never fails in the middle of a character."""

    def is_text(token_id: int) -> bool:
        try:
            tokenizer().contract.tokenizer.token_bytes(token_id).decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True

    return (*(token_id for token_id in range(151_643) if not is_text(token_id)), *range(151_646, 151_669), 151_644)


@torch.no_grad()
def row(ids: list[int]) -> np.ndarray:
    """The model's logits after these ids, alone and without a cache."""
    return model()(torch.tensor([ids])).logits[0, -1].float().numpy()


@pytest.mark.parametrize("do_sample", [False, True])
@pytest.mark.parametrize(
    "changes", [{}, {"temperature": 1.3, "top_k": 0, "top_p": 1.0, "min_p": 0.05}, {"rng": "chacha8"}, {"temperature": 0}]
)
def test_generate_gives_what_a_generation_draws(changes: dict[str, Any], *, do_sample: bool) -> None:
    contract = tokenizer().contract
    settings = config(banned_ids=never_text(), **changes)
    inputs = prompts(TEXTS[:1])
    drawing = processor(contract, [settings], inputs)
    made = model().generate(**inputs, **(drawing.arguments() | {"do_sample": do_sample}))
    prompt = inputs["input_ids"][0].tolist()
    generation = contract.generation(settings, prompt, special="skip")
    steps = [*generation.run(lambda drawn: row([*prompt, *drawn]))]
    assert generation.result.reason in ("MaxTokens", "StopToken")
    assert made[0, len(prompt) :].tolist() == [*generation.result.ids] == drawing.ids[0]
    # Logits with a cache and without one differ in their last bits, and so do probabilities; the draws are the same.
    assert [draw.probability for draw in drawing.draws[0]] == pytest.approx([step.sample.probability for step in steps], rel=1e-3)


def test_rows_of_a_batch_are_as_they_are_alone() -> None:
    """With prompts of different lengths, left padding, a stream for each row, and rows that end at different steps."""
    contract, inputs = tokenizer().contract, prompts(TEXTS)
    alone = []
    for number, text in enumerate(TEXTS):
        single = prompts([text])
        drawing = processor(contract, [config(stream=f"row {number}")], single)
        model().generate(**single, **drawing.arguments())
        alone.append(drawing.ids[0])
    assert [len(ids) for ids in alone] == [STEPS] * 3
    assert alone[0] != alone[1]
    # Stop where the second row comes to its fourth id, and the third to its sixth.
    stop_ids = (*STOP_IDS, alone[1][3], alone[2][5])
    drawing = processor(contract, [config(stream=f"row {number}", stop_ids=stop_ids) for number in range(3)], inputs)
    made = model().generate(**inputs, **drawing.arguments())
    assert drawing.ids == [alone[0], alone[1][:4], alone[2][:6]]
    length = inputs["input_ids"].shape[1]
    for ids, drawn in zip(made[:, length:].tolist(), drawing.ids, strict=True):
        assert ids == [*drawn, *[PAD] * (STEPS - len(drawn))]


def test_all_rows_ended() -> None:
    contract, inputs = tokenizer().contract, prompts(TEXTS[:2])
    first = processor(contract, [config(), config()], inputs)
    model().generate(**inputs, **first.arguments())
    stop_ids = (first.ids[0][2], first.ids[1][3])
    assert stop_ids[0] not in first.ids[0][:2]
    assert stop_ids[1] not in first.ids[1][:3]
    drawing = processor(contract, [config(stop_ids=stop_ids)] * 2, inputs)
    made = model().generate(**inputs, **drawing.arguments())
    assert made.shape[1] == inputs["input_ids"].shape[1] + 4
    assert drawing.ids == [first.ids[0][:3], first.ids[1][:4]]


def test_a_static_cache_changes_no_id() -> None:
    contract, inputs = tokenizer().contract, prompts(TEXTS)
    ids = []
    for cache_of in (lambda: None, lambda: StaticCache(model().config, max_cache_len=64)):
        drawing = processor(contract, [config(stream=number) for number in range(3)], inputs)
        model().generate(**inputs, **drawing.arguments(), cache=cache_of())
        ids.append(drawing.ids)
    assert ids[0] == ids[1]


def torch_is_the_profiles() -> bool:
    return torch.__version__.startswith("2.13.")


@pytest.mark.skipif(not torch_is_the_profiles(), reason="the stream of profile publisher is that of torch 2.13")
@pytest.mark.parametrize("texts", [TEXTS[:1], TEXTS])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"temperature": 1.3, "top_k": 0, "top_p": 1.0, "repetition_penalty": 1.0},
        {"temperature": 1.0, "top_k": 50, "top_p": 0.9, "min_p": 0.05},
        {"temperature": 0, "repetition_penalty": 1.3},
    ],
)
def test_profile_publisher_draws_what_generate_draws(texts: list[str], changes: dict[str, Any]) -> None:
    """The same ids as ``generate(do_sample=True)`` after ``torch.manual_seed``, in a batch too, where torch shares its generator."""
    contract, inputs = slm2.load(profile="publisher"), prompts(texts)
    settings = config(profile="publisher", rng="mt19937-torch", seed=11, **changes)
    drawing = processor(contract, [settings] * len(texts), inputs)
    made = model().generate(**inputs, **drawing.arguments())
    own = drawing.arguments() | {"repetition_penalty": settings.repetition_penalty}
    del own["logits_processor"]
    if settings.temperature:
        own |= {"do_sample": True, "temperature": settings.temperature, "top_k": settings.top_k, "top_p": settings.top_p}
        own["min_p"] = settings.min_p or None
    torch.manual_seed(11)
    assert torch.equal(made, model().generate(**inputs, **own))


# ---- what is refused ----


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(Slm2Error) as caught:
        call()
    assert caught.value.code == "invalid_value"
    return str(caught.value.fields["field"])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"num_beams": 2}, "input_ids"),
        ({"num_beams": 2, "do_sample": True}, "input_ids"),
        ({"num_return_sequences": 2, "do_sample": True}, "input_ids"),
        ({"max_new_tokens": STEPS + 1}, "max_new_tokens"),
        ({"eos_token_id": None, "stop": True}, "input_ids"),
        ({"eos_token_id": "drawn"}, "input_ids"),
        ({"pad_token_id": 151_644, "stop": True}, "input_ids"),
    ],
)
def test_generate_may_do_nothing_else(changes: dict[str, Any], field: str) -> None:
    contract, inputs = tokenizer().contract, prompts(TEXTS[:2])
    probe = processor(contract, [config()] * 2, inputs)
    model().generate(**inputs, **probe.arguments())
    settings = config(stop_ids=(probe.ids[0][2],)) if changes.pop("stop", False) else config()
    changes = {name: [probe.ids[0][3]] if value == "drawn" else value for name, value in changes.items()}
    drawing = processor(contract, [settings] * 2, inputs)
    assert refusal(lambda: model().generate(**inputs, **(drawing.arguments() | changes))) == field


def rows_of(seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(0, 3, (3, 151_936)).astype(np.float32))


def taken(drawing: Slm2LogitsProcessor, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """The ids after one step, as generate goes on with them."""
    return torch.cat([input_ids, drawing(input_ids, scores).argmax(-1, keepdim=True)], 1)


@pytest.mark.parametrize("profile", ["contract", "publisher"])
@pytest.mark.parametrize("fails_at", [0, 2])
@pytest.mark.parametrize("wrong_row", [0, 1, 2])
def test_after_a_step_that_failed_it_goes_on_exactly_or_not_at_all(profile: str, fails_at: int, wrong_row: int) -> None:
    contract, inputs = slm2.load(profile=profile), prompts(TEXTS)
    settings = config(profile=profile, rng="pcg32" if profile == "contract" else "mt19937-torch", stop_ids=())
    undisturbed, drawing = (processor(contract, [settings] * 3, inputs) for _ in range(2))
    ids = failing = inputs["input_ids"]
    for step in range(fails_at):
        ids, failing = taken(undisturbed, ids, rows_of(step)), taken(drawing, failing, rows_of(step))
    broken = rows_of(fails_at)
    broken[wrong_row, 5] = float("nan")
    with pytest.raises(Slm2Error) as caught:
        drawing(failing, broken)
    assert caught.value.code == "logits_invalid"
    if wrong_row == 0:
        for step in range(fails_at, 5):
            ids, failing = taken(undisturbed, ids, rows_of(step)), taken(drawing, failing, rows_of(step))
        assert drawing.draws == undisturbed.draws
        return
    for input_ids in (failing, inputs["input_ids"]):
        with pytest.raises(Slm2Error) as caught:
            drawing(input_ids, rows_of(fails_at))
        assert (caught.value.code, caught.value.fields["reason"]) == (
            "generation_ended", f"step {fails_at} failed after some of its rows had drawn",
        )  # fmt: skip


def test_an_interrupt_in_the_middle_of_a_step_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = processor(tokenizer().contract, [config()] * 3, inputs := prompts(TEXTS))
    sample = drawing.samplers[0].sample

    def interrupted(row: np.ndarray) -> None:
        sample(row)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(drawing.samplers[0], "sample", interrupted)
        with pytest.raises(KeyboardInterrupt):
            drawing(inputs["input_ids"], rows_of(0))
    with pytest.raises(Slm2Error) as caught:
        drawing(inputs["input_ids"], rows_of(0))
    assert caught.value.code == "generation_ended"


def test_a_batch_that_ended_in_error_is_not_gone_on_with_by_a_second_call() -> None:
    """Of generate, whose prompts are those of the first step again."""
    drawing = processor(tokenizer().contract, [config()] * 3, inputs := prompts(TEXTS))

    def spoil(_: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        return scores.index_fill(1, torch.tensor([7]), float("nan")) if spoiling else scores

    both = drawing.arguments() | {"logits_processor": LogitsProcessorList([spoil, drawing])}
    spoiling = True
    with pytest.raises(Slm2Error, match="NaN"):
        model().generate(**inputs, **both)
    spoiling = False
    model().generate(**inputs, **both)  # the first row was refused: nothing had been drawn
    other = processor(tokenizer().contract, [config()] * 3, inputs)
    model().generate(**inputs, **other.arguments())
    assert drawing.ids == other.ids


def test_it_is_of_one_call_and_alone() -> None:
    contract, inputs = tokenizer().contract, prompts(TEXTS[:2])
    drawing, other = (processor(contract, [config()] * 2, inputs) for _ in range(2))
    both = drawing.arguments() | {"logits_processor": LogitsProcessorList([drawing, other])}
    assert refusal(lambda: model().generate(**inputs, **both)) == "logits_processor"
    # Generate itself takes one that it is given twice as one; where it is called twice all the same, it refuses.
    twice = other.arguments() | {"logits_processor": LogitsProcessorList([other, other])}
    model().generate(**inputs, **twice)
    assert [len(ids) for ids in other.ids] == [STEPS] * 2
    again = processor(contract, [config()] * 2, inputs)
    assert refusal(lambda: LogitsProcessorList([again, again])(inputs["input_ids"], torch.zeros(2, 151_936))) == "input_ids"
    for rows in (1, 3):
        fresh = processor(contract, [config()] * 2, inputs)
        assert refusal(lambda call=fresh, count=rows: call(inputs["input_ids"], torch.zeros(count, 151_936))) == "scores"
    used = processor(contract, [config()] * 2, inputs)
    model().generate(**inputs, **used.arguments())
    assert refusal(lambda: model().generate(**inputs, **used.arguments())) == "input_ids"
    fresh = processor(contract, [config()] * 2, inputs)
    assert (
        refusal(lambda: model().generate(inputs["input_ids"] + 1, attention_mask=inputs["attention_mask"], **fresh.arguments()))
        == "input_ids"
    )


def test_what_it_is_made_of() -> None:
    contract, inputs = tokenizer().contract, prompts(TEXTS[:2])
    ids, mask = inputs["input_ids"], inputs["attention_mask"]

    def made(configs: list[SamplingConfig], input_ids: Any = ids, attention_mask: Any = mask) -> Callable[[], object]:
        return lambda: Slm2LogitsProcessor(contract, configs, input_ids=input_ids, attention_mask=attention_mask, pad_token_id=PAD)

    assert refusal(made([config()])) == "configs"
    assert refusal(made([config(), config(max_tokens=3)])) == "configs.max_tokens"
    assert refusal(made([config(), config(stop_ids=())])) == "configs.stop_ids"
    assert refusal(made([config(stop_strings=("x",))] * 2)) == "stop_strings"
    assert refusal(made([config()] * 2, attention_mask=mask.flip(1))) == "attention_mask"
    assert refusal(made([config()] * 2, attention_mask=torch.zeros_like(mask))) == "attention_mask"
    assert refusal(made([config()] * 2, attention_mask=mask[:, 1:])) == "input_ids"
    assert refusal(made([config()] * 2, input_ids=ids[:, :0], attention_mask=mask[:, :0])) == "input_ids"
    publisher = [config(profile="publisher", rng="mt19937-torch", seed=seed) for seed in (1, 2)]
    with pytest.raises(Slm2Error) as caught:
        Slm2LogitsProcessor(slm2.load(profile="publisher"), publisher, **inputs, pad_token_id=PAD)
    assert caught.value.fields["field"] == "configs.seed"
    with pytest.raises(Slm2Error) as caught:
        made([publisher[0]] * 2)()
    assert caught.value.code == "sampling_pairing"
    assert "2 rows" in repr(made([config()] * 2)())


def test_weights_of_another_width() -> None:
    inputs = prompts(TEXTS[:1])
    drawing = processor(tokenizer().contract, [config()], inputs)
    with pytest.raises(Slm2Error) as caught:
        checkpoints.model(vocab_size=151_680).generate(**inputs, **drawing.arguments())
    assert caught.value.code == "logits_length"
