"""Say how large an experiment has to be, from the verdicts of a pilot.

What effect a number of items, versions and draws can detect; and the cheapest design for an effect,
in generations and, where the speed is known, hours. --sd instead of a pilot: the table for standard
deviations that you suppose.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from parallax.errors import ParallaxError
from parallax.files import replace_file, replace_folder, write_text
from parallax.params import load_params
from parallax.plan.pilot import Pilot, read_pilot
from parallax.plan.text import Aim, plan_text, table_of_deviations

RESULTS = Path("results/framing")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m parallax.plan",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    pilot = parser.add_argument_group("the pilot")
    pilot.add_argument("--verdicts", type=Path, default=RESULTS / "verdicts.parquet")
    pilot.add_argument("--responses", type=Path, default=RESULTS / "responses.parquet")
    pilot.add_argument("--subject", help="needed where the run has several")
    pilot.add_argument("--judge", help="judging.primary of params.yaml unless given")
    pilot.add_argument("--sd", type=float, nargs="+", help="no pilot: standard deviations of d")
    aim = parser.add_argument_group("the aim")
    aim.add_argument("--effect", type=float, help="analysis.smallest_effect unless given, fraction")
    aim.add_argument("--power", type=float, default=0.8)
    aim.add_argument("--alpha", type=float, help="analysis.alpha unless given")
    aim.add_argument("--most-items", type=int, default=480, help="items that can be had")
    aim.add_argument(
        "--tokens-per-second", type=float, help="what `respond` measured last unless given"
    )
    parser.add_argument("--out", type=Path, default=Path("reports/plan"), metavar="FOLDER")
    return parser


def main(argv: Sequence[str] | None = None) -> str:
    """Return the plan, and write it with its picture into a folder.

    Raises:
        ParallaxError: the pilot or params.yaml is not usable.
    """
    args = build_parser().parse_args(argv)
    params = load_params()
    aim = Aim(
        effect=params.analysis.smallest_effect if args.effect is None else args.effect,
        power=args.power,
        alpha=params.analysis.alpha if args.alpha is None else args.alpha,
        most_items=args.most_items,
        speed=args.tokens_per_second,
    )
    if args.sd:
        return table_of_deviations(args.sd, aim)
    pilot = read_pilot(
        args.verdicts, args.responses, args.subject, args.judge or params.judging.primary
    )
    if aim.speed is None:
        aim = measured(aim, pilot)
    text = plan_text(pilot, aim)
    write_plan(args.out, text, pilot, aim)
    return f"{text}\n-> {args.out}"


def measured(aim: Aim, pilot: Pilot) -> Aim:
    """Return the aim with the speed that `respond` measured last on this subject, if it did."""
    import dataclasses

    from parallax.tracking.latest import latest_metric

    return dataclasses.replace(aim, speed=latest_metric(f"tokens_per_second/{pilot.subject}"))


def write_plan(folder: Path, text: str, pilot: Pilot, aim: Aim) -> None:
    """Write `plan.md` and `detectable.png`."""
    from parallax.plan.figure import draw_plan
    from parallax.report.drawing import as_png

    with replace_folder(folder) as part:
        write_text(part / "plan.md", text)
        with replace_file(part / "detectable.png") as picture:
            picture.write_bytes(as_png(draw_plan(pilot, aim)))


if __name__ == "__main__":
    try:
        print(main())
    except ParallaxError as error:
        sys.exit(f"error: {error}")
