"""Rendering and sessions beside the publisher's pipeline, in one run, as ratios.

    python bench/template.py                  100 messages (20 kB), and a session of 30,000 tokens
    python bench/template.py --rounds 31

*Rendering*: transformers' ``apply_chat_template`` with tokenization, over the publisher's tokenizer and template, and
``Template.render(...).input_ids``, with the same messages in each round; ids are compared before anything is timed. *Sessions*: one turn
added to a session of about 30,000 tokens (``Session.extend``) and the same prompt rendered afresh (``Template.render``) by the same
engine; ids are compared. Times are CPU time of the process; the number shown is the median over the rounds.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sysconfig
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerFast

import slm2
from slm2.template import Template

SOURCES = Path(__file__).resolve().parent.parent / ".cache" / "publisher"
MESSAGES, BYTES, TOKENS = 100, 20_000, 30_000

Message = dict[str, str]


def words() -> list[str]:
    """Text to cut messages from: the standard library's documentation strings and code, in the order of file names."""
    text = ""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        text += path.read_text(encoding="utf-8", errors="replace")
        if len(text) > 1_000_000:
            break
    return text.split(" ")


def conversation(source: list[str], count: int, size: int, seed: int) -> list[Message]:
    """``count`` messages of about ``size`` bytes each, user and assistant in turn; none holds a tag."""
    rng = random.Random(seed)
    messages: list[Message] = []
    for number in range(count):
        at = rng.randrange(len(source) - size)
        text = ""
        while len(text.encode()) < size:
            text += source[at] + " "
            at += 1
        messages.append({"role": "assistant" if number % 2 else "user", "content": text.replace("<", "(")})
    return messages


def median(run: Callable[[], object], rounds: int) -> float:
    """Seconds of CPU time."""
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return statistics.median(times)


def rendering(template: Template, source: list[str], rounds: int) -> None:
    """A conversation rendered by both."""
    make: Any = PreTrainedTokenizerFast
    publisher = make(tokenizer_file=str(SOURCES / "tokenizer.json"))
    publisher.chat_template = (SOURCES / "qwen3.jinja").read_text(encoding="utf-8")
    messages = conversation(source, MESSAGES - 1, BYTES // MESSAGES, 1)

    def theirs() -> list[int]:
        return list(publisher.apply_chat_template(messages, add_generation_prompt=True, return_dict=False))

    def ours() -> list[int]:
        return template.render(messages, add_generation_prompt=True).input_ids

    assert theirs() == ours(), "the ids differ"
    slow, fast = [], []
    for _ in range(rounds):
        slow.append(median(theirs, 1))
        fast.append(median(ours, 20))
    their_time, our_time = statistics.median(slow), statistics.median(fast)
    print(f"rendering {len(messages)} messages, {sum(len(m['content'].encode()) for m in messages):,} bytes, {len(ours()):,} ids")
    print(f"  apply_chat_template   {1e6 * their_time:10,.0f} us   1")
    print(f"  render().input_ids    {1e6 * our_time:10,.0f} us   {their_time / our_time:.0f}")


def sessions(contract: slm2.Contract, source: list[str], rounds: int) -> None:
    """A turn added to a long session, and the whole rendered afresh."""
    messages = conversation(source, 199, 630, 2)
    session = contract.session()
    session.extend(messages)
    reply = contract.tokenizer.encode_trusted("<think>\nShort.\n</think>\n\nYes, that is so.<|im_end|>")
    session.reply(reply)
    turn = conversation(source, 1, 300, 3)
    expected = contract.template.render([*session.messages, *turn], add_generation_prompt=True).input_ids
    fork = session.fork()
    fork.extend(turn)
    assert fork.cached_ids == expected, "the ids differ"
    whole = [*session.messages, *turn]
    fresh, added = [], []
    for _ in range(rounds):
        fresh.append(median(lambda: contract.template.render(whole, add_generation_prompt=True).input_ids, 1))
        added.append(median(lambda: session.fork().extend(turn), 20))
    slow, fast = statistics.median(fresh), statistics.median(added)
    print(f"a turn of {len(turn[0]['content'])} bytes after {len(session.cached_ids):,} ids")
    print(f"  rendered afresh       {1e6 * slow:10,.0f} us   1")
    print(f"  Session.extend        {1e6 * fast:10,.0f} us   {slow / fast:.0f}")


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    contract = slm2.load(engine="native", profile="publisher")
    source = words()
    print(f"slm2 {slm2.__version__} native, transformers {version('transformers')}, tokenizers {version('tokenizers')}")
    rendering(contract.template, source, rounds)
    sessions(contract, source, rounds)


if __name__ == "__main__":
    main()
