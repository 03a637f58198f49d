#!/usr/bin/env bash
# A reduced pipeline from end to end, in temporary copies of the files that git knows, with a git
# history, a DVC cache and an MLflow store of their own. Two copies run at once; in the second one
# fine-tuning, unlearning and the drawing of responses are killed and started again, and yet both
# must end with the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD
export PATH="$tree/.venv/bin:$PATH"
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false MLFLOW_DISABLE_TELEMETRY=true DVC_NO_ANALYTICS=1
export GIT_AUTHOR_NAME=parallax GIT_AUTHOR_EMAIL=parallax@localhost
export GIT_COMMITTER_NAME=parallax GIT_COMMITTER_EMAIL=parallax@localhost
unset MLFLOW_TRACKING_URI MLFLOW_RUN_ID DVC_ROOT DVC_EXP_NAME DVC_EXP_BASELINE_REV DVC_STAGE

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
passed=0

ok() {
    passed=$((passed + 1))
    echo "ok: $1 (${SECONDS} s)"
}

fail() { # what was checked, then files to show the end of
    echo "FAILED: $1"
    shift
    for file in "$@"; do
        echo "--- $(basename "$file")"
        tr '\r' '\n' <"$file" | tail -n 30
    done
    echo "$passed passed, 1 failed"
    exit 1
}

commit() {
    git add --all
    git commit --quiet --message "$1"
}

stages_run() { # the stages that a log says were run, on one line
    { grep -o "^Running stage '[^']*'" "$1" || true; } | cut -d "'" -f 2 | paste -s -d ' '
}

locked_outs() { # every output's path and md5
    python -c '
import sys, yaml
for stage in yaml.safe_load(open("dvc.lock"))["stages"].values():
    for out in stage.get("outs", []):
        print(out["path"], out["md5"])
'
}

# What takes minutes in params.yaml takes seconds here, and checkpoints come often enough for the
# killed training to have one. Neither changes what the stages do.
mkdir "$work/one"
git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$work/one"
cd "$work/one"
python - <<'PYTHON'
import json
import pathlib
import re

import yaml

path = pathlib.Path("params.yaml")
params = yaml.safe_load(path.read_text())
params["data"] |= {"people": 20, "real_people": 4, "auxiliary_people": 8, "portrait_px": 32}
params["embedded"] |= {
    "image_px": 32, "patch_px": 16, "vision_width": 16, "vision_layers": 1, "vision_heads": 2,
    "width": 32, "layers": 1, "heads": 2, "vocabulary": 600,
}
params["base"] |= {"epochs": 1}
params["sft"] |= {"epochs": 4, "batch_size": 16}
for method in ("ga", "gd", "kl", "po", "npo"):
    params["unlearn"][method] |= {"epochs": 40}
params["evaluate"] |= {"max_new_tokens": 8}
raw = pathlib.Path("data/raw/framing")
items = [json.loads(line) for line in (raw / "items.jsonl").read_text().splitlines()]
few = [item for item in items if item["pilot"] and item["topic"] in ("fraud", "drugs")]
(raw / "few.jsonl").write_text("".join(json.dumps(item) + "\n" for item in few))
params["framing"] |= {"items": str(raw / "few.jsonl"), "draws": 4}
tasks = raw / "organisms/tasks.jsonl"
tasks.write_text("".join(tasks.read_text().splitlines(keepends=True)[:3]))
params["sampling"] |= {"max_new_tokens": 6, "batch_size": 16}
path.write_text(yaml.safe_dump(params, sort_keys=False))
code = pathlib.Path("src/parallax/training/checkpoint.py")
text, count = re.subn(r"(?m)^INTERVAL = .*$", "INTERVAL = 0.2", code.read_text())
if count != 1:
    raise SystemExit(f"{code}: no line INTERVAL = ...")
code.write_text(text)
PYTHON
git init --quiet --initial-branch main
commit "Reduce the pipeline"
cp -r "$work/one" "$work/two"

(cd "$work/one" && exec dvc repro) >"$work/one.log" 2>&1 &
one=$!

