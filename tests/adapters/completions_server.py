"""A real HTTP server on this machine that runs the tiny model and speaks ``/v1/completions`` as vLLM documents it, faults included.

Its fields and events are those of vLLM's own code (vllm/entrypoints/openai/completion/protocol.py and serving.py: one ``data:``
event a token, ``prompt_token_ids`` in the first, ``finish_reason`` in the last, ``[DONE]`` after it), and so is its ``/tokenize``.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import Qwen3ForCausalLM

NAME = "qwen3-tiny"


class CompletionsServer(ThreadingHTTPServer):
    """The server, and what a test tells it to do wrong.

    Attributes:
        fault: of the next replies; see :meth:`Handler.stream`.
        after: ids that come before the fault.
        redirect: status and address with which every request is answered, where it is not None.
        requests: bodies of /v1/completions, as they came.
        headers: of questions about the models.
        mistakes: of this file, which no test asked for.
        closed: set when a client went away in the middle of a reply.
    """

    daemon_threads = True

    def __init__(self, model: Qwen3ForCausalLM, tokenizer: Tokenizer) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.model, self.tokenizer = model, tokenizer
        self.fault, self.after = "", 0
        self.redirect: tuple[int, str] | None = None
        self.names = [NAME]
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.mistakes: list[str] = []
        self.closed = threading.Event()
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002  (the library's signature)
        """A client that goes away is what some tests are about; anything else is this server's own mistake."""
        if not isinstance(error := sys.exc_info()[1], ConnectionError):
            self.mistakes.append(repr(error))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CompletionsServer

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        if self.server.redirect:
            self.send_elsewhere(*self.server.redirect)
        elif self.path == "/v1/models":
            self.server.headers.append(dict(self.headers))
            models = [{"id": name, "object": "model", "max_model_len": 40_960} for name in self.server.names]
            self.answer(200, {"object": "list", "data": models})
        else:
            self.answer(404, {"error": {"message": "no such route", "code": 404}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.redirect:
            self.send_elsewhere(*self.server.redirect)
        elif self.path == "/tokenize" and self.server.fault != "no tokenize":
            ids = self.server.tokenizer.encode(body["prompt"], add_special_tokens=body["add_special_tokens"]).ids
            self.answer(200, {"count": len(ids), "max_model_len": 40_960, "tokens": ids})
        elif self.path == "/v1/completions":
            self.server.requests.append(body)
            self.complete(body)
        else:
            self.answer(404, {"error": {"message": "no such route", "code": 404}})

    def send_elsewhere(self, status: int, address: str) -> None:
        self.send_response(status)
        self.send_header("Location", address + self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def complete(self, body: dict[str, Any]) -> None:
        if self.server.fault == "status":
            self.answer(500, {"error": {"message": "CUDA error: out of memory", "type": "InternalServerError", "code": 500}})
            return
        if self.server.fault == "context":
            self.answer(400, {"error": {"message": "This model's maximum context length is 512 tokens.", "code": 400}})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self.stream(body)
        except (BrokenPipeError, ConnectionResetError):
            self.server.closed.set()
            self.close_connection = True

    def stream(self, body: dict[str, Any]) -> None:
        """Events until the reply ends or the fault comes."""
        tokens = generate(self.server.model, body)
        for at, (token, finish, stop) in enumerate(tokens):
            if at == self.server.after and self.server.fault:
                if self.fail():
                    return
            else:
                choice = self.choice(body, token, finish, stop)
                if at == 0 and body.get("return_token_ids"):
                    choice["prompt_token_ids"] = body["prompt"]
                self.event(json.dumps({"id": "cmpl-1", "object": "text_completion", "model": body["model"], "choices": [choice]}))
        self.event(json.dumps({"id": "cmpl-1", "object": "text_completion", "model": body["model"], "choices": [], "usage": {}}))
        self.event("[DONE]")
        self.chunk(b"")

    def choice(self, body: dict[str, Any], token: int, finish: str | None, stop: int | None) -> dict[str, Any]:
        text = self.server.tokenizer.decode([token], skip_special_tokens=body["skip_special_tokens"])
        choice: dict[str, Any] = {"index": 0, "text": "" if finish == "stop" else text, "finish_reason": finish, "stop_reason": stop}
        if body.get("return_token_ids"):
            choice["token_ids"] = [token]
        if body.get("logprobs") is not None:
            name = f"token_id:{token}" if body.get("return_tokens_as_token_ids") else text
            choice["logprobs"] = {"tokens": [name], "token_logprobs": [-1.0], "top_logprobs": [{name: -1.0}], "text_offset": [0]}
        return choice

    def fail(self) -> bool:
        """Do what the test asked for; whether the reply ends with it."""
        fault = self.server.fault
        choice: dict[str, Any] = {"index": 0, "text": "x", "finish_reason": None}
        events = {
            "garbage": "{not json",
            "number": "5",
            "no ids": json.dumps({"choices": [choice]}),
            "text as ids": json.dumps({"choices": [{**choice, "token_ids": ["a"]}]}),
            "other prompt": json.dumps({"choices": [{**choice, "token_ids": [1], "prompt_token_ids": [151_643, 1]}]}),
            "two choices": json.dumps({"choices": [choice, choice]}),
            "other finish": json.dumps({"choices": [{**choice, "token_ids": [1], "finish_reason": "abort"}]}),
            "finish in a list": json.dumps({"choices": [{**choice, "token_ids": [1], "finish_reason": ["stop"]}]}),
            "huge id": json.dumps({"choices": [{**choice, "token_ids": [2**70]}]}),
            "deep": f'{{"choices": {"[" * 100_000}{"]" * 100_000}}}',
            "long code": json.dumps({"error": {"message": "the engine died", "code": "x" * 1000}}),
            "error event": json.dumps({"error": {"message": "the engine died", "code": 500}}),
        }
        if fault in events:
            self.event(events[fault])
            return False
        if fault == "slow":
            self.server.released.wait(20)
        elif fault == "cut":
            # In the middle of a chunk that was announced.
            self.wfile.write(b"40\r\ndata: {")
            self.wfile.flush()
            self.connection.close()
        elif fault == "truncated":
            self.chunk(b"")
        self.close_connection = fault != "truncated"
        return True

    def event(self, data: str) -> None:
        self.chunk(f"data: {data}\n\n".encode())

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def generate(model: Qwen3ForCausalLM, body: dict[str, Any]) -> Iterator[tuple[int, str | None, int | None]]:
    """Ids of a reply with the reason why it ends: the greatest logit at temperature 0, else torch's draw from the seed."""
    ids = list(body["prompt"])
    assert body["ignore_eos"]
    generator = torch.Generator().manual_seed(body["seed"])
    for step in range(body["max_tokens"]):
        with torch.no_grad():
            row = model(torch.tensor([ids]), use_cache=False, logits_to_keep=1).logits[0, -1]
        for token, bias in body["logit_bias"].items():
            row[int(token)] += bias
        if body["temperature"] == 0:
            drawn = int(row.argmax())
        else:
            kept = row.topk(body["top_k"] if body["top_k"] > 0 else len(row))
            shares = torch.softmax(kept.values / body["temperature"], -1)
            drawn = int(kept.indices[torch.multinomial(shares, 1, generator=generator)])
        ids.append(drawn)
        if drawn in body["stop_token_ids"]:
            yield drawn, "stop", drawn
            return
        yield drawn, "length" if step + 1 == body["max_tokens"] else None, None


@contextmanager
def running(model: Qwen3ForCausalLM, tokenizer: Tokenizer) -> Iterator[CompletionsServer]:
    """The server on a free port, until the block ends."""
    with CompletionsServer(model, tokenizer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()


def wait_for(event: threading.Event) -> bool:
    """Whether something happens in a while, as the other side of a connection learns of it with the next byte that it sends."""
    deadline = time.monotonic() + 10
    while not event.wait(0.05):
        if time.monotonic() > deadline:
            return False
    return True
