"""The checkout as a whole: links lead somewhere, no file names a private place, every error code is raised somewhere."""

from __future__ import annotations

import re

import pytest

from machine import ROOT, checkout_files
from slm2.error_table import ERRORS

FILES = checkout_files()
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

# Somebody's own folder, and hosts that only a registry's client should know; in parts, so that this file does not hold them.
PRIVATE = re.compile(r"(?<![\w.>)-])/(?:work|root|home|Users)/")
HOSTS = (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("crates", "io/"))
REGISTRIES = re.compile("|".join(rf"{name}\.{end}" for name, end in HOSTS))


def text_of(name: str) -> str | None:
    """The text of a file; None of a binary one."""
    try:
        return (ROOT / name).read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None


def anchors(name: str) -> set[str]:
    """Of the headings of a page, as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", text_of(name) or "", re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [name for name in FILES if name.endswith(".md")])
def test_links_lead_somewhere(page: str) -> None:
    broken = []
    prose = re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text_of(page) or "", flags=re.MULTILINE | re.DOTALL))
    for link in LINK.findall(prose):
        if link.startswith(("https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(str(target.resolve().relative_to(ROOT)))):
            broken.append(link)
    assert broken == []


def test_no_file_names_a_private_place_or_a_registry_host() -> None:
    found = []
    for name in FILES:
        text = text_of(name) or ""
        found += [f"{name}: {match[0]}" for pattern in (PRIVATE, REGISTRIES) for match in pattern.finditer(text)]
    assert found == []


def test_every_error_code_is_raised_somewhere() -> None:
    sources = [name for name in FILES if re.fullmatch(r"(src/slm2|crates/\w+/src|bindings/js/src)/.*\.(py|rs|js)", name)]
    tables = ("src/slm2/error_table.py", "crates/core/src/error_code.rs", "bindings/js/src/error_table.js")
    code_text = "\n".join(text_of(name) or "" for name in sources if name not in tables)
    unused = []
    for code in ERRORS:
        variant = "".join(word.capitalize() for word in code.split("_"))
        if f'"{code}"' not in code_text and f"'{code}'" not in code_text and f"ErrorCode::{variant}" not in code_text:
            unused.append(code)
    assert unused == []


def test_every_cited_clause_exists() -> None:
    """Of Tokenizer2, streams, Template2, Prompt2, Sampling2, normalisation and threats: a letter, a hyphen, a number."""
    texts = {name: text_of(name) or "" for name in FILES if re.match(r"(src|crates|tests|contract|tools|docs)/", name)}
    pages = [text for name, text in texts.items() if re.fullmatch(r"contract/[\w-]+\.md", name)]
    defined = set(re.findall(r"\*\*([A-Z]-[0-9]+)\*\*", "\n".join(pages)))
    assert {"T-1", "D-1", "M-1", "P-1", "S-1", "X-1"} <= defined
    cited = {(name, clause) for name, text in texts.items() for clause in re.findall(r"\b(?<!-)[DMNPSTX]-[0-9]+\b(?!-)", text)}
    assert sorted((name, clause) for name, clause in cited if clause not in defined) == []


def test_pages_name_no_code_that_does_not_exist() -> None:
    """Names in backquotes that begin like a code of an artifact are codes."""
    pages = [text_of(name) or "" for name in FILES if name.startswith("contract/") and name.endswith(".md")]
    named = set(re.findall(r"`(artifact_\w+)`", "\n".join(pages)))
    assert "artifact_magic" in named
    assert sorted(named - ERRORS.keys()) == []
