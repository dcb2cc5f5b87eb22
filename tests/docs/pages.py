"""Pages as their examples are: fenced blocks in order, each with its language and what is said of it before it."""

from __future__ import annotations

import re
import runpy
from dataclasses import dataclass
from fnmatch import fnmatch
from textwrap import dedent

from machine import ROOT, checkout_files

PAGES = [name for name in checkout_files() if name.endswith(".md")]
# Of the site, by the patterns of its configuration; `*` goes over folders here as `**` does there.
SITE = runpy.run_path(str(ROOT / "docs" / "conf.py"))["include_patterns"]
SITE_PAGES = [page for page in PAGES if any(fnmatch(page, pattern) for pattern in SITE)]

# A block, with a comment before it that says why it is not run here; both may be indented, in a list.
BLOCK = re.compile(
    r"^(?: *<!-- not run: (?P<reason>[^>]+) -->\n+)?(?P<indent> *)"
    r"```(?P<language>[\w+,-]+)(?P<adapters> adapters)?\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        language: the first word behind the fence.
        text: its lines.
        not_run: why it is not run; None where it is.
        output: the text of a block of language ``text`` that follows after nothing but ``prints``; None where none does.
    """

    language: str
    text: str
    not_run: str | None
    output: str | None


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        after = re.match(r"\n+prints\n+```text\n(.*?)^```$", text[match.end() :], re.MULTILINE | re.DOTALL)
        not_run = "tests/adapters runs it" if match["adapters"] else match["reason"]
        found.append(Block(match["language"], dedent(match["text"]), not_run, after[1] if after else None))
    return found


def pages_with(*languages: str, among: list[str] = PAGES) -> list[str]:
    """The pages that have a block of one of these languages that is run."""
    return [page for page in among if any(block.language in languages and block.not_run is None for block in blocks_of(page))]
