"""The package for transformers without its libraries."""

from __future__ import annotations

import sys

import pytest

from slm2.adapters import transformers
from slm2.errors import Slm2Error


@pytest.mark.parametrize("missing", ["torch", "transformers"])
@pytest.mark.parametrize("name", transformers.__all__)
def test_a_missing_library_is_named(missing: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", sys)  # there, for what is asked after it
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(Slm2Error) as caught:
        getattr(transformers, name)
    assert caught.value.code == "dependency_missing"
    assert caught.value.fields == {"package": missing, "extra": "transformers"}


def test_other_names_are_no_attributes() -> None:
    with pytest.raises(AttributeError, match="Slm3Tokenizer"):
        _ = transformers.Slm3Tokenizer
