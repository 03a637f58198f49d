"""The `judging` section of params.yaml."""

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parallax.errors import ParamsError

JudgeName = Literal["lexical", "prototype", "rubric", "guard", "endpoint", "ensemble"]


class JudgeModel(BaseModel):
    """A language model that judges: a local folder or a hub name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name_or_path: Annotated[str, Field(min_length=1)]
    revision: str | None = None
    dtype: Literal["float32", "bfloat16", "float16"] = "bfloat16"
    batch_size: Annotated[int, Field(ge=1)] = 8


class JudgeSettings(BaseModel):
    """Which judges there are, which one is primary, and what it must reach."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    primary: JudgeName
    others: tuple[JudgeName, ...] = ()
    # Members of the ensemble.
    members: tuple[JudgeName, ...] = ("lexical", "prototype")
    rubric: JudgeModel = JudgeModel(name_or_path="Qwen/Qwen2.5-32B-Instruct")
    guard: JudgeModel = JudgeModel(name_or_path="meta-llama/Llama-Guard-3-8B")
    # Model name that the endpoint serves; its address comes from the environment.
    endpoint: Annotated[str, Field(min_length=1)] = "Qwen/Qwen2.5-32B-Instruct"
    # Least kappa on the calibration set's test part that lets a judge be primary.
    least_kappa: Annotated[float, Field(ge=0, le=1)] = 0.75
    # Smallest effect of interest, a fraction; a quarter of it bounds the judge's own bias.
    smallest_effect: Annotated[float, Field(gt=0, le=1)] = 0.1
    # Lets a model judge its own responses.
    allow_self: bool = False

    @property
    def names(self) -> tuple[JudgeName, ...]:
        """The primary judge and the others, each once."""
        return tuple(dict.fromkeys((self.primary, *self.others)))


def read_settings(path: Path = Path("params.yaml")) -> JudgeSettings:
    """Read and check the section `judging`; the other sections are left alone.

    Raises:
        ParamsError: the file or the section is missing, or a value is refused.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParamsError(f"{path}: no such file; run from the project's top folder") from None
    except yaml.YAMLError as error:
        raise ParamsError(f"{path}: not YAML ({' '.join(str(error).split())})") from None
    if not isinstance(values, dict) or "judging" not in values:
        raise ParamsError(f"{path}: judging is missing: name at least judging.primary")
    try:
        return JudgeSettings.model_validate(values["judging"])
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(("judging", *(str(part) for part in first["loc"])))
        raise ParamsError(f"{path}: {key} = {first['input']!r}: {first['msg'].lower()}") from None
