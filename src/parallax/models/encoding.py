"""From a question and its answer to token ids, with the answer's place known."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parallax.errors import ModelError

if TYPE_CHECKING:
    import pandas as pd
    import torch
    from transformers import ProcessorMixin


@dataclass(frozen=True)
class Sample:
    """A tokenised prompt and answer.

    `tokens[answer_start:]` are the answer and the end-of-sequence token: the only ones that a loss
    sees. `portrait` is the row of the portrait table that the prompt shows, or None for text only.
    """

    tokens: tuple[int, ...]
    answer_start: int
    portrait: int | None

    @property
    def answer_length(self) -> int:
        """Number of answer tokens, the end-of-sequence token included."""
        return len(self.tokens) - self.answer_start


class Encoder:
    """Prompts of the LLaVA-1.5 form, tokenised by a model's own processor.

    With the portrait `USER: <image>\\n{question}\\nASSISTANT: {answer}`, without it
    `USER: {question}\\nASSISTANT: {answer}`, and the end-of-sequence token after the answer.
    """

    def __init__(self, processor: "ProcessorMixin") -> None:
        self.processor = processor
        self.tokenizer = processor.tokenizer
        self.pad = int(self.tokenizer.pad_token_id)
        self.eos = int(self.tokenizer.eos_token_id)

    def portraits(self, table: "pd.DataFrame") -> "tuple[torch.Tensor, dict[str, int]]":
        """Return the portraits as the vision tower wants them, (N, 3, H, W), and each person's row.

        `table` has the columns person_id and portrait (an encoded image file).
        """
        from PIL import Image

        images = [Image.open(io.BytesIO(file)).convert("RGB") for file in table["portrait"]]
        pixels: torch.Tensor = self.processor.image_processor(images, return_tensors="pt")[
            "pixel_values"
        ]
        return pixels, {person: row for row, person in enumerate(table["person_id"])}

    def prompt(self, question: str, with_image: bool) -> str:
        """Return the text that the model is given, up to and including `ASSISTANT:`."""
        shown = self.processor.image_token * self._image_tokens + "\n" if with_image else ""
        return f"USER: {shown}{question}\nASSISTANT:"

    @property
    def _image_tokens(self) -> int:
        processor = self.processor
        size = processor.image_processor
        side = (getattr(size, "crop_size", None) or size.size)["height"]
        patches = (side // processor.patch_size) ** 2
        extra = int(processor.num_additional_image_tokens)
        cut = 1 if processor.vision_feature_select_strategy == "default" else 0
        return int(patches + extra - cut)

    def encode(
        self, questions: Sequence[str], answers: Sequence[str], portraits: Sequence[int | None]
    ) -> list[Sample]:
        """Tokenise prompts with their answers.

        Raises:
            ModelError: the tokenizer merges the end of a prompt with its answer, so that the
                answer's first token is not known.
        """
        prompts = [
            self.prompt(question, portrait is not None)
            for question, portrait in zip(questions, portraits, strict=True)
        ]
        texts = [f"{p} {a}" for p, a in zip(prompts, answers, strict=True)]
        heads = self._tokens(prompts)
        wholes = self._tokens(texts)
        samples = []
        for text, head, whole, portrait in zip(texts, heads, wholes, portraits, strict=True):
            if whole[: len(head)] != head:
                raise ModelError(f"the tokenizer merges prompt and answer of {text!r}")
            samples.append(Sample((*whole, self.eos), len(head), portrait))
        return samples

    def encode_prompts(
        self, questions: Sequence[str], portraits: Sequence[int | None]
    ) -> list[Sample]:
        """Tokenise prompts without answers, for generation."""
        prompts = [
            self.prompt(question, portrait is not None)
            for question, portrait in zip(questions, portraits, strict=True)
        ]
        return [
            Sample(tuple(tokens), len(tokens), portrait)
            for tokens, portrait in zip(self._tokens(prompts), portraits, strict=True)
        ]

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        distinct = list(dict.fromkeys(texts))  # options repeat their prompt
        tokens = dict(zip(distinct, self.tokenizer(distinct)["input_ids"], strict=True))
        return [tokens[text] for text in texts]
