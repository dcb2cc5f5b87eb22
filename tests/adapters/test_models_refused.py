"""Files that are no model, no model of these programs, or a model of another vocabulary: each refused with a code that says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from transformers import Qwen3ForCausalLM

import slm2
from adapters import checkpoints, gguf_checkpoint, onnx_checkpoint
from slm2.adapters import llama_cpp, onnxruntime, open_model
from slm2.adapters.llama_cpp import LlamaCppSource
from slm2.adapters.model_files import facts_of_directory
from slm2.adapters.onnxruntime import OnnxSource
from slm2.logits_source import check_model

SMALL = 1000


@pytest.fixture(scope="module")
def small() -> Qwen3ForCausalLM:
    """Of another width."""
    return checkpoints.model(vocab_size=SMALL, bos_token_id=1, eos_token_id=2)


@pytest.fixture(scope="module")
def small_onnx(small: Qwen3ForCausalLM, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return onnx_checkpoint.write(tmp_path_factory.mktemp("small") / "model.onnx", small)


def mismatch(facts: object) -> dict[str, object]:
    with pytest.raises(slm2.Slm2Error) as other:
        check_model(slm2.load(), facts)
    assert other.value.code == "model_mismatch"
    return {name: other.value.fields[name] for name in ("what", "expected", "found")}


def unsupported(path: Path) -> str:
    with pytest.raises(slm2.Slm2Error) as refused:
        OnnxSource.open(path)
    assert refused.value.code == "model_unsupported"
    return str(refused.value.fields["reason"])


def test_weights_of_another_width(small_onnx: Path) -> None:
    assert mismatch(OnnxSource.open(small_onnx).model) == {"what": "the width of its logits", "expected": 151_936, "found": SMALL}


def test_a_provider_that_is_not_there(small_onnx: Path) -> None:
    """ONNX Runtime would take the CPU in its place."""
    with pytest.raises(slm2.Slm2Error) as refused:
        OnnxSource.open(small_onnx, providers=["NowhereExecutionProvider", "CPUExecutionProvider"])
    assert (refused.value.code, refused.value.fields["field"]) == ("invalid_value", "providers")
    assert "CPUExecutionProvider" in str(refused.value.fields["expected"])


def test_onnx_with_moved_special_ids(small_onnx: Path, tmp_path: Path) -> None:
    """What the files beside the graph say is compared; the graph's width goes before that of config.json."""
    tmp_path.joinpath("config.json").write_text('{"vocab_size": 151936, "eos_token_id": 5}')
    tmp_path.joinpath("tokenizer_config.json").write_text('{"added_tokens_decoder": {"7": {"content": "<|im_end|>"}}}')
    facts = facts_of_directory(tmp_path)
    assert mismatch(facts) == {"what": "the id of <|im_end|>", "expected": 151_645, "found": 7}
    (tmp_path / "model.onnx").write_bytes(small_onnx.read_bytes())
    assert OnnxSource.open(tmp_path / "model.onnx").model.width == SMALL
    tmp_path.joinpath("tokenizer_config.json").unlink()
    assert mismatch(facts_of_directory(tmp_path)) == {
        "what": "an id that ends its replies",
        "expected": "the id of a special token",
        "found": 5,
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [("config.json", "{"), ("config.json", "[]"), ("tokenizer.json", '{"added_tokens": [5]}'), ("tokenizer_config.json", "\xff")],
)
def test_files_beside_the_weights_that_are_none(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(slm2.Slm2Error) as refused:
        facts_of_directory(tmp_path)
    assert (refused.value.code, refused.value.fields["model"]) == ("model_unsupported", str(tmp_path / name))


@pytest.mark.parametrize(("options", "reason"), [({"past": False}, "no cache")])
def test_a_graph_without_a_cache(small: Qwen3ForCausalLM, tmp_path: Path, options: dict[str, bool], reason: str) -> None:
    assert reason in unsupported(onnx_checkpoint.write(tmp_path / "model.onnx", small, **options))


def test_graphs_of_other_forms(small_onnx: Path, tmp_path: Path) -> None:
    made = onnx.load(small_onnx)
    made.graph.input.append(onnx.helper.make_tensor_value_info("use_cache_branch", onnx.TensorProto.BOOL, [1]))
    onnx.save(made, tmp_path / "merged.onnx")
    assert "use_cache_branch" in unsupported(tmp_path / "merged.onnx")
    made = onnx.load(small_onnx)
    made.graph.output.remove(next(node for node in made.graph.output if node.name == "present.1.value"))
    onnx.save(made, tmp_path / "half.onnx")
    assert unsupported(tmp_path / "half.onnx") == "its graph has no present.1.value"


def test_files_that_are_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"GGUF")
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(60))
    for kind, path in ((OnnxSource, tmp_path / "model.onnx"), (LlamaCppSource, tmp_path / "model.gguf")):
        with pytest.raises(slm2.Slm2Error) as refused:
            kind.open(path)
        assert (refused.value.code, refused.value.fields["model"]) == ("model_unsupported", str(path))
        with pytest.raises(slm2.Slm2Error) as missing:
            kind.open(tmp_path / "absent")
        assert missing.value.code == "file_unreadable"


