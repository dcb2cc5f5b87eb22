"""`target/slm2.wasm` in this process, through wasmtime: the C ABI (crates/capi/include/slm2.h) with addresses of 32 bits."""

from __future__ import annotations

import ctypes
import json
import os
import struct
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from slm2.contract import embedded
from slm2.reference.sampling.config import SamplingConfig

WASM = Path(__file__).parents[2] / "target" / "slm2.wasm"
REFUSED = 1
_SAMPLE = struct.Struct("<6Q2dQ4d")


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
    """One instance with an opened artifact."""

    def __init__(self) -> None:
        import wasmtime  # noqa: PLC0415

        engine, module = compiled()
        assert list(module.imports) == []
        self._store = wasmtime.Store(engine)
        self._exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        self.context = self.call("context_new")
        self.cell = self.alloc(64)
        data = embedded()
        artifact = self.put(data)
        assert self.call("contract_adopt", self.context, artifact, len(data), self.cell) == 0
        self.contract = self.u32(self.cell)

    def call(self, name: str, *arguments) -> int:
        return self._exports[f"slm2_{name}"](self._store, *arguments)

    def alloc(self, length: int) -> int:
        address = self.call("alloc", length)
        assert address
        return address

    def put(self, data: bytes) -> int:
        address = self.alloc(len(data))
        self.write(address, data)
        return address

    def write(self, address: int, data: bytes) -> None:
        memory = self._exports["memory"]
        ctypes.memmove(ctypes.addressof(memory.data_ptr(self._store).contents) + address, data, len(data))

    def read(self, address: int, length: int) -> bytes:
        memory = self._exports["memory"]
        return ctypes.string_at(ctypes.addressof(memory.data_ptr(self._store).contents) + address, length)

    def u32(self, address: int) -> int:
        return int.from_bytes(self.read(address, 4), "little")

    def error(self) -> dict[str, object]:
        address = self.alloc(4096)
        assert self.call("error", self.context, address, 4096, self.cell) == 0
        return json.loads(self.read(address, self.u32(self.cell)))

    def portable(self, function: str, values: np.ndarray) -> bytes:
        address = self.put(values.astype("<f8").tobytes())
        assert self.call("portable", self.context, ["exp", "log", "log1p"].index(function), address, values.size) == 0
        return self.read(address, 8 * values.size)


class WasmSampler:
    """A sampler of an instance; the members are those of the engine's protocol that are needed."""

    def __init__(self, module: Module, config: SamplingConfig, prompt: list[int], width: int) -> None:
        self._module, self._width = module, width
        self._row, self._drawn, self._kept = module.alloc(4 * width), module.alloc(_SAMPLE.size), module.alloc(4 * width)
        settings = json.dumps(config.to_dict()).encode()
        ids = np.array(prompt, "<u4").tobytes()
        arguments = (module.put(settings), len(settings), module.put(ids) if ids else 0, len(prompt), width, module.cell)
        status = module.call("sampler_new", module.context, module.contract, *arguments)
        assert status == 0, module.error()
        self._handle = module.u32(module.cell)

    def recipe(self, seed: int, step: int, scale: float, head: float) -> bytes:
        """Make the next row inside the module; its bytes."""
        self._module.call("recipe_logits", self._module.context, seed, step, scale, head, 0, self._row, self._width)
        return self._module.read(self._row, 4 * self._width)

    def sample(self, row: np.ndarray | None, allowed: bytes | None, top: int) -> tuple:
        """As the engine; without a row, of the one that is there. Of the list of most probable tokens nothing is asked."""
        del top
        module = self._module
        if row is not None:
            module.write(self._row, row.tobytes())
        mask = (0, 0) if allowed is None else (module.put(allowed), len(allowed))
        status = module.call("sampler_sample", module.context, self._handle, self._row, self._width, *mask, 0, self._drawn)
        if status == REFUSED:
            return (module.error()["code"],)
        assert status == 0
        token, words, *rest = _SAMPLE.unpack(module.read(self._drawn, _SAMPLE.size))
        probability, log_probability, count, *numbers = rest[4:]
        return token, probability, log_probability, tuple(rest[:4]), words, tuple(numbers[:count])

    def kept(self) -> bytes:
        module = self._module
        assert module.call("sampler_kept", module.context, self._handle, self._kept, self._width, module.cell) == 0
        return module.read(self._kept, 4 * module.u32(module.cell))
