"""Weights from files, whole or refused: those of a model, and of an adapter on it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallax.errors import ModelError

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel


def read_model(kind: Any, name_or_path: str | Path, **options: Any) -> "PreTrainedModel":
    """Load a model by the class `kind`, whole; remote code is off.

    Raises:
        ModelError: the checkpoint lacks a weight that is neither tied to one that is there nor left
            out by every checkpoint of this architecture.
    """
    model: PreTrainedModel
    model, told = kind.from_pretrained(
        name_or_path, trust_remote_code=False, output_loading_info=True, **options
    )
    if missing := sorted(told["missing_keys"]):
        raise ModelError(
            f"its files lack the weights {missing[0]!r} and {len(missing) - 1} more, which would be"
            " random; give the whole checkpoint, or mend its config.json"
        )
    return model


def put_on(
    model: "PreTrainedModel", below: "PeftModel | None", folder: Path, merge: bool
) -> "PeftModel | None":
    """Put the adapter in `folder` on `model`, in place, above the adapters `below`.

    Return the adapters that are not part of the weights: none if they are merged, as they are into
    weights that are not quantized.

    Raises:
        ModelError: the adapter doesn't fit the model.
    """
    from peft import PeftConfig, PeftModel

    name = f"loaded{0 if below is None else len(below.peft_config)}"
    try:
        if below is None:
            config = PeftConfig.from_pretrained(str(folder))
            config.inference_mode = True
            below = PeftModel(model, config, name)
        told = below.load_adapter(str(folder), name)
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f"adapter {str(folder)!r} doesn't fit its base: {str(error).splitlines()[0]}"
        ) from None
    for keys, fault in (
        (told.missing_keys, "its file lacks"),
        (told.unexpected_keys, "the base has no place for"),
    ):
        if keys:
            raise ModelError(
                f"adapter {str(folder)!r} doesn't fit its base: {fault}"
                f" {keys[0].replace(f'.{name}', '')!r} and {len(keys) - 1} more weights; name the"
                " base that it was trained on in adapter_config.json, or train it again"
            )
    if merge:
        below.merge_and_unload()
        return None
    names = list(below.peft_config)
    below.base_model.set_adapter(names)
    below.set_requires_grad(names, False)
    return below
