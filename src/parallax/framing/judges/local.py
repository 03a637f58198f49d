"""A causal language model of one's own, as judges use it: next tokens and short greedy answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parallax.errors import ModelError
from parallax.framing.subjects import load_subject
from parallax.params import JudgeModel
from parallax.stats.items import Floats

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Message = dict[str, object]


@dataclass(frozen=True, eq=False)
class LocalModel:
    """A model and its tokenizer; prompts are rendered texts, special tokens included."""

    name: str
    model: "PreTrainedModel"
    tokenizer: "PreTrainedTokenizerBase"

    def render(self, messages: Sequence[Message]) -> str:
        """Return the chat template's text, open for the assistant's turn."""
        return str(
            self.tokenizer.apply_chat_template(
                list(messages), add_generation_prompt=True, tokenize=False
            )
        )

    def render_question(self, question: str) -> str:
        """Return a question by the chat template, or with "Answer:" after it without one."""
        question = self.defuse(question)
        if self.tokenizer.chat_template:
            return self.render([{"role": "user", "content": question}])
        return f"{self.tokenizer.bos_token or ''}{question}\nAnswer:"

    def defuse(self, text: str) -> str:
        """Return `text` with a blank inside each of the tokenizer's special tokens.

        A response may hold role tokens; read as such, they would close the judge's own turn.
        """
        for token in sorted(self.tokenizer.get_added_vocab(), key=lambda name: (-len(name), name)):
            if len(token.strip()) > 1:
                text = text.replace(token, f"{token[0]} {token[1:]}")
        return text

    def encode(self, prompt: str) -> list[int]:
        """Return a rendered prompt's tokens."""
        return list(self.tokenizer(prompt, add_special_tokens=False)["input_ids"])

    def next_token(self, prompt: str, text: str) -> int | None:
        """Return the single token by which `text`, or a blank and `text`, lengthens a prompt."""
        start = self.encode(prompt)
        for added in (text, f" {text}") if self.tokenizer.chat_template else (f" {text}", text):
            tokens = self.encode(prompt + added)
            if tokens[: len(start)] == start and len(tokens) == len(start) + 1:
                return tokens[-1]
        return None

    def next_logprobs(
        self, prompts: Sequence[str], tokens: Sequence[int], batch_size: int
    ) -> Floats:
        """Return log P(token | prompt), nats, of the next token; shape (prompts, tokens)."""
        import torch

        rows = []
        with torch.inference_mode():
            for inputs in self._batches(prompts, batch_size, room=1):
                positions = (inputs["attention_mask"].cumsum(1) - 1).clamp(min=0)  # (B, T)
                logits = self.model(**inputs, position_ids=positions).logits[:, -1]  # (B, V)
                rows.append(logits.double().log_softmax(-1)[:, list(tokens)].cpu().numpy())
        return np.concatenate(rows)

    def answer(self, prompts: Sequence[str], max_new_tokens: int, batch_size: int) -> list[str]:
        """Return greedy answers, special tokens left out."""
        import torch

        answers: list[str] = []
        with torch.inference_mode():
            for inputs in self._batches(prompts, batch_size, room=max_new_tokens):
                tokens = self.model.generate(
                    **inputs,
                    max_new_tokens=max_new_tokens,
                    do_sample=False,
                    pad_token_id=self._padding,
                )
                new = tokens[:, inputs["input_ids"].shape[1] :]
                answers += self.tokenizer.batch_decode(new, skip_special_tokens=True)
        return answers

    @property
    def _padding(self) -> int:
        for token in (self.tokenizer.pad_token_id, self.tokenizer.eos_token_id):
            if isinstance(token, int):
                return token
        return 0

    def _batches(
        self, prompts: Sequence[str], batch_size: int, room: int
    ) -> Iterator[dict[str, "torch.Tensor"]]:
        """Yield left-padded inputs; padding is masked."""
        import torch

        reach = getattr(self.model.config, "max_position_embeddings", None)
        for start in range(0, len(prompts), batch_size):
            rows = [self.encode(prompt) for prompt in prompts[start : start + batch_size]]
            width = max(len(row) for row in rows)
            if reach is not None and width + room > reach:
                raise ModelError(
                    f"judge model {self.name!r}: a prompt takes {width + room} tokens, it reads"
                    f" {reach}; choose a model with more positions"
                )
            ids = [[self._padding] * (width - len(row)) + row for row in rows]
            mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
            yield {
                "input_ids": torch.tensor(ids, device=self.model.device),
                "attention_mask": torch.tensor(mask, device=self.model.device),
            }


def load_local(chosen: JudgeModel) -> LocalModel:
    """Load a judge's model from a local folder or the hub.

    Raises:
        ModelError: nothing loadable is there.
    """
    loaded = load_subject(
        "judge", chosen.name_or_path, "raw", dtype=chosen.dtype, revision=chosen.revision
    )
    return LocalModel(chosen.name_or_path, loaded.model, loaded.tokenizer)
