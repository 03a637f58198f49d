"""The models under test: loading them and rendering prompts for them."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import ModelError
from parallax.files import digest
from parallax.framing.prompts import Prompt
from parallax.models.device import best_device
from parallax.models.templates import DATE, prints_today
from parallax.models.weights import put_on, read_model
from parallax.params import Rendering

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

# The file by which a folder of adapters is known.
ADAPTERS = "adapter_config.json"


@dataclass(frozen=True)
class Subject:
    """A causal language model and how prompts are put to it.

    `weights` identifies the weights: a digest of a local folder, or name and commit on a hub.
    """

    name: str
    model: "PreTrainedModel"
    tokenizer: "PreTrainedTokenizerBase"
    rendering: Rendering
    weights: str

    def render(self, prompt: Prompt) -> str:
        """Return the text that the model reads: the chat template's, or the prompt alone."""
        if self.rendering == "raw":
            return prompt.text
        return str(
            self.tokenizer.apply_chat_template(
                list(prompt.messages), add_generation_prompt=True, tokenize=False, date_string=DATE
            )
        )

    def encode(self, rendered: str) -> tuple[int, ...]:
        """Return a rendered prompt's tokens; a chat template has written the special ones."""
        ids = self.tokenizer(rendered, add_special_tokens=self.rendering == "raw")["input_ids"]
        return tuple(ids)

    def decode(self, tokens: tuple[int, ...]) -> str:
        """Return the text of new tokens; role tokens stay, as signs of a continued scaffold."""
        return str(
            self.tokenizer.decode(
                tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    @property
    def ends(self) -> frozenset[int]:
        """The tokens that end a response."""
        named = self.model.generation_config.eos_token_id
        ends = {named} if isinstance(named, int) else set(named or ())
        return frozenset(ends | ({self.tokenizer.eos_token_id} - {None}))

    @property
    def identity(self) -> dict[str, str]:
        """What a response depends on beside prompt, decoding and seed."""
        import torch
        import transformers

        template = self.tokenizer.chat_template if self.rendering == "chat" else ""
        return {
            "weights": self.weights,
            "template": hashlib.sha256(str(template).encode()).hexdigest(),
            "rendering": self.rendering,
            "backend": f"transformers {transformers.__version__}, torch {torch.__version__},"
            f" {self.model.dtype}, {self.model.device.type}",
        }


def load_subject(
    name: str,
    name_or_path: str | Path,
    rendering: Rendering,
    dtype: str = "float32",
    revision: str | None = None,
) -> Subject:
    """Load a causal language model from a local folder or, by name, from the hub.

    A folder of adapters (PEFT) is loaded with its base model and merged into it. Remote code is
    off; the model is in evaluation mode on the best device that torch sees.

    Raises:
        ModelError: nothing loadable is there, weights are missing or adapters don't fit, or it has
            no usable chat template for `rendering` "chat".
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = Path(name_or_path)
    adapters = folder if (folder / ADAPTERS).is_file() else None
    try:
        source = name_or_path if adapters is None else _base_of(adapters)
        model = read_model(
            AutoModelForCausalLM, source, revision=revision, dtype=getattr(torch, dtype)
        )
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            source, revision=revision
        )
        if adapters is not None:
            put_on(model, None, adapters, merge=True)
    except ModelError as error:
        raise ModelError(f"subject {name!r}, model {str(name_or_path)!r}: {error}") from None
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(
            f"subject {name!r}, model {str(name_or_path)!r}:"
            f" {str(error).splitlines()[0].rstrip('.: ')}; give a folder that holds config.json,"
            " model.safetensors and a tokenizer, or adapters whose base is there, or a hub name"
            " that can be reached"
        ) from None
    if rendering == "chat":
        _check_template(name, tokenizer.chat_template)
    weights = _identify(source, model)
    if adapters is not None:
        weights += f"+{digest(adapters)}"
    return Subject(name, model.to(best_device()).eval(), tokenizer, rendering, weights)


def _base_of(adapters: Path) -> str:
    """Return where the base model of a folder of adapters is: a folder, or a name on the hub."""
    return str(
        json.loads((adapters / "adapter_config.json").read_text())["base_model_name_or_path"]
    )


def _identify(source: str | Path, model: "PreTrainedModel") -> str:
    if Path(source).is_dir():
        return digest(Path(source))
    return f"{source}@{getattr(model.config, '_commit_hash', None)}"


def _check_template(name: str, template: object) -> None:
    if not template:
        raise ModelError(
            f"subject {name!r}: its tokenizer has no chat template; use the rendering 'raw', as for"
            " any base model"
        )
    if prints_today(str(template)):
        raise ModelError(
            f"subject {name!r}: its chat template prints today's date, so that prompts would differ"
            " from day to day; write a fixed date into the template"
        )
