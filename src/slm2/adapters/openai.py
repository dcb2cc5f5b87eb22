"""A server that speaks OpenAI's completions, asked by token ids: vLLM, and what copies its interface.

Needs ``pip install 'slm2[openai]'``. The prompt goes out as ids and the reply comes back as ids, so that no text is tokenized or
decoded on the way. The server draws: Sampling2 does not, and reports say ``sampled_by`` = ``server``.

The fields are vLLM's (vllm/entrypoints/openai/completion/protocol.py): ``return_token_ids`` for the ids of a reply, from release
0.10.2 on; before it ``return_tokens_as_token_ids`` with ``logprobs``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from slm2.adapters.libraries import library
from slm2.adapters.server_settings import request_settings
from slm2.engine import integer_ids
from slm2.errors import Slm2Error
from slm2.logits_source import ModelFacts, Served
from slm2.reference.json_text import shown
from slm2.reference.sampling.config import SamplingConfig

if TYPE_CHECKING:
    import openai

__all__ = ["IdsFrom", "OpenAIServer", "open_model"]

IdsFrom = Literal["token_ids", "logprobs"]
_IDS_FROM: dict[str, dict[str, object]] = {
    "token_ids": {"return_token_ids": True},
    "logprobs": {"logprobs": 1, "return_tokens_as_token_ids": True},
}
_TOKEN_ID = re.compile(r"token_id:(\d+)")
# Asked of /tokenize, one by one: what a reply and a prompt cannot do without.
_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# A server without /tokenize answers with one of these.
_NO_SUCH_ROUTE = (404, 405, 501)
# Of every request, whatever the client's own setting: a prompt and a key are for the server that the caller named, and for no other.
_OPTIONS: openai.RequestOptions = {"follow_redirects": False}
_REDIRECTS = range(300, 400)
_LONGEST_REASON = 300
_LONGEST_STATUS = 64
_LARGEST_ID = 2**32 - 1


class OpenAIServer:
    """Ids from a server's ``/completions``, as a :class:`slm2.logits_source.TokenServer`. Safe to share between threads.

    Args:
        client: an ``openai.OpenAI``, with the retries and time-outs that its owner chose.
        model: as the server calls it.
        facts: what is known of it; asked of the server where it is None.
        ids: where the ids of a reply stand: ``token_ids``, or ``logprobs`` for vLLM before 0.10.2, which computes them for it.

    Raises:
        Slm2Error: as :meth:`serve`, from the questions about the model; ``model_mismatch`` where the server's tokenizer has no such
            token as ``<|im_end|>``.
    """

    def __init__(self, client: openai.OpenAI, model: str, *, facts: ModelFacts | None = None, ids: IdsFrom = "token_ids") -> None:
        if ids not in _IDS_FROM:
            raise Slm2Error("invalid_value", field="ids", expected=" or ".join(_IDS_FROM), found=repr(ids))
        self._openai = library("openai", "openai", "openai")
        self._client = client
        self._url = str(client.base_url).rstrip("/")
        self._shown = _shown_url(client)
        self._name = model
        self._ids: IdsFrom = ids
        self._model = facts or ModelFacts(
            name=f"{model} at {self._shown}", width=None, special_ids=self._special_ids(), context=self._context()
        )

    @classmethod
    def open(
        cls, url: str, *, model: str | None = None, api_key: str | None = None, timeout: float = 60.0, ids: IdsFrom = "token_ids"
    ) -> OpenAIServer:
        """Of an address.

        Args:
            url: up to and with ``/v1``.
            model: as the server calls it; None takes the one that it has.
            api_key: sent as it is; None sends none that means anything. The environment is asked neither for a key nor for whom the
                client works (``OPENAI_ORG_ID``, ``OPENAI_PROJECT_ID``).
            timeout: seconds without a byte after which a request is given up; nothing is tried again by itself.
            ids: as the class.

        Raises:
            Slm2Error: ``dependency_missing``; ``invalid_value`` for what is no address, and where the server has several models and
                ``model`` names none; or as the class.
        """
        client = _client_of(url, api_key or "none", timeout)
        return cls(client, model or _only_model(client), ids=ids)

    @property
    def model(self) -> ModelFacts:
        """See :class:`slm2.logits_source.TokenServer`."""
        return self._model

    def serve(self, *, prompt: Sequence[int], config: SamplingConfig) -> Iterator[Served]:
        """See :class:`slm2.logits_source.TokenServer`; one id at a time.

        Raises:
            Slm2Error: ``invalid_value``; while it is iterated ``server_unreachable``, ``server_timeout``, ``server_refused`` for a
                status that is an error or a redirect, which is not followed, ``server_reply`` for an answer without ids, cut short, or of
                another form.
        """
        body = {
            **request_settings(config),
            **_IDS_FROM[self._ids],
            "model": self._name,
            "prompt": integer_ids("prompt", prompt),
            "stream": True,
        }
        return self._stream(body)

    def _stream(self, body: dict[str, object]) -> Iterator[Served]:
        received = 0
        with _errors(self._openai, self._client):
            events = self._openai.Stream[object]
            stream = self._client.post("/completions", cast_to=object, body=body, options=_OPTIONS, stream=True, stream_cls=events)
            with stream:
                for event in stream:
                    choice = self._choice(event)
                    if choice is None:
                        continue
                    self._check_prompt(choice, body["prompt"])
                    ids, finish = self._reply_ids(choice), self._finish(choice)
                    received += len(ids)
                    yield from (Served([token], None) for token in ids[:-1])
                    if ids or finish:
                        yield Served(ids[-1:], finish)
                    if finish:
                        return
        raise self._wrong("a finish_reason at the end of the reply", f"the end of the stream after {received} ids")

    def _choice(self, event: object) -> Mapping[str, object] | None:
        """The one choice of an event; None where it has none, as the last one with the usage."""
        choices = event.get("choices") if isinstance(event, Mapping) else None
        if not isinstance(choices, list) or len(choices) > 1 or not all(isinstance(choice, Mapping) for choice in choices):
            raise self._wrong("an event with one choice", _kind(event if choices is None else choices))
        return choices[0] if choices else None

    def _reply_ids(self, choice: Mapping[str, object]) -> list[int]:
        if self._ids == "token_ids":
            found, expected = choice.get("token_ids"), "token_ids in every choice (vLLM from 0.10.2 on gives them)"
        else:
            found, expected = _logprob_ids(choice.get("logprobs")), 'logprobs.tokens of the form "token_id:N" in every choice'
        # The event that says how the reply ended may have no ids of its own.
        if found is None and choice.get("finish_reason") and not choice.get("text"):
            return []
        if not isinstance(found, list) or not all(type(token) is int and 0 <= token <= _LARGEST_ID for token in found):
            raise self._wrong(expected, "a choice without them")
        return found

    def _finish(self, choice: Mapping[str, object]) -> Literal["stop", "length"] | None:
        reason = choice.get("finish_reason")
        for known in (None, "stop", "length"):  # compared one by one: what comes may be no key of a set
            if reason == known:
                return known
        raise self._wrong("finish_reason stop or length", repr(reason)[:_LONGEST_REASON])

    def _check_prompt(self, choice: Mapping[str, object], prompt: object) -> None:
        """What the server says that it read must be what was sent: another tokenizer's ids in front or behind are another prompt."""
        read = choice.get("prompt_token_ids")
        if read is not None and read != prompt:
            raise self._wrong("the ids of the prompt as they were sent", "others in prompt_token_ids")

    def _special_ids(self) -> dict[str, int]:
        """What the server's tokenizer makes of special tokens' texts, where it can be asked."""
        found = {}
        for text in _SPECIAL:
            body = {"model": self._name, "prompt": text, "add_special_tokens": False}
            try:
                with _errors(self._openai, self._client):
                    answer = self._client.post(f"{self._url.removesuffix('/v1')}/tokenize", cast_to=object, body=body, options=_OPTIONS)
            except Slm2Error as error:
                if error.code == "server_refused" and error.fields["status"] in _NO_SUCH_ROUTE:
                    return {}
                raise
            ids = answer.get("tokens") if isinstance(answer, Mapping) else None
            if not isinstance(ids, list):
                raise self._wrong("tokens, from /tokenize", _kind(answer))
            if len(ids) != 1:
                where = f"the special token {text}"
                raise Slm2Error("model_mismatch", model=self._name, what=where, expected="one id", found=f"{len(ids)} ids")
            found[text] = ids[0]
        return found

    def _context(self) -> int | None:
        """How many ids the model holds, which vLLM says in its list of models."""
        for model in _models(self._client):
            if model.get("id") == self._name:
                length = model.get("max_model_len")
                return length if type(length) is int else None
        return None

    def _wrong(self, expected: str, found: str) -> Slm2Error:
        return Slm2Error("server_reply", server=self._shown, expected=expected, found=found)


