"""Put every framed prompt to one subject, several draws each, and keep every response."""

import argparse
from pathlib import Path

from parallax.errors import DataError, ParamsError
from parallax.files import write_table
from parallax.stages.command import hold, run_stage


def main(args: argparse.Namespace) -> str:
    """Write the table of responses and, for a local model, that of log-odds."""
    from tqdm import tqdm

    from parallax.framing.choosing import Decoding
    from parallax.framing.endpoint import endpoint_from_environment
    from parallax.framing.items import read_items
    from parallax.framing.logodds import measure_log_odds, read_openings
    from parallax.framing.prompts import read_frames
    from parallax.framing.respond import (
        DrawStore,
        EndpointResponder,
        LocalResponder,
        Responder,
        plan_cells,
        plan_prompts,
        respond,
    )
    from parallax.framing.subjects import load_subject
    from parallax.training.checkpoint import checkpoint_root

    if args.log_odds and args.endpoint:
        raise ParamsError("log-odds need a model's weights; leave --log-odds out for an endpoint")
    items = [item for item in read_items(args.items) if item.pilot or not args.pilot]
    specs = [
        spec for spec in read_frames(args.frames, args.clause_set) if spec.name in args.wording
    ]
    if len(specs) != len(set(args.wording)):
        raise DataError(f"{args.frames}: set {args.clause_set!r} lacks one of {args.wording}")
    prompts = plan_prompts(items, specs, args.arms)
    cells = plan_cells(prompts, args.draws, args.seed)
    decoding = Decoding(args.temperature, args.top_p, args.max_new_tokens)
    with hold(args.out):
        responder: Responder
        if args.endpoint:
            endpoint = endpoint_from_environment(args.endpoint)
            responder = EndpointResponder(
                args.subject, endpoint, args.revision, args.rendering, decoding, args.batch_size
            )
        else:
            subject = load_subject(
                args.subject, args.model, args.rendering, args.dtype, args.revision or None
            )
            responder = LocalResponder(subject, decoding, args.batch_size)
        store = DrawStore(checkpoint_root() / "draws" / f"{args.subject}.jsonl")
        table = respond(responder, cells, store)
        if args.log_odds:
            openings = read_openings(args.openings)
            with tqdm(total=len(prompts), desc="log-odds", unit="prompt") as bar:
                write_table(args.log_odds, measure_log_odds(subject, prompts, openings, bar.update))
        write_table(args.out, table)
    return f"respond: {len(table)} responses of {args.subject} -> {args.out}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=Path, required=True)
    parser.add_argument("--frames", type=Path, required=True)
    parser.add_argument("--openings", type=Path)
    parser.add_argument("--subject", required=True, help="the subject's name in tables")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", help="a local folder or a hub name")
    source.add_argument("--endpoint", help="the model's name at OPENAI_BASE_URL")
    parser.add_argument("--revision", default="")
    parser.add_argument("--rendering", choices=("chat", "raw"), required=True)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--pilot", action="store_true", help="the pilot's items alone")
    parser.add_argument("--clause-set", default="length_matched")
    parser.add_argument("--wording", nargs="+", default=["l01"])
    parser.add_argument("--arms", nargs="+", default=["E", "D", "N"])
    parser.add_argument("--draws", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--top-p", type=float, default=0.95)
    parser.add_argument("--max-new-tokens", type=int, default=48)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--log-odds", type=Path)
    run_stage(main, parser)
