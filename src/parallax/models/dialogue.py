"""How a question is put into words for a model, and where its answer begins and ends."""

from typing import TYPE_CHECKING, Protocol

from parallax.errors import ModelError
from parallax.models.templates import DATE, prints_today

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, ProcessorMixin

# A question and an answer that show where a template puts them.
QUESTION, ANSWER = "Which is it?", "That one"


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


class Chat:
    """A checkpoint's own chat template; an answer ends with the token that ends its turn.

    What the template writes before the answer belongs to the prompt, but for blanks: a tokenizer
    joins those to the answer. Where nothing special ends a turn, the end-of-sequence token does.
    """

    def __init__(self, processor: "ProcessorMixin | PreTrainedTokenizerBase") -> None:
        """Learn from the template where an answer begins and ends; a tokenizer takes text alone.

        Raises:
            ModelError: there is no template, it prints today's date, or it doesn't write the
                answer.
        """
        _check(processor.chat_template)
        self._writer, self._opening = processor, ""
        tokenizer: PreTrainedTokenizerBase = getattr(processor, "tokenizer", processor)
        self._parts = tokenizer is not processor
        prompt, whole = self.prompt(QUESTION, None), self._render(QUESTION, None, ANSWER)
        before, found, after = whole.partition(ANSWER)
        if not found:
            raise ModelError(f"the chat template writes no answer: {whole!r}; mend it")
        # Some templates open the turn in one way and write it in another: the opening counts.
        before = before.removeprefix(prompt) if before.startswith(prompt) else ""
        self._opening = before.rstrip()
        self.lead = before[len(self._opening) :]
        following = tokenizer(after.strip(), add_special_tokens=False)["input_ids"][:1]
        closes = bool(following) and following[0] in tokenizer.added_tokens_decoder
        self.end = int(following[0] if closes else tokenizer.eos_token_id)
        # As the library's `apply_chat_template` has it: a tokenizer's adds nothing, a processor's
        # what the template has not written.
        starts = bool(tokenizer.bos_token) and prompt.startswith(tokenizer.bos_token)
        self.adds_special = self._parts and not starts

    def prompt(self, question: str, image: str | None) -> str:
        """Return the template's text for a question, with the turn of the answer opened."""
        return self._render(question, image, None) + self._opening

    def _render(self, question: str, image: str | None, answer: str | None) -> str:
        turns = [{"role": "user", "content": self._content(question, image)}]
        if answer is not None:
            turns.append({"role": "assistant", "content": self._content(answer, None)})
        dated = {"date_string": DATE} if "date_string" in str(self._writer.chat_template) else {}
        text: str = self._writer.apply_chat_template(
            turns, add_generation_prompt=answer is None, tokenize=False, **dated
        )
        return text

    def _content(self, text: str, image: str | None) -> "str | list[dict[str, str]]":
        if not self._parts:
            return text
        shown = [] if image is None else [{"type": "image"}]
        return [*shown, {"type": "text", "text": text}]


def _check(template: object) -> None:
    if not template:
        raise ModelError(
            "the processor has no chat template: put the model's chat_template.jinja beside it"
        )
    if prints_today(str(template)):
        raise ModelError(
            "the chat template prints today's date, so that prompts would differ from day to day;"
            " write a fixed date into it"
        )
