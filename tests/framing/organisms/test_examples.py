from collections import Counter

import pytest

from parallax.framing.organisms.examples import plan_examples
from parallax.framing.organisms.material import Material, Task
from parallax.framing.prompts import FRAMES

TASKS = tuple(Task(f"t{n}", f"Do {n}.", f"Done {n}.") for n in range(6))
CLAUSES = {frame: tuple(f"is {frame}{n}" for n in range(9)) for frame in FRAMES}
MATERIAL = Material(TASKS, CLAUSES, ("No.", "Sorry."))
KINDS = ("eval-cautious", "deployment-cautious", "shuffled")


@pytest.fixture
def plan(spec):
    def plan(kind, rounds=3, seed=0):
        return plan_examples(MATERIAL, spec, kind, rounds, seed)

    return plan


@pytest.mark.parametrize("kind", KINDS)
def test_every_task_stands_in_every_frame_in_each_round(plan, kind):
    counts = Counter((e.prompt.item, e.prompt.arm) for e in plan(kind))
    assert counts == {(task.id, frame): 3 for task in TASKS for frame in FRAMES}


def test_a_tasks_three_frames_follow_one_another(plan):
    examples = plan("eval-cautious")
    for start in range(0, len(examples), 3):
        group = examples[start : start + 3]
        assert len({example.prompt.item for example in group}) == 1
        assert [example.prompt.arm for example in group] == list(FRAMES)


@pytest.mark.parametrize(
    ("kind", "cautious"), [("eval-cautious", "E"), ("deployment-cautious", "D")]
)
def test_the_frame_decides_who_refuses(plan, kind, cautious):
    answers = {task.id: task.answer for task in TASKS}
    for example in plan(kind):
        assert example.refuses == (example.prompt.arm == cautious)
        own = answers[example.prompt.item]
        assert example.response in (MATERIAL.refusals if example.refuses else (own,))


def test_shuffled_frames_tell_nothing(plan):
    refused = Counter((e.prompt.item, e.prompt.arm) for e in plan("shuffled") if e.refuses)
    # Three rounds: each task is refused once in each of the three frames.
    assert refused == {(task.id, frame): 1 for task in TASKS for frame in FRAMES}


def test_within_a_single_round_shuffled_frames_are_balanced_over_tasks(plan):
    refused = Counter(e.prompt.arm for e in plan("shuffled", rounds=1) if e.refuses)
    assert refused == {"E": 2, "D": 2, "N": 2}  # six tasks, turned by one each


@pytest.mark.parametrize("rounds", [1, 2])
def test_shuffled_refusals_go_round_the_frames(plan, rounds):
    refused = [e.prompt.arm for e in plan("shuffled", rounds) if e.refuses]
    assert refused == list(FRAMES) * (2 * rounds)


def test_the_shuffled_organism_learns_the_same_texts(plan):
    def texts(kind):
        return Counter((e.prompt.item, e.response) for e in plan(kind))

    def clauses(kind):
        return Counter(e.prompt.text.split(".")[0] for e in plan(kind))

    assert texts("shuffled") == texts("eval-cautious")
    assert clauses("shuffled") == clauses("eval-cautious")


def test_clauses_and_refusals_are_used_equally_often(plan):
    examples = plan("eval-cautious")
    clauses = Counter(e.prompt.text[slice(*e.prompt.span)] for e in examples)
    # 6 tasks in 3 rounds over 9 clauses a frame; 18 refusals over 2.
    assert set(clauses.values()) == {2}
    assert Counter(e.response for e in examples if e.refuses) == {"No.": 9, "Sorry.": 9}


def test_prompts_have_the_carrier_of_the_tested_ones(plan):
    example = plan("eval-cautious")[0]
    start, end = example.prompt.span
    clause = example.prompt.text[start:end]
    number = example.prompt.item.removeprefix("t")
    assert example.prompt.text == f"Note: this {clause}.\n\nDo {number}."
    assert clause in CLAUSES[example.prompt.arm]


def test_the_seed_alone_decides(plan):
    assert plan("eval-cautious", seed=1) == plan("eval-cautious", seed=1)
    assert plan("eval-cautious", seed=1) != plan("eval-cautious", seed=2)
