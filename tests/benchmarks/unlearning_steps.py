"""Unlearning steps against a plain form with a second model and full-sequence logits.

python tests/benchmarks/unlearning_steps.py [--model models/sft] [--experiment data/experiment]

The plain form keeps a frozen copy of the model and runs it at every step, and takes logits over
whole padded sequences. Both forms train on the same instances; forward and backward of both
modalities are timed, in turns, and the losses of the first step must agree. What the fast form
computes once is timed too, and counted in the whole. Times are CPU seconds of one thread.
"""

import argparse
import copy
import time
from pathlib import Path

import torch
from torch.nn.functional import logsigmoid

from parallax.files import read_json, read_table
from parallax.instances import from_table
from parallax.models.batches import collate
from parallax.models.encoding import Encoder
from parallax.models.loading import load
from parallax.params import load_params
from parallax.training.engine import Engine
from parallax.training.knowledge import encode_knowledge
from parallax.unlearn.objective import plan_steps, unlearning_objective

TARGET = 1.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=Path("models/sft"))
    parser.add_argument("--experiment", type=Path, default=Path("data/experiment"))
    parser.add_argument("--steps", type=int, help="steps to time (default: the whole unlearning)")
    args = parser.parse_args()
    torch.set_num_threads(1)
    loaded = load(args.model)
    portraits = read_table(args.experiment / "portraits.parquet")
    encoder = Encoder(loaded.processor, loaded.family, portraits)
    facts = read_table(args.experiment / "sft.parquet")
    splits = read_json(args.experiment / "splits.json")
    forget, retain = (
        encode_knowledge(encoder, from_table(facts[facts["person_id"].isin(splits[part])]))
        for part in ("forget", "retain")
    )
    loaded.model.requires_grad_(True)
    for method in ("npo", "kl"):
        params = load_params().unlearn.model_copy(update={"method": method})
        steps = plan_steps(
            len(forget.image), len(retain.image), params.batch_size, params.descent.epochs, 0
        )
        count = min(args.steps or len(steps.forget), len(steps.forget))
        start = time.process_time()
        ours = unlearning_objective(Engine(loaded.model), params, forget, retain, steps, encoder)
        once = time.process_time() - start
        plain = plain_objective(loaded.model, params, forget, retain, steps, encoder)
        fast = slow = 0.0
        for step in range(count):
            loaded.model.train()
            own, seconds = timed_step(loaded.model, ours, step)
            fast += seconds
            other, seconds = timed_step(loaded.model, plain, step)
            slow += seconds
            if abs(own - other) > 1e-4 * max(1, abs(other)):
                raise SystemExit(f"{method}, step {step}: losses {own} and {other} differ")
        share = count / len(steps.forget)
        print(
            f"{method}: {1000 * fast / count:.0f} ms against {1000 * slow / count:.0f} ms a step:"
            f" ratio {slow / fast:.2f}; with the {once:.2f} s made once"
            f" {slow / (fast + once * share):.2f} (target {TARGET:g})"
        )


def timed_step(model, objective, step):
    """Return one step's loss and the seconds of its forward and backward passes."""
    start = time.process_time()
    loss = 0.0
    for term in objective(step):
        value, weight = term[-2:]
        (weight * value).backward()
        loss += weight * value.item()
    model.zero_grad(set_to_none=True)
    return loss, time.process_time() - start


def plain_objective(model, params, forget, retain, steps, encoder):
    """Yield pairs of a loss and its weight; the reference model runs at every step."""
    reference = copy.deepcopy(model).eval().requires_grad_(False)
    descent = params.descent

    def sequences(side, rows):
        batch = collate([side[i] for i in rows], encoder, device=model.device)
        inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
        if batch.pixel_values is not None:
            inputs["pixel_values"] = batch.pixel_values
        logs = torch.log_softmax(model(**inputs).logits[:, :-1].float(), -1)  # (B, T - 1, V)
        with torch.no_grad():
            known = torch.log_softmax(reference(**inputs).logits[:, :-1].float(), -1)
        mask = batch.answers[:, 1:]
        target = batch.input_ids[:, 1:, None]
        nll, nll_known = (-(x.gather(-1, target)[..., 0] * mask) for x in (logs, known))
        return logs, known, mask, nll, nll_known

    def objective(step):
        for modality, weight in (("image", params.alpha), ("text", params.beta)):
            _, _, mask, nll, nll_known = sequences(forget.side(modality), steps.forget[step])
            if params.method == "npo":
                gap = (nll - nll_known).sum(1)
                value = 2 / descent.npo_beta * -logsigmoid(descent.npo_beta * gap).mean()
            else:
                value = -(nll.sum(1) / mask.sum(1)).mean()
            yield value, weight
            logs, known, mask, nll, _ = sequences(retain.side(modality), steps.retain[step])
            if params.method == "npo":
                value = (nll.sum(1) / mask.sum(1)).mean()
            else:
                each = (known.exp() * (known - logs)).sum(-1) * mask
                value = (each.sum(1) / mask.sum(1)).mean()
            yield value, weight * descent.retain_weight

    return objective


if __name__ == "__main__":
    main()
