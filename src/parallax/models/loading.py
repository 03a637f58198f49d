"""Load and save a model together with its processor."""

import contextlib
import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallax.errors import ModelError
from parallax.files import replace_folder
from parallax.models.adapters import read_base
from parallax.models.device import best_device
from parallax.models.families import Family, family_of
from parallax.models.weights import put_on, read_model
from parallax.params import Attention, Model, Quantization

if TYPE_CHECKING:
    import torch
    from peft import PeftModel
    from transformers import PretrainedConfig, PreTrainedModel, ProcessorMixin


@dataclass(frozen=True)
class Loaded:
    """A model and the processor that belongs to it, or its tokenizer where it takes text alone.

    `adapters` are those that are in use and not part of the weights, which are then quantized.
    """

    model: "PreTrainedModel"
    processor: "ProcessorMixin"
    adapters: "PeftModel | None" = None

    @property
    def family(self) -> Family:
        """The family that the model is of."""
        return family_of(self.model.config)


def load(
    name_or_path: str | Path,
    dtype: str = "float32",
    revision: str | None = None,
    attention: Attention | None = None,
    quantization: Quantization | None = None,
) -> Loaded:
    """Load a model and its processor from a local folder or, by name, from the hub.

    A folder that holds an adapter is loaded together with its base, and merged unless the weights
    are quantized. Remote code is off; the model is in evaluation mode on the best device that torch
    sees. Without `attention` the library chooses.

    Raises:
        ModelError: nothing loadable is there, the architecture is not supported, an adapter's base
            is missing or has changed, or a package for `attention` or `quantization` is missing.
    """
    folder = Path(name_or_path)
    base = read_base(folder)
    if base is None:
        return _load_whole(name_or_path, dtype, revision, attention, quantization)
    try:
        below = load(base.name_or_path, dtype, base.revision, attention, quantization)
    except ModelError as error:
        raise ModelError(f"adapter {str(folder)!r}: its base can't be loaded: {error}") from None
    adapters = put_on(below.model, below.adapters, folder, merge=quantization is None)
    processor = below.processor
    if (folder / "tokenizer_config.json").is_file():
        processor = below.family.processor().from_pretrained(folder, trust_remote_code=False)
    return Loaded(below.model.eval(), processor, adapters)


def _load_whole(
    name_or_path: str | Path,
    dtype: str,
    revision: str | None,
    attention: Attention | None,
    quantization: Quantization | None,
) -> Loaded:
    import torch

    _check_attention(attention)
    form = {"dtype": getattr(torch, dtype), "attn_implementation": attention}
    with _explained(name_or_path, "config.json, model.safetensors and the processor's files"):
        config, processor = _read_kind(name_or_path, revision)
        family = family_of(config)
        form |= _quantize(quantization, family, form["dtype"])
        model = read_model(family.model(), name_or_path, revision=revision, **form)
    if quantization is None:  # quantized weights are where they were made
        model = model.to(best_device())
    model.eval()
    if not family.shows_images:
        check_text_model(model, str(name_or_path))
    return Loaded(model, processor)


def check_text_model(model: "PreTrainedModel", name: str) -> None:
    """Try what is taken for granted of any causal language model, of whichever architecture.

    Raises:
        ModelError: a later token changes an earlier one's prediction, or the logits are not those
            of the output layer on the last states (some models cap or scale them).
    """
    import torch

    tokens = torch.tensor([[1, 2, 3], [1, 2, 4]], device=model.device)
    with torch.inference_mode():
        states = model.base_model(input_ids=tokens, use_cache=False).last_hidden_state
        logits = model(input_ids=tokens, use_cache=False).logits.float()
        own = model.get_output_embeddings()(states).float()
    if not torch.allclose(logits[0, :2], logits[1, :2], rtol=1e-3, atol=1e-3):
        raise ModelError(f"model {name!r}: it looks at later tokens; give a causal language model")
    if not torch.allclose(logits, own, rtol=1e-5, atol=1e-5):
        raise ModelError(
            f"model {name!r}: it changes the output layer's logits (caps or scales them), which is"
            " not supported; give another model"
        )


