"""Adapters (LoRA): put into a model, and folders of their own, tied to the base they belong to."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from parallax.errors import ModelError
from parallax.files import digest, read_json, replace_folder, write_json
from parallax.params import Lora

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel, ProcessorMixin

TRAINED = "default"
CONFIG = "adapter_config.json"
BASE = "base.json"


@dataclass(frozen=True)
class Base:
    """What an adapter was trained on: a folder or hub name, its revision, its digest if known."""

    name_or_path: str
    revision: str | None
    md5: str | None


def add_adapters(
    model: "PreTrainedModel",
    lora: Lora,
    seed: int,
    targets: str,
    below: "PeftModel | None" = None,
) -> "PeftModel":
    """Freeze `model` and put trainable adapters into it, in place, where names match `targets`.

    Adapters that are already there, `below`, stay in use and as they are.
    """
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=targets,
    )
    if below is None:
        return get_peft_model(model, config, TRAINED)
    names = list(below.peft_config)
    below.add_adapter(TRAINED, config)
    below.base_model.set_adapter([*names, TRAINED])
    below.set_requires_grad(names, False)
    return below


def read_base(folder: Path) -> Base | None:
    """Return the base of the adapter in `folder`, or None if no adapter lies there.

    Raises:
        ModelError: the adapter names no base, or its base has changed since.
    """
    if not (folder / CONFIG).is_file():
        return None
    config = read_json(folder / CONFIG)
    name = config.get("base_model_name_or_path")
    if not name:
        raise ModelError(
            f"adapter {str(folder)!r}: {CONFIG} names no base; write it there as"
            " base_model_name_or_path"
        )
    recorded = folder / BASE
    md5 = read_json(recorded)["md5"] if recorded.is_file() else None
    if md5 is not None:
        _check(folder, Path(name), md5)
    return Base(name, config.get("revision"), md5)


def _check(folder: Path, base: Path, md5: str) -> None:
    if not base.is_dir():
        raise ModelError(
            f"adapter {str(folder)!r}: its base {str(base)!r} is missing; bring it back (`dvc"
            f" checkout {base}` or `dvc pull {base}`), or train the adapter again"
        )
    if digest(base) != md5:
        raise ModelError(
            f"adapter {str(folder)!r}: its base {str(base)!r} is another one than it was trained"
            " on; run `dvc repro`, or bring the old base back"
        )


def write_adapter(
    adapted: "PeftModel", processor: "ProcessorMixin", base: Path, folder: Path
) -> None:
    """Write the trained adapter, its base's path and digest, and the processor into `folder`."""
    adapted.peft_config[TRAINED].base_model_name_or_path = base.as_posix()
    with replace_folder(folder) as part:
        adapted.save_pretrained(part, selected_adapters=[TRAINED], save_embedding_layers=False)
        (part / "README.md").unlink()  # a model card without content
        processor.save_pretrained(part)
        write_json(part / BASE, {"md5": digest(base)})
