"""How a question is put into words for a model, and where its answer begins and ends."""

from typing import TYPE_CHECKING, Protocol

from parallax.errors import ModelError

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

    def __init__(self, processor: "ProcessorMixin") -> None:
        """Learn from the template where an answer begins and ends.

        Raises:
            ModelError: there is no template, or it doesn't write the answer.
        """
        if not processor.chat_template:
            raise ModelError(
                "the processor has no chat template: put the model's chat_template.jinja beside it"
            )
        self._processor, self._opening = processor, ""
        tokenizer = processor.tokenizer
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
        # As `apply_chat_template` of processors has it.
        self.adds_special = not (tokenizer.bos_token and prompt.startswith(tokenizer.bos_token))

    def prompt(self, question: str, image: str | None) -> str:
        """Return the template's text for a question, with the turn of the answer opened."""
        return self._render(question, image, None) + self._opening

    def _render(self, question: str, image: str | None, answer: str | None) -> str:
        shown = [] if image is None else [{"type": "image"}]
        asked = [*shown, {"type": "text", "text": question}]
        turns = [{"role": "user", "content": asked}]
        if answer is not None:
            turns.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
        text: str = self._processor.apply_chat_template(
            turns, add_generation_prompt=answer is None, tokenize=False
        )
        return text
