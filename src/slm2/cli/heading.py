"""The first line of a picture: which file, and what computed."""

from __future__ import annotations

from rich.text import Text

from slm2.contract import Contract
from slm2.screen import visible

_DIGEST_DIGITS = 16


def heading(contract: Contract, title: str) -> Text:
    """Name of the input, engine, profile and artifact."""
    digest = contract.digest[:_DIGEST_DIGITS]
    text = visible(title.encode("utf-8", "backslashreplace"), "bold", blanks=False)
    return text.append(f"  engine {contract.engine.name}, profile {contract.profile}, artifact {digest}", "not bold")
