"""The tiny checkpoint as GGUF, written with the ``gguf`` package as llama.cpp's own converter lays out Qwen3, in float32."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import torch
from transformers import Qwen3ForCausalLM

from adapters.checkpoints import END_OF_TEXT, END_OF_TURN
from publisher import tokenizer_json

# Of a layer: the name in transformers, and in GGUF.
LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write(
    path: Path, model: Qwen3ForCausalLM, *, moved: dict[str, int] | None = None, end: int = END_OF_TURN, vocabulary: bool = True
) -> Path:
    """Write the weights of a model with the publisher's vocabulary.

    Args:
        path: the file.
        model: whose weights.
        moved: ids of special tokens that are to be false, by their text; each trades places with what is there.
        end: the id said to end a turn.
        vocabulary: whether tokens and merges are in it.
    """
    config = model.config
    writer = gguf.GGUFWriter(path, "qwen3")
    writer.add_name("qwen3-tiny")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_vocab_size(config.vocab_size)
    if vocabulary:
        add_vocabulary(writer, config.vocab_size, moved or {}, end)
    else:
        writer.add_tokenizer_model("no_vocab")
    add_tensors(writer, model)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add_vocabulary(writer: gguf.GGUFWriter, size: int, moved: dict[str, int], end: int) -> None:
    """Tokens, their types and merges; ids that no token has are called and typed as the converter does it."""
    settings = json.loads(tokenizer_json())
    tokens = [f"[PAD{token_id}]" for token_id in range(size)]
    types = [gguf.TokenType.UNUSED] * size
    for text, token_id in settings["model"]["vocab"].items():
        tokens[token_id], types[token_id] = text, gguf.TokenType.NORMAL
    for token in settings["added_tokens"]:
        tokens[token["id"]] = token["content"]
        types[token["id"]] = gguf.TokenType.CONTROL if token["special"] else gguf.TokenType.USER_DEFINED
    for text, target in moved.items():
        source = tokens.index(text)
        for values in (tokens, types):
            values[source], values[target] = values[target], values[source]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in settings["model"]["merges"]])
    writer.add_eos_token_id(end)
    writer.add_pad_token_id(END_OF_TEXT)
    writer.add_bos_token_id(END_OF_TEXT)
    writer.add_add_bos_token(False)


def add_tensors(writer: gguf.GGUFWriter, model: Qwen3ForCausalLM) -> None:
    """All weights; the output's only where it is not the embedding's."""
    tensors = {"token_embd.weight": model.model.embed_tokens.weight, "output_norm.weight": model.model.norm.weight}
    if not model.config.tie_word_embeddings:
        tensors["output.weight"] = model.lm_head.weight
    for number, layer in enumerate(model.model.layers):
        for name, short in LAYER.items():
            tensors[f"blk.{number}.{short}.weight"] = layer.get_submodule(name).weight
    for name, weight in tensors.items():
        writer.add_tensor(name, weight.detach().to(torch.float32).numpy())
