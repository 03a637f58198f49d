"""Against `transformers serve` with a tiny model, and against a server that misbehaves on order."""

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from parallax.errors import ModelError
from parallax.framing.choosing import Decoding
from parallax.framing.endpoint import Endpoint, endpoint_from_environment
from parallax.framing.items import Item
from parallax.framing.prompts import ARMS, plan_prompts
from parallax.framing.respond import (
    DrawStore,
    EndpointResponder,
    plan_cells,
    respond,
)

KEY = "sk-very-secret-123"
SETTINGS = {"temperature": 0.7, "top_p": 0.95, "max_new_tokens": 8}
CHAT = [{"role": "user", "content": "Write a polite letter."}]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def served(tiny_folder, tmp_path_factory):
    """The address of a real server that generates with the tiny model."""
    port = free_port()
    log = tmp_path_factory.mktemp("serve") / "log"
    command = "from transformers.cli.transformers import main; main()"
    with log.open("wb") as file:
        server = subprocess.Popen(
            [sys.executable, "-c", command, "serve", "--host", "127.0.0.1", "--port", str(port)],
            stdout=file,
            stderr=file,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        deadline = time.monotonic() + 180
        while True:
            try:
                opener.open(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(20)


@pytest.fixture
def endpoint(served, tiny_folder):
    return Endpoint(str(tiny_folder), served)


@pytest.mark.parametrize("prompt", [CHAT, "Write a polite letter."], ids=["chat", "raw"])
def test_real_server_draws_by_seed(endpoint, prompt):
    first, again, other = (
        endpoint.complete(prompt, seed=seed, **SETTINGS) for seed in (2**32 - 1, 2**32 - 1, 2)
    )
    assert first == again
    assert first.text != other.text
    assert first.finish in ("eos", "length")
    assert 0 < first.new_tokens <= 8


ITEM = Item("x", "f", "t", "benign", "comply", "Write a letter.", "Draft a letter.")


@pytest.mark.parametrize("rendering", ["chat", "raw"])
def test_real_server_fills_a_table(endpoint, tmp_path, rendering, monkeypatch, spec):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    responder = EndpointResponder(
        "served", endpoint, "1", rendering, Decoding(max_new_tokens=4), workers=3
    )
    cells = plan_cells(plan_prompts([ITEM], [spec], ARMS), 2, 0)
    store = DrawStore(tmp_path / "draws.jsonl")
    table = respond(responder, cells, store)
    # 2 versions x 5 arms x 2 draws
    assert len(table) == 20
    assert table["response"].str.len().gt(0).any()
    assert table["new_tokens"].between(0, 4).all()
    assert respond(responder, cells, DrawStore(tmp_path / "draws.jsonl")).equals(table)
    assert KEY not in (tmp_path / "draws.jsonl").read_text() + table.to_csv()


def test_real_server_says_what_it_refuses(endpoint):
    with pytest.raises(ModelError, match=r"answers 4\d\d"):
        Endpoint(endpoint.model, endpoint.url + "/nowhere").complete(CHAT, seed=0, **SETTINGS)


GOOD = {
    "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
    "usage": {"completion_tokens": 1},
}


@pytest.fixture
def faulty():
    """A server that gives the planned answers (status, headers, body) and notes its requests."""
    plan, seen = [], []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, self.headers.get("Authorization"), json.loads(body)))
            status, headers, answer = plan.pop(0)
            if status is None:
                return  # hangs up without a word
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield Endpoint("m", address, timeout=5, attempts=4, pause=0.01), plan, seen
    server.shutdown()
    server.server_close()


def ask(endpoint):
    return endpoint.complete(CHAT, seed=5, **SETTINGS)


def refuse(endpoint):
    with pytest.raises(ModelError) as caught:
        ask(endpoint)
    assert "\n" not in str(caught.value)
    # Nor may a traceback show the request, whose headers hold the key.
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return str(caught.value)


def test_request_has_the_decoding_and_the_key(faulty, monkeypatch):
    endpoint, plan, seen = faulty
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    plan.append((200, {}, GOOD))
    answer = ask(endpoint)
    assert (answer.text, answer.new_tokens, answer.finish) == ("hi", 1, "eos")
    path, authorization, body = seen[0]
    assert (path, authorization) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert body == {
        "model": "m",
        "messages": CHAT,
        "temperature": 0.7,
        "top_p": 0.95,
        "max_tokens": 8,
        "seed": 5,
    }
    assert KEY not in repr(endpoint)


