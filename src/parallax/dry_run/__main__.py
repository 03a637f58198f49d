"""Tell what fine-tuning and unlearning would take, without weights; exit 1 if they don't fit.

python -m parallax.dry_run [--device cuda --memory 24]
"""

import argparse
import functools
import sys
from pathlib import Path

from parallax.errors import ParallaxError, ResourceError
from parallax.params import load_params


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m parallax.dry_run", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--experiment", type=Path, default=Path("data/experiment"), help="made by the stage corpus"
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), help="in place of this machine's best")
    parser.add_argument("--memory", type=float, metavar="GIB", help="in place of the device's own")
    return parser


def main(argv: list[str] | None = None) -> str:
    """Print what each stage would take, and return the conclusion.

    Raises:
        DataError: the experiment's tables are missing; `dvc repro corpus` makes them.
        ModelError: the model's configuration or processor is not there.
        ResourceError: a stage would not fit; the message has advice.
    """
    args = build_parser().parse_args(argv)
    params = load_params()  # before the slow imports: a misspelt key is told at once
    from parallax.dry_run.advice import advise
    from parallax.dry_run.assessment import STAGES, Assessor, find_room
    from parallax.dry_run.table import describe
    from parallax.models.device import best_device

    on_gpu = (args.device or best_device()) == "cuda"
    room = find_room("cuda" if on_gpu else "cpu", args.memory)
    assessor = Assessor(params, args.experiment, room.device)
    refused = []
    for stage in STAGES:
        judge = functools.partial(assessor.assess, stage)
        found = judge(params)
        print(*describe(found, room), sep="\n")
        if found.memory.in_main > room.in_main:
            refused.append(
                f"{stage} does not fit into main memory, which holds the weights while they are"
                " loaded, then portraits and the reference's values: take a machine with more, or"
                " lower data.people"
            )
        elif not found.fits(room):
            advice = advise(stage, params, room.device, judge, lambda a: a.fits(room))
            refused.append(f"{stage} does not fit: {advice}")
    if refused:
        raise ResourceError("; ".join(refused))
    return "sft and unlearn fit"


if __name__ == "__main__":
    try:
        print(main())
    except ParallaxError as error:
        sys.exit(f"error: {error}")
