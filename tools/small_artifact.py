"""Make the small artifact of the tests: every kind of section, in few enough bytes to corrupt each of them.

    python tools/small_artifact.py tests/data/small-v1.slm2

One small artifact of each released container version stays in tests/data and must still load, or be refused by its version.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from slm2.artifact import Facts, NormalizationTables, Parts, seal
from slm2.compiler import compile_pattern, double_array, template_source

PATTERN = " ?[^ \\n]+|\\n+| +(?! )| +"
WORDS = [b"ab", b"abc", b" a", b"\xcc\x81", b"\xc3\xa9"]
MERGES = [(b"a", b"b"), (b"ab", b"c"), (b" ", b"a"), (b"\xcc", b"\x81"), (b"\xc3", b"\xa9")]
SPECIAL = [(261, b"<s>"), (262, b"<t>"), (264, "</é>".encode())]
TABLES = NormalizationTables(
    classes={0x301: 230, 0x323: 220},
    decompositions={0xE9: (0x65, 0x301), 0x344: (0x308, 0x301)},
    compositions={(0x65, 0x301): 0xE9},
)

TEMPLATE = """
family = "small"
states = ["INIT", "TURN", "END"]
[otherwise]
system = "ambiguous_think"
schema = "role_order"
user = "template_event"
assistant = "role_order"
reasoning = "template_event"
content = "template_event"
call = "template_event"
close = "template_event"
tool = "tool_without_call"
finish = "empty_conversation"
[[rule]]
state = ["INIT", "TURN"]
event = "user"
emit = ["structure <s>", 'role_header "ab"', "content {content left}", 'structure "c"', "structure <t>"]
to = "TURN"
[[rule]]
state = "TURN"
event = "finish"
emit = []
to = "END"
[[reply]]
state = "TURN"
on = { text = "content TURN", "<t>" = "end_turn END" }
"""


def build() -> bytes:
    """The artifact: 261 tokens, 5 merges, 3 special tokens with a gap between their ids, three scalar values that normalise."""
    tokens = [bytes([byte]) for byte in range(256)] + WORDS
    ids = {token: token_id for token_id, token in enumerate(tokens)}
    merges = [(ids[left], ids[right], ids[left + right]) for left, right in MERGES]
    return seal(
        Parts(
            tokens=tokens,
            special=SPECIAL,
            dfa=compile_pattern(PATTERN),
            merges=double_array.build(merges, lambda _done, _total: None),
            normalization=TABLES,
            facts=Facts((), ()),
            provenance={"compiler": "small", "pattern": PATTERN, "unicode": "none"},
            program=template_source.parse(TEMPLATE),
        )
    )


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.parse_args().target.write_bytes(build())


if __name__ == "__main__":
    main()