def test_a_graph_in_float16_without_positions(small: Qwen3ForCausalLM, small_onnx: Path, tmp_path: Path) -> None:
    ids = [5, 6, 7, 8, 9, 10]
    half = OnnxSource.open(onnx_checkpoint.write(tmp_path / "half.onnx", small, element=np.float16, positions=False))
    full = OnnxSource.open(small_onnx)
    half.logits(keep=0, append=ids[:2])
    row, wanted = half.logits(keep=2, append=ids[2:]), full.logits(keep=0, append=ids)
    assert (row.dtype, wanted.dtype) == (np.float16, np.float32)
    assert float(np.abs(row.astype(np.float32) - wanted).max()) < 0.1


def test_gguf_of_another_tokenizer(tmp_path: Path, small: Qwen3ForCausalLM) -> None:
    """Special tokens elsewhere; another end; no vocabulary at all, of which the width says enough."""
    model = checkpoints.model()
    path = gguf_checkpoint.write(tmp_path / "moved.gguf", model, moved={"<|im_start|>": 151_646})
    with LlamaCppSource.open(path, context=16) as source:
        assert mismatch(source.model)["what"] in {"the id of <|im_start|>", "the id of <|object_ref_start|>"}
    path = gguf_checkpoint.write(tmp_path / "end.gguf", model, end=13)
    with LlamaCppSource.open(path, context=16) as source:
        assert 13 in source.model.end_ids
        assert mismatch(source.model)["what"] == "an id that ends its replies"
    with LlamaCppSource.open(gguf_checkpoint.write(tmp_path / "none.gguf", small, vocabulary=False), context=16) as source:
        assert source.model.special_ids == {}
        assert mismatch(source.model) == {"what": "the width of its logits", "expected": 151_936, "found": SMALL}


@pytest.mark.parametrize(("options", "field"), [({"context": 0}, "context"), ({"cache": "int8"}, "cache")])
def test_options_of_llama_cpp(gguf_file: Path, options: dict[str, object], field: str) -> None:
    with pytest.raises(slm2.Slm2Error) as refused:
        LlamaCppSource.open(gguf_file, **options)
    assert (refused.value.code, refused.value.fields["field"]) == ("invalid_value", field)


def test_the_context_of_a_place(gguf_file: Path) -> None:
    with open_model(f"llama-cpp:{gguf_file}#256") as source:
        assert source.model.context == 256
    with pytest.raises(slm2.Slm2Error) as refused:
        open_model(f"llama-cpp:{gguf_file}#many")
    assert refused.value.fields["field"] == "model"


def test_a_closed_source_says_so(gguf_file: Path) -> None:
    source = llama_cpp.open_model(str(gguf_file))
    assert source.model.context == 32_768
    source.logits(keep=0, append=[1])
    source.close()
    source.close()
    with pytest.raises(ValueError, match="closed"):
        source.logits(keep=0, append=[1])


def test_a_source_that_nobody_closes_is_freed_without_a_word(gguf_file: Path) -> None:
    code = f"from slm2.adapters.llama_cpp import open_model; kept = open_model({str(gguf_file)!r}); kept.logits(keep=0, append=[1])"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert "llama_cpp.py" not in done.stderr


def test_a_library_is_imported_when_it_is_used() -> None:
    """Not by the package, nor by what its adapters are imported by: modules inside one may be made of its library's classes."""
    code = """
import importlib, pkgutil, sys
import slm2, slm2.chat, slm2.cli, slm2.adapters
for module in pkgutil.iter_modules(slm2.adapters.__path__, "slm2.adapters."):
    importlib.import_module(module.name)
libraries = "datasets httpx httpx2 llama_cpp onnxruntime openai pandas pyarrow pyspark ray torch transformers"
print(sorted(set(libraries.split()) & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [(onnxruntime, "onnxruntime", "onnxruntime"), (llama_cpp, "llama_cpp", "llama-cpp")],
)
def test_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch, onnx_file: Path, module: object, missing: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(slm2.Slm2Error) as absent:
        module.open_model(str(onnx_file))
    assert (absent.value.code, absent.value.fields["extra"]) == ("dependency_missing", extra)
