"""Load and save a model together with its processor."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import ModelError
from parallax.files import replace_folder
from parallax.models.device import best_device
from parallax.models.families import FAMILIES, Family
from parallax.params import Model

if TYPE_CHECKING:
    from transformers import PreTrainedModel, ProcessorMixin

EMBEDDED = "embedded"


@dataclass(frozen=True)
class Loaded:
    """A vision-language model and the processor that belongs to it."""

    model: "PreTrainedModel"
    processor: "ProcessorMixin"

    @property
    def family(self) -> Family:
        """The family that the model is of."""
        return FAMILIES[self.model.config.model_type]


def load(name_or_path: str | Path, dtype: str = "float32", revision: str | None = None) -> Loaded:
    """Load a model and its processor from a local folder or, by name, from the hub.

    Remote code is off; the model is in evaluation mode on the best device that torch sees.

    Raises:
        ModelError: nothing loadable is there, or the architecture is not supported.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoConfig, AutoModelForImageTextToText

    try:
        config = AutoConfig.from_pretrained(name_or_path, revision=revision)
        if config.model_type not in FAMILIES:
            raise ModelError(
                f"model {str(name_or_path)!r} is of type {config.model_type!r}:"
                f" supported types are {', '.join(FAMILIES)}"
            )
        model = AutoModelForImageTextToText.from_pretrained(
            name_or_path, revision=revision, dtype=getattr(torch, dtype)
        )
        processor_class = FAMILIES[config.model_type].processor()
        processor = processor_class.from_pretrained(name_or_path, revision=revision)
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(
            f"model {str(name_or_path)!r}: {str(error).splitlines()[0].rstrip('.: ')};"
            " give a folder that holds config.json, model.safetensors and the processor's files,"
            " or a hub name that can be reached"
        ) from None
    return Loaded(model.to(best_device()).eval(), processor)


def load_params_model(model: Model, trained: Path) -> Loaded:
    """Load `trained`, a folder that a stage wrote, in the number format of params.yaml."""
    return load(trained, model.dtype)


def save(loaded: Loaded, folder: Path) -> None:
    """Write weights (safetensors) and processor into `folder`, whole or not at all."""
    with replace_folder(folder) as part:
        loaded.model.save_pretrained(part)
        loaded.processor.save_pretrained(part)
        _drop_paths(part / "config.json")


def _drop_paths(config: Path) -> None:
    """Remove the folder that a configuration was read from: same weights, same bytes."""
    values = json.loads(config.read_text())
    if values.pop("_name_or_path", None) is not None:
        config.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n")
