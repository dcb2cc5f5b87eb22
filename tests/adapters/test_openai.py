"""A server that draws by itself, asked by token ids over real HTTP; what it does wrong is a typed error, and the next call is sound."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai
import pytest
import torch
from tokenizers import Tokenizer, models

import slm2
from adapters import checkpoints
from adapters.completions_server import NAME, CompletionsServer, running, wait_for
from publisher import publisher_tokenizer
from slm2.adapters.openai import OpenAIServer, open_model
from slm2.adapters.server_settings import request_settings
from slm2.logits_source import ModelFacts, Served, TokenServer, check_model
from slm2.sampling import STOP_IDS, SamplingConfig

IDS = [151_644, 872, 198, 13_048, 151_645, 198, 151_644, 77_091, 198]
CONFIG = SamplingConfig(
    profile="contract", temperature=0, top_k=0, top_p=1, min_p=0, repetition_penalty=1, rng="pcg32", seed=1, max_tokens=6, stop_ids=STOP_IDS
)
FACTS = ModelFacts(name=NAME, width=None)


@pytest.fixture(scope="module")
def server() -> Iterator[CompletionsServer]:
    with running(checkpoints.model(), publisher_tokenizer()) as made:
        yield made


@pytest.fixture(autouse=True)
def sound(server: CompletionsServer) -> Iterator[None]:
    server.fault, server.after, server.names, server.redirect = "", 0, [NAME], None
    server.requests.clear()
    server.closed.clear()
    server.released.clear()
    yield
    assert server.mistakes == []


@pytest.fixture(scope="module")
def greedy() -> list[int]:
    """What the model itself answers, without a server."""
    ids = list(IDS)
    with torch.no_grad():
        for _ in range(CONFIG.max_tokens):
            ids.append(int(checkpoints.model()(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[len(IDS) :]


def asked(server: CompletionsServer, **options: object) -> OpenAIServer:
    """Without the questions about the model."""
    client = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0, timeout=options.pop("timeout", 30))
    return OpenAIServer(client, NAME, facts=FACTS, **options)


def ids_of(answers: Iterator[Served]) -> tuple[list[int], list[str | None]]:
    served = list(answers)
    return [token for part in served for token in part.ids], [part.finish for part in served]


@pytest.mark.parametrize("where", ["token_ids", "logprobs"])
def test_the_ids_of_the_model_come_back(server: CompletionsServer, greedy: list[int], where: str) -> None:
    source = asked(server, ids=where)
    assert isinstance(source, TokenServer)
    assert ids_of(source.serve(prompt=IDS, config=CONFIG)) == (greedy, [None] * 5 + ["length"])
    (body,) = server.requests
    assert body["prompt"] == IDS
    assert body["model"] == NAME


def test_the_id_that_ends_a_reply_comes_too(server: CompletionsServer, greedy: list[int]) -> None:
    config = replace(CONFIG, stop_ids=(greedy[2],))
    served = list(asked(server).serve(prompt=IDS, config=config))
    assert served[-1] == Served([greedy[2]], "stop")
    assert [token for part in served for token in part.ids] == greedy[: greedy.index(greedy[2]) + 1]


def test_the_settings_reach_the_server(server: CompletionsServer) -> None:
    config = replace(
        CONFIG, temperature=0.7, top_k=20, top_p=0.8, min_p=0.01, repetition_penalty=1.1, presence_penalty=0.5, frequency_penalty=-0.5,
        logit_bias={42: 3.5}, seed=2**63 - 1, max_tokens=3,
    )  # fmt: skip
    list(asked(server).serve(prompt=IDS, config=config))
    sent = server.requests[0]
    wanted = {
        "temperature": 0.7, "top_k": 20, "top_p": 0.8, "min_p": 0.01, "repetition_penalty": 1.1, "presence_penalty": 0.5,
        "frequency_penalty": -0.5, "logit_bias": {"42": 3.5}, "seed": 2**63 - 1, "max_tokens": 3, "stop_token_ids": list(STOP_IDS),
        "ignore_eos": True, "add_special_tokens": False, "skip_special_tokens": False, "stream": True, "return_token_ids": True,
    }  # fmt: skip
    assert {name: sent[name] for name in wanted} == wanted
    assert request_settings(replace(CONFIG, top_k=0))["top_k"] == -1


def test_one_seed_gives_one_reply(server: CompletionsServer) -> None:
    replies = [ids_of(asked(server).serve(prompt=IDS, config=replace(CONFIG, temperature=1, seed=seed)))[0] for seed in (5, 5, 6)]
    assert replies[0] == replies[1]
    assert replies[0] != replies[2]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"banned_ids": (5,)}, "banned_ids"),
        ({"stream": 3}, "stream"),
        ({"stream": "name"}, "stream"),
        ({"seed": 2**63}, "seed"),
        ({"rng": "chacha8", "seed": "00" * 32}, "seed"),
        ({"temperature": 0.005}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"presence_penalty": 2.5}, "presence_penalty"),
        ({"frequency_penalty": -3}, "frequency_penalty"),
        ({"logit_bias": {7: 100.5}}, "logit_bias[7]"),
    ],
)
def test_a_setting_that_no_server_has_is_refused_before_a_request(server: CompletionsServer, change: dict[str, object], field: str) -> None:
    with pytest.raises(slm2.Slm2Error) as refused:
        asked(server).serve(prompt=IDS, config=replace(CONFIG, **change))
    assert (refused.value.code, refused.value.fields["field"]) == ("invalid_value", field)
    assert server.requests == []


@pytest.mark.parametrize("wrong", [1.0, 1.5, "1", None])
def test_a_prompt_of_something_else_than_ids_is_refused_before_a_request(server: CompletionsServer, wrong: object) -> None:
    with pytest.raises(slm2.Slm2Error) as refused:
        asked(server).serve(prompt=[*IDS, wrong], config=CONFIG)
    assert (refused.value.code, refused.value.fields["field"]) == ("invalid_type", f"prompt[{len(IDS)}]")
    assert server.requests == []


@pytest.mark.parametrize(
    ("fault", "code", "fields"),
    [
        ("status", "server_refused", {"status": 500}),
        ("context", "server_refused", {"status": 400}),
        ("error event", "server_refused", {"status": "500"}),
        ("cut", "server_unreachable", {}),
        ("slow", "server_timeout", {"seconds": 0.4}),
        ("truncated", "server_reply", {"expected": "a finish_reason at the end of the reply"}),
        ("garbage", "server_reply", {"expected": "JSON"}),
        ("number", "server_reply", {"found": "int"}),
        ("no ids", "server_reply", {"found": "a choice without them"}),
        ("text as ids", "server_reply", {"found": "a choice without them"}),
        ("other prompt", "server_reply", {"found": "others in prompt_token_ids"}),
        ("two choices", "server_reply", {"expected": "an event with one choice"}),
        ("other finish", "server_reply", {"found": "'abort'"}),
        ("finish in a list", "server_reply", {"found": "['stop']"}),
        ("huge id", "server_reply", {"found": "a choice without them"}),
        ("deep", "server_reply", {"expected": "JSON"}),
        ("long code", "server_refused", {"status": 200}),
    ],
)
@pytest.mark.parametrize("after", [0, 2])
def test_what_a_server_does_wrong_is_a_typed_error(
    server: CompletionsServer, greedy: list[int], fault: str, code: str, fields: dict[str, object], *, after: int
) -> None:
    source = asked(server, timeout=0.4 if fault == "slow" else 30)
    server.fault, server.after = fault, after
    received: list[int] = []
    answers = source.serve(prompt=IDS, config=CONFIG)
    with pytest.raises(slm2.Slm2Error) as wrong:
        received.extend(token for part in answers for token in part.ids)
    assert wrong.value.code == code
    assert wrong.value.fields.items() >= {"server": server.url, **fields}.items()
    assert received == ([] if fault in {"status", "context"} else greedy[:after])
    server.released.set()
    server.fault = ""
    assert ids_of(source.serve(prompt=IDS, config=CONFIG))[0] == greedy


class Elsewhere(BaseHTTPRequestHandler):
    """Answers whatever comes, and remembers that it came."""

    came: list[str]

    def do_GET(self) -> None:
        self.came.append(self.path)
        body = json.dumps({"data": [{"id": NAME}], "tokens": [151_643]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """The address of another server, and what was asked of it."""
    came: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Elsewhere", (Elsewhere,), {"came": came})) as other:
        thread = threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{other.server_address[1]}", came
        other.shutdown()
        thread.join()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_prompt_and_no_key_follows_a_redirect(server: CompletionsServer, elsewhere: tuple[str, list[str]], status: int) -> None:
    address, came = elsewhere
    source = asked(server)
    knowing = OpenAIServer.open(server.url)
    for place in (address, server.url.removesuffix("/v1")):  # to itself too: it would go round and round
        server.redirect = (status, place)
        asking = [
            ("/v1/completions", lambda: list(source.serve(prompt=IDS, config=CONFIG))),
            ("/v1/completions", lambda: list(knowing.serve(prompt=IDS, config=CONFIG))),
            ("/v1/models", lambda: OpenAIServer.open(server.url, api_key="key")),
            ("/tokenize", lambda: OpenAIServer.open(server.url, model=NAME, api_key="key")),
        ]
        for path, ask in asking:
            with pytest.raises(slm2.Slm2Error) as refused:
                ask()
            assert (refused.value.code, refused.value.fields["status"]) == ("server_refused", status)
            assert refused.value.fields["reason"].endswith(f"that would be {place}{path}")
    assert came == []


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(slm2.Slm2Error) as wrong:
        OpenAIServer.open(url)
    assert (wrong.value.code, wrong.value.fields["server"]) == ("server_unreachable", url)


def test_the_environment_is_asked_for_nothing(server: CompletionsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of the environment")
    monkeypatch.setenv("OPENAI_ORG_ID", "of the environment")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "of the environment")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: of the environment")
    OpenAIServer.open(server.url, api_key="mine")
    sent = {name.lower(): value for name, value in server.headers[-1].items()}
    assert sent["authorization"] == "Bearer mine"
    assert "of the environment" not in sent.values()


def test_a_name_and_a_password_are_in_no_report_and_no_error(server: CompletionsServer) -> None:
    url = server.url.replace("//", "//user:password@")
    source = OpenAIServer.open(url)
    assert source.model.name == f"{NAME} at {server.url}"
    server.fault = "status"
    with pytest.raises(slm2.Slm2Error) as refused:
        list(source.serve(prompt=IDS, config=CONFIG))
    assert refused.value.fields["server"] == server.url


@pytest.mark.parametrize("key", ["secret\r", "secret\n", "sécret"])
def test_a_key_that_cannot_be_sent_is_not_told(key: str) -> None:
    with pytest.raises(slm2.Slm2Error) as refused:
        OpenAIServer.open("http://127.0.0.1:1/v1", api_key=key)
    assert (refused.value.code, refused.value.fields["field"]) == ("invalid_value", "api_key")
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:port/v1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(slm2.Slm2Error) as refused:
        OpenAIServer.open(url)
    assert (refused.value.code, refused.value.fields["field"]) == ("invalid_value", "url")


def test_closing_the_iterator_ends_the_request(server: CompletionsServer) -> None:
    answers = asked(server).serve(prompt=IDS, config=replace(CONFIG, max_tokens=400))
    next(answers)
    answers.close()
    assert wait_for(server.closed)


def test_what_the_server_says_of_its_model(server: CompletionsServer) -> None:
    source = open_model(server.url)
    special = {"<|endoftext|>": 151_643, "<|im_start|>": 151_644, "<|im_end|>": 151_645}
    assert source.model == ModelFacts(name=f"{NAME} at {server.url}", width=None, special_ids=special, context=40_960)
    check_model(slm2.load(), source.model)
    server.names = ["other", NAME]
    assert open_model(f"{server.url}#{NAME}").model.name == source.model.name
    with pytest.raises(slm2.Slm2Error) as several:
        open_model(server.url)
    assert several.value.fields["expected"] == f"one of the server's models (other, {NAME})"


def test_a_server_that_cannot_be_asked_says_nothing(server: CompletionsServer) -> None:
    server.fault = "no tokenize"
    assert OpenAIServer.open(server.url).model.special_ids == {}


def test_a_server_with_another_tokenizer_is_refused(server: CompletionsServer) -> None:
    server.tokenizer = Tokenizer(models.BPE({letter: at for at, letter in enumerate("<|>_abcdefghijklmnopqrstuvwxyz")}, []))
    try:
        with pytest.raises(slm2.Slm2Error) as other:
            OpenAIServer.open(server.url)
    finally:
        server.tokenizer = publisher_tokenizer()
    assert (other.value.code, other.value.fields["what"], other.value.fields["found"]) == (
        "model_mismatch", "the special token <|endoftext|>", "13 ids",
    )  # fmt: skip


def test_where_ids_stand_is_said_by_a_word_of_two(server: CompletionsServer) -> None:
    with pytest.raises(slm2.Slm2Error) as wrong:
        asked(server, ids="text")
    assert wrong.value.fields["expected"] == "token_ids or logprobs"
