"""From prompts to a table of responses: planned cells, a store of finished draws, and a subject.

A cell is one draw of one prompt. Finished draws go to a store that outlives the run, under a key of
everything that they depend on; a killed run goes on where it stopped, and after a change of one
clause only the cells that hold it are drawn again.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tqdm import tqdm

from parallax.framing.choosing import Decoding
from parallax.framing.endpoint import Endpoint
from parallax.framing.prompts import ARMS, Prompt
from parallax.framing.sampling import Finish, Request, sample
from parallax.framing.subjects import Subject
from parallax.params import Rendering
from parallax.processes import ALONE, Processes
from parallax.seeding import derive_seed

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "subject",
    "item",
    "paraphrase",
    "arm",
    "wording",
    "draw",
    "seed",
    "prompt",
    "response",
    "new_tokens",
    "finish",
)


@dataclass(frozen=True)
class Cell:
    """One draw of one prompt."""

    prompt: Prompt
    draw: int
    seed: int


@dataclass(frozen=True)
class Response:
    """What a subject said; `new_tokens` leaves out the end token, where the subject counts so."""

    text: str
    new_tokens: int
    finish: Finish


@dataclass(frozen=True)
class Order:
    """A cell that a subject is asked to answer, with its rendered prompt."""

    cell: Cell
    rendered: str


class Responder(Protocol):
    """A subject that answers."""

    @property
    def name(self) -> str:
        """The subject's name in tables."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """What a response depends on beside its prompt and seed."""
        ...

    def render(self, prompt: Prompt) -> str:
        """Return the text that the subject is given."""
        ...

    def answer(self, orders: Sequence[Order]) -> Iterator[tuple[int, Response]]:
        """Yield each order's index and response once, as soon as it is complete."""
        ...


@dataclass(frozen=True)
class LocalResponder:
    """A model in this process."""

    subject: Subject
    decoding: Decoding
    batch_size: int

    @property
    def name(self) -> str:
        """The subject's name in tables."""
        return self.subject.name

    @property
    def identity(self) -> Mapping[str, str]:
        """Weights, template, backend and decoding."""
        return {**self.subject.identity, **_decoding_identity(self.decoding)}

    def render(self, prompt: Prompt) -> str:
        """Return the text that the model reads."""
        return self.subject.render(prompt)

    def answer(self, orders: Sequence[Order]) -> Iterator[tuple[int, Response]]:
        """Yield responses in the order in which they are complete."""
        tokens = {order.rendered: self.subject.encode(order.rendered) for order in orders}
        requests = [Request(tokens[order.rendered], order.cell.seed) for order in orders]
        ends = self.subject.ends
        for index, draw in sample(
            self.subject.model, requests, self.decoding, ends, self.batch_size
        ):
            yield (
                index,
                Response(self.subject.decode(draw.tokens), len(draw.tokens), draw.finish),
            )


@dataclass(frozen=True)
class EndpointResponder:
    """A model behind an OpenAI-compatible address.

    A server does not tell its weights, so `revision` names them, and what else makes its answers
    its own; another one makes all draws new. A server may also add sampling settings of its own:
    vLLM is to be started with `--generation-config vllm`, which adds none.
    """

    name: str
    endpoint: Endpoint
    revision: str
    rendering: Rendering
    decoding: Decoding
    workers: int

    @property
    def identity(self) -> Mapping[str, str]:
        """Model, declared revision, rendering and decoding; the address may change."""
        return {
            "weights": f"{self.endpoint.model}@{self.revision}",
            "template": "of the server" if self.rendering == "chat" else "",
            "rendering": self.rendering,
            "backend": "openai-compatible",
            **_decoding_identity(self.decoding),
        }

    def render(self, prompt: Prompt) -> str:
        """Return the message's text: the server applies its own template."""
        return prompt.text

    def answer(self, orders: Sequence[Order]) -> Iterator[tuple[int, Response]]:
        """Yield responses as they arrive; after a failure those under way, then raise it."""
        failure: BaseException | None = None
        pool = ThreadPoolExecutor(self.workers)
        try:
            futures = {pool.submit(self._ask, order): n for n, order in enumerate(orders)}
            for future in as_completed(futures):
                if future.cancelled():
                    continue
                if (error := future.exception()) is None:
                    yield futures[future], future.result()
                elif failure is None:
                    failure = error
                    for other in futures:
                        other.cancel()
        finally:
            pool.shutdown(cancel_futures=True)
        if failure is not None:
            raise failure

    def _ask(self, order: Order) -> Response:
        prompt = order.cell.prompt
        answer = self.endpoint.complete(
            list(prompt.messages) if self.rendering == "chat" else order.rendered,
            temperature=self.decoding.temperature,
            top_p=self.decoding.top_p,
            max_new_tokens=self.decoding.max_new_tokens,
            seed=order.cell.seed,
        )
        return Response(answer.text, answer.new_tokens, answer.finish)


def _decoding_identity(decoding: Decoding) -> dict[str, str]:
    return {name: repr(value) for name, value in asdict(decoding).items()}


def plan_cells(prompts: Iterable[Prompt], draws: int, seed: int) -> tuple[Cell, ...]:
    """Give each prompt its draws 0 to `draws` - 1.

    A cell's seed is a function of (`seed`, item, paraphrase, draw): the same in all frames.
    """
    return tuple(
        Cell(prompt, draw, cell_seed(seed, prompt.item, prompt.paraphrase, draw))
        for prompt in prompts
        for draw in range(draws)
    )


