"""Put questions to a model and collect its answers in one table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tqdm import tqdm

from parallax.models.encoding import Encoder
from parallax.models.generating import generate, score_answers
from parallax.processes import ALONE, Processes
from parallax.prompts import render_question
from parallax.records import Instance

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedModel


def answer_questions(
    model: "PreTrainedModel",
    encoder: Encoder,
    instances: Sequence[Instance],
    batch_size: int,
    max_new_tokens: int,
    processes: Processes = ALONE,
) -> "pd.DataFrame":
    """Return one row per instance and modality, with the greedy answer.

    A model that takes text alone is asked by name alone.

    `option_logprobs` holds each option's log-probability as an answer (nats, the sum over its
    tokens and the end token), `option_tokens` their number; both are empty unless the task is
    classification. Each process answers a part of the questions, and returns the whole table.
    """
    import pandas as pd
    import pyarrow as pa

    rows = [
        (i, modality, i.image if modality == "image" else i.text)
        for i in instances
        for modality in encoder.modalities
    ]
    prompts = [render_question(question, i.task) for i, _, question in rows]
    shown = [encoder.rows[i.person_id] if m == "image" else None for i, m, _ in rows]
    places = [(row, option) for row, (_, _, q) in enumerate(rows) for option in q.options]
    options = encoder.encode(
        [prompts[row] for row, _ in places],
        [option for _, option in places],
        [shown[row] for row, _ in places],
    )
    total = -(-(len(rows) + len(options)) // processes.count)
    with tqdm(total=total, desc="evaluate", unit="answer") as bar:
        asked = encoder.encode_prompts(prompts, shown)
        outputs = generate(model, encoder, asked, batch_size, max_new_tokens, bar.update, processes)
        scores = score_answers(model, encoder, options, batch_size, bar.update, processes)
    logprobs: list[list[float]] = [[] for _ in rows]
    tokens: list[list[int]] = [[] for _ in rows]
    for (row, _), (logprob, count) in zip(places, scores, strict=True):
        logprobs[row].append(logprob)
        tokens[row].append(count)
    table = pd.DataFrame(
        {
            "person_id": [i.person_id for i, _, _ in rows],
            "task": [i.task for i, _, _ in rows],
            "field": [i.field for i, _, _ in rows],
            "modality": [m for _, m, _ in rows],
            "prompt": [q.prompt for _, _, q in rows],
            "options": [list(q.options) for _, _, q in rows],
            "reference": [q.answer for _, _, q in rows],
            "output": outputs,
            "option_logprobs": logprobs,
            "option_tokens": tokens,
        }
    )
    return table.astype(
        {
            "options": pd.ArrowDtype(pa.list_(pa.string())),
            "option_logprobs": pd.ArrowDtype(pa.list_(pa.float64())),
            "option_tokens": pd.ArrowDtype(pa.list_(pa.int64())),
        }
    )
