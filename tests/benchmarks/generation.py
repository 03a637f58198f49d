"""Tokens per second of the sampler against plain batched `generate` on the same prompts.

    OMP_NUM_THREADS=1 PYTHONPATH=src python tests/benchmarks/generation.py models/smollm2

Processor seconds stand beside wall seconds: on a shared machine they are the steadier measure.
With `--flips`, counts the cells whose text differs between batch sizes 1, 8 and 64 instead.
"""

import argparse
import time
from pathlib import Path

import torch

from parallax.framing.choosing import Decoding
from parallax.framing.items import read_items
from parallax.framing.prompts import plan_prompts, read_frames
from parallax.framing.respond import Order, interleave, plan_cells
from parallax.framing.sampling import Request, sample
from parallax.framing.subjects import load_subject

RAW = Path("data/raw/framing")


def plain_generate(subject, requests, decoding, batch_size):
    """Left-padded batches sorted by length, as good as `generate` gets without our own loop."""
    new = 0
    order = sorted(range(len(requests)), key=lambda n: -len(requests[n].tokens))
    end = max(subject.ends)
    for start in range(0, len(order), batch_size):
        rows = [requests[n].tokens for n in order[start : start + batch_size]]
        width = max(map(len, rows))
        ids = torch.tensor([[end] * (width - len(row)) + list(row) for row in rows])
        seen = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
        out = subject.model.generate(
            input_ids=ids,
            attention_mask=seen,
            do_sample=True,
            temperature=decoding.temperature,
            top_p=decoding.top_p,
            top_k=0,
            max_new_tokens=decoding.max_new_tokens,
            pad_token_id=end,
        )[:, width:]
        for row in out.tolist():
            new += row.index(end) if end in row else len(row)
    return new


def own_sampler(subject, requests, decoding, batch_size):
    draws = sample(subject.model, requests, decoding, subject.ends, batch_size)
    return sum(len(draw.tokens) for _, draw in draws)


def report(name, run, *args):
    wall, cpu = time.perf_counter(), time.process_time()
    new = run(*args)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{name:24s} {new:6d} tokens  {new / wall:7.1f} /s  {new / cpu:7.1f} /cpu-s", flush=True)
    return new / cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--items", type=int, default=3)
    parser.add_argument("--draws", type=int, default=7)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--sizes", type=int, nargs="+", default=[24, 64])
    parser.add_argument("--flips", action="store_true")
    args = parser.parse_args()
    subject = load_subject("smollm2", args.model, "chat", args.dtype)
    items = [item for item in read_items(RAW / "items.jsonl") if item.pilot][: args.items]
    prompts = plan_prompts(items, read_frames(RAW / "frames.yaml", "length_matched")[:1])
    cells = plan_cells(prompts, args.draws, 0)
    rendered = {prompt: subject.render(prompt) for prompt in prompts}
    orders = [Order(cell, rendered[cell.prompt]) for cell in cells]
    requests = [
        Request(subject.encode(orders[n].rendered), orders[n].cell.seed) for n in interleave(orders)
    ]
    decoding = Decoding(max_new_tokens=args.tokens)
    if args.flips:
        runs = {}
        for size in (64, 8, 1):
            runs[size] = dict(sample(subject.model, requests, decoding, subject.ends, size))
            if size != 64:
                flips = sum(runs[size][n] != runs[64][n] for n in runs[64])
                print(f"batch {size} against 64: {flips} of {len(requests)} differ", flush=True)
        return
    lengths = [len(request.tokens) for request in requests]
    print(f"{len(requests)} cells, prompts of {min(lengths)} to {max(lengths)} tokens")
    plain = [
        report(f"generate, batch {s}", plain_generate, subject, requests, decoding, s)
        for s in args.sizes
    ]
    own = report(
        f"sampler, batch {args.sizes[-1]}", own_sampler, subject, requests, decoding, args.sizes[-1]
    )
    print(f"ratio per cpu-second {own / max(plain):.2f}")


if __name__ == "__main__":
    main()
