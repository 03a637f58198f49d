"""Batched evaluation against one question after another, as the official evaluator asks.

python tests/benchmarks/evaluation.py [--model models/sft] [--experiment data/experiment]

Both sides answer all questions of the experiment with the same model in one process, and must agree
on every text. The plain side does for each question what the official loop does: the processor on
image and prompt, `generate` for one row, decode. Wall seconds are what a user waits for, with as
many threads as torch takes; processor seconds stand beside them, since other work on the machine
leaves them alone (with OMP_NUM_THREADS=1). The batched side is run several times, half of them
before the plain side and half after it; its time is the mean of these runs.
"""

import argparse
import io
import statistics
import time
from pathlib import Path

import torch
from PIL import Image

from parallax.files import read_table
from parallax.instances import from_table
from parallax.models.encoding import Encoder
from parallax.models.generating import generate
from parallax.models.loading import load
from parallax.params import load_params
from parallax.prompts import render_question

TARGET = 15.0
ROUNDS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=Path("models/sft"))
    parser.add_argument("--experiment", type=Path, default=Path("data/experiment"))
    args = parser.parse_args()
    loaded = load(args.model)
    evaluate = load_params().evaluate
    questions, people = all_questions(args.experiment)
    portraits = read_table(args.experiment / "portraits.parquet")
    portraits = portraits[portraits["person_id"].isin(set(people))]

    def batched(count):
        return answer_batched(loaded, questions[:count], people[:count], portraits, evaluate)

    def plain(count):
        return answer_plainly(loaded, questions[:count], people[:count], portraits, evaluate)

    batched(4)  # Whatever is made at the first call is no part of the comparison.
    plain(4)
    count = len(questions)
    before = [timed(lambda: batched(count)) for _ in range(ROUNDS)]
    theirs, *slow = timed(lambda: plain(count))
    runs = before + [timed(lambda: batched(count)) for _ in range(ROUNDS)]
    fast = [statistics.mean(run[place] for run in runs) for place in (1, 2)]
    differing = max(sum(a != b for a, b in zip(run[0], theirs, strict=True)) for run in runs)
    print(f"{count} questions, {torch.get_num_threads()} threads; {differing} texts differ")
    for unit, ours, other in zip(("wall", "processor"), fast, slow, strict=True):
        print(
            f"{unit:9} seconds: batched {ours:5.2f} (portraits included), one by one {other:5.2f};"
            f" ratio {other / ours:.1f} (target {TARGET:g})"
        )


def all_questions(experiment):
    """Return everybody's questions in both modalities, and whom each shows."""
    instances = from_table(read_table(experiment / "evaluation.parquet"))
    asked = [
        (render_question(question, i.task), person)
        for i in instances
        for question, person in ((i.image, i.person_id), (i.text, None))
    ]
    return [prompt for prompt, _ in asked], [person for _, person in asked]


def timed(action):
    """Return what an action gives, its wall seconds and its processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = action()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def answer_batched(loaded, questions, people, portraits, evaluate):
    encoder = Encoder(loaded.processor, loaded.family, portraits)
    shown = [None if person is None else encoder.rows[person] for person in people]
    prompts = encoder.encode_prompts(questions, shown)
    return generate(loaded.model, encoder, prompts, evaluate.batch_size, evaluate.max_new_tokens)


@torch.inference_mode()
def answer_plainly(loaded, questions, people, portraits, evaluate):
    files = dict(zip(portraits["person_id"], portraits["portrait"], strict=True))
    outputs = []
    for question, person in zip(questions, people, strict=True):
        if person is None:
            inputs = loaded.processor(text=f"USER: {question}\nASSISTANT:", return_tensors="pt")
        else:
            image = Image.open(io.BytesIO(files[person])).convert("RGB")
            text = f"USER: <image>\n{question}\nASSISTANT:"
            inputs = loaded.processor(images=image, text=text, return_tensors="pt")
        inputs = inputs.to(loaded.model.device)
        tokens = loaded.model.generate(
            **inputs, do_sample=False, max_new_tokens=evaluate.max_new_tokens
        )
        new = tokens[0, inputs["input_ids"].shape[1] :]
        outputs.append(loaded.processor.decode(new, skip_special_tokens=True).strip())
    return outputs


if __name__ == "__main__":
    main()