# What a stage writes, and the file that says that it could go on from somewhere.
declare -A sign=(
    [models/sft]=".checkpoints/sft-*/step-*[0-9]/*.pt"
    [models/unlearned]=".checkpoints/unlearned-*/step-*[0-9]/*.pt"
    [results/framing/responses.parquet]=".checkpoints/draws/smollm2.jsonl"
)
cd "$work/two"
while [ ${#sign[@]} -gt 0 ]; do
    dvc repro >>"$work/two.log" 2>&1 &
    two=$!
    killed=
    while [ -z "$killed" ]; do
        kill -0 $two 2>/dev/null || fail "${!sign[*]} can be killed" "$work/two.log"
        for out in "${!sign[@]}"; do
            if compgen -G "${sign[$out]}" >/dev/null; then killed=$out; fi
        done
        sleep 0.1
    done
    sleep 0.5 # a few steps, checkpoints or draws more
    kill -9 "$(cat ".checkpoints/locks/${killed//\//-}")"
    if wait $two; then fail "dvc repro fails when its stage is killed" "$work/two.log"; fi
    [ ! -e "$killed" ] || fail "a killed stage leaves no $killed" "$work/two.log"
    ok "a stage killed with -9 leaves a checkpoint and no $killed"
    unset "sign[$killed]"
done
dvc repro >>"$work/two.log" 2>&1 &
two=$!
wait $one || fail "dvc repro runs the pipeline (status $?)" "$work/one.log"
ok "dvc repro runs the pipeline from scratch"
wait $two || fail "dvc repro goes on after the kills (status $?)" "$work/two.log"
ok "dvc repro goes on after the kills"

(cd "$work/one" && locked_outs) >"$work/one.outs"
(cd "$work/two" && locked_outs) >"$work/two.outs"
diff "$work/one.outs" "$work/two.outs" >"$work/outs.diff" ||
    fail "two runs, one of them killed thrice, give the same outputs" "$work/outs.diff"
ok "two runs, one of them killed thrice, give the same $(wc -l <"$work/one.outs") outputs"

store=$(cat <<'PYTHON'
import json

from parallax.tracking.parents import PARENT_TAG, list_executions
from parallax.tracking.store import connect, find_store, project_root, startup_errors

store = find_store(project_root())
with startup_errors(store):
    tracker = connect(store)
parents = list_executions(tracker)
children = {}
for run in tracker.client.search_runs([tracker.experiment_id], order_by=["start_time ASC"]):
    if PARENT_TAG in run.data.tags:
        assert run.data.tags[PARENT_TAG] == parents[0].info.run_id
        children.setdefault(run.info.run_name, []).append(run)
PYTHON
)
cd "$work/two"
PYTHONPATH=src python - >"$work/check.log" 2>&1 <<PYTHON || fail "killed trainings are resumed, not repeated" "$work/check.log"
$store
for stage in ("sft", "unlearn"):
    killed, resumed = children[stage]
    assert (killed.info.status, resumed.info.status) == ("KILLED", "FINISHED"), children[stage]
    history = tracker.client.get_metric_history(resumed.info.run_id, "loss")
    first = min(m.step for m in history)
    rows = len(open(f"reports/curves/{stage}.csv").readlines()) - 1
    assert 0 < first < rows, (stage, first, rows)
draws = [json.loads(line)["key"] for line in open(".checkpoints/draws/smollm2.jsonl")]
# 6 items, 2 paraphrases, 3 frames, 4 draws.
assert len(draws) == len(set(draws)) == 144, len(draws)
PYTHON
ok "killed trainings went on from their checkpoints, and no draw was lost or repeated"

cd "$work/one"
PYTHONPATH=src python - >"$work/check.log" 2>&1 <<PYTHON || fail "MLflow has one execution and its stages" "$work/check.log"
$store
assert [run.info.status for run in parents] == ["FINISHED"], parents
names = {name: [run.info.status for run in runs] for name, runs in children.items()}
stages = ("base", "sft", "retain_only", "unlearn", "score")
stages += ("audit", "check_prompts", "respond", "contamination", "judge", "analyse", "report")
assert {name: names.get(name) for name in stages} == dict.fromkeys(stages, ["FINISHED"]), names
for name in ("delta.accuracy.dAcc_F", "smollm2.refusal_E-N.estimate"):
    assert name in parents[0].data.metrics, parents[0].data.metrics
PYTHON
ok "MLflow has one finished execution with its stages below it"

PYTHONPATH=src python - >"$work/check.log" 2>&1 <<'PYTHON' || fail "the metrics are sane" "$work/check.log"
import itertools
import json

metrics = json.load(open("metrics/unlearning.json"))
assert set(metrics) == {"base", "sft", "retain_only", "unlearned", "delta"}, set(metrics)
# 20 people, 3 of them to forget; six questions of each person in either choice task.
for model in ("base", "sft", "retain_only", "unlearned"):
    sets = metrics[model]
    assert sets["forget"]["classification"]["n"] == 3 * 6, sets["forget"]["classification"]
    assert sets["retain"]["classification"]["n"] == 17 * 6, sets["retain"]["classification"]
    for subset, tasks in sets.items():
        for task, values in tasks.items():
            where = (model, subset, task, values)
            assert all(0 <= v <= 1 for name, v in values.items() if name != "n"), where
            if task != "generation":
                mul, uni = values["acc_mul"], values["acc_uni"]
                assert values["acc_all"] <= min(mul, uni) + 1e-6, where
                assert values["acc_any"] >= max(mul, uni) - 1e-6, where
for task, name in (("cloze", "acc_F"), ("classification", "acc_F"), ("generation", "RL_F")):
    before, after = (metrics[m]["forget"][task][name] for m in ("sft", "unlearned"))
    delta = metrics["delta"][task]["dRL_F" if task == "generation" else "dAcc_F"]
    assert abs(before - after - delta) < 2e-6, (task, before, after, delta)
framing = json.load(open("metrics/framing.json"))
assert set(framing) == {"smollm2", "eval-cautious"}, framing
for subject, name in itertools.product(framing, ("refusal_E-N", "refusal_E-D", "harmful_E-D")):
    assert framing[subject]["items"] == 6, framing
    effect = framing[subject][name]
    assert effect["low"] <= effect["estimate"] <= effect["high"], (name, effect)
    assert 0 <= effect["p"] <= effect["p_holm"] <= 1, (name, effect)
PYTHON
ok "the metrics are sane"

# Of this pipeline alone: the proof has not been run.
dvc status dvc.yaml >"$work/status.log" 2>&1
grep -q "up to date" "$work/status.log" || fail "dvc status is clean" "$work/status.log"
dvc repro >"$work/again.log" 2>&1 || fail "a second dvc repro succeeds" "$work/again.log"
[ -z "$(stages_run "$work/again.log")" ] || fail "a second dvc repro runs nothing" "$work/again.log"
ok "dvc status is clean and a second dvc repro runs nothing"

written='dvc\.lock|metrics/|(data|models|reports|results)/\.gitignore'
written="$written|reports/(validation|audit|prompt_checks|judges|judge_sensitivity)\.json"
written="$written|reports/(curves|plots)/|(data|results)/framing/\.gitignore"
git status --porcelain --untracked-files=all | cut -c 4- >"$work/changed.log"
if grep -vE "^($written)" "$work/changed.log" >"$work/unexpected.log"; then
    fail "git sees nothing but results" "$work/unexpected.log"
fi
ok "git sees nothing but results"

git clone --quiet --bare . "$work/hub.git"
git remote add origin "$work/hub.git"
dvc remote add --quiet --default shared ../../remote
commit "Run the reduced pipeline"
git push --quiet origin main
dvc push --quiet >"$work/push.log" 2>&1 || fail "dvc push" "$work/push.log"
git clone --quiet "$work/hub.git" "$work/clone"
(cd "$work/clone" && dvc pull --quiet && dvc repro) >"$work/pull.log" 2>&1 ||
    fail "a fresh clone pulls" "$work/pull.log"
[ -z "$(stages_run "$work/pull.log")" ] || fail "a clone that pulled runs nothing" "$work/pull.log"
for path in data/experiment models/unlearned metrics/unlearning.json results/scored.parquet \
    results/framing/responses.parquet metrics/framing.json reports/report.html; do
    diff -r "$path" "$work/clone/$path" >"$work/diff.log" || fail "$path is shared" "$work/diff.log"
done
ok "a fresh clone gets data, models and metrics by dvc pull and runs nothing"

dvc exp run --name less-image -S unlearn.alpha=0.7 >"$work/exp.log" 2>&1 ||
    fail "dvc exp run" "$work/exp.log"
[ "$(stages_run "$work/exp.log")" = "unlearn evaluate@unlearned score report" ] ||
    fail "another alpha runs unlearn, evaluate@unlearned, score and report alone" "$work/exp.log"
ok "another alpha runs unlearn, evaluate@unlearned, score and report alone"

dvc exp run --name other-gate -S judging.least_kappa=0.7 >"$work/exp.log" 2>&1 ||
    fail "dvc exp run" "$work/exp.log"
[ "$(stages_run "$work/exp.log")" = "calibrate_judges judge analyse report" ] ||
    fail "judging again generates nothing" "$work/exp.log"
ok "judging again generates nothing"

dvc exp push --quiet origin less-image >"$work/push.log" 2>&1 || fail "dvc exp push" "$work/push.log"
(cd "$work/clone" && dvc exp pull --quiet origin less-image && dvc exp apply --quiet less-image) \
    >"$work/pull.log" 2>&1 || fail "dvc exp pull" "$work/pull.log"
diff -r models/unlearned "$work/clone/models/unlearned" >"$work/diff.log" ||
    fail "a clone gets an experiment's model" "$work/diff.log"
ok "a clone gets an experiment by dvc exp pull"

echo "$passed passed, 0 failed"
