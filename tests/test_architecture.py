"""Imports point down, stages start fast, and dvc.yaml says what the stages really use."""

import ast
import functools
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from parallax.params import Params

TOP = Path(__file__).parents[1]
SOURCE = TOP / "src"
PACKAGE = SOURCE / "parallax"

# Rooms from the ground up; a room imports from rooms below it, and from itself.
FLOORS = (
    {
        *("errors", "files", "instances", "launching", "params", "pixels", "processes"),
        *("prompts", "provenance", "records", "registry", "seeding", "words"),
    },
    {"stats", "validation"},
    {"models"},
    {"training"},
    {"framing", "umu", "unlearn"},
    {"proof", "report", "tracking"},
    {"dry_run", "grid", "plan", "presets", "stages"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
GROUND = FLOORS[0]
# The rooms whose code decides what a stage writes.
DECIDING = {
    *("framing", "models", "proof", "report", "stats", "training", "umu", "unlearn", "validation"),
    *("instances", "pixels", "prompts", "provenance", "records", "seeding", "words"),
}
HEAVY = {"datasets", "great_expectations", "matplotlib", "mlflow", "torch", "transformers"}


def module_name(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def tree_of(module):
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def is_for_types_alone(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def walk(node, everywhere):
    """All nodes; without `everywhere`, neither those of functions nor those for types alone."""
    for child in ast.iter_child_nodes(node):
        if not everywhere and (
            is_for_types_alone(child) or isinstance(child, ast.FunctionDef | ast.Lambda)
        ):
            continue
        yield child
        yield from walk(child, everywhere)


def imports(module, everywhere=True):
    """Names of all imported modules; `from package import module` gives the module."""
    found = set()
    for node in walk(tree_of(module), everywhere):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else node.module)
    return found


def room(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def own(modules):
    return {m for m in modules if m in MODULES}


def test_every_room_has_a_floor():
    assert {room(module) for module in MODULES} - {""} <= set(FLOOR)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module):
    here = room(module)
    for other in own(imports(module)):
        there = room(other)
        if there in ("", here) or not here:
            continue
        below = FLOOR[there] < FLOOR[here]
        level = FLOOR[there] == FLOOR[here] and here in GROUND
        # Within the rooms of experiments nobody looks into a neighbour.
        assert below or level, f"{module} imports {other}"


@pytest.mark.parametrize("module", MODULES)
def test_nobody_imports_a_stage(module):
    stages = {m for m in own(imports(module)) if room(m) == "stages"}
    assert stages <= {"parallax.stages.command"}, f"{module} imports {stages}"
    assert not stages or room(module) == "stages"


@pytest.mark.parametrize("module", MODULES)
def test_tracking_alone_knows_mlflow(module):
    used = {name for name in imports(module) if name.split(".")[0] == "mlflow"}
    assert not used or room(module) == "tracking"


def test_starting_a_stage_loads_nothing_heavy():
    stages = [module for module in MODULES if room(module) == "stages"]
    code = (
        "import importlib, sys\n"
        f"for stage in {stages!r}:\n"
        "    importlib.import_module(stage)\n"
        f"    loaded = sorted(set({sorted(HEAVY)!r}) & sys.modules.keys())\n"
        "    if loaded: sys.exit(f'{stage} loads {loaded}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


# What a stage reads of params.yaml, by following attributes through aliases and calls.


def section_of(chain):
    """The class of the section at a chain of keys, or None for a leaf."""
    here = Params
    for key in chain:
        here = here.model_fields[key].annotation
        if not (isinstance(here, type) and issubclass(here, BaseModel)):
            return None
    return here


def own_reads(section, prefix, attribute):
    """What a property or method of a section reads: named attributes, or the whole section."""
    member = inspect.getattr_static(section, attribute, None)
    if not isinstance(member, property):
        return {prefix}
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(member.fget)))
    names = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"
    }
    dynamic = any(
        isinstance(n, ast.Call) and ast.unparse(n.func) == "getattr" for n in ast.walk(tree)
    )
    if dynamic or not names <= set(section.model_fields):
        return {prefix}
    return {(*prefix, name) for name in names}


class Reader(ast.NodeVisitor):
    """Collects the keys that a piece of code reads through names bound to sections."""

    def __init__(self, module, bound, seen):
        self.module, self.bound, self.seen = module, dict(bound), seen
        self.reads = set()

    def chain(self, node):
        """The keys that an expression stands for, or None; a property ends in its reads."""
        if isinstance(node, ast.Name):
            return self.bound.get(node.id)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "load_params":
            return ()
        if isinstance(node, ast.Attribute):
            inner = self.chain(node.value)
            if inner is not None and node.attr in getattr(section_of(inner), "model_fields", {}):
                return (*inner, node.attr)
        return None

    def visit_Assign(self, node):
        chain = self.chain(node.value)
        target = node.targets[0]
        if chain is not None and isinstance(target, ast.Name) and section_of(chain):
            self.bound[target.id] = chain
        else:
            self.generic_visit(node)

    def visit_Attribute(self, node):
        chain = self.chain(node)
        inner = self.chain(node.value)
        if chain is not None:
            self.reads.add(chain)
        elif inner is not None and section_of(inner):
            self.reads |= own_reads(section_of(inner), inner, node.attr)
        else:
            self.generic_visit(node)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self.bound:
            self.reads.add(self.bound[node.id])

    def visit_Call(self, node):
        if self.chain(node) is not None:
            return
        self.visit(node.func)
        named = [(word.arg, word.value) for word in node.keywords]
        for place, value in [*enumerate(node.args), *named]:
            chain = self.chain(value)
            if chain is not None and section_of(chain):
                self.reads |= self.follow(node.func, place, chain)
            else:
                self.visit(value)

    def follow(self, function, place, chain):
        """What the called function reads of the section that it is given."""
        found = find_function(self.module, ast.unparse(function))
        if found is None:
            return {chain}
        module, definition = found
        arguments = [
            *definition.args.posonlyargs,
            *definition.args.args,
            *definition.args.kwonlyargs,
        ]
        names = [argument.arg for argument in arguments]
        name = names[place] if isinstance(place, int) else place
        if name not in names:
            return {chain}
        key = (module, definition.name, name, chain)
        if key in self.seen:
            return set()
        inner = Reader(module, {name: chain}, self.seen | {key})
        for statement in definition.body:
            inner.visit(statement)
        return inner.reads


def find_function(module, name):
    """The definition behind `name` or `module.name` as seen from a module of ours, or None."""
    head, _, rest = name.rpartition(".")
    for node in ast.walk(tree_of(module)):
        if not head and isinstance(node, ast.FunctionDef) and node.name == name:
            return module, node
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                called = alias.asname or alias.name
                inner = f"{node.module}.{alias.name}"
                if head and called == head and inner in MODULES:
                    return find_function(inner, rest)
                if not head and called == name and node.module in MODULES:
                    return find_function(node.module, alias.name)
    return None


@functools.cache
def reads_of(module):
    """Dotted keys and sections of params.yaml that a module's functions read."""
    reader = Reader(module, {}, frozenset())
    reader.visit(tree_of(module))
    return {".".join(read) for read in reader.reads}


def leaves(tree, path=()):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield ".".join((*path, key))


def covers(declared, read):
    """Whether a section (or "", which is all of them) holds a key or section."""
    return declared in ("", read) or read.startswith(f"{declared}.")


SHIPPED = yaml.safe_load((TOP / "params.yaml").read_text(encoding="utf-8"))
LEAVES = sorted(leaves(SHIPPED))


# dvc.yaml.


PIPELINE = (TOP / "dvc.yaml").read_text(encoding="utf-8")
# The second pipeline, whose own parameters lie over those of params.yaml.
PROOF = TOP / "models/proof"
OVERLAY = "models/proof/params.yaml"
LAID = yaml.safe_load((TOP / OVERLAY).read_text(encoding="utf-8"))
# Parameters that dvc.yaml puts into a command and its dependencies: `${section.key}`.
FILLED_IN = set(re.findall(r"\$\{(?!item)([\w.]+)\}", PIPELINE))


def value_of(key):
    value = SHIPPED
    for part in key.split("."):
        value = value[part]
    return value


def stages():
    text = re.sub(r"\$\{(?!item)([\w.]+)\}", lambda match: value_of(match[1]), PIPELINE)
    proof = yaml.safe_load((PROOF / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    declared = yaml.safe_load(text)["stages"] | {f"proof:{n}": entry for n, entry in proof.items()}
    return {
        name: entry | entry["do"] if "do" in entry else entry for name, entry in declared.items()
    }


STAGES = stages()
PROOFS = {stage for stage in STAGES if stage.startswith("proof:")}
each_stage = pytest.mark.parametrize("stage", STAGES)


def names_of(stage, key):
    entries = STAGES[stage].get(key, [])
    return {name for entry in entries for name in (entry if isinstance(entry, dict) else [entry])}


def params_of(stage, file=None):
    """Keys that a stage declares of params.yaml and of the overlay, or of one of them."""
    found = set()
    for entry in STAGES[stage].get("params", []):
        here, keys = (
            next(iter(entry.items())) if isinstance(entry, dict) else ("params.yaml", [entry])
        )
        if file in (None, here):
            found |= set(keys)
    return found


def outputs(stage):
    return names_of(stage, "outs") | names_of(stage, "metrics") | names_of(stage, "plots")


def module_of(stage):
    (module,) = re.findall(r"-m (parallax\.stages\.\w+)", STAGES[stage]["cmd"])
    return module


def paths_in_command(stage):
    """Words of the command that are paths: those with a slash, after `name=` where there is one."""
    words = STAGES[stage]["cmd"].split("parallax.stages.", 1)[1].split()[1:]
    values = [word.rpartition("=")[2] for word in words if not word.startswith("--")]
    return {value for value in values if "/" in value}


def touches(path, others):
    """Whether a path is one of the others, holds one, or lies in one."""
    return any(
        path == other or path.startswith(f"{other}/") or other.startswith(f"{path}/")
        for other in others
    )


def transitive(module):
    seen, waiting = set(), [module]
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            waiting += own(imports(here))
            package = here.rpartition(".")[0]
            if package in MODULES and package != "parallax":
                waiting.append(package)
    return seen


@each_stage
def test_parameters_that_a_stage_reads_are_declared(stage):
    declared = params_of(stage)
    read = reads_of(module_of(stage))
    undeclared = sorted(r for r in read if not any(covers(d, r) for d in declared))
    # A section that is read as a whole may be declared by all its leaves.
    undeclared = [
        leaf
        for read_key in undeclared
        for leaf in LEAVES
        if covers(read_key, leaf) and not any(covers(d, leaf) for d in declared)
    ]
    assert not undeclared, f"{stage} reads {undeclared}, which dvc.yaml does not declare"


@each_stage
def test_parameters_that_a_stage_declares_are_read(stage):
    read = reads_of(module_of(stage))
    unread = {d for d in params_of(stage) if not any(covers(d, r) or covers(r, d) for r in read)}
    assert not unread, f"{stage} declares {sorted(unread)}, which it does not read"
    known = {d for d in params_of(stage) if any(covers(d, leaf) for leaf in LEAVES)}
    assert known == params_of(stage)


@pytest.mark.parametrize("leaf", LEAVES)
def test_every_parameter_is_read_by_a_stage_and_by_name(leaf):
    readers = {
        s for s in STAGES if s != "report" and any(covers(r, leaf) for r in reads_of(module_of(s)))
    }
    assert readers or leaf in FILLED_IN, f"no stage reads {leaf}"
    name = leaf.rpartition(".")[2]
    users = [
        module
        for module in MODULES
        if module != "parallax.params"
        and any(isinstance(n, ast.Attribute) and n.attr == name for n in ast.walk(tree_of(module)))
    ]
    inside_params = any(
        isinstance(n, ast.Attribute) and n.attr == name
        for n in ast.walk(tree_of("parallax.params"))
    )
    tasks = {"qa", "classification", "cloze", "generation"}  # looked up by their names
    assert users or inside_params or name in tasks or leaf in FILLED_IN, f"nothing uses {leaf}"


@each_stage
def test_uncached_outputs_are_metrics_or_plots(stage):
    if stage in PROOFS:  # nothing of the proof is cached
        written = [
            out for kind in ("outs", "metrics", "plots") for out in STAGES[stage].get(kind, [])
        ]
        assert all(isinstance(out, dict) for out in written), stage
        assert all(value["cache"] is False for out in written for value in out.values()), stage
        return
    # DVC does not put a stage with another uncached output into its run cache.
    loose = [entry for entry in STAGES[stage].get("outs", []) if isinstance(entry, dict)]
    assert not loose, f"{stage}: {loose}: list it under metrics or plots"


@pytest.mark.parametrize("stage", sorted(PROOFS))
def test_the_proof_declares_each_parameter_from_the_file_that_has_it(stage):
    laid = set(leaves(LAID))
    overlaid = "--overlay" in STAGES[stage]["cmd"]
    for key in params_of(stage, "params.yaml"):
        hidden = {leaf for leaf in laid if covers(key, leaf)}
        # A section that both files have a part of is declared of both.
        assert not overlaid or not hidden or key in params_of(stage, OVERLAY), (stage, key)
    for key in params_of(stage, OVERLAY):
        assert overlaid
        assert any(covers(key, leaf) for leaf in laid), (stage, key)


@each_stage
def test_paths_of_the_command_are_declared(stage):
    declared = names_of(stage, "deps") | outputs(stage)
    declared |= {OVERLAY} if params_of(stage, OVERLAY) else set()
    loose = {path for path in paths_in_command(stage) if not touches(path, declared)}
    assert not loose, f"{stage}: {sorted(loose)} in cmd, but neither a dependency nor an output"


@each_stage
def test_declared_paths_are_in_the_command(stage):
    data = {path for path in names_of(stage, "deps") if not path.startswith("src/")}
    words = paths_in_command(stage)
    if "subjects" in params_of(stage):
        values = LAID if stage in PROOFS else SHIPPED
        words |= {subject["name_or_path"] for subject in values["subjects"]}
    loose = {path for path in data | outputs(stage) if not touches(path, words)}
    assert not loose, f"{stage}: {sorted(loose)} declared, but not in cmd"


@each_stage
def test_code_that_decides_a_result_is_a_dependency(stage):
    declared = {path for path in names_of(stage, "deps") if path.startswith("src/")}
    used = {
        MODULES[module].relative_to(TOP).as_posix()
        for module in transitive(module_of(stage))
        if room(module) in DECIDING or module == module_of(stage)
    }
    bare = {path for path in used if (TOP / path).read_text().count("\n") <= 1}
    missing = {
        path
        for path in used - bare
        if not any(path == d or path.startswith(f"{d}/") for d in declared)
    }
    assert not missing, f"{stage} uses {sorted(missing)}, which dvc.yaml does not declare"
    unused = {
        d for d in declared if not any(path == d or path.startswith(f"{d}/") for path in used)
    }
    assert not unused, f"{stage} declares {sorted(unused)}, which it does not use"


@each_stage
def test_code_dependencies_exist(stage):
    for path in names_of(stage, "deps"):
        if path.startswith(("src/", "data/raw")):
            assert (TOP / path).exists(), path


def test_no_two_stages_write_one_path():
    written = [path for stage in STAGES for path in outputs(stage)]
    assert len(set(written)) == len(written)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("load_params().data.seed", {"data.seed"}),
        ("p = load_params()\nx = p.sft.lora.rank", {"sft.lora.rank"}),
        ("p = load_params()\nu = p.unlearn\nf(u.alpha)", {"unlearn.alpha"}),
        ("p = load_params()\nf(p.base)", {"base"}),
        ("p = load_params()\np.base.model_dump()", {"base"}),
        ("p = load_params()\np.data.forget_people", {"data.forget_ratio", "data.people"}),
        ("p = load_params()\np.unlearn.descent.epochs", {"unlearn"}),
        ("def f(d):\n    return d.seed\nf(load_params().data)", {"data.seed"}),
    ],
)
def test_the_reader_finds_what_code_reads(code, expected, monkeypatch):
    tree = ast.parse(code)
    monkeypatch.setattr(sys.modules[__name__], "tree_of", lambda module: tree)
    reader = Reader("made", {}, frozenset())
    reader.visit(tree)
    assert {".".join(read) for read in reader.reads} - {""} == expected
