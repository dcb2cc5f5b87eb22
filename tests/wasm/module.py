"""`target/slm2.wasm` in this process, through wasmtime: memory, samplers, rows and bits."""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from slm2.reference.sampling.config import MEANINGLESS_FROM, SamplingConfig, seed_key, stream_number

WASM = Path(__file__).parents[2] / "target" / "slm2.wasm"
_RNGS = {"pcg32": 0, "chacha8": 2, "mt19937-torch": 3}
_DRAWN = struct.Struct("<6Q6d")


@cache
def compiled():
    """Engine and module; where it was not built the tests are skipped, but under CI they fail."""
    if not WASM.exists():
        if os.environ.get("CI"):
            pytest.fail("target/slm2.wasm is not here; under CI nothing is skipped")
        pytest.skip("target/slm2.wasm is not here: run tools/build_wasm.py")
    import wasmtime  # noqa: PLC0415

    engine = wasmtime.Engine()
    return engine, wasmtime.Module.from_file(engine, str(WASM))


class Module:
    """One instance."""

    def __init__(self) -> None:
        import wasmtime  # noqa: PLC0415

        engine, module = compiled()
        assert list(module.imports) == []
        self._store = wasmtime.Store(engine)
        self._exports = wasmtime.Instance(self._store, module, []).exports(self._store)

    def call(self, name: str, *arguments) -> int:
        return self._exports[f"slm2_{name}"](self._store, *arguments)

    def alloc(self, length: int) -> int:
        address = self.call("alloc", length)
        assert address
        return address

    def write(self, address: int, data: bytes) -> None:
        memory = self._exports["memory"]
        ctypes.memmove(ctypes.addressof(memory.data_ptr(self._store).contents) + address, data, len(data))

    def read(self, address: int, length: int) -> bytes:
        memory = self._exports["memory"]
        return ctypes.string_at(ctypes.addressof(memory.data_ptr(self._store).contents) + address, length)

    def error(self) -> str:
        address = self.alloc(1000)
        return self.read(address, self.call("error", address, 1000)).decode()

    def portable(self, function: str, values: np.ndarray) -> bytes:
        address = self.alloc(8 * values.size)
        self.write(address, values.astype("<f8").tobytes())
        self.call("portable", ["exp", "log", "log1p"].index(function), address, values.size)
        return self.read(address, 8 * values.size)


class WasmSampler:
    """A sampler of an instance; the members are those of the engine's protocol that are needed."""

    def __init__(self, module: Module, config: SamplingConfig, prompt: list[int], width: int, limit: int = MEANINGLESS_FROM) -> None:
        self._module, self._width = module, width
        self._row, self._drawn, self._kept = module.alloc(4 * width), module.alloc(_DRAWN.size), module.alloc(4 * width)
        settings = module.alloc(200)
        number = config.seed if isinstance(config.seed, int) else 0
        module.write(settings, struct.pack(
            "<4Q32sQ6d3Q",
            int(config.profile == "publisher"), _RNGS[config.rng], number, stream_number(config.stream),
            seed_key(config.seed) if config.rng == "chacha8" else bytes(32), config.top_k, config.temperature, config.top_p, config.min_p,
            config.repetition_penalty, config.presence_penalty, config.frequency_penalty, width, limit, config.max_tokens,
        ))  # fmt: skip
        ids = module.alloc(4 * len(prompt) + 4)
        module.write(ids, np.array(prompt, "<u4").tobytes())
        self._handle = module.call("sampler_new", settings, ids, len(prompt))
        assert self._handle, module.error()

    def recipe(self, seed: int, step: int, scale: float, head: float) -> bytes:
        """Make the next row inside the module; its bytes."""
        self._module.call("recipe", seed, step, scale, head, 0, self._row, self._width)
        return self._module.read(self._row, 4 * self._width)

    def sample(self, row: np.ndarray | None, allowed: bytes | None, top: int) -> tuple:
        """As the engine; without a row, of the one that is there. Of the list of most probable tokens nothing is known."""
        del top
        if row is not None:
            self._module.write(self._row, row.tobytes())
        mask = 0
        if allowed is not None:
            mask = self._module.alloc(len(allowed))
            self._module.write(mask, allowed)
        if self._module.call("sampler_sample", self._handle, self._row, self._width, mask, self._drawn):
            return (self._module.error().split()[0],)
        token, words, *rest = _DRAWN.unpack(self._module.read(self._drawn, _DRAWN.size))
        return token, rest[4], rest[5], tuple(rest[:4]), words, tuple(rest[6:])

    def kept(self) -> bytes:
        count = self._module.call("sampler_kept", self._handle, self._kept, self._width)
        return np.sort(np.frombuffer(self._module.read(self._kept, 4 * count), "<u4")).tobytes()
