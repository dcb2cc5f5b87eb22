"""The recording of a chat is one, and shows what the page says that it shows."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

from machine import ROOT

CAST = ROOT / "docs" / "chat.cast"
PICTURE = ROOT / "docs" / "chat.svg"
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def test_the_recording_is_an_asciicast_of_the_whole_chat() -> None:
    head, *events = [json.loads(line) for line in CAST.read_text(encoding="utf-8").splitlines()]
    assert (head["version"], head["width"], head["height"]) == (2, 100, 34)
    assert [second for second, _, _ in events] == sorted(second for second, _, _ in events)
    assert {kind for _, kind, _ in events} == {"o"}
    shown = CONTROLS.sub("", "".join(text for _, _, text in events))
    for part in ("thought for", "→ time", "It is 12:04 in Lisbon", "from the cache)", "given up; the conversation is as before", "/quit"):
        assert part in shown
    reused = [int(count) for count in re.findall(r"\((\d+) from the cache\)", shown)]
    assert reused[0] == 0
    assert min(reused[1:]) > 150


def test_the_picture_is_the_same_chat() -> None:
    words = "".join(ElementTree.fromstring(PICTURE.read_bytes()).itertext()).replace("\xa0", " ")
    assert "It is 12:04 in Lisbon" in words
    assert "given up; the conversation is as before" in words
