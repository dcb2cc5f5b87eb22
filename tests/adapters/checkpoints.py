"""Tiny random checkpoints of Qwen3, made on the spot: the real architecture, the real vocabulary, and two layers of 32 numbers.

What they say is nonsense; how they are read, cached and asked is what a checkpoint of the publisher would meet. The same weights
are written for transformers (here), onnxruntime (:mod:`adapters.onnx_checkpoint`) and llama.cpp (:mod:`adapters.gguf_checkpoint`).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Literal

import torch
from transformers import GenerationConfig, Qwen3Config, Qwen3ForCausalLM

from publisher import TOKENIZER_JSON, tokenizer_json

DType = Literal["float32", "bfloat16"]

END_OF_TURN = 151_645  # <|im_end|>
END_OF_TEXT = 151_643  # <|endoftext|>


def config(*, vocab_size: int = 151_936, tied: bool = True, **changes: object) -> Qwen3Config:
    """As config.json of Qwen3-0.6B says it, but for sizes and layers."""
    settings: dict[str, object] = {
        "vocab_size": vocab_size,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 40_960,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1_000_000.0,
        "tie_word_embeddings": tied,
        "attention_bias": False,
        "bos_token_id": END_OF_TEXT,
        "eos_token_id": END_OF_TURN,
        "pad_token_id": None,
        # So that logits are some units apart, as a trained model's are, and the last bits of an addition decide nothing.
        "initializer_range": 0.4,
    }
    return Qwen3Config(**(settings | changes))


def model(*, dtype: DType = "float32", seed: int = 7, **changes: object) -> Qwen3ForCausalLM:
    """The network, from the seed alone; torch's own generator is left as it was.

    Args:
        dtype: of all its weights.
        seed: of its random weights.
        changes: of :func:`config`.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = Qwen3ForCausalLM(config(**changes)).eval()
        # The ones that transformers gives the norms would hide an adapter or a converter that forgets them.
        for name, weight in made.named_parameters():
            if "norm" in name:
                torch.nn.init.uniform_(weight, 0.5, 1.5)
    return made.to(getattr(torch, dtype))


def write(directory: Path, *, dtype: DType = "float32", seed: int = 7, **changes: object) -> Path:
    """A checkpoint in the layout of a model hub: config, generation config, weights, and the publisher's tokenizer.

    Returns:
        The directory.
    """
    made = model(dtype=dtype, seed=seed, **changes)
    made.generation_config = GenerationConfig(bos_token_id=END_OF_TEXT, eos_token_id=[END_OF_TURN, END_OF_TEXT], pad_token_id=END_OF_TEXT)
    made.save_pretrained(directory)
    write_tokenizer(directory)
    return directory


def write_tokenizer(directory: Path) -> None:
    """The publisher's tokenizer.json, and what its tokenizer_config.json says of the special tokens."""
    added = json.loads(tokenizer_json())["added_tokens"]
    shutil.copyfile(TOKENIZER_JSON, directory / "tokenizer.json")
    settings = {
        "tokenizer_class": "Qwen2Tokenizer",
        "added_tokens_decoder": {str(token["id"]): {key: value for key, value in token.items() if key != "id"} for token in added},
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "unk_token": None,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 131_072,
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
