"""What would make a training fit."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from parallax.dry_run.assessment import Assessment, Stage
from parallax.dry_run.memory import GIB
from parallax.params import Params, parse_params

Assess = Callable[[Params], Assessment]
Fits = Callable[[Assessment], bool]
Value = str | int | bool


@dataclass(frozen=True)
class Change:
    """New values of parameters by dotted key; printed as arguments of `dvc exp run`."""

    values: Mapping[str, Value]

    def __str__(self) -> str:
        """Return `-S KEY=VALUE` for each."""
        return " ".join(f"-S {key}={str(value).lower()}" for key, value in self.values.items())

    def beside(self, other: "Change") -> "Change":
        """Return both; the other's values count where they meet."""
        return Change({**self.values, **other.values})

    def apply(self, params: Params) -> Params:
        """Return the parameters with the new values.

        Raises:
            ParamsError: they contradict others.
        """
        tree = params.model_dump()
        for key, value in self.values.items():
            section, name = key.split(".")
            tree[section][name] = value
        return parse_params(tree, "advice")


def advise(stage: Stage, params: Params, assess: Assess, fits: Fits) -> str:
    """Say with which changes of parameters a stage would fit, and what it would take then.

    Each change is tried alone; of several values of one parameter the first that fits is told.
    Where no change is enough they are added one by one, those first that change results least.
    """
    alone: dict[tuple[str, ...], str] = {}
    together, assessment = Change({}), assess(params)
    for change in list_changes(stage, params):
        keys = tuple(change.values)
        if keys in alone:
            continue
        found = assess(change.apply(params))
        if fits(found):
            alone[keys] = f"{change} ({_gib(found)})"
        elif not alone and not fits(assessment):
            together = together.beside(change)
            assessment = assess(together.apply(params))
    if alone:
        return f"it would fit with {', or '.join(alone.values())}"
    if fits(assessment):
        return f"it would fit with {together} ({_gib(assessment)})"
    return (
        f"it would not fit even with {together} ({_gib(assessment)}): choose a smaller model or a"
        " larger device"
    )


def list_changes(stage: Stage, params: Params) -> Iterator[Change]:
    """Yield what can be changed, each further one at a higher price.

    Recomputing activations gives the same gradients; a number format, adapters and smaller batches
    make another training, quantized weights another model.
    """
    section = params.sft if stage == "sft" else params.unlearn
    if not params.model.gradient_checkpointing:
        yield Change({"model.gradient_checkpointing": True})
    if params.model.dtype == "float32":
        yield Change({"model.dtype": "bfloat16"})
    if section.tuning == "full":
        yield Change({f"{stage}.tuning": "lora"})
    size = section.batch_size
    while size > 1:
        size //= 2
        yield Change({f"{stage}.batch_size": size})
    # Quantized weights can be neither trained nor merged into, in either stage.
    adapters: dict[str, Value] = {
        f"{name}.{key}": value
        for name in ("sft", "unlearn")
        for key, value in (("tuning", "lora"), ("save", "adapter"))
        if getattr(getattr(params, name), key) != value
    }
    for kind in ("int8", "int4"):
        if params.model.quantization is None:
            yield Change({**adapters, "model.quantization": kind})


def _gib(assessment: Assessment) -> str:
    return f"{assessment.memory.on_device / GIB:.1f} GiB"
