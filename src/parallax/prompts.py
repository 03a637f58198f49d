"""A question as the model reads it, in training and in evaluation alike."""

from parallax.records import LETTERS, Question, Task


def render_question(question: Question, task: Task) -> str:
    """Return the prompt; a classification lists its options below it, one "A. text" a line.

    The model answers a classification with the bare text of an option, which is `question.answer`.
    """
    if task != "classification":
        return question.prompt
    options = zip(LETTERS, question.options, strict=True)
    return "\n".join([question.prompt, *(f"{letter}. {text}" for letter, text in options)])
