"""The tiny checkpoints are what their names say."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from adapters import checkpoints

IDS = [151_644, 872, 198, 13_048, 151_645, 198, 151_644, 77_091, 198]


def test_a_written_checkpoint_is_the_model_that_was_made(checkpoint: Path) -> None:
    read = AutoModelForCausalLM.from_pretrained(checkpoint)
    assert read.config.model_type == "qwen3"
    assert read.dtype == torch.float32
    with torch.no_grad():
        logits = read(torch.tensor([IDS])).logits
        assert torch.equal(logits, checkpoints.model()(torch.tensor([IDS])).logits)
    assert logits.shape == (1, 9, 151_936)
    assert logits[0, -1].std() > 1
    assert AutoTokenizer.from_pretrained(checkpoint).encode("<|im_start|>user\nHi<|im_end|>\n") == IDS[:3] + IDS[3:6]


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_are_of_the_type_asked_for(tmp_path: Path, dtype: checkpoints.DType, tied: bool) -> None:
    checkpoints.write(tmp_path, dtype=dtype, tied=tied)
    assert AutoConfig.from_pretrained(tmp_path).tie_word_embeddings is tied
    read = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert str(read.dtype) == f"torch.{dtype}"
    assert (read.lm_head.weight.data_ptr() == read.model.embed_tokens.weight.data_ptr()) is tied


def test_making_one_leaves_torchs_generator_alone() -> None:
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    one, other = checkpoints.model(seed=1), checkpoints.model(seed=2)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not torch.equal(one.lm_head.weight, other.lm_head.weight)