def _client_of(url: str, api_key: str, timeout: float) -> openai.OpenAI:
    """A client that sends this key, and nothing that the environment says of whom it works for."""
    made = library("openai", "openai", "openai").OpenAI
    if not (api_key.isascii() and api_key.isprintable()):  # the library for HTTP would refuse it with its text in the error
        raise Slm2Error("invalid_value", field="api_key", expected="printable characters of ASCII", found="others")
    try:
        # The header is named, or the one of OPENAI_CUSTOM_HEADERS would go before the key.
        header = {"Authorization": f"Bearer {api_key}"}
        client: openai.OpenAI = made(base_url=url, api_key=api_key, timeout=timeout, max_retries=0, default_headers=header)
    except Exception as error:  # of the library for HTTP, which is another one from release to release
        raise Slm2Error("invalid_value", field="url", expected=f"an address, up to and with /v1 ({error})", found=shown(url)) from error
    client.organization = client.project = None
    return client


def _shown_url(client: openai.OpenAI) -> str:
    """The address for errors and reports: without a name and password, where it has them."""
    url = client.base_url
    return str(url.copy_with(userinfo=b"") if url.userinfo else url).rstrip("/")


def _logprob_ids(logprobs: object) -> list[int] | None:
    """Ids out of ``tokens`` of the form "token_id:N"; None where they are not there."""
    tokens = logprobs.get("tokens") if isinstance(logprobs, Mapping) else None
    if not isinstance(tokens, list):
        return None
    matches = [_TOKEN_ID.fullmatch(token) if isinstance(token, str) else None for token in tokens]
    return [int(match[1]) for match in matches if match] if all(matches) else None


