"""Compare each judge of params.yaml with labelled responses and write the judge cards."""

import argparse
from pathlib import Path

from parallax.files import write_json
from parallax.params import load_params
from parallax.stages.command import hold, run_stage


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calibration", type=Path, required=True, metavar="JSONL")
    parser.add_argument("--cards", type=Path, required=True, metavar="JSON", help="to write")
    return parser


def main(args: argparse.Namespace) -> str:
    """Fit judges on the fit part, measure them on the test part, write one card each."""
    from parallax.framing.items import read_calibration
    from parallax.framing.judges import JUDGES, Setup
    from parallax.framing.judges.calibration import choose_part, make_card, to_cases
    from parallax.framing.judges.cards import card_values
    from parallax.framing.judges.judge import judge_all
    from parallax.framing.judges.robustness import measure_robustness
    from parallax.tracking import flatten, input_digests, stage_run

    settings = load_params().judging
    rows = read_calibration(args.calibration)
    setup = Setup(settings, tuple(row for row in rows if row.split == "fit"))
    test = choose_part(rows, "test")
    used = {"judging": settings.model_dump()}
    digests = input_digests([str(args.calibration)])
    with hold(args.cards), stage_run("calibrate_judges", flatten(used), digests) as run:
        cards, values = {}, {}
        for name in settings.names:
            judge = JUDGES[name](setup)
            verdicts = judge_all(judge, to_cases(test))
            cards[name] = make_card(judge, test, verdicts, settings.least_kappa)
            values[name] = card_values(cards[name], measure_robustness(judge, test, verdicts))
        write_json(args.cards, values)
        run.log_metrics({f"kappa/{name}": card.kappa.value for name, card in cards.items()})
        run.log_metrics(
            {
                f"kappa_{source}/{name}": found.kappa.value
                for name, card in cards.items()
                for source, found in card.by_source.items()
            }
        )
        run.log_file(args.cards)
    shown = ", ".join(f"{name} {card.kappa.value:.3f}" for name, card in cards.items())
    return f"calibrate_judges: kappa {shown} -> {args.cards}"


if __name__ == "__main__":
    run_stage(main, build_parser())
