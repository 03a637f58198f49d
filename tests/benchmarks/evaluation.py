"""Batched evaluation against one question after another, as the official evaluator asks.

python tests/benchmarks/evaluation.py [--model models/sft] [--experiment data/experiment]

Both sides answer the same questions with the same model in one process, and must agree on every
text. The plain side does for each question what the official loop does: the processor on image and
prompt, `generate` for one row, decode. Times are CPU seconds of one thread, which other work on the
machine leaves alone.
"""

import argparse
import io
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=Path("models/sft"))
    parser.add_argument("--experiment", type=Path, default=Path("data/experiment"))
    parser.add_argument("--questions", type=int, default=512)
    args = parser.parse_args()
    torch.set_num_threads(1)
    loaded = load(args.model)
    evaluate = load_params().evaluate
    questions, people = first_questions(args.experiment, args.questions)
    portraits = read_table(args.experiment / "portraits.parquet")
    portraits = portraits[portraits["person_id"].isin(set(people))]

    def batched(count):
        return answer_batched(loaded, questions[:count], people[:count], portraits, evaluate)

    def plain(count):
        return answer_plainly(loaded, questions[:count], people[:count], portraits, evaluate)

    batched(4)  # Whatever is made at the first call is no part of the comparison.
    plain(4)
    count = len(questions)
    ours, fast = timed(lambda: batched(count))
    theirs, slow = timed(lambda: plain(count))
    differing = sum(a != b for a, b in zip(ours, theirs, strict=True))
    print(f"batched: {count / fast:.1f} answers per CPU second ({fast:.2f} s, portraits included)")
    print(f"plain:   {count / slow:.1f} answers per CPU second ({slow:.2f} s)")
    print(f"ratio:   {slow / fast:.1f} (target {TARGET:g}); {differing} of {count} texts differ")


def first_questions(experiment, count):
    """Return the first people's questions in both modalities, and whom each shows."""
    instances = from_table(read_table(experiment / "evaluation.parquet"))
    asked = [
        (render_question(question, i.task), person)
        for i in instances[: count // 2]
        for question, person in ((i.image, i.person_id), (i.text, None))
    ]
    return [prompt for prompt, _ in asked], [person for _, person in asked]


def timed(action):
    start = time.process_time()
    result = action()
    return result, time.process_time() - start


def answer_batched(loaded, questions, people, portraits, evaluate):
    encoder = Encoder(loaded.processor)
    pixels, rows = encoder.portraits(portraits)
    shown = [None if person is None else rows[person] for person in people]
    prompts = encoder.encode_prompts(questions, shown)
    return generate(
        loaded.model, encoder, prompts, pixels, evaluate.batch_size, evaluate.max_new_tokens
    )


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