def _models(client: openai.OpenAI) -> list[Mapping[str, object]]:
    """What the server lists; nothing where its list is of another form."""
    module = library("openai", "openai", "openai")
    with _errors(module, client):
        answer = client.get("/models", cast_to=object, options=_OPTIONS)
    listed = answer.get("data") if isinstance(answer, Mapping) else None
    return [model for model in listed if isinstance(model, Mapping)] if isinstance(listed, list) else []


def _only_model(client: openai.OpenAI) -> str:
    names = [str(model.get("id")) for model in _models(client)]
    if len(names) != 1:
        expected = f"one of the server's models ({', '.join(names) or 'it lists none'})"
        raise Slm2Error("invalid_value", field="model", expected=expected, found="none")
    return names[0]


@contextmanager
def _errors(module: object, client: openai.OpenAI) -> Iterator[None]:
    """The client's errors as this package's; each has the client's as its cause."""
    server = _shown_url(client)
    try:
        yield
    except module.APITimeoutError as error:  # type: ignore[attr-defined]
        seconds = getattr(client.timeout, "read", client.timeout)
        raise Slm2Error("server_timeout", server=server, seconds=seconds) from error
    except module.APIConnectionError as error:  # type: ignore[attr-defined]
        raise Slm2Error("server_unreachable", server=server, reason=repr(error.__cause__ or error)[:_LONGEST_REASON]) from error
    except module.APIStatusError as error:  # type: ignore[attr-defined]
        raise Slm2Error("server_refused", server=server, status=error.status_code, reason=_refused(error)[:_LONGEST_REASON]) from error
    except module.APIError as error:  # type: ignore[attr-defined]
        # An error in the middle of a stream, after the status 200 that it began with.
        code = error.code  # as the server wrote it
        status = code if isinstance(code, int | str) and code and len(str(code)) <= _LONGEST_STATUS else 200
        raise Slm2Error("server_refused", server=server, status=status, reason=error.message[:_LONGEST_REASON]) from error
    except (ValueError, RecursionError) as error:  # JSON that is nested too deep is none that the client can read
        raise Slm2Error("server_reply", server=server, expected="JSON", found=str(error)[:_LONGEST_REASON]) from error


def _refused(error: openai.APIStatusError) -> str:
    """Why a server gave a status that is an error; a redirect has its reason in a header."""
    if error.status_code not in _REDIRECTS:
        return str(error.message)
    to = shown(error.response.headers.get("location"))
    return f"it redirects, and nothing is sent to another address than the one that was given; that would be {to}"


def _kind(value: object) -> str:
    """What of a wrong answer may be said: its keys and types, not its text."""
    return f"an object with {', '.join(map(str, value))[:_LONGEST_REASON]}" if isinstance(value, Mapping) else type(value).__name__


def open_model(place: str) -> OpenAIServer:
    """The server of ``--model openai:PLACE``: its address up to ``/v1``, and after ``#`` the model where it has several.

    A key that the server asks for is taken from the environment variable ``SLM2_SERVER_KEY``.

    Raises:
        Slm2Error: as :meth:`OpenAIServer.open`.
    """
    url, _, model = place.partition("#")
    return OpenAIServer.open(url, model=model or None, api_key=os.environ.get("SLM2_SERVER_KEY"))
