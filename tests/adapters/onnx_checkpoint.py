"""The tiny checkpoint as ONNX, in the layout of exported decoders (onnx-community's of Qwen3, optimum's "text-generation-with-past").

Inputs ``input_ids``, ``attention_mask``, ``position_ids`` (all int64) and ``past_key_values.N.key`` and ``.value``; outputs
``logits`` and ``present.N.key`` and ``.value``. The graph is written from operators of the standard set, by the equations of Qwen3.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from transformers import Qwen3ForCausalLM

OPSET = 18
BATCH, LENGTH, PAST, TOTAL = "batch_size", "sequence_length", "past_sequence_length", "total_sequence_length"


class Graph:
    """Nodes and constants in the order in which they are written; each method gives the name of what it computes."""

    def __init__(self, element: np.dtype) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.element = element

    def node(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, value: np.ndarray) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def number(self, value: float) -> str:
        return self.constant(np.array(value, self.element))

    def weight(self, tensor: torch.Tensor) -> str:
        return self.constant(tensor.detach().to(torch.float32).numpy().astype(self.element))

    def linear(self, x: str, layer: torch.nn.Linear) -> str:
        return self.node("MatMul", x, self.weight(layer.weight.T.contiguous()))

    def norm(self, x: str, layer: torch.nn.Module) -> str:
        square = self.node("ReduceMean", self.node("Mul", x, x), self.integers(-1), keepdims=1)
        root = self.node("Sqrt", self.node("Add", square, self.number(layer.variance_epsilon)))
        return self.node("Mul", self.node("Div", x, root), self.weight(layer.weight))

    def heads(self, x: str, count: int, size: int) -> str:
        """[batch, length, count * size] to [batch, length, count, size]."""
        return self.node("Reshape", x, self.integers(0, 0, count, size))

    def rotate(self, x: str, angles: tuple[str, str], size: int) -> str:
        """Rotary positions, by halves: x cos + (-x2, x1) sin."""
        cosine, sine = angles
        first = self.node("Slice", x, self.integers(0), self.integers(size // 2), self.integers(-1))
        second = self.node("Slice", x, self.integers(size // 2), self.integers(size), self.integers(-1))
        turned = self.node("Concat", self.node("Neg", second), first, axis=-1)
        return self.node("Add", self.node("Mul", x, cosine), self.node("Mul", turned, sine))


def write(path: Path, model: Qwen3ForCausalLM, *, element: type = np.float32, past: bool = True, positions: bool = True) -> Path:
    """Write the weights of a model, and the graph over them.

    Args:
        path: the file.
        model: whose weights.
        element: type of weights, cache and logits: float32 or float16.
        past: whether the graph has a cache; without one it has neither ``past_key_values`` nor ``present``.
        positions: whether ``position_ids`` is an input; without it the positions follow the past's length.
    """
    config = model.config
    graph = Graph(np.dtype(element))
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(element))
    cache_shape = [BATCH, config.num_key_value_heads, PAST, config.head_dim]
    inputs = [
        helper.make_tensor_value_info("input_ids", TensorProto.INT64, [BATCH, LENGTH]),
        helper.make_tensor_value_info("attention_mask", TensorProto.INT64, [BATCH, TOTAL]),
    ]
    if positions:
        inputs.append(helper.make_tensor_value_info("position_ids", TensorProto.INT64, [BATCH, LENGTH]))
    outputs = [helper.make_tensor_value_info("logits", kind, [BATCH, LENGTH, config.vocab_size])]

    total = graph.node("Gather", graph.node("Shape", "attention_mask"), graph.integers(1))
    length = graph.node("Gather", graph.node("Shape", "input_ids"), graph.integers(1))
    begin = graph.node("Sub", total, length)
    rows = places(graph, begin, total)
    angles = rotary(graph, "position_ids" if positions else graph.node("Unsqueeze", rows, graph.integers(0)), config)
    hidden = graph.node("Gather", graph.weight(model.model.embed_tokens.weight), "input_ids", axis=0)
    allowed = graph.node(
        "LessOrEqual",
        graph.node("Unsqueeze", places(graph, graph.integers(0), total), graph.integers(0)),
        graph.node("Unsqueeze", rows, graph.integers(1)),
    )
    for number, layer in enumerate(model.model.layers):
        normed = graph.norm(hidden, layer.input_layernorm)
        attention, key, value = attend(graph, normed, layer.self_attn, angles, allowed, past=number if past else None)
        hidden = graph.node("Add", hidden, attention)
        normed = graph.norm(hidden, layer.post_attention_layernorm)
        gate = graph.linear(normed, layer.mlp.gate_proj)
        gated = graph.node("Mul", graph.node("Mul", gate, graph.node("Sigmoid", gate)), graph.linear(normed, layer.mlp.up_proj))
        hidden = graph.node("Add", hidden, graph.linear(gated, layer.mlp.down_proj))
        if past:
            for what, name in (("key", key), ("value", value)):
                inputs.append(helper.make_tensor_value_info(f"past_key_values.{number}.{what}", kind, cache_shape))
                outputs.append(helper.make_tensor_value_info(f"present.{number}.{what}", kind, [*cache_shape[:2], TOTAL, config.head_dim]))
                graph.nodes.append(helper.make_node("Identity", [name], [f"present.{number}.{what}"]))
    logits = graph.linear(graph.norm(hidden, model.model.norm), model.lm_head)
    graph.nodes.append(helper.make_node("Identity", [logits], ["logits"]))

    made = helper.make_model(
        helper.make_graph(graph.nodes, "qwen3", inputs, outputs, graph.constants), opset_imports=[helper.make_opsetid("", OPSET)]
    )
    made.ir_version = 10
    onnx.checker.check_model(made)
    onnx.save(made, path)
    return path


def places(graph: Graph, begin: str, end: str) -> str:
    """[end - begin] int64: the positions from one to another, both given as arrays of one."""
    first, last = (graph.node("Squeeze", name, graph.integers(0)) for name in (begin, end))
    return graph.node("Range", first, last, graph.constant(np.array(1, np.int64)))


def rotary(graph: Graph, positions: str, config: object) -> tuple[str, str]:
    """Cosines and sines, [batch, 1, length, head_dim]."""
    size = config.head_dim
    inverse = 1.0 / config.rope_parameters["rope_theta"] ** (np.arange(0, size, 2, dtype=np.float32) / size)
    # In float32 whatever the model's type is, as transformers does it.
    turns = graph.node("Cast", graph.node("Unsqueeze", positions, graph.integers(-1)), to=TensorProto.FLOAT)
    angle = graph.node("Mul", turns, graph.constant(np.concatenate([inverse, inverse]).astype(np.float32)))
    kind = helper.np_dtype_to_tensor_dtype(graph.element)
    cosine, sine = (graph.node("Cast", graph.node(name, angle), to=kind) for name in ("Cos", "Sin"))
    return graph.node("Unsqueeze", cosine, graph.integers(1)), graph.node("Unsqueeze", sine, graph.integers(1))


def attend(
    graph: Graph, x: str, layer: torch.nn.Module, angles: tuple[str, str], allowed: str, *, past: int | None
) -> tuple[str, str, str]:
    """Attention of one layer.

    Returns:
        What is added to the hidden state; all keys and all values, [batch, key heads, total, head_dim].
    """
    config, size = layer.config, layer.head_dim
    count, shared = config.num_attention_heads, config.num_attention_heads // config.num_key_value_heads

    def heads_first(name: str) -> str:
        return graph.node("Transpose", name, perm=[0, 2, 1, 3])

    query = heads_first(graph.norm(graph.heads(graph.linear(x, layer.q_proj), count, size), layer.q_norm))
    key = heads_first(graph.norm(graph.heads(graph.linear(x, layer.k_proj), config.num_key_value_heads, size), layer.k_norm))
    value = heads_first(graph.heads(graph.linear(x, layer.v_proj), config.num_key_value_heads, size))
    query, key = graph.rotate(query, angles, size), graph.rotate(key, angles, size)
    if past is not None:
        key = graph.node("Concat", f"past_key_values.{past}.key", key, axis=2)
        value = graph.node("Concat", f"past_key_values.{past}.value", value, axis=2)
    # Each head of keys serves some heads of queries: [batch, key heads, shared, ., .], where 1 broadcasts.
    grouped = graph.node("Reshape", query, graph.integers(0, config.num_key_value_heads, shared, -1, size))
    keys = graph.node("Unsqueeze", graph.node("Transpose", key, perm=[0, 1, 3, 2]), graph.integers(2))
    score = graph.node("Mul", graph.node("MatMul", grouped, keys), graph.number(size**-0.5))
    masked = graph.node("Where", allowed, score, graph.number(float(np.finfo(graph.element).min)))
    mixed = graph.node("MatMul", graph.node("Softmax", masked, axis=-1), graph.node("Unsqueeze", value, graph.integers(2)))
    together = graph.node("Reshape", mixed, graph.integers(0, count, -1, size))
    flat = graph.node("Reshape", heads_first(together), graph.integers(0, 0, count * size))
    return graph.linear(flat, layer.o_proj), key, value
