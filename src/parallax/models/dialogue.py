"""How a question is put into words for a model, and where its answer begins and ends."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Dialogue(Protocol):
    """One question and one answer as the text that a model reads.

    The text is prompt, `lead`, answer; the token `end` follows it. `adds_special` says whether the
    tokenizer puts its own tokens around the text, or the text has them.
    """

    lead: str
    end: int
    adds_special: bool

    def prompt(self, question: str, image: str | None) -> str:
        """Return the text up to the answer; `image` is the image token, or None for text only."""


class UserAssistant:
    """`USER: <image>\\n{question}\\nASSISTANT: {answer}`, the form of LLaVA-1.5.

    Without an image `USER: {question}\\nASSISTANT: {answer}`; the end-of-sequence token follows.
    """

    lead = " "
    adds_special = True

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        self.end = int(tokenizer.eos_token_id)

    def prompt(self, question: str, image: str | None) -> str:
        """Return the text up to and including `ASSISTANT:`."""
        shown = "" if image is None else f"{image}\n"
        return f"USER: {shown}{question}\nASSISTANT:"
