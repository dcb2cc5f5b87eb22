"""A testee over an engine of this package, the model for those of other hosts (contract/conformance.md).

python -m slm2.conformance.testee --engine native --artifact FILE
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from slm2.conformance import bulk
from slm2.conformance.in_process import OPERATIONS, InProcess
from slm2.conformance.protocol import PROTOCOL, Call, inputs_of, line
from slm2.contract import embedded
from slm2.engine import MAX_PRETOKEN, Engine, select
from slm2.errors import Slm2Error

__all__ = ["Responder", "main", "serve"]

Json = dict[str, Any]


class Responder:
    """Answers calls, one by one, by one engine."""

    def __init__(self, engine: Engine, limited: Callable[[int], Engine]) -> None:
        """Put an engine behind the protocol.

        Args:
            engine: what answers.
            limited: opens the same with another ``max_pretoken``.
        """
        self._engine = engine
        self._faces = InProcess(engine, limited)

    def answer(self, request: object) -> Json:
        """The answer to one request; whatever goes wrong is one."""
        number: Any = None
        try:
            call, number = _request(request)
            return {"id": number, "result": self._result(call)}
        except Slm2Error as error:
            return {"id": number, "error": {"code": error.code, "fields": error.fields}}
        except Exception as error:
            return {"id": number, "failure": f"{type(error).__name__}: {error}"}

    def _result(self, call: Call) -> object:
        if call.method == "hello":
            return self._hello()
        inputs, profile = inputs_of(call)
        if call.method not in OPERATIONS:
            raise ValueError(f"there is no method {call.method!r}")
        return OPERATIONS[call.method](self._faces.contract(inputs.get("max_pretoken"), profile), inputs)

    def _hello(self) -> Json:
        return {
            "protocol": PROTOCOL,
            "contract_version": self._engine.contract_version,
            **bulk.artifact_facts(self._engine),
            "host": bulk.host_facts(self._engine),
            "methods": sorted(["hello", *OPERATIONS]),
        }


def _request(request: object) -> tuple[Call, int]:
    if not isinstance(request, Mapping) or request.keys() != {"id", "method", "params"}:
        raise ValueError("a request is an object with `id`, `method` and `params`")
    return Call(request["method"], request["params"]), request["id"]


def serve(responder: Responder, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer line by line until the input ends."""
    for text in requests:
        answers.write(line(responder.answer(json.loads(text))))
        answers.flush()


def main() -> int:
    """Serve standard input; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["native", "reference"], required=True)
    parser.add_argument("--artifact", type=Path, help="the artifact to open instead of the one in the package")
    arguments = parser.parse_args()
    data = arguments.artifact.read_bytes() if arguments.artifact else embedded()
    open_with = cache(lambda limit: select(arguments.engine, data, limit))
    serve(Responder(open_with(MAX_PRETOKEN), open_with), sys.stdin.buffer, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