def test_passing_trouble_is_tried_again(faulty):
    endpoint, plan, seen = faulty
    plan += [(503, {}, {}), (None, {}, {}), (429, {"Retry-After": "0"}, {}), (200, {}, GOOD)]
    assert ask(endpoint).text == "hi"
    assert [authorization for _, authorization, _ in seen] == [None] * 4


def test_retry_after_is_kept(faulty):
    endpoint, plan, _ = faulty
    plan += [(429, {"Retry-After": "1"}, {}), (200, {}, GOOD)]
    started = time.monotonic()
    ask(endpoint)
    assert time.monotonic() - started >= 1


def test_lasting_trouble_ends_after_all_attempts(faulty):
    endpoint, plan, seen = faulty
    plan += [(503, {}, {"error": {"message": "no\nroom"}})] * 4
    assert "answers 503 Service Unavailable: no room, 4 times" in refuse(endpoint)
    assert len(seen) == 4


def test_refusal_is_not_repeated_and_does_not_tell_the_key(faulty, monkeypatch):
    endpoint, plan, seen = faulty
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    plan.append((401, {}, {"error": {"message": f"wrong key {KEY}"}}))
    message = refuse(endpoint)
    assert "answers 401 Unauthorized: wrong key ***" in message
    assert KEY not in message
    assert len(seen) == 1


def test_redirect_is_not_followed(faulty, monkeypatch):
    endpoint, plan, seen = faulty
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    plan += [(307, {"Location": endpoint.url + "/elsewhere"}, {}), (200, {}, GOOD)]
    assert "answers 307" in refuse(endpoint)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"<html>", "JSON"),
        ({}, "OpenAI-compatible"),
        ({"choices": [], "usage": {"completion_tokens": 1}}, "OpenAI-compatible"),
        ({**GOOD, "choices": [{"message": {}, "finish_reason": "stop"}]}, "OpenAI-compatible"),
        (
            {**GOOD, "choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]},
            "'content_filter'",
        ),
    ],
)
def test_answers_that_are_none(faulty, answer, message):
    endpoint, plan, _ = faulty
    plan.append((200, {}, answer))
    assert message in refuse(endpoint)


def test_nobody_there():
    endpoint = Endpoint("m", f"http://127.0.0.1:{free_port()}/v1", attempts=2, pause=0.01)
    assert "cannot be reached (" in refuse(endpoint)


def test_key_that_no_header_carries(monkeypatch, faulty):
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\nX: 1")
    message = refuse(faulty[0])
    assert "OPENAI_API_KEY" in message and KEY not in message


@pytest.mark.parametrize(
    "url", ["http://user:hunter2@host/v1", "ftp://host", "localhost:8000", "http://h/v1?k=hunter2"]
)
def test_address_that_is_refused_is_not_repeated(monkeypatch, url):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(ModelError, match="OPENAI_BASE_URL") as caught:
        endpoint_from_environment("m")
    assert "hunter2" not in str(caught.value)


def test_address_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://host:8000/v1")
    assert endpoint_from_environment("m") == Endpoint("m", "http://host:8000/v1")
    monkeypatch.delenv("OPENAI_BASE_URL")
    with pytest.raises(ModelError, match="OPENAI_BASE_URL is not set"):
        endpoint_from_environment("m")


def test_first_failure_ends_the_others(faulty, tmp_path, spec):
    endpoint, plan, seen = faulty
    plan += [(200, {}, GOOD)] * 3 + [(400, {}, {})] * 40
    responder = EndpointResponder("s", endpoint, "1", "chat", Decoding(), workers=1)
    cells = plan_cells(plan_prompts([ITEM], [spec]), 7, 0)
    path = tmp_path / "draws.jsonl"
    with pytest.raises(ModelError, match="answers 400"):
        respond(responder, cells, DrawStore(path))
    assert 4 <= len(seen) < 42
    # What arrived before is kept.
    assert len(path.read_text().splitlines()) == 3
