"""Stage `report`: the HTML report and the plots."""

import argparse
from pathlib import Path

from parallax.files import replace_folder, write_text
from parallax.params import load_params
from parallax.stages.command import hold, run_stage

TITLE = "Parallax: unlearning report"


def main(arguments: argparse.Namespace) -> str:
    """Write the page and the plots; return the verdict's headline.

    Raises:
        DataError: an input is missing or lacks a figure, an answer, a name or a portrait.
        ParamsError: params.yaml is not usable.
    """
    from parallax.report.html import render_page
    from parallax.report.inputs import read_inputs
    from parallax.report.plots import write_plots
    from parallax.report.unlearning import build_sections
    from parallax.tracking import stage_run

    params = load_params()
    inputs = read_inputs(
        arguments.metrics,
        arguments.scored,
        arguments.curves,
        arguments.validation,
        arguments.experiment,
        arguments.profiles,
    )
    sections = build_sections(inputs, params)
    with hold(arguments.out), stage_run("report") as run:
        write_text(arguments.out, render_page(TITLE, sections))
        with replace_folder(arguments.plots) as folder:
            write_plots(folder, inputs.scores, inputs.curves)
        run.log_file(arguments.out, of_execution=True)
        for plot in sorted(arguments.plots.iterdir()):
            run.log_file(plot, "plots", of_execution=True)
        run.finish_parent()
    return f"{arguments.out}: {sections[0].title}"


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, text in (
        ("metrics", "metrics of all models, JSON"),
        ("scored", "scored outputs, parquet"),
        ("curves", "folder of the loss curves, CSV"),
        ("validation", "results of the data checks, JSON"),
        ("experiment", "folder with portraits.parquet"),
        ("profiles", "all people's profiles, parquet"),
        ("out", "the page to write"),
        ("plots", "folder of PNG plots to write"),
    ):
        parser.add_argument(f"--{name}", type=Path, required=True, help=text)
    return parser


if __name__ == "__main__":
    run_stage(main, build_parser())
