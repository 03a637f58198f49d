"""What would make a training fit."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from parallax.dry_run.assessment import Assessment, Device, Stage
from parallax.dry_run.memory import GIB
from parallax.errors import ModelError
from parallax.params import EMBEDDED, Params, parse_params

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


def advise(stage: Stage, params: Params, device: Device, assess: Assess, fits: Fits) -> str:
    """Say with which changes of parameters a stage would fit, and what it would take then.

    Each change that the model takes is tried alone; of several values of one parameter the first
    that fits is told.
    Where no change is enough they are added one by one, those first that change results least.
    """
    alone: dict[tuple[str, ...], str] = {}
    together, assessment = Change({}), assess(params)
    for change in list_changes(stage, params, device):
        keys = tuple(change.values)
        if keys in alone:
            continue
        try:
            found = assess(change.apply(params))
        except ModelError:
            continue  # the model takes no adapters
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


def list_changes(stage: Stage, params: Params, device: Device) -> Iterator[Change]:
    """Yield what can be changed, each further one at a higher price.

    Recomputing activations gives the same gradients; adapters, a number format and smaller batches
    make another training, quantized weights another model. Four bits need a GPU.
    """
    section = params.sft if stage == "sft" else params.unlearn
    if not params.model.gradient_checkpointing:
        yield Change({"model.gradient_checkpointing": True})
    if section.tuning == "full":
        yield Change({f"{stage}.tuning": "lora"})
    if params.model.dtype == "float32" and params.model.name_or_path != EMBEDDED:
        # Weights of 16 bits are tuned by adapters alone, in either stage.
        yield Change({**_adapt(params, tuning="lora"), "model.dtype": "bfloat16"})
    size = section.batch_size
    while size > 1:
        size //= 2
        yield Change({f"{stage}.batch_size": size})
    if params.model.quantization is None:
        # Quantized weights can be neither trained nor merged into, in either stage.
        adapters = _adapt(params, tuning="lora", save="adapter")
        for kind in ("int8", "int4") if device == "cuda" else ("int8",):
            yield Change({**adapters, "model.quantization": kind})


def _adapt(params: Params, **values: Value) -> dict[str, Value]:
    """Return what has to be set in sft and unlearn for both to have these values."""
    return {
        f"{name}.{key}": value
        for name in ("sft", "unlearn")
        for key, value in values.items()
        if getattr(getattr(params, name), key) != value
    }


def _gib(assessment: Assessment) -> str:
    return f"{assessment.memory.on_device / GIB:.1f} GiB"