def cell_seed(seed: int, item: str, paraphrase: int, draw: int) -> int:
    """Return the seed of a draw, 32 bits: the most that every server takes."""
    return derive_seed("response", seed, item, paraphrase, draw) >> 31


def cell_key(identity: Mapping[str, str], rendered: str, cell: Cell) -> str:
    """Return the sha256 of all that a draw depends on, and of its number, in hex."""
    parts = {**identity, "prompt": rendered, "seed": cell.seed, "draw": cell.draw}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class DrawStore:
    """Finished draws by key, in a file to which complete lines are added and nothing else.

    A line that a killed process left torn is ignored; its draw is made again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draws: dict[str, Response] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._torn = False
        if path.exists():
            text = path.read_bytes()
            self._torn = bool(text) and not text.endswith(b"\n")
            for line in text.splitlines():
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            values = json.loads(line)
            key = values.pop("key")
            self._draws[key] = Response(**values)
        except (ValueError, TypeError, KeyError, AttributeError):
            return

    def __contains__(self, key: str) -> bool:
        return key in self._draws

    def __getitem__(self, key: str) -> Response:
        return self._draws[key]

    def add(self, key: str, response: Response) -> None:
        """Keep a draw; it is on the disk when this returns."""
        line = json.dumps({"key": key, **asdict(response)}, ensure_ascii=True) + "\n"
        # One write to a file opened for appending: a second process cannot come in between.
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, (("\n" if self._torn else "") + line).encode())
            os.fsync(file)
        finally:
            os.close(file)
        self._torn = False
        self._draws[key] = response


def interleave(orders: Sequence[Order]) -> list[int]:
    """Return an order of work: frames side by side, prompts of similar length together.

    All arms of an (item, paraphrase) follow each other draw by draw, so that no drift can align
    with a frame; the groups come by their longest prompt, longest first.
    """
    longest: dict[tuple[str, int], int] = {}
    for order in orders:
        group = _group(order)
        longest[group] = max(longest.get(group, 0), len(order.rendered))

    def place(index: int) -> tuple[int, str, int, int, str, int]:
        prompt, draw = orders[index].cell.prompt, orders[index].cell.draw
        length = longest[prompt.item, prompt.paraphrase]
        return -length, prompt.item, prompt.paraphrase, draw, prompt.wording, ARMS.index(prompt.arm)

    return sorted(range(len(orders)), key=place)


@dataclass
class Pace:
    """How fast draws were made: new tokens, and the seconds that they took."""

    tokens: int = 0
    seconds: float = 0.0


def respond(
    responder: Responder,
    cells: Sequence[Cell],
    store: DrawStore,
    pace: Pace | None = None,
    processes: Processes = ALONE,
) -> "pd.DataFrame":
    """Draw what the store lacks, and return one row per cell, in the order given (`COLUMNS`).

    `pace` is told what was drawn, and how long that took. A process draws for a part of the
    (item, paraphrase) groups, keeps what it drew in the store, and returns the rows of all.
    """
    pace = Pace() if pace is None else pace
    rendered = {cell.prompt: responder.render(cell.prompt) for cell in cells}
    identity = responder.identity
    keys = [cell_key(identity, rendered[cell.prompt], cell) for cell in cells]
    # Nobody draws, and so adds to the store, before all have read it.
    missing = processes.gather([n for n, key in enumerate(keys) if key not in store])[0]
    orders = [Order(cells[n], rendered[cells[n].prompt]) for n in missing]
    groups = [list(group) for _, group in groupby(interleave(orders), lambda n: _group(orders[n]))]
    started = time.monotonic()

    def draw(own: Sequence[list[int]]) -> list[list[Response]]:
        work = [n for group in own for n in group]
        drawn: dict[int, Response] = {}
        known = len(cells) - len(missing)
        with tqdm(
            total=known + len(work),
            initial=known,
            desc=f"respond {responder.name}",
            unit="draw",
        ) as bar:
            for done, response in responder.answer([orders[n] for n in work]):
                drawn[work[done]] = response
                store.add(keys[missing[work[done]]], response)
                pace.tokens += response.new_tokens
                pace.seconds = time.monotonic() - started
                bar.set_postfix_str(f"{pace.tokens / pace.seconds:.0f} tokens/s", refresh=False)
                bar.update()
        return [[drawn[n] for n in group] for group in own]

    found = processes.spread_batches(groups, draw)
    pace.tokens = round(processes.sum([pace.tokens])[0])
    made = {keys[n]: response for n, response in zip(missing, found, strict=True)}
    responses = [made[key] if key in made else store[key] for key in keys]
    return _to_table(responder.name, cells, rendered, responses)


def _group(order: Order) -> tuple[str, int]:
    return order.cell.prompt.item, order.cell.prompt.paraphrase


def _to_table(
    subject: str,
    cells: Sequence[Cell],
    rendered: Mapping[Prompt, str],
    responses: Sequence[Response],
) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(
        {
            "subject": [subject] * len(cells),
            "item": [cell.prompt.item for cell in cells],
            "paraphrase": [cell.prompt.paraphrase for cell in cells],
            "arm": [cell.prompt.arm for cell in cells],
            "wording": [cell.prompt.wording for cell in cells],
            "draw": [cell.draw for cell in cells],
            "seed": [cell.seed for cell in cells],
            "prompt": [rendered[cell.prompt] for cell in cells],
            "response": [response.text for response in responses],
            "new_tokens": [response.new_tokens for response in responses],
            "finish": [response.finish for response in responses],
        },
        columns=list(COLUMNS),
    )
