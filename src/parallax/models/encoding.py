"""From a question and its answer to token ids, with the answer's place known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parallax.errors import ModelError
from parallax.models.families import Family
from parallax.models.portraits import Portraits
from parallax.records import MODALITIES, Modality

if TYPE_CHECKING:
    import pandas as pd
    import torch
    from transformers import ProcessorMixin


@dataclass(frozen=True)
class Sample:
    """A tokenised prompt and answer.

    `tokens[answer_start:]` are the answer and the end token: the only ones that a loss sees.
    `portrait` is the row of the portrait table that the prompt shows, or None for text only.
    """

    tokens: tuple[int, ...]
    answer_start: int
    portrait: int | None

    @property
    def answer_length(self) -> int:
        """Number of answer tokens, the end token included."""
        return len(self.tokens) - self.answer_start


class Encoder:
    """Questions and portraits as a family's models take them, by a model's own processor.

    `rows` gives each person's row of the portrait table; it is empty where the model takes text
    alone. `dialogue` is the form of prompts. `pad` is a token, `end` the one that follows an answer
    in training, `ends` those that end a generated one.
    """

    def __init__(
        self, processor: "ProcessorMixin", family: Family, portraits: "pd.DataFrame"
    ) -> None:
        """`portraits` has the columns person_id and portrait (an encoded image file).

        Raises:
            ModelError: the tokenizer or the chat template lacks what is needed.
        """
        self.family = family
        self.tokenizer = getattr(processor, "tokenizer", processor)
        if self.tokenizer.eos_token_id is None:
            raise ModelError(
                "the tokenizer has no end-of-sequence token: set eos_token in its files"
            )
        eos, pad = self.tokenizer.eos_token_id, self.tokenizer.pad_token_id
        # Padding is masked, so that any token will do.
        self.pad = int(eos if pad is None else pad)
        self.dialogue = family.dialogue(processor)
        self.end = self.dialogue.end
        self.ends = frozenset({self.end, int(eos)})
        self.rows: dict[str, int] = {}
        self._image_token = ""
        if family.shows_images:
            self.rows = {person: row for row, person in enumerate(portraits["person_id"])}
            self._portraits = Portraits(processor, portraits["portrait"])
            self._image_token = processor.image_token
            self.image_token_id = int(processor.image_token_id)

    @property
    def modalities(self) -> tuple[Modality, ...]:
        """How the model can be asked: with portraits and by name, or by name alone."""
        return MODALITIES if self.family.shows_images else ("text",)

    def images(self, portraits: Sequence[int]) -> "dict[str, torch.Tensor]":
        """Return the model's inputs, by name, that show these portraits in this order."""
        return self._portraits.inputs(portraits) if portraits else {}

    def prompt(self, question: str, portrait: int | None) -> str:
        """Return the text that the model is given, up to where the answer begins.

        Raises:
            ModelError: the question holds the token that stands for an image.
        """
        shown = None if portrait is None else self._image_token
        text = self.dialogue.prompt(question, shown)
        if not self._image_token:
            return text
        if text.count(self._image_token) != (portrait is not None):
            raise ModelError(
                f"the prompt {text!r} has another number of {self._image_token} than of images;"
                " take it out of the question"
            )
        if portrait is None:
            return text
        return text.replace(self._image_token, self._portraits.tokens(portrait))

    def encode(
        self, questions: Sequence[str], answers: Sequence[str], portraits: Sequence[int | None]
    ) -> list[Sample]:
        """Tokenise prompts with their answers.

        Raises:
            ModelError: the tokenizer merges the end of a prompt with its answer, so that the
                answer's first token is not known.
        """
        prompts = self._prompts(questions, portraits)
        lead = self.dialogue.lead
        texts = [f"{p}{lead}{a}" for p, a in zip(prompts, answers, strict=True)]
        heads = self._tokens(prompts)
        wholes = self._tokens(texts)
        samples = []
        for text, head, whole, portrait in zip(texts, heads, wholes, portraits, strict=True):
            if whole[: len(head)] != head:
                raise ModelError(f"the tokenizer merges prompt and answer of {text!r}")
            samples.append(Sample((*whole, self.end), len(head), portrait))
        return samples

    def encode_prompts(
        self, questions: Sequence[str], portraits: Sequence[int | None]
    ) -> list[Sample]:
        """Tokenise prompts without answers, for generation."""
        tokens = self._tokens(self._prompts(questions, portraits))
        return [
            Sample(tuple(own), len(own), portrait)
            for own, portrait in zip(tokens, portraits, strict=True)
        ]

    def _prompts(self, questions: Sequence[str], portraits: Sequence[int | None]) -> list[str]:
        return [self.prompt(q, portrait) for q, portrait in zip(questions, portraits, strict=True)]

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        distinct = list(dict.fromkeys(texts))  # options repeat their prompt
        made = self.tokenizer(distinct, add_special_tokens=self.dialogue.adds_special)
        tokens = dict(zip(distinct, made["input_ids"], strict=True))
        return [tokens[text] for text in texts]