def outline(name_or_path: str | Path, revision: str | None = None) -> Loaded:
    """Return what `load` does, but without weights: the model is on torch's `meta` device.

    The folder needs no weights; of a hub name small files alone are fetched.

    Raises:
        ModelError: there is no usable configuration or processor, or the architecture is not
            supported.
    """
    with _explained(name_or_path, "config.json and the processor's files"):
        config, processor = _read_kind(name_or_path, revision)
        return Loaded(outline_again(config), processor)


def outline_again(
    config: "PretrainedConfig", dtype: str = "float32", attention: Attention | None = None
) -> "PreTrainedModel":
    """Return a model of a configuration, in a number format, without weights."""
    import torch

    kind = family_of(config).model()
    # The outline of flash attention is that of sdpa, and needs no package.
    shown = "sdpa" if attention == "flash_attention_2" else attention
    with torch.device("meta"):
        model: PreTrainedModel = kind.from_config(
            copy.deepcopy(config), dtype=getattr(torch, dtype), attn_implementation=shown
        )
        return model


def _read_kind(
    name_or_path: str | Path, revision: str | None
) -> "tuple[PretrainedConfig, ProcessorMixin]":
    """Read configuration and processor of a model of a family that is known here."""
    from transformers import AutoConfig

    options = {"revision": revision, "trust_remote_code": False}
    config = AutoConfig.from_pretrained(name_or_path, **options)
    processor_class = family_of(config).processor()
    return config, processor_class.from_pretrained(name_or_path, **options)


@contextlib.contextmanager
def _explained(name_or_path: str | Path, files: str) -> Iterator[None]:
    """Turn what the libraries raise on a missing or broken model into an error of ours."""
    from safetensors import SafetensorError

    try:
        yield
    except ModelError as error:
        raise ModelError(f"model {str(name_or_path)!r}: {error}") from None
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(
            f"model {str(name_or_path)!r}: {str(error).splitlines()[0].rstrip('.: ')};"
            f" give a folder that holds {files}, or a hub name that can be reached"
        ) from None


def load_params_model(model: Model, trained: Path) -> Loaded:
    """Load `trained`, a folder that a stage wrote, in the form that params.yaml asks for."""
    return load(trained, model.dtype, attention=model.attention, quantization=model.quantization)


def set_attention(model: "PreTrainedModel", attention: Attention | None) -> None:
    """Let a model that was built here compute attention in this way; None leaves the library's.

    Raises:
        ModelError: the package for it is missing.
    """
    _check_attention(attention)
    if attention is not None:
        model.set_attn_implementation(attention)


def _check_attention(attention: Attention | None) -> None:
    from transformers.utils import is_flash_attn_2_available

    if attention == "flash_attention_2" and not is_flash_attn_2_available():
        raise ModelError(
            "model.attention 'flash_attention_2': the package flash-attn is not installed, or there"
            " is no GPU for it; install it (pip install flash-attn), or set attention to sdpa"
        )


def _quantize(
    quantization: Quantization | None, family: Family, dtype: "torch.dtype"
) -> dict[str, Any]:
    """Return how weights are made 8 or 4 bits wide while they are loaded; products are in `dtype`.

    int8 as in Dettmers et al. 2022 (arXiv 2208.07339), int4 is NF4 of Dettmers et al. 2023 (arXiv
    2305.14314). Only what adapters sit on is quantized: images are seen as before.
    """
    from transformers import BitsAndBytesConfig
    from transformers.utils import is_bitsandbytes_available

    if quantization is None:
        return {}
    if not is_bitsandbytes_available():
        raise ModelError(
            f"model.quantization {quantization!r}: the package bitsandbytes is not installed;"
            " install it (pip install bitsandbytes), or set quantization to null"
        )
    if quantization == "int4" and best_device() == "cpu":
        # Its kernels for processors pack the weights for answering, and pass no gradient then.
        raise ModelError(
            "model.quantization 'int4' needs a GPU, and torch sees none; set quantization to int8"
            " or null"
        )
    others = [rf"(?!{family.lora_targets}$).*"]
    if quantization == "int8":
        made = BitsAndBytesConfig(load_in_8bit=True, llm_int8_skip_modules=others)
    else:
        made = BitsAndBytesConfig(
            load_in_4bit=True,
            llm_int8_skip_modules=others,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=dtype,
        )
    return {"quantization_config": made, "device_map": {"": best_device()}}


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
