"""Checkpoints that many tests share: made once for each worker."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from adapters import checkpoints, gguf_checkpoint, onnx_checkpoint

torch.set_num_threads(1)


def pytest_unconfigure() -> None:
    """Close what llama-cpp-python opens when it is imported and never closes, which is an error where warnings are."""
    if utilities := sys.modules.get("llama_cpp._utils"):
        utilities.outnull_file.close()
        utilities.errnull_file.close()


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model in float32, in the layout that transformers reads."""
    return checkpoints.write(tmp_path_factory.mktemp("qwen3-tiny"))


@pytest.fixture(scope="session")
def onnx_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same weights as ONNX with a cache, and the checkpoint's other files where a hub's repository has them."""
    directory = tmp_path_factory.mktemp("qwen3-tiny-onnx")
    checkpoints.write(directory)
    (directory / "model.safetensors").unlink()
    (directory / "onnx").mkdir()
    return onnx_checkpoint.write(directory / "onnx" / "model.onnx", checkpoints.model())


@pytest.fixture(scope="session")
def gguf_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same weights as GGUF, with the publisher's vocabulary."""
    return gguf_checkpoint.write(tmp_path_factory.mktemp("gguf") / "qwen3-tiny-f32.gguf", checkpoints.model())
