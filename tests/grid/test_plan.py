import subprocess
from pathlib import Path

import pytest
import yaml

from parallax.errors import ParamsError
from parallax.grid.plan import check_runs, plan_grid

VALUES = yaml.safe_load((Path(__file__).parents[2] / "params.yaml").read_text(encoding="utf-8"))


def by_name(grid):
    return {run.name: run.overrides for run in grid.runs}


def test_methods_are_run_on_either_modality_and_on_both():
    runs = by_name(plan_grid("methods"))
    assert len(runs) == 5 * 3
    # L = alpha * L_mul + beta * L_uni: text only is alpha 0, image only is beta 0.
    assert runs["methods-npo-uni"] == (
        "unlearn.method=npo",
        "unlearn.alpha=0.0",
        "unlearn.beta=1.0",
    )
    assert runs["methods-ga-mul"] == (
        "unlearn.method=ga",
        "unlearn.alpha=1.0",
        "unlearn.beta=0.0",
    )
    assert runs["methods-po-mix"] == (
        "unlearn.method=po",
        "unlearn.alpha=1.0",
        "unlearn.beta=1.0",
    )


def test_ratios_are_run_with_the_weights_of_the_parameters():
    runs = by_name(plan_grid("ratios"))
    assert len(runs) == 5 * 3
    assert runs["ratios-kl-05"] == ("unlearn.method=kl", "data.forget_ratio=0.05")
    assert runs["ratios-gd-10"] == ("unlearn.method=gd", "data.forget_ratio=0.1")
    assert runs["ratios-gd-15"] == ("unlearn.method=gd", "data.forget_ratio=0.15")


def test_seeds_change_all_training_together():
    grid = plan_grid("seeds")
    runs = by_name(grid)
    assert len(runs) == 5 * 3 * 3
    assert runs["seeds-npo-mix-seed2"][3:] == ("base.seed=2", "sft.seed=2", "unlearn.seed=2")
    assert {run.seed for run in grid.runs} == {0, 1, 2}
    # A seed's models are trained once and then used by all its methods.
    assert [run.seed for run in grid.runs] == sorted(run.seed for run in grid.runs)


def test_further_overrides_are_in_every_run_and_in_names_and_folder():
    grid = plan_grid("methods", ["sft.seed=1", "base.seed=2"])
    assert grid.folder == "methods-base-seed-2-sft-seed-1"
    assert all(run.overrides[-2:] == ("base.seed=2", "sft.seed=1") for run in grid.runs)
    assert "methods-ga-uni-base-seed-2-sft-seed-1" in by_name(grid)
    assert plan_grid("methods", ["base.seed=2", "sft.seed=1"]) == grid


@pytest.mark.parametrize("name", ["methods", "ratios", "seeds"])
def test_names_differ_and_are_git_references(name):
    runs = plan_grid(name, ["unlearn.npo.learning_rate=3.0e-4"]).runs
    names = [run.name for run in runs]
    assert len(set(names)) == len(names)
    for each in names:
        subprocess.run(["git", "check-ref-format", f"refs/exps/{each}"], check=True)


@pytest.mark.parametrize(
    ("grid", "extra", "reason"),
    [
        ("methods", ["sft.seed"], "give one key=value"),
        ("methods", ["sft.seed=1,2"], "give one key=value"),
        ("methods", ["unlearn.alpha=0.7"], "is what the grid methods varies"),
        ("ratios", ["unlearn.method=ga"], "is what the grid ratios varies"),
        ("seeds", ["unlearn.seed=4"], "is what the grid seeds varies"),
        ("ratios", ["sft.seed=1", "sft.seed=2"], "given twice"),
    ],
)
def test_an_override_that_is_none_is_refused(grid, extra, reason):
    with pytest.raises(ParamsError, match=reason):
        plan_grid(grid, extra)


def test_other_axes_may_be_overridden():
    assert plan_grid("ratios", ["unlearn.alpha=0.7"]).runs
    assert plan_grid("methods", ["data.forget_ratio=0.1"]).runs


@pytest.mark.parametrize("name", ["methods", "ratios", "seeds"])
def test_the_repositorys_parameters_fit_every_run(name):
    check_runs(plan_grid(name).runs, VALUES)


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        # 5 % of 5 people is nobody.
        ("data.people=5", "run ratios-ga-05.*forgets at least one"),
        ("sft.sede=1", "sft.sede is no parameter"),
        ("unlearn.batch_size=0", "unlearn.batch_size = 0"),
        ("sft.seed.x=1", "seed is no section"),
    ],
)
def test_values_that_params_yaml_refuses_are_refused_before_the_first_run(extra, reason):
    with pytest.raises(ParamsError, match=reason):
        check_runs(plan_grid("ratios", [extra]).runs, VALUES)
