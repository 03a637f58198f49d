"""A client of OpenAI-compatible servers, such as vLLM: one completion a call, with retries.

The address and the key come from the environment. The key is read when a request is made and is
kept nowhere; no message repeats it.
"""

import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message
from typing import IO, Any, Literal

from parallax.errors import ModelError
from parallax.seeding import generator

URL_VARIABLE = "OPENAI_BASE_URL"
KEY_VARIABLE = "OPENAI_API_KEY"

Finish = Literal["eos", "length"]
FINISHES: dict[str, Finish] = {"stop": "eos", "length": "length"}

# What a server says when it is busy or being restarted.
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
LONGEST_PAUSE = 60.0  # seconds
SHOWN = 200  # characters of a server's own message that an error repeats


@dataclass(frozen=True)
class Completion:
    """A server's answer; `new_tokens` is its own count."""

    text: str
    new_tokens: int
    finish: Finish


@dataclass(frozen=True)
class Endpoint:
    """A model behind an OpenAI-compatible address such as http://localhost:8000/v1.

    `timeout` (seconds) holds for one attempt; between attempts the client waits `pause` seconds,
    twice as long each time, half of it at random, or as long as the server asks.
    """

    model: str
    url: str
    timeout: float = 300.0
    attempts: int = 6
    pause: float = 1.0

    def __post_init__(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        # A refused address is not repeated: it may carry a password.
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ModelError(f"{URL_VARIABLE}: want an address such as http://localhost:8000/v1")
        if parts.username is not None or parts.query or parts.fragment:
            raise ModelError(
                f"{URL_VARIABLE}: want no user, password or query in the address;"
                f" put a key into {KEY_VARIABLE}"
            )

    def complete(
        self,
        prompt: str | Sequence[dict[str, str]],
        *,
        temperature: float,
        top_p: float,
        max_new_tokens: int,
        seed: int,
    ) -> Completion:
        """Return one completion of a text (`/completions`) or a chat (`/chat/completions`).

        Raises:
            ModelError: the server refuses the request, cannot be reached after all attempts, or
                its answer is not one that the protocol allows.
        """
        raw = isinstance(prompt, str)
        answer = self._post(
            "completions" if raw else "chat/completions",
            {
                "model": self.model,
                "prompt" if raw else "messages": prompt if raw else list(prompt),
                "temperature": temperature,
                "top_p": top_p,
                "max_tokens": max_new_tokens,
                "seed": seed,
            },
        )
        try:
            choice = answer["choices"][0]
            text = choice["text"] if raw else choice["message"]["content"]
            finish, count = choice["finish_reason"], int(answer["usage"]["completion_tokens"])
        except (KeyError, IndexError, TypeError, ValueError):
            raise ModelError(
                f"{self.url}: the answer lacks choices, finish_reason or usage; want an"
                " OpenAI-compatible server"
            ) from None
        if finish not in FINISHES:
            raise ModelError(
                f"{self.url}: finish_reason {finish!r}: want {' or '.join(FINISHES)}; turn filters"
                " and tools off on the server, since their answers are not the model's"
            )
        return Completion(text or "", count, FINISHES[finish])

    def _post(self, path: str, body: dict[str, object]) -> Any:
        data = json.dumps(body).encode()
        waits = generator("back-off", body.get("seed"), data)
        for attempt in range(self.attempts):
            address = f"{self.url.rstrip('/')}/{path}"
            request = urllib.request.Request(address, data, _headers())
            asked = 0.0
            try:
                with _OPENER.open(request, timeout=self.timeout) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                trouble = (
                    f"answers {error.code} {_redact(str(error.reason))}{_server_message(error)}"
                )
                if error.code not in PASSING:
                    raise ModelError(f"{self.url}: {trouble}") from None
                asked = _asked_pause(error.headers)
            except (json.JSONDecodeError, UnicodeDecodeError):
                raise ModelError(f"{self.url}: answers with something else than JSON") from None
            except (OSError, http.client.HTTPException) as error:
                trouble = f"cannot be reached ({_redact(str(getattr(error, 'reason', error)))})"
            if attempt + 1 < self.attempts:
                wait = self.pause * 2**attempt * (0.5 + waits.random() / 2)
                time.sleep(min(max(wait, asked), LONGEST_PAUSE))
        raise ModelError(
            f"{self.url}: {trouble}, {self.attempts} times; run again later,"
            " what is finished is kept"
        )


def endpoint_from_environment(model: str) -> Endpoint:
    """Return the endpoint whose address the environment gives.

    Raises:
        ModelError: there is none, or it is not an address.
    """
    url = os.environ.get(URL_VARIABLE, "")
    if not url:
        raise ModelError(f"{URL_VARIABLE} is not set: export the server's address, with its /v1")
    return Endpoint(model, url)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuse redirects: urllib would send the key on to wherever they lead."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def _headers() -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if key := _key():
        headers["Authorization"] = f"Bearer {key}"
    return headers


def _key() -> str:
    key = os.environ.get(KEY_VARIABLE, "").strip()
    # http.client would repeat a refused header in its error.
    if not key.isascii() or not key.isprintable():
        raise ModelError(f"{KEY_VARIABLE}: has characters that a header cannot carry; set it anew")
    return key


def _redact(text: str) -> str:
    key = _key()
    line = " ".join(text.split())
    return (line.replace(key, "***") if key else line)[:SHOWN]


def _server_message(error: urllib.error.HTTPError) -> str:
    """Return what the server says about a refusal, on one line and without the key."""
    try:
        body = json.loads(error.read())
        detail = body.get("error", body.get("detail", body.get("message", "")))
        said = detail.get("message", "") if isinstance(detail, dict) else detail
    except (OSError, ValueError, AttributeError, http.client.HTTPException):
        return ""
    return f": {_redact(str(said))}" if said else ""


def _asked_pause(headers: Message) -> float:
    """Return the seconds of a Retry-After header; 0 without one, or where it is a date."""
    value = headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else 0.0
