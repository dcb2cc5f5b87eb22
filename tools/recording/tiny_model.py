"""A tiny Qwen3 that has learnt one conversation by heart: the real architecture and vocabulary, two layers of 64 numbers.

What it says it has learnt; that it says it with a cache, from logits that are sampled, is real.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slm2.contract import Contract

__all__ = ["Lesson", "learn", "lessons"]

_STEPS = 600
_LOSS = 0.002
_WIDTH = 151_936
# Of the weights of ids that are in no lesson.
_SPREAD = 0.005


@dataclass(frozen=True)
class Lesson:
    """A prompt and the reply that the model learns for it, by their ids."""

    prompt: list[int]
    reply: list[int]


def lessons(contract: Contract, tools: list[Any], turns: list[tuple[dict[str, object], str, bool]]) -> list[Lesson]:
    """What a session would give to the model, turn by turn.

    Args:
        contract: lays the prompts out.
        tools: JSON schemas.
        turns: a message, the reply to it in the model's own form, and whether the conversation goes on from it.
    """
    session = contract.session(tools=tools)
    made = []
    for message, text, goes_on in turns:
        here = session if goes_on else session.fork()
        here.extend([message])
        reply = contract.tokenizer.encode_trusted(text)
        made.append(Lesson(here.cached_ids, reply))
        here.reply(reply)
    return made


def learn(directory: Path, taught: list[Lesson]) -> float:
    """Train from a fixed seed until every id of every reply is nearly certain, and write the checkpoint.

    Only the ids of the lessons are learnt, over a vocabulary of them alone; all others are noise, and count as one logit that is the
    sum of as many zeros. That is a thousand times less work than the whole vocabulary.

    Returns:
        The loss in the end, in nats an id.

    Raises:
        RuntimeError: the model did not learn it.
    """
    import torch  # noqa: PLC0415  (an extra)
    from transformers import GenerationConfig  # noqa: PLC0415

    torch.manual_seed(7)
    torch.set_num_threads(1)  # so that the sums, and with them the weights, are the same on one machine
    used = sorted({token for lesson in taught for token in (*lesson.prompt, *lesson.reply)})
    batch = _batch(taught, {token: at for at, token in enumerate(used)})
    small = _network(len(used))
    optimizer = torch.optim.Adam(small.parameters(), lr=1e-2)
    loss = float("inf")
    for _ in range(_STEPS):
        optimizer.zero_grad()
        step = _loss(small, batch, len(used))
        step.backward()
        optimizer.step()
        loss = step.item()
        if loss < _LOSS:
            break
    if loss > 10 * _LOSS:
        raise RuntimeError(f"the tiny model did not learn its conversation: loss {loss:.3f}")
    model = _network(_WIDTH)
    weights = {name: weight for name, weight in small.state_dict().items() if weight.shape[0] != len(used)}
    model.load_state_dict(weights, strict=False)
    with torch.no_grad():
        table = model.get_input_embeddings().weight
        table.normal_(std=_SPREAD)
        table[used] = small.get_input_embeddings().weight
    ends: Any = GenerationConfig  # its types are those of the library, which is not installed where types are checked
    model.generation_config = ends(bos_token_id=151_643, eos_token_id=[151_645, 151_643])
    model.save_pretrained(directory)
    return loss


def _network(width: int) -> Any:  # noqa: ANN401  (transformers)
    """With random weights; what stands before a logit is also what an id is read as."""
    from transformers import Qwen3Config, Qwen3ForCausalLM  # noqa: PLC0415

    config = Qwen3Config(
        vocab_size=width,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=40_960,
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        tie_word_embeddings=True,
        bos_token_id=151_643 if width == _WIDTH else None,
        eos_token_id=151_645 if width == _WIDTH else None,
    )
    return Qwen3ForCausalLM(config)


def _batch(taught: list[Lesson], number: dict[int, int]) -> tuple[Any, Any]:
    """Ids and what is wanted after each of them, [lessons, length]; -100 where nothing is: in the prompt, and in what fills the end.

    A reply never looks at what comes after it, so that the filling needs no mask.
    """
    import torch  # noqa: PLC0415

    length = max(len(lesson.prompt) + len(lesson.reply) for lesson in taught)
    ids = torch.zeros((len(taught), length), dtype=torch.long)
    wanted = torch.full((len(taught), length), -100)
    for row, lesson in enumerate(taught):
        whole = [number[token] for token in (*lesson.prompt, *lesson.reply)]
        ids[row, : len(whole)] = torch.tensor(whole)
        wanted[row, len(lesson.prompt) - 1 : len(whole) - 1] = torch.tensor(whole[len(lesson.prompt) :])
    return ids, wanted


def _loss(model: Any, batch: tuple[Any, Any], known: int) -> Any:  # noqa: ANN401  (torch)
    """Cross entropy of the replies' ids."""
    import torch  # noqa: PLC0415

    ids, wanted = batch
    logits = model(input_ids=ids, use_cache=False).logits
    others = torch.full((*logits.shape[:2], 1), math.log(_WIDTH - known))  # noqa: TID251  (decides nothing that is exact)
    return torch.nn.functional.cross_entropy(torch.cat([logits, others], dim=2).flatten(0, 1), wanted.flatten())
