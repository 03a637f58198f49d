"""Put a simulated experiment through the instrument: checks, judge's control, analysis, claim."""

import dataclasses
import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallax.files import write_json, write_table
from parallax.framing.analysis.experiment import analyse_experiment
from parallax.framing.analysis.logs import read_logs
from parallax.framing.items import CATEGORIES
from parallax.framing.judges.responses import Response, tabulate_verdicts
from parallax.framing.judges.sensitivity import measure_sensitivity, sensitivity_values
from parallax.framing.logodds import COLUMNS as LOG_ODDS_COLUMNS
from parallax.framing.prompts import (
    CLAUSE_ARMS,
    EVALUATION_WORDS,
    FRAMES,
    PERMISSION_WORDS,
    find_words,
)
from parallax.params import Analysis
from parallax.proof.worlds import JUDGE, SUBJECT, World
from parallax.validation.prompt_tables import Plan, Reading, Slot
from parallax.validation.prompts import Inputs, prompt_checks, prompt_frames
from parallax.validation.suite import run_checks

if TYPE_CHECKING:
    import pandas as pd

# The checks of prompts that a planted fault can fail, and what the fault is called.
PROMPT_CHECKS = {
    "masked_texts_agree": "slot",
    "carriers_kept": "slot",
    "items_apart": "near_copies",
}
CARD = {
    "by_outcome": {category: {} for category in CATEGORIES},
    "gate": {"reliable": list(CATEGORIES)},
}


@dataclasses.dataclass(frozen=True)
class Finding:
    """What the instrument says: alarms by name, the first text of each, and the claim.

    `stopped`: the prompts failed their checks, no model was asked and nothing claimed.
    """

    alarms: dict[str, str]
    stopped: bool
    caution: str
    claim: str


def examine(world: World, folder: Path, settings: Analysis) -> Finding:
    """Run one experiment through the pipeline's own functions, by way of its files in `folder`."""
    alarms = check_world(world)
    if alarms:
        return Finding(alarms, True, "none", "")
    sensitivity = control_judge(world, settings)
    write_world(world, folder)
    logs = read_logs(
        responses=folder / "responses.parquet",
        verdicts=folder / "verdicts.parquet",
        log_odds=folder / "log_odds.parquet",
        familiarity=folder / "familiarity.parquet",
        items=folder / "items.jsonl",
        cards=folder / "cards.json",
        subjects=[SUBJECT],
        judges=[JUDGE],
    )
    headline = analyse_experiment(logs, sensitivity, "the control", [], settings).metrics[
        "headline"
    ][SUBJECT]
    alarms = {doubt["check"]: doubt["text"] for doubt in reversed(headline["doubts"])}
    return Finding(alarms, False, headline["caution"], headline["claim"])


def check_world(world: World) -> dict[str, str]:
    """Return the alarms of the prompts' checks, each with the first row at fault."""
    spec = world.spec
    clauses: dict[tuple[str, str, str], str] = {
        ("length_matched", spec.name, arm): spec.clause[arm] for arm in CLAUSE_ARMS
    }

    def no_table() -> "pd.DataFrame":
        raise NotImplementedError("no check that is run here reads it")

    inputs = Inputs(
        items=lambda: tabulate_items(world),
        slot=lambda: Slot(spec.carrier, spec.role, clauses),
        prompts=lambda: world.prompts,
        pairs=no_table,
        audit=no_table,
        source="proxy",
        audit_passed=True,
    )
    reading = Reading(
        functools.partial(find_words, words=EVALUATION_WORDS),
        functools.partial(find_words, words=PERMISSION_WORDS),
        lambda text: len(text.split()),
    )
    checks = [check for check in prompt_checks("proxy") if check.name in PROMPT_CHECKS]
    plan = Plan("length_matched", [spec.name], FRAMES)
    report = run_checks(checks, prompt_frames(inputs, plan, reading))
    return {
        PROMPT_CHECKS[check["name"]]: f"{check['name']}: {check['unexpected'][0]}"
        for check in reversed(report["checks"])
        if not check["success"]
    }


def tabulate_items(world: World) -> "pd.DataFrame":
    """Return the items as the prompts' checks take them, all chosen."""
    import pandas as pd

    rows = [dataclasses.asdict(item) | {"row": item.id, "item": item.id} for item in world.items]
    return pd.DataFrame(rows).assign(chosen=True)


def control_judge(world: World, settings: Analysis) -> Any:
    """Return the report of the judge's frame control on the experiment's responses."""
    found = measure_sensitivity(
        world.judge, list_responses(world), {world.spec.name: world.spec}, settings.smallest_effect
    )
    return {SUBJECT: {"judges": {JUDGE: sensitivity_values(found)}}}


def list_responses(world: World) -> list[Response]:
    """Return the responses as judges meet them."""
    items = {item.id: item for item in world.items}
    columns = world.responses[["item", "paraphrase", "arm", "draw", "response"]]
    return [
        Response(SUBJECT, items[item], paraphrase, arm, world.spec.name, draw, text)
        for item, paraphrase, arm, draw, text in columns.itertuples(index=False)
    ]


def write_world(world: World, folder: Path) -> None:
    """Write every table that the analysis reads."""
    import pandas as pd

    write_table(folder / "responses.parquet", world.responses)
    write_table(folder / "verdicts.parquet", judge_world(world))
    write_table(folder / "log_odds.parquet", pd.DataFrame(columns=list(LOG_ODDS_COLUMNS)))
    names = [item.id for item in world.items]
    scores = pd.DataFrame({"subject": SUBJECT, "item": names, "score": world.scores})
    write_table(folder / "familiarity.parquet", scores)
    # An item's match need not be among the chosen ones.
    lines = [json.dumps(dataclasses.asdict(item) | {"matched": None}) for item in world.items]
    (folder / "items.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_json(folder / "cards.json", {JUDGE: CARD})


def judge_world(world: World) -> "pd.DataFrame":
    """Return the verdicts; a judge that sees the frame is shown each response in its own."""
    import pandas as pd

    responses = list_responses(world)
    if not world.judge_sees_frame:
        return tabulate_verdicts(world.judge, responses)
    tables = []
    for frame in FRAMES:
        own = [response for response in responses if response.arm == frame]
        shown = dataclasses.replace(world.judge, always=frame)
        tables.append(tabulate_verdicts(shown, own))
    return pd.concat(tables, ignore_index=True)
