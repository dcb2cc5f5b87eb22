"""Checkpoints that many tests share: made once for each worker."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from adapters import checkpoints

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model in float32, in the layout that transformers reads."""
    return checkpoints.write(tmp_path_factory.mktemp("qwen3-tiny"))
