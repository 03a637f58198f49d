"""Stage `report`: the HTML report of both halves and the plots."""

import argparse
from pathlib import Path

from parallax.files import replace_folder, write_text
from parallax.params import load_params
from parallax.stages.command import hold, run_stage

TITLE = "Parallax report"


def main(arguments: argparse.Namespace) -> str:
    """Write the page and the plots; return the headlines of both verdicts.

    Raises:
        DataError: an input is missing or lacks a figure, an answer, a name or a portrait, or makes
            a claim that no contrast bears out.
        ParamsError: params.yaml is not usable.
    """
    from parallax.report.framing import build_framing, write_framing_plots
    from parallax.report.framing_inputs import read_framing_inputs
    from parallax.report.html import render_page
    from parallax.report.inputs import read_inputs
    from parallax.report.plots import write_plots
    from parallax.report.unlearning import build_sections
    from parallax.tracking import stage_run

    params = load_params()
    unlearning = read_inputs(
        arguments.metrics,
        arguments.scored,
        arguments.curves,
        arguments.validation,
        arguments.experiment,
        arguments.provenance,
    )
    framing = read_framing_inputs(
        arguments.analysis,
        arguments.framing_results,
        arguments.prompts,
        arguments.pairs,
        arguments.judges,
        arguments.sensitivity,
        arguments.audit,
        arguments.prompt_checks,
    )
    first, second = build_sections(unlearning, params), build_framing(framing, params)
    with hold(arguments.out), stage_run("report") as run:
        write_text(arguments.out, render_page(TITLE, [*first, *second]))
        with replace_folder(arguments.plots) as folder:
            write_plots(folder, unlearning.scores, unlearning.curves)
            write_framing_plots(folder, framing, params)
        run.log_file(arguments.out, of_execution=True)
        for plot in sorted(arguments.plots.iterdir()):
            run.log_file(plot, "plots", of_execution=True)
        run.finish_parent()
    return f"{arguments.out}: {first[0].title}; {second[0].title}"


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, text in (
        ("metrics", "unlearning: metrics of all models, JSON"),
        ("scored", "unlearning: scored outputs, parquet"),
        ("curves", "unlearning: folder of the loss curves, CSV"),
        ("validation", "unlearning: results of the data checks, JSON"),
        ("experiment", "unlearning: folder with portraits.parquet"),
        ("provenance", "unlearning: where the people come from and their names, JSON"),
        ("analysis", "framing: the analysis, JSON"),
        ("framing-results", "framing: folder of the tables of effects, responses and verdicts"),
        ("prompts", "framing: prompts, parquet"),
        ("pairs", "framing: the items' two versions, parquet"),
        ("judges", "framing: judge cards, JSON"),
        ("sensitivity", "framing: the judges' frame control, JSON"),
        ("audit", "framing: the semantic audit, JSON"),
        ("prompt-checks", "framing: results of the prompt checks, JSON"),
        ("out", "the page to write"),
        ("plots", "folder of PNG plots to write"),
    ):
        parser.add_argument(f"--{name}", type=Path, required=True, help=text)
    return parser


if __name__ == "__main__":
    run_stage(main, build_parser())
